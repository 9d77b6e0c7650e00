//! Exact inference on any graph, by the fastest exact method for that graph.

use super::product::Product;
use super::{Inference, JunctionTree, NodeMarginals, Outcome, Tree};
use crate::Result;
use crate::graph::{FactorGraph, Fields, Gradient, Psi};
use crate::math::{Array, Scalar};

/// Exact inference. Chains of slices with the same columns, such as factorial chains, use product states in probability space, and forests
/// use [`Tree`]. Other graphs use [`JunctionTree`], and so do slices whose scores do not fit into probability space.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exact(pub JunctionTree);

impl Exact {
    /// Returns an error if the graph needs too much memory. Call it before [`Inference::log_z`].
    pub fn check(&self, graph: &FactorGraph) -> Result<()> {
        self.0.check(graph)
    }
}

/// Scratch for [`Exact`].
#[derive(Debug)]
pub struct Work<S: Scalar> {
    fields: Fields<S>,
    product: Product<S>,
    /// Marginals of the variables, if product states were used.
    nodes: Array<S>,
    tree: <Tree as Inference>::Work<S>,
    junction_tree: <JunctionTree as Inference>::Work<S>,
    last: Way,
}

/// The method used for the last graph.
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
