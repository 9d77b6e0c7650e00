//! Whether pseudolikelihood overweights edges by more than chance (smd-crf-2006 section 2.6): smd-pl has means of twenty draws and no standard
//! error. Designed after it had been run.

use super::grids::sites;
use super::smd_theory::{PSEUDOLIKELIHOOD, SIDE, TRUTH, draw};
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
    version: 2,
    review: none,
    tolerance: "PL's mean edge weight is above ML's by more than two standard errors of the mean difference",
    settings: |form| json!({"grid": [SIDE, SIDE], "weights": TRUTH, "samples": samples(form), "draws": draws(form), "noise": NOISE, "sigma": 10}),
    run: edges,
    ..PSEUDOLIKELIHOOD
};

/// The share of labels that are replaced at random. With noise no weights of the model give the samples' distribution.
const NOISE: [f64; 2] = [0.0, 0.2];

fn samples(form: Form) -> &'static [usize] {
    form.pick(&[10, 30, 100], &[5])
}

fn draws(form: Form) -> u64 {
    form.pick(200, 2)
}

/// Samples of smd-pl, of which a share of the labels is drawn again, uniformly.
fn noisy(random: &mut Random, n: usize, noise: f64) -> Vec<Vec<Label>> {
    let mut samples = draw(random, n);
    for label in samples.iter_mut().flatten() {
        if random.uniform() < noise {
            *label = random.below(2) as Label;
        }
    }
    samples
}

fn edges(context: &Context) -> Result<Outcome> {
    let settings = Settings { optimizer: Method::Lbfgs, sigma: 10.0, ..Settings::default() };
    let mut outcome = Outcome::default();
    for noise in NOISE {
        for &n in samples(context.form) {
            (context.say)(&format!("noise {noise}, {n} samples"));
            let mut weights = [Vec::new(), Vec::new()];
            for k in 0..draws(context.form) {
                let labels = noisy(&mut Random::stream(2, 1000 * n as u64 + k), n, noise);
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
