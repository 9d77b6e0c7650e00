//! A trained model of typed graphs, and its file.

use super::Types;
use crate::data::strings::Strings;
use crate::infer::Engine;
use crate::model::Features;
use crate::model::is_text;
use crate::model::sections::{Format, Reader, Writer};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

static FORMAT: Format = Format {
    magic: *b"crfkit\0F",
    version: 1,
    name: "model of graphs",
    remedy: "take another copy of it or train it again",
};

/// A model of typed graphs. Nothing in it changes after training, so one model serves any number of
/// [`TypedTagger`](super::TypedTagger)s.
#[derive(Clone, Debug)]
pub struct TypedModel {
    /// The types of nodes and factors.
    pub types: Types,
    /// The named features of each type.
    pub names: Vec<Strings>,
    /// Which weight stands where.
    pub features: Arc<Features>,
    /// θ.
    pub weights: Vec<f64>,
    /// The inference that it was trained with, and labels with unless told otherwise.
    pub engine: Engine,
    /// Every setting that shaped the weights.
    pub settings: serde_json::Value,
}

/// The section of small things.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    types: Types,
    engine: Engine,
    settings: serde_json::Value,
}

impl TypedModel {
    /// Does this look like the file of such a model?
    pub fn is_file(bytes: &[u8]) -> bool {
        bytes.starts_with(&FORMAT.magic)
    }

    /// The model file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut file = Writer::default();
        let Self { types, engine, settings, .. } = self.clone();
        file.json("head", &Head { types, engine, settings });
        for names in &self.names {
            file.strings(["names.text", "names.ends"], names);
        }
        file.numbers("weights", self.weights.iter().map(|weight| weight.to_le_bytes()));
        file.finish(&FORMAT)
    }

    /// Reads a model file, after verifying its checksum and that its parts fit each other.
    pub fn from_bytes(bytes: &[u8]) -> Result<TypedModel> {
        let mut file = Reader::new(bytes, &FORMAT)?;
        let Head { types, engine, settings } = file.json("head")?;
        let names = (0..types.all().len()).map(|_| file.strings(["names.text", "names.ends"]));
        let names = names.collect::<Result<Vec<Strings>>>()?;
        if !names.iter().all(is_text) {
            return Err(FORMAT.damaged("a name is no UTF-8"));
        }
        let weights = file.numbers("weights", f64::from_le_bytes)?;
        file.finish()?;
        let counts: Vec<usize> = names.iter().map(Strings::len).collect();
        let features = types.features(&counts).map_err(|error: Error| FORMAT.damaged(error))?;
        if weights.len() != features.dim() || !weights.iter().all(|weight| weight.is_finite()) {
            return Err(FORMAT.damaged("its weights are not those of its types"));
        }
        Ok(TypedModel { types, names, features: features.into(), weights, engine, settings })
    }
}
