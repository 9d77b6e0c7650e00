//! Edited dumps, the input of `crfkit edit`.

use super::models::{stored, use_it};
use crate::{Target, mutate};
use crfkit::any::AnyModel;
use crfkit::model::dump::dump;
use crfkit::model::edit::{Others, read_edits};
use std::sync::OnceLock;

pub const EDIT: Target = Target {
    name: "edit",
    promise: "edits are rejected, or make a model that labels and whose dump, as edits, changes nothing",
    run: |data| {
        let Some((&first, text)) = data.split_first() else { return };
        let model = model(first as usize % MODELS.len());
        let names = model.names().expect("these models have names");
        let Ok(edits) = read_edits(text, "fuzz", &names) else { return };
        let others = if first >= 128 { Others::Delete } else { Others::Keep };
        let Ok(edited) = model.edited(&edits, others) else { return };
        let Ok(bytes) = edited.to_bytes() else { return }; // a weight is too large for the format of its numbers
        let again = read_edits(&dumped(&edited)[..], "dump", &edited.names().expect("it has names"))
            .and_then(|edits| edited.edited(&edits, Others::Delete))
            .expect("a dump is a file of edits");
        assert!(again.to_bytes().expect("it can be stored") == bytes, "its own dump changes a model");
        use_it(edited);
    },
    seeds: || {
        let with = |k: usize| [&[k as u8][..], &dumped(model(k))].concat();
        let mut all: Vec<_> = (0..MODELS.len()).map(with).collect();
        all.push([&[128][..], &dumped(model(0))].concat());
        all
    },
    mutate: mutate::bytes,
};

const MODELS: [&str; 6] = ["chain", "attributes", "factorial", "skip", "typed", "grid"];

/// The models are opened once: opening them would take most of the time.
fn model(k: usize) -> &'static AnyModel {
    static OPENED: OnceLock<Vec<AnyModel>> = OnceLock::new();
    let open = |name| AnyModel::from_bytes(&stored(&format!("v3.{name}"))).expect("a stored model");
    &OPENED.get_or_init(|| MODELS.map(open).into())[k]
}

fn dumped(model: &AnyModel) -> Vec<u8> {
    let mut text = Vec::new();
    dump(&model.names().expect("it has names"), &mut text).expect("it can be dumped");
    text
}
