//! Ensembles: models of chains that label together.

use super::gold::check_gold;
use super::member::{Member, MemberScratch, MemberTables};
use crate::answers::ChainAnswers;
use crate::decode::{AtMostOnce, Decode};
use crate::domain::chain::{Sequence, scheme_rules};
use crate::domain::{allowed_in, label_bits};
use crate::eval::{ChunkLabels, Scores};
use crate::graph::{Chain, Label, LabelBits, LabelRules};
use crate::infer::Engine;
use crate::model::LabelSet;
use crate::settings::Constraint;
use crate::tag::{Judgement, Labeller, Truth};
use crate::{Error, Place, Result};
use std::sync::Arc;

/// One model of chains, or several that label together with the mean of their marginals (ctjpgis-psa-2007 section 5).
#[derive(Clone, Debug)]
pub struct Ensemble {
    members: Vec<Member>,
    /// The rules on labels, if they are not those of the members.
    rules: Option<Option<Arc<LabelRules>>>,
    /// The column with the labels that each token may have, negative if counted from the end.
    allowed: Option<i32>,
    /// What may occur at most once.
    once: Option<Arc<AtMostOnce>>,
}

impl From<Member> for Ensemble {
    fn from(member: Member) -> Self {
        Ensemble { members: vec![member], rules: None, allowed: None, once: None }
    }
}

impl Ensemble {
    /// An ensemble of these models. There must be at least one, and all must have the same labels.
    pub fn new(members: Vec<Member>) -> Result<Self> {
        let Some(first) = members.first() else {
            return Err(Error::Setting("at least one model is needed".into()));
        };
        match members.iter().all(|member| member.labels() == first.labels()) {
            true => Ok(Ensemble { members, rules: None, allowed: None, once: None }),
            false => Err(Error::Setting(
                "models that label together need the same labels, but these differ".into(),
            )),
        }
    }

    /// The same models with these rules on labels instead of those that they were trained with.
    pub fn with_rules(self, rules: Option<LabelRules>) -> Self {
        Ensemble { rules: Some(rules.map(Arc::new)), ..self }
    }

    /// The same models with the rules of a notation of chunks, or with none, instead of those that they were trained with.
    pub fn with_constraint(self, constraint: Constraint) -> Self {
        let rules = constraint.scheme().map(|scheme| scheme_rules(self.labels(), scheme));
        self.with_rules(rules)
    }

    /// The same models, for sequences with a column of the labels that each token may have: `?` for all, a label, or several joined by
    /// `|`. Columns count from 0, or from the end if the number is negative.
    #[doc(hidden)]
    pub fn with_allowed(self, column: i32) -> Self {
        Ensemble { allowed: Some(column), ..self }
    }

    /// The same models, for labellings that have each of these labels or chunk types at most once. It is an error if the models do not
    /// know one of them, or if there are more than 32.
    pub fn with_at_most_once(self, names: &[impl AsRef<str>]) -> Result<Self> {
        let chunks = ChunkLabels::new(self.labels());
        if names.len() > 32 {
            return Err(Error::Setting(format!(
                "{} labels or chunk types are to occur at most once; name at most 32",
                names.len()
            )));
        }
        for name in names.iter().map(AsRef::as_ref) {
            if self.label(name).is_none() && !chunks.kinds().iter().any(|kind| kind == name) {
                let known: Vec<&str> = self
                    .labels()
                    .iter()
                    .chain(chunks.kinds())
                    .map(String::as_str)
                    .filter(|known| !known.is_empty())
                    .collect();
                return Err(Error::Setting(format!(
                    "the model has no label or chunk type `{name}`; choose among {}",
                    known.join(", ")
                )));
            }
        }
        let once = AtMostOnce::new(self.labels().len(), names.len(), |thing, before, after| {
            let name = names[thing].as_ref();
            match self.label(name) {
                Some(label) => after == label as usize,
                None => chunks.begins(name, before, after),
            }
        });
        let pairs = self.members.iter().filter_map(Member::label_pairs).max();
        let once = match pairs {
            Some(pairs) => once.on_pairs(pairs),
            None => once,
        };
        Ok(Ensemble { once: (!names.is_empty()).then(|| Arc::new(once)), ..self })
    }

    /// What may occur at most once, if anything.
    #[doc(hidden)]
    pub fn at_most_once(&self) -> Option<&AtMostOnce> {
        self.once.as_deref()
    }

    /// The set of these labels. A label that the models do not know is an error at `place`.
    #[doc(hidden)]
    pub fn label_bits<'a>(
        &self,
        labels: impl IntoIterator<Item = &'a str>,
        place: impl Fn() -> Place,
    ) -> Result<LabelBits> {
        label_bits(labels, self.labels().len(), |name| self.label(name), place)
    }

    /// The labels that the column of allowed labels allows, where it does not allow all.
    fn allowed_in(&self, sequence: &Sequence) -> Result<Vec<(usize, LabelBits)>> {
        let Some(column) = self.allowed else { return Ok(Vec::new()) };
        let Sequence::Columns { rows, .. } = sequence else {
            let message = "a column of allowed labels needs columns, but these are attributes";
            return Err(Error::input(sequence.place(0), message));
        };
        allowed_in(rows, column, self.labels().len(), |name| self.label(name))
    }

    /// Loads a sequence, of whose tokens some may have only some labels. All answers are those given these labels.
    pub(super) fn load_constrained(
        &self,
        tables: &[MemberTables],
        sequence: &Sequence,
        allowed: &[(usize, LabelBits)],
        scratch: &mut EnsembleScratch,
        answers: &mut ChainAnswers,
    ) -> Result<()> {
        let load = |member: &Member, tables, scratch: &mut MemberScratch, answers: &mut ChainAnswers| {
            member.load(tables, sequence, scratch, answers)?;
            match allowed.is_empty() {
                true => Ok(()),
                false => answers.allow(allowed, || sequence.place(0)),
            }
        };
        load(&self.members[0], &tables[0], &mut scratch.first, answers)?;
        let others = || self.members.iter().zip(tables).skip(1);
        if scratch.others.len() + 1 < self.members.len() {
            let new = |(member, tables): (&Member, &MemberTables)| {
                (MemberScratch::default(), self.obeying(member.answers(tables)))
            };
            scratch.others = others().map(new).collect();
        }
        for ((member, tables), (scratch, answers)) in others().zip(&mut scratch.others) {
            load(member, tables, scratch, answers)?;
        }
        if self.members.len() > 1 {
            answers.average(scratch.others.iter_mut().map(|(_, answers)| answers));
        }
        Ok(())
    }

    /// Answers with the rules of the ensemble, if it has its own.
    fn obeying(&self, mut answers: ChainAnswers) -> ChainAnswers {
        if let Some(rules) = &self.rules {
            answers.obey(rules.clone());
        }
        answers.at_most_once(self.once.clone());
        answers
    }

    /// The same models without their temperatures; `None` if they have none.
    #[doc(hidden)]
    pub fn without_temperature(&self) -> Option<Self> {
        let warm = |member: &Member| matches!(member, Member::Weighted(model) if model.settings.temperature.is_some());
        let plain = |member: &Member| match member {
            Member::Weighted(model) => Member::Weighted(Arc::new(model.with_temperature(None))),
            Member::Empirical(_) => member.clone(),
        };
        let members = self.members.iter().map(plain).collect();
        self.members.iter().any(warm).then(|| Ensemble { members, ..self.clone() })
    }

    /// The models of the ensemble.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Names of the labels: sorted, or in the order of the toolkit that the model comes from.
    pub fn labels(&self) -> &[String] {
        self.members[0].labels()
    }

    /// Number of columns of the training data, the label's included; that of the member with the most. `None` if one is not known.
    pub fn columns(&self) -> Option<usize> {
        self.members.iter().map(Member::columns).try_fold(0, |most, columns| columns.map(|n| most.max(n)))
    }

    /// Rejects running text, which has words alone, for models that read more.
    #[doc(hidden)]
    pub fn check_words_alone(&self) -> Result<()> {
        self.members.iter().try_for_each(Member::check_words_alone)
    }

    /// The number of a label.
    pub fn label(&self, name: &str) -> Option<Label> {
        let labels = self.labels();
        // Labels of other toolkits are not sorted.
        let found = labels.binary_search_by(|label| label.as_str().cmp(name)).ok();
        found.or_else(|| labels.iter().position(|label| label == name)).map(|label| label as Label)
    }
}

/// Working memory for loading sequences: that of the first model, and that of the others together with their answers.
#[derive(Debug, Default)]
pub struct EnsembleScratch {
    pub(super) first: MemberScratch,
    others: Vec<(MemberScratch, ChainAnswers)>,
}

impl Labeller for Ensemble {
    type Input = Sequence;
    type Scratch = EnsembleScratch;
    type Tables = Vec<MemberTables>;
    type Answers = ChainAnswers;

    fn decode(&self) -> Decode {
        Decode::Best
    }

    fn ready(&self) -> Vec<MemberTables> {
        self.members.iter().map(Member::ready).collect()
    }

    fn answers(&self, tables: &Vec<MemberTables>, _engine: Option<Engine>) -> ChainAnswers {
        self.obeying(self.members[0].answers(&tables[0]))
    }

    /// Loads a sequence. If there are several models, the answers have the mean of their marginals.
    fn load(
        &self,
        tables: &Vec<MemberTables>,
        sequence: &Sequence,
        scratch: &mut EnsembleScratch,
        answers: &mut ChainAnswers,
    ) -> Result<()> {
        let allowed = self.allowed_in(sequence)?;
        self.load_constrained(tables, sequence, &allowed, scratch, answers)
    }

    fn label_sets(&self) -> Vec<LabelSet<'_>> {
        vec![LabelSet { name: None, labels: self.labels().into() }]
    }

    fn label_set_of(&self, _chain: &Chain, _variable: usize) -> usize {
        0
    }

    fn group(&self) -> usize {
        0
    }

    /// The gold labels. Columns and known words are those of the first model.
    fn truth<'a>(&'a self, sequence: &'a Sequence) -> Result<Truth<'a>> {
        match &self.members[0] {
            Member::Weighted(model) => {
                check_gold(model, sequence)?;
                model.truth(sequence)
            }
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
