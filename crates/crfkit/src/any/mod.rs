//! A model of any kind, as read from a file.

mod ensemble;

pub use ensemble::{Ensemble, Member};

use crate::data::bytes::Bytes;
use crate::domain::chain::ChainModel;
use crate::domain::grid::GridModel;
use crate::domain::linked::LinkedModel;
use crate::domain::typed::TypedModel;
use crate::domain::{FORMAT, StoredKind, open_head};
use crate::empirical::EmpiricalModel;
use crate::model::Names;
use crate::settings::Kind;
use crate::{Error, Result};
use std::sync::Arc;

/// A model of any kind. Cloning it is cheap: the model itself is shared.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyModel {
    /// A model of chains with weights.
    Chain(Arc<ChainModel>),
    /// A model of factorial or skip chains.
    Linked(Arc<LinkedModel>),
    /// A model of graphs from a file.
    Graph(Arc<TypedModel>),
    /// A model of images.
    Grid(Arc<GridModel>),
    /// A model of chains made from counts.
    Empirical(Arc<EmpiricalModel>),
}

impl AnyModel {
    /// Reads a model file, after verifying its checksum and that its parts fit each other.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let copy = Bytes::read(bytes, bytes.len()).map_err(|error| Error::io(FORMAT.name, error))?;
        AnyModel::from_memory(&copy)
    }

    /// Reads a model file without copying weights and names: the model keeps the bytes.
    pub fn from_memory(bytes: &Bytes) -> Result<Self> {
        let (head, file) = open_head(bytes)?;
        Ok(match head.kind {
            StoredKind::Weighted(Kind::Chain) => AnyModel::Chain(ChainModel::read(head, file)?.into()),
            StoredKind::Weighted(Kind::Linked) => AnyModel::Linked(LinkedModel::read(head, file)?.into()),
            StoredKind::Weighted(Kind::Graph) => AnyModel::Graph(TypedModel::read(head, file)?.into()),
            StoredKind::Weighted(Kind::Grid) => AnyModel::Grid(GridModel::read(head, file)?.into()),
            StoredKind::Empirical => AnyModel::Empirical(EmpiricalModel::read(head, file)?.into()),
        })
    }

    /// Encodes the model as a file, with numbers in the format that its settings ask for.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match self {
            AnyModel::Chain(model) => model.to_bytes(model.settings.precision),
            AnyModel::Linked(model) => model.to_bytes(model.settings.precision),
            AnyModel::Graph(model) => model.to_bytes(model.settings.precision),
            AnyModel::Grid(model) => model.to_bytes(model.settings.precision),
            AnyModel::Empirical(model) => model.to_bytes(),
        }
    }

    /// The kind of model.
    pub fn kind(&self) -> StoredKind {
        match self {
            AnyModel::Chain(_) => StoredKind::Weighted(Kind::Chain),
            AnyModel::Linked(_) => StoredKind::Weighted(Kind::Linked),
            AnyModel::Graph(_) => StoredKind::Weighted(Kind::Graph),
            AnyModel::Grid(_) => StoredKind::Weighted(Kind::Grid),
            AnyModel::Empirical(_) => StoredKind::Empirical,
        }
    }

    /// The weights by name; `None` for a model made from counts.
    pub fn names(&self) -> Option<Names<'_>> {
        match self {
            AnyModel::Chain(model) => Some(model.names()),
            AnyModel::Linked(model) => Some(model.names()),
            AnyModel::Graph(model) => Some(model.names()),
            AnyModel::Grid(model) => Some(model.names()),
            AnyModel::Empirical(_) => None,
        }
    }
}
