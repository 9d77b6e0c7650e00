//! The value of the objective alone.

use super::index::SLOTS;
use super::potentials::{self, Gather};
use super::{Risk, gold};
use crate::graph::{Gradient, Graph, NODES, Psi, SharedSum};
use crate::math::Array;
use crate::model::Dense;
use crate::optim::Objective;

impl<G: Graph> Risk<G> {
    /// Returns Σ loss at θ and the number of impossible losses, example by example. It needs no [plan](super::links::Plan), which takes longer to make
    /// than one pass. The sum is NaN if the pass was cut short.
    pub(super) fn value_pass(&self, theta: &[f64]) -> (f64, usize) {
        let Risk { features, data, .. } = self;
        let mut shared = features.empty_tables();
        features.fill_tables(&[theta], &mut shared);
        let mut dense = Dense::default();
        let frequent = potentials::dense_rows::<f64>(features, data);
        let rows = &features.rows[NODES];
        dense.spread(rows, frequent, &[theta], |tables, size, task| self.stretches(tables, size, task));
        let gather = Gather { dense: &dense, rare: u32::MAX };
        let size = data.len().div_ceil(SLOTS).max(1);
        let parts = (0..data.len()).step_by(size).map(|first| first..data.len().min(first + size)).collect();
        let parts = self.threads.map(parts, |examples: std::ops::Range<usize>| {
            let (mut worker, mut sum) = ((self.loss.real)(), SharedSum::new(&shared));
            let (mut psi, mut dpsi) = (Array::default(), Array::default());
            let (mut value, mut impossible) = (0.0, 0);
            for example in examples {
                if self.stopped() {
                    return (f64::NAN, 0);
                }
                let graph = data.graph(example);
                let len = graph.own_len();
                potentials::start(data, example, &mut psi);
                gather.add(features, data, example, (0, theta), &mut psi.plane_mut(0)[..len]);
                dpsi.reserve(len);
                let out = &mut Gradient { own: dpsi.slice_mut(0..len), shared: &mut sum };
                let loss = worker.loss(graph, Psi { shared: &shared, own: &psi }, gold(data, example), out);
                impossible += usize::from(super::full::is_impossible(loss));
                value += loss;
            }
            (value, impossible)
        });
        parts.into_iter().fold((0.0, 0), |(value, all), (part, impossible)| (value + part, all + impossible))
    }

    /// Whether [`Risk::value_pass`] is the quicker way to the value.
    pub(super) fn value_is_quicker(&self) -> bool {
        self.plan.get().is_none() && self.data.dense().is_empty()
    }
}
