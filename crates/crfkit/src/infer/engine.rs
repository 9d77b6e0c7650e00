//! The engines on factor graphs, by name.

use super::{Exact, LoopyBp, MeanField, NodeMarginals, TreeReweighted};
use crate::graph::FactorGraph;
use crate::{Error, GraphError, Result};
use serde::{Deserialize, Serialize};

/// How marginals are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Exactly, as the graph allows; graphs that are too wide for a junction tree are refused.
    Exact,
    /// By loopy belief propagation.
    #[default]
    LoopyBp,
    /// By tree-reweighted belief propagation.
    Trw,
    /// By naive mean field.
    MeanField,
}

/// Something to do with an engine, whichever it is.
pub trait WithEngine {
    /// What comes out.
    type Out;
    /// Does it.
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
    pub fn check(self, graph: &FactorGraph) -> Result<()> {
        match self {
            Engine::Exact => Exact::default().check(graph).map_err(|error| match error {
                Error::Graph(wide @ GraphError::TooWide { .. }) => {
                    Error::Setting(format!("{wide} (--inference loopy-bp)"))
                }
                other => other,
            }),
            _ => Ok(()),
        }
    }

    /// Does something with the engine. Iterative ones stop at `tolerance`.
    pub fn with<W: WithEngine>(self, tolerance: f64, then: W) -> W::Out {
        match self {
            Engine::Exact => then.with(Exact::default()),
            Engine::LoopyBp => then.with(LoopyBp { tolerance, ..LoopyBp::default() }),
            Engine::Trw => then.with(TreeReweighted { tolerance, ..TreeReweighted::default() }),
            Engine::MeanField => then.with(MeanField { tolerance, ..MeanField::default() }),
        }
    }
}
