//! The log-potentials of one factor graph, with engines, decoders and their memory.

use super::Answers;
use crate::decode::{Decode, Decoder, ExactArgmax, MaxProduct, max_node_marginal};
use crate::graph::{
    EXACT_MEMORY, FORBIDDEN, FactorGraph, Gradient, Graph, Label, LabelBits, Psi, Shared, SharedSum, TableRef,
};
use crate::infer::{Engine, NodeMarginals, Outcome, Propagation, WithEngine};
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
    /// The marginals of the variables. Computed when first asked for.
    marginals: Option<Inferred>,
}

/// What the engine has found out about a graph.
#[derive(Clone, Debug)]
pub(super) struct Inferred {
    pub(super) log_z: f64,
    pub(super) converged: bool,
    /// The marginals of the variables, laid out as [`crate::graph::Cliques::node`] says.
    pub(super) nodes: Vec<f64>,
    /// log Z − E(score), the entropy where the engine is exact.
    pub(super) entropy: f64,
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
    pub(super) fn check_engine(&self) -> Result<()> {
        self.engine.check_within(self.graph(), self.exact_memory).map_err(|error| self.at_place(error))
    }

    /// Allows only these labels of these variables of the current graph, for all answers: labels are the best ones among them, and
    /// probabilities are conditional on them. As without, they are exact if the engine is. It is an error if a set is empty, or if no
    /// table of the graph's own is over the variable alone.
    pub fn allow(&mut self, allowed: &[(usize, LabelBits)]) -> Result<()> {
        for (variable, labels) in allowed {
            let why = match self.lower(*variable, |label| !labels.contains(label)) {
                Some(true) => continue,
                Some(false) => "no label is allowed: allow at least one",
                None => "no table of the graph's own is over it alone: give it one, which may be 0",
            };
            return Err(self.at_place(Error::Setting(format!("variable {variable}: {why}"))));
        }
        Ok(())
    }

    /// Forbids labels of a variable. Returns whether there is one left; `None` if no table of the graph's own is over the variable alone.
    fn lower(&mut self, variable: usize, forbidden: impl Fn(usize) -> bool) -> Option<bool> {
        let graph = self.graph.as_ref().expect(TAKEN_IN);
        let labels = graph.card(variable);
        let unary = graph.cliques().unary(variable).iter().map(|&f| graph.factor(f as usize));
        let mut own = unary.filter_map(|factor| match factor.table {
            TableRef::Own(offset) => Some((offset, factor.strides[0])),
            TableRef::Shared(_) => None,
        });
        let (offset, stride) = own.next()?;
        self.marginals = None;
        for label in (0..labels).filter(|label| forbidden(*label)) {
            self.own.set(offset + label * stride, -FORBIDDEN);
        }
        Some((0..labels).any(|label| self.own.get(offset + label * stride) > -FORBIDDEN / 2.0))
    }

    /// The label probabilities of each variable, exact or approximate depending on the engine.
    pub fn marginals(&mut self) -> Result<impl Iterator<Item = &[f64]>> {
        self.infer()?;
        let (graph, marginals) = (self.graph(), self.nodes());
        let cards = graph.cards().iter().enumerate();
        Ok(cards.map(move |(node, &card)| &marginals[graph.cliques().node(node).start..][..card]))
    }

    /// Adds the place of the current graph to an error.
    pub(super) fn at_place(&self, error: Error) -> Error {
        Error::input(self.place.clone(), error.to_string())
    }

    /// The marginals that [`GraphAnswers::infer`] has computed.
    fn nodes(&self) -> &[f64] {
        self.marginals.as_ref().map_or(&[][..], |found| &found.nodes)
    }

    /// Computes the marginals if they have not been computed yet.
    pub(super) fn infer(&mut self) -> Result<&Inferred> {
        if self.marginals.is_none() {
            self.check_engine()?;
            let own = std::mem::take(&mut self.own);
            self.marginals = Some(self.infer_on(&self.graph().clone(), &own));
            self.own = own;
        }
        Ok(self.marginals.as_ref().expect("it was just found"))
    }

    /// What the engine says about a graph with these own tables, which it must have accepted.
    pub(super) fn infer_on(&mut self, graph: &FactorGraph, own: &Array<f64>) -> Inferred {
        let Self { engine, propagation, scratch, shared, .. } = self;
        engine.dispatch(*propagation, Marginals { graph, psi: Psi { shared, own }, scratch })
    }

    /// The engine, the place of the current graph, and its own tables.
    pub(super) fn parts(&self) -> (Engine, &Array<f64>) {
        (self.engine, &self.own)
    }

    /// The log-potentials of the current graph.
    pub fn psi(&self) -> Psi<'_, f64> {
        Psi { shared: &self.shared, own: &self.own }
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
            Decode::MaxMarginal => drop(self.infer()?),
            Decode::Best => self.check_engine()?,
            _ => {}
        }
        let Self { engine, scratch, graph, shared, own, labels, marginals, .. } = self;
        let (graph, psi) = (graph.as_ref().expect(TAKEN_IN), Psi { shared, own });
        match (decode, marginals) {
            (Decode::MaxMarginal, Some(found)) => max_node_marginal(graph, &found.nodes, labels),
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
        self.psi().score(self.graph(), labels)
    }

    fn forbid(&mut self, variable: usize, label: Label) -> bool {
        self.lower(variable, |other| other == label as usize).is_some()
    }

    fn allow(&mut self, allowed: &[(usize, LabelBits)]) -> Result<()> {
        GraphAnswers::allow(self, allowed)
    }

    fn converged(&self) -> Option<bool> {
        self.marginals.as_ref().map(|found| found.converged)
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

/// Computes the marginals of a graph that the engine has accepted.
struct Marginals<'a> {
    graph: &'a FactorGraph,
    psi: Psi<'a, f64>,
    scratch: &'a mut Scratch,
}

impl WithEngine for Marginals<'_> {
    type Out = Inferred;

    fn with<I: NodeMarginals + Copy + 'static>(self, engine: I) -> Inferred {
        let Marginals { graph, psi, scratch: Scratch { engine: work, own, .. } } = self;
        if !work.is::<I::Work<f64>>() {
            *work = Box::new(I::Work::<f64>::default());
        }
        let work = work.downcast_mut::<I::Work<f64>>().expect("it was just made for this engine");
        let len = graph.own_len();
        own.reserve(len);
        let mut sums = SharedSum::new(psi.shared);
        let mut out = Gradient { own: own.slice_mut(0..len), shared: &mut sums };
        let Outcome { log_z, converged, .. } = engine.log_z(graph, psi, 1.0, &mut out, work);
        let nodes = engine.node_marginals(work).plane(0)[..graph.cliques().node_len()].to_vec();
        let entropy = match I::EXACT {
            true => {
                sums.finish(psi.shared);
                let shared = sums.0.iter().zip(psi.shared);
                let shared = shared.map(|(sum, table)| expected(sum.direct.plane(0), table.log.plane(0)));
                let score = expected(&own.plane(0)[..len], &psi.own.plane(0)[..len]) + shared.sum::<f64>();
                (log_z - score).max(0.0)
            }
            false => f64::NAN,
        };
        Inferred { log_z, converged, nodes, entropy }
    }
}

/// Σ μ·ψ. Whatever is impossible adds nothing.
fn expected(marginals: &[f64], psi: &[f64]) -> f64 {
    marginals.iter().zip(psi).filter(|(mu, _)| **mu > 0.0).map(|(mu, psi)| mu * psi).sum()
}
