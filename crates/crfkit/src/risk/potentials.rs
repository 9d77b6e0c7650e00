//! ψ = A θ for one example.

use crate::data::dataset::Dataset;
use crate::graph::{Graph, NODES};
use crate::math::product::RowsOf;
use crate::math::{Array, Real, Scalar};
use crate::model::{Dense, DenseWeights, Features};

/// Computes the log-potentials of one example. Overwrites `own`.
pub fn potentials(
    features: &Features,
    data: &Dataset<impl Graph>,
    example: usize,
    theta: &[f64],
    own: &mut Array<f64>,
) {
    let weights = match data.dense() {
        [] => DenseWeights::default(),
        _ => DenseWeights::of(features, theta),
    };
    potentials_with(features, data, example, (theta, &weights), own);
}

/// Like [`potentials`], with the weights of dense rows as matrices.
pub(crate) fn potentials_with(
    features: &Features,
    data: &Dataset<impl Graph>,
    example: usize,
    (theta, weights): (&[f64], &DenseWeights),
    own: &mut Array<f64>,
) {
    let mut tables = Vec::new();
    start(data, example, own);
    for dense in data.dense() {
        tables.clear();
        dense.add_tables(data.graph(example), 0, &mut tables);
        let (rows, w) = (&features.rows[dense.kind()], weights.matrix(dense.kind(), 0));
        let x = RowsOf { values: dense.of(example), width: dense.width(), tables: &tables };
        rows.add_products(x, w, own.plane_mut(0));
    }
    add(features, data, example, theta, own);
}

/// Sets the log-potentials of an example to 0.
pub(super) fn start<S: Scalar>(data: &Dataset<impl Graph>, example: usize, own: &mut Array<S>) {
    let graph = data.graph(example);
    let len = graph.own_len();
    own.reserve(len);
    for plane in 0..S::PLANES {
        clear(graph, plane, &mut own.plane_mut(plane)[..len]);
    }
}

/// Sets one plane of a graph's log-potentials to 0.
pub(super) fn clear(graph: &impl Graph, plane: usize, psi: &mut [f64]) {
    match plane {
        0 => graph.clear_own(psi),
        _ => psi.fill(0.0),
    }
}

/// Which rows are added to ψ of one example, and how. Rows are numbered by frequency.
#[derive(Clone, Copy)]
pub(super) struct Gather<'a, R> {
    /// The most frequent rows, spread out.
    pub dense: &'a Dense<R>,
    /// Node rows from this number on are left to the [links](super::links::Links).
    pub rare: u32,
}

impl<R: Real> Gather<'_, R> {
    /// Adds the weights of the observations of an example, except dense ones, to one plane of its log-potentials.
    pub(crate) fn add(
        &self,
        features: &Features,
        data: &Dataset<impl Graph>,
        example: usize,
        (plane, theta): (usize, &[f64]),
        psi: &mut [R],
    ) {
        if data.occurrences() == 0 {
            return;
        }
        let graph = data.graph(example);
        let spread = self.dense.rows().min(self.rare);
        let tables = || data.tables(example).enumerate();
        if spread > 0 {
            let nodes = tables().filter(|(f, _)| graph.own_kind(*f) == NODES);
            let nodes = nodes.map(|(f, table)| (data.observations(table).0, graph.own_offset(f)));
            self.dense.add(plane, nodes, psi);
            if spread == self.rare && features.rows[NODES + 1..].iter().all(|rows| rows.len == 0) {
                return;
            }
        }
        for (f, table) in tables() {
            let kind = graph.own_kind(f);
            let rows = &features.rows[kind];
            let psi = &mut psi[graph.own_offset(f)..][..graph.own_size(f)];
            let (observations, values) = data.observations(table);
            let mine = if kind == NODES { spread..self.rare } else { 0..u32::MAX };
            for (k, &id) in observations.iter().enumerate().filter(|(_, id)| mine.contains(id)) {
                rows.gather(theta, id, values.get(k).copied().unwrap_or(1.0), psi);
            }
        }
    }
}

/// Adds the weights of all observations of an example, except dense ones, to its log-potentials.
pub(super) fn add(
    features: &Features,
    data: &Dataset<impl Graph>,
    example: usize,
    theta: &[f64],
    own: &mut Array<f64>,
) {
    let len = data.graph(example).own_len();
    let all = Gather { dense: &Dense::default(), rare: u32::MAX };
    all.add(features, data, example, (0, theta), &mut own.plane_mut(0)[..len]);
}

/// Rows that occur fewer times than this are not worth spreading out in each pass.
const DENSE_COUNT: u32 = 8;
/// Rows that occur fewer times than this are rare: links are faster than spreading them out.
const RARE: u32 = 16;
/// The largest size in bytes of the spread-out rows: they should stay in the caches.
const DENSE_BYTES: usize = 1 << 22;

/// How often each of the first `rows` node rows occurs.
fn counts(data: &Dataset<impl Graph>, rows: usize) -> Vec<u32> {
    let mut counts = vec![0u32; rows];
    for example in 0..data.len() {
        let graph = data.graph(example);
        for (_, table) in data.tables(example).enumerate().filter(|(f, _)| graph.own_kind(*f) == NODES) {
            for &id in data.observations(table).0 {
                if let Some(count) = counts.get_mut(id as usize) {
                    *count += 1;
                }
            }
        }
    }
    counts
}

/// How many of the first node rows are worth spreading out.
pub(super) fn dense_rows<R: Real>(features: &Features, data: &Dataset<impl Graph>) -> usize {
    if data.has_values() {
        return 0;
    }
    let counts = counts(data, Dense::<R>::fitting(&features.rows[NODES], DENSE_BYTES));
    // The rows of a matrix are not among the observations that are counted.
    let matrix = features.rows[NODES].dense.min(counts.len());
    worth_spreading(&counts[matrix..]).map_or(0, |rows| matrix + rows)
}

/// The number of rows, from the first, that save the most additions if they are spread out, by how often each occurs. Rows are ordered by how often
/// they were seen, even with the value 0, which is not an occurrence here: so a rare row may come before frequent ones.
fn worth_spreading(counts: &[u32]) -> Option<usize> {
    let (mut saved, mut best) = (0, None);
    for (rows, &count) in (1..).zip(counts) {
        saved += i64::from(count) - i64::from(DENSE_COUNT);
        if saved >= best.map_or(0, |(most, _)| most) {
            best = Some((saved, rows));
        }
    }
    best.map(|(_, rows)| rows)
}

/// The first node row of those that are linked: all from there on are rare, and have a list of entries and no values. The largest number if there
/// are none.
pub(super) fn first_rare(features: &Features, data: &Dataset<impl Graph>) -> u32 {
    let rows = &features.rows[NODES];
    if rows.complete() || !rows.basis.is_empty() || data.has_values() {
        return u32::MAX;
    }
    let counts = counts(data, rows.len);
    let frequent = counts.iter().rposition(|&count| count >= RARE).map_or(0, |last| last + 1);
    frequent.max(rows.dense) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_row_does_not_hide_the_frequent_ones_behind_it() {
        assert_eq!(worth_spreading(&[900, 30, 8, 7, 1]), Some(3));
        assert_eq!(worth_spreading(&[900, 0, 300, 40, 1, 0, 9, 2]), Some(4));
        assert_eq!(worth_spreading(&[0, 900, 2]), Some(2));
        assert_eq!(worth_spreading(&[3, 2, 1]), None);
    }
}
