//! Whether pseudolikelihood overweights edges by more than chance (smd-crf-2006 section 2.6): smd-pl has means of twenty draws and no standard
//! error. Designed after it had been run.

use super::grids::sites;
use super::smd_theory::PSEUDOLIKELIHOOD;
use crate::experiment::{Context, Experiment, Form, Outcome, Part, none};
use crate::graph_learning::paired;
use crfkit::Result;
use crfkit::graph::Label;
use crfkit::infer::JunctionTree;
use crfkit::loss::{Likelihood, Pseudolikelihood};
use crfkit::math::random::Random;
use crfkit::train::{Method, Settings};
use serde_json::json;

/// smd-crf-2006 section 2.6: the edge weights of PL and ML, with standard errors.
pub const EDGES: Experiment = Experiment {
    id: "smd-pl-draws",
    row: 114,
    part: Part::Study,
    title: "smd section 2.6: whether the edge weights of PL are larger than those of ML by more than chance, on samples with and without noise",
    version: 1,
    review: none,
    tolerance: "PL's mean edge weight is above ML's by more than two standard errors of the mean difference",
    settings: |form| json!({"grid": [SIDE, SIDE], "weights": TRUTH, "samples": samples(form), "draws": draws(form), "noise": NOISE, "sigma": 10}),
    run: edges,
    ..PSEUDOLIKELIHOOD
};

/// The node bias and the edge weight of the model from which samples are drawn, as in smd-pl.
const TRUTH: [f64; 2] = [0.1, 0.4];
const SIDE: usize = 4;
/// The share of labels that are replaced at random. With noise no weights of the model give the samples' distribution.
const NOISE: [f64; 2] = [0.0, 0.2];

fn samples(form: Form) -> &'static [usize] {
    form.pick(&[10, 30, 100], &[5])
}

fn draws(form: Form) -> u64 {
    form.pick(200, 2)
}

/// Samples of an Ising grid, drawn from the table of all labellings; a share of the labels is then drawn again, uniformly.
fn draw(random: &mut Random, n: usize, noise: f64) -> Vec<Vec<Label>> {
    let count = SIDE * SIDE;
    let spin = |state: usize, i: usize| if state >> i & 1 == 1 { 1.0 } else { -1.0 };
    let score = |state: usize| {
        let mut sum = 0.0;
        for i in 0..count {
            sum += TRUTH[0] * spin(state, i);
            if i % SIDE + 1 < SIDE {
                sum += TRUTH[1] * spin(state, i) * spin(state, i + 1);
            }
            if i + SIDE < count {
                sum += TRUTH[1] * spin(state, i) * spin(state, i + SIDE);
            }
        }
        sum
    };
    let mut total = 0.0;
    let cumulative: Vec<f64> = (0..1usize << count)
        .map(|state| {
            total += score(state).exp();
            total
        })
        .collect();
    let mut one = || {
        let u = random.uniform() * total;
        let state = cumulative.partition_point(|&c| c <= u).min((1 << count) - 1);
        let mut label = |i: usize| match random.uniform() < noise {
            true => random.below(2) as Label,
            false => (state >> i & 1) as Label,
        };
        (0..count).map(&mut label).collect()
    };
    (0..n).map(|_| one()).collect()
}

fn edges(context: &Context) -> Result<Outcome> {
    let settings = Settings { optimizer: Method::Lbfgs, sigma: 10.0, ..Settings::default() };
    let mut outcome = Outcome::default();
    for noise in NOISE {
        for &n in samples(context.form) {
            (context.say)(&format!("noise {noise}, {n} samples"));
            let mut weights = [Vec::new(), Vec::new()];
            for k in 0..draws(context.form) {
                let labels = draw(&mut Random::stream(2, 1000 * n as u64 + k), n, noise);
                let task = sites(SIDE, &labels)?;
                let zeros = vec![0.0; task.features.dim()];
                let exact = Likelihood(JunctionTree::default());
                let ml = task.learn(exact, &settings, zeros.clone(), &|_| 0.0)?.theta;
                let pl = task.learn(Pseudolikelihood::default(), &settings, zeros, &|_| 0.0)?.theta;
                weights[0].push(ml[1]);
                weights[1].push(pl[1]);
            }
            let [more, error] = paired(&weights[1], &weights[0]);
            let what = format!("noise {noise}, {n} samples: edge weight of PL less that of ML");
            outcome.show(format!("{what}, mean"), "", more);
            outcome.show(format!("{what}, standard error of the mean"), "", error);
            outcome.claim(
                format!(
                    "noise {noise}, {n} samples: PL has larger edge weights, by more than two standard errors"
                ),
                more > 2.0 * error,
            );
        }
    }
    Ok(outcome)
}
