//! Applying a model of linked chains to sequences.

use super::links::{Graphs, Observed};
use super::{Engine, LinkedModel};
use crate::answers::Scratch;
use crate::data::columns::Columns;
use crate::data::dataset::Dataset;
use crate::data::observer::Observer;
use crate::decode::max_node_marginal;
use crate::graph::{FactorGraph, Label, Psi, Shared};
use crate::math::Array;
use crate::risk::potentials;
use crate::{Error, Result};
use std::sync::Arc;

/// A worker that labels sequences. It owns its scratch memory: make one a thread, from one shared [`LinkedModel`]. After
/// [`LinkedTagger::columns`] has taken in a sequence, the other methods answer questions about it.
#[derive(Debug)]
pub struct LinkedTagger {
    model: Arc<LinkedModel>,
    engine: Engine,
    shared: Arc<Shared<f64>>,
    graphs: Graphs,
    observer: Observer,
    graph: FactorGraph,
    own: Array<f64>,
    scratch: Scratch,
    labels: Vec<Label>,
    /// Marginals of the variables, once they are asked for, and whether inference had settled.
    marginals: Option<(Vec<f64>, bool)>,
}

impl LinkedTagger {
    /// A worker for `model` that uses `engine`.
    pub fn new(model: Arc<LinkedModel>, engine: Engine) -> Result<Self> {
        let shared = Arc::new(model.tables());
        LinkedTagger::with(model, engine, shared)
    }

    /// Another worker for the same model, without making its tables again.
    pub fn another(&self) -> Result<Self> {
        LinkedTagger::with(self.model.clone(), self.engine, self.shared.clone())
    }

    fn with(model: Arc<LinkedModel>, engine: Engine, shared: Arc<Shared<f64>>) -> Result<Self> {
        let mut graphs = Graphs::new(&model.links, model.cards(), &model.templates);
        Ok(LinkedTagger {
            graph: graphs.graph(0, &[])?,
            graphs,
            engine,
            shared,
            model,
            observer: Observer::default(),
            own: Array::default(),
            scratch: Scratch::default(),
            labels: Vec::new(),
            marginals: None,
        })
    }

    /// The model.
    pub fn model(&self) -> &Arc<LinkedModel> {
        &self.model
    }

    /// Takes in a sequence. It must have the columns that the model reads, and be one that the engine can work on.
    pub fn columns(&mut self, sequence: &Columns) -> Result<()> {
        let model = self.model.clone();
        let needed = model.columns_needed();
        if !sequence.is_empty() && sequence.columns() < needed {
            let message = format!(
                "{} columns, but the model needs {needed}: give all columns that the training data had (any text will do for \
                 labels)",
                sequence.columns()
            );
            return Err(Error::input(sequence.place(0), message));
        }
        let skips = model.links.skips(sequence);
        let graph = self.graphs.graph(sequence.len(), &skips)?;
        if !sequence.is_empty() {
            self.engine.check(&graph).map_err(|error| Error::input(sequence.place(0), error.to_string()))?;
        }
        let mut observed = Observed::new(sequence.len(), &model.templates);
        self.observer.columns(&model.templates, sequence, &model.alphabet, &mut observed);
        let mut data = Dataset::new();
        model.links.add(graph.clone(), &observed, &skips, &[], &mut data);
        potentials(&model.features, &data, 0, &model.weights, &mut self.own);
        self.graph = graph;
        self.marginals = None;
        Ok(())
    }

    /// The labels of the best labelling that the engine finds: that of token t in label column c is number t·C + c.
    pub fn best(&mut self) -> &[Label] {
        let psi = Psi { shared: &self.shared, own: &self.own };
        self.scratch.argmax(self.engine, &self.graph, psi, &mut self.labels);
        &self.labels
    }

    /// The most probable label of every token and column by itself, in the same order.
    pub fn max_marginal(&mut self) -> &[Label] {
        let (graph, mut labels) = (self.graph.clone(), std::mem::take(&mut self.labels));
        max_node_marginal(&graph, self.marginals(), &mut labels);
        self.labels = labels;
        &self.labels
    }

    /// P(label of label column `column` at `position` | sequence), or what the engine takes for it.
    pub fn marginal(&mut self, position: usize, column: usize, label: Label) -> f64 {
        let variable = position * self.model.labels.len() + column;
        let start = self.graph.cliques().node(variable).start;
        self.marginals()[start + label as usize]
    }

    /// Had inference settled? `None` where no answer about this sequence has needed marginals.
    pub fn converged(&self) -> Option<bool> {
        self.marginals.as_ref().map(|(_, converged)| *converged)
    }

    fn marginals(&mut self) -> &[f64] {
        let Self { scratch, engine, graph, shared, own, marginals, .. } = self;
        let (nodes, _) = marginals.get_or_insert_with(|| {
            let mut nodes = Vec::new();
            let converged = scratch.marginals(*engine, graph, Psi { shared, own }, &mut nodes);
            (nodes, converged)
        });
        nodes
    }
}
