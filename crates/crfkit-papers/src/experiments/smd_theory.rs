//! smd-crf-2006 sections 2.6 and 5: what pseudolikelihood finds, and what the methods need from an objective.

use super::grids::{GridTask, shapes, sites};
use crate::experiment::{Context, Experiment, Form, Outcome, Part, none};
use crfkit::Result;
use crfkit::graph::Label;
use crfkit::infer::JunctionTree;
use crfkit::loss::{Likelihood, Pseudolikelihood};
use crfkit::math::random::Random;
use crfkit::optim::Ability;
use crfkit::optim::{
    Bfgs, Control, Objective, Optimizer, Prior, Problem, Progress, Schedule, Sgd, State, Touched, Watch,
};
use crfkit::risk::Risk;
use crfkit::train::{Method, Settings};
use serde_json::json;

/// smd-crf-2006 section 5: stochastic methods do not need the value of the objective.
pub const NO_VALUE: Experiment = Experiment {
    id: "smd-no-value",
    row: 113,
    title: "smd section 5: BFGS needs the value of the objective (log Z), stochastic methods do not",
    version: 1,
    data: &[],
    needs: &[],
    tolerance: "with a false value SGD finds the same weights to the bit; BFGS ends elsewhere",
    part: Part::Paper,
    review: none,
    inconsistent: None,
    settings: |form| json!({"shapes": shape_sizes(form), "noise": 0.5, "passes": 3, "eta0": 0.001}),
    run: no_value,
};
/// smd-crf-2006 section 2.6: pseudolikelihood overweights the edges.
pub const PSEUDOLIKELIHOOD: Experiment = Experiment {
    id: "smd-pl",
    row: 114,
    title: "smd section 2.6: pseudolikelihood overweights the edges, and finds the weights of the likelihood with much data",
    tolerance: "mean edge weight of PL above that of ML with the fewest samples; the distance falls to a quarter",
    settings: |form| json!({"grid": [4, 4], "weights": TRUTH, "samples": samples(form), "draws": draws(form), "sigma": 10}),
    run: pseudolikelihood,
    ..NO_VALUE
};
fn shape_sizes(form: Form) -> [usize; 3] {
    form.pick([20, 5, 32], [4, 2, 16])
}

/// An objective with a wrong value and correct gradients.
struct False<'a>(&'a dyn Objective);

impl Objective for False<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn examples(&self) -> usize {
        self.0.examples()
    }
    fn provides(&self) -> &'static [Ability] {
        self.0.provides()
    }
    fn value_grad(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.0.value_grad(theta, gradient);
        theta.iter().map(|x| 1e3 * x.sin()).sum()
    }
    fn hess_vec(&self, theta: &[f64], v: &[f64], gradient: &mut [f64], hess_vec: &mut [f64]) -> f64 {
        self.0.hess_vec(theta, v, gradient, hess_vec);
        0.0
    }
    fn touched(&self, batch: &[u32], touched: &mut Touched) {
        self.0.touched(batch, touched);
    }
    fn batch_grad(&self, batch: &[u32], theta: &[f64], touched: &Touched, gradient: &mut Vec<f64>) -> f64 {
        self.0.batch_grad(batch, theta, touched, gradient);
        0.0
    }
    fn batch_hess_vec(
        &self,
        batch: &[u32],
        point: [&[f64]; 2],
        touched: &Touched,
        gradient: &mut Vec<f64>,
        hess_vec: &mut Vec<f64>,
    ) -> f64 {
        self.0.batch_hess_vec(batch, point, touched, gradient, hess_vec);
        0.0
    }
}

struct Blind;

impl Watch for Blind {
    fn step(&mut self, _: &Progress, _: &dyn Fn() -> State) -> Result<Control> {
        Ok(Control::Continue)
    }
}

fn no_value(context: &Context) -> Result<Outcome> {
    let [train, test, side] = shape_sizes(context.form);
    let mut images = shapes(1, train + test, side, 0.5);
    let test = images.split_off(train);
    let grids = GridTask::new(&images, test)?;
    let risk =
        Risk::new(Pseudolikelihood::default(), grids.task.features.clone(), grids.task.data.clone(), 1)?;
    let run = |optimizer: &dyn Optimizer, objective: &dyn Objective| -> Result<Vec<f64>> {
        let problem = Problem { objective, prior: Prior::gaussian(1.0), l1: 0.0 };
        Ok(optimizer.minimize(&problem, State::start(grids.start.clone()), &mut Blind)?.theta)
    };
    let sgd = Sgd::fixed(Some(0.001), Schedule { batch: 1, passes: 3, ..Schedule::default() });
    let bfgs = Bfgs::default();
    let (false_value, mut outcome) = (False(&risk), Outcome::default());
    let same = run(&sgd, &risk)? == run(&sgd, &false_value)?;
    outcome.claim("SGD finds the same weights to the bit, whatever the value", same);
    let right = run(&bfgs, &risk)?;
    // It may also stop with an error.
    let distance = run(&bfgs, &false_value).map_or(f64::NAN, |wrong| {
        right.iter().zip(&wrong).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    });
    outcome.show("distance between BFGS's weights with the true and with a false value", "", distance);
    outcome.claim("BFGS does not", distance.is_nan() || distance > 0.01);
    Ok(outcome)
}

/// The node bias and the edge weight of the model from which samples are drawn.
pub(super) const TRUTH: [f64; 2] = [0.1, 0.4];
pub(super) const SIDE: usize = 4;

fn samples(form: Form) -> &'static [usize] {
    form.pick(&[10, 30, 100, 300, 1000], &[5, 50])
}

fn draws(form: Form) -> u64 {
    form.pick(20, 2)
}

/// Samples of an Ising grid, drawn from the table of all labellings.
pub(super) fn draw(random: &mut Random, n: usize) -> Vec<Vec<Label>> {
    let sites = SIDE * SIDE;
    let spin = |state: usize, i: usize| if state >> i & 1 == 1 { 1.0 } else { -1.0 };
    let score = |state: usize| {
        let mut sum = 0.0;
        for i in 0..sites {
            sum += TRUTH[0] * spin(state, i);
            if i % SIDE + 1 < SIDE {
                sum += TRUTH[1] * spin(state, i) * spin(state, i + 1);
            }
            if i + SIDE < sites {
                sum += TRUTH[1] * spin(state, i) * spin(state, i + SIDE);
            }
        }
        sum
    };
    let mut total = 0.0;
    let cumulative: Vec<f64> = (0..1usize << sites)
        .map(|state| {
            total += score(state).exp();
            total
        })
        .collect();
    let mut one = || {
        let u = random.uniform() * total;
        let state = cumulative.partition_point(|&c| c <= u).min((1 << sites) - 1);
        (0..sites).map(|i| (state >> i & 1) as Label).collect()
    };
    (0..n).map(|_| one()).collect()
}

fn pseudolikelihood(context: &Context) -> Result<Outcome> {
    let (sizes, draws) = (samples(context.form), draws(context.form));
    let settings = Settings { optimizer: Method::Lbfgs, sigma: 10.0, ..Settings::default() };
    let mut outcome = Outcome::default();
    let (mut excess, mut distances) = (Vec::new(), Vec::new());
    for &n in sizes {
        let (mut edges, mut distance) = ([0.0; 2], 0.0);
        let mut more = Vec::new();
        for k in 0..draws {
            let labels = draw(&mut Random::stream(1, 1000 * n as u64 + k), n);
            let task = sites(SIDE, &labels)?;
            let zeros = vec![0.0; task.features.dim()];
            let ml =
                task.learn(Likelihood(JunctionTree::default()), &settings, zeros.clone(), &|_| 0.0)?.theta;
            let pl = task.learn(Pseudolikelihood::default(), &settings, zeros, &|_| 0.0)?.theta;
            edges[0] += ml[1] / draws as f64;
            edges[1] += pl[1] / draws as f64;
            more.push(pl[1] - ml[1]);
            distance += (ml[0] - pl[0]).hypot(ml[1] - pl[1]) / draws as f64;
        }
        outcome.show(format!("{n} samples: mean edge weight of ML"), "", edges[0]);
        outcome.show(format!("{n} samples: mean edge weight of PL"), "", edges[1]);
        outcome.show(format!("{n} samples: mean distance of the two"), "", distance);
        let mean = edges[1] - edges[0];
        let squares: f64 = more.iter().map(|x| (x - mean) * (x - mean)).sum();
        let error = (squares / (draws * (draws - 1).max(1)) as f64).sqrt();
        outcome.show(format!("{n} samples: standard error of the difference of the edge weights"), "", error);
        excess.push(mean / error);
        distances.push(distance);
    }
    outcome.claim(
        "with the fewest samples PL has larger edge weights, by more than two standard errors",
        excess.first() > Some(&2.0),
    );
    let falls = distances.first().zip(distances.last()).is_some_and(|(first, last)| *last < first / 4.0);
    outcome
        .claim("with the most samples the two have come together: a quarter of the distance or less", falls);
    Ok(outcome)
}
