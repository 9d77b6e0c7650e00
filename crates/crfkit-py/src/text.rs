//! Running text.

use crate::errors::raise;
use crate::tagger::PyTagger;
use crfkit::data::tokens;
use pyo3::prelude::*;

/// Reject running text for a tagger whose models read more than the words. The package's ``text`` calls this function.
#[pyfunction]
pub(crate) fn check_text(tagger: &Bound<'_, PyTagger>) -> PyResult<()> {
    let checked = tagger.get().workers.model().check_words_alone();
    checked.map_err(|error| raise(tagger.py(), error))
}

/// The tokens of a text, or its sentences, as pairs of places in it, counted in characters.
#[pyfunction]
pub(crate) fn text_parts(text: &str, sentences: bool) -> Vec<(usize, usize)> {
    let parts: Vec<_> =
        if sentences { tokens::sentences(text).collect() } else { tokens::tokens(text).collect() };
    let (mut bytes, mut characters) = (0, 0);
    let mut place = |to: usize| {
        characters += text[bytes..to].chars().count();
        bytes = to;
        characters
    };
    parts.into_iter().map(|part| (place(part.start), place(part.end))).collect()
}
