//! Sequences that come in special forms: attributes that are known by their hashes, and tokens that may have only some labels.

use super::member::MemberTables;
use super::{Ensemble, Member};
use crate::answers::ChainAnswers;
use crate::data::attributes::HashedAttributes;
use crate::domain::chain::Sequence;
use crate::graph::LabelBits;
use crate::tag::Tagger;
use crate::{Error, Result};

impl Tagger<Ensemble> {
    /// Loads a sequence whose attributes are known by their hashes. It is an error if there are several models, or one made from counts.
    #[doc(hidden)]
    pub fn take_in_hashed(&mut self, sequence: &HashedAttributes) -> Result<&mut ChainAnswers> {
        self.with_parts(|ensemble, tables, scratch, answers| match (ensemble.members(), &tables[..]) {
            ([Member::Weighted(model)], [MemberTables::Weighted(tables)]) => {
                model.take_in_hashed(tables, sequence, &mut scratch.first.observer, answers)
            }
            _ => Err(Error::Setting(
                "only a single model with weights takes attributes by their hashes: give their names".into(),
            )),
        })
    }

    /// Loads a sequence, of whose tokens some may have only some labels. All answers are those given these labels.
    #[doc(hidden)]
    pub fn load_constrained(
        &mut self,
        sequence: &Sequence,
        allowed: &[(usize, LabelBits)],
    ) -> Result<&mut ChainAnswers> {
        self.with_parts(|ensemble, tables, scratch, answers| {
            ensemble.load_constrained(tables, sequence, allowed, scratch, answers)
        })
    }
}
