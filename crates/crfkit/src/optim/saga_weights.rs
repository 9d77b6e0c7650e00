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
    /// The factor of all D.
    damping: f64,
    /// The ends of the stretches of θ, which threads move independently; none is inside a row.
    stretches: Vec<usize>,
}

/// A row of weights and its damping D.
#[derive(Clone, Copy, Default)]
struct Damped {
    /// Its weights.
    start: u32,
    len: u32,
    /// σ²D.
    step: f64,
    /// D/N.
    share: f64,
}

impl Damped {
    /// Its weights, as a range of θ.
    fn weights(&self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }

    /// Multiplies D by a factor.
    fn damp(&mut self, factor: f64) {
        self.step *= factor;
        self.share *= factor;
    }
}

/// All rows, with their damping.
fn rows(prior: &Prior, blocks: &dyn Blocks, lanes: usize) -> Vec<Damped> {
    let mut rows = vec![Damped::default(); blocks.rows()];
    // Until the counts are complete, `step` is the number of uses and `share` that of blocks.
    for block in 0..blocks.len() {
        blocks.for_each_row(block, &mut |row, uses| {
            let damped = &mut rows[row.row as usize];
            (damped.start, damped.len) = (row.weights().start as u32, row.weights().len() as u32);
            damped.step += uses;
            damped.share += 1.0;
        });
    }
    for row in rows.iter_mut().filter(|row| row.share > 0.0) {
        let variance = prior.variance(row.start as usize);
        let (uses, blocks) = (row.step, row.share);
        let often = (1.0 + variance * uses / FREQUENT).sqrt().recip().max(LEAST);
        let in_step = uses / blocks * lanes as f64;
        let damping = often / (1.0 + BEND * variance * (in_step - 1.0).max(0.0));
        (row.step, row.share) = (variance * damping, damping / blocks);
    }
    rows
}

impl Weights {
    /// The weights of a run whose steps visit `lanes` blocks.
    pub fn new(problem: &Problem, blocks: &dyn Blocks, lanes: usize, state: &mut Restored) -> Result<Self> {
        let dim = problem.objective.dim();
        let mut rows = rows(&problem.prior, blocks, lanes);
        let damping = state.number("damping", 1.0, positive)?;
        rows.iter_mut().for_each(|row| row.damp(damping));
        // Stretches of about equal work: rows and weights times the number of blocks that touch them.
        let work = |row: &Damped| match row.share > 0.0 {
            true => {
                (f64::from(row.len) + 4.0) * row.step
                    / row.share
                    / problem.prior.variance(row.weights().start)
            }
            false => 0.0,
        };
        let all: f64 = rows.iter().map(work).sum();
        let (mut stretches, mut sum) = (Vec::new(), 0.0);
        for row in rows.iter().filter(|row| row.len > 0) {
            if sum * STRETCHES as f64 >= (stretches.len() + 1) as f64 * all && stretches.len() + 1 < STRETCHES
            {
                stretches.push(row.weights().start);
            }
            sum += work(row);
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
        Ok(Weights { theta: state.take_theta(), free, drift, rows, damping, stretches })
    }

    /// Adds all but θ to the state of a run.
    pub fn save(&self, state: &mut State) {
        state.vectors.insert("drift".into(), self.drift.clone());
        if !self.free.is_empty() {
            state.vectors.insert("free".into(), self.free.clone());
        }
        state.numbers.insert("damping".into(), self.damping);
    }

    /// σ²D of a row at the beginning of the run.
    pub fn first_step(&self, row: usize) -> f64 {
        self.rows[row].step / self.damping
    }

    /// Halves every D.
    pub fn halve(&mut self) {
        self.damping *= HALVE;
        self.rows.iter_mut().for_each(|row| row.damp(HALVE));
    }

    /// How much the penalties are above the least that they and ⟨d, θ⟩ can be together, with the part of each row reduced by D.
    pub fn behind(&self, problem: &Problem) -> f64 {
        let Problem { prior, l1, .. } = problem;
        let mut behind = 0.0;
        for row in self.rows.iter().filter(|row| row.len > 0) {
            let variance = prior.variance(row.weights().start);
            let mut gap = 0.0;
            for i in row.weights() {
                let (theta, drift, mean) = (self.theta[i], self.drift[i], prior.mean(i));
                let best = soft(mean - variance * drift, variance * l1);
                let bend = (theta - mean).powi(2) - (best - mean).powi(2);
                gap += bend / (2.0 * variance) + l1 * (theta.abs() - best.abs()) + drift * (theta - best);
            }
            behind += row.step / variance * gap;
        }
        behind
    }

    /// Moves d and θ as some visits demand, one after another; or d alone, if θ is to `stay`.
    pub fn apply(&mut self, problem: &Problem, changes: &[&Change], stay: bool) {
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
        let rows = &self.rows;
        objective.in_parallel(stretches.len(), &|k| {
            let stretch = &mut *stretches[k].lock().unwrap_or_else(PoisonError::into_inner);
            changes.iter().for_each(|change| match stay {
                true => stretch.store(change),
                false => stretch.apply(change, rows, prior, *l1),
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

    /// Moves d alone as one visit demands.
    fn store(&mut self, change: &Change) {
        for row in self.touched(change) {
            let mine = row.weights().start - self.range.start..row.weights().end - self.range.start;
            self.drift[mine].iter_mut().zip(&change.values[row.place()]).for_each(|(d, u)| *d += u);
        }
    }

    /// Moves d and θ as one visit demands.
    fn apply(&mut self, change: &Change, rows: &[Damped], prior: &Prior, l1: f64) {
        let base = self.range.start;
        let touched = self.touched(change);
        let z = if self.free.is_empty() { &mut *self.theta } else { &mut *self.free };
        // Prefetches the rows: their reads would wait for one another, here they overlap.
        std::hint::black_box(touched.iter().fold(0.0, |sum, row| {
            let at = row.weights().start - base;
            sum + rows[row.row as usize].step
                + [&*z, &*self.drift].iter().filter_map(|x| x.get(at)).sum::<f64>()
        }));
        dispatch!(simd::level(), simd => for row in touched {
            let Damped { step, share, .. } = rows[row.row as usize];
            let (weights, place) = (row.weights(), row.place());
            let variance = prior.variance(weights.start);
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
                        *z = (x - (x - mean + d * variance) * (mask * share)).into();
                    }
                    _ => for i in at..at + of_row {
                        let u = change.values[place.start + k + i - at];
                        self.drift[i] += u;
                        let x = z[i] - u * step;
                        z[i] = x - (x - prior.mean(base + i) + self.drift[i] * variance) * share;
                    }
                }
            }
        });
        if !self.free.is_empty() {
            for row in touched {
                let bound = prior.variance(row.weights().start) * l1;
                let mine = row.weights().start - base..row.weights().end - base;
                for (theta, z) in self.theta[mine.clone()].iter_mut().zip(&self.free[mine]) {
                    *theta = soft(*z, bound);
                }
            }
        }
    }
}

/// x moved towards 0 by `bound`.
fn soft(x: f64, bound: f64) -> f64 {
    if x > bound {
        x - bound
    } else if x < -bound {
        x + bound
    } else {
        0.0
    }
}
