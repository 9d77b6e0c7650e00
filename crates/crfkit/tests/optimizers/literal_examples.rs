//! Methods that go from example to example are their recursions: Collins' perceptron, plain and averaged, and dual coordinate ascent. Every
//! labelling of every example is enumerated.

use crate::corpora;
use crate::enumerated;
use crate::objectives;
use crate::risks;

use crfkit::decode::Viterbi;
use crfkit::graph::{Chain, Label};
use crfkit::infer::ForwardBackward;
use crfkit::loss::{Likelihood, Perceptron};
use crfkit::math::random::Random;
use crfkit::math::vector::dot;
use crfkit::model::Keep;
use crfkit::optim::{
    Control, Mean, Objective, Optimizer, Prior, Problem, Progress, Schedule, Sdca, Sgd, State, Updates,
};
use crfkit::risk::Risk;
use crfkit::train::{Settings, TrainOptions, features};
use enumerated::Enumerated;
use objectives::{Look, batches, distance, minimize_from};
use risks::{ChainRisk, SMALL, Shape, labellings, risk};
use std::fmt::Write;

/// Collins 2002, figure 2: z = the best labelling of the next example; if it is not the gold one, θ ← θ + Φ(x, y) − Φ(x, z). Returns the
/// last weights, their mean over all examples of all passes, and the number of mistakes in each pass.
fn collins(
    examples: &[(f64, Vec<Vec<f64>>)],
    schedule: &Schedule,
    start: &[f64],
) -> (Vec<f64>, Vec<f64>, Vec<usize>) {
    let (mut theta, mut sum, mut mistakes) = (start.to_vec(), vec![0.0; start.len()], Vec::new());
    let order = batches(examples.len(), schedule);
    for pass in order.chunks(examples.len()) {
        let mut wrong = 0;
        for batch in pass {
            let [example] = batch[..] else { panic!("one example at a time") };
            let (weight, all) = &examples[example as usize];
            let mut best = 1;
            for k in 2..all.len() {
                // Ties go to the first: the last position counts most, and the smallest label wins.
                if dot(&all[k], &theta) > dot(&all[best], &theta) {
                    best = k;
                }
            }
            wrong += usize::from(all[best] != all[0]);
            for i in 0..theta.len() {
                theta[i] += weight * (all[0][i] - all[best][i]);
                sum[i] += theta[i];
            }
        }
        mistakes.push(wrong);
    }
    let steps = order.len() as f64;
    (theta, sum.iter().map(|x| x / steps).collect(), mistakes)
}

fn perceptron(risk: &ChainRisk) -> ChainRisk {
    Risk::new(Perceptron(Viterbi), risk.features().clone(), risk.data().clone(), 1).unwrap()
}

#[test]
fn the_perceptron_is_collins_with_and_without_the_average() {
    let shapes = [
        Shape { examples: 20, ..SMALL },
        Shape { examples: 20, keep: Keep::Observed, labels: 2, own_pairs: false, ..SMALL },
        // Values and example weights: no ties here.
        Shape { examples: 15, values: Some(-0.5), ..SMALL },
    ];
    for (seed, shape) in (1..).zip(shapes) {
        let likelihood = risk(seed, shape);
        let (examples, risk) = (labellings(&likelihood), perceptron(&likelihood));
        let problem = Problem { objective: &risk, prior: Prior::gaussian(f64::INFINITY), l1: 0.0 };
        let zero = vec![0.0; risk.dim()];
        let mut rng = Random::new(9);
        let somewhere: Vec<f64> = (0..risk.dim()).map(|_| rng.uniform() - 0.5).collect();
        for start in [zero, somewhere] {
            for updates in [Updates::Lazy, Updates::Dense] {
                let schedule = Schedule { batch: 1, passes: 6, seed: 3, updates, ..Schedule::default() };
                let (last, mean, mistakes) = collins(&examples, &schedule, &start);
                assert!(mistakes[0] > 5, "{mistakes:?}");
                let plain = Sgd::fixed(Some(1.0), schedule);
                let found = minimize_from(&plain, &problem, &start).unwrap().theta;
                let off = distance(&found, &last);
                assert!(off < 1e-10, "risk {seed}, {updates:?}: off by {off}");
                let averaged = Sgd { average_from: Some(0.0), ..plain };
                let found = minimize_from(&averaged, &problem, &start).unwrap().theta;
                let off = distance(&found, &mean);
                assert!(off < 1e-10, "averaged, risk {seed}, {updates:?}: off by {off}");
                assert!(distance(&last, &mean) > 0.1);
            }
        }
    }
}

/// The same from text to model, by the settings of the perceptron.
#[test]
fn the_settings_of_the_perceptron_are_collins() {
    let (mut text, mut rng) = (String::new(), Random::new(4));
    for _ in 0..15 {
        for _ in 0..1 + rng.below(4) {
            let (word, noise) = (rng.below(4), rng.below(4) == 0);
            let label = if noise { rng.below(3) } else { word % 3 };
            writeln!(text, "w{word} {word} L{label}").unwrap();
        }
        text.push('\n');
    }
    let corpus = corpora::column_corpus(&text, corpora::models::templates(), 1);
    for average in [false, true] {
        let settings = Settings { passes: Some(4), ..Settings::perceptron(average) };
        let rows = features(&corpus, &settings);
        let likelihood = Risk::new(Likelihood(ForwardBackward), rows, corpus.data.clone(), 1).unwrap();
        let schedule = Schedule { batch: 1, passes: 4, seed: settings.seed, ..Schedule::default() };
        let (last, mean, mistakes) =
            collins(&labellings(&likelihood), &schedule, &vec![0.0; likelihood.dim()]);
        assert!(mistakes[0] > 3 && mistakes[1] > 0, "{mistakes:?}");
        let (trained, _) = corpora::train(corpus.clone(), &settings, TrainOptions::default());
        let off = distance(&trained.model.weights, if average { &mean } else { &last });
        assert!(off < 1e-10, "average {average}: off by {off}");
    }
}

/// Marginals of one example: of each pair of neighbours, and of each position.
#[derive(Clone)]
struct Marginals {
    pairs: Vec<Vec<f64>>,
    nodes: Vec<Vec<f64>>,
    /// Aᵀμ: the expected features.
    features: Vec<f64>,
}

impl Marginals {
    /// Those of a distribution over labellings, in the order of [`labellings`].
    fn new(truth: &Enumerated, example: usize, chain: &Chain, p: &[f64]) -> Self {
        let label = |number: usize, t: usize| number / chain.labels.pow(t as u32) % chain.labels;
        let mut nodes = vec![vec![0.0; chain.labels]; chain.len];
        let mut pairs = vec![vec![0.0; chain.labels * chain.labels]; chain.len - 1];
        for (number, p) in p.iter().enumerate() {
            for t in 0..chain.len {
                nodes[t][label(number, t)] += p;
                if t > 0 {
                    pairs[t - 1][label(number, t - 1) * chain.labels + label(number, t)] += p;
                }
            }
        }
        Marginals { pairs, nodes, features: truth.expectation(example, p) }
    }

    fn answer(truth: &Enumerated, example: usize, chain: &Chain, gold: &[Label]) -> Self {
        let number: usize = (0..chain.len).map(|t| gold[t] as usize * chain.labels.pow(t as u32)).sum();
        let mut p = vec![0.0; truth.examples[example].2.len()];
        p[number] = 1.0;
        Marginals::new(truth, example, chain, &p)
    }

    /// self + γ·(other − self).
    fn towards(&self, other: &Marginals, gamma: f64) -> Marginals {
        let mix =
            |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + gamma * (b - a)).collect::<Vec<f64>>();
        let all = |a: &[Vec<f64>], b: &[Vec<f64>]| a.iter().zip(b).map(|(a, b)| mix(a, b)).collect();
        Marginals {
            pairs: all(&self.pairs, &other.pairs),
            nodes: all(&self.nodes, &other.nodes),
            features: mix(&self.features, &other.features),
        }
    }

    /// Σ over tables of c·f(own, the other's): c = 1 for pairs, and for positions 1 − the number of pairs that they are in.
    fn sum(&self, other: &Marginals, f: impl Fn(f64, f64) -> f64) -> f64 {
        let table = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| f(*a, *b)).sum::<f64>();
        let pairs: f64 = self.pairs.iter().zip(&other.pairs).map(|(a, b)| table(a, b)).sum();
        let n = self.nodes.len();
        let node = |t: usize| {
            let in_pairs = f64::from(t > 0) + f64::from(t + 1 < n);
            (1.0 - in_pairs) * table(&self.nodes[t], &other.nodes[t])
        };
        pairs + (0..n).map(node).sum::<f64>()
    }

    fn entropy(&self) -> f64 {
        self.sum(self, |p, _| if p > 0.0 { -p * p.ln() } else { 0.0 })
    }

    /// KL(self ‖ other).
    fn divergence(&self, other: &Marginals) -> f64 {
        self.sum(other, |p, q| if p > 0.0 { p * (p / q).ln() } else { 0.0 })
    }
}

/// The dual problem, all in the open.
struct Slow<'a> {
    truth: &'a Enumerated,
    mu: Vec<Marginals>,
    theta: Vec<f64>,
}

impl Slow<'_> {
    /// mean − σ² Σ w Aᵀ(μ − 1[y]), from nothing but μ.
    fn theta_of_marginals(&self) -> Vec<f64> {
        let prior = &self.truth.prior;
        let mut theta: Vec<f64> = (0..self.theta.len()).map(|i| prior.mean(i)).collect();
        for (mu, (weight, gold, _)) in self.mu.iter().zip(&self.truth.examples) {
            for (i, x) in theta.iter_mut().enumerate() {
                *x -= weight * (mu.features[i] - gold[i]) / prior.precision(i);
            }
        }
        theta
    }

    /// D = Σ w H(μ) − Σ (θ − mean)(θ + mean)/2σ².
    fn dual(&self) -> f64 {
        let prior = &self.truth.prior;
        let entropies =
            self.mu.iter().zip(&self.truth.examples).map(|(mu, (weight, ..))| weight * mu.entropy());
        let penalty = |i: usize| 0.5 * prior.precision(i) * (self.theta[i].powi(2) - prior.mean(i).powi(2));
        entropies.sum::<f64>() - (0..self.theta.len()).map(penalty).sum::<f64>()
    }

    /// Moves μ of an example towards its marginals at θ, as far as is best for D; returns KL(μ ‖ marginals at θ) before.
    fn step(&mut self, example: usize, chain: &Chain) -> f64 {
        let (_, p) = self.truth.probabilities(example, &self.theta);
        let (old, weight) = (self.mu[example].clone(), self.truth.examples[example].0);
        let new = Marginals::new(self.truth, example, chain, &p);
        let change: Vec<f64> =
            new.features.iter().zip(&old.features).map(|(new, old)| weight * (new - old)).collect();
        let prior = &self.truth.prior;
        let theta = |gamma: f64| -> Vec<f64> {
            (0..change.len()).map(|i| self.theta[i] - gamma * change[i] / prior.precision(i)).collect()
        };
        // dD/dγ, which falls: of the entropy and of the penalty.
        let slope = |gamma: f64| {
            let bend = old.sum(&new, |p, q| if p == q { 0.0 } else { -(q - p) * (p + gamma * (q - p)).ln() });
            weight * bend + dot(&theta(gamma), &change)
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if slope(middle) > 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        let gamma = 0.5 * (low + high);
        self.theta = theta(gamma);
        self.mu[example] = old.towards(&new, gamma);
        weight * old.divergence(&new)
    }
}

#[test]
fn dual_coordinate_ascent_takes_the_best_step_for_the_example_that_it_visits() {
    let shapes = [
        Shape { examples: 9, ..SMALL },
        Shape { examples: 9, values: Some(-0.5), own_pairs: false, ..SMALL },
    ];
    for (seed, shape) in (1..).zip(shapes) {
        let risk = risk(seed, shape);
        let first_pair = risk.features().first_pair_weight();
        let prior = Prior { sigma: 1.0, sigma_pairs: 0.7, first_pair, mean: Mean::Value(0.1) };
        let (truth, data) = (Enumerated::new(&risk, &prior), risk.data());
        let mu = (0..data.len()).map(|e| Marginals::answer(&truth, e, data.graph(e), data.gold(e))).collect();
        let mut slow = Slow { truth: &truth, mu, theta: vec![0.1; risk.dim()] };
        let problem = Problem { objective: &risk, prior: prior.clone(), l1: 0.0 };
        let (mut entropies, mut visits, mut again) = (vec![0.0; data.len()], Vec::new(), 0);
        let mut watch = Look(|progress: &Progress, state: &dyn Fn() -> State| {
            let state = state();
            let changed: Vec<usize> = (0..data.len())
                .filter(|&e| state.vectors["entropies"][e].to_bits() != f64::to_bits(entropies[e]))
                .collect();
            let [example] = changed[..] else { panic!("one example a step: {changed:?}") };
            entropies.clone_from(&state.vectors["entropies"]);
            let gap = slow.step(example, data.graph(example));
            let (at, count) = (example, visits.len());
            visits.push(example);
            let off = distance(&state.theta, &slow.theta);
            assert!(off < 1e-10, "step {count}: off by {off}");
            let off = distance(&slow.theta, &slow.theta_of_marginals());
            assert!(off < 1e-10, "step {count}: θ and μ are {off} apart");
            let entropy = truth.examples[at].0 * slow.mu[at].entropy();
            assert!((entropies[at] - entropy).abs() < 1e-10, "step {count}: entropy");
            assert!((state.vectors["gaps"][at] - gap).abs() < 1e-10, "step {count}: share of the gap");
            if let Some(objective) = progress.objective {
                let (value, _) = truth.value_grad(&slow.theta);
                assert!((objective - value).abs() < 1e-10);
                assert!((state.numbers["gap"] - (value - slow.dual())).abs() < 1e-10);
                again += 1;
            }
            Control::Continue
        });
        let method = Sdca { passes: 24, gap_tolerance: -1.0, ..Sdca::default() };
        let start = State::start(vec![5.0; risk.dim()]); // no matter
        method.minimize(&problem, start, &mut watch).unwrap();
        assert!(again > 8 && visits.len() > 8 * data.len(), "{again} looks, {} visits", visits.len());
        // At first each once.
        let mut first = visits[..data.len()].to_vec();
        first.sort_unstable();
        assert!(first.into_iter().eq(0..data.len()));
        let value = slow.truth.value_grad(&slow.theta).0;
        assert!(value - slow.dual() < 1e-2 * value, "it gets somewhere");
    }
}
