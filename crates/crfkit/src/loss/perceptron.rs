//! Collins' perceptron (Collins 2002), with any decoder.

use super::{Gold, Loss};
use crate::ability::Ability;
use crate::decode::Decoder;
use crate::graph::{Gradient, Graph, Label, Psi, Table};
use crate::math::{Array, Scalar};

/// ℓ = score(best labelling) − score(gold labels), with the subgradient `1[best] − 1[gold]`. An online step with gain
/// 1 is Collins' update. Derivatives treat the best labelling as a constant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Perceptron<D>(pub D);

/// The loss of [`Perceptron`] plus a margin, where the best labelling is not the gold one. Passive-aggressive methods make it 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct MarginPerceptron<D> {
    /// Finds the best labelling.
    pub decoder: D,
    /// The margin.
    pub margin: Margin,
}

/// By how much the gold labels must be better than a labelling with d wrong labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Margin {
    /// By 1.
    One,
    /// By √d.
    #[default]
    Root,
    /// By d.
    Errors,
}

impl Margin {
    /// The margin for `wrong` wrong labels.
    pub fn of(self, wrong: usize) -> f64 {
        match self {
            _ if wrong == 0 => 0.0,
            Margin::One => 1.0,
            Margin::Root => (wrong as f64).sqrt(),
            Margin::Errors => wrong as f64,
        }
    }
}

/// Scratch for [`Perceptron`]: the real parts of ψ, which decoders take.
#[derive(Debug)]
pub struct Work<W> {
    decoder: W,
    labels: Vec<Label>,
    shared: Vec<Table<f64>>,
    own: Array<f64>,
}

impl<W: Default> Default for Work<W> {
    fn default() -> Self {
        Work { decoder: W::default(), labels: Vec::new(), shared: Vec::new(), own: Array::default() }
    }
}

impl<D: Decoder> Loss for Perceptron<D> {
    type Graph = D::Graph;
    type Work<S: Scalar> = Work<D::Work>;

    fn gives(&self) -> &'static [Ability] {
        &[Ability::Margin]
    }

    fn loss<S: Scalar>(
        &self,
        graph: &Self::Graph,
        psi: Psi<S>,
        gold: Gold,
        out: &mut Gradient<S>,
        work: &mut Self::Work<S>,
    ) -> S {
        excess(&self.0, graph, psi, &gold, out, work) * S::lift(gold.weight)
    }
}

impl<D: Decoder> Loss for MarginPerceptron<D> {
    type Graph = D::Graph;
    type Work<S: Scalar> = Work<D::Work>;

    fn gives(&self) -> &'static [Ability] {
        &[Ability::Margin]
    }

    fn loss<S: Scalar>(
        &self,
        graph: &Self::Graph,
        psi: Psi<S>,
        gold: Gold,
        out: &mut Gradient<S>,
        work: &mut Self::Work<S>,
    ) -> S {
        let excess = excess(&self.decoder, graph, psi, &gold, out, work);
        let wrong = work.labels.iter().zip(gold.labels).filter(|(found, gold)| found != gold).count();
        (excess + S::lift(self.margin.of(wrong))) * S::lift(gold.weight)
    }
}

/// score(best labelling) − score(gold labels), without the weight of the example, and its gradient, with it. The best labelling is left
/// in `work`.
fn excess<D: Decoder, S: Scalar>(
    decode: &D,
    graph: &D::Graph,
    psi: Psi<S>,
    gold: &Gold,
    out: &mut Gradient<S>,
    work: &mut Work<D::Work>,
) -> S {
    let Work { decoder, labels, shared, own } = work;
    // Shared tables change once per θ, and comparing them is much cheaper than decoding.
    let same = |(real, table): (&Table<f64>, &Table<S>)| real.log.plane(0) == table.log.plane(0);
    if shared.len() != psi.shared.len() || !shared.iter().zip(psi.shared).all(same) {
        *shared = psi.shared.iter().map(Table::real).collect();
    }
    let len = graph.own_len();
    own.reserve(len);
    own.plane_mut(0)[..len].copy_from_slice(&psi.own.plane(0)[..len]);
    decode.argmax(graph, Psi { shared, own }, labels, decoder);
    out.own.fill(0.0);
    out.add_labelling(graph, labels, gold.weight);
    out.add_labelling(graph, gold.labels, -gold.weight);
    psi.score(graph, labels) - psi.score(graph, gold.labels)
}
