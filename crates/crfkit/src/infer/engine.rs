//! The inference engines for factor graphs, selected by name.

use super::{Exact, JunctionTree, LoopyBp, MeanField, NodeMarginals, TreeReweighted};
use crate::graph::{EXACT_MEMORY, FactorGraph};
use crate::{Error, GraphError, Result};
use serde::{Deserialize, Serialize};

/// How marginals are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Engine {
    /// Exact inference, by the method that the graph allows. Graphs that are too wide for a junction tree are
    /// rejected with an error.
    Exact,
    /// Loopy belief propagation.
    #[default]
    LoopyBp,
    /// Tree-reweighted belief propagation.
    Trw,
    /// Naive mean field.
    MeanField,
}

/// A computation that is generic over the engine.
pub trait WithEngine {
    /// The result of the computation.
    type Out;
    /// Runs the computation with this engine.
    fn with<I: NodeMarginals + Copy + 'static>(self, engine: I) -> Self::Out;
}

impl Engine {
    /// All engines.
    pub const ALL: [Engine; 4] = [Engine::Exact, Engine::LoopyBp, Engine::Trw, Engine::MeanField];

    /// Where iterative engines stop unless told otherwise: gradients are then as exact as line searches want them.
    pub const TOLERANCE: f64 = 1e-8;

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Exact => "exact",
            Engine::LoopyBp => "loopy-bp",
            Engine::Trw => "trw",
            Engine::MeanField => "mean-field",
        }
    }

    /// Returns an error if the engine cannot work on this graph.
    pub fn check(self, graph: &FactorGraph) -> Result<()> {
        self.check_within(graph, EXACT_MEMORY)
    }

    /// Like [`Engine::check`], where the tables of exact inference may take this many bytes.
    pub fn check_within(self, graph: &FactorGraph, max_bytes: usize) -> Result<()> {
        match self {
            Engine::Exact => Exact(JunctionTree { max_bytes }).check(graph).map_err(|error| match error {
                Error::Graph(wide @ GraphError::TooWide { .. }) => {
                    Error::Setting(format!("{wide} (`inference` loopy-bp, or a larger `memory_limit`)"))
                }
                other => other,
            }),
            _ => Ok(()),
        }
    }

    /// Whether log Z and the marginals are exact.
    pub fn is_exact(self) -> bool {
        struct IsExact;
        impl WithEngine for IsExact {
            type Out = bool;
            fn with<I: NodeMarginals + Copy + 'static>(self, _: I) -> bool {
                I::EXACT
            }
        }
        self.with(Engine::TOLERANCE, IsExact)
    }

    /// Runs a computation with the engine. Iterative engines stop at `tolerance`.
    pub fn with<W: WithEngine>(self, tolerance: f64, then: W) -> W::Out {
        match self {
            Engine::Exact => then.with(Exact::default()),
            Engine::LoopyBp => then.with(LoopyBp { tolerance, ..LoopyBp::default() }),
            Engine::Trw => then.with(TreeReweighted { tolerance, ..TreeReweighted::default() }),
            Engine::MeanField => then.with(MeanField { tolerance, ..MeanField::default() }),
        }
    }
}
