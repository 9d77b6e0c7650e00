//! The likelihood when some labels are not known.

use super::cost::copy_planes;
use super::{Gold, Likelihood, Loss};
use crate::ability::Ability;
use crate::graph::{Factor, Gradient, Graph, Psi, TableRef, UNLABELLED};
use crate::infer::Inference;
use crate::math::{Array, Scalar};

/// ℓ = log Z − log Z(y), where Z(y) sums over the labellings that agree with what is known: the label of a variable, a set of labels of
/// which one is right, or nothing. This is the negative log-probability of what is known. If all labels are known, it is the
/// [`Likelihood`].
///
/// Z(y) is computed by the same engine on the same graph. What is known is imposed by lowering the potentials of the
/// other labels: in the own tables over it alone or, if it has none, in an own table over it and others. So in a graph with unlabelled
/// variables, every labelled variable needs an own table.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartialLikelihood<I>(I);

impl<I> PartialLikelihood<I> {
    /// The loss by this engine.
    pub fn new(engine: I) -> Self {
        PartialLikelihood(engine)
    }
}

/// Subtracted from the log-potential of each label that a variable is known not to have: far more than any labelling
/// could regain.
const FORBIDDEN: f64 = 1e6;

/// Scratch for [`PartialLikelihood`].
#[derive(Debug)]
pub struct Work<S, W> {
    engine: W,
    /// ψ with the known labels imposed, and −weight × its marginals.
    known: Array<S>,
    marginals: Array<S>,
    seen: Vec<bool>,
}

impl<S, W: Default> Default for Work<S, W> {
    fn default() -> Self {
        Work { engine: W::default(), known: Array::default(), marginals: Array::default(), seen: Vec::new() }
    }
}

impl<I: Inference + Copy> Loss for PartialLikelihood<I> {
    type Graph = I::Graph;
    type Work<S: Scalar> = Work<S, I::Work<S>>;

    fn provides(&self) -> &'static [Ability] {
        &[Ability::Smooth, Ability::HessVec]
    }

    fn loss<S: Scalar>(
        &self,
        graph: &I::Graph,
        psi: Psi<S>,
        gold: Gold,
        out: &mut Gradient<S>,
        work: &mut Self::Work<S>,
    ) -> S {
        let Work { engine, known, marginals, seen } = work;
        if gold.is_complete() {
            return Likelihood(self.0).loss(graph, psi, gold, out, engine);
        }
        let len = graph.own_len();
        make_known(graph, psi, gold, known, seen);
        marginals.reserve(len);
        let clamped = Psi { own: known, ..psi };
        let mut less = Gradient { own: marginals.slice_mut(0..len), shared: &mut *out.shared };
        let log_z_known = self.0.log_z(graph, clamped, -gold.weight, &mut less, engine).log_z;
        let log_z = self.0.log_z(graph, psi, gold.weight, out, engine).log_z;
        for i in 0..len {
            out.own.add(i, marginals.get(i));
        }
        (log_z - log_z_known) * S::lift(gold.weight)
    }
}

/// Overwrites `known` with ψ's own tables, in which each variable can only have the labels that it is known to have. `seen` is scratch.
pub(super) fn make_known<G: Graph, S: Scalar>(
    graph: &G,
    psi: Psi<S>,
    gold: Gold,
    known: &mut Array<S>,
    seen: &mut Vec<bool>,
) {
    copy_planes(psi.own, graph.own_len(), known);
    // Of variables without a label nothing is imposed.
    seen.clear();
    seen.extend(gold.labels.iter().map(|label| *label == UNLABELLED));
    graph.for_each_factor(|factor| {
        if let (TableRef::Own(offset), &[v]) = (factor.table, factor.vars)
            && gold.labels[v] != UNLABELLED
        {
            seen[v] = true;
            for label in (0..graph.card(v)).filter(|&label| !gold.allows(v, label)) {
                known.add(offset + label * factor.strides[0], S::lift(-FORBIDDEN));
            }
        }
    });
    if seen.iter().all(|seen| *seen) {
        return;
    }
    graph.for_each_factor(|factor| {
        let TableRef::Own(offset) = factor.table else { return };
        for (k, &v) in factor.vars.iter().enumerate() {
            if !std::mem::replace(&mut seen[v], true) {
                for_each_entry(graph, &factor, k, |label, entry| {
                    if !gold.allows(v, label) {
                        known.add(offset + entry, S::lift(-FORBIDDEN));
                    }
                });
            }
        }
    });
}

/// Calls `visit` with every entry of a factor's table, and with the label of the factor's k-th variable there.
fn for_each_entry<G: Graph>(graph: &G, factor: &Factor, k: usize, mut visit: impl FnMut(usize, usize)) {
    let entries: usize = factor.vars.iter().map(|&v| graph.card(v)).product();
    for number in 0..entries {
        let (mut rest, mut entry, mut of_k) = (number, 0, 0);
        for (i, (&v, &stride)) in factor.vars.iter().zip(factor.strides).enumerate() {
            let label = rest % graph.card(v);
            (rest, entry) = (rest / graph.card(v), entry + label * stride);
            if i == k {
                of_k = label;
            }
        }
        visit(of_k, entry);
    }
}
