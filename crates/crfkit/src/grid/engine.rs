//! Engines and decoders by name.

use super::GridModel;
use crate::Result;
use crate::decode::{AlphaExpansion, Decoder, GraphCut, Icm, MaxProduct};
use crate::graph::{FactorGraph, Label, Psi};
use crate::infer::{JunctionTree, LoopyBp, MeanField, NodeMarginals, TreeReweighted};
use serde::{Deserialize, Serialize};

/// How marginals are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Exactly, by a junction tree: for small images only.
    Exact,
    /// By loopy belief propagation.
    #[default]
    LoopyBp,
    /// By tree-reweighted belief propagation.
    Trw,
    /// By naive mean field.
    MeanField,
}

/// Iterative engines stop here: marginals need no more digits, and log Z, which is stationary at a fixed point, has twice as many.
const TOLERANCE: f64 = 1e-4;

/// Something to do with an engine, whichever it is.
pub(super) trait WithEngine {
    type Out;
    fn with<I: NodeMarginals + Copy + 'static>(self, engine: I) -> Self::Out;
}

impl Engine {
    /// All of them.
    pub const ALL: [Engine; 4] = [Engine::Exact, Engine::LoopyBp, Engine::Trw, Engine::MeanField];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Exact => "exact",
            Engine::LoopyBp => "loopy-bp",
            Engine::Trw => "trw",
            Engine::MeanField => "mean-field",
        }
    }

    /// Refuses a graph that it cannot work on.
    pub(super) fn check(self, graph: &FactorGraph) -> Result<()> {
        if self == Engine::Exact { JunctionTree::default().check(graph) } else { Ok(()) }
    }

    pub(super) fn with<W: WithEngine>(self, then: W) -> W::Out {
        match self {
            Engine::Exact => then.with(JunctionTree::default()),
            Engine::LoopyBp => then.with(LoopyBp { tolerance: TOLERANCE, ..LoopyBp::default() }),
            Engine::Trw => then.with(TreeReweighted { tolerance: TOLERANCE, ..TreeReweighted::default() }),
            Engine::MeanField => then.with(MeanField { tolerance: TOLERANCE, ..MeanField::default() }),
        }
    }
}

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
