//! Why a label beat the runner-up: what each observation and each pair of labels contributes.
//!
//! The score of a labelling is the sum of its log-potentials. The rival of a label is the best labelling in which the variable has
//! another label. The difference of the two scores is a sum over factors, and each factor of a model with weights is a sum over
//! observations; so it is known exactly what every observation contributes to the decision.

mod weighted;

use crate::answers::Answers;
use crate::decode::Decode;
use crate::graph::{FORBIDDEN, Label};
use crate::tag::{Labeller, Tagger};
use crate::{Error, Result};

/// The part of a contribution that is the normalisation of a model normalised label by label.
const NORMALISATION: &str = "normalisation";

/// What to explain of an input.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The variables (tokens, nodes or pixels) whose labels are to be explained.
    pub variables: &'a [usize],
    /// The number of observations, those that contribute most, for which the label without them is computed.
    pub removals: usize,
}

/// Why a variable has its label.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The variable.
    pub variable: usize,
    /// Its label in the best labelling.
    pub label: Label,
    /// The best labelling in which it has another label; `None` if no other label is possible.
    pub rival: Option<Rival>,
}

/// The best labelling in which a variable has another label.
#[derive(Clone, Debug, PartialEq)]
pub struct Rival {
    /// The other label of the variable.
    pub label: Label,
    /// The labels of all variables.
    pub labels: Vec<Label>,
    /// The score of the best labelling minus the score of this one.
    pub difference: f64,
    /// The parts of the difference, largest first in absolute value. They add up to it.
    pub contributions: Vec<Contribution>,
}

/// A part of the difference of two scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// The part of the model, as a dump names it: `node`, `transition`, or the name of a type.
    pub part: String,
    /// The observation; `None` if only labels matter.
    pub observation: Option<String>,
    /// The variables whose labels matter.
    pub variables: Vec<usize>,
    /// Their labels in the best labelling and in the rival.
    pub labels: [Vec<Label>; 2],
    /// How much it adds to the difference: above 0 if it speaks for the best labelling.
    pub amount: f64,
    /// The label that the variable would have without this observation, if that was asked for.
    pub without: Option<Label>,
}

/// A model that can explain its labels.
pub trait Explain: Labeller {
    /// Loads an input and explains the labels of its best labelling.
    fn explain(
        &self,
        tables: &Self::Tables,
        input: &Self::Input,
        question: Question,
        scratch: &mut Self::Scratch,
        answers: &mut Self::Answers,
    ) -> Result<Vec<Explanation>>;
}

impl<M: Explain> Tagger<M> {
    /// Loads an input and explains the labels of its best labelling.
    ///
    /// ```
    /// # use crfkit::{Trainer, any::AnyModel, chain::Sequence, explain::Question, tag::Tagger};
    /// # let sequences = [Sequence::from_rows([["2", "N"], ["eggs", "F"]])?, Sequence::from_rows([["3", "N"], ["cups", "U"]])?];
    /// # let AnyModel::Chain(model) = Trainer::new().train(crfkit::Sequences::new(sequences))?.any().clone() else { unreachable!() };
    /// let mut tagger = Tagger::new(model);
    /// let asked = Question { variables: &[1], removals: 3 };
    /// let found = tagger.explain(&Sequence::from_rows([["2"], ["cups"]])?, asked)?;
    /// let rival = found[0].rival.as_ref().expect("there are other labels");
    /// let sum: f64 = rival.contributions.iter().map(|part| part.amount).sum();
    /// assert!((sum - rival.difference).abs() < 1e-9);
    /// # Ok::<(), crfkit::Error>(())
    /// ```
    pub fn explain(&mut self, input: &M::Input, question: Question) -> Result<Vec<Explanation>> {
        let mut found = Vec::new();
        self.with_parts(|model, tables, scratch, answers| {
            found = model.explain(tables, input, question, scratch, answers)?;
            Ok(())
        })?;
        Ok(found)
    }
}

/// Rejects variables that the input does not have.
pub(crate) fn check_variables<M: Labeller>(
    input: &M::Input,
    variables: &[usize],
    count: usize,
) -> Result<()> {
    match variables.iter().find(|v| **v >= count) {
        None => Ok(()),
        Some(v) => Err(Error::input(
            M::place(input),
            format!("there is no token {v}: the sequence has {count} tokens, counted from 0"),
        )),
    }
}

/// The best labelling in which a variable does not have `label`, with the difference of the scores. `None` if every labelling has it.
/// The answers are about the input without this label from then on.
pub(crate) fn runner_up(
    answers: &mut impl Answers,
    best: &[Label],
    variable: usize,
) -> Result<Option<Rival>> {
    let score = answers.score(best);
    if !answers.forbid(variable, best[variable]) {
        return Ok(None);
    }
    let labels = answers.labels(Decode::Best)?.to_vec();
    let difference = score - answers.score(&labels);
    let possible = labels[variable] != best[variable] && difference < FORBIDDEN / 2.0;
    let label = labels[variable];
    Ok(possible.then_some(Rival { label, labels, difference, contributions: Vec::new() }))
}

/// Puts contributions in order, largest first; equal ones keep the order of the variables.
pub(crate) fn sort(contributions: &mut [Contribution]) {
    contributions.sort_by(|a, b| b.amount.abs().total_cmp(&a.amount.abs()));
}
