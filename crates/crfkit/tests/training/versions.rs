//! Every released version of the model file stays readable, and gives the same labels.

use crate::corpora;

use corpora::models::{attributes, columns, templates};
use corpora::{attribute_corpus, column_corpus, made_up_attributes, made_up_columns};
use crfkit::answers::Answers;
use crfkit::chain::{ChainModel, Sequence};
use crfkit::data::images::{Image, Mask};
use crfkit::data::observer::Source;
use crfkit::data::template::Dialect;
use crfkit::data::vectors::Vectors;
use crfkit::domain::{Corpus, Domain, WeightedModel};
use crfkit::empirical::{Counts, EmpiricalModel, PairKind};
use crfkit::grid::{Engine, GridBuilder, GridDomain, GridImage, GridModel, SiteFeatures};
use crfkit::linked::{LinkedBuilder, LinkedModel, Links};
use crfkit::model::Precision;
use crfkit::settings::Constraint;
use crfkit::tag::{Labeller, Tagger};
use crfkit::train::{self, Init, Method, Settings, TrainOptions};
use crfkit::typed::{TypedBuilder, TypedModel};
use crfkit::{Error, Place, Sequences, Trainer};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// A kind of model of which a file is kept.
struct Kept {
    name: &'static str,
    /// Trains a small one, and gives its file.
    make: fn() -> Vec<u8>,
    /// Reads a file; gives the file that is written again, and what the model says of the inputs below.
    read: fn(&[u8]) -> (Vec<u8>, String),
}

const ALL: [Kept; 9] = [
    Kept {
        name: "chain",
        make: chain,
        read: |file| reread::<ChainModel>(file, Precision::F64, &sequences()),
    },
    Kept {
        name: "attributes",
        make: attribute_chain,
        read: |file| reread::<ChainModel>(file, Precision::F32, &instances()),
    },
    Kept {
        name: "second_order",
        make: second_order,
        read: |file| reread::<ChainModel>(file, Precision::F64, &with_numbers(sequences())),
    },
    Kept {
        name: "segments",
        make: segments,
        read: |file| reread::<ChainModel>(file, Precision::F64, &sequences()),
    },
    Kept {
        name: "factorial",
        make: factorial,
        read: |file| reread::<LinkedModel>(file, Precision::F16, &columns(COLUMNS)),
    },
    Kept {
        name: "skip",
        make: skip,
        read: |file| reread::<LinkedModel>(file, Precision::F64, &columns(COLUMNS)),
    },
    Kept { name: "typed", make: typed, read: read_typed },
    Kept { name: "grid", make: grid, read: |file| reread::<GridModel>(file, Precision::F64, &pictures()) },
    Kept { name: "empirical", make: empirical, read: read_empirical },
];

// What models are asked about. Never change it: the labels of the files that are kept would change too.

/// Words and their lengths: known ones, unknown ones, some of them twice.
pub(crate) const COLUMNS: &str = "\
two 3
red 3
cups 4
never 5
sugar 5

1/2 3
red 3
onion 5
, 1
sliced 6
red 3

cup 3
";
const ATTRIBUTES: &str = "\
?\tw=two\tlength:0.3
?\tw=red\tlength:0.25\tbefore=two
?\tw=never\tbefore=red
?\tw=sugar\tunheard

?\tw=cup
";
const TYPES: &str = r#"{"types": {"word": {"labels": ["N", "V", "D"], "dense": 1}, "next": {"over": ["word", "word"]}, "same": {"over": ["word", "word"], "table": "potts"}}}"#;
pub(crate) const GRAPHS: [&str; 3] = [
    r#"{"nodes": [{"type": "word", "label": "D", "dense": [0.5], "features": ["the"]}, {"type": "word", "label": "N", "dense": [-1], "features": ["dog"]}, {"type": "word", "label": "V", "dense": [0], "features": ["runs"]}], "factors": [{"type": "next", "nodes": [0, 1]}, {"type": "next", "nodes": [1, 2]}]}"#,
    r#"{"nodes": [{"type": "word", "label": "N", "dense": [-1], "features": ["dog"]}, {"type": "word", "label": "V", "dense": [0.25], "features": ["runs", "late"]}, {"type": "word", "label": "N", "dense": [-1], "features": ["runs"]}], "factors": [{"type": "next", "nodes": [0, 1]}, {"type": "next", "nodes": [1, 2]}, {"type": "same", "nodes": [0, 2], "features": {"far": 2}}]}"#,
    r#"{"nodes": [{"type": "word", "dense": [1], "features": ["the"]}, {"type": "word", "dense": [-1], "features": ["runs"]}, {"type": "word", "dense": [0], "features": ["unheard"]}], "factors": [{"type": "next", "nodes": [0, 1]}, {"type": "next", "nodes": [1, 2]}]}"#,
];

pub(crate) fn sequences() -> Vec<Sequence> {
    columns(COLUMNS).into_iter().map(Sequence::from).collect()
}

pub(crate) fn instances() -> Vec<Sequence> {
    attributes(ATTRIBUTES).into_iter().map(Sequence::from).collect()
}

/// The same sequences with two numbers for each token: its position, and one that repeats.
fn with_numbers(sequences: Vec<Sequence>) -> Vec<Sequence> {
    let numbers = |length: usize| (0..length).flat_map(|t| [t as f32, [0.5, -2.0, 1.25][t % 3]]).collect();
    let add = |sequence: Sequence| {
        let vectors = Vectors::new(2, numbers(sequence.len())).unwrap();
        sequence.with_vectors(vectors).unwrap()
    };
    sequences.into_iter().map(add).collect()
}

/// Three images of 3 × 4 pixels, dark on the left, bright on the right.
pub(crate) fn pictures() -> Vec<GridImage> {
    let picture = |k: usize| {
        let bright = |i: usize| i % 4 > k;
        let value = |i: usize| f64::from(u8::from(bright(i))) + 0.3 * (((7 * i + 3 * k) % 5) as f64 - 2.0);
        let values = (0..12).map(value).collect();
        let mask =
            Mask { height: 3, width: 4, values: (0..12).map(|i| u16::from(bright(i)) * 255).collect() };
        let sites = Image { height: 3, width: 4, channels: 1, values }.into();
        GridImage { mask: Some(mask), ..GridImage::new(sites, &format!("image {k}")) }
    };
    (0..3).map(picture).collect()
}

// How the files were made. This may change: it concerns the next version only.

pub(crate) fn fit<D: Domain>(corpus: Corpus<D>, settings: &Settings) -> WeightedModel<D> {
    let settings = Settings { optimizer: Method::Lbfgs, passes: Some(20), ..settings.clone() };
    let features = train::features(&corpus, &settings);
    train::train(corpus, features, &settings, TrainOptions::default(), &mut ()).unwrap().model
}

fn chain() -> Vec<u8> {
    let settings = Settings { l1: 0.3, boundaries: true, ..Settings::default() };
    let corpus = column_corpus(&made_up_columns(1, 30), templates(), 1);
    fit(corpus, &settings).to_bytes(Precision::F64).unwrap()
}

/// Made-up sequences with labels.
fn labelled() -> Vec<Sequence> {
    columns(&made_up_columns(1, 30)).into_iter().map(Sequence::from).collect()
}

/// Label pairs of the training data only, a notation that training obeys, and standardised vectors.
fn second_order() -> Vec<u8> {
    let trainer = Trainer::new().template("U0:%x[0,0]\nU1:%x[-1,0]\nB\n", Dialect::Crfpp).order(2);
    let trainer = trainer.constraint(Constraint::Iob2).standardise().optimizer(Method::Lbfgs).passes(20);
    trainer.train(Sequences::new(with_numbers(labelled()))).unwrap().to_bytes().unwrap()
}

fn segments() -> Vec<u8> {
    let template = "U0:%x[0,0]\nU1:%x[-1,0]\nS0:%x[0,0]\nS1:%length[0]/%shape[0,0]\nB\n";
    let trainer = Trainer::new().template(template, Dialect::Crfpp).segments(4);
    let trainer = trainer.optimizer(Method::Lbfgs).passes(20);
    trainer.train(Sequences::new(labelled())).unwrap().to_bytes().unwrap()
}

fn attribute_chain() -> Vec<u8> {
    let corpus = attribute_corpus(&made_up_attributes(1, 30), 1);
    fit(corpus, &Settings::default()).to_bytes(Precision::F32).unwrap()
}

/// A linked chain of words, lengths and labels; with several label columns, the word is short or long.
fn linked(links: Links, labels: &[usize]) -> Corpus<crfkit::linked::LinkedDomain> {
    let Source::Templates(templates) = templates() else { unreachable!("they are templates") };
    let mut builder = LinkedBuilder::new(links, templates, 2 + labels.len(), labels.to_vec()).unwrap();
    let text: String = made_up_columns(1, 30)
        .lines()
        .map(|line| match line.split(' ').nth(1) {
            Some(length) if labels.len() > 1 => {
                format!("{line} {}\n", if length < "4" { "short" } else { "long" })
            }
            _ => format!("{line}\n"),
        })
        .collect();
    columns(&text).iter().for_each(|sequence| builder.add(sequence).unwrap());
    builder.finish(1).unwrap()
}

fn factorial() -> Vec<u8> {
    let model = fit(linked(Links::Factorial, &[2, 3]), &Settings { l1: 0.2, ..Settings::default() });
    model.to_bytes(Precision::F16).unwrap()
}

fn skip() -> Vec<u8> {
    let links = Links::SkipChain { rule: "same(0)".parse().unwrap(), observed: true };
    fit(linked(links, &[2]), &Settings::default()).to_bytes(Precision::F64).unwrap()
}

fn typed() -> Vec<u8> {
    let mut builder = TypedBuilder::default();
    for (line, text) in (1..).zip([TYPES, GRAPHS[0], GRAPHS[1]]) {
        builder.add(text, &Place::new("graphs", line)).unwrap();
    }
    let sigma_of = [("next".to_owned(), 3.0)].into();
    let settings = Settings { inference: Some(Engine::Exact), sigma_of, ..Settings::default() };
    fit(builder.finish(1).unwrap(), &settings).to_bytes(Precision::F32).unwrap()
}

fn grid() -> Vec<u8> {
    let pictures = pictures();
    let domain =
        GridDomain::new(vec![0, 255], SiteFeatures::default(), &pictures[0].sites, "image 0").unwrap();
    let mut builder = GridBuilder::new(domain).unwrap();
    pictures.iter().for_each(|picture| builder.add_image(picture).unwrap());
    let settings = Settings { inference: Some(Engine::Exact), init: Init::Logistic, ..Settings::default() };
    fit(builder.finish().unwrap(), &settings).to_bytes(Precision::F64).unwrap()
}

fn empirical() -> Vec<u8> {
    let settings = crfkit::empirical::EmpiricalSettings {
        method: crfkit::empirical::EmpiricalMethod::Ep2,
        pairs: PairKind::Lexical,
        ..Default::default()
    };
    let mut counts = Counts::new(settings.pairs);
    columns(&made_up_columns(1, 60)).iter().for_each(|sequence| counts.add_columns(sequence, 2).unwrap());
    crfkit::empirical::train(&counts, &settings, None).unwrap().model.to_bytes().unwrap()
}

// Reading.

fn reread<M: Stored>(file: &[u8], precision: Precision, inputs: &[M::Input]) -> (Vec<u8>, String) {
    let model = M::read(file).unwrap();
    (model.written(precision), said(model, inputs))
}

/// A model with weights, as a file.
trait Stored: Labeller + Sized {
    fn read(file: &[u8]) -> crfkit::Result<Self>;
    fn written(&self, precision: Precision) -> Vec<u8>;
}

impl<D: Domain> Stored for WeightedModel<D> {
    fn read(file: &[u8]) -> crfkit::Result<Self> {
        Self::from_bytes(file)
    }

    fn written(&self, precision: Precision) -> Vec<u8> {
        assert_eq!(self.settings.precision, precision);
        self.to_bytes(precision).unwrap()
    }
}

fn read_typed(file: &[u8]) -> (Vec<u8>, String) {
    let model = TypedModel::from_bytes(file).unwrap();
    let read = |text: &&str| model.domain.read_line(text, &Place::new("graphs", 1)).unwrap().unwrap();
    let graphs: Vec<_> = GRAPHS.iter().map(read).collect();
    reread::<TypedModel>(file, Precision::F32, &graphs)
}

fn read_empirical(file: &[u8]) -> (Vec<u8>, String) {
    let model = EmpiricalModel::from_bytes(file).unwrap();
    (model.to_bytes().unwrap(), said(model, &sequences()))
}

/// The label of every variable and its probability, line by line; an empty line after each input.
fn said<M: Labeller>(model: M, inputs: &[M::Input]) -> String {
    let model = Arc::new(model);
    let (sets, mut tagger) = (model.label_sets(), Tagger::new(model.clone()));
    let mut text = String::new();
    for input in inputs {
        tagger.load(input).unwrap();
        let labels = tagger.labels(model.decode()).unwrap().to_vec();
        for (v, &label) in labels.iter().enumerate() {
            let name = &sets[model.label_set_of(tagger.answers().graph(), v)].labels[label as usize];
            let p = tagger.answers().probability_of(v, label).unwrap();
            writeln!(text, "{name}\t{p:.6}").unwrap();
        }
        text.push('\n');
    }
    text
}

pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(name)
}

/// Labels must be the same, probabilities nearly.
fn assert_said(found: &str, expected: &str, name: &str) {
    assert!(expected.lines().count() > 5, "{name}");
    assert_eq!(found.lines().count(), expected.lines().count(), "{name}");
    for (number, (found, expected)) in (1..).zip(found.lines().zip(expected.lines())) {
        let split = |line: &str| line.split_once('\t').map(|(label, p)| (label.to_owned(), p.to_owned()));
        let (Some((label, p)), Some((gold, q))) = (split(found), split(expected)) else {
            assert_eq!(found, expected, "{name}, line {number}");
            continue;
        };
        assert_eq!(label, gold, "{name}, line {number}");
        let [p, q]: [f64; 2] = [p, q].map(|number| number.parse().unwrap());
        assert!((p - q).abs() < 5e-6, "{name}, line {number}: {p} {q}");
    }
}

/// Writes the files that are missing where CRFKIT_WRITE_DOCS=1 asks for it, then reads all.
#[test]
fn kept_models_are_read_and_say_the_same() {
    for Kept { name, make, read } in ALL {
        let (file, labels) = (path(&format!("v3.{name}")), path(&format!("v3.{name}.tsv")));
        if std::env::var_os("CRFKIT_WRITE_DOCS").is_some() && !file.exists() {
            let bytes = make();
            std::fs::write(&labels, read(&bytes).1).unwrap();
            std::fs::write(&file, bytes).unwrap();
        }
        let bytes = std::fs::read(&file).unwrap();
        let (written, said) = read(&bytes);
        assert_said(&said, &std::fs::read_to_string(&labels).unwrap(), name);
        // The writer writes the newest version only; as long as that is the version of the file, it writes the same bytes.
        if written[8..12] == bytes[8..12] {
            assert!(written == bytes, "{name}: what is written has changed, so its version must be another");
        }
    }
}

/// Versions 1 and 2 were never released.
#[test]
fn versions_before_the_first_release_are_rejected_with_a_remedy() {
    for Kept { name, .. } in ALL {
        for version in [1u8, 2] {
            let mut bytes = std::fs::read(path(&format!("v3.{name}"))).unwrap();
            bytes[8] = version;
            let end = bytes.len() - 8;
            let checksum = xxh3_64(&bytes[..end]);
            bytes[end..].copy_from_slice(&checksum.to_le_bytes());
            let errors = [
                ChainModel::from_bytes(&bytes).unwrap_err(),
                LinkedModel::from_bytes(&bytes).unwrap_err(),
                TypedModel::from_bytes(&bytes).unwrap_err(),
                GridModel::from_bytes(&bytes).unwrap_err(),
                EmpiricalModel::from_bytes(&bytes).unwrap_err(),
            ];
            for error in errors {
                let Error::File { name: kind, message } = error else { panic!("{error}") };
                assert_eq!(kind, "model");
                let why = format!("written before the first release (format {version})");
                assert!(message.contains(&why) && message.contains("train it again"), "{name}: {message}");
            }
        }
    }
}
