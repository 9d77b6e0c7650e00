//! Random small factor graphs for the law tests.
#![allow(dead_code)] // each test file uses a part of it

use crfkit::graph::{
    FactorGraph, FactorGraphBuilder, Gradient, Graph, Label, LabelBits, Psi, Shared, SharedSum, Table,
};
use crfkit::infer::{NodeMarginals, Outcome};
use crfkit::loss::{Gold, Loss};
use crfkit::math::random::Random;
use crfkit::math::{Array, Scalar, simd};

/// A factor graph with its log-potentials as plain numbers.
#[derive(Clone)]
pub struct Problem {
    pub graph: FactorGraph,
    /// Shared tables with their padding.
    pub shared: Vec<Vec<f64>>,
    pub own: Vec<f64>,
    pub gold: Vec<Label>,
    /// The sets that some gold labels stand for.
    pub sets: Vec<LabelBits>,
    pub weight: f64,
    /// The weights of variables; empty if all are 1.
    pub variables: Vec<f64>,
}

/// What an engine says.
pub struct Answer<S> {
    pub outcome: Outcome<S>,
    pub own: Array<S>,
    pub shared: SharedSum<S>,
    pub nodes: Array<S>,
}

impl Problem {
    /// Scores uniform in ±`range`.
    pub fn random(rng: &mut Random, graph: &FactorGraph, range: f64) -> Self {
        let mut draw = |n: usize| (0..n).map(|_| (rng.uniform() * 2.0 - 1.0) * range).collect::<Vec<f64>>();
        let shared = graph.shared_shapes().iter().map(|shape| draw(shape.size())).collect();
        let own = draw(graph.own_len());
        let gold = graph.cards().iter().map(|&card| rng.below(card) as Label).collect();
        Problem {
            graph: graph.clone(),
            shared,
            own,
            gold,
            sets: Vec::new(),
            weight: 1.0,
            variables: Vec::new(),
        }
    }

    /// The shared tables at x + ε·d.
    pub fn tables<S: Scalar>(&self, direction: Option<&Problem>, step: f64) -> Shared<S> {
        let shapes = self.graph.shared_shapes().iter().enumerate();
        shapes
            .map(|(id, shape)| {
                // A table that no factor of this graph reads has any shape.
                let mut table = Table::new(shape.rows.max(1), shape.columns.max(1));
                for i in (0..shape.size()).filter(|i| i % shape.stride() < shape.columns) {
                    let eps = direction.map_or(0.0, |d| d.shared[id][i] * step);
                    table.log.set(i, S::new(self.shared[id][i], eps));
                }
                table.update();
                table
            })
            .collect()
    }

    /// Is number `i` of the own array an entry, not padding?
    pub fn own_entries(&self) -> Vec<bool> {
        let mut own = vec![0.0; self.graph.own_len()];
        self.graph.clear_own(&mut own);
        own.iter().map(|&x| x != simd::PAD).collect()
    }

    /// The own tables at x + ε·d.
    pub fn own_array<S: Scalar>(&self, direction: Option<&Problem>, step: f64) -> Array<S> {
        let mut own = Array::zeros(self.graph.own_len());
        self.graph.clear_own(own.plane_mut(0));
        for (i, entry) in self.own_entries().into_iter().enumerate() {
            if entry {
                own.set(i, S::new(self.own[i], direction.map_or(0.0, |d| d.own[i] * step)));
            }
        }
        own
    }

    /// Runs an engine at x + ε·d.
    pub fn infer<S: Scalar, I: NodeMarginals>(
        &self,
        engine: &I,
        direction: Option<&Problem>,
        step: f64,
    ) -> Answer<S> {
        let (tables, array) = (self.tables::<S>(direction, step), self.own_array::<S>(direction, step));
        let psi = Psi { shared: &tables, own: &array };
        self.graph.check(psi).unwrap();
        // Garbage that the engine has to overwrite.
        let mut own = Array::zeros(array.len());
        own.plane_mut(0).fill(7.0);
        let mut shared = SharedSum::new(&tables);
        let mut work = Default::default();
        let range = 0..array.len();
        let mut gradient = Gradient { own: own.slice_mut(range), shared: &mut shared };
        let outcome = engine.log_z(&self.graph, psi, self.weight, &mut gradient, &mut work);
        shared.finish(&tables);
        Answer { outcome, own, shared, nodes: engine.node_marginals(&work).clone() }
    }

    /// Value and gradient of a loss at x + ε·d.
    pub fn evaluate<S: Scalar, L: Loss<Graph = FactorGraph>>(
        &self,
        loss: &L,
        direction: Option<&Problem>,
        step: f64,
    ) -> (S, Array<S>, SharedSum<S>) {
        let (tables, array) = (self.tables::<S>(direction, step), self.own_array::<S>(direction, step));
        let (mut own, mut shared) = (Array::zeros(array.len()), SharedSum::new(&tables));
        let range = 0..array.len();
        let value = loss.loss(
            &self.graph,
            Psi { shared: &tables, own: &array },
            Gold { labels: &self.gold, sets: &self.sets, weight: self.weight, variables: &self.variables },
            &mut Gradient { own: own.slice_mut(range), shared: &mut shared },
            &mut Default::default(),
        );
        shared.finish(&tables);
        (value, own, shared)
    }

    /// ⟨gradient, d⟩.
    pub fn slope<S: Scalar>(&self, own: &Array<S>, shared: &SharedSum<S>, d: &Problem) -> S {
        let mut sum = S::lift(0.0);
        for (i, entry) in self.own_entries().into_iter().enumerate() {
            if entry {
                sum += own.get(i) * S::lift(d.own[i]);
            }
        }
        for (id, table) in shared.0.iter().enumerate() {
            for i in 0..d.shared[id].len() {
                sum += table.direct.get(i) * S::lift(d.shared[id][i]);
            }
        }
        sum
    }

    /// x + h·d.
    pub fn moved(&self, d: &Problem, h: f64) -> Problem {
        let add = |x: &[f64], d: &[f64]| x.iter().zip(d).map(|(x, d)| x + h * d).collect();
        Problem {
            shared: self.shared.iter().zip(&d.shared).map(|(x, d)| add(x, d)).collect(),
            own: add(&self.own, &d.own),
            ..self.clone()
        }
    }
}

/// A random graph: up to `vars` variables of 1 … 4 labels, a few factors over up to `arity` of them. `forest` leaves out factors
/// that would close a loop, but may repeat the variables of an earlier one in another order.
pub fn random_graph(rng: &mut Random, vars: usize, arity: usize, forest: bool) -> FactorGraph {
    let n = rng.below(vars) + 1;
    let cards: Vec<usize> = (0..n).map(|_| if rng.below(8) == 0 { 1 } else { 2 + rng.below(3) }).collect();
    let mut builder = FactorGraphBuilder::new(cards.clone()).unwrap();
    let (mut kinds, mut ids) = (0, 0);
    let mut add = |builder: &mut FactorGraphBuilder, rng: &mut Random, vars: &[usize]| {
        if rng.below(3) > 0 {
            builder.add_own(kinds, vars).unwrap();
            kinds += 1;
        } else {
            // Half of the time the newest shared table, if it has the shape.
            let reuse = ids > 0 && rng.below(2) == 0 && builder.add_shared(ids - 1, vars).is_ok();
            if !reuse {
                builder.add_shared(ids, vars).unwrap();
                ids += 1;
            }
        }
    };
    let mut component: Vec<usize> = (0..n).collect();
    for v in 0..n {
        for _ in 0..rng.below(3) {
            add(&mut builder, rng, &[v]);
        }
    }
    for _ in 0..n + rng.below(n + 1) {
        let size = (2 + rng.below(arity.max(2) - 1)).min(n);
        let mut order: Vec<usize> = (0..n).collect();
        rng.shuffle(&mut order);
        let vars = &order[..size];
        if size < 2 {
            continue;
        }
        let mut roots: Vec<usize> = vars.iter().map(|&v| component[v]).collect();
        roots.sort_unstable();
        roots.dedup();
        if forest && roots.len() < size {
            continue;
        }
        for c in &mut component {
            if roots.contains(c) {
                *c = roots[0];
            }
        }
        add(&mut builder, rng, vars);
        if rng.below(4) == 0 {
            let mut again = vars.to_vec();
            rng.shuffle(&mut again);
            add(&mut builder, rng, &again);
        }
    }
    builder.build().unwrap()
}

/// The graph without variables.
pub fn empty_graph() -> FactorGraph {
    FactorGraphBuilder::new(Vec::new()).unwrap().build().unwrap()
}

/// |a − b| relative to their size, or absolute below 1.
pub fn difference(a: f64, b: f64) -> f64 {
    (a - b).abs() / a.abs().max(b.abs()).max(1.0)
}
