//! Log-linear models of short chains, fitted to counts. The exponential functions of EP2 and the small-table CRFs of
//! the studies use them.

use crate::Result;
use crate::ability::Ability;
use crate::graph::{Chain, Gradient, Graph, Label, NODES, PAIR, Psi, Shared, SharedSum, Table};
use crate::infer::{ForwardBackward, Inference};
use crate::math::{Array, Dual, Scalar};
use crate::optim::{Control, Lbfgs, Objective, Optimizer, Prior, Problem, Progress, State, Touched, Watch};

/// Σ_e (n_e·log Z_e(θ) − Σ_y n_e(y)·score_e(y)): the negative log-likelihood of counted label sequences, where the
/// labelling y was seen n_e(y) times with the input e. Equal inputs form one example, so the cost does not grow with
/// their number.
///
/// Weights come in rows: a node table has a row of `labels` weights, a pair table one of `[labels][labels]`.
#[derive(Clone, Debug)]
pub struct CountedChains {
    labels: usize,
    dim: usize,
    /// First weight of the pair table that all examples share, if there is one.
    shared: Option<usize>,
    examples: Vec<CountedChain>,
}

/// One input, with the labellings that were seen with it.
#[derive(Clone, Debug)]
struct CountedChain {
    chain: Chain,
    /// For each own table, the rows that are added to it, given by their first weights.
    rows: Vec<Vec<usize>>,
    /// The number of labellings, Σ_y n(y).
    total: f64,
    /// How often each weight takes part in the scores of the labellings that were seen.
    observed: Vec<(usize, f64)>,
}

impl CountedChains {
    /// An objective without examples. θ has `dim` weights. If all neighbours share a pair table, its weights begin at
    /// `shared`.
    pub fn new(labels: usize, dim: usize, shared: Option<usize>) -> Self {
        CountedChains { labels, dim, shared, examples: Vec::new() }
    }

    /// Adds an input of `len` positions. `rows` are the rows of its own tables in the order of [`Chain`]: those of the
    /// nodes and, if there are any, those of the pairs. Add the labellings seen with it by [`CountedChains::observe`].
    pub fn add(&mut self, len: usize, rows: Vec<Vec<usize>>) {
        let chain = Chain { own_pairs: rows.len() > len, ..Chain::first_order(len, self.labels) };
        debug_assert_eq!(rows.len(), chain.own_tables());
        self.examples.push(CountedChain { chain, rows, total: 0.0, observed: Vec::new() });
    }

    /// Records that the labelling was seen `n` times with the input that was added last.
    pub fn observe(&mut self, labels: &[Label], n: f64) {
        if let Some(example) = self.examples.last_mut() {
            example.observe(labels, n, self.shared);
        }
    }

    /// Minimises the objective with this prior by L-BFGS, from `start`, and returns the weights.
    pub fn fit(&self, start: Vec<f64>, prior: Prior, method: &Lbfgs) -> Result<Vec<f64>> {
        let problem = Problem { objective: self, prior, l1: 0.0 };
        Ok(method.minimize(&problem, State::start(start), &mut Unwatched)?.theta)
    }

    /// Returns the value over some examples and adds its gradient. θ and gradient have one vector per plane.
    fn pass<'a, S: Scalar>(
        &self,
        examples: impl Iterator<Item = &'a CountedChain>,
        theta: &[&[f64]],
        gradient: &mut [&mut [f64]],
    ) -> S {
        let weight = |i: usize| S::new(theta[0][i], theta.get(1).map_or(0.0, |v| v[i]));
        let mut tables: Shared<S> = [self.labels, 1, 1].map(|rows| Table::new(rows, self.labels)).into();
        let stride = tables[PAIR].stride;
        let place = |k: usize| k / self.labels * stride + k % self.labels;
        if let Some(first) = self.shared {
            for k in 0..self.labels * self.labels {
                tables[PAIR].log.set(place(k), weight(first + k));
            }
            tables[PAIR].update();
        }
        let mut sums = SharedSum::new(&tables);
        let (mut own, mut out) = (Array::<S>::default(), Array::<S>::default());
        let mut work = Default::default();
        let mut value = S::lift(0.0);
        for example in examples {
            let chain = &example.chain;
            own.reset(chain.own_len(), 0.0);
            chain.clear_own(own.plane_mut(0));
            example.visit(|entry, i| own.add(entry, weight(i)));
            out.reserve(chain.own_len());
            let mut dpsi = Gradient { own: out.slice_mut(0..chain.own_len()), shared: &mut sums };
            let psi = Psi { shared: &tables, own: &own };
            let log_z = ForwardBackward.log_z(chain, psi, example.total, &mut dpsi, &mut work).log_z;
            value += log_z * S::lift(example.total);
            example.visit(|entry, i| {
                for (plane, gradient) in gradient.iter_mut().enumerate() {
                    gradient[i] += out.plane(plane)[entry];
                }
            });
            for &(i, n) in &example.observed {
                value += weight(i) * S::lift(-n);
                gradient[0][i] -= n;
            }
        }
        sums.finish(&tables);
        if let Some(first) = self.shared {
            for k in 0..self.labels * self.labels {
                for (plane, gradient) in gradient.iter_mut().enumerate() {
                    gradient[first + k] += sums.0[PAIR].direct.plane(plane)[place(k)];
                }
            }
        }
        value
    }

    fn batch<'a>(&'a self, batch: &'a [u32]) -> impl Iterator<Item = &'a CountedChain> {
        batch.iter().map(|&example| &self.examples[example as usize])
    }
}

impl CountedChain {
    fn observe(&mut self, labels: &[Label], n: f64, shared: Option<usize>) {
        self.total += n;
        let chain = self.chain;
        let pair = |t: usize| labels[t - 1] as usize * chain.labels + labels[t] as usize;
        for (f, rows) in self.rows.iter().enumerate() {
            let entry = match chain.own_kind(f) {
                NODES => labels[f] as usize,
                _ => pair(f - chain.len + 1),
            };
            self.observed.extend(rows.iter().map(|first| (first + entry, n)));
        }
        if let Some(first) = shared {
            self.observed.extend((1..chain.len).map(|t| (first + pair(t), n)));
        }
    }

    /// Calls `each` with every entry of the own tables and each weight that is added to it.
    fn visit(&self, mut each: impl FnMut(usize, usize)) {
        let (labels, stride) = (self.chain.labels, self.chain.stride());
        for (f, rows) in self.rows.iter().enumerate() {
            let (offset, lines) = (self.chain.own_offset(f), self.chain.own_size(f) / stride);
            for first in rows {
                for line in 0..lines {
                    for j in 0..labels {
                        each(offset + line * stride + j, first + line * labels + j);
                    }
                }
            }
        }
    }
}

impl Objective for CountedChains {
    fn dim(&self) -> usize {
        self.dim
    }

    fn examples(&self) -> usize {
        self.examples.len()
    }

    fn provides(&self) -> &'static [Ability] {
        &[Ability::Smooth, Ability::HessVec]
    }

    fn value_grad(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.pass(self.examples.iter(), &[theta], &mut [gradient])
    }

    fn hess_vec(&self, theta: &[f64], v: &[f64], gradient: &mut [f64], hess_vec: &mut [f64]) -> f64 {
        self.pass::<Dual>(self.examples.iter(), &[theta, v], &mut [gradient, hess_vec]).re
    }

    /// Marks all weights: the models are small, and most rows belong to most examples.
    fn touched(&self, _: &[u32], touched: &mut Touched) {
        touched.start(1);
        touched.add(0, || 0..self.dim);
    }

    fn batch_grad(&self, batch: &[u32], theta: &[f64], _: &Touched, gradient: &mut Vec<f64>) -> f64 {
        gradient.clear();
        gradient.resize(self.dim, 0.0);
        self.pass(self.batch(batch), &[theta], &mut [gradient])
    }

    fn batch_hess_vec(
        &self,
        batch: &[u32],
        [theta, v]: [&[f64]; 2],
        _: &Touched,
        gradient: &mut Vec<f64>,
        hess_vec: &mut Vec<f64>,
    ) -> f64 {
        for vector in [&mut *gradient, &mut *hess_vec] {
            vector.clear();
            vector.resize(self.dim, 0.0);
        }
        self.pass::<Dual>(self.batch(batch), &[theta, v], &mut [gradient, hess_vec]).re
    }
}

/// An observer that ignores everything.
struct Unwatched;

impl Watch for Unwatched {
    fn step(&mut self, _: &Progress, _: &dyn Fn() -> State) -> Result<Control> {
        Ok(Control::Continue)
    }
}
