//! Marginals of single examples, for the methods that work on the dual problem.
//!
//! The vector of an example holds the marginals of its own tables, row by row without padding, then the expected
//! number of uses of each weight of the shared tables. Every pair of neighbours gets an own table, even an empty one, so
//! that its marginals are written out: H = Σ H(pairs) − Σ H(variables between two pairs).

use super::Risk;
use super::any_loss::Worker;
use super::batch::Local;
use crate::ability::Ability;
use crate::graph::{Gradient, Graph, Psi, Shared, SharedSum, TableRef};
use crate::loss::Gold;
use crate::math::Array;
use crate::optim::{DualProblem, Touched};
use std::ops::Range;

/// The dual side of a risk whose gradient is marginals minus known answer, with scratch memory.
pub(super) struct Marginals<'a, G: Graph> {
    risk: &'a Risk<G>,
    psi: Array<f64>,
    dpsi: Array<f64>,
    worker: Box<dyn Worker<G, f64>>,
    local: Local,
    shared: Shared<f64>,
    sum: SharedSum<f64>,
    /// The number of pairs that each variable is in.
    pairs: Vec<f64>,
}

impl<'a, G: Graph> Marginals<'a, G> {
    /// `None` if the loss is not a likelihood, or pairs of neighbours do not determine the entropy of the graphs.
    pub(super) fn new(risk: &'a Risk<G>) -> Option<Self> {
        let shared = risk.features.empty_tables();
        let by_pairs =
            (0..risk.data.len()).all(|example| risk.data.graph(example).with_own_pairs().is_some());
        (by_pairs && risk.loss.gives.contains(&Ability::Dual)).then(|| Marginals {
            risk,
            psi: Array::default(),
            dpsi: Array::default(),
            worker: (risk.loss.real)(),
            local: Local::default(),
            sum: SharedSum::new(&shared),
            shared,
            pairs: Vec::new(),
        })
    }

    /// The example's graph with a table for every pair of neighbours.
    fn graph(&self, example: u32) -> G {
        let graph = self.risk.data.graph(example as usize);
        graph.with_own_pairs().unwrap_or_else(|| graph.clone())
    }

    /// The index of the first weight of the shared tables.
    fn first_shared(&self) -> usize {
        self.risk.features.first_shared_weight()
    }

    /// marginals ← dψ + the gold labels.
    fn write(&mut self, example: u32, marginals: &mut [f64]) {
        let graph = self.graph(example);
        let own = graph.own_len();
        let mut gradient = Gradient { own: self.dpsi.slice_mut(0..own), shared: &mut self.sum };
        gradient.add_labelling(&graph, self.risk.data.gold(example as usize), 1.0);
        self.sum.finish(&self.shared);
        let mut rest = &mut *marginals;
        let dpsi = self.dpsi.plane(0);
        own_rows(&graph, |row, _| copy(&dpsi[row.clone()], start_of(&mut rest, row.len())));
        rest.fill(0.0);
        let first = self.first_shared();
        self.risk.features.scatter_tables(&self.sum, 0, first, rest);
        self.sum.clear(&self.shared);
    }
}

impl<G: Graph> DualProblem for Marginals<'_, G> {
    fn size(&self, example: u32) -> usize {
        let mut size = self.risk.features.dim() - self.first_shared();
        own_rows(&self.graph(example), |row, _| size += row.len());
        size
    }

    fn weight(&self, example: u32) -> f64 {
        self.risk.data.weight(example as usize)
    }

    fn counting_numbers(&mut self, example: u32, counting: &mut [f64]) {
        let graph = self.graph(example);
        let pairs = &mut self.pairs;
        pairs.clear();
        pairs.resize(graph.vars(), 0.0);
        graph.for_each_factor(|factor| {
            if let (TableRef::Own(_), &[a, b]) = (factor.table, factor.vars) {
                pairs[a] += 1.0;
                pairs[b] += 1.0;
            }
        });
        let mut rest = counting;
        own_rows(&graph, |row, vars| {
            let c = match *vars {
                [v] => 1.0 - pairs[v],
                _ => 1.0,
            };
            start_of(&mut rest, row.len()).fill(c);
        });
        rest.fill(0.0);
    }

    fn gold_marginals(&mut self, example: u32, marginals: &mut [f64]) {
        self.dpsi.reset(self.graph(example).own_len(), 0.0);
        self.write(example, marginals);
    }

    fn marginals(&mut self, example: u32, theta: &[f64], touched: &Touched, marginals: &mut [f64]) -> f64 {
        let graph = self.graph(example);
        let Risk { features, data, .. } = self.risk;
        let e = example as usize;
        features.fill_tables(&[theta], &mut self.shared);
        self.local.start(features, touched, &[theta]);
        self.psi.reserve(graph.own_len());
        let sparse = &touched.occurrences()[features.dense_rows()..];
        self.local.add_rows((features, data, touched), &[theta], e, sparse, &mut self.psi);
        graph.clear_own(&mut self.psi.plane_mut(0)[data.graph(e).own_len()..graph.own_len()]);
        self.dpsi.reserve(graph.own_len());
        let value = self.worker.loss(
            &graph,
            Psi { shared: &self.shared, own: &self.psi },
            Gold::new(data.gold(e), 1.0),
            &mut Gradient { own: self.dpsi.slice_mut(0..graph.own_len()), shared: &mut self.sum },
        );
        self.write(example, marginals);
        data.weight(e) * value
    }

    fn project(&mut self, example: u32, x: &[f64], touched: &Touched, rows: &mut Vec<f64>) {
        let Risk { features, data, .. } = self.risk;
        let e = example as usize;
        let own = data.graph(e).own_len();
        self.local.start_gradient(features, touched);
        self.dpsi.reserve(own);
        let graph = self.graph(example);
        let (mut rest, dpsi) = (x, self.dpsi.plane_mut(0));
        own_rows(&graph, |row, _| {
            let (x, behind) = rest.split_at(row.len());
            rest = behind;
            if row.start < own {
                copy(x, &mut dpsi[row]);
            }
        });
        let sparse = &touched.occurrences()[features.dense_rows()..];
        self.local.take_rows((features, data, touched), e, sparse, self.dpsi.slice(0..own));
        self.local.pack(features, touched, 0, rows);
        rows.extend_from_slice(rest);
        let weight = data.weight(e);
        if weight != 1.0 {
            rows.iter_mut().for_each(|x| *x *= weight);
        }
    }
}

/// Calls `visit` with every row of the own tables, without its padding, and the variables of its table.
fn own_rows(graph: &impl Graph, mut visit: impl FnMut(Range<usize>, &[usize])) {
    graph.for_each_factor(|factor| {
        let (TableRef::Own(offset), Some((&last, others))) = (factor.table, factor.vars.split_last()) else {
            return;
        };
        let rows = others.iter().map(|&v| graph.card(v)).product();
        for i in 0..rows {
            let start = offset + i * factor.strides[0];
            visit(start..start + graph.card(last), factor.vars);
        }
    });
}

/// Splits the first `len` numbers off `rest`.
fn start_of<'a>(rest: &mut &'a mut [f64], len: usize) -> &'a mut [f64] {
    let (start, behind) = std::mem::take(rest).split_at_mut(len);
    *rest = behind;
    start
}

/// A row has only a few numbers, so a loop is faster than a call that copies.
fn copy(from: &[f64], to: &mut [f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}
