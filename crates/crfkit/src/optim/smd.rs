//! Stochastic meta-descent.

use super::checks::{refuse_l1, require, require_gain};
use super::fours::{four, in_fours, put_four};
use super::online::{self, Rule, Schedule, Step};
use super::restored::{Restored, finite, not_negative};
use super::{Minimum, Optimizer, Prior, Problem, State, Watch};
use crate::Result;
use crate::ability::Ability;
use crate::math::dispatch::dispatch;
use crate::math::simd;
use fearless_simd::prelude::*;
use std::ops::Range;

/// Gradient steps with a separate gain for each weight; the gains are adapted by gradient descent too.
///
/// Idea: v is the derivative of θ with respect to the logarithm of all past gains, so μ·g∘v shows which gains were
/// too small. A step takes g and H·v of its batch, both with the batch's share of the prior, then (smd-crf-2006 eq.
/// 19–21)
///
/// 1. η ← η ∘ max(½, 1 − μ g∘v),
/// 2. v ← λv − η∘(g + λHv),
/// 3. θ ← θ − η∘g,
///
/// all with the new η. This literal form diverges on sums of gradients. So the factor of a gain is bounded from above
/// as well, and the gains from below. If v becomes non-finite, it restarts from 0 with half the gain, and the
/// observer is told. With μ = 0 the method is SGD.
///
/// Lazy updates: a weight that k steps did not touch felt only the prior in them. When it is touched again, its gain
/// stays. With p the share of these steps in the penalty over σ², and d = 1/(1 + ηp),
///
/// v ← λᵏ·d·v − (1 + λ + … + λᵏ⁻¹)/k · ηp·d²·(θ − mean), θ ← mean + d·(θ − mean).
///
/// This is one implicit step on the missed penalty, which no gain makes unstable; v is its derivative too.
///
/// Needs: gradients and Hessian-vector products of batches; no L1. Parameters: η₀ = 0.1, μ = 0.1, λ = 1, b = 8,
/// factors in [½, 1.1], gains at least 1e-8·η₀. Reference: smd-crf-2006 sections 3.2 and 4.1.
#[derive(Clone, Debug)]
pub struct Smd {
    /// η₀, the first gain of all weights.
    pub eta0: f64,
    /// μ, the step size for adapting the gains.
    pub mu: f64,
    /// λ, the memory of v.
    pub lambda: f64,
    /// Bounds on the factor by which a step may change a gain; the paper uses \[½, ∞\].
    pub gain_factor: [f64; 2],
    /// The smallest gain, as a multiple of η₀; the paper uses 0.
    pub gain_floor: f64,
    /// Batches and passes.
    pub schedule: Schedule,
}

impl Default for Smd {
    fn default() -> Self {
        Smd {
            eta0: 0.1,
            mu: 0.1,
            lambda: 1.0,
            gain_factor: [0.5, 1.1],
            gain_floor: 1e-8,
            schedule: Schedule::default(),
        }
    }
}

impl Smd {
    /// The default number of passes.
    pub const PASSES: usize = 30;
}

impl Optimizer for Smd {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::HessVec]
    }

    fn check(&self, _prior: &Prior, l1: f64) -> Result<()> {
        let &Smd { eta0, mu, lambda, gain_factor: [low, high], gain_floor, .. } = self;
        let bounds = "LOW,HIGH with 0 < LOW ≤ 1 ≤ HIGH";
        require_gain(eta0)?;
        require(mu >= 0.0 && mu.is_finite(), "`mu`", mu, "0 or a positive number")?;
        require((0.0..=1.0).contains(&lambda), "`lambda`", lambda, "between 0 and 1")?;
        require(low > 0.0 && low <= 1.0, "`gain_factor`", low, bounds)?;
        require(high >= 1.0, "`gain_factor`", high, bounds)?;
        require((0.0..=1.0).contains(&gain_floor), "`gain_floor`", gain_floor, "between 0 and 1")?;
        refuse_l1("smd", l1)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let mut rule =
            SmdRule { problem, method: self, gains: Vec::new(), v: Vec::new(), settled: 0, resets: 0 };
        online::run(problem, &self.schedule, &mut rule, state, watch)
    }
}

struct SmdRule<'a> {
    problem: &'a Problem<'a>,
    method: &'a Smd,
    /// η.
    gains: Vec<f64>,
    v: Vec<f64>,
    /// The number of steps for which all weights are up to date.
    settled: u32,
    /// The number of weights whose v was not finite in the last step.
    resets: usize,
}

impl SmdRule<'_> {
    /// Applies the steps that rows have missed. Each row is of one kind and comes with the steps done by its last
    /// touch.
    fn catch_up(&mut self, theta: &mut [f64], rows: impl Iterator<Item = (Range<usize>, u32)>, step: &Step) {
        let (prior, lambda) = (&self.problem.prior, self.method.lambda);
        let precisions = prior.precisions();
        dispatch!(simd::level(), simd => for (row, last) in rows {
            let last = last.max(self.settled);
            let (k, p) = (step.done - last, step.since(last) * precisions[prior.kind(row.start)]);
            // Without a prior and with λ = 1 nothing changes, to the bit.
            if k == 0 || p == 0.0 && lambda == 1.0 {
                continue;
            }
            let [kept, mean_kept] = if lambda == 1.0 { [1.0; 2] } else { forgetting(lambda, k) };
            for part in in_fours(row) {
                let (theta, v) = (&mut theta[part.clone()], &mut self.v[part.clone()]);
                let pull = four(simd, &self.gains[part.clone()]) * p;
                let mean = prior.four_means(simd, part);
                let (off, d) = (four(simd, theta) - mean, 1.0 / (1.0 + pull));
                put_four(d * four(simd, v) * kept - pull * d * d * off * mean_kept, v);
                put_four(mean + d * off, theta);
            }
        });
    }
}

/// λᵏ and (1 + λ + … + λᵏ⁻¹)/k. Not inlined, because compilers would otherwise compute the power for λ = 1 too.
#[inline(never)]
fn forgetting(lambda: f64, k: u32) -> [f64; 2] {
    let kept = lambda.powi(k as i32);
    [kept, (1.0 - kept) / ((1.0 - lambda) * f64::from(k))]
}

impl Rule for SmdRule<'_> {
    fn refresh(&mut self, theta: &mut [f64], step: &Step) {
        step.touched.expect_with(|row| theta[row.start] + self.v[row.start] + self.gains[row.start]);
        self.catch_up(theta, step.touched.filled().map(|(row, _, last)| (row, last)), step);
    }

    fn direction(&self) -> Option<&[f64]> {
        Some(&self.v)
    }

    fn update(&mut self, theta: &mut [f64], step: &Step, gradient: &[f64], hess_vec: &[f64]) {
        let &Smd { eta0, mu, lambda, gain_factor: [low, high], gain_floor, .. } = self.method;
        let (prior, floor) = (&self.problem.prior, gain_floor * eta0);
        let pulls = prior.precisions().map(|precision| step.share() * precision);
        self.resets = 0;
        dispatch!(simd::level(), simd => for (row, mine, _) in step.touched.filled() {
            let pull = pulls[prior.kind(row.start)];
            for (part, mine) in in_fours(row).zip(in_fours(mine)) {
                let (theta, own_v) = (&mut theta[part.clone()], &mut self.v[part.clone()]);
                let gains = &mut self.gains[part.clone()];
                let (x, v, hv) = (four(simd, theta), four(simd, own_v), four(simd, &hess_vec[mine.clone()]));
                let g = four(simd, &gradient[mine]) + (x - prior.four_means(simd, part)) * pull;
                // The precise maximum returns the bound for NaN.
                let factor = (1.0 - g * mu * v).max_precise(low).min(high);
                let eta = (four(simd, gains) * factor).max(floor);
                let v = v * lambda - eta * (g + (hv + v * pull) * lambda);
                put_four(x - eta * g, theta);
                put_four(v, own_v);
                put_four(eta, gains);
                if (v * 0.0).simd_eq(0.0).any_false() {
                    for (v, gain) in own_v.iter_mut().zip(gains).filter(|(v, _)| !v.is_finite()) {
                        (*v, *gain) = (0.0, (0.5 * *gain).max(floor));
                        self.resets += 1;
                    }
                }
            }
        });
    }

    fn settle(&mut self, theta: &mut [f64], step: &Step) {
        self.catch_up(theta, step.stretches(theta.len(), &self.problem.prior), step);
        self.settled = step.done;
    }

    fn resets(&self) -> usize {
        self.resets
    }

    fn remedy(&self) -> &'static str {
        "use a smaller `eta0` or `mu`, or a smaller upper bound of `gain_factor`"
    }

    fn save(&self, state: &mut State) {
        state.vectors.insert("gains".into(), self.gains.clone());
        state.vectors.insert("v".into(), self.v.clone());
        state.numbers.insert("settled".into(), self.settled.into());
    }

    fn restore(&mut self, steps: u32, state: &mut Restored) -> Result<()> {
        let dim = state.theta().len();
        self.gains = state.vector("gains", dim, self.method.eta0, not_negative)?;
        self.v = state.vector("v", dim, 0.0, finite)?;
        self.settled = state.count("settled", steps.into())? as u32;
        Ok(())
    }
}
