//! Ensembles: models of chains that label together.

use crate::answers::ChainAnswers;
use crate::decode::Decode;
use crate::domain::ReadyTables;
use crate::domain::chain::{ChainModel, Sequence};
use crate::empirical::{EmpiricalModel, EmpiricalScratch};
use crate::eval::Scores;
use crate::graph::{Chain, Label, Shared};
use crate::infer::Engine;
use crate::model::LabelSet;
use crate::tag::{Judgement, Labeller, Truth};
use crate::{Error, Place, Result};
use std::sync::Arc;

/// One model of chains, or several that label together with the mean of their marginals (ctjpgis-psa-2007 section 5).
#[derive(Clone, Debug)]
pub struct Ensemble {
    members: Vec<Member>,
}

/// A model of chains that can be a member of an ensemble.
#[derive(Clone, Debug)]
pub enum Member {
    /// A model with weights.
    Weighted(Arc<ChainModel>),
    /// A model made from counts.
    Empirical(Arc<EmpiricalModel>),
}

impl From<Member> for Ensemble {
    fn from(member: Member) -> Self {
        Ensemble { members: vec![member] }
    }
}

impl Member {
    /// Names of the labels, sorted.
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

    fn ready(&self) -> MemberTables {
        match self {
            Member::Weighted(model) => MemberTables::Weighted(model.ready()),
            Member::Empirical(model) => MemberTables::Empirical(model.ready()),
        }
    }

    fn answers(&self, tables: &MemberTables) -> ChainAnswers {
        match (self, tables) {
            (Member::Weighted(model), MemberTables::Weighted(tables)) => model.answers(tables, None),
            (Member::Empirical(model), MemberTables::Empirical(tables)) => model.answers(tables, None),
            _ => unreachable!("tables are made by their own model"),
        }
    }

    fn take_in(
        &self,
        tables: &MemberTables,
        sequence: &Sequence,
        scratch: &mut MemberScratch,
        answers: &mut ChainAnswers,
    ) -> Result<()> {
        match (self, tables) {
            (Member::Weighted(model), MemberTables::Weighted(tables)) => {
                model.take_in(tables, sequence, &mut scratch.observer, answers)
            }
            (Member::Empirical(model), MemberTables::Empirical(tables)) => {
                model.take_in(tables, sequence, &mut scratch.words, answers)
            }
            _ => unreachable!("tables are made by their own model"),
        }
    }
}

impl Ensemble {
    /// An ensemble of these models. There must be at least one, and all must have the same labels.
    pub fn new(members: Vec<Member>) -> Result<Self> {
        let Some(first) = members.first() else {
            return Err(Error::Setting("at least one model is needed".into()));
        };
        match members.iter().all(|member| member.labels() == first.labels()) {
            true => Ok(Ensemble { members }),
            false => Err(Error::Setting(
                "models that label together need the same labels, but these differ".into(),
            )),
        }
    }

    /// The models of the ensemble.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Names of the labels, sorted.
    pub fn labels(&self) -> &[String] {
        self.members[0].labels()
    }

    /// Number of columns of the training data, the label's included; that of the member with the most. `None` if one is not known.
    pub fn columns(&self) -> Option<usize> {
        self.members.iter().map(Member::columns).try_fold(0, |most, columns| columns.map(|n| most.max(n)))
    }

    /// The number of a label.
    pub fn label(&self, name: &str) -> Option<Label> {
        self.labels().binary_search_by(|l| l.as_str().cmp(name)).ok().map(|i| i as Label)
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
struct MemberScratch {
    observer: <ChainModel as Labeller>::Scratch,
    words: EmpiricalScratch,
}

/// Working memory for loading sequences: that of the first model, and that of the others together with their answers.
#[derive(Debug, Default)]
pub struct EnsembleScratch {
    first: MemberScratch,
    others: Vec<(MemberScratch, ChainAnswers)>,
}

impl Labeller for Ensemble {
    type Input = Sequence;
    type Scratch = EnsembleScratch;
    type Tables = Vec<MemberTables>;
    type Answers = ChainAnswers;
    const DECODE: Decode = Decode::Best;

    fn ready(&self) -> Vec<MemberTables> {
        self.members.iter().map(Member::ready).collect()
    }

    fn answers(&self, tables: &Vec<MemberTables>, _engine: Option<Engine>) -> ChainAnswers {
        self.members[0].answers(&tables[0])
    }

    /// Loads a sequence. If there are several models, the answers have the mean of their marginals.
    fn take_in(
        &self,
        tables: &Vec<MemberTables>,
        sequence: &Sequence,
        scratch: &mut EnsembleScratch,
        answers: &mut ChainAnswers,
    ) -> Result<()> {
        self.members[0].take_in(&tables[0], sequence, &mut scratch.first, answers)?;
        let others = || self.members.iter().zip(tables).skip(1);
        if scratch.others.len() + 1 < self.members.len() {
            let new = |(member, tables): (&Member, &MemberTables)| {
                (MemberScratch::default(), member.answers(tables))
            };
            scratch.others = others().map(new).collect();
        }
        for ((member, tables), (scratch, answers)) in others().zip(&mut scratch.others) {
            member.take_in(tables, sequence, scratch, answers)?;
        }
        if self.members.len() > 1 {
            answers.average(scratch.others.iter_mut().map(|(_, answers)| answers));
        }
        Ok(())
    }

    fn label_sets(&self) -> Vec<LabelSet<'_>> {
        vec![LabelSet { name: None, labels: self.labels().into() }]
    }

    fn set_of(&self, _chain: &Chain, _variable: usize) -> usize {
        0
    }

    fn group(&self) -> usize {
        0
    }

    /// The gold labels. Columns and known words are those of the first model.
    fn truth<'a>(&'a self, sequence: &'a Sequence) -> Result<Truth<'a>> {
        match &self.members[0] {
            Member::Weighted(model) => model.truth(sequence),
            Member::Empirical(model) => model.truth(sequence),
        }
    }

    fn place(sequence: &Sequence) -> Place {
        sequence.place(0)
    }

    fn scores(&self, judgement: &Judgement) -> Scores {
        match &self.members[0] {
            Member::Weighted(model) => model.scores(judgement),
            Member::Empirical(model) => model.scores(judgement),
        }
    }
}
