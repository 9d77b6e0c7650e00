//! Engines and decoders on factor graphs with their memory: what the taggers of such graphs share.

use crate::decode::{Decoder, ExactArgmax, MaxProduct};
use crate::graph::{FactorGraph, Gradient, Graph, Label, Psi, SharedSum};
use crate::infer::{Engine, Exact, Inference, LoopyBp, MeanField, NodeMarginals, TreeReweighted};
use crate::math::Array;

/// The memory of engines and decoders.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    exact: <Exact as Inference>::Work<f64>,
    loopy: <LoopyBp as Inference>::Work<f64>,
    trw: <TreeReweighted as Inference>::Work<f64>,
    mean_field: <MeanField as Inference>::Work<f64>,
    argmax: <ExactArgmax as Decoder>::Work,
    max_product: <MaxProduct as Decoder>::Work,
    own: Array<f64>,
}

impl Scratch {
    /// Overwrites `labels` with the best labelling that the engine finds. The engine must have accepted the graph.
    pub fn argmax(&mut self, engine: Engine, graph: &FactorGraph, psi: Psi<f64>, labels: &mut Vec<Label>) {
        match engine {
            Engine::Exact => ExactArgmax::default().argmax(graph, psi, labels, &mut self.argmax),
            _ => MaxProduct::default().argmax(graph, psi, labels, &mut self.max_product),
        };
    }

    /// Overwrites `nodes` with the marginals of all variables, laid out as [`crate::graph::Cliques::node`] says. The engine must have
    /// accepted the graph. Returns whether it settled.
    pub fn marginals(
        &mut self,
        engine: Engine,
        graph: &FactorGraph,
        psi: Psi<f64>,
        nodes: &mut Vec<f64>,
    ) -> bool {
        let own = &mut self.own;
        match engine {
            Engine::Exact => run(Exact::default(), graph, psi, own, &mut self.exact, nodes),
            Engine::LoopyBp => run(LoopyBp::default(), graph, psi, own, &mut self.loopy, nodes),
            Engine::Trw => run(TreeReweighted::default(), graph, psi, own, &mut self.trw, nodes),
            Engine::MeanField => run(MeanField::default(), graph, psi, own, &mut self.mean_field, nodes),
        }
    }
}

fn run<I: NodeMarginals>(
    engine: I,
    graph: &FactorGraph,
    psi: Psi<f64>,
    own: &mut Array<f64>,
    work: &mut I::Work<f64>,
    nodes: &mut Vec<f64>,
) -> bool {
    own.reserve(graph.own_len());
    let mut sums = SharedSum::new(psi.shared);
    let mut out = Gradient { own: own.slice_mut(0..graph.own_len()), shared: &mut sums };
    let outcome = engine.log_z(graph, psi, 1.0, &mut out, work);
    nodes.clear();
    nodes.extend_from_slice(&engine.node_marginals(work).plane(0)[..graph.cliques().node_len()]);
    outcome.converged
}
