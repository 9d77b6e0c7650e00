//! The log-potentials of one input, and all questions that can be asked about them.

mod chain;
mod graph;
mod graph_exact;
mod nbest;
mod once;
mod spans;

pub use chain::ChainAnswers;
pub use graph::GraphAnswers;

use crate::decode::Decode;
use crate::graph::{Graph, Label, LabelBits, LabelRules};
use crate::math::Array;
use crate::{Place, Result};
use std::sync::Arc;

/// The questions that can be asked about an input of any kind.
pub trait Answers {
    /// The graph of an input.
    type Graph: Graph;

    /// Loads a graph that was read at `place`; `fill` writes its log-potentials. It is an error if the engine cannot
    /// work on the graph.
    #[doc(hidden)]
    fn load(
        &mut self,
        graph: &Self::Graph,
        place: Place,
        fill: &mut dyn FnMut(&mut Array<f64>),
    ) -> Result<()>;
    /// The current graph.
    fn graph(&self) -> &Self::Graph;
    /// The label of every variable. It is an error if the decoder cannot work on the graph.
    fn labels(&mut self, decode: Decode) -> Result<&[Label]>;
    /// P(label of a variable | input), exact or approximate depending on the engine.
    fn probability_of(&mut self, variable: usize, label: Label) -> Result<f64>;
    /// The score of a labelling: the sum of its log-potentials.
    fn score(&self, labels: &[Label]) -> f64;
    /// Forbids a label of a variable, until the next graph is loaded. False if that is not possible, because no table of the graph's own
    /// is over the variable alone.
    #[doc(hidden)]
    fn forbid(&mut self, variable: usize, label: Label) -> bool;
    /// Allows only these labels of these variables of the current graph, for all answers.
    #[doc(hidden)]
    fn allow(&mut self, allowed: &[(usize, LabelBits)]) -> Result<()>;
    /// Imposes rules on the labels of all inputs from now on. Only chains have them.
    #[doc(hidden)]
    fn obey(&mut self, _rules: Option<Arc<LabelRules>>) {}
    /// Whether iterative inference converged; `None` if no answer about this input has needed it.
    fn converged(&self) -> Option<bool>;
}
