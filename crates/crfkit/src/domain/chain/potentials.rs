//! The log-potentials of new sequences.

use super::vectors::{NumbersOf, numbers_of_attributes, numbers_of_rows};
use super::{ChainDomain, ChainModel};
use crate::answers::ChainAnswers;
use crate::data::attributes::{Attributes, HashedAttributes};
use crate::data::columns::Columns;
use crate::data::observer::{Observer, Sink, Source};
use crate::domain::ReadyTables;
use crate::graph::{Chain, Graph, NODES, PAIRS};
use crate::math::product::RowsOf;
use crate::model::{Dense, DenseWeights, Features};
use crate::tag::Tagger;
use crate::{Place, Result};

/// A sink that adds the weights of each observation directly to the log-potentials.
pub(super) struct Potentials<'a> {
    features: &'a Features,
    weights: &'a [f64],
    dense: &'a Dense,
    matrices: &'a DenseWeights,
    /// The number of dense observations.
    dims: u32,
    chain: Chain,
    own: &'a mut [f64],
    table: usize,
    /// The observations of a table whose rows are spread out, and the others.
    spread: Vec<u32>,
    listed: Vec<u32>,
}

impl<'a> Potentials<'a> {
    /// Zero log-potentials for a sequence of `len` tokens.
    pub(super) fn new(
        model: &'a ChainModel,
        tables: &'a ReadyTables,
        len: usize,
        answers: &'a mut ChainAnswers,
    ) -> Self {
        let chain = model.chain(len);
        let (features, weights) = (&*model.features, &model.weights[..]);
        let (dense, matrices, dims) = (&tables.dense, &tables.weights, features.rows[NODES].dense as u32);
        // What is expected at a time is somewhat more than a batch.
        let [spread, listed] = [(); 2].map(|()| Vec::with_capacity(256));
        let own = answers.start(chain);
        Potentials { features, weights, dense, matrices, dims, chain, own, table: 0, spread, listed }
    }

    /// Adds the products of the numbers of a sequence.
    pub(super) fn multiply(&mut self, domain: &ChainDomain, of: &NumbersOf) -> Result<()> {
        let mut numbers = Vec::new();
        domain.read_numbers(of, &mut numbers)?;
        if !numbers.is_empty() {
            let tables: Vec<u32> = (0..of.len).map(|t| self.chain.own_offset(t) as u32).collect();
            let x = RowsOf { values: &numbers, width: domain.dims(), tables: &tables };
            self.features.rows[NODES].add_products(x, self.matrices.matrix(NODES, 0), self.own);
        }
        Ok(())
    }
}

impl Sink for Potentials<'_> {
    fn table(&mut self, ids: &[u32], values: &[f64]) {
        // If all pair observations of a model have lost their weights, there are no tables for them.
        if self.table >= self.chain.own_tables() {
            return;
        }
        let kind = self.chain.own_kind(self.table);
        let (rows, dims) = (&self.features.rows[kind], if kind == NODES { self.dims } else { 0 });
        let own = &mut self.own[self.chain.own_offset(self.table)..];
        self.table += 1;
        if values.is_empty() && kind == NODES && dims == 0 {
            divide(ids, self.dense.rows(), &mut self.spread, &mut self.listed);
            self.dense.add(0, std::iter::once((&self.spread[..], 0)), own);
            rows.gather_all(self.weights, &self.listed, own);
            return;
        }
        for (k, &id) in ids.iter().enumerate() {
            rows.gather(self.weights, id + dims, values.get(k).copied().unwrap_or(1.0), own);
        }
    }

    fn expect(&mut self, ids: &[u32]) {
        if self.table < self.chain.own_tables() {
            let kind = self.chain.own_kind(self.table);
            let (dims, first) = if kind == NODES { (self.dims, self.dense.rows()) } else { (0, 0) };
            divide(ids, first, &mut self.spread, &mut self.listed);
            self.features.rows[kind].expect(self.weights, self.listed.iter().map(|&id| id + dims));
        }
    }
}

/// Overwrites `low` with the numbers below `limit`, and `high` with the others. The processor cannot predict which of the two a number goes to, so
/// the loop has no branch on it.
fn divide(numbers: &[u32], limit: u32, low: &mut Vec<u32>, high: &mut Vec<u32>) {
    low.resize(numbers.len(), 0);
    high.resize(numbers.len(), 0);
    let mut below = 0;
    for (k, &number) in numbers.iter().enumerate() {
        low[below] = number;
        high[k - below] = number;
        below += usize::from(number < limit);
    }
    low.truncate(below);
    high.truncate(numbers.len() - below);
}

impl ChainModel {
    /// Loads attributes that are known by their hashes.
    pub(crate) fn take_in_hashed(
        &self,
        tables: &ReadyTables,
        sequence: &HashedAttributes,
        observer: &mut Observer,
        answers: &mut ChainAnswers,
    ) -> Result<()> {
        let place = || sequence.place();
        self.domain.check_attributes(place)?;
        sequence.check()?;
        let mut sink = Potentials::new(self, tables, sequence.len(), answers);
        let (vectors, len) = (sequence.vectors(), sequence.len());
        sink.multiply(&self.domain, &NumbersOf { rows: None, vectors, len, place: &|_| place() })?;
        observer.hashed(sequence, &self.domain.alphabet, &mut sink);
        answers.finish(place)
    }

    /// The chain of a sequence of `len` tokens.
    pub(crate) fn chain(&self, len: usize) -> Chain {
        self.domain.chain(len, self.features.rows[PAIRS].len > 0)
    }
}

/// The place of a sequence, also of an empty one.
fn place_of(empty: bool, place: impl FnOnce() -> Place) -> Place {
    if empty { Place::new("input", 0) } else { place() }
}

impl Tagger<ChainModel> {
    /// Loads a sequence of columns. It must have at least the columns that the templates use.
    pub fn load_columns(&mut self, sequence: &Columns) -> Result<&mut ChainAnswers> {
        self.with_parts(|model, tables, observer, answers| {
            model.domain.check_columns(sequence)?;
            if let Source::Templates(templates) = &model.domain.source {
                let mut sink = Potentials::new(model, tables, sequence.len(), answers);
                numbers_of_rows(sequence, |numbers| sink.multiply(&model.domain, numbers))?;
                observer.columns(
                    templates,
                    sequence,
                    model.domain.longest(),
                    model.domain.alphabet.frozen(),
                    &mut sink,
                );
                answers.finish(|| place_of(sequence.is_empty(), || sequence.place(0)))?;
            }
            Ok(())
        })
    }

    /// Loads an instance of attributes.
    pub fn load_attributes(&mut self, instance: &Attributes) -> Result<&mut ChainAnswers> {
        self.with_parts(|model, tables, observer, answers| {
            let place = || place_of(instance.is_empty(), || instance.place(0));
            model.domain.check_attributes(place)?;
            let mut sink = Potentials::new(model, tables, instance.len(), answers);
            numbers_of_attributes(instance, |numbers| sink.multiply(&model.domain, numbers))?;
            observer.attributes(instance, &model.domain.alphabet, &mut sink);
            answers.finish(place)
        })
    }
}
