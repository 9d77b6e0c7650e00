//! A trained model of typed graphs, and its file.

use super::Types;
use crate::data::strings::Strings;
use crate::infer::Engine;
use crate::model::sections::{Format, Reader, Writer};
use crate::model::{
    Features, Precision, above, compact_is_smaller, is_text, kept_names, read_features, write_features,
};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

static FORMAT: Format = Format {
    magic: *b"crfkit\0F",
    version: 2,
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
    /// Version 1 has none: eight bytes.
    #[serde(default)]
    precision: Precision,
    settings: serde_json::Value,
}

impl TypedModel {
    /// Does this look like the file of such a model?
    pub fn is_file(bytes: &[u8]) -> bool {
        bytes.starts_with(&FORMAT.magic)
    }

    /// The model file, without zero weights where that is smaller.
    pub fn to_bytes(&self, precision: Precision) -> Result<Vec<u8>> {
        let weights = precision.round(&self.weights)?;
        Ok(match compact_is_smaller(&self.features, &weights, precision) {
            true => {
                let compact = self.compact_at(&weights);
                compact.write(&compact.weights, precision)
            }
            false => self.write(&weights, precision),
        })
    }

    /// The model with all weights of at most `threshold` in absolute value set to zero, and without named features that have none left.
    pub fn shrink(&self, threshold: f64) -> TypedModel {
        self.compact_at(&above(threshold, &self.weights))
    }

    /// The model without zeros, with other weights in place of its own.
    fn compact_at(&self, weights: &[f64]) -> TypedModel {
        let mut kept: Vec<Vec<bool>> =
            (0..self.names.len()).map(|kind| self.features.used_rows(kind, weights)).collect();
        let first = |kind: usize| self.types.first_named(kind);
        kept.iter_mut().enumerate().for_each(|(kind, kept)| kept[..first(kind)].fill(true));
        let (features, weights) = self.features.without_zeros(weights, &kept);
        let names = self.names.iter().enumerate();
        let names = names.map(|(kind, names)| kept_names(names, &kept[kind][first(kind)..])).collect();
        TypedModel { names, features: features.into(), weights, ..self.clone() }
    }

    fn write(&self, weights: &[f64], precision: Precision) -> Vec<u8> {
        let mut file = Writer::default();
        let Self { types, engine, settings, .. } = self.clone();
        file.json("head", &Head { types, engine, precision, settings });
        for names in &self.names {
            file.strings(["names.text", "names.ends"], names);
        }
        precision.write(weights, &mut file);
        write_features(&self.features, &mut file);
        file.finish(&FORMAT)
    }

    /// Reads a model file, after verifying its checksum and that its parts fit each other.
    pub fn from_bytes(bytes: &[u8]) -> Result<TypedModel> {
        let mut file = Reader::new(bytes, &FORMAT)?;
        let Head { types, engine, precision, settings } = file.json("head")?;
        let names = (0..types.all().len()).map(|_| file.strings(["names.text", "names.ends"]));
        let names = names.collect::<Result<Vec<Strings>>>()?;
        if !names.iter().all(is_text) {
            return Err(FORMAT.damaged("a name is no UTF-8"));
        }
        let weights = precision.read(&mut file)?;
        let counts: Vec<usize> = names.iter().map(Strings::len).collect();
        let kinds = types.kinds(&counts).map_err(|error: Error| FORMAT.damaged(error))?;
        let features = match file.version() {
            1 => types.features(&counts).map_err(|error: Error| FORMAT.damaged(error))?,
            _ => read_features(&mut file, &FORMAT, (kinds, types.nodes().len()), &[], weights.len())?,
        };
        file.finish()?;
        if weights.len() != features.dim() || !weights.iter().all(|weight| weight.is_finite()) {
            return Err(FORMAT.damaged("its weights are not those of its types"));
        }
        Ok(TypedModel { types, names, features: features.into(), weights, engine, settings })
    }
}
