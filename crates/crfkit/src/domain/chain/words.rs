//! What a chain knows of words, and whether it needs more of a token than its word.

use super::ChainDomain;
use crate::data::observer::Source;
use crate::domain::words::{read_by, words_alone};
use crate::{Error, Result};

impl ChainDomain {
    /// Whether the word was seen in training; `None` if the model knows no words.
    pub fn knows(&self, word: &str) -> Option<bool> {
        if self.words.is_empty() {
            return None;
        }
        let value = self.alphabet.values.find(word.as_bytes()).map(|id| id as usize);
        Some(value.is_some_and(|id| self.words.get(id / 64).is_some_and(|bits| bits >> (id % 64) & 1 == 1)))
    }

    /// Rejects running text for a model that reads other columns than the first one, or attributes.
    #[doc(hidden)]
    pub fn check_words_alone(&self) -> Result<()> {
        let Source::Templates(templates) = &self.source else {
            let why = "the model was trained on attributes, which cannot be made from text: give attributes";
            return Err(Error::Setting(why.into()));
        };
        let numbers = self.vectors.iter().flat_map(|vectors| vectors.columns.iter().copied());
        let columns = self.columns.map(|layout| layout.columns);
        words_alone(read_by(templates).chain(numbers), columns)
    }
}
