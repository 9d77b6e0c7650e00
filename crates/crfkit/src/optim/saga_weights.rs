//! The weights of [`super::Saga`], and how they follow the stored residuals.

use super::blocks::Blocks;
use super::restored::{Restored, finite, positive};
use super::saga_damping::{Damped, Use, Watched, uses};
use super::{Prior, Problem, Row, State};
use crate::Result;
use crate::math::dispatch::dispatch;
use crate::math::simd::{self, dot};
use fearless_simd::{f64x8, prelude::*};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

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
    /// The rows that some blocks use often.
    crowded: Vec<u32>,
    /// The rows whose damping follows their moves.
    watched: Vec<Watched>,
    /// How quickly it does so.
    follow: f64,
    /// The weights of each row.
    ranges: Vec<[u32; 2]>,
    /// The factor of all D.
    damping: f64,
    /// The stretches of θ, which threads move independently.
    stretches: Vec<End>,
}

/// Where a stretch ends: weights, rows and watched rows.
#[derive(Clone, Copy)]
struct End {
    weight: usize,
    row: usize,
    watched: usize,
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
        let mut rows: Vec<Damped> = uses.iter().map(|of| of.damped(&problem.prior, lanes)).collect();
        let ranges = uses.iter().map(|of| [of.start, of.start + of.len]).collect();
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
        let z = if free.is_empty() { state.theta().to_vec() } else { free.clone() };
        let watched = Watched::new((&uses, &mut rows), (blocks.len(), lanes), &z, state)?;
        let stretches = stretches(&uses, &watched, dim);
        let crowded = (0..uses.len()).filter(|&row| uses[row].is_crowded()).map(|row| row as u32).collect();
        let follow = Watched::rate(blocks.len() as f64 / lanes as f64);
        let theta = state.take_theta();
        Ok(Weights { theta, free, drift, rows, crowded, watched, follow, ranges, damping, stretches })
    }

    /// Adds all but θ to the state of a run.
    pub(crate) fn save(&self, state: &mut State) {
        state.vectors.insert("drift".into(), self.drift.clone());
        if !self.free.is_empty() {
            state.vectors.insert("free".into(), self.free.clone());
        }
        state.numbers.insert("damping".into(), self.damping);
        Watched::save(&self.watched, state);
    }

    /// σ²D of each row at the beginning of the run.
    pub(crate) fn first_steps(&self) -> Vec<f32> {
        let mut steps: Vec<f32> = self.rows.iter().map(|row| row.step).collect();
        self.watched.iter().for_each(|row| steps[row.row()] = row.first_step());
        steps
    }

    /// uᵀσ²Du for the change u of a visit, over the crowded rows.
    pub(crate) fn power(&self, change: &Change) -> f64 {
        let (mut rows, mut sum) = (&change.rows[..], 0.0);
        for &crowded in &self.crowded {
            // Most of them are in the block, at the front of what is left.
            if rows.first().is_some_and(|row| row.row < crowded) {
                rows = &rows[rows.partition_point(|row| row.row < crowded)..];
            }
            if let Some((row, rest)) = rows.split_first().filter(|(row, _)| row.row == crowded) {
                let u = &change.values[row.place()];
                sum += f64::from(self.rows[crowded as usize].step) * dot(u, u);
                rows = rest;
            }
        }
        self.damping * sum
    }

    /// Halves every D.
    pub(crate) fn halve(&mut self) {
        self.damping *= HALVE;
    }

    /// How much the penalties are above the least that they and ⟨d, θ⟩ can be together, with the part of each row reduced by its D at the
    /// beginning of the run: later changes of D make steps shorter, but say nothing about curvature.
    pub(crate) fn behind(&self, problem: &Problem) -> f64 {
        let Problem { prior, l1, .. } = problem;
        let steps = self.first_steps();
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
            f64::from(steps[row]) / variance * gap
        })
    }

    /// Moves d and θ as some visits demand, one after another; or d alone, if θ is to `stay`.
    pub(crate) fn apply(&mut self, problem: &Problem, changes: &[&Change], stay: bool) {
        let Problem { objective, prior, l1 } = problem;
        let mut stretches = Vec::with_capacity(self.stretches.len());
        let (mut theta, mut drift, mut free) = (&mut self.theta[..], &mut self.drift[..], &mut self.free[..]);
        let (mut rows, mut watched) = (&mut self.rows[..], &mut self.watched[..]);
        let mut start = End { weight: 0, row: 0, watched: 0 };
        for &end in &self.stretches {
            let weights = end.weight - start.weight;
            stretches.push(Mutex::new(Stretch {
                range: start.weight..end.weight,
                theta: theta.split_off_mut(..weights).unwrap_or_default(),
                free: free.split_off_mut(..weights).unwrap_or_default(),
                drift: drift.split_off_mut(..weights).unwrap_or_default(),
                first_row: start.row,
                rows: rows.split_off_mut(..end.row - start.row).unwrap_or_default(),
                watched: watched.split_off_mut(..end.watched - start.watched).unwrap_or_default(),
            }));
            start = end;
        }
        let (damping, follow) = (self.damping, self.follow);
        objective.in_parallel(stretches.len(), &|k| {
            let stretch = &mut *stretches[k].lock().unwrap_or_else(PoisonError::into_inner);
            if stay {
                return changes.iter().for_each(|change| stretch.store(change));
            }
            changes.iter().for_each(|change| stretch.apply(change, damping, prior, *l1));
            stretch.follow(follow);
        });
    }
}

/// Stretches of about equal work; none ends inside a row.
fn stretches(uses: &[Use], watched: &[Watched], dim: usize) -> Vec<End> {
    let all: f64 = uses.iter().map(Use::work).sum();
    let (mut stretches, mut sum) = (Vec::new(), 0.0);
    for (row, of) in uses.iter().enumerate().filter(|(_, of)| of.len > 0) {
        if sum * STRETCHES as f64 >= (stretches.len() + 1) as f64 * all && stretches.len() + 1 < STRETCHES {
            let watched = watched.partition_point(|watched| watched.row() < row);
            stretches.push(End { weight: of.start as usize, row, watched });
        }
        sum += of.work();
    }
    stretches.push(End { weight: dim, row: uses.len(), watched: watched.len() });
    stretches
}

/// Some consecutive weights.
struct Stretch<'a> {
    range: Range<usize>,
    theta: &'a mut [f64],
    free: &'a mut [f64],
    drift: &'a mut [f64],
    /// The damping of the rows from the first one on.
    first_row: usize,
    rows: &'a mut [Damped],
    watched: &'a mut [Watched],
}

impl Stretch<'_> {
    /// The rows of a visit that lie in this stretch.
    fn touched<'c>(&self, change: &'c Change) -> &'c [Row] {
        let place = |weight: usize| change.rows.partition_point(|row| row.weights().start < weight);
        &change.rows[place(self.range.start)..place(self.range.end)]
    }

    /// Prefetches the damping and d of some rows. Their misses then overlap; those of the loop that moves them hardly do.
    #[inline(always)]
    fn expect(&self, touched: &[Row]) {
        let read = |bits: u64, row: &Row| {
            let drift = self.drift.get(row.weights().start - self.range.start);
            bits ^ drift.map_or(0, |d| d.to_bits())
                ^ u64::from(self.rows[row.row as usize - self.first_row].step.to_bits())
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

    /// Adapts the damping of the watched rows to the step.
    fn follow(&mut self, rate: f64) {
        let z = if self.free.is_empty() { &*self.theta } else { &*self.free };
        for watched in &mut *self.watched {
            let [start, end] = watched.weights().map(|weight| weight - self.range.start);
            watched.follow(rate, &z[start..end], &mut self.rows[watched.row() - self.first_row]);
        }
    }

    /// Moves d and θ as one visit demands.
    fn apply(&mut self, change: &Change, damping: f64, prior: &Prior, l1: f64) {
        let base = self.range.start;
        let touched = self.touched(change);
        dispatch!(simd::level(), simd => for touched in touched.chunks(AT_ONCE) {
            self.expect(touched);
            // With an L1 penalty, θ follows z.
            let (z, theta) = match self.free.is_empty() {
                true => (&mut *self.theta, Default::default()),
                false => (&mut *self.free, &mut *self.theta),
            };
            for row in touched {
                let Damped { step, share } = self.rows[row.row as usize - self.first_row];
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

/// x moved towards 0 by `bound`. Without a branch, so that vectors can do it.
#[inline(always)]
fn soft(x: f64, bound: f64) -> f64 {
    x - x.max(-bound).min(bound)
}
