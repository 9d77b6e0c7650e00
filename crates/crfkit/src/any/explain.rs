//! Explanations by one model of chains.

use super::{Ensemble, Member};
use crate::answers::ChainAnswers;
use crate::any::ensemble::EnsembleScratch;
use crate::any::member::MemberTables;
use crate::domain::chain::Sequence;
use crate::explain::{Explain, Explanation, Question};
use crate::{Error, Result};

impl Explain for Ensemble {
    /// Explains the labels of the only model. It is an error if there are several: they have no common score.
    fn explain(
        &self,
        tables: &Vec<MemberTables>,
        sequence: &Sequence,
        question: Question,
        scratch: &mut EnsembleScratch,
        answers: &mut ChainAnswers,
    ) -> Result<Vec<Explanation>> {
        let ([member], [tables]) = (self.members(), &tables[..]) else {
            return Err(Error::Setting(
                "several models have no common score that could be explained: give one model".into(),
            ));
        };
        match (member, tables) {
            (Member::Weighted(model), MemberTables::Weighted(tables)) => {
                model.explain(tables, sequence, question, &mut scratch.first.observer, answers)
            }
            (Member::Empirical(model), MemberTables::Empirical(tables)) => {
                model.explain(tables, sequence, question, &mut scratch.first.words, answers)
            }
            _ => unreachable!("tables are made by their own model"),
        }
    }
}
