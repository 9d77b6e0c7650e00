//! Sequences whose attributes are known by their hashes, labelled by a model of any origin.

use super::ensemble::MemberTables;
use super::{Ensemble, Member};
use crate::answers::ChainAnswers;
use crate::data::attributes::HashedAttributes;
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
}
