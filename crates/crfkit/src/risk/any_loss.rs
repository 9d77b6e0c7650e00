//! A loss behind pointers, so that the passes over the data are compiled once per kind of graph and number, not once per loss.

use crate::ability::Ability;
use crate::graph::{Gradient, Graph, Psi};
use crate::loss::{Gold, Loss, ManyLosses};
use crate::math::{Complex64, Dual, Scalar};
use std::sync::Arc;

/// A loss with its scratch memory, for numbers of one kind. It costs a virtual call per example.
pub(super) trait Worker<G: Graph, S: Scalar>: Send {
    /// Calls [`Loss::loss`] with this memory.
    fn loss(&mut self, graph: &G, psi: Psi<S>, gold: Gold, out: &mut Gradient<S>) -> S;
}

/// Makes a worker; each thread needs one of its own.
pub(super) type Maker<G, S> = Box<dyn Fn() -> Box<dyn Worker<G, S>> + Send + Sync>;

/// Makes a worker in single precision.
pub(super) type ManyMaker<G> = Box<dyn Fn() -> Option<Box<dyn ManyLosses<G>>> + Send + Sync>;

/// Any loss on graphs of one kind.
pub(super) struct AnyLoss<G: Graph> {
    /// What [`Loss::provides`] returns.
    pub gives: &'static [Ability],
    /// Makes workers for values and gradients.
    pub real: Maker<G, f64>,
    /// Makes workers for Hessian-vector products.
    pub dual: Maker<G, Dual>,
    /// Makes workers for Hessian-vector products by the complex step, if it was asked for: inference over complex numbers is then compiled
    /// for this loss as well.
    pub complex: Option<Maker<G, Complex64>>,
    /// Makes workers for values and gradients in single precision, if the loss supports it.
    pub many: ManyMaker<G>,
}

impl<G: Graph> AnyLoss<G> {
    /// The loss without complex numbers.
    pub(super) fn new(loss: impl Loss<Graph = G> + 'static) -> Self {
        AnyLoss::real_and_dual(&Arc::new(loss))
    }

    /// The loss with complex numbers in place of dual ones.
    pub(super) fn with_complex(loss: impl Loss<Graph = G> + 'static) -> Self {
        let loss = Arc::new(loss);
        AnyLoss { complex: Some(maker(&loss)), ..AnyLoss::real_and_dual(&loss) }
    }

    fn real_and_dual(loss: &Arc<impl Loss<Graph = G> + 'static>) -> Self {
        let many = loss.clone();
        AnyLoss {
            gives: loss.provides(),
            real: maker(loss),
            dual: maker(loss),
            complex: None,
            many: Box::new(move || many.many()),
        }
    }
}

struct Working<L: Loss, S: Scalar> {
    loss: Arc<L>,
    work: L::Work<S>,
}

impl<L: Loss, S: Scalar> Worker<L::Graph, S> for Working<L, S> {
    fn loss(&mut self, graph: &L::Graph, psi: Psi<S>, gold: Gold, out: &mut Gradient<S>) -> S {
        self.loss.loss(graph, psi, gold, out, &mut self.work)
    }
}

fn maker<L: Loss + 'static, S: Scalar>(loss: &Arc<L>) -> Maker<L::Graph, S> {
    let loss = loss.clone();
    Box::new(move || Box::new(Working { loss: loss.clone(), work: Default::default() }))
}
