//! The marginal loss: the negative log-probability of each gold label by itself.

use super::{Gold, Loss};
use crate::ability::Ability;
use crate::graph::{Gradient, Graph, Psi, SharedSum, Table, TableRef, UNLABELLED};
use crate::infer::Inference;
use crate::math::{Array, Dual, Scalar};

/// ℓ = −Σ_v log μ_v(y_v), where μ are the marginals *of the engine*, exact or not (Domke 2013: the univariate
/// logistic loss). It trains the model for the engine that will be used, instead of a likelihood that the engine can
/// only approximate. Each variable counts as much as it weighs, and variables without a gold label do not count.
///
/// Marginals are the gradient of (the engine's) log Z, so ∂μ/∂ψ is a matrix of second derivatives and symmetric.
/// Therefore dℓ/dψ = ∂μ/∂ψ · dℓ/dμ is the derivative of all marginals in the direction dℓ/dμ, which takes one pass
/// with dual numbers. For iterative engines this holds at a fixed point: the gradient is exact if they have
/// converged. A Hessian-vector product would need third derivatives and is not provided.
///
/// Directions as long as 1/μ need a tight tolerance. Every variable with a gold label needs an own table over it
/// alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marginal<I>(pub I);

/// Smaller marginals are replaced by this, so that no direction overflows.
const SMALLEST: f64 = 1e-150;

/// Scratch for [`Marginal`].
#[derive(Debug)]
pub struct Work<S, W, D> {
    engine: W,
    marginals: Array<S>,
    /// Receives the first pass's gradient of the shared tables, which is not used.
    unread: SharedSum<S>,
    /// The second pass: ψ with the direction as its ε part, and the results.
    dual: D,
    shared: Vec<Table<Dual>>,
    own: Array<Dual>,
    slope: Array<Dual>,
    sums: SharedSum<Dual>,
    seen: Vec<bool>,
}

impl<S: Scalar, W: Default, D: Default> Default for Work<S, W, D> {
    fn default() -> Self {
        Work {
            engine: W::default(),
            marginals: Array::default(),
            unread: SharedSum::new(&[]),
            dual: D::default(),
            shared: Vec::new(),
            own: Array::default(),
            slope: Array::default(),
            sums: SharedSum::new(&[]),
            seen: Vec::new(),
        }
    }
}

impl<I: Inference> Loss for Marginal<I> {
    type Graph = I::Graph;
    type Work<S: Scalar> = Work<S, I::Work<S>, I::Work<Dual>>;

    fn provides(&self) -> &'static [Ability] {
        &[Ability::Smooth]
    }

    fn loss<S: Scalar>(
        &self,
        graph: &I::Graph,
        psi: Psi<S>,
        gold: Gold,
        out: &mut Gradient<S>,
        work: &mut Self::Work<S>,
    ) -> S {
        work.start(graph, psi);
        let range = 0..graph.own_len();
        let Work { engine, marginals, unread, dual, shared, own, slope, sums, seen } = work;
        let mut first = Gradient { own: marginals.slice_mut(range.clone()), shared: unread };
        self.0.log_z(graph, psi, 1.0, &mut first, engine);
        let mut value = S::lift(0.0);
        graph.for_each_factor(|factor| {
            if let (TableRef::Own(offset), &[v]) = (factor.table, factor.vars)
                && gold.labels[v] != UNLABELLED
                && !std::mem::replace(&mut seen[v], true)
            {
                let allowed = (0..graph.card(v)).filter(|&label| gold.allows(v, label));
                let entries = allowed.map(|label| offset + label * factor.strides[0]);
                let mu = entries.clone().fold(S::lift(0.0), |sum, at| sum + marginals.get(at));
                let mu = if mu.re() > SMALLEST { mu } else { S::lift(SMALLEST) };
                value = value - mu.ln() * S::lift(gold.variable_weight(v));
                entries.for_each(|at| own.plane_mut(1)[at] = -gold.variable_weight(v) / mu.re());
            }
        });
        let mut second = Gradient { own: slope.slice_mut(range.clone()), shared: sums };
        self.0.log_z(graph, Psi { shared, own }, gold.weight, &mut second, dual);
        for i in range {
            out.own.set(i, S::lift(slope.plane(1)[i]));
        }
        sums.finish(shared);
        for (out, sum) in out.shared.0.iter_mut().zip(&sums.0) {
            for (i, slope) in sum.direct.plane(1).iter().enumerate() {
                out.direct.add(i, S::lift(*slope));
            }
        }
        sums.clear(shared);
        value * S::lift(gold.weight)
    }
}

impl<S: Scalar, W, D> Work<S, W, D> {
    /// Allocates memory, and overwrites the ψ of the second pass with the real parts of ψ.
    fn start(&mut self, graph: &impl Graph, psi: Psi<S>) {
        // Shared tables change once per θ, and comparing them is much cheaper than inference.
        let same = |(ours, table): (&Table<Dual>, &Table<S>)| ours.log.plane(0) == table.log.plane(0);
        if self.shared.len() != psi.shared.len() || !self.shared.iter().zip(psi.shared).all(same) {
            self.shared = psi.shared.iter().map(Table::real).collect();
            self.unread = SharedSum::new(psi.shared);
            self.sums = SharedSum::new(&self.shared);
        }
        let len = graph.own_len();
        self.marginals.reserve(len);
        self.slope.reserve(len);
        self.own.reserve(len);
        self.own.plane_mut(0)[..len].copy_from_slice(&psi.own.plane(0)[..len]);
        self.own.plane_mut(1).fill(0.0); // all of it: engines look for the longest direction
        self.seen.clear();
        self.seen.resize(graph.vars(), false);
    }
}
