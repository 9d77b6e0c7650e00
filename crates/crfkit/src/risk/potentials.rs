//! ψ = A θ for one example.

use crate::data::dataset::Dataset;
use crate::graph::{Graph, NODES};
use crate::math::product::RowsOf;
use crate::math::{Array, Real, Scalar};
use crate::model::{Dense, DenseWeights, Features, Rows};

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
    add(features, data, example, &[theta], &Dense::default(), &mut Vec::new(), own);
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

/// An occurrence of a rare observation, located ahead of its use.
pub(super) struct Rare {
    /// The start of its table in ψ.
    offset: u32,
    /// The range of its weights, counted from the first row's first weight.
    start: u32,
    end: u32,
    /// The entry and the value of its first weight.
    entry: u32,
    weight: f64,
}

/// Adds the weights of the observations of an example, except dense ones, to its log-potentials, using rows that are spread out.
pub(super) fn add<S: Scalar>(
    features: &Features,
    data: &Dataset<impl Graph>,
    example: usize,
    theta: &[&[f64]],
    dense: &Dense,
    rare: &mut Vec<Rare>,
    own: &mut Array<S>,
) {
    let len = data.graph(example).own_len();
    for (plane, theta) in theta.iter().enumerate() {
        let psi = &mut own.plane_mut(plane)[..len];
        add_plane(features, data, example, (plane, theta), dense, rare, psi);
    }
}

/// The same for one plane, in numbers of any kind.
pub(super) fn add_plane<R: Real>(
    features: &Features,
    data: &Dataset<impl Graph>,
    example: usize,
    (plane, theta): (usize, &[f64]),
    dense: &Dense<R>,
    rare: &mut Vec<Rare>,
    psi: &mut [R],
) {
    let graph = data.graph(example);
    for (f, table) in data.tables(example).enumerate() {
        let kind = graph.own_kind(f);
        let rows = &features.rows[kind];
        let psi = &mut psi[graph.own_offset(f)..][..graph.own_size(f)];
        let (observations, values) = data.observations(table);
        if kind == NODES && values.is_empty() && dense.rows() > 0 {
            let limit = dense.rows();
            dense.add(plane, observations, psi);
            let offset = graph.own_offset(f);
            for &id in observations.iter().filter(|&&id| id >= limit) {
                match rows.complete() {
                    true => rows.gather(theta, id, 1.0, psi),
                    false => rare.extend(Rare::find(rows, theta, id, offset)),
                }
            }
        } else {
            for (k, &id) in observations.iter().enumerate() {
                rows.gather(theta, id, values.get(k).copied().unwrap_or(1.0), psi);
            }
        }
    }
    for occurrence in rare.drain(..) {
        occurrence.add(&features.rows[NODES], theta, psi);
    }
}

impl Rare {
    /// Reads where the weights of a row are, and the first of them; most rare observations have no other. Each of
    /// these reads misses the cache, but none depends on another row's, so they overlap.
    #[inline]
    fn find(rows: &Rows, theta: &[f64], id: u32, offset: usize) -> Option<Rare> {
        let (start, end) = (rows.start[id as usize], rows.start[id as usize + 1]);
        let entry = *rows.entry.get(start as usize)?;
        Some(Rare { offset: offset as u32, start, end, entry, weight: theta[rows.base + start as usize] })
    }

    #[inline]
    fn add<R: Real>(&self, rows: &Rows, theta: &[f64], psi: &mut [R]) {
        if self.start == self.end {
            return;
        }
        let table = &mut psi[self.offset as usize..];
        table[self.entry as usize] += R::of(self.weight);
        for k in self.start as usize + 1..self.end as usize {
            table[rows.entry[k] as usize] += R::of(theta[rows.base + k]);
        }
    }
}

/// Rows that occur fewer times than this are not worth spreading out in each pass.
const DENSE_COUNT: u32 = 8;
/// The largest size in bytes of the spread-out rows: they should stay in the caches.
const DENSE_BYTES: usize = 1 << 22;

/// How many of the first node rows are worth spreading out.
pub(super) fn dense_rows<R: Real>(features: &Features, data: &Dataset<impl Graph>) -> usize {
    let mut counts = vec![0u32; Dense::<R>::fitting(&features.rows[NODES], DENSE_BYTES)];
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
    // The rows of a matrix are not among the observations that are counted.
    let matrix = features.rows[NODES].dense.min(counts.len());
    if matrix == counts.len() {
        matrix
    } else {
        worth_spreading(&counts[matrix..]).map_or(0, |rows| matrix + rows)
    }
}

/// The number of rows, from the first, that save the most additions if they are spread out, by how often each occurs. Rows come by how often
/// they were seen, also with the value 0, which is no occurrence here: so a rare row may come before frequent ones.
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
