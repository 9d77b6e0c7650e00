//! Attributes of a sequence to be labelled, by the hashes of their names.

use crate::data::strings::hash_of;
use crate::data::vectors::Vectors;
use crate::{Error, Place, Result};
use std::ops::Range;

/// A sequence to be labelled, whose attributes are known by the hashes of their names: nothing else is needed to look them up, so names are not
/// copied. Add the attributes of a token, then [finish](HashedAttributes::finish_token) it.
///
/// ```
/// # use crfkit::data::attributes::HashedAttributes;
/// let mut sequence = HashedAttributes::new("a sentence");
/// sequence.add("word=the", 1.0);
/// sequence.add("length", 0.3);
/// sequence.finish_token();
/// assert_eq!(sequence.len(), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct HashedAttributes {
    name: String,
    hashes: Vec<u64>,
    /// Empty while all values are 1.
    values: Vec<f64>,
    /// The end of each token's attributes.
    ends: Vec<usize>,
    vectors: Vectors,
    /// The first value that is not finite, with its token, counted from 1.
    not_finite: Option<(usize, f64)>,
}

impl HashedAttributes {
    /// A sequence without tokens. `name` is its name in messages.
    pub fn new(name: impl Into<String>) -> Self {
        HashedAttributes { name: name.into(), ..HashedAttributes::default() }
    }

    /// A sequence of hashes, their values (none if all are 1) and the end of each token's hashes; `None` if these do not fit together.
    pub fn from_parts(
        name: impl Into<String>,
        (hashes, values, ends): (Vec<u64>, Vec<f64>, Vec<usize>),
    ) -> Option<Self> {
        let fits = ends.is_sorted() && ends.last().copied().unwrap_or(0) == hashes.len();
        let valued =
            values.is_empty() || values.len() == hashes.len() && values.iter().all(|x| x.is_finite());
        (fits && valued).then(|| HashedAttributes { hashes, values, ends, ..HashedAttributes::new(name) })
    }

    /// What [`HashedAttributes::from_parts`] makes a sequence of, besides its vectors.
    pub fn parts(&self) -> (&[u64], &[f64], &[usize]) {
        (&self.hashes, &self.values, &self.ends)
    }

    /// Adds an attribute of the next token. A value of 0 adds nothing. A sequence with a value that is not finite cannot be labelled.
    #[inline]
    pub fn add(&mut self, name: &str, value: f64) {
        if value != 0.0 {
            self.add_hash(HashedAttributes::hash_of(name), value);
        }
    }

    /// The hash by which an attribute is known, for [`HashedAttributes::add_hash`].
    #[inline]
    pub fn hash_of(name: &str) -> u64 {
        hash_of(name.as_bytes())
    }

    /// Adds an attribute of the next token, as [`HashedAttributes::add`] does, by the hash of its name.
    #[inline]
    pub fn add_hash(&mut self, hash: u64, value: f64) {
        if value == 0.0 {
            return;
        }
        if !value.is_finite() {
            self.not_finite.get_or_insert((self.ends.len() + 1, value));
        }
        if value != 1.0 && self.values.is_empty() {
            self.values = vec![1.0; self.hashes.len()];
        }
        self.hashes.push(hash);
        if value != 1.0 || !self.values.is_empty() {
            self.values.push(value);
        }
    }

    /// Adds attributes of the next token that have the value 1.
    #[inline]
    pub fn add_all(&mut self, names: &[&str]) {
        self.hashes.extend(names.iter().map(|name| HashedAttributes::hash_of(name)));
        if !self.values.is_empty() {
            self.values.resize(self.hashes.len(), 1.0);
        }
    }

    /// Makes room for this many tokens of so many attributes.
    pub fn reserve(&mut self, tokens: usize, attributes: usize) {
        self.hashes.reserve(tokens.saturating_mul(attributes));
        self.ends.reserve(tokens);
    }

    /// The mean number of attributes of a token, rounded up.
    pub fn per_token(&self) -> usize {
        self.hashes.len().div_ceil(self.len().max(1))
    }

    /// Ends a token: the attributes added since the last one are its own.
    pub fn finish_token(&mut self) {
        self.ends.push(self.hashes.len());
    }

    /// Gives every token a vector. It is an error if there is not one for each.
    pub fn set_vectors(&mut self, vectors: Vectors) -> Result<()> {
        let (rows, tokens) = (vectors.rows(), self.len());
        if rows != tokens {
            let message =
                format!("{rows} vectors for {tokens} tokens: there must be one for each token, in order");
            return Err(Error::input(self.place(), message));
        }
        self.vectors = vectors;
        Ok(())
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(crate) fn place(&self) -> Place {
        Place::new(&self.name, 1)
    }

    /// Rejects values that are not finite.
    pub(crate) fn check(&self) -> Result<()> {
        match self.not_finite {
            None => Ok(()),
            Some((token, value)) => {
                let message =
                    format!("a feature of token {token} has the value {value}: give finite numbers");
                Err(Error::input(self.place(), message))
            }
        }
    }

    /// The vectors of the tokens.
    pub fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    /// Hashes and values of each token; there are no values if all are 1.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = (&[u64], &[f64])> {
        let start = |token: usize| token.checked_sub(1).map_or(0, |before| self.ends[before]);
        let values = |of: Range<usize>| if self.values.is_empty() { &[][..] } else { &self.values[of] };
        (0..self.len()).map(move |token| {
            let range = start(token)..self.ends[token];
            (&self.hashes[range.clone()], values(range))
        })
    }
}
