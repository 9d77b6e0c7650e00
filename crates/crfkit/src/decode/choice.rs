//! The decoders for factor graphs, selected by name.

use super::{AlphaExpansion, Decoder, ExactArgmax, GraphCut, Icm, MaxProduct};
use crate::Result;
use crate::graph::{FactorGraph, Label, Psi};

/// How a labelling is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decode {
    /// The best labelling as a whole: Viterbi on chains; on other graphs what the engine finds, exactly or by max-product.
    Best,
    /// The most probable label of each variable, independently.
    #[default]
    MaxMarginal,
    /// The best labelling, by a junction tree. Graphs that are too wide for it are rejected with an error.
    Exact,
    /// Max-product belief propagation.
    MaxProduct,
    /// Iterated conditional modes.
    Icm,
    /// A graph cut: the best labelling, for two labels whose pairs prefer equal labels.
    GraphCut,
    /// A series of graph cuts, for any number of labels.
    AlphaExpansion,
}

impl Decode {
    /// Overwrites `labels` with the decoder's labelling. The decoder must support the graph. Not for
    /// [`Decode::MaxMarginal`] and [`Decode::Best`], which need an inference engine.
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
            Decode::MaxMarginal | Decode::Best => unreachable!("these are the engine's"),
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
                AlphaExpansion::default().check_scores(graph, psi)?;
                run(AlphaExpansion::default(), graph, psi, labels);
            }
        }
        Ok(())
    }
}
