//! The file of a grid model: its layout, its settings and its weights, in the container of all model files (`model/sections.rs`).

use super::{GridModel, Layout, Settings};
use crate::Result;
use crate::model::sections::{Format, Reader, Writer};
use serde::{Deserialize, Serialize};

static FORMAT: Format = Format {
    magic: *b"crfkit\0G",
    version: 1,
    name: "grid model",
    remedy: "take another copy of it or train it again",
};

/// The section of small things.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    layout: Layout,
    settings: Settings,
}

impl GridModel {
    /// Does this look like the file of such a model?
    pub fn is_file(bytes: &[u8]) -> bool {
        bytes.starts_with(&FORMAT.magic)
    }

    /// The model file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut file = Writer::default();
        file.json("head", &Head { layout: self.layout.clone(), settings: self.settings.clone() });
        file.numbers("weights", self.weights.iter().map(|weight| weight.to_le_bytes()));
        file.finish(&FORMAT)
    }

    /// Reads a model file, after verifying its checksum and that its parts fit each other.
    pub fn from_bytes(bytes: &[u8]) -> Result<GridModel> {
        let mut file = Reader::new(bytes, &FORMAT)?;
        let Head { layout, settings } = file.json("head")?;
        layout.check().map_err(|why| FORMAT.damaged(why))?;
        settings.check().map_err(|why| FORMAT.damaged(why))?;
        let weights = file.numbers("weights", f64::from_le_bytes)?;
        file.finish()?;
        if weights.len() != layout.features().dim() || !weights.iter().all(|weight| weight.is_finite()) {
            return Err(FORMAT.damaged("its weights are not those of its layout"));
        }
        Ok(GridModel { layout, weights, settings })
    }
}
