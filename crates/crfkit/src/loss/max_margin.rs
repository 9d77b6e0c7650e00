//! The structured hinge loss of max-margin Markov networks, with any decoder.

use super::cost::add_cost;
use super::perceptron::Work as Compared;
use super::{Gold, Loss};
use crate::ability::Ability;
use crate::decode::Decoder;
use crate::graph::{FIRST_SET, Gradient, Psi};
use crate::math::Scalar;

/// ℓ = max_y (score(y) + cost(y)) − score(gold labels), with cost(y) = Σ_v weight_v·[y_v ≠ gold_v]: margin rescaling with the
/// Hamming cost (Taskar, Guestrin and Koller 2004; Tsochantaridis et al. 2005). The gold labels must be better than every
/// other labelling by as much as that one costs. With a Gaussian prior it is the structured support vector machine, whose C
/// is σ².
///
/// The subgradient is `1[y] − 1[gold]`, and derivatives treat the best labelling y as a constant. A decoder that is not exact
/// may find a labelling below the gold one; the loss is then 0. Variables whose label is not known cost nothing, and take the
/// best labels beside the known ones (Yu and Joachims 2009). Every labelled variable needs an own table over it alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct MaxMargin<D>(pub D);

/// Scratch for [`MaxMargin`].
#[derive(Debug, Default)]
pub struct Work<W: Default> {
    compared: Compared<W>,
    seen: Vec<bool>,
}

impl<D: Decoder> Loss for MaxMargin<D> {
    type Graph = D::Graph;
    type Work<S: Scalar> = Work<D::Work>;

    fn provides(&self) -> &'static [Ability] {
        &[]
    }

    fn loss<S: Scalar>(
        &self,
        graph: &Self::Graph,
        psi: Psi<S>,
        gold: Gold,
        out: &mut Gradient<S>,
        work: &mut Self::Work<S>,
    ) -> S {
        let Work { compared, seen } = work;
        compared.start(&self.0, graph, psi, &gold);
        add_cost(graph, gold, &mut compared.own, seen);
        compared.decode(&self.0, graph);
        let labels = compared.labels.iter().zip(gold.labels).enumerate();
        let wrong = labels.filter(|(_, (found, gold))| **gold < FIRST_SET && found != gold);
        let cost: f64 = wrong.map(|(v, _)| gold.variable_weight(v)).sum();
        let value = compared.excess(graph, psi) + S::lift(cost);
        if value.re() <= 0.0 {
            out.own.fill(0.0);
            return S::lift(0.0);
        }
        compared.write_gradient(graph, gold.weight, out);
        value * S::lift(gold.weight)
    }
}
