//! Models of other toolkits label as those toolkits do, come back after they are written, and do no harm if they are damaged.

use crate::corpora;

use corpora::models::{attributes, columns};
use crfkit::any::AnyModel;
use crfkit::chain::{ChainDomain, ChainModel, Sequence};
use crfkit::foreign::{Toolkit, crfsuite};
use crfkit::model::Precision;
use crfkit::tag::Tagger;
use crfkit::{Model, Trainer};
use std::sync::Arc;

const SMALL: &[u8] = include_bytes!("../models/foreign/small.crfsuite");
const INPUTS: &str = include_str!("../models/foreign/small.crfsuite.txt");
const ANSWERS: &str = include_str!("../models/foreign/small.crfsuite.tsv");

/// The sequences that the models are asked about.
fn inputs() -> Vec<Sequence> {
    attributes(INPUTS).into_iter().map(Sequence::from).collect()
}

/// For each token of each input, its label and the probabilities of all labels.
fn answers(model: &Arc<ChainModel>) -> Vec<Vec<(String, Vec<f64>)>> {
    let mut tagger = Tagger::new(model.clone());
    let mut answer = |input: &Sequence| {
        tagger.load(input).unwrap();
        let labels = tagger.viterbi().to_vec();
        let count = model.domain.labels.len() as u32;
        let mut of = |t: usize| (0..count).map(|label| tagger.marginal(t, label)).collect();
        let all: Vec<Vec<f64>> = (0..labels.len()).map(&mut of).collect();
        labels.iter().map(|&label| model.domain.labels[label as usize].clone()).zip(all).collect()
    };
    inputs().iter().map(&mut answer).collect()
}

fn read(bytes: &[u8]) -> Arc<ChainModel> {
    match AnyModel::from_bytes(bytes).unwrap() {
        AnyModel::Chain(model) => model,
        other => panic!("{:?}", other.kind()),
    }
}

/// Compares with what python-crfsuite said.
fn assert_as_crfsuite(model: &Arc<ChainModel>) {
    let mut blocks = ANSWERS.trim_end().split("\n\n");
    assert_eq!(model.domain.labels, blocks.next().unwrap().split('\t').collect::<Vec<_>>());
    let found = answers(model);
    assert_eq!(found.len(), blocks.clone().count());
    for (block, found) in blocks.zip(found) {
        for (line, (label, marginals)) in block.lines().zip(found) {
            let mut fields = line.split('\t');
            assert_eq!(fields.next(), Some(&*label));
            for (expected, p) in fields.zip(marginals) {
                assert!((expected.parse::<f64>().unwrap() - p).abs() < 1e-12, "{line}: {p}");
            }
        }
    }
}

#[test]
fn a_model_of_crfsuite_labels_as_crfsuite_does() {
    assert_eq!(Toolkit::detect(SMALL), Some(Toolkit::Crfsuite));
    let model = read(SMALL);
    assert!(!model.domain.labels.is_sorted(), "the order of the file, which decides between equals");
    assert_as_crfsuite(&model);
    // In our own format, too.
    let own = read(&model.to_bytes(Precision::F64).unwrap());
    assert_as_crfsuite(&own);
    assert_eq!(own.settings.origin.as_deref(), Some("CRFsuite"));
}

#[test]
fn a_written_model_comes_back() {
    let model = read(SMALL);
    let written = crfsuite::write(&model, None).unwrap();
    let again = read(&written);
    assert_as_crfsuite(&again);
    assert_eq!(crfsuite::write(&again, None).unwrap(), written);
    // In another order, the same probabilities under other numbers.
    let mut order = model.domain.labels.clone();
    order.reverse();
    let turned = read(&crfsuite::write(&model, Some(&order)).unwrap());
    assert_eq!(turned.domain.labels, order);
    assert_eq!(crfsuite::write(&turned, Some(&model.domain.labels)).unwrap(), written, "one model, one file");
    for (a, b) in answers(&model).concat().iter().zip(answers(&turned).concat()) {
        assert_eq!(a.0, b.0);
        assert!(a.1.iter().zip(b.1.iter().rev()).all(|(a, b)| (a - b).abs() < 1e-12));
    }
    for wrong in [&order[1..], &[&order[..], &["x".into()]].concat(), &vec![order[0].clone(); order.len()]] {
        assert!(crfsuite::write(&model, Some(wrong)).is_err(), "{wrong:?}");
    }
}

const CRFPP: &[u8] = include_bytes!("../models/foreign/small.crfpp.txt");
const WAPITI: &[u8] = include_bytes!("../models/foreign/small.wapiti");

/// Labels columns, of which the third is the expected label and those behind it its probabilities.
fn assert_as_expected(model: &Arc<ChainModel>, expected: &str) {
    let mut tagger = Tagger::new(model.clone());
    let mut tokens = 0;
    for block in expected.trim_end().split("\n\n") {
        let rows = columns(
            &block
                .lines()
                .map(|line| line.split('\t').take(2).collect::<Vec<_>>().join(" ") + "\n")
                .collect::<String>(),
        );
        tagger.load_columns(&rows[0]).unwrap();
        let labels = tagger.viterbi().to_vec();
        for (t, line) in block.lines().enumerate() {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(model.domain.labels[labels[t] as usize], fields[2], "{line}");
            for (label, p) in (0..).zip(&fields[3..]) {
                let found = tagger.marginal(t, label);
                assert!((found - p.parse::<f64>().unwrap()).abs() < 1e-12, "{line}: {found}");
            }
            tokens += 1;
        }
    }
    assert!(tokens > 8);
}

#[test]
fn models_of_crfpp_and_wapiti_label_as_they_do() {
    for (toolkit, bytes, expected) in [
        (Toolkit::Crfpp, CRFPP, include_str!("../models/foreign/small.crfpp.tsv")),
        (Toolkit::Wapiti, WAPITI, include_str!("../models/foreign/small.wapiti.tsv")),
    ] {
        assert_eq!(Toolkit::detect(bytes), Some(toolkit));
        let model = read(bytes);
        assert_as_expected(&model, expected);
        // In our own format, too.
        assert_as_expected(&read(&model.to_bytes(Precision::F64).unwrap()), expected);
        let message = Model::from(AnyModel::Chain(model)).to_crfsuite().unwrap_err().to_string();
        assert!(message.contains("templates"), "{message}");
    }
}

#[test]
fn damaged_text_models_do_no_harm() {
    for bytes in [CRFPP, WAPITI] {
        for length in 0..bytes.len() {
            assert!(AnyModel::from_bytes(&bytes[..length]).is_err(), "{length}");
        }
        let mut damaged = bytes.to_vec();
        for at in 0..bytes.len() {
            for flip in [1, 0x10, 0x80] {
                damaged[at] ^= flip;
                // An error, or a model: another weight or name is one.
                let _ = AnyModel::from_bytes(&damaged);
                damaged[at] = bytes[at];
            }
        }
    }
    let changed = |from: &str, to: &str, bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).unwrap();
        assert!(text.contains(from), "{from}");
        AnyModel::from_bytes(text.replacen(from, to, 1).as_bytes()).map(|_| ()).unwrap_err().to_string()
    };
    for (from, to, words) in [
        ("#mdl#2#", "#mdl#1#", "MEMM"),
        ("#mdl#2#", "#mdl#7#", "type"),
        ("/0\n", "/1\n", "--me"),
        ("#rdr#7", "#rdr#99999999999", "string"),
        ("7:u:w=Ana", "7:u:z=Ana", "no template makes `u:z=Ana`"),
        ("u:w=ate", "u:w=Ana", "twice"),
        ("0=0x1", "99999999=0x1", "weights"),
        ("0=0x1", "0=nan", "not a weight"),
    ] {
        let message = changed(from, to, WAPITI);
        assert!(message.contains(words), "{message}");
    }
    for (from, to, words) in [
        ("maxid: ", "maxid: 1", "weights"),
        ("xsize: 2", "xsize: x", "`xsize:`"),
        ("0 U00:Ana", "999 U00:Ana", "not an observation"),
        ("U00:Ana", "U77:Ana", "no template makes"),
        ("B\nI\n", "B\nB\n", "same name"),
        ("U00:%x[0,0]", "X00:%x[0,0]", "starts with"),
    ] {
        let message = changed(from, to, CRFPP);
        assert!(message.contains(words), "{from}: {message}");
    }
    let slashes = "/".repeat(400);
    assert!(changed("U01:Ana/V", &format!("U01:{slashes}"), CRFPP).contains("ways"));
}

/// Ties go to the label that comes first in the file.
#[test]
fn the_order_of_labels_decides_ties() {
    let sequence = || {
        let tokens = [("b", vec![("x", 1.0)]), ("a", vec![("x", 1.0)]), ("c", vec![("y", 1.0)])];
        Sequence::from_features(tokens).unwrap()
    };
    let model = Trainer::new()
        .sigma(0.5)
        .train([Ok(sequence())])
        .unwrap()
        .any()
        .weighted::<crfkit::chain::ChainDomain>();
    let zero = model.unwrap().shrink(f64::INFINITY);
    for order in [["a", "b", "c"], ["c", "a", "b"]] {
        let order = order.map(str::to_owned);
        let model = read(&crfsuite::write(&zero, Some(&order)).unwrap());
        assert!(model.domain.alphabet.node.is_empty() && model.weights.is_empty());
        let mut tagger = Tagger::new(model.clone());
        tagger.load(&sequence()).unwrap();
        assert_eq!(tagger.viterbi(), [0, 0, 0]);
    }
}

/// A file of any number of labels comes back, with one attribute or hundreds.
#[test]
fn sizes_of_all_kinds_come_back() {
    for labels in [1, 2, 7, 8, 9, 500] {
        let token = |k: usize| (format!("label {}", labels - k), [(format!("é{}", k % 300), 1.0 + k as f64)]);
        let sequence = Sequence::from_features((0..labels).map(token)).unwrap();
        let model = Trainer::new().passes(3).train([Ok(sequence)]).unwrap();
        let back = Model::from_bytes(&model.to_crfsuite().unwrap()).unwrap();
        assert_eq!(back.labels(), model.labels());
        assert_eq!(back.to_crfsuite().unwrap(), model.to_crfsuite().unwrap());
    }
    assert!(
        AnyModel::from_bytes(&crfsuite::nothing()).unwrap_err().to_string().contains("trained on no data")
    );
}

#[test]
fn what_the_format_cannot_hold_is_refused() {
    let rows = || Sequence::from_rows([["Ada", "B-X"], ["Byron", "I-X"], ["sings", "O"]]).unwrap();
    let features = || {
        let tokens = [("B-X", vec![("a\0b", 1.0)]), ("I-X", vec![("y", 1.0)]), ("O", vec![("z", 1.0)])];
        Sequence::from_features(tokens).unwrap()
    };
    let refusal = |model: Model| model.to_crfsuite().unwrap_err().to_string();
    assert!(refusal(Trainer::new().train([Ok(rows())]).unwrap()).contains("templates"));
    assert!(refusal(Trainer::new().train([Ok(features())]).unwrap()).contains("`constraint` none"));
    let free = || Trainer::new().configure(|s| s.constraint = Some(Default::default()));
    assert!(refusal(free().train([Ok(features())]).unwrap()).contains("NUL"));
    let tiny = Sequence::from_features([("A", vec![("a", 1e-300)]), ("B", vec![("b", 1e-300)])]).unwrap();
    let model = free().configure(|s| s.scaling = crfkit::settings::Scaling::Unit).train([Ok(tiny)]).unwrap();
    assert!(Model::from_bytes(&model.to_crfsuite().unwrap()).is_ok(), "values this small are not scaled");
    let mut large = (*model.any().weighted::<ChainDomain>().unwrap()).clone();
    large.weights.to_mut()[0] = 1e101;
    assert!(crfsuite::write(&large, None).unwrap_err().to_string().contains("1e100"));
    let model = free().configure(|s| s.boundaries = true).train([Ok(features())]).unwrap();
    assert!(refusal(model).contains("`boundaries`"));
    let model = free().objective(crfkit::settings::Criterion::Memm).train([Ok(features())]).unwrap();
    assert!(refusal(model).contains("MEMM"));
}

/// A damaged file is an error or a model that labels: never a panic, a hang, or memory without end.
#[test]
fn every_cut_and_every_flipped_byte_does_no_harm() {
    for length in 0..SMALL.len() {
        assert!(AnyModel::from_bytes(&SMALL[..length]).is_err(), "{length}");
    }
    let (mut damaged, mut read) = (SMALL.to_vec(), 0);
    for at in 0..SMALL.len() {
        for flip in [1, 0x80, 0xFF] {
            damaged[at] ^= flip;
            if let Ok(AnyModel::Chain(model)) = AnyModel::from_bytes(&damaged) {
                read += 1;
                if flip == 0xFF {
                    assert_eq!(answers(&model).len(), inputs().len());
                }
            }
            damaged[at] = SMALL[at];
        }
    }
    assert!(read > 0, "a changed weight is a model");
}

/// Lists that overlap would make a small file into a large model.
#[test]
fn overlapping_lists_are_refused() {
    let mut bytes = crfsuite::write(&read(SMALL), None).unwrap();
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let lists = word(&bytes, 44);
    let longest = (0..word(&bytes, lists + 8)).map(|k| word(&bytes, lists + 12 + 4 * k)).next().unwrap();
    bytes[longest..longest + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(AnyModel::from_bytes(&bytes).unwrap_err().to_string().contains("damaged"));
}
