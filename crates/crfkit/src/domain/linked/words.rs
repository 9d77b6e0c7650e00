//! Whether a linked chain needs more of a token than its word.

use super::{LinkedDomain, Links};
use crate::Result;
use crate::domain::words::{read_by, words_alone};

impl LinkedDomain {
    /// Rejects running text for a model that reads other columns than the first one.
    #[doc(hidden)]
    pub fn check_words_alone(&self) -> Result<()> {
        let numbers = self.vectors.iter().flat_map(|vectors| vectors.columns.iter().copied());
        let rule = match &self.links {
            Links::Factorial => Vec::new(),
            Links::SkipChain { rule, .. } => rule.columns(),
        };
        words_alone(read_by(&self.templates).chain(numbers).chain(rule), Some(self.columns))
    }
}
