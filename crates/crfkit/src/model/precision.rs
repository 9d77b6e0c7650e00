//! The number formats of weights in model files.

use super::sections::{Reader, Writer};
use crate::data::bytes::Numbers;
use crate::data::half::F16;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Name of the section that holds the weights.
const WEIGHTS: &str = "weights";

/// The number format of stored weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Precision {
    /// Eight bytes each: exact.
    #[default]
    F64,
    /// Four bytes each: about seven decimal digits.
    F32,
    /// Two bytes each: about three decimal digits, up to 65,504.
    F16,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::F64 => "f64",
            Precision::F32 => "f32",
            Precision::F16 => "f16",
        })
    }
}

impl FromStr for Precision {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "f64" => Ok(Precision::F64),
            "f32" => Ok(Precision::F32),
            "f16" => Ok(Precision::F16),
            _ => Err(Error::Setting(format!("unknown precision `{name}`; choose f64, f32 or f16"))),
        }
    }
}

impl Precision {
    pub(super) fn bytes(self) -> usize {
        match self {
            Precision::F64 => 8,
            Precision::F32 => 4,
            Precision::F16 => 2,
        }
    }

    /// Rounds the weights to what will be read back.
    pub(crate) fn round(self, weights: &[f64]) -> Result<Cow<'_, [f64]>> {
        let rounded: Cow<[f64]> = match self {
            Precision::F64 => weights.into(),
            Precision::F32 => weights.iter().map(|&w| f64::from(w as f32)).collect(),
            Precision::F16 => weights.iter().map(|&w| F16::from_f64(w).to_f64()).collect(),
        };
        match rounded.iter().position(|w| !w.is_finite()) {
            None => Ok(rounded),
            Some(k) => {
                let w = weights[k];
                Err(Error::Setting(format!(
                    "the weight {w} cannot be stored as {self}, the number format of this model: use smaller weights, or train with a higher `precision`"
                )))
            }
        }
    }

    /// Adds the section of weights. They must already be rounded by [`Precision::round`].
    pub(crate) fn write<'a>(self, weights: &'a [f64], file: &mut Writer<'a>) {
        match self {
            Precision::F64 => file.array(WEIGHTS, weights, f64::to_le_bytes),
            Precision::F32 => file.numbers(WEIGHTS, weights.iter().map(|&w| (w as f32).to_le_bytes())),
            Precision::F16 => {
                file.numbers(WEIGHTS, weights.iter().map(|&w| F16::from_f64(w).to_le_bytes()));
            }
        }
    }

    /// Reads the section of weights. If they are stored as they are used, the result refers to the file's bytes.
    pub(crate) fn read(self, file: &mut Reader) -> Result<Numbers<f64>> {
        Ok(match self {
            Precision::F64 => file.array(WEIGHTS, f64::from_le_bytes)?,
            Precision::F32 => file.numbers(WEIGHTS, |bytes| f64::from(f32::from_le_bytes(bytes)))?.into(),
            Precision::F16 => file.numbers(WEIGHTS, |bytes| F16::from_le_bytes(bytes).to_f64())?.into(),
        })
    }
}
