//! Token scores per field, as used in information extraction.

use super::{ChunkCounts, Evaluation};

impl Evaluation {
    /// Token precision, recall and F1 per field. The field of a token is the type of the chunk it is in, whether the
    /// prefix is B- or I-. Fields are sorted by name. Tokens outside chunks belong to no field.
    pub fn fields(&self) -> Vec<(&str, ChunkCounts)> {
        let mut counts = vec![ChunkCounts::default(); self.types.names.len()];
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
