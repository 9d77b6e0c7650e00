//! Decoders by name.

use super::GridModel;
use crate::Result;
use crate::decode::{AlphaExpansion, Decoder, GraphCut, Icm, MaxProduct};
use crate::graph::{FactorGraph, Label, Psi};
use crate::infer::Engine;

/// How a labelling is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decode {
    /// The most probable label of each pixel by itself.
    #[default]
    MaxMarginal,
    /// Max-product belief propagation.
    MaxProduct,
    /// Iterated conditional modes.
    Icm,
    /// A graph cut: the best labelling, for two labels that attract each other.
    GraphCut,
    /// Graph cuts in turn, for any number of labels.
    AlphaExpansion,
}

impl Decode {
    /// Overwrites `labels` with the labelling of a decoder; not for [`Decode::MaxMarginal`], which is for engines.
    pub(super) fn argmax(self, graph: &FactorGraph, psi: Psi<f64>, labels: &mut Vec<Label>) -> Result<()> {
        fn run<D: Decoder<Graph = FactorGraph>>(
            decoder: D,
            graph: &FactorGraph,
            psi: Psi<f64>,
            labels: &mut Vec<Label>,
        ) {
            decoder.argmax(graph, psi, labels, &mut D::Work::default());
        }
        match self {
            Decode::MaxMarginal => unreachable!("an engine gives marginals"),
            Decode::MaxProduct => run(MaxProduct::default(), graph, psi, labels),
            Decode::Icm => run(Icm::default(), graph, psi, labels),
            Decode::GraphCut => {
                GraphCut.check(graph, psi)?;
                run(GraphCut, graph, psi, labels);
            }
            Decode::AlphaExpansion => run(AlphaExpansion::default(), graph, psi, labels),
        }
        Ok(())
    }
}

impl GridModel {
    /// The engine that it was trained with.
    pub fn engine(&self) -> Engine {
        self.settings.inference
    }
}
