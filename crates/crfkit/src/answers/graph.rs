//! The log-potentials of one factor graph, with engines, decoders and their memory.

use super::Answers;
use crate::decode::{Decode, Decoder, ExactArgmax, MaxProduct, max_node_marginal};
use crate::graph::{
    EXACT_MEMORY, FORBIDDEN, FactorGraph, Gradient, Graph, Label, Psi, Shared, SharedSum, TableRef,
};
use crate::infer::{Engine, NodeMarginals, Propagation, WithEngine};
use crate::math::Array;
use crate::{Error, Place, Result};
use std::any::Any;
use std::sync::Arc;

/// The precondition of every question: a graph has been loaded.
const TAKEN_IN: &str = "a graph was taken in";

/// The log-potentials of one factor graph. [`Answers::load`] loads the next one.
#[derive(Debug)]
pub struct GraphAnswers {
    engine: Engine,
    /// The tolerance at which iterative engines stop.
    propagation: Propagation,
    /// Bytes that the tables of exact inference may take.
    exact_memory: usize,
    shared: Arc<Shared<f64>>,
    /// The current graph, if one has been loaded.
    graph: Option<FactorGraph>,
    place: Place,
    own: Array<f64>,
    scratch: Scratch,
    labels: Vec<Label>,
    /// The marginals of the variables, and whether inference converged. Computed when first asked for.
    marginals: Option<(Vec<f64>, bool)>,
}

impl GraphAnswers {
    /// Answers without a graph yet. All graphs will share these tables and get their marginals from `engine`, which
    /// stops at `tolerance`.
    #[doc(hidden)]
    pub fn new(shared: Arc<Shared<f64>>, engine: Engine, propagation: Propagation) -> Self {
        GraphAnswers {
            engine,
            propagation,
            exact_memory: EXACT_MEMORY,
            shared,
            graph: None,
            place: Place::new("input", 0),
            own: Array::default(),
            scratch: Scratch::default(),
            labels: Vec::new(),
            marginals: None,
        }
    }

    /// The same with another limit on the bytes that the tables of exact inference may take.
    pub(crate) fn with_exact_memory(self, exact_memory: usize) -> Self {
        GraphAnswers { exact_memory, ..self }
    }

    /// Returns an error if the engine cannot work on the current graph.
    fn check_engine(&self) -> Result<()> {
        self.engine.check_within(self.graph(), self.exact_memory).map_err(|error| self.at_place(error))
    }

    /// The label probabilities of each variable, exact or approximate depending on the engine.
    pub fn marginals(&mut self) -> Result<impl Iterator<Item = &[f64]>> {
        self.infer()?;
        let (graph, marginals) = (self.graph(), self.nodes());
        let cards = graph.cards().iter().enumerate();
        Ok(cards.map(move |(node, &card)| &marginals[graph.cliques().node(node).start..][..card]))
    }

    /// Adds the place of the current graph to an error.
    fn at_place(&self, error: Error) -> Error {
        Error::input(self.place.clone(), error.to_string())
    }

    /// The marginals that [`GraphAnswers::infer`] has computed.
    fn nodes(&self) -> &[f64] {
        self.marginals.as_ref().map_or(&[][..], |(nodes, _)| nodes)
    }

    /// Computes the marginals if they have not been computed yet.
    fn infer(&mut self) -> Result<()> {
        if self.marginals.is_none() {
            self.check_engine()?;
            let Self { engine, propagation, scratch, graph, shared, own, marginals, .. } = self;
            let graph = graph.as_ref().expect(TAKEN_IN);
            let run = Marginals { graph, psi: Psi { shared, own }, scratch };
            *marginals = Some(engine.dispatch(*propagation, run));
        }
        Ok(())
    }
}

impl Answers for GraphAnswers {
    type Graph = FactorGraph;

    fn load(
        &mut self,
        graph: &FactorGraph,
        place: Place,
        fill: &mut dyn FnMut(&mut Array<f64>),
    ) -> Result<()> {
        self.graph = Some(graph.clone());
        self.place = place;
        self.marginals = None;
        fill(&mut self.own);
        Ok(())
    }

    /// # Panics
    /// If no graph has been loaded.
    fn graph(&self) -> &FactorGraph {
        self.graph.as_ref().expect(TAKEN_IN)
    }

    fn labels(&mut self, decode: Decode) -> Result<&[Label]> {
        match decode {
            Decode::MaxMarginal => self.infer()?,
            Decode::Best => self.check_engine()?,
            _ => {}
        }
        let Self { engine, scratch, graph, shared, own, labels, marginals, .. } = self;
        let (graph, psi) = (graph.as_ref().expect(TAKEN_IN), Psi { shared, own });
        match (decode, marginals) {
            (Decode::MaxMarginal, Some((nodes, _))) => max_node_marginal(graph, nodes, labels),
            (Decode::Best, _) => scratch.argmax(*engine, graph, psi, labels),
            _ => {
                let found = decode.argmax(graph, psi, labels);
                found.map_err(|error| self.at_place(error))?;
            }
        }
        Ok(&self.labels)
    }

    fn probability_of(&mut self, variable: usize, label: Label) -> Result<f64> {
        self.infer()?;
        let start = self.graph().cliques().node(variable).start;
        Ok(self.nodes()[start + label as usize])
    }

    fn score(&self, labels: &[Label]) -> f64 {
        Psi { shared: &self.shared, own: &self.own }.score(self.graph(), labels)
    }

    fn forbid(&mut self, variable: usize, label: Label) -> bool {
        let mut entry = None;
        self.graph().for_each_factor(|factor| {
            if let (TableRef::Own(offset), [v]) = (factor.table, factor.vars)
                && *v == variable
            {
                entry = Some(offset + label as usize * factor.strides[0]);
            }
        });
        self.marginals = None;
        entry.is_some_and(|entry| {
            self.own.set(entry, -FORBIDDEN);
            true
        })
    }

    fn converged(&self) -> Option<bool> {
        self.marginals.as_ref().map(|(_, converged)| *converged)
    }
}

/// The working memory of engines and decoders.
#[derive(Debug)]
struct Scratch {
    /// That of the engine; it is made when the engine first runs.
    engine: Box<dyn Any + Send>,
    argmax: <ExactArgmax as Decoder>::Work,
    max_product: <MaxProduct as Decoder>::Work,
    own: Array<f64>,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch {
            engine: Box::new(()),
            argmax: Default::default(),
            max_product: Default::default(),
            own: Array::default(),
        }
    }
}

impl Scratch {
    /// Overwrites `labels` with the best labelling that the engine finds. The engine must have accepted the graph.
    fn argmax(&mut self, engine: Engine, graph: &FactorGraph, psi: Psi<f64>, labels: &mut Vec<Label>) {
        match engine.is_exact() {
            true => ExactArgmax::default().argmax(graph, psi, labels, &mut self.argmax),
            false => MaxProduct::default().argmax(graph, psi, labels, &mut self.max_product),
        };
    }
}

/// Computes the marginals of all variables, laid out as [`crate::graph::Cliques::node`] says, and whether the engine
/// converged. The engine must have accepted the graph.
struct Marginals<'a> {
    graph: &'a FactorGraph,
    psi: Psi<'a, f64>,
    scratch: &'a mut Scratch,
}

impl WithEngine for Marginals<'_> {
    type Out = (Vec<f64>, bool);

    fn with<I: NodeMarginals + Copy + 'static>(self, engine: I) -> (Vec<f64>, bool) {
        let Marginals { graph, psi, scratch: Scratch { engine: work, own, .. } } = self;
        if !work.is::<I::Work<f64>>() {
            *work = Box::new(I::Work::<f64>::default());
        }
        let work = work.downcast_mut::<I::Work<f64>>().expect("it was just made for this engine");
        own.reserve(graph.own_len());
        let mut sums = SharedSum::new(psi.shared);
        let mut out = Gradient { own: own.slice_mut(0..graph.own_len()), shared: &mut sums };
        let outcome = engine.log_z(graph, psi, 1.0, &mut out, work);
        let nodes = &engine.node_marginals(work).plane(0)[..graph.cliques().node_len()];
        (nodes.to_vec(), outcome.converged)
    }
}
