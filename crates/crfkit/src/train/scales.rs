//! The sizes of features in training: factors that multiply the features, and are undone in the weights.

use crate::Result;
use crate::data::dataset::Dataset;
use crate::data::dense::{FAR_FROM_ZERO, are_far_from_zero};
use crate::domain::Domain;
use crate::graph::Graph;
use crate::model::{Features, Rows};
use crate::settings::{Scaling, Settings};
use std::ops::Range;

/// The scaling of the features of every kind of table. A model trained on features s·(h − m) becomes one for features h when its
/// weights are multiplied by s, and the weight of the constant feature makes up for m: θᵀh + c = (θ/s)ᵀ(s·(h − m)) + (c + θᵀm). The
/// prior acts on θ/s and on c + θᵀm.
pub(super) struct Scales(Vec<Kind>);

/// The scaling of the features of one kind of table.
struct Kind {
    scales: Vec<Scale>,
    /// A feature that all tables have with the value 1.
    constant: Option<usize>,
}

/// The scaling of one feature: x becomes (x − mean)·factor.
#[derive(Clone, Copy, PartialEq)]
struct Scale {
    factor: f64,
    /// The number subtracted; 0 if no constant feature can make up for it.
    mean: f64,
}

const AS_IT_IS: Scale = Scale { factor: 1.0, mean: 0.0 };

/// The largest factor. Weights are multiplied by it, and the file of a model holds none above 1e100.
const LARGEST: f64 = 1e80;

/// The values of one feature that are not 0, as shares of the largest, so that nothing overflows.
#[derive(Clone, Copy, Default)]
struct Values {
    count: f64,
    largest: f64,
    sum: f64,
    squares: f64,
    /// Σ (x − mean)².
    spread: f64,
}

impl Values {
    fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// The factor that brings the root mean square of numbers with these squares to 1.
    fn factor(&self, squares: f64) -> f64 {
        let factor = 1.0 / (self.largest * (squares / self.count).sqrt());
        // Without values, or for ones so small that a model could not hold the weight, there is nothing to gain.
        if factor < LARGEST { factor } else { 1.0 }
    }

    /// Whether all of `tables` have this feature, with the value 1.
    fn is_constant(&self, tables: f64) -> bool {
        self.largest == 1.0 && self.count == tables && self.sum == tables
    }

    /// Its scaling among tables that have a constant feature or not.
    fn scale(&self, tables: f64, constant: bool) -> Scale {
        let (mean, deviation) = (self.mean(), (self.spread / self.count).sqrt());
        match constant && self.count == tables && are_far_from_zero(mean, deviation, FAR_FROM_ZERO) {
            true => Scale { factor: self.factor(self.spread), mean: mean * self.largest },
            false => Scale { factor: self.factor(self.squares), mean: 0.0 },
        }
    }
}

impl Scales {
    /// The scaling for these data; `None` if all stays as it is. A factor is that of the domain for the kind of table, times
    /// that of [`Scaling::Unit`] for the feature.
    pub(crate) fn new<D: Domain>(
        domain: &D,
        data: &Dataset<D::Graph>,
        features: &Features,
        settings: &Settings,
    ) -> Result<Option<Scales>> {
        let kinds = domain.scales(settings)?;
        let all_ones = !data.has_values() && data.dense().is_empty();
        if kinds.is_none() && (settings.scaling == Scaling::None || all_ones) {
            return Ok(None);
        }
        let as_they_are = |rows: &Rows| Kind { scales: vec![AS_IT_IS; rows.len], constant: None };
        let mut all: Vec<Kind> = match settings.scaling {
            // Iterative scaling needs features that are not negative.
            Scaling::Unit => units(data, features, !settings.optimizer.needs_counts()),
            Scaling::None => features.rows.iter().map(as_they_are).collect(),
        };
        for (kind, of_domain) in all.iter_mut().zip(kinds.iter().flatten()) {
            kind.scales.iter_mut().for_each(|scale| scale.factor *= of_domain);
        }
        let some = all.iter().flat_map(|kind| &kind.scales).any(|scale| *scale != AS_IT_IS);
        Ok(some.then_some(Scales(all)))
    }

    /// Scales the features of the training examples.
    pub(crate) fn scale<G: Graph>(&self, data: &mut Dataset<G>) {
        data.change_values(|kind, id, x| match self.0[kind].scales.get(id as usize) {
            Some(scale) => (x - scale.mean) * scale.factor,
            None => x,
        });
    }

    /// Weights for features as they are, from weights for scaled features. Does nothing where there are no weights.
    pub(crate) fn undo(&self, theta: &mut [f64], features: &Features) {
        if theta.is_empty() {
            return;
        }
        for (rows, kind) in features.rows.iter().zip(&self.0) {
            for (row, scale) in kind.changes(rows) {
                theta[row].iter_mut().for_each(|weight| *weight *= scale.factor);
            }
            kind.move_constant(theta, rows, -1.0);
        }
    }

    /// Weights for scaled features, from weights for features as they are. Does nothing where there are no weights.
    pub(crate) fn apply(&self, theta: &mut [f64], features: &Features) {
        if theta.is_empty() {
            return;
        }
        for (rows, kind) in features.rows.iter().zip(&self.0) {
            kind.move_constant(theta, rows, 1.0);
            for (row, scale) in kind.changes(rows) {
                theta[row].iter_mut().for_each(|weight| *weight /= scale.factor);
            }
        }
    }
}

impl Kind {
    /// The rows of the features that are scaled, with their scaling.
    fn changes<'a>(&'a self, rows: &'a Rows) -> impl Iterator<Item = (Range<usize>, &'a Scale)> {
        let changed = self.scales.iter().enumerate().filter(|(_, scale)| **scale != AS_IT_IS);
        changed.map(|(row, scale)| (rows.range(row as u32), scale))
    }

    /// Adds the weights of all features, each times its mean and `sign`, to those of the constant.
    fn move_constant(&self, theta: &mut [f64], rows: &Rows, sign: f64) {
        let Some(constant) = self.constant else { return };
        for (row, scale) in self.changes(rows).filter(|(_, scale)| scale.mean != 0.0) {
            let pairs = rows.range(constant as u32).zip(row);
            pairs.for_each(|(c, weight)| theta[c] += sign * scale.mean * theta[weight]);
        }
    }
}

/// The scaling that brings the root mean square of each feature to 1, or, if they may be `centred`, of its distance from the mean where that
/// is far from 0.
fn units<G: Graph>(data: &Dataset<G>, features: &Features, centred: bool) -> Vec<Kind> {
    let mut values: Vec<Vec<Values>> =
        features.rows.iter().map(|rows| vec![Values::default(); rows.len]).collect();
    each_value(data, |kind, id, x| {
        if let Some(of) = values[kind].get_mut(id) {
            of.largest = of.largest.max(x.abs());
        }
    });
    each_value(data, |kind, id, x| {
        if let Some(of) = values[kind].get_mut(id) {
            of.count += 1.0;
            of.sum += x / of.largest;
            of.squares += (x / of.largest).powi(2);
        }
    });
    each_value(data, |kind, id, x| {
        if let Some(of) = values[kind].get_mut(id) {
            let distance = x / of.largest - of.mean();
            of.spread += distance * distance;
        }
    });
    let tables = tables_of_kinds(data, features.rows.len());
    let kinds = values.iter().zip(&features.rows).zip(tables).map(|((values, rows), tables)| {
        let complete = |row: usize| rows.range(row as u32).len() == rows.width();
        let is_constant = |row: &usize| centred && values[*row].is_constant(tables) && complete(*row);
        let constant = (0..values.len()).find(is_constant);
        let scale = |(row, of): (usize, &Values)| of.scale(tables, constant.is_some() && complete(row));
        Kind { scales: values.iter().enumerate().map(scale).collect(), constant }
    });
    kinds.collect()
}

/// The number of tables of each kind.
fn tables_of_kinds<G: Graph>(data: &Dataset<G>, kinds: usize) -> Vec<f64> {
    let mut tables = vec![0.0; kinds];
    for example in 0..data.len() {
        let graph = data.graph(example);
        (0..data.tables(example).len()).for_each(|f| tables[graph.own_kind(f)] += 1.0);
    }
    tables
}

/// Calls `visit` with kind, number and value of every observation whose value is stored and not 0.
fn each_value<G: Graph>(data: &Dataset<G>, mut visit: impl FnMut(usize, usize, f64)) {
    for example in 0..data.len() {
        let graph = data.graph(example);
        for (f, table) in data.tables(example).enumerate() {
            let (ids, values) = data.observations(table);
            let known = ids.iter().zip(values).filter(|(_, x)| **x != 0.0);
            known.for_each(|(&id, &x)| visit(graph.own_kind(f), id as usize, x));
        }
    }
    for dense in data.dense() {
        for row in dense.values().chunks_exact(dense.width()) {
            let known = row.iter().enumerate().filter(|(_, x)| **x != 0.0);
            known.for_each(|(id, &x)| visit(dense.kind(), id, x.into()));
        }
    }
}
