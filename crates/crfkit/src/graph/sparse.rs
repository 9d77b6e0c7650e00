//! A table whose exponential is 1 almost everywhere.

use super::Table;
use crate::math::{Array, Scalar, Slice, SliceMut, simd, simd::LANES};

/// The exponential of a square table in which most log-potentials are 0: M = c·1·1ᵀ + D, where D has entries only for
/// the pairs that have a weight. A product with M costs O(labels + pairs) instead of O(labels²). D is stored in
/// tiles: one label on one side, a vector of labels on the other. Only tiles that contain a pair are stored.
///
/// If a weight w is very negative, c + D cancels and the relative error is about 2⁻⁵²·e^−w. A line with a weight
/// below −12 is therefore multiplied densely.
#[derive(Clone, Debug)]
pub struct Sparse<S> {
    /// The positions of the pairs in the table, in ascending order.
    pub(crate) entries: Vec<u32>,
    /// The log-potentials and exp(log − shift) of the pairs, then of a pair without a weight, then of `shift` itself.
    log: Array<S>,
    exp: Array<S>,
    /// Tiles along columns, for products from the left.
    columns: Tiles<S>,
    /// Tiles along rows, for products from the right.
    rows: Tiles<S>,
}

/// e^12·2⁻⁵² ≈ 4e-11: the largest relative error of a sparse product.
const DENSE_BELOW: f64 = -12.0;

/// The tiles of D for one direction. Output labels come in vectors ("blocks"), input labels one by one.
#[derive(Clone, Debug)]
struct Tiles<S> {
    /// The first tile of each block, and the end.
    start: Vec<u32>,
    /// The input label of each tile.
    across: Vec<u32>,
    /// exp(w − shift) − c, one vector per tile; 0 where there is no pair.
    d: Array<S>,
    /// The position of each pair in `d`.
    place: Vec<u32>,
    /// Output labels that are multiplied densely.
    dense: Vec<u32>,
}

impl<S: Scalar> Sparse<S> {
    /// The structure for `entries` (ascending positions in a table whose rows have length `stride`);
    /// [`Sparse::update`] fills in the values.
    pub fn new(entries: &[u32], stride: usize) -> Self {
        let log = Array::zeros(simd::padded(entries.len() + 2));
        Sparse {
            entries: entries.to_vec(),
            exp: log.clone(),
            log,
            columns: Tiles::new(entries, stride, |i, j| (j, i)),
            rows: Tiles::new(entries, stride, |i, j| (i, j)),
        }
    }

    /// The smallest and the largest log-potential, with 0 included.
    pub(crate) fn range(&self, log: &Array<S>) -> (f64, f64) {
        let log = log.plane(0);
        let wider = |(low, high): (f64, f64), x: f64| (low.min(x), high.max(x));
        self.entries.iter().map(|&entry| log[entry as usize]).fold((0.0, 0.0), wider)
    }

    /// Updates D from the table's `log`. No pair may have a log-potential above `shift`.
    pub(crate) fn update(&mut self, log: &Array<S>, stride: usize, shift: f64) {
        let (pairs, len) = (self.entries.len(), self.log.len());
        for (k, &entry) in self.entries.iter().enumerate() {
            self.log.set(k, log.get(entry as usize));
        }
        self.log.slice_mut(pairs..len).fill(simd::PAD);
        self.log.set(pairs, S::lift(0.0));
        self.log.set(pairs + 1, S::lift(shift)); // the largest: what the exponentials are shifted by
        S::exp_rows(self.log.slice(0..len), pairs + 2, &mut [0.0], self.exp.slice_mut(0..len));
        let constant = self.constant();
        let out = [|e: u32, stride: u32| e % stride, |e: u32, stride: u32| e / stride];
        for (tiles, out) in [&mut self.columns, &mut self.rows].into_iter().zip(out) {
            tiles.dense.clear();
            for (k, (&entry, &place)) in self.entries.iter().zip(&tiles.place).enumerate() {
                tiles.d.set(place as usize, self.exp.get(k) - constant);
                if self.log.get(k).re() < DENSE_BELOW {
                    tiles.dense.push(out(entry, stride as u32));
                }
            }
            tiles.dense.sort_unstable();
            tiles.dense.dedup();
        }
    }

    /// exp(log − shift) of the pairs, in the order of `entries`.
    pub(crate) fn exponentials(&self) -> Slice<'_, S> {
        self.exp.slice(0..self.entries.len())
    }

    /// The log-potentials of the pairs, in the order of `entries`.
    pub(crate) fn logarithms(&self) -> Slice<'_, S> {
        self.log.slice(0..self.entries.len())
    }

    /// c = exp(0 − shift).
    pub(crate) fn constant(&self) -> S {
        self.exp.get(self.entries.len())
    }

    /// out ← a M.
    pub fn from_left(&self, table: &Table<S>, a: Slice<S>, out: SliceMut<S>) {
        // Row j of the transpose is column j of M.
        self.columns.product(self.constant(), &table.exp_t, table, a, out);
    }

    /// out ← M g.
    pub fn from_right(&self, table: &Table<S>, g: Slice<S>, out: SliceMut<S>) {
        self.rows.product(self.constant(), &table.exp, table, g, out);
    }

    /// Length of the array that [`Sparse::outer_add`] needs.
    pub(crate) fn sums(&self) -> usize {
        self.columns.d.len()
    }

    /// sums ← sums + `weight · Σ_t a[t][i] · g[t][j]` over the pairs (i, j), tile by tile.
    pub(crate) fn outer_add(&self, weight: f64, a: Slice<S>, g: Slice<S>, stride: usize, sums: SliceMut<S>) {
        S::outer_add_tiles(weight, a, g, stride, (&self.columns.start, &self.columns.across), sums);
    }

    /// The place of each pair in the array of [`Sparse::outer_add`], in the order of `entries`.
    pub(crate) fn places(&self) -> &Vec<u32> {
        &self.columns.place
    }

    /// `direct[i][j] += sums · M[i][j]` over the pairs, then sums ← 0.
    pub(crate) fn finish(&self, sums: &mut Array<S>, direct: &mut Array<S>) {
        for (k, (&entry, &place)) in self.entries.iter().zip(&self.columns.place).enumerate() {
            direct.add(entry as usize, sums.get(place as usize) * self.exp.get(k));
        }
        sums.reset(self.sums(), 0.0);
    }
}

impl<S: Scalar> Tiles<S> {
    /// `turn` maps (row, column) to (output, input).
    fn new(entries: &[u32], stride: usize, turn: impl Fn(u32, u32) -> (u32, u32)) -> Self {
        let lanes = LANES as u32;
        // (block, input label, lane, number): after sorting, the pairs of a tile are adjacent.
        let mut pairs: Vec<(u32, u32, u32, usize)> = entries
            .iter()
            .enumerate()
            .map(|(k, &entry)| {
                let (out, across) = turn(entry / stride as u32, entry % stride as u32);
                (out / lanes, across, out % lanes, k)
            })
            .collect();
        pairs.sort_unstable();
        let blocks = stride / LANES;
        let mut tiles = Tiles {
            start: vec![0; blocks + 1],
            across: Vec::new(),
            d: Array::default(),
            place: vec![0; pairs.len()],
            dense: Vec::new(),
        };
        let mut last = None;
        for (block, across, lane, k) in pairs {
            if last != Some((block, across)) {
                last = Some((block, across));
                tiles.across.push(across);
                tiles.start[block as usize + 1] += 1;
            }
            tiles.place[k] = (tiles.across.len() as u32 - 1) * lanes + lane;
        }
        for block in 0..blocks {
            tiles.start[block + 1] += tiles.start[block];
        }
        tiles.d = Array::zeros(tiles.across.len() * LANES);
        tiles
    }

    /// out[o] ← Σ_i M[o][i] · x[i]; `m` holds M densely, one output label after another.
    fn product(&self, constant: S, m: &Array<S>, table: &Table<S>, x: Slice<S>, mut out: SliceMut<S>) {
        let labels = table.labels;
        let mut sum = S::lift(0.0);
        for i in 0..labels {
            sum += x.at(i);
        }
        let d = self.d.slice(0..self.d.len());
        S::tile_product(sum * constant, x, (&self.start, &self.across), d, out.part(0..table.stride));
        for &line in &self.dense {
            let row = m.slice(line as usize * table.stride..line as usize * table.stride + labels);
            let mut y = S::lift(0.0);
            for i in 0..labels {
                y += row.at(i) * x.at(i);
            }
            out.set(line as usize, y);
        }
        for pad in labels..table.stride {
            out.set(pad, S::lift(0.0));
        }
    }
}
