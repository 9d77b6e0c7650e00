//! The members of an ensemble.

use crate::Result;
use crate::answers::ChainAnswers;
use crate::data::conllu::Fields;
use crate::decode::StateChain;
use crate::domain::chain::{ChainModel, Sequence};
use crate::domain::{ReadyTables, words_alone};
use crate::empirical::{EmpiricalModel, EmpiricalScratch};
use crate::graph::Shared;
use crate::tag::Labeller;
use std::sync::Arc;

/// A model of chains that can be a member of an ensemble.
#[derive(Clone, Debug)]
pub enum Member {
    /// A model with weights.
    Weighted(Arc<ChainModel>),
    /// A model made from counts.
    Empirical(Arc<EmpiricalModel>),
}

impl Member {
    /// Names of the labels: sorted, or in the order of the toolkit that the model comes from.
    pub fn labels(&self) -> &[String] {
        match self {
            Member::Weighted(model) => &model.domain.labels,
            Member::Empirical(model) => model.labels(),
        }
    }

    /// Number of columns of the training data, the label's included; `None` with attributes, and where it is not known.
    pub fn columns(&self) -> Option<usize> {
        match self {
            Member::Weighted(model) => model.domain.columns.map(|layout| layout.columns),
            Member::Empirical(_) => None,
        }
    }

    /// The fields of CoNLL-U that the columns of the training data were; `None` for the default ones, and for other formats.
    #[doc(hidden)]
    pub fn fields(&self) -> Option<Fields> {
        match self {
            Member::Weighted(model) => model.domain.columns?.fields,
            Member::Empirical(model) => model.settings().fields,
        }
    }

    /// Rejects running text for a model that reads more than the words.
    pub(super) fn check_words_alone(&self) -> Result<()> {
        match self {
            Member::Weighted(model) => model.domain.check_words_alone(),
            Member::Empirical(model) => words_alone([model.settings().word_column], None),
        }
    }

    /// The number of states of the [`StateChain`], if the model is a second-order chain or has segments. Labellings in which things occur at most
    /// once are searched for on that chain.
    pub(super) fn label_pairs(&self) -> Option<usize> {
        match self {
            Member::Weighted(model) => StateChain::size_in(model.domain.labels.len(), &model.domain.lattice),
            Member::Empirical(_) => None,
        }
    }

    pub(super) fn ready(&self) -> MemberTables {
        match self {
            Member::Weighted(model) => MemberTables::Weighted(model.ready()),
            Member::Empirical(model) => MemberTables::Empirical(model.ready()),
        }
    }

    pub(super) fn answers(&self, tables: &MemberTables) -> ChainAnswers {
        match (self, tables) {
            (Member::Weighted(model), MemberTables::Weighted(tables)) => model.answers(tables, None),
            (Member::Empirical(model), MemberTables::Empirical(tables)) => model.answers(tables, None),
            _ => unreachable!("tables are made by their own model"),
        }
    }

    pub(super) fn load(
        &self,
        tables: &MemberTables,
        sequence: &Sequence,
        scratch: &mut MemberScratch,
        answers: &mut ChainAnswers,
    ) -> Result<()> {
        match (self, tables) {
            (Member::Weighted(model), MemberTables::Weighted(tables)) => {
                model.load(tables, sequence, &mut scratch.observer, answers)
            }
            (Member::Empirical(model), MemberTables::Empirical(tables)) => {
                model.load(tables, sequence, &mut scratch.words, answers)
            }
            _ => unreachable!("tables are made by their own model"),
        }
    }
}

/// The tables computed from one model, once.
#[derive(Debug)]
pub enum MemberTables {
    /// Tables of a model with weights.
    Weighted(ReadyTables),
    /// Tables of a model made from counts.
    Empirical(Arc<Shared<f64>>),
}

/// The working memory of one member.
#[derive(Debug, Default)]
pub(super) struct MemberScratch {
    pub(super) observer: <ChainModel as Labeller>::Scratch,
    pub(super) words: EmpiricalScratch,
}
