//! Attributes that are built in memory instead of being read from a file.

use super::{Attribute, Attributes, Row};
use crate::data::columns::check_token_weights;
use crate::data::text::excerpt;
use crate::{Error, Place, Result};

impl Attributes {
    /// An instance without tokens. `name` is its name in messages; `weight` is its weight in training.
    pub fn new(name: &str, weight: f64) -> Result<Self> {
        match weight.is_finite() && weight >= 0.0 {
            true => Ok(Attributes { name: name.to_owned(), weight: Some(weight), ..Attributes::default() }),
            false => {
                let message = format!("the weight {weight} is not a finite number of at least 0");
                Err(Error::input(Place::new(name, 0), message))
            }
        }
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
        self.token_weights = weights.to_vec();
        Ok(())
    }

    /// Replaces the labels, one for each row.
    pub fn set_labels(&mut self, labels: &[String]) {
        for (row, label) in self.rows.iter_mut().zip(labels) {
            let start = self.text.len();
            self.text.push_str(label);
            row.label = start..self.text.len();
        }
    }

    /// Adds a token: its label (any word if it is not known), and its features with their values.
    pub fn add<N: AsRef<str>>(
        &mut self,
        label: &str,
        features: impl IntoIterator<Item = (N, f64)>,
    ) -> Result<()> {
        for (name, value) in features {
            let name = name.as_ref();
            if name.is_empty() {
                return self.refuse("a feature has no name: give every feature one".into());
            }
            if !value.is_finite() {
                return self.refuse(format!(
                    "the value {value} of feature `{}` is not a finite number",
                    excerpt(name)
                ));
            }
            self.push_feature([name], value);
        }
        self.finish_token(label)
    }

    fn refuse(&self, why: String) -> Result<()> {
        Err(Error::input(Place::new(&self.name, self.rows.len() as u64 + 1), why))
    }

    /// Adds a feature of the next token, whose name is in parts. The name must not be empty, and the value must be finite.
    #[doc(hidden)]
    #[inline]
    pub fn push_feature<const PARTS: usize>(&mut self, name: [&str; PARTS], value: f64) {
        let start = self.text.len();
        name.iter().for_each(|part| self.text.push_str(part));
        self.attributes.push(Attribute { name: start..self.text.len(), value });
    }

    /// Ends a token, which has the features added since the last one, with its label (any word if it is not known).
    #[doc(hidden)]
    pub fn finish_token(&mut self, label: &str) -> Result<()> {
        if label.is_empty() {
            return self.refuse("an empty label: write any word for a label that is not known".into());
        }
        let start = self.text.len();
        self.text.push_str(label);
        let first = self.rows.last().map_or(0, |row| row.attributes.end);
        let line = self.rows.len() as u64 + 1;
        let (label, attributes) = (start..self.text.len(), first..self.attributes.len());
        self.rows.push(Row { label, attributes, line });
        Ok(())
    }
}
