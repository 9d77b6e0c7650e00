//! The rules that labellings obey.

use crate::eval::Scheme;
use serde::{Deserialize, Serialize};

/// The chunk notation that labellings of chains obey.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Constraint {
    /// Every labelling is possible.
    #[default]
    None,
    /// `I-X` only after `B-X` or `I-X`.
    Iob2,
    /// As IOB2, and every chunk ends with `E-X` or is `S-X`.
    Iobes,
}

impl Constraint {
    /// The notation, if there is one.
    pub fn scheme(self) -> Option<Scheme> {
        match self {
            Constraint::None => None,
            Constraint::Iob2 => Some(Scheme::Iob2),
            Constraint::Iobes => Some(Scheme::Iobes),
        }
    }
}
