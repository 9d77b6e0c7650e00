//! Exact inference on any graph, each by the fastest way there is.

use super::product::Product;
use super::{Inference, JunctionTree, NodeMarginals, Outcome, Tree};
use crate::Result;
use crate::graph::{FactorGraph, Fields, Gradient, Psi};
use crate::math::{Array, Scalar};

/// Exact inference: by product states on chains of slices ([`crate::graph::Slices`]) in probability space, by [`Tree`] on forests, by
/// [`JunctionTree`] elsewhere and where probability space could not hold the scores.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exact(pub JunctionTree);

impl Exact {
    /// Refuses a graph that would need too much memory. To be asked before [`Inference::log_z`].
    pub fn check(&self, graph: &FactorGraph) -> Result<()> {
        self.0.check(graph)
    }
}

/// Scratch of [`Exact`].
#[derive(Debug)]
pub struct Work<S: Scalar> {
    fields: Fields<S>,
    product: Product<S>,
    /// Marginals of the variables, of product states.
    nodes: Array<S>,
    tree: <Tree as Inference>::Work<S>,
    junction_tree: <JunctionTree as Inference>::Work<S>,
    last: Way,
}

/// Which way the last graph went.
#[derive(Clone, Copy, Debug)]
enum Way {
    Product,
    Tree,
    JunctionTree,
}

impl<S: Scalar> Default for Work<S> {
    fn default() -> Self {
        Work {
            fields: Fields::default(),
            product: Product::default(),
            nodes: Array::default(),
            tree: Default::default(),
            junction_tree: Default::default(),
            last: Way::Product,
        }
    }
}

impl Inference for Exact {
    type Graph = FactorGraph;
    type Work<S: Scalar> = Work<S>;
    const EXACT: bool = true;

    fn log_z<S: Scalar>(
        &self,
        graph: &FactorGraph,
        psi: Psi<S>,
        weight: f64,
        out: &mut Gradient<S>,
        work: &mut Work<S>,
    ) -> Outcome<S> {
        if let Some(slices) = graph.slices() {
            work.fields.gather(graph, psi);
            if work.product.start(graph, slices, psi, &work.fields) {
                work.last = Way::Product;
                let log_z = work.product.forward(slices, psi);
                work.product.backward(graph, slices, psi, weight, out, &mut work.nodes);
                return Outcome { log_z, converged: log_z.re().is_finite(), iterations: 1 };
            }
        }
        if graph.is_forest() {
            work.last = Way::Tree;
            return Tree.log_z(graph, psi, weight, out, &mut work.tree);
        }
        work.last = Way::JunctionTree;
        self.0.log_z(graph, psi, weight, out, &mut work.junction_tree)
    }
}

impl NodeMarginals for Exact {
    fn node_marginals<'a, S: Scalar>(&self, work: &'a Work<S>) -> &'a Array<S> {
        match work.last {
            Way::Product => &work.nodes,
            Way::Tree => Tree.node_marginals(&work.tree),
            Way::JunctionTree => self.0.node_marginals(&work.junction_tree),
        }
    }
}
