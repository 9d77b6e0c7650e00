//! The inference engines for factor graphs, selected by name.

use super::{
    DoubleLoop, Exact, JunctionTree, LoopyBp, MeanField, MessageSchedule, NodeMarginals, TreeReweighted,
};
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
    /// Belief propagation by a double loop, which always converges.
    DoubleLoop,
}

/// How iterative engines pass messages. A field without a value takes the engine's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Propagation {
    /// The largest number of iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<usize>,
    /// The share of the old message in the new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damping: Option<f64>,
    /// The order of the messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<MessageSchedule>,
    /// The largest change that counts as converged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// The number of additional random starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restarts: Option<usize>,
}

impl Propagation {
    /// The same, with this tolerance if none is given.
    pub(crate) fn or_to(self, tolerance: f64) -> Self {
        Propagation { tolerance: self.tolerance.or(Some(tolerance)), ..self }
    }

    /// Whether nothing is given.
    pub(crate) fn is_default(&self) -> bool {
        *self == Propagation::default()
    }

    /// Rejects numbers out of range.
    pub fn check(&self) -> Result<()> {
        let refuse = |what: &str| Err(Error::Setting(what.to_owned()));
        if self.iterations == Some(0) {
            return refuse("`bp_iterations` is 0, but it must be at least 1");
        }
        if self.damping.is_some_and(|x| !(0.0..1.0).contains(&x)) {
            return refuse("`damping` must be at least 0 and below 1");
        }
        if self.tolerance.is_some_and(|x| !(x > 0.0 && x < 1.0)) {
            return refuse("`bp_tolerance` must be above 0 and below 1");
        }
        Ok(())
    }

    /// Rejects settings that the engine does not have.
    pub(crate) fn check_for(&self, engine: Engine) -> Result<()> {
        use Engine::{DoubleLoop, LoopyBp, MeanField, Trw};
        let given: [(&str, bool, &[Engine]); 5] = [
            ("bp_iterations", self.iterations.is_some(), &[LoopyBp, Trw, MeanField, DoubleLoop]),
            ("damping", self.damping.is_some(), &[LoopyBp, Trw]),
            ("schedule", self.schedule.is_some(), &[LoopyBp]),
            ("bp_tolerance", self.tolerance.is_some(), &[LoopyBp, Trw, MeanField, DoubleLoop]),
            ("restarts", self.restarts.is_some(), &[LoopyBp, MeanField]),
        ];
        match given.iter().find(|(_, given, engines)| *given && !engines.contains(&engine)) {
            None => Ok(()),
            Some((name, _, engines)) => {
                let engines: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
                Err(Error::Setting(format!(
                    "`{name}` does not apply to `inference` {}, only to {}: leave it out",
                    engine.name(),
                    engines.join(", ")
                )))
            }
        }
    }
}

/// A computation that is generic over the engine.
pub trait WithEngine {
    /// The result of the computation.
    type Out;
    /// Runs the computation with this engine.
    #[doc(hidden)]
    fn with<I: NodeMarginals + Copy + 'static>(self, engine: I) -> Self::Out;
}

impl Engine {
    /// All engines.
    pub const ALL: [Engine; 5] =
        [Engine::Exact, Engine::LoopyBp, Engine::Trw, Engine::MeanField, Engine::DoubleLoop];

    /// The default tolerance of iterative engines: gradients are then as exact as line searches need them.
    pub const TOLERANCE: f64 = 1e-8;

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Exact => "exact",
            Engine::LoopyBp => "loopy-bp",
            Engine::Trw => "trw",
            Engine::MeanField => "mean-field",
            Engine::DoubleLoop => "double-loop",
        }
    }

    /// Returns an error if the engine cannot work on this graph.
    pub fn check(self, graph: &FactorGraph) -> Result<()> {
        self.check_within(graph, EXACT_MEMORY)
    }

    /// Like [`Engine::check`], where the tables of exact inference may take this many bytes.
    pub(crate) fn check_within(self, graph: &FactorGraph, max_bytes: usize) -> Result<()> {
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
        self.dispatch(Propagation::default(), IsExact)
    }

    /// Runs a computation with the engine. Settings in `how` that the engine does not have are ignored.
    #[doc(hidden)]
    pub fn dispatch<W: WithEngine>(self, how: Propagation, then: W) -> W::Out {
        let tolerance = how.tolerance.unwrap_or(Engine::TOLERANCE);
        match self {
            Engine::Exact => then.with(Exact::default()),
            Engine::LoopyBp => {
                let usual = LoopyBp::default();
                then.with(LoopyBp {
                    schedule: how.schedule.unwrap_or(usual.schedule),
                    damping: how.damping.unwrap_or(usual.damping),
                    max_iterations: how.iterations.unwrap_or(usual.max_iterations),
                    restarts: how.restarts.unwrap_or(usual.restarts),
                    tolerance,
                })
            }
            Engine::Trw => {
                let usual = TreeReweighted::default();
                then.with(TreeReweighted {
                    damping: how.damping.unwrap_or(usual.damping),
                    max_iterations: how.iterations.unwrap_or(usual.max_iterations),
                    tolerance,
                })
            }
            Engine::MeanField => {
                let usual = MeanField::default();
                then.with(MeanField {
                    max_iterations: how.iterations.unwrap_or(usual.max_iterations),
                    restarts: how.restarts.unwrap_or(usual.restarts),
                    tolerance,
                    ..usual
                })
            }
            Engine::DoubleLoop => {
                let usual = DoubleLoop::default();
                then.with(DoubleLoop {
                    max_iterations: how.iterations.unwrap_or(usual.max_iterations),
                    tolerance,
                })
            }
        }
    }
}
