//! Tokens by field: the score of information extraction.

use super::{Counts, Evaluation};

impl Evaluation {
    /// Tokens by the type of the chunk that they are in, whichever their place in it (B- or I-), sorted by the type's name: token
    /// precision, recall and F1 of each field. Tokens outside of chunks are no field.
    pub fn fields(&self) -> Vec<(&str, Counts)> {
        let mut counts = vec![Counts::default(); self.types.names.len()];
        for (&(gold, predicted), &tokens) in &self.confusion {
            let [gold, predicted] = [gold, predicted].map(|label| self.marks[label as usize].field());
            gold.into_iter().for_each(|field| counts[field as usize].gold += tokens);
            predicted.into_iter().for_each(|field| counts[field as usize].predicted += tokens);
            if let (Some(field), true) = (gold, gold == predicted) {
                counts[field as usize].correct += tokens;
            }
        }
        self.types.sorted(&counts)
    }
}
