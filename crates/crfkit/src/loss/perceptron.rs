//! Collins' perceptron (Collins 2002), with any decoder.

use super::partial::make_known;
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
    pub fn required(self, wrong: usize) -> f64 {
        match self {
            _ if wrong == 0 => 0.0,
            Margin::One => 1.0,
            Margin::Root => (wrong as f64).sqrt(),
            Margin::Errors => wrong as f64,
        }
    }
}

/// Scratch for losses that compare the best labelling with the gold one.
#[derive(Debug)]
pub struct Work<W> {
    decoder: W,
    /// The real parts of ψ, which decoders take.
    shared: Vec<Table<f64>>,
    pub(super) own: Array<f64>,
    /// The same with the known labels imposed.
    known: Array<f64>,
    seen: Vec<bool>,
    /// The best labelling.
    pub(super) labels: Vec<Label>,
    /// The gold labels. Where they are not known, they are the best ones beside the known ones.
    gold: Vec<Label>,
}

impl<W: Default> Default for Work<W> {
    fn default() -> Self {
        let (own, known) = (Array::default(), Array::default());
        let (shared, seen, labels, gold) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Work { decoder: W::default(), shared, own, known, seen, labels, gold }
    }
}

impl<W> Work<W> {
    /// Takes the real parts of ψ, and the gold labels. Labels that are not known are found by the decoder, as in a
    /// perceptron with hidden variables.
    pub(super) fn start<S: Scalar, D: Decoder<Work = W>>(
        &mut self,
        decode: &D,
        graph: &D::Graph,
        psi: Psi<S>,
        gold: &Gold,
    ) {
        let Work { decoder, shared, own, known, seen, gold: complete, .. } = self;
        // Shared tables change once per θ, and comparing them is much cheaper than decoding.
        let same = |(real, table): (&Table<f64>, &Table<S>)| real.log.plane(0) == table.log.plane(0);
        if shared.len() != psi.shared.len() || !shared.iter().zip(psi.shared).all(same) {
            *shared = psi.shared.iter().map(Table::real).collect();
        }
        let len = graph.own_len();
        own.reserve(len);
        own.plane_mut(0)[..len].copy_from_slice(&psi.own.plane(0)[..len]);
        match gold.is_complete() {
            true => {
                complete.clear();
                complete.extend_from_slice(gold.labels);
            }
            false => {
                make_known(graph, Psi { shared, own }, *gold, known, seen);
                decode.argmax(graph, Psi { shared, own: known }, complete, decoder);
            }
        }
    }

    /// Finds the best labelling of `own`.
    pub(super) fn decode<D: Decoder<Work = W>>(&mut self, decode: &D, graph: &D::Graph) {
        let Work { decoder, shared, own, labels, .. } = self;
        decode.argmax(graph, Psi { shared, own }, labels, decoder);
    }

    /// score(best labelling) − score(gold labels).
    pub(super) fn excess<G: Graph, S: Scalar>(&self, graph: &G, psi: Psi<S>) -> S {
        psi.score(graph, &self.labels) - psi.score(graph, &self.gold)
    }

    /// Sets the gradient to weight × (`1[best] − 1[gold]`).
    pub(super) fn write_gradient<G: Graph, S: Scalar>(&self, graph: &G, weight: f64, out: &mut Gradient<S>) {
        out.own.fill(0.0);
        out.add_labelling(graph, &self.labels, weight);
        out.add_labelling(graph, &self.gold, -weight);
    }
}

impl<D: Decoder> Loss for Perceptron<D> {
    type Graph = D::Graph;
    type Work<S: Scalar> = Work<D::Work>;

    fn provides(&self) -> &'static [Ability] {
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
        work.start(&self.0, graph, psi, &gold);
        work.decode(&self.0, graph);
        work.write_gradient(graph, gold.weight, out);
        work.excess(graph, psi) * S::lift(gold.weight)
    }
}

impl<D: Decoder> Loss for MarginPerceptron<D> {
    type Graph = D::Graph;
    type Work<S: Scalar> = Work<D::Work>;

    fn provides(&self) -> &'static [Ability] {
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
        work.start(&self.decoder, graph, psi, &gold);
        work.decode(&self.decoder, graph);
        work.write_gradient(graph, gold.weight, out);
        let excess = work.excess(graph, psi);
        let wrong = work.labels.iter().zip(gold.labels).filter(|(found, gold)| found != gold).count();
        (excess + S::lift(self.margin.required(wrong))) * S::lift(gold.weight)
    }
}
