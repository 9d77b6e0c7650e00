//! The weights that a block of examples uses, one after another.
//!
//! Most rows have few weights, and a processor cannot foretell how many: a loop over the weights of each row takes longer than the additions in it. So
//! the weights of all rows are listed first, each with its place in ψ. One loop over the list then moves θ to ψ, and another one dψ to the
//! gradient. A row that occurs several times has a place behind ψ, from which it is added to its tables.

use super::occurrences::Occurrences;
use crate::math::{Real, simd};
use crate::model::{Features, Rows};
use crate::optim::Row;
use std::ops::Range;

/// The weights of a block, and where they go.
#[derive(Default)]
pub(super) struct Flat {
    /// The rows of the block, in ascending order; dense rows come first in each kind.
    pub rows: Vec<Row>,
    /// The weights of rows that do not have all entries, and their places in ψ or behind it. Only the first `len` count.
    weights: Vec<u32>,
    places: Vec<u32>,
    len: usize,
    /// The end of the list of each kind.
    ends: Vec<usize>,
    /// The rows that have a place behind ψ.
    repeated: Vec<Repeated>,
    /// The length of ψ, and with what is behind it.
    own_len: usize,
    end: usize,
}

/// A row that occurs several times or with a value.
struct Repeated {
    kind: u32,
    /// Its position among the occurrences.
    position: u32,
    /// Where it is: a whole table, or only its weights.
    start: u32,
    whole: bool,
    /// Its weights, as a range of the list.
    first: u32,
    len: u32,
}

/// The number of weights that are listed at once.
const EIGHT: usize = 8;

impl Flat {
    /// Lists the weights of a block whose ψ has a length of `own_len`.
    pub(crate) fn list(&mut self, features: &Features, of: &Occurrences, own_len: usize) {
        self.rows.clear();
        self.repeated.clear();
        self.ends.clear();
        (self.len, self.own_len, self.end) = (0, own_len, own_len);
        let (mut place, mut position) = (0, 0);
        for (kind, rows) in features.rows.iter().enumerate() {
            let first = features.first_row(kind) as u32;
            for row in 0..rows.dense as u32 {
                let weights = rows.range(row);
                place += weights.len();
                self.rows.push(Row::new(first + row, weights.clone(), place - weights.len()));
            }
            let positions = position..of.end_of(features, kind);
            position = positions.end;
            let before = self.rows.len();
            let starts = &*rows.start;
            self.rows.extend(of.rows[positions.clone()].iter().map(|&row| {
                let weights = match starts.get((row - first) as usize..) {
                    Some([start, end, ..]) => rows.base + *start as usize..rows.base + *end as usize,
                    _ => rows.range(row - first),
                };
                place += weights.len();
                Row::new(row, weights.clone(), place - weights.len())
            }));
            if !rows.complete() {
                self.list_kind(rows, kind, (of, positions), before);
            }
            self.ends.push(self.len);
        }
    }

    /// Lists the weights of the rows of a kind that are at these positions of the occurrences, and from `before` on in the list of rows.
    fn list_kind(
        &mut self,
        rows: &Rows,
        kind: usize,
        (of, positions): (&Occurrences, Range<usize>),
        before: usize,
    ) {
        let entries = &*rows.entry;
        let mine = &self.rows[before..];
        let weights: usize = mine.iter().map(|row| row.weights().len()).sum();
        self.weights.resize((self.len + weights + EIGHT).max(self.weights.len()), 0);
        self.places.resize(self.weights.len(), 0);
        // Reads the beginnings of all rows first: these reads overlap, those below wait for one another.
        let touch = |sum: u32, row: &Row| {
            sum.wrapping_add(entries.get(row.weights().start - rows.base).copied().unwrap_or(0))
        };
        std::hint::black_box(mine.iter().fold(0, touch));
        let (weights, places) = (&mut self.weights[..], &mut self.places[..]);
        let (mut listed, mut end) = (self.len, self.end);
        let firsts = of.first[positions.start..=positions.end].windows(2);
        for ((row, position), first) in mine.iter().zip(positions).zip(firsts) {
            let (start, len) = (row.weights().start as u32, row.weights().len());
            let (mut at, mut whole) = (of.tables[first[0] as usize], true);
            if first[1] - first[0] > 1 || !of.values.is_empty() {
                whole = of.values.is_empty() && rows.lines == 1 && len * simd::LANES >= rows.stride();
                at = end as u32;
                end += if whole { rows.size() } else { len };
                let (position, first, len) = (position as u32, listed as u32, len as u32);
                self.repeated.push(Repeated { kind: kind as u32, position, start: at, whole, first, len });
            }
            let entries = &entries[start as usize - rows.base..];
            for k in (0..len).step_by(EIGHT) {
                let (weights, places) = (&mut weights[listed + k..], &mut places[listed + k..]);
                // What is written beyond the row is overwritten by the next one.
                let numbers: [u32; EIGHT] = std::array::from_fn(|j| k as u32 + j as u32);
                if let Some(weights) = weights.first_chunk_mut() {
                    *weights = numbers.map(|number| start + number);
                }
                let Some(places) = places.first_chunk_mut::<EIGHT>() else { continue };
                if !whole {
                    *places = numbers.map(|number| at + number);
                } else if let Some(entries) = entries[k..].first_chunk::<EIGHT>() {
                    places.iter_mut().zip(entries).for_each(|(place, entry)| *place = at + entry);
                } else {
                    places.iter_mut().zip(&entries[k..]).for_each(|(place, entry)| *place = at + entry);
                }
            }
            listed += len;
        }
        (self.len, self.end) = (listed, end);
    }

    /// The length of ψ and of what is behind it.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// The end of a kind's weights in the list.
    pub(crate) fn listed(&self, kind: usize) -> usize {
        self.ends[kind]
    }

    /// ψ ← ψ + the weights of every listed row at its occurrences: the transpose of [`Flat::project`]. `psi` has room behind it, up to
    /// [`Flat::end`]; `table` is scratch memory.
    pub(crate) fn spread<R: Real>(
        &self,
        features: &Features,
        of: &Occurrences,
        theta: &[f64],
        table: &mut [f64],
        psi: &mut [R],
    ) {
        psi[self.own_len..].fill(R::of(0.0));
        for (&weight, &place) in self.weights[..self.len].iter().zip(&self.places[..self.len]) {
            psi[place as usize] += R::of(theta[weight as usize]);
        }
        let (psi, behind) = psi.split_at_mut(self.own_len);
        for row in &self.repeated {
            let rows = &features.rows[row.kind as usize];
            let (tables, values) = of.of(row.position as usize);
            let sum = &behind[row.start as usize - self.own_len..];
            if row.whole {
                let table = &mut table[..rows.size()];
                table.iter_mut().zip(sum).for_each(|(table, x)| *table = (*x).into());
                R::add_to_tables(table, tables, &[], psi);
            } else {
                for (k, &at) in tables.iter().enumerate() {
                    let value = values.get(k).copied().unwrap_or(1.0);
                    for (&entry, x) in self.entries(rows, row).iter().zip(sum) {
                        psi[(at + entry) as usize] += R::of(value * (*x).into());
                    }
                }
            }
        }
    }

    /// The entries of a repeated row.
    fn entries<'r>(&self, rows: &'r Rows, row: &Repeated) -> &'r [u32] {
        let first = self.weights[row.first as usize] as usize - rows.base;
        &rows.entry[first..first + row.len as usize]
    }

    /// Prepares [`Flat::take`]: fills what is behind dψ with the sums of repeated rows.
    pub(crate) fn sum(&self, features: &Features, of: &Occurrences, dpsi: &mut [f64]) {
        let (dpsi, behind) = dpsi.split_at_mut(self.own_len);
        for row in &self.repeated {
            let rows = &features.rows[row.kind as usize];
            let (tables, values) = of.of(row.position as usize);
            let sum = &mut behind[row.start as usize - self.own_len..];
            if row.whole {
                simd::sum_tables(dpsi, tables, &mut sum[..rows.size()]);
            } else {
                for (sum, &entry) in sum.iter_mut().zip(self.entries(rows, row)) {
                    let value = |k: usize| values.get(k).copied().unwrap_or(1.0);
                    let of_tables =
                        tables.iter().enumerate().map(|(k, &at)| value(k) * dpsi[(at + entry) as usize]);
                    *sum = of_tables.sum();
                }
            }
        }
    }

    /// Appends dψ at the places of some listed weights; see [`Flat::sum`].
    pub(crate) fn take(&self, listed: Range<usize>, dpsi: &[f64], out: &mut Vec<f64>) {
        out.extend(self.places[listed].iter().map(|&place| dpsi[place as usize]));
    }
}
