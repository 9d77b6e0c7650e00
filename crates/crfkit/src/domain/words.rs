//! Whether a model needs more of a token than its word, which is all that running text has.

use super::chain::ChainDomain;
use super::linked::{LinkedDomain, Links};
use crate::data::observer::Source;
use crate::data::template::Templates;
use crate::{Error, Result};
use std::collections::BTreeSet;

impl ChainDomain {
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

/// The columns that templates read.
fn read_by(templates: &Templates) -> impl Iterator<Item = usize> {
    templates.extractors.iter().filter_map(|extractor| extractor.reads())
}

/// Rejects running text for a model that reads these columns, unless it is the first one alone.
pub(crate) fn words_alone(read: impl IntoIterator<Item = usize>, columns: Option<usize>) -> Result<()> {
    let more: BTreeSet<usize> = read.into_iter().filter(|column| *column > 0).collect();
    let names: Vec<String> = more.iter().map(usize::to_string).collect();
    let what = match &names[..] {
        [] => return Ok(()),
        [column] => format!("column {column}"),
        _ => format!("columns {}", names.join(", ")),
    };
    let columns =
        columns.map_or(String::new(), |columns| format!("on {columns} columns, the label included, "));
    Err(Error::Setting(format!(
        "the model was trained {columns}and reads {what} (from 0, as in `%x[0,{}]`), but running text has words alone, which are column 0: \
         give rows with all columns instead of text, or train a model that reads the words alone",
        names[0]
    )))
}
