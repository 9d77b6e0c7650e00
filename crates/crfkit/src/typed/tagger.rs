//! Applying a model to typed graphs.

use super::corpus::{Structures, check_same, observe};
use super::{Line, TypedGraph, TypedModel};
use crate::answers::Scratch;
use crate::data::dataset::Dataset;
use crate::decode::{Decode, max_node_marginal};
use crate::graph::{FactorGraph, Label, Psi};
use crate::infer::Engine;
use crate::math::Array;
use crate::risk::potentials;
use crate::{Error, Place, Result};
use std::sync::Arc;

/// A worker that labels graphs. It owns its scratch memory: make one a thread, from one shared [`TypedModel`]. After
/// [`TypedTagger::graph`] has taken in a graph, the other methods answer questions about it.
#[derive(Debug)]
pub struct TypedTagger {
    model: Arc<TypedModel>,
    engine: Engine,
    structures: Structures,
    /// The graph at hand, and its ψ.
    graph: Option<FactorGraph>,
    place: Place,
    own: Array<f64>,
    scratch: Scratch,
    labels: Vec<Label>,
    /// Marginals of the nodes and whether the engine settled, once they are asked for.
    marginals: Option<(Vec<f64>, bool)>,
}

impl TypedTagger {
    /// A worker for `model` that computes marginals by `engine`.
    pub fn new(model: Arc<TypedModel>, engine: Engine) -> Self {
        TypedTagger {
            model,
            engine,
            structures: Structures::default(),
            graph: None,
            place: Place::new("", 0),
            own: Array::default(),
            scratch: Scratch::default(),
            labels: Vec::new(),
            marginals: None,
        }
    }

    /// Another worker for the same model.
    pub fn another(&self) -> Self {
        TypedTagger::new(self.model.clone(), self.engine)
    }

    /// The model.
    pub fn model(&self) -> &Arc<TypedModel> {
        &self.model
    }

    /// Reads a line of a file of graphs; `None` where it holds none. Types may be declared again, but must be the model's.
    pub fn read(&self, text: &str, place: &Place) -> Result<Option<TypedGraph>> {
        let types = &self.model.types;
        match Line::read(text, place, Some(types))? {
            Line::Blank => Ok(None),
            Line::Types(declared) => check_same(&declared, types, place).map(|()| None),
            Line::Graph(graph) => Ok(Some(graph)),
        }
    }

    /// Takes in a graph of the model's types. Named features that training has not seen say nothing.
    pub fn graph(&mut self, graph: &TypedGraph) -> Result<()> {
        let model = &self.model;
        let structure = self.structures.of(graph, &model.types)?;
        let mut data = Dataset::new();
        let number = |kind: usize, name: &str| model.names[kind].find(name.as_bytes());
        observe(graph, &model.types, number, &mut data);
        data.finish_example(structure.clone(), [], 1.0);
        potentials(&model.features, &data, 0, &model.weights, &mut self.own);
        self.graph = Some(structure);
        self.place.clone_from(&graph.place);
        self.marginals = None;
        Ok(())
    }

    /// The labels of the nodes of the graph at hand; an error where the decoder cannot work on it.
    ///
    /// # Panics
    /// If no graph was taken in.
    pub fn labels(&mut self, decode: Decode) -> Result<&[Label]> {
        if decode == Decode::MaxMarginal {
            self.infer()?;
        }
        let Self { graph, own, labels, marginals, place, .. } = self;
        let graph = graph.as_ref().expect("a graph was taken in");
        match (decode, marginals) {
            (Decode::MaxMarginal, Some((marginals, _))) => max_node_marginal(graph, marginals, labels),
            _ => decode
                .argmax(graph, Psi { shared: &[], own }, labels)
                .map_err(|error| Error::input(place.clone(), error.to_string()))?,
        }
        Ok(&self.labels)
    }

    /// The probabilities of the labels of each node of the graph at hand, or what the engine takes for them.
    ///
    /// # Panics
    /// If no graph was taken in.
    pub fn marginals(&mut self) -> Result<impl Iterator<Item = &[f64]>> {
        self.infer()?;
        let graph = self.graph.as_ref().expect("a graph was taken in");
        let marginals = self.marginals.as_ref().map_or(&[][..], |(marginals, _)| marginals);
        let cards = graph.cards().iter().enumerate();
        Ok(cards.map(move |(node, &card)| &marginals[graph.cliques().node(node).start..][..card]))
    }

    /// Had the engine settled, where it was asked about the graph at hand?
    pub fn converged(&self) -> Option<bool> {
        self.marginals.as_ref().map(|(_, converged)| *converged)
    }

    /// Computes the marginals if they are not there yet.
    fn infer(&mut self) -> Result<()> {
        let Self { engine, scratch, graph, own, marginals, place, .. } = self;
        let graph = graph.as_ref().expect("a graph was taken in");
        if marginals.is_none() {
            engine.check(graph).map_err(|error| Error::input(place.clone(), error.to_string()))?;
            let mut nodes = Vec::new();
            let converged = scratch.marginals(*engine, graph, Psi { shared: &[], own }, &mut nodes);
            *marginals = Some((nodes, converged));
        }
        Ok(())
    }
}
