//! What is known of gold labels.

use super::Dataset;
use crate::graph::{FIRST_SET, Graph, LabelBits, UNLABELLED};
use std::sync::Arc;

impl<G: Graph> Dataset<G> {
    /// The sets of labels that gold labels stand for: [`FIRST_SET`] + n for set n.
    #[doc(hidden)]
    pub fn sets(&self) -> &Arc<[LabelBits]> {
        &self.sets
    }

    pub(crate) fn set_sets(&mut self, sets: Vec<LabelBits>) {
        self.sets = sets.into();
    }

    /// Turns gold labels that stand for sets of labels into unknown ones.
    pub(crate) fn forget_sets(&mut self) {
        let sets = self.gold.iter_mut().filter(|label| **label >= FIRST_SET);
        sets.for_each(|label| *label = UNLABELLED);
    }

    /// Whether some gold label stands for a set of labels.
    pub(crate) fn has_sets(&self) -> bool {
        self.gold.iter().any(|label| (FIRST_SET..UNLABELLED).contains(label))
    }

    /// Whether nothing is known of any label.
    pub(crate) fn is_unlabelled(&self) -> bool {
        self.gold.iter().all(|label| *label == UNLABELLED)
    }

    /// Whether all gold labels are known.
    pub(crate) fn is_complete(&self) -> bool {
        self.gold.iter().all(|label| *label < FIRST_SET)
    }
}
