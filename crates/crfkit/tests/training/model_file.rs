//! Model files: what goes in comes out, and nothing else is taken for a model.

use crate::models;

use crfkit::Error;
use crfkit::chain::{ChainDomain, ChainModel};
use crfkit::data::observer::Source;
use crfkit::data::strings::Strings;
use crfkit::graph::{NODES, PAIRS};
use crfkit::math::random::Random;
use crfkit::model::dump::{dump, read_dump};
use crfkit::model::{Features, Keep, NamedWeight, Precision};
use crfkit::train::{Method, Settings};
use models::{answers, models, templates, trained};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

fn assert_same(a: &ChainModel, b: &ChainModel) {
    let (of_a, of_b) = (&a.domain, &b.domain);
    assert_eq!(of_a.labels, of_b.labels);
    assert_eq!(of_a.source, of_b.source);
    for (a, b) in [
        (&of_a.alphabet.values, &of_b.alphabet.values),
        (&of_a.alphabet.node, &of_b.alphabet.node),
        (&of_a.alphabet.pair, &of_b.alphabet.pair),
    ] {
        assert_eq!(a.parts(), b.parts());
    }
    assert_eq!(of_a.words, of_b.words);
    assert_eq!(of_a.columns, of_b.columns);
    assert_eq!(a.features, b.features);
    assert_eq!(a.weights, b.weights);
    assert_eq!(a.settings, b.settings);
}

fn assert_close(a: &ChainModel, b: &ChainModel, tolerance: f64) {
    for ((labels, numbers), (other_labels, other_numbers)) in answers(a).iter().zip(&answers(b)) {
        assert_eq!(labels, other_labels);
        for (x, y) in numbers.iter().zip(other_numbers) {
            assert!((x - y).abs() <= tolerance, "{x} and {y}");
        }
    }
}

fn refusal(bytes: &[u8]) -> String {
    match ChainModel::from_bytes(bytes) {
        Err(Error::File { name, message }) if name == "model" => message,
        other => panic!("not the error of a model file: {:?}", other.map(|model| model.domain.labels)),
    }
}

/// Makes the checksum right again.
fn repair(bytes: &mut [u8]) {
    if let Some(end) = bytes.len().checked_sub(8) {
        let checksum = xxh3_64(&bytes[..end]);
        bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    }
}

#[test]
fn models_come_back_as_they_were() {
    for model in models() {
        let bytes = model.to_bytes(Precision::F64).unwrap();
        assert_eq!(bytes, model.to_bytes(Precision::F64).unwrap());
        let read = ChainModel::from_bytes(&bytes).unwrap();
        assert_same(&model, &read);
        assert_eq!(answers(&model), answers(&read));
        assert!(!answers(&read).is_empty());
        assert_eq!(model.domain.knows("sugar"), read.domain.knows("sugar"));
        assert_eq!(read.to_bytes(Precision::F64).unwrap(), bytes);
        // Memory from anywhere will do.
        let mut shifted = vec![0];
        shifted.extend_from_slice(&bytes);
        assert_same(&model, &ChainModel::from_bytes(&shifted[1..]).unwrap());
    }
}

#[test]
fn smaller_weights_predict_nearly_the_same() {
    for model in models() {
        let sizes = [Precision::F64, Precision::F32, Precision::F16].map(|precision| {
            let bytes = model.to_bytes(precision).unwrap();
            let read = ChainModel::from_bytes(&bytes).unwrap();
            let tolerance = [0.0, 1e-5, 0.02][precision as usize];
            assert_close(&model, &read, tolerance);
            assert_eq!(read.to_bytes(precision).unwrap(), bytes, "rounding twice is rounding once");
            bytes.len()
        });
        assert!(sizes[0] > sizes[1] && sizes[1] > sizes[2], "{sizes:?}");
    }
}

#[test]
fn weights_that_do_not_fit_are_refused() {
    let mut model = models().swap_remove(0);
    for (weight, precision) in
        [(70_000.0, Precision::F16), (1e39, Precision::F32), (f64::NAN, Precision::F64)]
    {
        model.weights[3] = weight;
        let message = model.to_bytes(precision).unwrap_err().to_string();
        assert!(message.contains(&format!("{weight} cannot be stored as {precision}")), "{message}");
    }
    model.weights[3] = 70_000.0;
    assert!(model.to_bytes(Precision::F32).is_ok());
    assert_eq!("f16".parse::<Precision>().unwrap(), Precision::F16);
    assert!("f8".parse::<Precision>().unwrap_err().to_string().contains("f64, f32 or f16"));
}

#[test]
fn zero_weights_are_not_stored() {
    let settings = |features| Settings {
        features,
        l1: 1.0,
        optimizer: Method::Lbfgs,
        passes: Some(30),
        ..Settings::default()
    };
    for keep in [Keep::Observed, Keep::All] {
        let model = trained(templates(), &settings(keep));
        let zeros = model.weights.iter().filter(|w| **w == 0.0).count();
        assert!(zeros > model.weights.len() / 2, "L1 makes zeros");
        let read = ChainModel::from_bytes(&model.to_bytes(Precision::F64).unwrap()).unwrap();
        assert_eq!(read.weights.len(), model.weights.len() - zeros);
        assert!(read.domain.alphabet.node.len() < model.domain.alphabet.node.len());
        assert_same(&read, &model.compact());
        let shrunk = model.shrink(0.0);
        assert_eq!(shrunk.settings.shrink, Some(0.0));
        assert_same(&read, &ChainModel { settings: read.settings.clone(), ..shrunk });
        assert_close(&read, &model, 1e-12);
    }
}

#[test]
fn rounding_makes_zeros_that_are_not_stored() {
    let mut model = models().swap_remove(0);
    model.weights.iter_mut().step_by(2).for_each(|w| *w = 1e-9);
    let tiny = model.weights.len().div_ceil(2);
    let read = ChainModel::from_bytes(&model.to_bytes(Precision::F16).unwrap()).unwrap();
    assert_eq!(read.weights.len(), model.weights.len() - tiny);
    assert!(read.weights.iter().all(|w| *w != 0.0));
}

#[test]
fn complete_rows_stay_complete_while_that_is_smaller() {
    let mut model = models().swap_remove(1);
    assert!(model.features.rows[NODES].complete());
    let whole = model.to_bytes(Precision::F32).unwrap();
    model.weights[0] = 0.0;
    let one_zero = model.to_bytes(Precision::F32).unwrap();
    assert_eq!(one_zero.len(), whole.len());
    let read = ChainModel::from_bytes(&one_zero).unwrap();
    assert_eq!(read.features, model.features);
    assert_eq!(read.weights[0], 0.0);
}

#[test]
fn shrinking_drops_what_is_light() {
    for model in models() {
        let shrunk = model.shrink(0.1);
        let heavy = model.weights.iter().filter(|w| w.abs() > 0.1).count();
        assert!(0 < heavy && heavy < model.weights.len());
        assert_eq!(shrunk.weights.len(), heavy);
        let expected: Vec<f64> = model.weights.iter().copied().filter(|w| w.abs() > 0.1).collect();
        assert_eq!(*shrunk.weights, expected);
        assert_close(&shrunk, &shrunk.compact(), 0.0);
        let nothing = model.shrink(f64::INFINITY);
        assert!(nothing.weights.is_empty());
        assert_eq!(answers(&nothing).len(), answers(&model).len());
        assert_same(&ChainModel::from_bytes(&nothing.to_bytes(Precision::F64).unwrap()).unwrap(), &nothing);
    }
}

#[test]
fn every_flipped_byte_and_every_cut_is_refused() {
    let bytes = models().swap_remove(0).to_bytes(Precision::F16).unwrap();
    let mut damaged = bytes.clone();
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xFF] {
            damaged[at] ^= flip;
            let message = refusal(&damaged);
            assert!(message.contains("damaged") || message.contains("not a model"), "{at}: {message}");
            damaged[at] = bytes[at];
        }
    }
    for length in 0..bytes.len() {
        refusal(&bytes[..length]);
    }
    let mut longer = bytes.clone();
    longer.push(0);
    refusal(&longer);
    assert!(ChainModel::from_bytes(&damaged).is_ok());
}

/// A mapped file that is replaced, as crfkit does it, stays what it was.
#[test]
fn a_model_in_a_file_outlives_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    for model in models() {
        crfkit::files::write_atomically(&path, &model.to_bytes(Precision::F64).unwrap()).unwrap();
        let bytes = crfkit::model::open(&std::fs::File::open(&path).unwrap()).unwrap();
        let read = ChainModel::from_memory(&bytes).unwrap();
        drop(bytes);
        crfkit::files::write_atomically(&path, b"something else").unwrap();
        assert_same(&model, &read);
        assert_eq!(answers(&model), answers(&read));
        std::fs::remove_file(&path).unwrap();
        let mut changed = read.clone();
        changed.weights[0] += 1.0; // a copy, not the file
        assert_eq!(answers(&model), answers(&read));
        assert_ne!(changed.weights, read.weights);
    }
}

#[test]
fn a_newer_version_is_refused_by_name() {
    let mut bytes = models().swap_remove(0).to_bytes(Precision::F64).unwrap();
    bytes[8] = 4;
    repair(&mut bytes);
    assert_eq!(refusal(&bytes), "written by a newer crfkit (format 4); this one reads up to 3");
}

/// Models that contradict themselves are written without complaint; reading is where the check is.
#[test]
fn parts_that_do_not_fit_are_refused() {
    type Harm = fn(&mut ChainModel);
    fn features(model: &mut ChainModel) -> &mut Features {
        Arc::make_mut(&mut model.features)
    }
    let harms: [(Harm, &str); 15] = [
        (|m| m.weights.to_mut().push(0.5), "weights, but its features need"),
        (|m| m.domain.words.extend([1; 9]), "more words than"),
        (|m| features(m).rows[NODES].entry[0] = 5, "points outside its table"),
        (|m| features(m).rows[NODES].entry[0] = 8, "points outside its table"),
        (|m| features(m).rows[PAIRS].entry[0] = 5 * 8, "points outside its table"),
        (|m| features(m).rows[PAIRS].entry[0] = 8 + 5, "points outside its table"),
        (|m| features(m).tables[0].entry[0] = 7, "points outside its shared table"),
        (|m| features(m).tables[2].entry[0] = 8, "points outside its shared table"),
        (|m| features(m).rows[NODES].start[0] = 1, "rows do not match"),
        (|m| features(m).rows[NODES].start[1] = 9_999, "rows do not match"),
        (|m| *features(m).rows[PAIRS].start.last_mut().unwrap() -= 1, "rows do not match"),
        (|m| _ = m.domain.alphabet.node.intern(b"\0\0\0\0\xFF\0\0\0"), "made by its templates"),
        (|m| _ = m.domain.alphabet.node.intern(b"\x09\0\0\0\0\0\0\0"), "made by its templates"),
        (|m| _ = m.domain.alphabet.pair.intern(b"\0\0\0\0"), "made by its templates"),
        (|m| _ = m.domain.alphabet.values.intern(b"\xFF"), "neither text"),
    ];
    let model = models().swap_remove(0);
    assert_eq!(model.domain.labels.len(), 5);
    for (number, (harm, why)) in harms.into_iter().enumerate() {
        let mut harmed = model.clone();
        harm(&mut harmed);
        let message = refusal(&harmed.to_bytes(Precision::F64).unwrap());
        assert!(message.contains(why), "harm {number}: {message}");
    }
    let mut harmed = models().swap_remove(1);
    assert!(harmed.features.rows[NODES].complete());
    for id in 0..999u32 {
        harmed.domain.alphabet.node.intern(&[[1, 0, 0, 0], id.to_le_bytes()].concat());
        harmed.domain.alphabet.values.intern(id.to_string().as_bytes());
    }
    let message = refusal(&harmed.to_bytes(Precision::F64).unwrap());
    assert!(message.contains("too few weights"), "{message}");
    for labels in [vec![], vec!["a".to_string(), "a".to_string()]] {
        let domain = ChainDomain { labels, ..model.domain.clone() };
        assert!(ChainModel { domain, ..model.clone() }.to_bytes(Precision::F64).is_err());
    }
}

/// Damage with a right checksum: loading may fail or not, but neither it nor the loaded model may panic.
#[test]
fn hostile_files_do_no_harm() {
    let mut random = Random::new(7);
    let files: Vec<Vec<u8>> = models().iter().map(|model| model.to_bytes(Precision::F64).unwrap()).collect();
    let mut loaded = 0;
    for round in 0..20_000 {
        let mut bytes = files[round % files.len()].clone();
        for _ in 0..1 + random.below(3) {
            mutate(&mut bytes, &mut random);
        }
        repair(&mut bytes);
        if let Ok(model) = ChainModel::from_bytes(&bytes) {
            loaded += 1;
            answers(&model);
            dump(&model.names(), &mut std::io::sink()).unwrap();
            model.to_bytes(Precision::F64).unwrap();
        }
    }
    assert!(
        (1_000..19_000).contains(&loaded),
        "{loaded} of 20,000 loaded: the damage is too mild or too bad"
    );
}

fn mutate(bytes: &mut [u8], random: &mut Random) {
    let at = random.below(bytes.len());
    let aligned = at & !7;
    match random.below(8) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next_u64() as u8,
        2 => bytes[at] = bytes[at].wrapping_add(1),
        // A number of four bytes: near zero, or huge.
        3 => {
            let number = [0, 1, 2, 7, u32::MAX, u32::MAX / 2][random.below(6)];
            if let Some(place) = bytes.get_mut(at & !3..(at & !3) + 4) {
                place.copy_from_slice(&number.to_le_bytes());
            }
        }
        // A number of eight bytes: a length, a slot, a weight.
        4 => {
            let numbers =
                [0, 1, u64::MAX, 1 << 40, f64::MAX.to_bits(), (-1e300f64).to_bits(), 1.0f64.to_bits()];
            if let Some(place) = bytes.get_mut(aligned..aligned + 8) {
                place.copy_from_slice(&numbers[random.below(numbers.len())].to_le_bytes());
            }
        }
        // The length of a section, a little off.
        5 => {
            let count = usize::from(bytes[12]);
            let place = 64 + 32 * random.below(count.max(1)) + 24;
            if let Some(byte) = bytes.get_mut(place) {
                *byte = byte.wrapping_add([1, 4, 8, 252, 248][random.below(5)]);
            }
        }
        // Two stretches change places.
        6 => {
            let (other, length) = (random.below(bytes.len()), random.below(32));
            for k in 0..length.min(bytes.len() - at.max(other)) {
                bytes.swap(at + k, other + k);
            }
        }
        // A digit or letter of the small things.
        _ => {
            let end = bytes.len().min(2_000);
            let at = random.below(end);
            bytes[at] = b"019-:,[]{}\"UB%x"[random.below(15)];
        }
    }
}

#[test]
fn a_dump_reads_back_whatever_the_names() {
    let nasty = ["", "a\tb", "line\nbreak", "\r\n", "back\\slash\\t", "nul\0", "ünï", "\\", " "];
    let mut models = models();
    let model = &mut models[4]; // attributes, observed
    assert_eq!(model.domain.source, Source::Attributes);
    let mut names = Strings::default();
    for id in 0..model.domain.alphabet.node.len() {
        names.intern(nasty.get(id).map_or_else(|| format!("x{id}"), |name| name.to_string()).as_bytes());
    }
    model.domain.alphabet.node = names;
    model.domain.labels = ["\t", "\n", "\\n", "a\0b", "b"].iter().map(|name| name.to_string()).collect();
    assert!(model.domain.labels.is_sorted());
    model.weights[0] = 1e-300;
    model.weights[1] = -0.1 - 0.2;
    for model in &models {
        let mut text = Vec::new();
        dump(&model.names(), &mut text).unwrap();
        let read = read_dump(&text[..], "dump").unwrap();
        assert!(read.labels.iter().map(|(_, label)| label).eq(&model.domain.labels));
        // One line a weight, in the order of the weights.
        assert_eq!(read.weights.iter().map(|line| line.weight).collect::<Vec<_>>(), *model.weights);
        assert_eq!(read.weights, model.names().iter().collect::<Vec<_>>());
        let mut lines = read.weights.iter();
        for kind in [NODES, PAIRS] {
            for row in 0..model.features.rows[kind].len as u32 {
                let name = model.domain.alphabet.name(&model.domain.source, kind == PAIRS, row);
                for entry in model.features.rows[kind].entries_of(row) {
                    let line = lines.next().unwrap();
                    assert_eq!(line.part, if kind == NODES { "node" } else { "pair" });
                    assert_eq!(line.observation.as_deref(), Some(name.as_str()));
                    let labels = &model.domain.labels;
                    let previous = (kind == PAIRS).then(|| &labels[entry / 8]);
                    assert!(line.labels.iter().eq(previous.into_iter().chain([&labels[entry % 8]])));
                }
            }
        }
        assert!(
            lines
                .all(|line| line.observation.is_none()
                    && ["transition", "begin", "end"].contains(&&*line.part))
        );
    }
}

#[test]
fn the_heaviest_features_are_those_of_the_whole_dump() {
    for model in models() {
        let mut text = Vec::new();
        dump(&model.names(), &mut text).unwrap();
        let mut all = read_dump(&text[..], "dump").unwrap().weights;
        all.retain(|line| line.observation.is_some());
        all.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs())); // stable
        let names = model.names();
        let top = |n: usize, label: Option<&str>, observation: Option<&str>| -> Vec<NamedWeight> {
            let labels = label.map_or(Vec::new(), |label| names.labels_called(label).unwrap());
            names.top(n, |part| !part.is_table(), &labels, observation)
        };
        assert_eq!(top(7, None, None), all[..7]);
        assert_eq!(top(usize::MAX, None, None), all);
        assert!(top(0, None, None).is_empty());
        let name = all[0].observation.clone();
        let filtered = |label: Option<&str>, observation: Option<&str>| -> Vec<_> {
            let mut all = all.clone();
            all.retain(|w| label.is_none_or(|label| w.labels.iter().any(|found| found == label)));
            all.retain(|w| observation.is_none() || w.observation.as_deref() == observation);
            all
        };
        for (label, observation) in
            [(Some("B-FOOD"), None), (None, name.as_deref()), (Some("B-FOOD"), name.as_deref())]
        {
            let expected = filtered(label, observation);
            assert_eq!(top(usize::MAX, label, observation), expected);
        }
        assert!(!filtered(Some("B-FOOD"), None).is_empty() && !filtered(None, name.as_deref()).is_empty());
        assert!(top(5, None, Some("no such observation")).is_empty());
        let message = names.labels_called("FOOD").unwrap_err().to_string();
        assert!(message.contains("no label `FOOD`") && message.contains("B-FOOD"), "{message}");
    }
}
