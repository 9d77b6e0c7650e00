//! A model of any kind, as read from a file.

mod ensemble;
mod explain;
mod gold;
mod load;
mod member;

pub use ensemble::Ensemble;
pub use member::Member;

use crate::data::bytes::Bytes;
use crate::data::conllu::Fields;
use crate::domain::chain::ChainModel;
use crate::domain::grid::GridModel;
use crate::domain::linked::LinkedModel;
use crate::domain::typed::TypedModel;
use crate::domain::{Domain, FORMAT, StoredKind, WeightedModel, read_file};
use crate::empirical::EmpiricalModel;
use crate::foreign;
use crate::model::edit::{Edit, Others};
use crate::model::{LabelSet, Names};
use crate::settings::Kind;
use crate::tag::Labeller;
use crate::{Error, Result};
use std::any::Any;
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

/// A model of one kind as a model of any kind.
macro_rules! from_model {
    ($($variant:ident($model:ty)),*) => {$(
        impl From<$model> for AnyModel {
            fn from(model: $model) -> Self {
                AnyModel::$variant(Arc::new(model))
            }
        }
    )*};
}
from_model!(
    Chain(ChainModel),
    Linked(LinkedModel),
    Graph(TypedModel),
    Grid(GridModel),
    Empirical(EmpiricalModel)
);

impl AnyModel {
    /// Reads a model file, after verifying its checksum and that its parts fit each other.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let copy = Bytes::read(bytes, bytes.len()).map_err(|error| Error::io(FORMAT.name, error))?;
        AnyModel::from_memory(&copy)
    }

    /// Reads a model file without copying weights and names: the model keeps the bytes.
    /// A file of [another toolkit](foreign) is read too, into memory of its own.
    #[doc(hidden)]
    pub fn from_memory(bytes: &Bytes) -> Result<Self> {
        if let Some(model) = foreign::read(bytes) {
            return Ok(AnyModel::Chain(model?.into()));
        }
        read_file(bytes, |head, file| {
            Ok(match head.kind {
                StoredKind::Weighted(Kind::Chain) => AnyModel::Chain(ChainModel::read(head, file)?.into()),
                StoredKind::Weighted(Kind::Linked) => AnyModel::Linked(LinkedModel::read(head, file)?.into()),
                StoredKind::Weighted(Kind::Graph) => AnyModel::Graph(TypedModel::read(head, file)?.into()),
                StoredKind::Weighted(Kind::Grid) => AnyModel::Grid(GridModel::read(head, file)?.into()),
                StoredKind::Empirical => AnyModel::Empirical(EmpiricalModel::read(head, file)?.into()),
            })
        })
    }

    /// Encodes the model as a file, with numbers in the format that its settings ask for.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.common().to_bytes()
    }

    /// The kind of model.
    pub fn kind(&self) -> StoredKind {
        self.common().kind()
    }

    /// The weights by name; `None` for a model made from counts.
    pub fn names(&self) -> Option<Names<'_>> {
        self.common().names()
    }

    /// The label sets.
    #[doc(hidden)]
    pub fn label_sets(&self) -> Vec<LabelSet<'_>> {
        self.common().label_sets()
    }

    /// The settings that the model was trained with, by name.
    #[doc(hidden)]
    pub fn settings(&self) -> Result<serde_json::Value> {
        self.common().settings()
    }

    /// The model after edits of its weights. It is an error if the model is made from counts, or if an edit names an observation or
    /// a label that the model does not know.
    #[doc(hidden)]
    pub fn edited(&self, edits: &[Edit], others: Others) -> Result<AnyModel> {
        self.common().edited(edits, others)
    }

    /// The model, if it is a model of this domain, with weights.
    pub fn weighted<D: Domain>(&self) -> Option<Arc<WeightedModel<D>>> {
        (self.common() as &dyn Any).downcast_ref().cloned()
    }

    /// The model as a member of an ensemble, if it is a model of plain chains.
    pub fn member(&self) -> Option<Member> {
        match self {
            AnyModel::Chain(model) => Some(Member::Weighted(model.clone())),
            AnyModel::Empirical(model) => Some(Member::Empirical(model.clone())),
            AnyModel::Linked(_) | AnyModel::Graph(_) | AnyModel::Grid(_) => None,
        }
    }

    /// The fields of CoNLL-U that the columns of the training data were; `None` for the default ones, and for other formats.
    pub(crate) fn fields(&self) -> Option<Fields> {
        match self {
            AnyModel::Linked(model) => model.domain.fields,
            other => other.member()?.fields(),
        }
    }

    /// Calls the method of `visitor` for this kind of model.
    #[doc(hidden)]
    pub fn visit<V: ModelVisitor>(self, visitor: V) -> V::Out {
        match self {
            AnyModel::Chain(model) => visitor.chain(model),
            AnyModel::Linked(model) => visitor.linked(model),
            AnyModel::Graph(model) => visitor.graph(model),
            AnyModel::Grid(model) => visitor.grid(model),
            AnyModel::Empirical(model) => visitor.empirical(model),
        }
    }

    fn common(&self) -> &dyn Common {
        match self {
            AnyModel::Chain(model) => model,
            AnyModel::Linked(model) => model,
            AnyModel::Graph(model) => model,
            AnyModel::Grid(model) => model,
            AnyModel::Empirical(model) => model,
        }
    }
}

/// Something to do with a model of any kind, where each kind needs code of its own. A new kind of model is a new
/// required method, so that no kind can be forgotten.
#[doc(hidden)]
pub trait ModelVisitor: Sized {
    /// The result.
    type Out;

    /// For a model of chains with weights.
    fn chain(self, model: Arc<ChainModel>) -> Self::Out;
    /// For a model of factorial or skip chains.
    fn linked(self, model: Arc<LinkedModel>) -> Self::Out;
    /// For a model of graphs from a file.
    fn graph(self, model: Arc<TypedModel>) -> Self::Out;
    /// For a model of images.
    fn grid(self, model: Arc<GridModel>) -> Self::Out;
    /// For a model of chains made from counts.
    fn empirical(self, model: Arc<EmpiricalModel>) -> Self::Out;
}

/// What all kinds of model can do in the same way.
trait Common: Any {
    fn kind(&self) -> StoredKind;
    fn to_bytes(&self) -> Result<Vec<u8>>;
    fn names(&self) -> Option<Names<'_>>;
    fn label_sets(&self) -> Vec<LabelSet<'_>>;
    fn settings(&self) -> Result<serde_json::Value>;
    fn edited(&self, edits: &[Edit], others: Others) -> Result<AnyModel>;
}

impl<D: Domain> Common for Arc<WeightedModel<D>>
where
    AnyModel: From<WeightedModel<D>>,
{
    fn kind(&self) -> StoredKind {
        StoredKind::Weighted(D::KIND)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        WeightedModel::to_bytes(self, self.settings.precision)
    }

    fn names(&self) -> Option<Names<'_>> {
        Some(WeightedModel::names(self))
    }

    fn label_sets(&self) -> Vec<LabelSet<'_>> {
        self.domain.label_sets()
    }

    fn settings(&self) -> Result<serde_json::Value> {
        serde_json::to_value(&self.settings).map_err(|error| Error::Setting(error.to_string()))
    }

    fn edited(&self, edits: &[Edit], others: Others) -> Result<AnyModel> {
        Ok(WeightedModel::edited(self, edits, others)?.into())
    }
}

impl Common for Arc<EmpiricalModel> {
    fn kind(&self) -> StoredKind {
        StoredKind::Empirical
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        EmpiricalModel::to_bytes(self)
    }

    fn names(&self) -> Option<Names<'_>> {
        None
    }

    fn label_sets(&self) -> Vec<LabelSet<'_>> {
        Labeller::label_sets(&**self)
    }

    fn settings(&self) -> Result<serde_json::Value> {
        serde_json::to_value(EmpiricalModel::settings(self))
            .map_err(|error| Error::Setting(error.to_string()))
    }

    fn edited(&self, _edits: &[Edit], _others: Others) -> Result<AnyModel> {
        Err(Error::Setting("a model made from counts has no weights to edit".into()))
    }
}
