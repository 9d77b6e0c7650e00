//! The negative conditional log-likelihood, with any inference engine.

use super::many::Likelihoods;
use super::{Gold, Loss, ManyLosses};
use crate::ability::Ability;
use crate::graph::{Gradient, Graph, Psi};
use crate::infer::{Inference, Near};
use crate::math::Scalar;

/// ℓ = log Z − score(y), dψ = `μ − 1[y]` (smd-crf-2006 eq. 7 and 8).
#[derive(Clone, Copy, Debug, Default)]
pub struct Likelihood<I>(pub I);

impl<I: Inference> Loss for Likelihood<I> {
    type Graph = I::Graph;
    type Work<S: Scalar> = I::Work<S>;

    fn provides(&self) -> &'static [Ability] {
        match (I::EXACT, I::Graph::OWN_PAIRS) {
            (true, true) => {
                &[Ability::Smooth, Ability::HessVec, Ability::Counts, Ability::Marginals, Ability::Dual]
            }
            (true, false) => &[Ability::Smooth, Ability::HessVec, Ability::Counts, Ability::Marginals],
            (false, _) => &[Ability::Smooth, Ability::HessVec],
        }
    }

    fn loss<S: Scalar>(
        &self,
        graph: &Self::Graph,
        psi: Psi<S>,
        gold: Gold,
        out: &mut Gradient<S>,
        work: &mut Self::Work<S>,
    ) -> S {
        let near = Near { labels: gold.labels, weight: gold.weight };
        let log_z = self.0.log_z_near(graph, psi, near, out, work).log_z;
        out.add_labelling(graph, gold.labels, -gold.weight);
        (log_z - psi.score(graph, gold.labels)) * S::lift(gold.weight)
    }

    fn many(&self) -> Option<Box<dyn ManyLosses<Self::Graph>>> {
        self.0.many().map(|engine| Box::new(Likelihoods(engine)) as _)
    }
}
