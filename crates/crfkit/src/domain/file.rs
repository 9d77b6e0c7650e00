//! The model file, for any kind of model: one complete file, with the same bytes for the same model.
//!
//! Small things (labels, templates, settings) are in a JSON section, the head. Everything whose size grows with the
//! training data is an array. Names, their hash tables, 64-bit weights and their entries are used in place, in the bytes of the
//! file; the rest is copied. The starts of weights and rows are not stored, because they follow from the numbers of weights
//! and rows.
//!
//! A file with a correct checksum may still be malicious. Therefore everything that the rest of the library relies on
//! (numbers in range, arrays that fit each other) is checked while reading, in one pass over each array.

use super::{Domain, WeightedModel};
use crate::data::bytes::Bytes;
use crate::model::sections::{Format, Reader, Writer, read_verified};
use crate::model::{Precision, compact_is_smaller, read_features, write_features};
use crate::settings::{Kind, Settings};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::io::Write;

pub(crate) static FORMAT: Format = Format {
    magic: *b"crfkit\0M",
    oldest: 3,
    version: 3,
    name: "model",
    kind: "model of crfkit, CRFsuite, Wapiti or CRF++ (as text): give a file that training has written",
    remedy: "take another copy of it or train it again",
};

/// An upper bound on weights, far above those of any training. It keeps sums of weights finite.
pub(crate) const MAX_WEIGHT: f64 = 1e100;

/// The head: the section of small things.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredHead {
    /// The kind of model.
    pub kind: StoredKind,
    /// What this kind of model adds to the head.
    pub domain: serde_json::Value,
    /// The settings that the model was trained with.
    pub settings: serde_json::Value,
}

/// The kinds of model that a file may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StoredKind {
    /// A model made from counts.
    Empirical,
    /// A model with weights.
    #[serde(untagged)]
    Weighted(Kind),
}

impl StoredKind {
    /// The name of this kind of model in messages.
    pub fn name(self) -> &'static str {
        match self {
            StoredKind::Weighted(kind) => kind.name(),
            StoredKind::Empirical => "empirical chain",
        }
    }
}

/// Reads a model file: its head, and by `read` everything after it. Its checksum is verified, at the same time if the file is large.
pub(crate) fn read_file<T>(
    bytes: &Bytes,
    read: impl FnOnce(StoredHead, Reader<'_>) -> Result<T>,
) -> Result<T> {
    read_verified(bytes, &FORMAT, |mut file| {
        let head = file.json("head")?;
        read(head, file)
    })
}

/// A model file that is not written yet.
#[derive(Debug)]
pub struct EncodedModel<'a>(Writer<'a>);

impl EncodedModel<'_> {
    /// The length of the file in bytes.
    pub fn bytes(&self) -> usize {
        self.0.length()
    }

    /// Writes the file.
    pub fn write_to(self, out: &mut dyn Write) -> std::io::Result<()> {
        self.0.write_to(&FORMAT, out)
    }
}

impl StoredHead {
    /// Rejects a model of another kind.
    pub(crate) fn expect(&self, kind: StoredKind) -> Result<()> {
        match self.kind == kind {
            true => Ok(()),
            false => Err(FORMAT.refuse(format!(
                "it is a model of another kind ({}), but one of a {} is needed here",
                self.kind.name(),
                kind.name()
            ))),
        }
    }
}

impl<D: Domain> WeightedModel<D> {
    /// Encodes the model as a file. Zero weights are left out if that is smaller (see [`WeightedModel::compact`]).
    pub fn to_bytes(&self, precision: Precision) -> Result<Vec<u8>> {
        self.finish(precision, |file| Ok(file.finish(&FORMAT)))
    }

    /// Calls `write` with the file that [`WeightedModel::to_bytes`] returns, which is not copied to memory.
    #[doc(hidden)]
    pub fn encode<T>(
        &self,
        precision: Precision,
        write: impl FnOnce(EncodedModel<'_>) -> Result<T>,
    ) -> Result<T> {
        self.finish(precision, |file| write(EncodedModel(file)))
    }

    /// Calls `finish` with the sections of the file.
    fn finish<T>(&self, precision: Precision, finish: impl FnOnce(Writer<'_>) -> Result<T>) -> Result<T> {
        let weights = precision.round(&self.weights)?;
        // A model with too few weights is written as it is; the check is made when it is read.
        let complete = weights.len() >= self.features.dim();
        if complete && compact_is_smaller(&self.features, &weights, precision) {
            let compact = self.compact_at(&weights);
            return finish(compact.sections(&compact.weights, precision)?);
        }
        finish(self.sections(&weights, precision)?)
    }

    fn sections<'a>(&'a self, weights: &'a [f64], precision: Precision) -> Result<Writer<'a>> {
        let mut file = Writer::default();
        let settings = Settings { precision, ..self.settings.clone() };
        file.json(
            "head",
            &StoredHead {
                kind: StoredKind::Weighted(D::KIND),
                domain: self.domain.head()?,
                settings: serde_json::to_value(settings)
                    .map_err(|error| Error::Setting(error.to_string()))?,
            },
        );
        precision.write(weights, &mut file);
        // If weights are stored in fewer bytes, the file is meant to be small: hash slots are left out and built on
        // loading.
        self.domain.write(&mut file, precision == Precision::F64);
        write_features(&self.features, &mut file);
        Ok(file)
    }

    /// Reads a model file, after verifying its checksum and that its parts fit each other.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let copy = Bytes::read(bytes, bytes.len()).map_err(|error| Error::io(FORMAT.name, error))?;
        Self::from_memory(&copy)
    }

    /// Reads a model file without copying weights and names: the model keeps the bytes.
    #[doc(hidden)]
    pub fn from_memory(bytes: &Bytes) -> Result<Self> {
        read_file(bytes, Self::read)
    }

    /// Reads everything after the head.
    pub(crate) fn read(head: StoredHead, mut file: Reader) -> Result<Self> {
        head.expect(StoredKind::Weighted(D::KIND))?;
        let settings: Settings = serde_json::from_value(head.settings)
            .map_err(|error| FORMAT.damaged(format!("its settings: {error}")))?;
        settings.check(D::KIND).map_err(|why| FORMAT.damaged(why))?;
        let weights = settings.precision.read(&mut file)?;
        // No way out in the middle: so this is done by vectors.
        if !weights.iter().fold(true, |right, w| right & (w.abs() <= MAX_WEIGHT)) {
            return Err(FORMAT.damaged("a weight is not a finite number, or far too large"));
        }
        let domain = D::read(head.domain, &mut file)?;
        let shapes = domain.shapes().map_err(|why| FORMAT.damaged(why))?;
        let features = read_features(&mut file, &FORMAT, shapes, weights.len())?;
        let features = features.restored(domain.lattice()).map_err(|why| FORMAT.damaged(why))?;
        file.finish()?;
        Ok(WeightedModel { domain, features: features.into(), weights, settings })
    }
}
