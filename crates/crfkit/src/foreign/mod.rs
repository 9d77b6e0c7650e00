//! Model files of other toolkits.
//!
//! They are models of chains, so reading one gives a [`ChainModel`], which labels, is inspected and is saved like any other.
//! [`AnyModel`](crate::any::AnyModel) calls [`read`] for every file that is not crfkit's own, so whatever opens a model opens these
//! too.
//!
//! Nothing that such a file says is trusted. Sizes and positions are compared with the bytes that are there, so a damaged file is an
//! error, or a model whose weights are not those that were written, for these formats have no checksums.

mod assembly;
mod cqdb;
pub mod crfpp;
pub mod crfsuite;
mod expanded;
pub mod wapiti;

use crate::domain::chain::ChainModel;
use crate::{Error, Result};

/// A toolkit whose model files can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Toolkit {
    /// CRFsuite: binary files, often called `.crfsuite`.
    Crfsuite,
    /// CRF++: models as text, which `crf_learn -t` writes.
    Crfpp,
    /// Wapiti: models as text.
    Wapiti,
}

impl Toolkit {
    /// The toolkit whose model files begin like these bytes.
    pub fn detect(bytes: &[u8]) -> Option<Toolkit> {
        let magics = [
            (crfsuite::MAGIC, Toolkit::Crfsuite),
            (crfpp::MAGIC, Toolkit::Crfpp),
            (wapiti::MAGIC, Toolkit::Wapiti),
        ];
        magics.into_iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, toolkit)| toolkit)
    }

    /// The toolkit's name.
    pub fn name(self) -> &'static str {
        match self {
            Toolkit::Crfsuite => "CRFsuite",
            Toolkit::Crfpp => "CRF++",
            Toolkit::Wapiti => "Wapiti",
        }
    }

    /// The error for a file that cannot be used.
    pub(crate) fn refuse(self, why: impl std::fmt::Display) -> Error {
        Error::File { name: format!("model of {}", self.name()), message: why.to_string() }
    }

    /// The error for a file whose contents are not what the toolkit writes.
    pub(crate) fn damaged(self, why: impl std::fmt::Display) -> Error {
        self.refuse(format!(
            "this model of {} is damaged: {why}; take another copy of it or train it again",
            self.name()
        ))
    }
}

/// Reads a model file of another toolkit; `None` if it is none.
pub fn read(bytes: &[u8]) -> Option<Result<ChainModel>> {
    Some(match Toolkit::detect(bytes)? {
        Toolkit::Crfsuite => crfsuite::read(bytes),
        Toolkit::Crfpp => crfpp::read(bytes),
        Toolkit::Wapiti => wapiti::read(bytes),
    })
}
