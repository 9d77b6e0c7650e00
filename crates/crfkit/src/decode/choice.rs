//! The decoders on factor graphs, by name.

use super::{AlphaExpansion, Decoder, ExactArgmax, GraphCut, Icm, MaxProduct};
use crate::Result;
use crate::graph::{FactorGraph, Label, Psi};

/// How a labelling is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decode {
    /// The most probable label of each variable by itself.
    #[default]
    MaxMarginal,
    /// The best labelling, by a junction tree; graphs that are too wide for it are refused.
    Exact,
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
    /// Overwrites `labels` with the labelling of a decoder, which must be able to work on the graph; not for
    /// [`Decode::MaxMarginal`], which is for engines.
    pub(crate) fn argmax(self, graph: &FactorGraph, psi: Psi<f64>, labels: &mut Vec<Label>) -> Result<()> {
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
            Decode::Exact => {
                ExactArgmax::default().check(graph)?;
                run(ExactArgmax::default(), graph, psi, labels);
            }
            Decode::MaxProduct => run(MaxProduct::default(), graph, psi, labels),
            Decode::Icm => run(Icm::default(), graph, psi, labels),
            Decode::GraphCut => {
                GraphCut.check(graph, psi)?;
                run(GraphCut, graph, psi, labels);
            }
            Decode::AlphaExpansion => {
                AlphaExpansion::default().check(graph)?;
                run(AlphaExpansion::default(), graph, psi, labels);
            }
        }
        Ok(())
    }
}
