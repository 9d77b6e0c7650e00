//! Graph cuts: the best labelling of a binary model whose pairs prefer equal labels (Greig et al. 1989; Kolmogorov and Zabih 2004).

use super::Decoder;
use super::max_flow::MaxFlow;
use crate::error::GraphError;
use crate::graph::{FactorGraph, Fields, Label, Psi};
use crate::{Error, Result};

/// Exact on pairwise models of one or two labels whose tables are submodular, ψ(0,0) + ψ(1,1) ≥ ψ(0,1) + ψ(1,0), which
/// [`GraphCut::check`] tests. Other pairs are cut down to the nearest modular table, and the labelling is then an approximation.
/// Of equal labellings, the one with the fewest labels 1 wins. Scores beyond ±10²⁹⁰ count as that much, and NaN counts as 0, so that
/// a cut ends whatever the scores are.
#[derive(Clone, Copy, Debug, Default)]
pub struct GraphCut;

/// Scratch for [`GraphCut`].
#[derive(Debug, Default)]
pub struct Work {
    fields: Fields<f64>,
    flow: MaxFlow,
}

/// How much a submodular pair may fall short through rounding, relative to its largest entry.
const ROUNDING: f64 = 1e-12;

impl GraphCut {
    /// Rejects what cuts cannot solve exactly: cliques of more than two variables, variables of more than two labels, scores that are
    /// not finite, pairs that are not submodular.
    pub fn check(&self, graph: &FactorGraph, psi: Psi<f64>) -> Result<()> {
        let scopes = graph.cliques().scopes();
        check_pairwise(graph, "a graph cut")?;
        if let Some(var) = graph.cards().iter().position(|&card| card > 2) {
            return Err(GraphError::NotBinary { var, card: graph.cards()[var] }.into());
        }
        let mut fields = Fields::default();
        fields.gather(graph, psi);
        check_finite(graph, psi, &fields, "a graph cut")?;
        for c in 0..graph.cliques().len() {
            let (table, shape, vars) = (fields.table(graph, psi, c).re, scopes.shape(c), scopes.vars(c));
            if shape.rows == 2 && shape.columns == 2 {
                let [equal, unequal] =
                    [table[0] + table[shape.stride() + 1], table[1] + table[shape.stride()]];
                if equal < unequal - ROUNDING * equal.abs().max(unequal.abs()) {
                    return Err(GraphError::NotSubmodular { vars: [vars[0], vars[1]] }.into());
                }
            }
        }
        Ok(())
    }
}

/// Returns an error if a clique has more than two variables.
pub(super) fn check_pairwise(graph: &FactorGraph, engine: &'static str) -> Result<()> {
    let scopes = graph.cliques().scopes();
    match (0..scopes.len()).find(|&c| scopes.vars(c).len() > 2) {
        Some(c) => Err(GraphError::NotPairwise { engine, vars: scopes.vars(c).to_vec() }.into()),
        None => Ok(()),
    }
}

/// Rejects scores that are infinite or NaN, which result from weights that are too large.
pub(super) fn check_finite(
    graph: &FactorGraph,
    psi: Psi<f64>,
    fields: &Fields<f64>,
    engine: &'static str,
) -> Result<()> {
    let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
    let refuse = |vars: &[usize]| {
        Err(Error::Setting(format!(
            "the scores of variables {vars:?} are not finite, and {engine} cannot weigh them: the model's weights are too large; train \
             it again with a smaller `sigma`"
        )))
    };
    for (v, &card) in graph.cards().iter().enumerate() {
        let node = &fields.nodes.plane(0)[cliques.node(v)];
        if !node[..card].iter().all(|x| x.is_finite()) {
            return refuse(&[v]);
        }
    }
    for c in 0..cliques.len() {
        let (table, shape) = (fields.table(graph, psi, c).re, scopes.shape(c));
        let rows = table.chunks(shape.stride()).take(shape.rows);
        if !rows.flat_map(|row| &row[..shape.columns]).all(|x| x.is_finite()) {
            return refuse(scopes.vars(c));
        }
    }
    Ok(())
}

/// The largest score that counts: sums of as many as a machine holds are finite.
const LARGEST: f64 = 1e290;

/// A score that is a finite number, whatever it was.
fn bounded(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score.clamp(-LARGEST, LARGEST) }
}

impl Decoder for GraphCut {
    type Graph = FactorGraph;
    type Work = Work;

    fn argmax(&self, graph: &FactorGraph, psi: Psi<f64>, labels: &mut Vec<Label>, work: &mut Work) -> f64 {
        work.fields.gather(graph, psi);
        build(graph, &mut work.flow);
        // With two labels, the best move from label 0 everywhere to label 1 gives the best labelling.
        labels.clear();
        labels.resize(graph.cards().len(), 0);
        best_move(graph, psi, &work.fields, 1, labels, &mut work.flow);
        psi.score(graph, labels)
    }
}

/// Builds the flow network of a pairwise graph.
pub(super) fn build(graph: &FactorGraph, flow: &mut MaxFlow) {
    let scopes = graph.cliques().scopes();
    flow.build(graph.cards().len(), (0..scopes.len()).map(|c| [scopes.vars(c)[0], scopes.vars(c)[1]]));
}

/// Finds, by a cut, the best set of variables to change to the label `alpha` at once; the sink's side changes. The
/// energies of a pair are −ψ: A if both keep their labels, B if the second changes, C if the first changes, D if both
/// change. The capacity of the arc from the first to the second is B + C − A − D, which must not be negative. If it
/// is, it is set to 0. This raises B, so a move never looks better than it is (Rother et al. 2005).
pub(super) fn best_move(
    graph: &FactorGraph,
    psi: Psi<f64>,
    fields: &Fields<f64>,
    alpha: usize,
    labels: &mut [Label],
    flow: &mut MaxFlow,
) {
    let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
    let moves = |v: usize, labels: &[Label]| alpha < graph.cards()[v] && labels[v] as usize != alpha;
    flow.clear();
    for v in (0..labels.len()).filter(|&v| moves(v, labels)) {
        let node = &fields.nodes.plane(0)[cliques.node(v)];
        flow.add_terminal(v, bounded(node[labels[v] as usize]) - bounded(node[alpha]));
    }
    for c in 0..cliques.len() {
        let (table, vars, stride) =
            (fields.table(graph, psi, c).re, scopes.vars(c), scopes.shape(c).stride());
        let [y, z] = [labels[vars[0]] as usize, labels[vars[1]] as usize];
        let energy = |i: usize, j: usize| -bounded(table[i * stride + j]);
        match [moves(vars[0], labels), moves(vars[1], labels)] {
            [false, false] => {}
            [true, false] => flow.add_terminal(vars[0], energy(alpha, z) - energy(y, z)),
            [false, true] => flow.add_terminal(vars[1], energy(y, alpha) - energy(y, z)),
            [true, true] => {
                let [a, b, c_, d] = [energy(y, z), energy(y, alpha), energy(alpha, z), energy(alpha, alpha)];
                flow.add_terminal(vars[0], c_ - a);
                flow.add_terminal(vars[1], d - c_);
                flow.add_arc(c, (b + c_ - a - d).max(0.0));
            }
        }
    }
    flow.run();
    for v in 0..labels.len() {
        if moves(v, labels) && flow.on_sink_side(v) {
            labels[v] = alpha as Label;
        }
    }
}
