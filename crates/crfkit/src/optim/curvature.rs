//! How strongly the objective bends along each weight: what scales the first steps of [`super::Lbfgs`].

use super::Problem;
use super::blocks::examples_in_blocks;
use super::saga_weights::Change;
use std::sync::{Mutex, PoisonError};

/// The blocks that are evaluated between two additions.
const LANES: usize = 16;
/// The least curvature of a weight: without a prior, nothing else bounds weights whose examples are all certain.
const LEAST: f64 = 0.01;

/// A measure of the second derivative of the objective along each weight, at θ: 1/σ² plus Σ |value · (marginal − gold)| over all examples,
/// which is close to the variance of the feature where labels are mostly clear. It costs a pass. `None` if the objective does not provide
/// marginals, or if the run is stopped in the middle.
pub(super) fn curvature(problem: &Problem, theta: &[f64]) -> Option<Vec<f64>> {
    let blocks = examples_in_blocks(problem, 1).ok()?;
    let new_lane = || Mutex::new((blocks.worker(), Vec::new(), Change::default()));
    let lanes: Vec<_> = std::iter::repeat_with(new_lane).take(LANES.min(blocks.len())).collect();
    let mut bend = vec![0.0; theta.len()];
    problem.objective.on_threads(&mut || {
        for start in (0..blocks.len()).step_by(LANES) {
            if problem.objective.stopped() {
                return;
            }
            let count = LANES.min(blocks.len() - start);
            problem.objective.in_parallel(count, &|k| {
                let (worker, residuals, out) = &mut *lanes[k].lock().unwrap_or_else(PoisonError::into_inner);
                residuals.resize(blocks.size(start + k), 0.0);
                worker.residuals(start + k, theta, residuals);
                residuals.iter_mut().for_each(|x| *x = x.abs());
                worker.project(start + k, residuals, &mut out.rows, &mut out.values);
            });
            for lane in &lanes[..count] {
                let (_, _, out) = &*lane.lock().unwrap_or_else(PoisonError::into_inner);
                for row in &out.rows {
                    let sums = bend[row.weights()].iter_mut().zip(&out.values[row.place()]);
                    sums.for_each(|(sum, x)| *sum += x.abs());
                }
            }
        }
    });
    if problem.objective.stopped() || bend.iter().any(|x| !x.is_finite()) {
        return None;
    }
    bend.iter_mut().enumerate().for_each(|(i, x)| *x += problem.prior.precision(i).max(LEAST));
    Some(bend)
}
