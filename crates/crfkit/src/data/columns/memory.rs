//! Sequences from memory, and their weights.

use super::{Columns, MAX_COLUMNS, Row};
use crate::error::{Error, Place, Result};

/// The message about a weight that makes no sense.
pub(crate) fn wrong_weight(weight: impl std::fmt::Display) -> String {
    format!("the weight `{weight}` is not a finite number of at least 0")
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
                    "token {number} has {found} fields, but the first one has {}: every token needs the same number, from 1 to \
                     {MAX_COLUMNS}",
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
        let columns = self.columns;
        let index = if column < 0 { columns as i64 + i64::from(column) } else { column.into() };
        let Some(index) = usize::try_from(index).ok().filter(|index| *index < columns) else {
            let message = format!(
                "the weight is to be in column {column}, but there are {columns} columns: 0 is the first, -1 the last"
            );
            return Err(Error::input(self.place(0), message));
        };
        let text = self.field(0, index).to_owned();
        if let Some(row) = (1..self.len()).find(|&row| self.field(row, index) != text) {
            let message = format!(
                "the weight is `{}`, but `{text}` at the first token: all tokens of a sequence have one weight",
                self.field(row, index)
            );
            return Err(Error::input(self.place(row), message));
        }
        let weight = text.parse().ok().filter(|weight: &f64| weight.is_finite() && *weight >= 0.0);
        let Some(weight) = weight else {
            return Err(Error::input(self.place(0), wrong_weight(text)));
        };
        let mut k = 0;
        self.fields.retain(|_| {
            k += 1;
            (k - 1) % columns != index
        });
        self.columns -= 1;
        self.weight = Some(weight);
        Ok(())
    }
}
