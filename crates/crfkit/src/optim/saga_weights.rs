//! The weights of [`super::Saga`], and how they follow the stored residuals.

use super::blocks::Blocks;
use super::restored::{Restored, finite, positive};
use super::{Prior, Problem, Row, State};
use crate::Result;
use crate::math::dispatch::dispatch;
use crate::math::simd;
use fearless_simd::{f64x8, prelude::*};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A row that is used this often (times σ²) counts as frequent.
const FREQUENT: f64 = 30.0;
/// The smallest damping factor that a frequent row gets.
const LEAST: f64 = 0.2;
/// The variance of an indicator, on average over tokens whose labels are mostly clear.
const BEND: f64 = 0.003;
/// If a round has raised the objective, all weights move by this share from then on.
const HALVE: f64 = 0.5;
/// The number of stretches of θ.
const STRETCHES: usize = 8;

/// The number of weights that move at once.
const EIGHT: usize = 8;
/// The number of rows that are prefetched at once.
const AT_ONCE: usize = 64;
/// Ones for so many weights, and zeros for the rest.
const MASKS: [[f64; EIGHT]; EIGHT + 1] = {
    let mut masks = [[0.0; EIGHT]; EIGHT + 1];
    let mut i = 0;
    while i < EIGHT * EIGHT {
        if i % EIGHT <= i / EIGHT {
            masks[i / EIGHT + 1][i % EIGHT] = 1.0;
        }
        i += 1;
    }
    masks
};

/// The change of the gradient that a visit finds, by rows.
#[derive(Default)]
pub(super) struct Change {
    pub rows: Vec<Row>,
    pub values: Vec<f64>,
}

/// The weights θ and the gradient d of the losses, as the stored residuals give it.
pub(super) struct Weights {
    pub theta: Vec<f64>,
    /// z, of which θ is made if there is an L1 penalty; otherwise empty, and θ itself is z.
    free: Vec<f64>,
    /// d.
    drift: Vec<f64>,
    rows: Vec<Damped>,
    /// The weights of each row.
    ranges: Vec<[u32; 2]>,
    /// The factor of all D.
    damping: f64,
    /// The ends of the stretches of θ, which threads move independently; none is inside a row.
    stretches: Vec<usize>,
}

/// The damping D of a row. Rows are visited in random order, so this is as small as it can be.
#[derive(Clone, Copy, Default)]
struct Damped {
    /// σ²D.
    step: f32,
    /// D/N.
    share: f32,
}

/// How a row is used.
#[derive(Clone, Copy, Default)]
struct Use {
    /// Its weights.
    start: u32,
    len: u32,
    /// How often, and by how many blocks.
    uses: f64,
    blocks: f64,
}

/// How all rows are used.
fn uses(blocks: &dyn Blocks) -> Vec<Use> {
    let mut rows = vec![Use::default(); blocks.rows()];
    for block in 0..blocks.len() {
        blocks.for_each_row(block, &mut |row, uses| {
            let of = &mut rows[row.row as usize];
            (of.start, of.len) = (row.weights().start as u32, row.weights().len() as u32);
            of.uses += uses;
            of.blocks += 1.0;
        });
    }
    rows
}

impl Use {
    /// The damping of the row, where a step visits `lanes` blocks.
    fn damped(&self, prior: &Prior, lanes: usize) -> Damped {
        if self.blocks == 0.0 {
            return Damped::default();
        }
        let variance = prior.variance(self.start as usize);
        let often = (1.0 + variance * self.uses / FREQUENT).sqrt().recip().max(LEAST);
        let in_step = self.uses / self.blocks * lanes as f64;
        let damping = often / (1.0 + BEND * variance * (in_step - 1.0).max(0.0));
        Damped { step: at_most(variance * damping), share: at_most(damping / self.blocks) }
    }

    /// The work that it makes: its weights and a little more, times the number of blocks that touch them.
    fn work(&self) -> f64 {
        (f64::from(self.len) + 4.0) * self.blocks
    }
}

impl Weights {
    /// The weights of a run whose steps visit `lanes` blocks.
    pub(crate) fn new(
        problem: &Problem,
        blocks: &dyn Blocks,
        lanes: usize,
        state: &mut Restored,
    ) -> Result<Self> {
        let dim = problem.objective.dim();
        let uses = uses(blocks);
        let rows = uses.iter().map(|of| of.damped(&problem.prior, lanes)).collect();
        let ranges = uses.iter().map(|of| [of.start, of.start + of.len]).collect();
        // Stretches of about equal work.
        let all: f64 = uses.iter().map(Use::work).sum();
        let (mut stretches, mut sum) = (Vec::new(), 0.0);
        for of in uses.iter().filter(|of| of.len > 0) {
            if sum * STRETCHES as f64 >= (stretches.len() + 1) as f64 * all && stretches.len() + 1 < STRETCHES
            {
                stretches.push(of.start as usize);
            }
            sum += of.work();
        }
        stretches.push(dim);
        let free = match problem.l1 > 0.0 {
            false => Vec::new(),
            true if state.resumed() => state.vector("free", dim, 0.0, finite)?,
            true => {
                let bound = |i: usize| problem.l1 * problem.prior.variance(i);
                let before = |(i, x): (usize, &f64)| if *x == 0.0 { 0.0 } else { x + bound(i) * x.signum() };
                state.theta().iter().enumerate().map(before).collect()
            }
        };
        let drift = state.vector("drift", dim, 0.0, finite)?;
        let damping = state.number("damping", 1.0, positive)?;
        Ok(Weights { theta: state.take_theta(), free, drift, rows, ranges, damping, stretches })
    }

    /// Adds all but θ to the state of a run.
    pub(crate) fn save(&self, state: &mut State) {
        state.vectors.insert("drift".into(), self.drift.clone());
        if !self.free.is_empty() {
            state.vectors.insert("free".into(), self.free.clone());
        }
        state.numbers.insert("damping".into(), self.damping);
    }

    /// σ²D of a row at the beginning of the run.
    pub(crate) fn first_step(&self, row: usize) -> f64 {
        self.rows[row].step.into()
    }

    /// Halves every D.
    pub(crate) fn halve(&mut self) {
        self.damping *= HALVE;
    }

    /// How much the penalties are above the least that they and ⟨d, θ⟩ can be together, with the part of each row reduced by its D at the
    /// beginning of the run. Halving every D makes steps shorter, but says nothing about curvature.
    pub(crate) fn behind(&self, problem: &Problem) -> f64 {
        let Problem { prior, l1, .. } = problem;
        problem.sum(self.rows.len(), |row| {
            let [start, end] = self.ranges[row];
            if start == end {
                return 0.0;
            }
            let variance = prior.variance(start as usize);
            let mut gap = 0.0;
            for i in start as usize..end as usize {
                let (theta, drift, mean) = (self.theta[i], self.drift[i], prior.mean(i));
                let best = soft(mean - variance * drift, variance * l1);
                let bend = (theta - mean).powi(2) - (best - mean).powi(2);
                gap += bend / (2.0 * variance) + l1 * (theta.abs() - best.abs()) + drift * (theta - best);
            }
            f64::from(self.rows[row].step) / variance * gap
        })
    }

    /// Moves d and θ as some visits demand, one after another; or d alone, if θ is to `stay`.
    pub(crate) fn apply(&mut self, problem: &Problem, changes: &[&Change], stay: bool) {
        let Problem { objective, prior, l1 } = problem;
        let mut stretches = Vec::with_capacity(self.stretches.len());
        let (mut theta, mut drift, mut free) = (&mut self.theta[..], &mut self.drift[..], &mut self.free[..]);
        let mut start = 0;
        for &end in &self.stretches {
            let (my_theta, my_drift, my_free);
            (my_theta, theta) = theta.split_at_mut(end - start);
            (my_drift, drift) = drift.split_at_mut(end - start);
            (my_free, free) = free.split_at_mut(if free.is_empty() { 0 } else { end - start });
            let range = start..end;
            stretches.push(Mutex::new(Stretch { range, theta: my_theta, free: my_free, drift: my_drift }));
            start = end;
        }
        let (rows, damping) = (&self.rows[..], self.damping);
        objective.in_parallel(stretches.len(), &|k| {
            let stretch = &mut *stretches[k].lock().unwrap_or_else(PoisonError::into_inner);
            changes.iter().for_each(|change| match stay {
                true => stretch.store(change),
                false => stretch.apply(change, (rows, damping), prior, *l1),
            });
        });
    }
}

/// Some consecutive weights.
struct Stretch<'a> {
    range: Range<usize>,
    theta: &'a mut [f64],
    free: &'a mut [f64],
    drift: &'a mut [f64],
}

impl Stretch<'_> {
    /// The rows of a visit that lie in this stretch.
    fn touched<'c>(&self, change: &'c Change) -> &'c [Row] {
        let place = |weight: usize| change.rows.partition_point(|row| row.weights().start < weight);
        &change.rows[place(self.range.start)..place(self.range.end)]
    }

    /// Prefetches the damping and d of some rows. Their misses then overlap; those of the loop that moves them hardly do.
    #[inline(always)]
    fn expect(&self, touched: &[Row], rows: &[Damped]) {
        let read = |bits: u64, row: &Row| {
            let drift = self.drift.get(row.weights().start - self.range.start);
            bits ^ drift.map_or(0, |d| d.to_bits()) ^ u64::from(rows[row.row as usize].step.to_bits())
        };
        std::hint::black_box(touched.iter().fold(0, read));
    }

    /// Moves d alone as one visit demands.
    fn store(&mut self, change: &Change) {
        for row in self.touched(change) {
            let mine = row.weights().start - self.range.start..row.weights().end - self.range.start;
            self.drift[mine].iter_mut().zip(&change.values[row.place()]).for_each(|(d, u)| *d += u);
        }
    }

    /// Moves d and θ as one visit demands.
    fn apply(&mut self, change: &Change, (rows, damping): (&[Damped], f64), prior: &Prior, l1: f64) {
        let base = self.range.start;
        let touched = self.touched(change);
        dispatch!(simd::level(), simd => for touched in touched.chunks(AT_ONCE) {
            self.expect(touched, rows);
            // With an L1 penalty, θ follows z.
            let (z, theta) = match self.free.is_empty() {
                true => (&mut *self.theta, Default::default()),
                false => (&mut *self.free, &mut *self.theta),
            };
            for row in touched {
                let Damped { step, share } = rows[row.row as usize];
                let (step, share) = (damping * f64::from(step), damping * f64::from(share));
                let (weights, place) = (row.weights(), row.place());
                let variance = prior.variance(weights.start);
                let bound = variance * l1;
                for k in (0..weights.len()).step_by(EIGHT) {
                    let (first, at) = (weights.start + k, weights.start + k - base);
                    let u = change.values[place.start + k..].first_chunk::<EIGHT>();
                    let of_row = (weights.len() - k).min(EIGHT);
                    match (u, z[at..].first_chunk_mut::<EIGHT>(), self.drift[at..].first_chunk_mut::<EIGHT>()) {
                        // Behind the row, 0 is added.
                        (Some(u), Some(z), Some(drift)) => {
                            let mask = f64x8::simd_from(simd, MASKS[of_row]);
                            let mean = prior.eight_means(simd, first);
                            let u = f64x8::simd_from(simd, *u) * mask;
                            let d = f64x8::simd_from(simd, *drift) + u;
                            *drift = d.into();
                            let x = f64x8::simd_from(simd, *z) - u * step;
                            let x = x - (x - mean + d * variance) * (mask * share);
                            *z = x.into();
                            if let Some(theta) = theta.get_mut(at..at + EIGHT) {
                                let near = x - x.max(-bound).min(f64x8::splat(simd, bound));
                                (f64x8::from_slice(simd, theta) * (1.0 - mask) + near * mask).store_slice(theta);
                            }
                        }
                        _ => for i in at..at + of_row {
                            let u = change.values[place.start + k + i - at];
                            self.drift[i] += u;
                            let x = z[i] - u * step;
                            z[i] = x - (x - prior.mean(base + i) + self.drift[i] * variance) * share;
                            theta.get_mut(i).into_iter().for_each(|theta| *theta = soft(z[i], bound));
                        }
                    }
                }
            }
        });
    }
}

/// x in single precision. A number that is too large for it becomes the largest one: infinity times 0 would be no number.
pub(super) fn at_most(x: f64) -> f32 {
    x.min(f32::MAX.into()) as f32
}

/// x moved towards 0 by `bound`. Without a branch, so that vectors can do it.
#[inline(always)]
fn soft(x: f64, bound: f64) -> f64 {
    x - x.max(-bound).min(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_of_a_very_wide_prior_is_finite() {
        let row = Use { start: 0, len: 3, uses: 5.0, blocks: 5.0 };
        for sigma in [1e18, 1e20, 1e100] {
            let Damped { step, share } = row.damped(&Prior::gaussian(sigma), 1);
            assert!(step.is_finite() && step > 1e30 && share.is_finite(), "σ {sigma}: {step} and {share}");
        }
    }
}
