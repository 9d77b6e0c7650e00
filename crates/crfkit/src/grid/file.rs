//! The file of a grid model: its layout, its settings and its weights, in the container of all model files (`model/sections.rs`).

use super::{GridModel, Layout, Settings};
use crate::Result;
use crate::model::sections::{Format, Reader, Writer};
use crate::model::{Precision, above};
use serde::{Deserialize, Serialize};

static FORMAT: Format = Format {
    magic: *b"crfkit\0G",
    version: 2,
    name: "grid model",
    remedy: "take another copy of it or train it again",
};

/// The section of small things.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    layout: Layout,
    /// Version 1 has none: eight bytes.
    #[serde(default)]
    precision: Precision,
    settings: Settings,
}

impl GridModel {
    /// Does this look like the file of such a model?
    pub fn is_file(bytes: &[u8]) -> bool {
        bytes.starts_with(&FORMAT.magic)
    }

    /// The model file.
    pub fn to_bytes(&self, precision: Precision) -> Result<Vec<u8>> {
        let mut file = Writer::default();
        let Self { layout, settings, .. } = self.clone();
        file.json("head", &Head { layout, precision, settings });
        precision.write(&precision.round(&self.weights)?, &mut file);
        Ok(file.finish(&FORMAT))
    }

    /// The model with all weights of at most `threshold` in absolute value set to zero. They keep their places: such models are small.
    pub fn shrink(&self, threshold: f64) -> GridModel {
        GridModel { weights: above(threshold, &self.weights), ..self.clone() }
    }

    /// Reads a model file, after verifying its checksum and that its parts fit each other.
    pub fn from_bytes(bytes: &[u8]) -> Result<GridModel> {
        let mut file = Reader::new(bytes, &FORMAT)?;
        let Head { layout, precision, settings } = file.json("head")?;
        layout.check().map_err(|why| FORMAT.damaged(why))?;
        settings.check().map_err(|why| FORMAT.damaged(why))?;
        let weights = precision.read(&mut file)?;
        file.finish()?;
        if weights.len() != layout.features().dim() || !weights.iter().all(|weight| weight.is_finite()) {
            return Err(FORMAT.damaged("its weights are not those of its layout"));
        }
        Ok(GridModel { layout, weights, settings })
    }
}
