//! Marginals of single examples, for the methods that work on the dual problem.
//!
//! The vector of an example is what its inference writes: the marginals of its own tables, then, for each weight of the shared
//! tables, the expected number of its uses. Where the joint entropy is wanted, every pair of neighbours gets an own table,
//! empty if need be, so that its marginals are written out: H = Σ H(pairs) − Σ H(variables between two pairs).

use super::Risk;
use super::batch::Local;
use crate::ability::Ability;
use crate::graph::{Gradient, Graph, Psi, Shared, SharedSum, TableRef};
use crate::loss::{Gold, Loss};
use crate::math::Array;
use crate::optim::{Dual, Entropy, Touched};

/// The dual side of a risk whose gradient is marginals minus known answer, with scratch memory.
pub(super) struct Marginals<'a, L: Loss> {
    risk: &'a Risk<L>,
    entropy: Entropy,
    psi: Array<f64>,
    dpsi: Array<f64>,
    work: L::Work<f64>,
    local: Local,
    shared: Shared<f64>,
    sum: SharedSum<f64>,
}

impl<'a, L: Loss> Marginals<'a, L> {
    /// `None` if the loss is no likelihood, or pairs of neighbours do not tell the entropy of the graphs.
    pub fn new(risk: &'a Risk<L>, entropy: Entropy) -> Option<Self> {
        let shared = risk.features.empty_tables();
        let by_pairs =
            (0..risk.data.len()).all(|example| risk.data.graph(example).with_own_pairs().is_some());
        (by_pairs && risk.loss.gives().contains(&Ability::Dual)).then(|| Marginals {
            risk,
            entropy,
            psi: Array::default(),
            dpsi: Array::default(),
            work: Default::default(),
            local: Local::default(),
            sum: SharedSum::new(&shared),
            shared,
        })
    }

    /// The example's graph, with pair tables if their marginals are wanted.
    fn graph(&self, example: u32) -> L::Graph {
        let graph = self.risk.data.graph(example as usize);
        let joint = if self.entropy == Entropy::Joint { graph.with_own_pairs() } else { None };
        joint.unwrap_or_else(|| graph.clone())
    }

    /// First weight of the shared tables.
    fn first_shared(&self) -> usize {
        self.risk.features.first_shared_weight()
    }

    /// marginals ← dψ + the known answer.
    fn write(&mut self, example: u32, marginals: &mut [f64]) {
        let graph = self.graph(example);
        let own = graph.own_len();
        let mut gradient = Gradient { own: self.dpsi.slice_mut(0..own), shared: &mut self.sum };
        gradient.add_labelling(&graph, self.risk.data.gold(example as usize), 1.0);
        self.sum.finish(&self.shared);
        marginals[..own].copy_from_slice(&self.dpsi.plane(0)[..own]);
        marginals[own..].fill(0.0);
        let first = self.first_shared();
        self.risk.features.scatter_tables(&self.sum, 0, first, &mut marginals[own..]);
        self.sum.clear(&self.shared);
    }
}

impl<L: Loss> Dual for Marginals<'_, L> {
    fn size(&self, example: u32) -> usize {
        self.graph(example).own_len() + self.risk.features.dim() - self.first_shared()
    }

    fn weight(&self, example: u32) -> f64 {
        self.risk.data.weight(example as usize)
    }

    fn counting(&mut self, example: u32, counting: &mut [f64]) {
        let graph = self.graph(example);
        let joint = self.entropy == Entropy::Joint;
        counting.fill(0.0);
        // How many pairs each variable is in.
        let mut pairs = vec![0.0; graph.vars()];
        graph.for_each_factor(|factor| match (factor.table, factor.vars) {
            (TableRef::Own(offset), &[a, b]) if joint => {
                pairs[a] += 1.0;
                pairs[b] += 1.0;
                for i in 0..graph.card(a) {
                    for j in 0..graph.card(b) {
                        counting[offset + i * factor.strides[0] + j * factor.strides[1]] = 1.0;
                    }
                }
            }
            _ => {}
        });
        graph.for_each_factor(|factor| {
            if let (TableRef::Own(offset), &[v]) = (factor.table, factor.vars) {
                for i in 0..graph.card(v) {
                    counting[offset + i * factor.strides[0]] = 1.0 - pairs[v];
                }
            }
        });
    }

    fn answer(&mut self, example: u32, marginals: &mut [f64]) {
        self.dpsi.reset(self.graph(example).own_len(), 0.0);
        self.write(example, marginals);
    }

    fn marginals(&mut self, example: u32, theta: &[f64], touched: &Touched, marginals: &mut [f64]) -> f64 {
        let graph = self.graph(example);
        let Risk { features, data, loss, .. } = self.risk;
        let e = example as usize;
        features.fill_tables(&[theta], &mut self.shared);
        self.local.start(features, touched, &[theta]);
        self.psi.reserve(graph.own_len());
        self.local.add_rows((features, data, touched), &[theta], e, touched.occurrences(), &mut self.psi);
        graph.clear_own(&mut self.psi.plane_mut(0)[data.graph(e).own_len()..graph.own_len()]);
        self.dpsi.reserve(graph.own_len());
        let value = loss.loss(
            &graph,
            Psi { shared: &self.shared, own: &self.psi },
            Gold { labels: data.gold(e), weight: 1.0 },
            &mut Gradient { own: self.dpsi.slice_mut(0..graph.own_len()), shared: &mut self.sum },
            &mut self.work,
        );
        self.write(example, marginals);
        data.weight(e) * value
    }

    fn project(&mut self, example: u32, x: &[f64], touched: &Touched, rows: &mut Vec<f64>) {
        let Risk { features, data, .. } = self.risk;
        let e = example as usize;
        let own = self.graph(example).own_len();
        self.local.start_gradient(features, touched);
        self.dpsi.reserve(own);
        self.dpsi.plane_mut(0)[..own].copy_from_slice(&x[..own]);
        self.local.take_rows((features, data, touched), e, touched.occurrences(), &mut self.dpsi);
        self.local.pack(features, touched, 0, rows);
        rows.extend_from_slice(&x[own..]);
        let weight = data.weight(e);
        if weight != 1.0 {
            rows.iter_mut().for_each(|x| *x *= weight);
        }
    }
}
