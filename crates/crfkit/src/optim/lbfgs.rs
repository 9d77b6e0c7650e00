//! Limited-memory BFGS, and OWL-QN where there is an L1 penalty.

use super::line_search::{backtrack, wolfe};
use super::{Control, Minimum, Optimizer, Problem, Progress, State, Stop, Watch};
use crate::ability::Ability;
use crate::math::vector::{axpy, dot, norm};
use crate::{Error, Result};
use std::collections::VecDeque;

/// Quasi-Newton steps from the last few changes of weights and gradient.
///
/// Idea: H⁻¹ g by the two-loop recursion over the last `memory` pairs s = Δθ, y = Δg, started from γ·I. A step that satisfies the strong Wolfe conditions. With
/// L1 > 0 this is OWL-QN: pseudo-gradient, direction and step kept inside one orthant.
///
/// Needs: exact values and gradients of the whole set. References: Nocedal 1980; Andrew and Gao 2007.
#[derive(Clone, Debug)]
pub struct Lbfgs {
    /// Pairs that are kept (smd-crf-2006 section 4: 5).
    pub memory: usize,
    /// Stop when ‖g‖ ≤ `gradient_tolerance` · max(1, ‖θ‖).
    pub gradient_tolerance: f64,
    /// Stop when the objective has changed by less than this share over the last `period` iterations.
    pub tolerance: f64,
    /// See `tolerance`.
    pub period: usize,
    /// Evaluations at most, those of earlier methods in the same run included; 0 for no limit.
    pub passes: f64,
}

impl Default for Lbfgs {
    fn default() -> Self {
        Lbfgs { memory: 5, gradient_tolerance: 1e-5, tolerance: 1e-6, period: 10, passes: 0.0 }
    }
}

/// A pair s = Δθ, y = Δg with 1/sᵀy.
struct Pair {
    s: Vec<f64>,
    y: Vec<f64>,
    rho: f64,
}

struct Run<'a> {
    method: &'a Lbfgs,
    problem: &'a Problem<'a>,
    theta: Vec<f64>,
    /// Objective with all penalties.
    value: f64,
    /// Gradient without the L1 part.
    gradient: Vec<f64>,
    history: VecDeque<Pair>,
    /// Values at the last iterations, newest last.
    values: VecDeque<f64>,
    passes: f64,
    /// The pseudo-gradient (with L1 only), the search direction, and the point that is tried: memory that is used again.
    pseudo: Vec<f64>,
    direction: Vec<f64>,
    trial: Vec<f64>,
    trial_gradient: Vec<f64>,
    /// Has the watch seen this point? A state is taken when it has, so a run that goes on from one does not report twice.
    reported: bool,
}

impl Optimizer for Lbfgs {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Smooth]
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        let mut run = Run::new(self, problem, state);
        let stop = loop {
            run.update_pseudo_gradient();
            let gradient_norm = norm(run.steepest());
            if !run.value.is_finite() || !gradient_norm.is_finite() {
                return Err(Error::Diverged {
                    passes: run.passes,
                    message: "the objective is not a finite number; use a smaller --sigma or check the values in the data"
                        .into(),
                });
            }
            if !run.reported {
                let progress = Progress {
                    passes: run.passes,
                    objective: Some(run.value),
                    gradient_norm: Some(gradient_norm),
                    theta: Some(&run.theta),
                };
                if watch.step(&progress, &|| run.state())? == Control::Stop {
                    break Stop::Watch;
                }
                run.reported = true;
            }
            if gradient_norm <= self.gradient_tolerance * norm(&run.theta).max(1.0) {
                break Stop::Gradient;
            }
            if run.settled() {
                break Stop::Change;
            }
            if self.passes > 0.0 && run.passes >= self.passes {
                break Stop::Passes;
            }
            if !run.iterate() {
                // Old curvature may be what misleads: once more from steepest descent.
                if run.history.is_empty() {
                    break Stop::LineSearch;
                }
                run.history.clear();
            }
        };
        Ok(Minimum { theta: run.theta, stop, passes: run.passes })
    }
}

impl<'a> Run<'a> {
    fn new(method: &'a Lbfgs, problem: &'a Problem<'a>, mut state: State) -> Self {
        let reported = state.vectors.contains_key("gradient");
        let mut run = Run {
            method,
            problem,
            value: state.number("value"),
            gradient: state.take("gradient"),
            history: VecDeque::new(),
            values: (0..state.number("values") as usize)
                .map(|k| state.number(&format!("value.{k}")))
                .collect(),
            passes: state.number("passes"),
            theta: Vec::new(),
            pseudo: Vec::new(),
            direction: Vec::new(),
            trial: Vec::new(),
            trial_gradient: Vec::new(),
            reported,
        };
        for k in 0..state.number("pairs") as usize {
            let (s, y) = (state.take(&format!("s.{k}")), state.take(&format!("y.{k}")));
            run.history.push_back(Pair { rho: state.number(&format!("rho.{k}")), s, y });
        }
        run.theta = state.theta;
        if !reported {
            run.gradient = vec![0.0; run.theta.len()];
            run.value = problem.smooth(&run.theta, &mut run.gradient) + problem.l1_penalty(&run.theta);
            run.passes += 1.0;
            run.values.push_back(run.value);
        }
        run
    }

    fn state(&self) -> State {
        let mut state = State::start(self.theta.clone());
        state.vectors.insert("gradient".into(), self.gradient.clone());
        for (k, pair) in self.history.iter().enumerate() {
            state.vectors.insert(format!("s.{k}"), pair.s.clone());
            state.vectors.insert(format!("y.{k}"), pair.y.clone());
            state.numbers.insert(format!("rho.{k}"), pair.rho);
        }
        for (k, value) in self.values.iter().enumerate() {
            state.numbers.insert(format!("value.{k}"), *value);
        }
        for (name, number) in [
            ("value", self.value),
            ("passes", self.passes),
            ("pairs", self.history.len() as f64),
            ("values", self.values.len() as f64),
        ] {
            state.numbers.insert(name.into(), number);
        }
        state
    }

    /// Has the objective settled over the last `period` iterations?
    fn settled(&self) -> bool {
        let period = self.method.period;
        self.values.len() > period && {
            let before = self.values[self.values.len() - 1 - period];
            before - self.value <= self.method.tolerance * self.value.abs()
        }
    }

    /// The direction of steepest ascent: the gradient, or with L1 the pseudo-gradient.
    fn steepest(&self) -> &[f64] {
        if self.problem.l1 > 0.0 { &self.pseudo } else { &self.gradient }
    }

    /// With L1: pseudo ← the subgradient of steepest descent.
    fn update_pseudo_gradient(&mut self) {
        let l1 = self.problem.l1;
        if l1 > 0.0 {
            self.pseudo.clone_from(&self.gradient);
            for (g, &x) in self.pseudo.iter_mut().zip(&self.theta) {
                *g = match x {
                    x if x > 0.0 => *g + l1,
                    x if x < 0.0 => *g - l1,
                    _ if *g < -l1 => *g + l1,
                    _ if *g > l1 => *g - l1,
                    _ => 0.0,
                };
            }
        }
    }

    /// direction ← −H⁻¹ pseudo by the two-loop recursion.
    fn update_direction(&mut self) {
        let mut q = std::mem::take(&mut self.direction);
        q.clear();
        q.extend(self.steepest().iter().map(|g| -g));
        let mut a = vec![0.0; self.history.len()];
        for (pair, a) in self.history.iter().zip(&mut a).rev() {
            *a = pair.rho * dot(&pair.s, &q);
            axpy(-*a, &pair.y, &mut q);
        }
        let mut gamma = 1.0;
        if let Some(newest) = self.history.back() {
            gamma = 1.0 / (newest.rho * dot(&newest.y, &newest.y));
        }
        q.iter_mut().for_each(|q| *q *= gamma);
        for (pair, a) in self.history.iter().zip(&a) {
            let b = pair.rho * dot(&pair.y, &q);
            axpy(a - b, &pair.s, &mut q);
        }
        self.direction = q;
    }

    /// One step; false if no step decreases the objective.
    fn iterate(&mut self) -> bool {
        self.update_direction();
        let Run { problem, theta: old, gradient, pseudo, direction, trial, trial_gradient, .. } = self;
        let l1 = problem.l1;
        if l1 > 0.0 {
            // Keep only what agrees with steepest descent.
            for (d, g) in direction.iter_mut().zip(&*pseudo) {
                if *d * g >= 0.0 {
                    *d = 0.0;
                }
            }
        }
        let slope = dot(direction, if l1 > 0.0 { &*pseudo } else { gradient });
        if slope >= 0.0 {
            return false;
        }
        let first = if self.history.is_empty() { 1.0 / norm(direction) } else { 1.0 };
        trial.resize(old.len(), 0.0);
        trial_gradient.resize(old.len(), 0.0);
        let (mut value, mut evaluations) = (0.0, 0.0);
        let step = if l1 > 0.0 {
            let start = self.value;
            backtrack(first, |t| {
                let mut decrease = 0.0;
                for i in 0..old.len() {
                    let orthant = if old[i] != 0.0 { old[i] } else { -pseudo[i] };
                    let x = old[i] + t * direction[i];
                    trial[i] = if x * orthant > 0.0 { x } else { 0.0 };
                    decrease += pseudo[i] * (trial[i] - old[i]);
                }
                value = problem.smooth(trial, trial_gradient) + problem.l1_penalty(trial);
                evaluations += 1.0;
                value <= start + 1e-4 * decrease
            })
        } else {
            wolfe(self.value, slope, first, &mut |t| {
                for ((x, old), d) in trial.iter_mut().zip(&*old).zip(&*direction) {
                    *x = old + t * d;
                }
                value = problem.smooth(trial, trial_gradient);
                evaluations += 1.0;
                (value, dot(trial_gradient, direction))
            })
        };
        self.passes += evaluations;
        if step.is_none() || value >= self.value {
            return false;
        }
        self.remember();
        self.reported = false;
        self.value = value;
        self.values.push_back(value);
        if self.values.len() > self.method.period + 1 {
            self.values.pop_front();
        }
        true
    }

    /// Moves to the trial point and keeps the change, in the memory of the pair that it replaces.
    fn remember(&mut self) {
        let (mut s, mut y) = match self.history.len() >= self.method.memory {
            true => self.history.pop_front().map(|p| (p.s, p.y)).unwrap_or_default(),
            false => (Vec::new(), Vec::new()),
        };
        s.clear();
        s.extend(self.trial.iter().zip(&self.theta).map(|(new, old)| new - old));
        y.clear();
        y.extend(self.trial_gradient.iter().zip(&self.gradient).map(|(new, old)| new - old));
        let sy = dot(&s, &y);
        if sy > 1e-16 * dot(&y, &y) {
            self.history.push_back(Pair { rho: 1.0 / sy, s, y });
        }
        std::mem::swap(&mut self.theta, &mut self.trial);
        std::mem::swap(&mut self.gradient, &mut self.trial_gradient);
    }
}
