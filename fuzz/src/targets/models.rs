//! Model files: ours, and those of other toolkits.

use crate::{Target, mutate, sections};
use crfkit::answers::Answers;
use crfkit::any::{AnyModel, ModelVisitor};
use crfkit::chain::{ChainModel, Sequence};
use crfkit::data::images::Image;
use crfkit::empirical::EmpiricalModel;
use crfkit::foreign;
use crfkit::grid::{GridImage, GridModel};
use crfkit::linked::LinkedModel;
use crfkit::model::Precision;
use crfkit::model::dump::dump;
use crfkit::tag::{Labeller, Tagger};
use crfkit::typed::TypedModel;
use crfkit::{Place, Result};
use std::sync::Arc;

pub const MODEL: Target = Target {
    name: "model",
    promise: "a model file is rejected, or it is a model that labels, is dumped, written and read again",
    run: |data| {
        let mut file = data.to_vec();
        sections::repair(&mut file);
        if let Ok(model) = AnyModel::from_bytes(&file) {
            use_it(model);
        }
    },
    seeds: || {
        let stored = |name: &str| stored(&format!("v3.{name}"));
        ["chain", "attributes", "factorial", "skip", "typed", "grid", "empirical"].map(stored).to_vec()
    },
    mutate: mutate::sections,
};

pub const CRFSUITE: Target = Target {
    name: "crfsuite",
    promise: FOREIGN,
    run: |data| read_foreign(foreign::crfsuite::read, data),
    seeds: || vec![stored("foreign/small.crfsuite")],
    mutate: mutate::bytes,
};

pub const CRFPP: Target = Target {
    name: "crfpp",
    run: |data| read_foreign(foreign::crfpp::read, data),
    seeds: || vec![stored("foreign/small.crfpp.txt")],
    ..CRFSUITE
};

pub const WAPITI: Target = Target {
    name: "wapiti",
    run: |data| read_foreign(foreign::wapiti::read, data),
    seeds: || vec![stored("foreign/small.wapiti")],
    ..CRFSUITE
};

const FOREIGN: &str = "a model of that toolkit is rejected, or it labels and can be stored";

/// A kept model of the library's tests.
pub(super) fn stored(name: &str) -> Vec<u8> {
    let path = format!("{}/../crates/crfkit/tests/models/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn read_foreign(read: fn(&[u8]) -> Result<ChainModel>, data: &[u8]) {
    let Ok(model) = read(data) else { return };
    let file = model.to_bytes(Precision::F64).expect("a model that was read can be stored");
    use_it(AnyModel::from_bytes(&file).expect("a model that was stored can be read"));
}

/// Labels inputs, dumps the model, writes it and reads it again.
pub(super) fn use_it(model: AnyModel) {
    if let Some(names) = model.names() {
        dump(&names, &mut std::io::sink()).expect("nothing fails to be written nowhere");
    }
    let file = model.to_bytes().expect("a model that was read can be written");
    let again = AnyModel::from_bytes(&file).expect("a model that was written can be read");
    assert!(again.to_bytes().expect("and written") == file, "writing a model again gives other bytes");
    model.visit(Use);
}

struct Use;

impl ModelVisitor for Use {
    type Out = ();

    fn chain(self, model: Arc<ChainModel>) {
        ask(&model, &sequences());
    }

    fn linked(self, model: Arc<LinkedModel>) {
        let columns = |sequence| match sequence {
            Sequence::Columns { rows, .. } => Some(rows),
            _ => None,
        };
        ask(&model, &sequences().into_iter().filter_map(columns).collect::<Vec<_>>());
    }

    fn graph(self, model: Arc<TypedModel>) {
        const LINE: &str = r#"{"nodes": [{"type": "word", "dense": [1], "features": ["the"]}, {"type": "word", "dense": [-1],
            "features": ["runs"]}], "factors": [{"type": "next", "nodes": [0, 1]}]}"#;
        let line = LINE.replace('\n', " ");
        ask(
            &model,
            &model
                .domain
                .read_line(&line, &Place::new("graphs", 1))
                .ok()
                .flatten()
                .into_iter()
                .collect::<Vec<_>>(),
        );
    }

    fn grid(self, model: Arc<GridModel>) {
        let sites =
            Image { height: 2, width: 3, channels: 1, values: vec![0.0, 1.0, -0.5, 2.0, 0.25, 1e3] }.into();
        ask(&model, &[GridImage::new(sites, "image")]);
    }

    fn empirical(self, model: Arc<EmpiricalModel>) {
        ask(&model, &sequences());
    }
}

fn sequences() -> Vec<Sequence> {
    let rows = |rows: &[[&str; 2]]| Sequence::from_rows(rows.iter().copied()).expect("these are rows");
    let features: [(&str, Vec<(&str, f64)>); 2] =
        [("?", vec![("w=two", 1.0), ("length", 0.3)]), ("?", vec![("w=red", 1.0), ("unheard", 2.0)])];
    vec![
        rows(&[["two", "3"], ["red", "3"], ["never", "5"], ["red", "3"]]),
        rows(&[["cup", "3"]]),
        Sequence::from_features(features).expect("these are features"),
    ]
}

/// A model may reject an input, but what it answers makes sense.
pub(super) fn ask<M: Labeller>(model: &Arc<M>, inputs: &[M::Input]) {
    let (sets, mut tagger) = (model.label_sets(), Tagger::new(model.clone()));
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
        }
    }
}
