//! Stochastic gradient descent.

use super::adagrad::soft_threshold;
use super::online::{self, Rule, Schedule};
use super::{Minimum, Optimizer, Problem, State, Touched, Watch};
use crate::Result;
use crate::ability::Ability;
use crate::math::random::Random;
use std::ops::Range;

/// Plain gradient steps with one gain for all weights.
///
/// Idea: θ ← θ − η_t (g + (b/m)(θ − mean)/σ²) with g the summed gradient of a batch and η_t = η₀/(1 + η₀ n_t/(mσ²)), n_t the
/// examples seen so far. Untouched weights only decay towards the mean: the product of the decays is kept as one number and
/// applied when a weight is touched, which gives the dense iteration exactly. L1 by soft thresholding after each step;
/// untouched weights make up for the missed ones at once, with the sum of the gains.
///
/// Needs: gradients of batches. Parameters: η₀ (calibrated on a sample where it is not given), b = 8. References: smd-crf-2006
/// section 3.1; Bottou 2010 for the schedule and the calibration.
#[derive(Clone, Debug)]
pub struct Sgd {
    /// η₀; `None` to calibrate it.
    pub eta0: Option<f64>,
    /// Batches and passes.
    pub schedule: Schedule,
}

/// Examples that a gain is tried on.
const SAMPLE: usize = 1000;
/// Gains that are tried at most once one does not explode.
const CANDIDATES: usize = 12;
/// No gain below this is tried.
const SMALLEST: f64 = 1e-12;

impl Sgd {
    /// Passes where none are asked for.
    pub const PASSES: usize = 30;

    /// The gain with the lowest objective after one pass over a sample, among 0.1·2^k; and what trying cost, in passes.
    /// Where 0.1 explodes, the search starts from the largest gain that does not.
    fn calibrate(&self, problem: &Problem, theta: &[f64]) -> (f64, f64) {
        let examples = problem.objective.examples();
        let mut order: Vec<u32> = (0..examples as u32).collect();
        Random::stream(self.schedule.seed, u64::MAX).shuffle(&mut order);
        order.truncate(SAMPLE);
        let share = order.len() as f64 / examples.max(1) as f64;
        let mut cost = 0.0;
        let mut attempt = |eta0: f64| {
            cost += 2.0 * share;
            let value = self.sample_pass(problem, theta.to_vec(), &order, eta0);
            if value.is_finite() { value } else { f64::INFINITY }
        };
        let mut best = (0.1, attempt(0.1));
        while best.1 == f64::INFINITY && best.0 > SMALLEST {
            best = (0.5 * best.0, attempt(0.5 * best.0));
        }
        for factor in [2.0, 0.5] {
            let first = best.0;
            for _ in 0..CANDIDATES / 2 {
                let eta0 = best.0 * factor;
                let value = attempt(eta0);
                if value >= best.1 {
                    break;
                }
                best = (eta0, value);
            }
            if best.0 != first {
                break;
            }
        }
        (best.0, cost)
    }

    /// One pass over a sample; returns its objective afterwards.
    fn sample_pass(&self, problem: &Problem, mut theta: Vec<f64>, order: &[u32], eta0: f64) -> f64 {
        let share = order.len() as f64 / problem.objective.examples() as f64;
        let mut rule = SgdRule::new(problem, eta0);
        rule.restore(&mut State::start(theta.clone()));
        let (mut gradient, mut touched) = (Vec::new(), Touched::default());
        let mut seen = 0;
        for batch in order.chunks(self.schedule.batch.max(1)) {
            problem.objective.touched(batch, &mut touched);
            rule.refresh(&mut theta, &touched);
            problem.objective.batch_grad(batch, &theta, &touched, &mut gradient);
            let before = seen;
            seen += batch.len() as u64;
            rule.update(&mut theta, &touched, &gradient, before..seen);
        }
        rule.settle(&mut theta);
        problem.objective.touched(order, &mut touched);
        problem.objective.batch_grad(order, &theta, &touched, &mut gradient) + share * problem.penalty(&theta)
    }
}

impl Optimizer for Sgd {
    fn needs(&self) -> &'static [Ability] {
        &[]
    }

    fn minimize(&self, problem: &Problem, mut state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        let eta0 = match (self.eta0, state.numbers.get("eta0")) {
            (_, Some(&eta0)) => eta0,
            (Some(eta0), None) => eta0,
            (None, None) => {
                let (eta0, cost) = self.calibrate(problem, &state.theta);
                *state.numbers.entry("passes_before".into()).or_insert(0.0) += cost;
                eta0
            }
        };
        let mut rule = SgdRule::new(problem, eta0);
        online::run(problem, &self.schedule, &mut rule, state, watch)
    }
}

struct SgdRule<'a> {
    problem: &'a Problem<'a>,
    eta0: f64,
    /// m.
    examples: f64,
    /// ln Π (1 − η_t·(b/m)/σ²) so far, for weights of single labels and of label pairs.
    decay: [f64; 2],
    /// The decay that each weight has seen.
    seen: Vec<f64>,
    /// Σ η_t·(b/m)·l1 so far, and what each weight has seen of it (empty without L1).
    shrink: f64,
    shrunk: Vec<f64>,
}

impl<'a> SgdRule<'a> {
    fn new(problem: &'a Problem<'a>, eta0: f64) -> Self {
        let examples = problem.objective.examples().max(1) as f64;
        SgdRule {
            problem,
            eta0,
            examples,
            decay: [0.0; 2],
            seen: Vec::new(),
            shrink: 0.0,
            shrunk: Vec::new(),
        }
    }

    /// η_t after n_t examples.
    fn gain(&self, seen: u64) -> f64 {
        self.eta0 / (1.0 + self.eta0 * self.problem.prior.precision(0) * (seen as f64 / self.examples))
    }

    /// Applies the decay that the weights in `range` have missed.
    fn catch_up_decay(&mut self, theta: &mut [f64], range: Range<usize>) {
        let prior = &self.problem.prior;
        for i in range {
            let decay = self.decay[usize::from(i >= prior.first_pair)];
            if self.seen[i] != decay {
                let mean = prior.mean(i);
                theta[i] = mean + (theta[i] - mean) * (decay - self.seen[i]).exp();
                self.seen[i] = decay;
            }
        }
    }

    /// Applies the shrinking by L1 that the weights in `range` have missed.
    fn catch_up_shrinking(&mut self, theta: &mut [f64], range: Range<usize>) {
        if self.problem.l1 > 0.0 {
            for i in range {
                theta[i] = soft_threshold(theta[i], self.shrink - self.shrunk[i]);
                self.shrunk[i] = self.shrink;
            }
        }
    }
}

impl Rule for SgdRule<'_> {
    fn refresh(&mut self, theta: &mut [f64], touched: &Touched) {
        for range in touched.ranges() {
            self.catch_up_decay(theta, range.clone());
            self.catch_up_shrinking(theta, range.clone());
        }
    }

    fn update(&mut self, theta: &mut [f64], touched: &Touched, gradient: &[f64], seen: Range<u64>) {
        let eta = self.gain(seen.start);
        let share = (seen.end - seen.start) as f64 / self.examples;
        let prior = &self.problem.prior;
        for (decay, i) in self.decay.iter_mut().zip([0, prior.first_pair]) {
            // A gain so large that the weight would cross the mean takes it there.
            *decay += (1.0 - (eta * share * prior.precision(i)).min(1.0 - 1e-9)).ln();
        }
        self.shrink += eta * share * self.problem.l1;
        let mut gradient = gradient.iter();
        for range in touched.ranges() {
            self.catch_up_decay(theta, range.clone());
            for (x, g) in theta[range.clone()].iter_mut().zip(&mut gradient) {
                *x -= eta * g;
            }
            self.catch_up_shrinking(theta, range.clone());
        }
    }

    fn settle(&mut self, theta: &mut [f64]) {
        self.catch_up_decay(theta, 0..theta.len());
        self.catch_up_shrinking(theta, 0..theta.len());
    }

    fn save(&self, state: &mut State) {
        state.vectors.insert("seen".into(), self.seen.clone());
        state.vectors.insert("shrunk".into(), self.shrunk.clone());
        for (name, number) in [
            ("eta0", self.eta0),
            ("decay", self.decay[0]),
            ("decay_pairs", self.decay[1]),
            ("shrink", self.shrink),
        ] {
            state.numbers.insert(name.into(), number);
        }
    }

    fn restore(&mut self, state: &mut State) {
        self.seen = state.take("seen");
        self.seen.resize(state.theta.len(), 0.0);
        self.shrunk = state.take("shrunk");
        self.shrunk.resize(if self.problem.l1 > 0.0 { state.theta.len() } else { 0 }, 0.0);
        self.decay = [state.number("decay"), state.number("decay_pairs")];
        self.shrink = state.number("shrink");
    }
}
