//! Passive-aggressive steps.

use super::checks::{refuse_l1, refuse_prior, require};
use super::online::{self, Rule, Schedule, Step};
use super::restored::{Restored, finite};
use super::{Minimum, Optimizer, Prior, Problem, State, Watch};
use crate::Result;
use crate::ability::Ability;
use std::ops::Range;

/// Steps that are just long enough to bring the loss of an example to 0.
///
/// Idea: where the best labelling is not the gold one, the loss is ℓ = score(best) − score(gold) + margin, and its gradient g is the
/// difference of their features. The step θ ← θ − τ·g with τ = ℓ/‖g‖² makes the gold labels better by the margin. [`Slack`] bounds τ,
/// so that one wrong label cannot spoil everything. The result is the mean of all iterates, the start included, unless `average` is
/// false.
///
/// Needs: a loss with a margin. Parameters: C = 1, linear slack, the mean. There is no prior: C bounds the weights instead. The weight
/// of an example multiplies its loss, and so its C. References: Crammer et al. 2006, and CRFsuite, whose defaults these are.
#[derive(Clone, Debug)]
pub struct PassiveAggressive {
    /// C: the aggressiveness, which bounds a step.
    pub aggressiveness: f64,
    /// How C bounds a step.
    pub slack: Slack,
    /// Whether the result is the mean of the iterates.
    pub average: bool,
    /// Passes; one example at a time.
    pub schedule: Schedule,
}

/// How C bounds a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slack {
    /// Not at all: τ = ℓ/‖g‖² (PA).
    None,
    /// τ = min(C, ℓ/‖g‖²) (PA-I).
    #[default]
    Linear,
    /// τ = ℓ/(‖g‖² + 1/(2C)) (PA-II).
    Squared,
}

/// The schedule of CRFsuite's online methods: single examples, 100 passes.
pub(super) fn single() -> Schedule {
    Schedule { batch: 1, passes: 100, ..Schedule::default() }
}

impl Default for PassiveAggressive {
    fn default() -> Self {
        PassiveAggressive { aggressiveness: 1.0, slack: Slack::Linear, average: true, schedule: single() }
    }
}

impl Optimizer for PassiveAggressive {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Margin]
    }

    fn check(&self, prior: &Prior, l1: f64) -> Result<()> {
        let c = self.aggressiveness;
        require(c > 0.0 && c.is_finite(), "`aggressiveness`", c, "a positive number")?;
        refuse_l1("pa", l1)?;
        refuse_prior("pa", prior)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let mut rule = PaRule { method: self, loss: 0.0, steps: 0, sums: Vec::new(), mean: Vec::new() };
        online::run(problem, &self.schedule, &mut rule, state, watch)
    }
}

struct PaRule<'a> {
    method: &'a PassiveAggressive,
    /// The loss of the present example.
    loss: f64,
    /// Steps that have been made.
    steps: u32,
    /// Σ t·(θ_t − θ_{t−1}), with steps counted from 1. The mean of θ_0 to θ_T is θ_T − this/(T + 1).
    sums: Vec<f64>,
    /// That mean, after a settling.
    mean: Vec<f64>,
}

impl PaRule<'_> {
    /// τ.
    fn length(&self, gradient: &[f64]) -> f64 {
        let norm2: f64 = gradient.iter().map(|g| g * g).sum();
        let c = self.method.aggressiveness;
        match self.method.slack {
            // Labellings with the same features cannot be told apart.
            _ if norm2 == 0.0 || self.loss <= 0.0 => 0.0,
            Slack::None => self.loss / norm2,
            Slack::Linear => (self.loss / norm2).min(c),
            Slack::Squared => self.loss / (norm2 + 0.5 / c),
        }
    }
}

impl Rule for PaRule<'_> {
    fn refresh(&mut self, theta: &mut [f64], step: &Step) {
        step.touched.expect_rows(theta, 0);
    }

    fn loss(&mut self, loss: f64) {
        self.loss = loss;
    }

    fn update(&mut self, theta: &mut [f64], step: &Step, gradient: &[f64], _: &[f64]) {
        self.steps = step.done + 1;
        let tau = self.length(gradient);
        if tau == 0.0 {
            return;
        }
        for (row, mine, _) in step.touched.filled() {
            add(theta, row.clone(), -tau, &gradient[mine.clone()]);
            if self.method.average {
                add(&mut self.sums, row, -tau * f64::from(self.steps), &gradient[mine]);
            }
        }
    }

    fn settle(&mut self, theta: &mut [f64], _: &Step) {
        if self.method.average {
            let share = 1.0 / (f64::from(self.steps) + 1.0);
            self.mean.clear();
            self.mean.extend(theta.iter().zip(&self.sums).map(|(x, sum)| x - share * sum));
        }
    }

    fn averaged(&self) -> Option<Vec<f64>> {
        self.method.average.then(|| self.mean.clone())
    }

    fn remedy(&self) -> &'static str {
        "use `slack` linear with a smaller `aggressiveness`"
    }

    fn save(&self, state: &mut State) {
        state.vectors.insert("sums".into(), self.sums.clone());
    }

    fn restore(&mut self, steps: u32, state: &mut Restored) -> Result<()> {
        self.steps = steps;
        self.sums = state.vector("sums", state.theta().len(), 0.0, finite)?;
        Ok(())
    }
}

/// x ← x + scale·y, in a range of x.
fn add(x: &mut [f64], range: Range<usize>, scale: f64, y: &[f64]) {
    x[range].iter_mut().zip(y).for_each(|(x, y)| *x += scale * y);
}
