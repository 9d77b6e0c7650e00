//! A model applied to images.

use super::{Decode, Engine, GridModel, TOLERANCE};
use crate::Result;
use crate::data::dataset::Dataset;
use crate::data::images::Mask;
use crate::data::sites::Sites;
use crate::decode::max_node_marginal;
use crate::graph::{FactorGraph, Gradient, Graph, Label, Psi, SharedSum};
use crate::infer::{NodeMarginals, Outcome, WithEngine};
use crate::math::Array;
use crate::model::Features;
use std::sync::Arc;

/// Labels images by a shared model. Not for several threads at once: each has its own.
#[derive(Clone, Debug)]
pub struct GridTagger {
    model: Arc<GridModel>,
    features: Features,
    engine: Engine,
    /// The picture at hand: its size in sites, graph and ψ.
    size: (usize, usize),
    graph: Option<FactorGraph>,
    psi: Array<f64>,
    /// Marginals of the pixels, in the layout of nodes; empty until somebody asks.
    marginals: Vec<f64>,
    converged: bool,
    labels: Vec<Label>,
}

impl GridModel {
    /// The engine that it was trained with.
    pub fn engine(&self) -> Engine {
        self.settings.inference
    }
}

impl GridTagger {
    /// Computes marginals by `engine`.
    pub fn new(model: Arc<GridModel>, engine: Engine) -> Self {
        let features = model.layout.features();
        GridTagger {
            model,
            features,
            engine,
            size: (0, 0),
            graph: None,
            psi: Array::default(),
            marginals: Vec::new(),
            converged: true,
            labels: Vec::new(),
        }
    }

    /// Takes in a picture; `name` is for messages.
    pub fn image(&mut self, picture: &Sites, name: &str) -> Result<()> {
        let layout = &self.model.layout;
        let sites = layout.describe(picture, name)?;
        let size = (sites.nodes.height, sites.nodes.width);
        let graph = match self.graph.take().filter(|_| self.size == size) {
            Some(graph) => graph,
            None => layout.graph(size.0, size.1)?,
        };
        let mut data = Dataset::new();
        layout.observe(&sites, &graph, &mut data);
        data.finish_example(graph.clone(), [], 1.0);
        crate::risk::potentials(&self.features, &data, 0, &self.model.weights, &mut self.psi);
        (self.size, self.graph) = (size, Some(graph));
        self.marginals.clear();
        Ok(())
    }

    /// The labels of the image at hand, row by row.
    ///
    /// # Panics
    /// If no image was taken in.
    pub fn labels(&mut self, decode: Decode) -> Result<&[Label]> {
        if decode == Decode::MaxMarginal {
            self.infer()?;
        }
        let graph = self.graph.as_ref().expect("an image was taken in");
        match decode {
            Decode::MaxMarginal => max_node_marginal(graph, &self.marginals, &mut self.labels),
            other => other.argmax(graph, Psi { shared: &[], own: &self.psi }, &mut self.labels)?,
        }
        Ok(&self.labels)
    }

    /// The probability of `label` for each pixel of the image at hand, row by row.
    ///
    /// # Panics
    /// If no image was taken in.
    pub fn marginals(&mut self, label: Label) -> Result<impl Iterator<Item = f64> + '_> {
        self.infer()?;
        let (graph, marginals) = (self.graph.as_ref().expect("an image was taken in"), &self.marginals);
        Ok((0..graph.vars()).map(move |v| marginals[graph.cliques().node(v).start + label as usize]))
    }

    /// Had the engine settled when it last gave marginals?
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// The mask of a labelling of the image at hand.
    pub fn mask(&self, labels: &[Label]) -> Mask {
        let values = labels.iter().map(|&label| self.model.layout.labels[label as usize]).collect();
        Mask { height: self.size.0, width: self.size.1, values }
    }

    /// Fills the marginals if they are not there yet.
    fn infer(&mut self) -> Result<()> {
        struct Run<'a>(&'a FactorGraph, &'a Array<f64>, &'a mut Vec<f64>);
        impl WithEngine for Run<'_> {
            type Out = Outcome<f64>;
            fn with<I: NodeMarginals + Copy + 'static>(self, engine: I) -> Outcome<f64> {
                let Run(graph, own, marginals) = self;
                let (mut pairs, mut work) = (Array::zeros(graph.own_len()), I::Work::default());
                let mut shared = SharedSum::new(&[]);
                let mut out = Gradient { own: pairs.slice_mut(0..graph.own_len()), shared: &mut shared };
                let outcome = engine.log_z(graph, Psi { shared: &[], own }, 1.0, &mut out, &mut work);
                let nodes = engine.node_marginals(&work).plane(0);
                marginals.extend_from_slice(&nodes[..graph.cliques().node_len()]);
                outcome
            }
        }
        let graph = self.graph.as_ref().expect("an image was taken in");
        if self.marginals.is_empty() {
            self.engine.check(graph)?;
            let outcome = self.engine.with(TOLERANCE, Run(graph, &self.psi, &mut self.marginals));
            self.converged = outcome.converged;
        }
        Ok(())
    }
}
