//! Numbers beside tokens: weights, columns of numbers and vectors, up to a trained model and its answers.

use super::arrays::npy;
use crate::source::Source;
use crate::{Target, mutate};
use crfkit::chain::{CorpusBuilder, Sequence};
use crfkit::data::columns::Columns;
use crfkit::data::numpy::MatrixReader;
use crfkit::data::observer::Source as Observations;
use crfkit::data::rows::{RowFormat, RowReader};
use crfkit::data::template::{Dialect, Templates};
use crfkit::data::text::{Encoding, Lines};
use crfkit::data::vectors::Vectors;
use crfkit::domain::{Corpus, Domain};
use crfkit::linked::{LinkedBuilder, Links};
use crfkit::loss::Pieces;
use crfkit::settings::{Criterion, Kind, Method, Settings};
use crfkit::tag::Tagger;
use crfkit::train::{TrainOptions, features, train};
use crfkit::{Place, Result};
use std::sync::Arc;

pub const VECTORS: Target = Target {
    name: "vectors",
    promise: "a matrix of vectors is rejected, or trains chains and linked chains that label by it",
    run: |data| {
        let Some((&first, file)) = data.split_first() else { return };
        let Some(sentences) = with_vectors(file) else { return };
        let standardised = first % 2 == 1;
        let mut chains = CorpusBuilder::new(Observations::Templates(templates()));
        let mut linked = LinkedBuilder::new(Links::Factorial, templates(), 3, vec![1, 2]).expect("a builder");
        if standardised {
            (chains, linked) = (chains.standardise(), linked.standardise());
        }
        let as_chain = |rows: &Columns| Sequence::Columns { rows: rows.clone(), label_column: Some(-1) };
        for rows in &sentences {
            if chains.add(&as_chain(rows)).is_err() || linked.add(rows).is_err() {
                return;
            }
        }
        let settings =
            |kind| Settings { optimizer: Method::Lbfgs, passes: Some(3), ..Settings::for_kind(kind) };
        if let Ok(corpus) = chains.finish(1) {
            learn_and_label(
                corpus,
                &settings(Kind::Chain),
                &sentences.iter().map(as_chain).collect::<Vec<_>>(),
            );
        }
        if let Ok(corpus) = linked.finish(1) {
            learn_and_label(corpus, &settings(Kind::Linked), &sentences);
        }
    },
    seeds: || {
        let numbers: Vec<f32> = (0..2 * TOKENS).map(|k| (k % 5) as f32 - 2.0).collect();
        let bytes = |numbers: &[f32]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
        let halves: Vec<u8> = (0..TOKENS).flat_map(|k| [k as u8, 0x3C]).collect();
        let shape = format!("({TOKENS}, 2)");
        vec![
            [&[0][..], &npy("<f4", &shape, &bytes(&numbers))].concat(),
            [&[1][..], &npy("<f4", &shape, &bytes(&numbers))].concat(),
            [&[1][..], &npy("<f2", &format!("({TOKENS}, 1)"), &halves)].concat(),
            [&[1][..], &npy("|u1", &format!("({TOKENS}, 3)"), &[7; 3 * TOKENS])].concat(),
        ]
    },
    mutate: |input, random| match random.below(2) {
        0 => mutate::bytes(input, random),
        _ => mutate::single(input, random),
    },
};

const SENTENCES: [&[[&str; 3]]; 3] = [
    &[["the", "D", "x"], ["dog", "N", "y"], ["runs", "V", "y"]],
    &[["a", "D", "x"], ["dog", "N", "x"]],
    &[["runs", "V", "y"]],
];
const TOKENS: usize = 6;

/// The sentences with the vectors of a file, if it has one for each token.
fn with_vectors(file: &[u8]) -> Option<Vec<Columns>> {
    let mut matrix = MatrixReader::new(file, "fuzz").ok()?;
    let mut all = Vec::new();
    for sentence in SENTENCES {
        let mut rows = Columns::from_rows(sentence.iter().copied(), "sentence").expect("these are rows");
        let mut vectors = Vectors::default();
        matrix.read(rows.len(), &mut vectors, || Place::new("sentence", 1)).ok()?;
        rows.set_vectors(vectors).expect("a reader gives one vector for each token");
        all.push(rows);
    }
    matrix.finish("sentence").ok()?;
    Some(all)
}

fn templates() -> Templates {
    Templates::compile("U:%x[0,0]\nU:%seen[0,0]\nB\n", Dialect::Crfpp, "fuzz").expect("a template")
}

/// Trains a model, which may be rejected, and labels: probabilities are probabilities, or it says why there are none.
fn learn_and_label<D: Domain>(corpus: Corpus<D>, settings: &Settings, inputs: &[D::Input]) {
    let features = features(&corpus, settings);
    let start = TrainOptions { threads: 1, ..TrainOptions::default() };
    let Ok(trained) = train(corpus, features, settings, start, &mut ()) else { return };
    let bytes = trained.model.to_bytes(Default::default()).expect("a trained model can be stored");
    let model = crfkit::domain::WeightedModel::<D>::from_bytes(&bytes).expect("and read");
    super::models::ask(&Arc::new(model), inputs);
}

pub const WEIGHTS: Target = Target {
    name: "weights",
    promise: "weights of tokens and sequences give the same model, or are rejected, through columns, JSON lines and memory",
    run: |data| {
        let mut source = Source(data);
        let settings = Settings {
            objective: Criterion::ALL[source.below(Criterion::ALL.len())],
            pieces: [None, Some(Pieces::SharedUnary), Some(Pieces::Bethe)][source.below(3)],
            optimizer: [Method::Lbfgs, Method::Adagrad, Method::Auto][source.below(3)],
            passes: Some(2),
            ..Settings::default()
        };
        if settings.check(Kind::Chain).is_err() {
            return;
        }
        let weighted = weighted(&mut source);
        let mut models = [columns, json, memory].map(|door| learn(door(&weighted), &settings));
        let first = models[0].take();
        for other in &models[1..] {
            assert!(*other == first, "another model through another door: {weighted:?}");
        }
    },
    seeds: || (0..20).map(|k| (0..40).map(|i| ((i + 1) * (2 * k + 3) % 251) as u8).collect()).collect(),
    mutate: mutate::bytes,
};

/// A sentence: its weight, then token, label and weight.
type Weighted = (f64, Vec<(&'static str, &'static str, f64)>);

fn weighted(source: &mut Source) -> Vec<Weighted> {
    const WEIGHTS: [f64; 12] =
        [1.0, 0.0, 0.5, 2.0, 1e-300, 5e-324, 1e18, 1e300, f64::MAX, -1.0, 3.0, f64::MIN_POSITIVE];
    let weight = |source: &mut Source| WEIGHTS[source.below(40) % (if source.byte() < 200 { 4 } else { 12 })];
    (0..1 + source.below(3))
        .map(|_| {
            let token = |source: &mut Source| {
                (["a", "b", "c"][source.below(3)], ["X", "Y"][source.below(2)], weight(source))
            };
            (weight(source), (0..1 + source.below(4)).map(|_| token(source)).collect())
        })
        .collect()
}

fn learn(sequences: Result<Vec<Sequence>>, settings: &Settings) -> Option<Vec<u8>> {
    let mut builder = CorpusBuilder::new(Observations::Templates(templates()));
    sequences.ok()?.iter().try_for_each(|sequence| builder.add(sequence)).ok()?;
    let corpus = builder.finish(1).ok()?;
    let features = features(&corpus, settings);
    let trained =
        train(corpus, features, settings, TrainOptions { threads: 1, ..TrainOptions::default() }, &mut ())
            .ok()?;
    let model = Arc::new(trained.model);
    let file = model.to_bytes(Default::default()).expect("a trained model can be stored");
    let mut tagger = Tagger::new(model);
    let rows = Sequence::from_rows([["a", "?"], ["c", "?"]]).expect("these are rows");
    tagger.load(&rows).expect("a model of finite weights labels");
    Some(file)
}

fn read(text: &str, format: &RowFormat, taken: bool) -> Result<Vec<Sequence>> {
    let mut reader = RowReader::new(Lines::new(text.as_bytes(), "fuzz", Encoding::Utf8), format);
    let (mut all, mut rows) = (Vec::new(), Columns::default());
    while reader.read(&mut rows)? {
        if taken {
            rows.take_weights(Some(0), Some(-1))?;
        }
        all.push(Sequence::Columns { rows: rows.clone(), label_column: Some(-1) });
    }
    Ok(all)
}

fn columns(sentences: &[Weighted]) -> Result<Vec<Sequence>> {
    let sentence = |(weight, tokens): &Weighted| {
        let row = |(word, label, own): &(&str, &str, f64)| format!("{weight:e} {word} {label} {own:e}\n");
        tokens.iter().map(row).collect::<String>() + "\n"
    };
    read(&sentences.iter().map(sentence).collect::<String>(), &RowFormat::Columns, true)
}

fn json(sentences: &[Weighted]) -> Result<Vec<Sequence>> {
    let sentence = |(weight, tokens): &Weighted| {
        let of = |part: fn(&(&'static str, &'static str, f64)) -> &'static str| {
            tokens.iter().map(part).collect::<Vec<_>>()
        };
        let own: Vec<f64> = tokens.iter().map(|token| token.2).collect();
        let line = serde_json::json!({ "tokens": of(|t| t.0), "labels": of(|t| t.1), "weight": weight, "weights": own });
        format!("{line}\n")
    };
    read(&sentences.iter().map(sentence).collect::<String>(), &RowFormat::Json, false)
}

fn memory(sentences: &[Weighted]) -> Result<Vec<Sequence>> {
    let sentence = |(weight, tokens): &Weighted| {
        let rows = Sequence::from_rows(tokens.iter().map(|(word, label, _)| [*word, *label]))?;
        let own: Vec<f64> = tokens.iter().map(|token| token.2).collect();
        let mut sequence = rows.with_token_weights(&own)?;
        if let Sequence::Columns { rows, .. } = &mut sequence {
            rows.set_weight(*weight)?;
        }
        Ok(sequence)
    };
    sentences.iter().map(sentence).collect()
}
