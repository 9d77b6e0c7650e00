//! Explanations by models made from counts: what each word and each pair of labels contributes.

use super::{EmpiricalModel, EmpiricalScratch};
use crate::Result;
use crate::answers::ChainAnswers;
use crate::domain::chain::Sequence;
use crate::explain::{Contribution, Explain, Explanation, Question, check_variables, runner_up, sort};
use crate::graph::{Graph, Label, Shared, TableRef};
use crate::tag::Labeller;
use std::sync::Arc;

impl Explain for EmpiricalModel {
    fn explain(
        &self,
        tables: &Arc<Shared<f64>>,
        sequence: &Sequence,
        question: Question,
        scratch: &mut EmpiricalScratch,
        answers: &mut ChainAnswers,
    ) -> Result<Vec<Explanation>> {
        check_variables::<Self>(sequence, question.variables, sequence.len())?;
        self.load(tables, sequence, scratch, answers)?;
        let best = answers.viterbi().to_vec();
        let mut explanations = Vec::new();
        for &variable in question.variables {
            let mut rival = runner_up(answers, &best, variable)?;
            self.load(tables, sequence, scratch, answers)?;
            if let Some(rival) = &mut rival {
                rival.contributions = self.contributions(sequence, answers, [&best, &rival.labels]);
            }
            explanations.push(Explanation { variable, label: best[variable], rival });
        }
        Ok(explanations)
    }
}

impl EmpiricalModel {
    /// What each word and each pair of labels adds to the difference of two labellings.
    fn contributions(
        &self,
        sequence: &Sequence,
        answers: &ChainAnswers,
        [best, rival]: [&[Label]; 2],
    ) -> Vec<Contribution> {
        let word = |v: usize| sequence.word(v, self.settings().word_column);
        let psi = answers.psi();
        let mut found = Vec::new();
        answers.chain().for_each_factor(|factor| {
            let amount = psi.value(&factor, best) - psi.value(&factor, rival);
            if amount == 0.0 {
                return;
            }
            let (part, observation) = match (factor.table, factor.vars) {
                (TableRef::Own(_), [v]) => ("word", Some(word(*v).to_owned())),
                (TableRef::Own(_), [u, v]) => ("pair", Some(format!("{} {}", word(*u), word(*v)))),
                _ => ("transition", None),
            };
            let variables = factor.vars.to_vec();
            let labels = [best, rival].map(|labels| variables.iter().map(|&v| labels[v]).collect());
            let part = part.to_owned();
            found.push(Contribution { part, observation, variables, labels, amount, without: None });
        });
        sort(&mut found);
        found
    }
}
