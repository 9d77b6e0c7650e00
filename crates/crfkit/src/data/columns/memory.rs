//! Sequences from memory, and their weights.

use super::{Columns, MAX_COLUMNS, Row};
use crate::data::conllu::Fields;
use crate::data::vectors::Vectors;
use crate::error::counted;
use crate::error::only_columns;
use crate::error::{Error, Place, Result};

/// The message about an invalid weight.
pub(crate) fn wrong_weight(weight: impl std::fmt::Display) -> String {
    format!("the weight `{weight}` is not a finite number of at least 0")
}

/// Rejects weights of tokens unless there is one for each token, finite and not negative.
pub(crate) fn check_token_weights(
    weights: &[f64],
    tokens: usize,
    place: impl Fn(usize) -> Place,
) -> Result<()> {
    if weights.len() != tokens {
        let message = format!(
            "{}, but {}: every token needs one",
            counted(tokens, "token"),
            counted(weights.len(), "weight")
        );
        return Err(Error::input(place(0), message));
    }
    match weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
        Some(row) => Err(Error::input(place(row), wrong_weight(weights[row]))),
        None => Ok(()),
    }
}

impl Columns {
    /// Makes a sequence from rows in memory: the fields of each token, the same number in every row. Fields may contain
    /// anything, spaces too. `name` is the sequence's name in messages.
    pub fn from_rows<R>(rows: R, name: &str) -> Result<Self>
    where
        R: IntoIterator<Item: IntoIterator<Item: AsRef<str>>>,
    {
        let mut columns = Columns { name: name.to_owned(), ..Columns::default() };
        for (number, row) in (1..).zip(rows) {
            let (base, before) = (columns.text.len(), columns.fields.len());
            for field in row {
                let start = columns.text.len();
                columns.text.push_str(field.as_ref());
                columns.fields.push(start..columns.text.len());
            }
            let found = columns.fields.len() - before;
            if number == 1 {
                columns.columns = found;
            }
            if found == 0 || found != columns.columns || found > MAX_COLUMNS {
                let message = format!(
                    "token {number} has {}, but the first one has {}: every token needs the same number, from 1 to \
                     {MAX_COLUMNS}",
                    counted(found, "field"),
                    columns.columns
                );
                return Err(Error::input(Place::new(name, number), message));
            }
            columns.rows.push(Row { text: base..columns.text.len(), line: number });
        }
        Ok(columns)
    }

    /// The weight of the sequence in training: finite, not negative, and 1 unless it was given.
    pub fn weight(&self) -> f64 {
        self.weight.unwrap_or(1.0)
    }

    /// Sets the weight of the sequence. It is an error if it is negative or not finite.
    pub fn set_weight(&mut self, weight: f64) -> Result<()> {
        if !(weight.is_finite() && weight >= 0.0) {
            let place = if self.is_empty() { Place::new(&self.name, 0) } else { self.place(0) };
            return Err(Error::input(place, wrong_weight(weight)));
        }
        self.weight = Some(weight);
        Ok(())
    }

    /// Takes a column out, and makes its number the weight of the sequence: it must be the same in all rows. Columns count from 0, or
    /// from the end if the number is negative.
    pub fn take_weight(&mut self, column: i32) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let index = self.index_of("weight", column)?;
        let text = self.field(0, index).to_owned();
        if let Some(row) = (1..self.len()).find(|&row| self.field(row, index) != text) {
            let message = format!(
                "the weight is `{}`, but `{text}` at the first token: all rows of a sequence must have the same weight",
                self.field(row, index)
            );
            return Err(Error::input(self.place(row), message));
        }
        self.weight = Some(self.read_weight(0, index)?);
        self.take_out(index);
        Ok(())
    }

    /// The fields of CoNLL-U that the columns are, if they were read from it.
    pub fn fields(&self) -> Option<Fields> {
        self.named
    }

    /// Says which fields of CoNLL-U the columns are. Without them, a model does not compare them with those of its training data.
    #[doc(hidden)]
    pub fn set_fields(&mut self, fields: Option<Fields>) {
        self.named = fields;
    }

    /// The vectors of the tokens.
    pub fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    /// Gives every token a vector, beside its fields. It is an error if there is not one for each token.
    pub fn set_vectors(&mut self, vectors: Vectors) -> Result<()> {
        vectors.check_rows(self.len(), || {
            if self.is_empty() { Place::new(&self.name, 0) } else { self.place(0) }
        })?;
        self.vectors = vectors;
        Ok(())
    }

    /// Takes the vectors out, to use their memory again.
    pub fn take_vectors(&mut self) -> Vectors {
        std::mem::take(&mut self.vectors)
    }

    /// The weights of the tokens in training; empty if all are 1.
    pub fn token_weights(&self) -> &[f64] {
        &self.token_weights
    }

    /// Sets the weights of the tokens. It is an error if there is not one for each, or if one is negative or not finite.
    pub fn set_token_weights(&mut self, weights: &[f64]) -> Result<()> {
        check_token_weights(weights, self.len(), |row| match self.is_empty() {
            true => Place::new(&self.name, 0),
            false => self.place(row),
        })?;
        self.token_weights.clear();
        self.token_weights.extend_from_slice(weights);
        Ok(())
    }

    /// Takes a column out, and makes its numbers the weights of the tokens. Columns count from 0, or from the end if the number is negative.
    pub fn take_token_weights(&mut self, column: i32) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let index = self.index_of("weight of a token", column)?;
        self.token_weights =
            (0..self.len()).map(|row| self.read_weight(row, index)).collect::<Result<_>>()?;
        self.take_out(index);
        Ok(())
    }

    /// Takes out the columns with the weights of the sequence and of its tokens, both counted before either is taken out.
    pub fn take_weights(&mut self, sequence: Option<i32>, tokens: Option<i32>) -> Result<()> {
        let Some(tokens) = tokens.filter(|_| !self.is_empty()) else {
            return sequence.map_or(Ok(()), |column| self.take_weight(column));
        };
        let Some(sequence) = sequence else { return self.take_token_weights(tokens) };
        let (before, column) =
            (self.index_of("weight", sequence)?, self.index_of("weight of a token", tokens)?);
        if before == column {
            let message = format!(
                "column {column} cannot hold both the weight of the sequence and those of its tokens: name two columns"
            );
            return Err(Error::input(self.place(0), message));
        }
        self.take_weight(before as i32)?;
        self.take_token_weights((column - usize::from(column > before)) as i32)
    }

    /// The number of a column that may be counted from the end.
    fn index_of(&self, what: &str, column: i32) -> Result<usize> {
        let columns = self.columns;
        let index = if column < 0 { columns as i64 + i64::from(column) } else { column.into() };
        usize::try_from(index).ok().filter(|index| *index < columns).ok_or_else(|| {
            let message = format!(
                "the {what} should be in column {column}, but there {}: 0 is the first, -1 the last",
                only_columns(columns)
            );
            Error::input(self.place(0), message)
        })
    }

    /// The weight in a field.
    fn read_weight(&self, row: usize, column: usize) -> Result<f64> {
        let text = self.field(row, column);
        let weight = text.parse().ok().filter(|weight: &f64| weight.is_finite() && *weight >= 0.0);
        weight.ok_or_else(|| Error::input(self.place(row), wrong_weight(text)))
    }

    /// Removes a column.
    fn take_out(&mut self, column: usize) {
        let (columns, mut k) = (self.columns, 0);
        self.fields.retain(|_| {
            k += 1;
            (k - 1) % columns != column
        });
        self.columns -= 1;
        self.named = self.named.map(|fields| fields.without(column));
    }
}
