//! A model file that was changed anywhere is rejected. One whose checksum was made right again is rejected too, or it is a model that answers.

use crate::corpora::models::{columns, templates};
use crate::corpora::{column_corpus, made_up_columns};
use crate::versions::{self, COLUMNS, GRAPHS};

use crfkit::answers::Answers;
use crfkit::any::{AnyModel, ModelVisitor};
use crfkit::chain::{ChainModel, Sequence};
use crfkit::data::columns::Columns;
use crfkit::empirical::{Counts, EmpiricalMethod, EmpiricalModel, EmpiricalSettings, PairKind};
use crfkit::grid::{GridImage, GridModel};
use crfkit::linked::LinkedModel;
use crfkit::model::Precision;
use crfkit::model::dump::dump;
use crfkit::tag::{Labeller, Tagger};
use crfkit::train::{Constraint, Settings};
use crfkit::typed::TypedModel;
use crfkit::{Error, Place};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Where the sections begin to be listed, and the length of an entry of that list: a name and a length.
const HEADER: usize = 64;
const NAME: usize = 24;
const ENTRY: usize = NAME + 8;

fn kept(name: &str) -> Vec<u8> {
    std::fs::read(versions::path(&format!("v3.{name}"))).unwrap()
}

/// A chain whose labels obey IOB2, with a temperature, and with weights of two bytes.
fn constrained() -> Vec<u8> {
    let settings = Settings { constraint: Some(Constraint::Iob2), ..Settings::default() };
    let corpus = column_corpus(&made_up_columns(1, 12), templates(), 1);
    let mut model = versions::fit(corpus, &settings);
    model.settings.temperature = Some(1.5);
    model.to_bytes(Precision::F16).unwrap()
}

/// Graphs from a file, with weights of eight bytes.
fn wide_graphs() -> Vec<u8> {
    TypedModel::from_bytes(&kept("typed")).unwrap().to_bytes(Precision::F64).unwrap()
}

/// The simplest model made of counts.
fn counted() -> Vec<u8> {
    let settings =
        EmpiricalSettings { method: EmpiricalMethod::Ep1, pairs: PairKind::Tags, ..Default::default() };
    let mut counts = Counts::new(settings.pairs);
    columns(&made_up_columns(1, 12)).iter().for_each(|sequence| counts.add_columns(sequence, 2).unwrap());
    crfkit::empirical::train(&counts, &settings, None).unwrap().model.to_bytes().unwrap()
}

/// Uses a model: labels, probabilities, the dump, the file.
struct Use<'a>(&'a Inputs);

/// What models are asked about.
struct Inputs {
    sequences: Vec<Sequence>,
    columns: Vec<Columns>,
    pictures: Vec<GridImage>,
}

impl Inputs {
    fn new() -> Self {
        let mut sequences = versions::sequences();
        sequences.extend(versions::instances());
        Inputs { sequences, columns: columns(COLUMNS), pictures: versions::pictures() }
    }
}

impl ModelVisitor for Use<'_> {
    type Out = usize;

    fn chain(self, model: Arc<ChainModel>) -> usize {
        ask(&model, &self.0.sequences)
    }

    fn linked(self, model: Arc<LinkedModel>) -> usize {
        ask(&model, &self.0.columns)
    }

    fn graph(self, model: Arc<TypedModel>) -> usize {
        let read = |text: &&str| model.domain.read_line(text, &Place::new("graphs", 1)).ok().flatten();
        ask(&model, &GRAPHS.iter().filter_map(read).collect::<Vec<_>>())
    }

    fn grid(self, model: Arc<GridModel>) -> usize {
        ask(&model, &self.0.pictures)
    }

    fn empirical(self, model: Arc<EmpiricalModel>) -> usize {
        ask(&model, &self.0.sequences)
    }
}

/// The number of variables that the model labels. A model may reject an input, but what it answers makes sense.
fn ask<M: Labeller>(model: &Arc<M>, inputs: &[M::Input]) -> usize {
    let (sets, mut tagger) = (model.label_sets(), Tagger::new(model.clone()));
    let mut answered = 0;
    for input in inputs {
        if tagger.load(input).is_err() {
            continue;
        }
        let Ok(labels) = tagger.labels(model.decode()).map(<[u32]>::to_vec) else { continue };
        for (v, &label) in labels.iter().enumerate() {
            let set = model.label_set_of(tagger.answers().graph(), v);
            assert!((label as usize) < sets[set].labels.len(), "label {label}");
            if let Ok(p) = tagger.answers().probability_of(v, label) {
                assert!((-1e-6..=1.0 + 1e-6).contains(&p), "a probability of {p}");
            }
            answered += 1;
        }
    }
    answered
}

/// Opens a file and uses the model: the number of labels it gave, or the error.
fn open_and_use(file: &[u8], inputs: &Inputs) -> Result<usize, Error> {
    let model = AnyModel::from_bytes(file)?;
    if let Some(names) = model.names() {
        dump(&names, &mut std::io::sink()).unwrap();
    }
    let again = model.to_bytes().unwrap();
    AnyModel::from_bytes(&again).expect("what was read is written so that it can be read");
    Ok(model.visit(Use(inputs)))
}

/// Makes the checksum right again.
fn repair(file: &mut [u8]) {
    let end = file.len() - 8;
    let checksum = xxh3_64(&file[..end]);
    file[end..].copy_from_slice(&checksum.to_le_bytes());
}

/// Everything that a file without its right checksum is asked here: it must be rejected, and say that it is damaged.
fn every_change_is_rejected(file: &[u8]) {
    assert!(AnyModel::from_bytes(file).is_ok());
    let rejected = |changed: &[u8], what: &dyn Fn() -> String| match AnyModel::from_bytes(changed) {
        Err(Error::File { name, message }) if name == "model" => {
            // Without its first eight bytes it is no model file at all.
            let foreign = !changed.starts_with(&file[..8]);
            let why = if foreign { "not a model" } else { "the file is damaged" };
            assert!(message.contains(why), "{}: {message}", what());
        }
        Err(error) => panic!("{}: {error}", what()),
        Ok(_) => panic!("{}: accepted", what()),
    };
    let mut changed = file.to_vec();
    for at in 0..file.len() {
        for flip in [0x01, 0xFF] {
            changed[at] ^= flip;
            rejected(&changed, &|| format!("byte {at} ^ {flip:#x}"));
            changed[at] = file[at];
        }
    }
    for length in 0..file.len() {
        rejected(&file[..length], &|| format!("cut to {length} bytes"));
    }
    for more in [1, 8, 64, 4096] {
        changed.resize(file.len() + more, 0);
        rejected(&changed, &|| format!("{more} bytes too many"));
    }
}

/// Tries forged files, whose checksums are right, and remembers those that did harm.
struct Forger {
    inputs: Inputs,
    /// Files that were rejected, and files that gave a model.
    outcomes: [usize; 2],
    harm: Vec<String>,
}

impl Forger {
    fn new() -> Self {
        Forger { inputs: Inputs::new(), outcomes: [0; 2], harm: Vec::new() }
    }

    fn attempt(&mut self, file: &[u8], what: impl Fn() -> String) {
        match catch_unwind(AssertUnwindSafe(|| open_and_use(file, &self.inputs))) {
            Ok(Ok(_)) => self.outcomes[1] += 1,
            Ok(Err(_)) => self.outcomes[0] += 1,
            Err(_) => self.harm.push(what()),
        }
    }

    /// One byte changed, at every place.
    fn bytes(&mut self, file: &[u8]) {
        let mut forged = file.to_vec();
        for at in 0..file.len() - 8 {
            let flip = [0x01, 0x80, 0xFF, 0x10, 0x02][at % 5];
            forged[at] ^= flip;
            repair(&mut forged);
            self.attempt(&forged, || format!("byte {at} ^ {flip:#x}"));
            forged[at] = file[at];
        }
    }

    /// Every section left out, emptied, too short, too long, twice, or in the place of its neighbour.
    fn sections(&mut self, file: &[u8]) {
        let whole = split(file);
        assert!(join(file, &whole) == file, "this test knows the form of the file");
        for at in 0..whole.len() {
            let name = whole[at].0;
            let mut variants = vec![whole.clone(); 3];
            variants[0].remove(at);
            variants[1].insert(at, whole[at].clone());
            variants[2].swap(at, (at + 1) % whole.len());
            let content = &whole[at].1;
            let mut contents = vec![vec![], content.repeat(2), whole[(at + 1) % whole.len()].1.clone()];
            for bytes in [1, 2, 4, 8, 12] {
                contents.push(content[..content.len().saturating_sub(bytes)].to_vec());
                contents.push([&content[..], &vec![0; bytes]].concat());
                contents.push([&content[..], &vec![0xFF; bytes]].concat());
            }
            for content in contents {
                variants.push(whole.clone());
                variants.last_mut().unwrap()[at].1 = content;
            }
            for (number, sections) in variants.iter().enumerate() {
                let forged = join(file, sections);
                let name = String::from_utf8_lossy(&name).into_owned();
                self.attempt(&forged, || format!("section {at}, {name}, variant {number}"));
            }
        }
    }

    /// Every number of the arrays replaced by extreme ones; `step` 1 takes them all.
    fn numbers(&mut self, file: &[u8], step: usize) {
        let head_ends = HEADER + ENTRY * split(file).len();
        let mut forged = file.to_vec();
        let words: [u32; 4] = [0, 1, u32::MAX, i32::MAX as u32];
        let reals = [f64::NAN, f64::INFINITY, 1e100, -1e100, 5e-324, f64::MAX];
        for at in (head_ends..file.len() - 8).step_by(4 * step) {
            let number = words[at / 4 / step % words.len()];
            forged[at..at + 4].copy_from_slice(&number.to_le_bytes());
            repair(&mut forged);
            self.attempt(&forged, || format!("{number} at {at}"));
            forged[at..at + 4].copy_from_slice(&file[at..at + 4]);
        }
        for at in (head_ends.next_multiple_of(8)..file.len() - 8).step_by(8 * step) {
            let number = reals[at / 8 / step % reals.len()];
            forged[at..at + 8].copy_from_slice(&number.to_le_bytes());
            repair(&mut forged);
            self.attempt(&forged, || format!("{number} at {at}"));
            forged[at..at + 8].copy_from_slice(&file[at..at + 8]);
        }
    }

    /// Every value in the head (labels, templates, types, settings) replaced by others, and left out.
    fn head(&mut self, file: &[u8]) {
        let whole = split(file);
        let head: Value = serde_json::from_slice(&whole[0].1).unwrap();
        let mut paths = Vec::new();
        places(&head, String::new(), &mut paths);
        assert!(paths.len() > 10, "{paths:?}");
        let long = "x".repeat(70_000);
        let others = [json!(null), json!(true), json!(0), json!(-1), json!(2), json!(65_536), json!(1e9)];
        let more = [json!(u64::MAX), json!(1e300), json!(""), json!("x"), json!([]), json!({}), json!(long)];
        for path in paths {
            for other in others.iter().chain(&more) {
                let mut head = head.clone();
                *head.pointer_mut(&path).unwrap() = other.clone();
                self.with_head(file, &whole, &head, || format!("{path} = {:.20}", other.to_string()));
            }
            let mut altered = head.clone();
            match altered.pointer_mut(&path).unwrap() {
                Value::Array(list) => {
                    list.reverse();
                    list.extend(list.clone());
                }
                Value::Object(map) => drop(map.insert("unknown".into(), json!(1))),
                Value::String(text) => text.push_str("\n\0é"),
                Value::Number(number) => {
                    *number = serde_json::Number::from_f64(number.as_f64().unwrap() + 1.0).unwrap();
                }
                other => *other = json!(1),
            }
            self.with_head(file, &whole, &altered, || format!("{path} altered"));
            let (parent, key) = path.rsplit_once('/').unwrap();
            let mut without = head.clone();
            match without.pointer_mut(parent).unwrap() {
                Value::Array(list) => drop(list.remove(key.parse().unwrap())),
                Value::Object(map) => drop(map.remove(key)),
                _ => unreachable!("only these have places"),
            }
            self.with_head(file, &whole, &without, || format!("without {path}"));
        }
    }

    fn with_head(&mut self, file: &[u8], whole: &[Section], head: &Value, what: impl Fn() -> String) {
        let mut sections = whole.to_vec();
        sections[0].1 = serde_json::to_vec(head).unwrap();
        self.attempt(&join(file, &sections), what);
    }
}

/// A section of a file: its name, filled up with zeros, and its content.
type Section = ([u8; NAME], Vec<u8>);

fn split(file: &[u8]) -> Vec<Section> {
    let count = u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
    let mut at = HEADER + ENTRY * count;
    let entry = |entry: &[u8]| {
        at = at.next_multiple_of(64);
        let length = u64::from_le_bytes(entry[NAME..].try_into().unwrap()) as usize;
        at += length;
        (entry[..NAME].try_into().unwrap(), file[at - length..at].to_vec())
    };
    file[HEADER..HEADER + ENTRY * count].chunks_exact(ENTRY).map(entry).collect()
}

/// A file of these sections, whose header is otherwise that of `file`, with a right length and checksum.
fn join(file: &[u8], sections: &[Section]) -> Vec<u8> {
    let mut joined = file[..HEADER].to_vec();
    joined[12..16].copy_from_slice(&(sections.len() as u32).to_le_bytes());
    for (name, content) in sections {
        joined.extend_from_slice(name);
        joined.extend_from_slice(&(content.len() as u64).to_le_bytes());
    }
    for (_, content) in sections {
        joined.resize(joined.len().next_multiple_of(64), 0);
        joined.extend_from_slice(content);
    }
    joined.resize(joined.len().next_multiple_of(64) + 8, 0);
    let length = joined.len() as u64;
    joined[16..24].copy_from_slice(&length.to_le_bytes());
    repair(&mut joined);
    joined
}

/// The places of all values inside `value`, as JSON pointers.
fn places(value: &Value, here: String, paths: &mut Vec<String>) {
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    let parts: Vec<(String, &Value)> = match value {
        Value::Array(list) => list.iter().enumerate().map(|(k, part)| (k.to_string(), part)).collect(),
        Value::Object(map) => map.iter().map(|(key, part)| (escaped(key), part)).collect(),
        _ => return,
    };
    for (key, part) in parts {
        let path = format!("{here}/{key}");
        paths.push(path.clone());
        places(part, path, paths);
    }
}

/// Neither a change nor a forgery does harm. Some forgeries must give models, or their content was never put to use.
fn withstands(file: &[u8]) {
    every_change_is_rejected(file);
    let mut forger = Forger::new();
    let answered = open_and_use(file, &forger.inputs).unwrap();
    assert!(answered >= 5, "{answered} labels");
    forger.bytes(file);
    forger.sections(file);
    forger.numbers(file, 1);
    forger.head(file);
    let (harm, [rejected, accepted]) = (&forger.harm, forger.outcomes);
    println!("{} bytes, {rejected} forgeries rejected, {accepted} accepted", file.len());
    assert!(harm.is_empty(), "{} of them panic, the first are {:?}", harm.len(), &harm[..harm.len().min(20)]);
    assert!(rejected > 100 && accepted > 100, "{rejected} rejected, {accepted} accepted");
}

/// One test for each kind of model, so that they run side by side.
macro_rules! withstand {
    ($($test:ident: $file:expr;)*) => { $( #[test] fn $test() { withstands(&$file); } )* };
}

withstand! {
    chain_of_columns: kept("chain");
    chain_of_attributes: kept("attributes");
    chain_with_constraint_and_temperature: constrained();
    factorial_chain: kept("factorial");
    skip_chain: kept("skip");
    graphs_from_a_file: kept("typed");
    graphs_with_wide_weights: wide_graphs();
    grid: kept("grid");
    counts_with_ep1: counted();
    counts_with_ep2: kept("empirical");
}
