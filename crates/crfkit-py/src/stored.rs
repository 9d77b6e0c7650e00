//! Sequences to be labelled as Python's own objects, which can be pickled.

use crate::errors::{data_error, raise};
use crate::features::{Input, Tokens, UNKNOWN};
use crfkit::chain::Sequence;
use crfkit::data::attributes::{Attributes, HashedAttributes};
use crfkit::data::columns::Columns;
use crfkit::data::vectors::Vectors;
use crfkit::graph::LabelBits;
use pyo3::prelude::*;

/// Hashes of features, their values, and the end of each token.
type Hashed = (Vec<u64>, Vec<f64>, Vec<usize>);
/// The features of each token.
type Named = Vec<Vec<(String, f64)>>;
/// The width of vectors, and their numbers.
type Numbers = (usize, Vec<f32>);
/// The labels that some tokens may have.
type Allowed = Vec<(usize, Vec<usize>)>;
/// A sequence: one of hashes, features and rows; the vectors of its tokens; and the labels that they may have.
pub(crate) type Stored = (Option<Hashed>, Option<Named>, Option<Vec<Vec<String>>>, Numbers, Allowed);

/// A sequence to be labelled with this many labels, as Python's objects.
pub(crate) fn stored(input: &Input, labels: usize) -> Stored {
    let numbers = |vectors: &Vectors| -> Numbers {
        (vectors.width(), (0..vectors.rows()).flat_map(|token| vectors.row(token)).copied().collect())
    };
    let bits = |bits: &LabelBits| (0..labels).filter(|&label| bits.contains(label)).collect();
    let allowed = input.allowed.iter().map(|(token, of)| (*token, bits(of))).collect();
    match &input.tokens {
        Tokens::Hashed(sequence) => {
            let (hashes, values, ends) = sequence.parts();
            let parts = (hashes.to_vec(), values.to_vec(), ends.to_vec());
            (Some(parts), None, None, numbers(sequence.vectors()), allowed)
        }
        Tokens::Named(Sequence::Attributes(sequence)) => {
            let items = |row| sequence.items(row).map(|(name, value)| (name.to_owned(), value)).collect();
            let named = (0..sequence.len()).map(items).collect();
            (None, Some(named), None, numbers(&Sequence::from(sequence.clone()).take_vectors()), allowed)
        }
        Tokens::Named(Sequence::Columns { rows, .. }) => {
            let fields = |row| (0..rows.columns()).map(|column| rows.field(row, column).to_owned()).collect();
            (None, None, Some((0..rows.len()).map(fields).collect()), numbers(rows.vectors()), allowed)
        }
    }
}

/// The sequence that [`stored`] has made Python's objects of.
pub(crate) fn restored(py: Python<'_>, stored: Stored, labels: usize) -> PyResult<Input> {
    let wrong = || data_error(py, "this is not a stored sequence".into());
    let (hashed, named, rows, (width, numbers), allowed) = stored;
    let vectors = match width {
        0 => None,
        _ => Some(Vectors::new(width, numbers).map_err(|error| raise(py, error))?),
    };
    let make = || -> crfkit::Result<Option<Tokens>> {
        Ok(match (hashed, named, rows) {
            (Some(parts), None, None) => {
                let Some(mut sequence) = HashedAttributes::from_parts("x", parts) else { return Ok(None) };
                vectors.map_or(Ok(()), |vectors| sequence.set_vectors(vectors))?;
                Some(Tokens::Hashed(sequence))
            }
            (None, Some(named), None) => {
                let mut sequence = Attributes::new("x", 1.0)?;
                named.into_iter().try_for_each(|features| sequence.add(UNKNOWN, features))?;
                let mut sequence = Sequence::from(sequence);
                vectors.map_or(Ok(()), |vectors| sequence.set_vectors(vectors))?;
                Some(Tokens::Named(sequence))
            }
            (None, None, Some(rows)) => {
                let mut rows = Columns::from_rows(rows, "x")?;
                vectors.map_or(Ok(()), |vectors| rows.set_vectors(vectors))?;
                Some(Tokens::Named(rows.into()))
            }
            _ => None,
        })
    };
    let tokens = make().map_err(|error| raise(py, error))?.ok_or_else(wrong)?;
    let mut input = Input::from(tokens);
    for (token, of) in allowed {
        if token >= input.len() || of.iter().any(|&label| label >= labels) {
            return Err(wrong());
        }
        let mut bits = LabelBits::none(labels);
        of.into_iter().for_each(|label| bits.insert(label));
        input.allowed.push((token, bits));
    }
    Ok(input)
}
