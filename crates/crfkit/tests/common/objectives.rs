//! Classical functions as sums of losses over examples, and watches for runs of the optimisers.
#![allow(dead_code)] // each test file uses a part of it

use crfkit::Result;
use crfkit::math::random::Random;
use crfkit::optim::Ability;
use crfkit::optim::{
    Control, Mean, Minimum, Objective, Optimizer, Prior, Problem, Progress, Schedule, State, Touched, Watch,
};
use std::ops::Range;
use std::sync::Mutex;

/// Loss of an example at θ; adds its gradient.
type Loss = dyn Fn(usize, &[f64], &mut [f64]) -> f64 + Send + Sync;

/// Adds the product of an example's Hessian at θ with a vector.
type Curvature = dyn Fn(usize, &[f64], &[f64], &mut [f64]) + Send + Sync;

/// Weights come in rows of this many, which are touched together.
pub const WIDTH: usize = 2;

/// Σ losses. Remembers the batches it was asked for.
pub struct Losses {
    dim: usize,
    /// The weights that each example uses.
    uses: Vec<Vec<usize>>,
    loss: Box<Loss>,
    curvature: Box<Curvature>,
    pub batches: Mutex<Vec<Vec<u32>>>,
}

impl Losses {
    pub fn new(
        dim: usize,
        uses: Vec<Vec<usize>>,
        loss: impl Fn(usize, &[f64], &mut [f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        let unknown = |_: usize, _: &[f64], _: &[f64], _: &mut [f64]| unreachable!("no curvature here");
        Losses { dim, uses, loss: Box::new(loss), curvature: Box::new(unknown), batches: Mutex::default() }
    }

    /// Losses of a score a·θ with sparse a: `link` gives loss, slope and curvature for a score and a target.
    fn linear(
        rows: Vec<Vec<(usize, f64)>>,
        targets: Vec<f64>,
        dim: usize,
        link: fn(f64, f64) -> [f64; 3],
    ) -> Self {
        let uses = rows.iter().map(|row| row.iter().map(|&(i, _)| i).collect()).collect();
        let along = |row: &[(usize, f64)], x: &[f64]| row.iter().map(|&(i, a)| a * x[i]).sum::<f64>();
        let (again, goals) = (rows.clone(), targets.clone());
        let curvature = move |example: usize, theta: &[f64], v: &[f64], hess_vec: &mut [f64]| {
            let row = &again[example];
            let [_, _, curvature] = link(along(row, theta), goals[example]);
            let slope = curvature * along(row, v);
            row.iter().for_each(|&(i, a)| hess_vec[i] += slope * a);
        };
        let loss = move |example: usize, theta: &[f64], gradient: &mut [f64]| {
            let row = &rows[example];
            let [loss, slope, _] = link(along(row, theta), targets[example]);
            row.iter().for_each(|&(i, a)| gradient[i] += slope * a);
            loss
        };
        Losses { curvature: Box::new(curvature), ..Losses::new(dim, uses, loss) }
    }

    /// Σ ½(a·θ − b)². The curvatures of the weights spread over a factor of about `condition`. Without `noise` one θ fits
    /// all examples, and the minimum is 0.
    pub fn least_squares(seed: u64, examples: usize, dim: usize, condition: f64, noise: f64) -> Self {
        let mut rng = Random::new(seed);
        let scale = |i: usize| condition.powf(-0.5 * i as f64 / (dim - 1) as f64);
        let rows = sparse_rows(&mut rng, examples, dim, scale);
        let fit =
            |row: &Vec<(usize, f64)>| row.iter().map(|&(i, a)| a * (1.0 + i as f64 / 10.0)).sum::<f64>();
        let targets = rows.iter().map(|row| fit(row) + noise * (rng.uniform() - 0.5)).collect();
        Losses::linear(rows, targets, dim, |score, b| [0.5 * (score - b).powi(2), score - b, 1.0])
    }

    /// Σ ln(1 + exp(−y a·θ)), y = ±1.
    pub fn logistic(seed: u64, examples: usize, dim: usize) -> Self {
        let mut rng = Random::new(seed);
        let rows = sparse_rows(&mut rng, examples, dim, |_| 1.0);
        let targets = (0..examples).map(|_| if rng.below(2) == 0 { 1.0 } else { -1.0 }).collect();
        Losses::linear(rows, targets, dim, |score, y| {
            let p = 1.0 / (1.0 + (y * score).exp());
            [(-y * score).exp().ln_1p(), -y * p, p * (1.0 - p)]
        })
    }

    /// Σ max(0, −y a·θ), y = the sign of a score that a secret θ gives: Collins' perceptron on data that it can separate.
    pub fn perceptron(seed: u64, examples: usize, dim: usize) -> Self {
        let mut rng = Random::new(seed);
        let rows = sparse_rows(&mut rng, examples, dim, |_| 1.0);
        let secret: Vec<f64> = (0..dim).map(|_| rng.uniform() - 0.5).collect();
        let sign = |row: &Vec<(usize, f64)>| row.iter().map(|&(i, a)| a * secret[i]).sum::<f64>().signum();
        let targets = rows.iter().map(sign).collect();
        Losses::linear(rows, targets, dim, |score, y| match y * score {
            right if right > 0.0 => [0.0; 3],
            wrong => [-wrong, -y, 0.0],
        })
    }

    /// (1 − x)² + 100 (y − x²)²: a curved valley with its minimum at (1, 1).
    pub fn rosenbrock() -> Self {
        Losses::new(2, vec![vec![0, 1]], |_, theta, gradient| {
            let (x, y) = (theta[0], theta[1]);
            gradient[0] += -2.0 * (1.0 - x) - 400.0 * x * (y - x * x);
            gradient[1] += 200.0 * (y - x * x);
            (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2)
        })
    }

    /// Dense gradient of a batch.
    pub fn batch_gradient(&self, batch: &[u32], theta: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; self.dim];
        batch.iter().for_each(|&e| {
            (self.loss)(e as usize, theta, &mut gradient);
        });
        gradient
    }

    /// Dense H·v of a batch.
    pub fn batch_curvature(&self, batch: &[u32], theta: &[f64], v: &[f64]) -> Vec<f64> {
        let mut hess_vec = vec![0.0; self.dim];
        batch.iter().for_each(|&e| (self.curvature)(e as usize, theta, v, &mut hess_vec));
        hess_vec
    }

    /// The rows that a batch touches, as ranges of weights.
    pub fn touched_rows(&self, batch: &[u32]) -> Vec<Range<usize>> {
        let mut rows: Vec<usize> =
            batch.iter().flat_map(|&e| &self.uses[e as usize]).map(|&i| i / WIDTH).collect();
        rows.sort_unstable();
        rows.dedup();
        rows.into_iter().map(|row| self.row(row)).collect()
    }

    fn row(&self, row: usize) -> Range<usize> {
        row * WIDTH..((row + 1) * WIDTH).min(self.dim)
    }
}

/// Each row uses four weights, low numbers more often; together they use all.
fn sparse_rows(
    rng: &mut Random,
    examples: usize,
    dim: usize,
    scale: impl Fn(usize) -> f64,
) -> Vec<Vec<(usize, f64)>> {
    (0..examples)
        .map(|e| {
            let mut weights = vec![e % dim];
            weights.extend((0..3).map(|_| rng.below(dim).min(rng.below(dim))));
            weights.sort_unstable();
            weights.dedup();
            weights
                .into_iter()
                .map(|i| (i, scale(i) * (0.5 + rng.uniform()) * if rng.below(3) == 0 { -1.0 } else { 1.0 }))
                .collect()
        })
        .collect()
}

impl Objective for Losses {
    fn provides(&self) -> &'static [Ability] {
        &[Ability::Smooth, Ability::HessVec]
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn examples(&self) -> usize {
        self.uses.len()
    }

    fn value_grad(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        (0..self.examples()).map(|e| (self.loss)(e, theta, gradient)).sum()
    }

    fn hess_vec(&self, _: &[f64], _: &[f64], _: &mut [f64], _: &mut [f64]) -> f64 {
        unreachable!("no method here asks for curvature")
    }

    fn touched(&self, batch: &[u32], touched: &mut Touched) {
        let rows = self.dim.div_ceil(WIDTH);
        touched.start(rows + 1);
        // A row may be empty, and lie beyond the last weight.
        touched.add(rows, || self.dim..self.dim);
        for &i in batch.iter().flat_map(|&e| &self.uses[e as usize]) {
            touched.add(i / WIDTH, || self.row(i / WIDTH));
        }
    }

    fn batch_grad(&self, batch: &[u32], theta: &[f64], touched: &Touched, gradient: &mut Vec<f64>) -> f64 {
        self.batches.lock().unwrap().push(batch.to_vec());
        let mut dense = vec![0.0; self.dim];
        let value = batch.iter().map(|&e| (self.loss)(e as usize, theta, &mut dense)).sum();
        gradient.clear();
        gradient.extend(touched.weights().map(|i| dense[i]));
        value
    }

    fn batch_hess_vec(
        &self,
        batch: &[u32],
        [theta, v]: [&[f64]; 2],
        touched: &Touched,
        gradient: &mut Vec<f64>,
        hess_vec: &mut Vec<f64>,
    ) -> f64 {
        let dense = self.batch_curvature(batch, theta, v);
        hess_vec.clear();
        hess_vec.extend(touched.weights().map(|i| dense[i]));
        self.batch_grad(batch, theta, touched, gradient)
    }
}

/// A problem with one σ and no L1.
pub fn problem(objective: &Losses, sigma: f64) -> Problem<'_> {
    Problem { objective, prior: Prior::gaussian(sigma), l1: 0.0 }
}

/// A prior with a mean for each weight and a σ of its own from `first_pair` on.
pub fn uneven(dim: usize, sigma: f64, sigma_pairs: f64) -> Prior {
    let mut rng = Random::new(17);
    let mean = Mean::Vector((0..dim).map(|_| rng.uniform() - 0.5).collect());
    // A multiple of the width: a row has weights of one kind.
    Prior { sigma, sigma_pairs, first_pair: dim * 2 / 3 / WIDTH * WIDTH, mean }
}

/// The batches of a run, in order: they depend on seed and pass alone.
pub fn batches(examples: usize, schedule: &Schedule) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    for pass in 0..schedule.passes as u64 {
        let mut order: Vec<u32> = (0..examples as u32).collect();
        Random::stream(schedule.seed, pass).shuffle(&mut order);
        all.extend(order.chunks(schedule.batch).map(<[u32]>::to_vec));
    }
    all
}

/// A watch made of a closure.
pub struct Look<F>(pub F);

impl<F: FnMut(&Progress, &dyn Fn() -> State) -> Control> Watch for Look<F> {
    fn step(&mut self, progress: &Progress, state: &dyn Fn() -> State) -> Result<Control> {
        Ok((self.0)(progress, state))
    }
}

/// Runs from zero, unwatched.
pub fn minimize(method: &dyn Optimizer, problem: &Problem) -> Minimum {
    minimize_from(method, problem, &vec![0.0; problem.objective.dim()]).unwrap()
}

/// Runs unwatched.
pub fn minimize_from(method: &dyn Optimizer, problem: &Problem, theta: &[f64]) -> Result<Minimum> {
    let mut watch = Look(|_: &Progress, _: &dyn Fn() -> State| Control::Continue);
    method.minimize(problem, State::start(theta.to_vec()), &mut watch)
}

/// Losses and all penalties.
pub fn total(problem: &Problem, theta: &[f64]) -> f64 {
    problem.smooth(theta, &mut vec![0.0; theta.len()]) + problem.l1_penalty(theta)
}

/// The largest difference between two vectors.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
