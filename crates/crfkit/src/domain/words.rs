//! Whether a model needs more of a token than its word, which is all that running text has.

use crate::data::template::Templates;
use crate::{Error, Result};
use std::collections::BTreeSet;

/// The columns that templates read.
pub(in crate::domain) fn read_by(templates: &Templates) -> impl Iterator<Item = usize> {
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
