//! Whether data has gold labels, and which tokens.

use crate::data::observer::Source;
use crate::domain::chain::{ChainModel, Sequence};
use crate::domain::sole_label;
use crate::tag::Truth;
use crate::{Error, Result, counted};
use std::borrow::Cow;

/// The gold labels of the tokens that have one, without those that may have any label or one of several.
pub(super) fn known_labels(truth: Truth) -> Truth {
    let only = |label: Option<Cow<str>>| {
        label.and_then(|label| sole_label(&label).map(str::to_owned)).map(Cow::Owned)
    };
    Truth { labels: truth.labels.into_iter().map(only).collect(), ..truth }
}

/// Rejects columns of which the last one, where the label should be, is one that the templates read: the labels are missing, and words or
/// other fields would be taken for gold labels.
pub(super) fn check_gold(model: &ChainModel, sequence: &Sequence) -> Result<()> {
    let (Sequence::Columns { rows, label_column: None }, Some(layout), Source::Templates(templates)) =
        (sequence, model.domain.columns, &model.domain.source)
    else {
        return Ok(());
    };
    if rows.is_empty() || !layout.label_is_last() || rows.columns() > templates.columns_needed {
        return Ok(());
    }
    let message = format!(
        "{}, but the model's features use {}, so there are no gold labels: give labelled data, with the label in the last column",
        counted(rows.columns(), "column"),
        templates.columns_needed
    );
    Err(Error::input(sequence.place(0), message))
}
