//! The choice of the first gain of stochastic gradient descent, if none is given.

use super::online::{Clock, Rule, Step};
use super::restored::Restored;
use super::sgd::{Sgd, SgdRule};
use super::{Problem, Touched};
use crate::math::random::Random;

/// The number of examples on which a gain is tried.
const SAMPLE: usize = 1000;
/// The largest number of gains tried once one does not explode.
const CANDIDATES: usize = 12;
/// The smallest gain that is tried.
const SMALLEST: f64 = 1e-12;
/// A gain has exploded if the objective is more than this many times its initial value, or not a number. Losses grow
/// like scores, so they become large, not infinite.
const EXPLODED: f64 = 2.0;

impl Sgd {
    /// The gain among 0.1·2^k with the lowest objective after one pass over a sample, and the cost of the trials in
    /// passes. If 0.1 explodes, the search starts from the largest gain that does not. A run that is to stop tries no further gains.
    pub(super) fn calibrate(&self, problem: &Problem, theta: &[f64]) -> (f64, f64) {
        let examples = problem.objective.examples();
        let mut order: Vec<u32> = (0..examples as u32).collect();
        Random::stream(self.schedule.seed, u64::MAX).shuffle(&mut order);
        order.truncate(SAMPLE);
        let share = order.len() as f64 / examples.max(1) as f64;
        let start = sample_value(problem, theta, &order);
        // The losses of the perceptron are 0 at the start.
        let most = if start > 0.0 { EXPLODED * start } else { f64::MAX };
        let mut cost = share;
        let mut attempt = |eta0: f64| {
            cost += 2.0 * share;
            let value = self.sample_pass(problem, theta.to_vec(), &order, eta0);
            if value <= most { value } else { f64::INFINITY }
        };
        let mut best = (0.1, attempt(0.1));
        while best.1 == f64::INFINITY && best.0 > SMALLEST && !problem.objective.stopped() {
            best = (0.5 * best.0, attempt(0.5 * best.0));
        }
        for factor in [2.0, 0.5] {
            let first = best.0;
            for _ in 0..CANDIDATES / 2 {
                let eta0 = best.0 * factor;
                let value = attempt(eta0);
                if value >= best.1 || problem.objective.stopped() {
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

    /// Runs one pass over a sample and returns its objective afterwards.
    fn sample_pass(&self, problem: &Problem, mut theta: Vec<f64>, order: &[u32], eta0: f64) -> f64 {
        let mut rule = SgdRule::new(self, problem, eta0);
        rule.restore(0, &mut Restored::fresh(theta.clone())).expect("nothing of a fresh start is refused");
        let (mut gradient, mut touched) = (Vec::new(), Touched::default());
        let clock = Clock::new(&self.schedule, problem.objective.examples());
        let mut done = 0;
        for batch in order.chunks(self.schedule.batch.max(1)) {
            if problem.objective.stopped() {
                return f64::INFINITY;
            }
            problem.objective.touched(batch, &mut touched);
            let step = Step { touched: &touched, done, clock };
            rule.refresh(&mut theta, &step);
            problem.objective.batch_grad(batch, &theta, &touched, &mut gradient);
            self.schedule.scale(batch, &mut gradient);
            rule.update(&mut theta, &step, &gradient, &[]);
            done += 1;
        }
        rule.settle(&mut theta, &Step { touched: &touched, done, clock });
        sample_value(problem, &theta, order)
    }
}

/// The losses of a sample, plus its share of the penalty.
fn sample_value(problem: &Problem, theta: &[f64], order: &[u32]) -> f64 {
    let (mut gradient, mut touched) = (Vec::new(), Touched::default());
    problem.objective.touched(order, &mut touched);
    let share = order.len() as f64 / problem.objective.examples().max(1) as f64;
    problem.objective.batch_grad(order, theta, &touched, &mut gradient) + share * problem.penalty(theta)
}
