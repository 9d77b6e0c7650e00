//! Small trained models of every kind, and sequences to try them on.
#![allow(dead_code)] // each test file uses a part of it

use crfkit::chain::{ChainCorpus, ChainModel, CorpusBuilder};
use crfkit::data::attributes::{AttributeReader, Attributes};
use crfkit::data::columns::{ColumnReader, Columns};
use crfkit::data::observer::Source;
use crfkit::data::template::{Dialect, Templates};
use crfkit::data::text::{Encoding, Lines};
use crfkit::model::Keep;
use crfkit::tag::Tagger;
use crfkit::train::{self, Method, Settings, TrainOptions};
use std::sync::Arc;

pub const COLUMNS: &str = "\
two NUM B-AMOUNT
cups NOUN I-AMOUNT
sugar NOUN B-FOOD

red ADJ B-FOOD
peppers NOUN I-FOOD
, , O
sliced VERB O

1 NUM B-AMOUNT
red ADJ B-FOOD
onion NOUN I-FOOD

salt\\ NOUN B-FOOD
";

pub const ATTRIBUTES: &str = "\
B-AMOUNT\tw=two\tlength:0.3
I-AMOUNT\tw=cups\tlength:0.4\tafter=two
B-FOOD\tw=sugar\tlength:0.5

B-FOOD\tw=red
I-FOOD\tw=peppers\tplural\tlength:-0.7
O\tw=\\:\tplural:2

B-AMOUNT\tw=1
B-FOOD\tw=onion
";

/// Input with known and unknown words.
const UNSEEN_COLUMNS: &str = "two NUM\nred ADJ\ncups NOUN\ngreen ADJ\n, ,\n\nsugar NOUN\n";
const UNSEEN_ATTRIBUTES: &str = "?\tw=red\tlength:0.25\n?\tw=green\tplural\n?\tw=cups\n\n?\tw=two\n";

pub fn columns(text: &str) -> Vec<Columns> {
    let mut reader = ColumnReader::new(Lines::new(text.as_bytes(), "columns", Encoding::Utf8));
    let mut all = vec![Columns::default()];
    while reader.read(all.last_mut().unwrap()).unwrap() {
        all.push(Columns::default());
    }
    all.pop();
    all
}

pub fn attributes(text: &str) -> Vec<Attributes> {
    let mut reader = AttributeReader::new(Lines::new(text.as_bytes(), "attributes", Encoding::Utf8));
    let mut all = vec![Attributes::default()];
    while reader.read(all.last_mut().unwrap()).unwrap() {
        all.push(Attributes::default());
    }
    all.pop();
    all
}

/// The corpus of one of the texts above.
pub fn corpus(source: Source) -> ChainCorpus {
    let mut builder = CorpusBuilder::new(source.clone());
    match source {
        Source::Attributes => attributes(ATTRIBUTES).iter().for_each(|i| builder.add_attributes(i).unwrap()),
        Source::Templates(_) => columns(COLUMNS).iter().for_each(|s| builder.add_columns(s, 2).unwrap()),
    }
    builder.finish(1).unwrap()
}

pub fn templates() -> Source {
    let text = "# words and tags\nU00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[0,0]/%x[1,1]\nU03\nB\nB01:%x[0,1]\n";
    Source::Templates(Templates::compile(text, Dialect::Crfpp, "food.tpl").unwrap())
}

pub fn wapiti_templates() -> Source {
    let text = "u:w=%X[0,0]\n*:cap=%t[0,0,\"^\\u\"]\nu:suffix=%m[0,0,\".?.?$\"]\nu:last=%x[@-1,1]\n";
    Source::Templates(Templates::compile(text, Dialect::Wapiti, "food.wapiti").unwrap())
}

pub fn trained(source: Source, settings: &Settings) -> ChainModel {
    let corpus = corpus(source);
    let features = train::features(&corpus, settings);
    train::train(corpus, features, settings, TrainOptions::default(), &mut ()).unwrap().model
}

/// A model of every kind.
pub fn models() -> Vec<ChainModel> {
    let settings = |features, boundaries| Settings {
        features,
        boundaries,
        sigma: 0.1 + 0.2, // a number whose shortest form has 17 digits
        optimizer: Method::Lbfgs,
        passes: Some(20),
        ..Settings::default()
    };
    let sources = [templates(), wapiti_templates(), Source::Attributes];
    let mut models = Vec::new();
    for source in sources {
        models.push(trained(source.clone(), &settings(Keep::Observed, true)));
        models.push(trained(source.clone(), &settings(Keep::All, false)));
    }
    models
}

/// What a model says about sequences: labels, marginals, log Z. Nothing if it cannot take the input.
pub fn answers(model: &ChainModel) -> Vec<(Vec<u32>, Vec<f64>)> {
    let labels = model.domain.labels.len() as u32;
    let mut tagger = Tagger::new(Arc::new(model.clone()));
    let mut all = Vec::new();
    let mut ask = |tagger: &mut Tagger<ChainModel>| {
        let mut numbers = vec![tagger.log_z()];
        for t in 0..tagger.len() {
            numbers.extend((0..labels).map(|label| tagger.marginal(t, label)));
        }
        all.push((tagger.viterbi().to_vec(), numbers));
    };
    for sequence in columns(COLUMNS).iter().chain(&columns(UNSEEN_COLUMNS)) {
        if tagger.load_columns(sequence).is_ok() {
            ask(&mut tagger);
        }
    }
    for instance in attributes(ATTRIBUTES).iter().chain(&attributes(UNSEEN_ATTRIBUTES)) {
        if tagger.load_attributes(instance).is_ok() {
            ask(&mut tagger);
        }
    }
    all
}
