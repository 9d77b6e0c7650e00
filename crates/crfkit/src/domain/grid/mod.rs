//! Grids: images in which every pixel or patch has a label. Training reads masks, and labelling writes masks.
//!
//! The features are those of smd-crf-2006 section 5: h_i = [1, x_i] for a site, which is a pixel or a patch, and
//! h_ij = [1, |m_i − m_j|] for a pair of neighbours, or any numbers that are given for the pair.

mod builder;
mod features;
mod image;
mod layout;
mod orientations;

#[doc(hidden)]
pub use crate::decode::Decode;
#[doc(hidden)]
pub use crate::infer::Engine;
#[doc(hidden)]
pub use crate::model::Tables;
pub use builder::GridBuilder;
pub use features::{SiteFeatures, SiteNumbers};
pub use image::GridImage;
use image::Known;
pub use layout::{Directions, GridDomain};

use super::alone::logistic;
use super::partial::plain_label;
use super::stored::parse_head;
use super::{Corpus, Digest, Domain, FORMAT, Fit, ModelGraph, Sum, WeightedModel, unknown_start};
use crate::answers::GraphAnswers;
use crate::data::dataset::Dataset;
use crate::data::images::Mask;
use crate::data::label_masks::LabelMask;
use crate::data::sites::Sites;
use crate::decode::{AlphaExpansion, GraphCut};
use crate::eval::Scores;
use crate::graph::{FactorGraph, Label, LabelBits, UNLABELLED};
use crate::loss::{MaxMargin, Perceptron};
use crate::model::sections::{Reader, Writer};
use crate::model::{Features, LabelSet, Names, TableShapes, WeightPart};
use crate::optim::Objective;
use crate::risk::{Risk, potentials};
use crate::settings::{Criterion, Init, Kind, Settings};
use crate::tag::{Judgement, Tagger, Truth};
use crate::{Error, Place, Result};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A training corpus of images.
pub type GridCorpus = Corpus<GridDomain>;
/// A model of images.
pub type GridModel = WeightedModel<GridDomain>;
/// A worker that labels images.
pub type GridTagger = Tagger<GridModel>;

/// The first weight for pairs of equal labels with [`Init::Logistic`].
const PAIR_WEIGHT: f64 = 0.5;
/// The row of the constant feature, of sites and of pairs.
const CONSTANT: u32 = 0;
/// The largest number of graphs that are kept for reuse.
const KEPT: usize = 64;

/// Working memory for observing images.
#[derive(Clone, Debug, Default)]
#[doc(hidden)]
pub struct GridScratch {
    /// The graph of each size. Images of one size share it.
    graphs: BTreeMap<(usize, usize), FactorGraph>,
    /// Rows and columns of sites in the current image.
    size: (usize, usize),
}

impl GridScratch {
    /// The graph of images of this size.
    fn graph(&mut self, domain: &GridDomain, height: usize, width: usize) -> Result<FactorGraph> {
        self.size = (height, width);
        if let Some(graph) = self.graphs.get(&(height, width)) {
            return Ok(graph.clone());
        }
        let graph = domain.graph(height, width)?;
        if self.graphs.len() == KEPT {
            self.graphs.clear();
        }
        self.graphs.insert((height, width), graph.clone());
        Ok(graph)
    }
}

impl GridDomain {
    /// Adds the sites of an image to `data`, without labels.
    fn observe_sites(
        &self,
        sites: &Sites,
        name: &str,
        scratch: &mut GridScratch,
        data: &mut Dataset<FactorGraph>,
    ) -> Result<()> {
        let sites = self.describe(sites, name)?;
        let graph = scratch.graph(self, sites.nodes.height, sites.nodes.width)?;
        self.push_observations(&sites, &graph, data);
        data.finish_example(graph, [], 1.0);
        Ok(())
    }
}

impl Domain for GridDomain {
    type Input = GridImage;
    type Graph = FactorGraph;
    type Scratch = GridScratch;
    const KIND: Kind = Kind::Grid;
    const DECODE: Decode = Decode::MaxMarginal;
    const TOLERANCE: f64 = layout::TOLERANCE;

    fn observe(
        &self,
        image: &GridImage,
        scratch: &mut GridScratch,
        data: &mut Dataset<FactorGraph>,
    ) -> Result<()> {
        image.check_allowed(self)?;
        self.observe_sites(&image.sites, &image.name, scratch, data)
    }

    fn allowed(image: &GridImage) -> Cow<'_, [(usize, LabelBits)]> {
        let of = |mask: &LabelMask| mask.restrictions(0..mask.variables());
        Cow::Owned(image.allowed.as_ref().map(of).unwrap_or_default())
    }

    fn place(image: &GridImage) -> Place {
        Place::new(&image.name, 0)
    }

    /// The gold labels. Pixels without a label, or with several, do not count; values that the model does not know always count as errors.
    fn truth<'a>(&'a self, image: &'a GridImage) -> Result<Truth<'a>> {
        let name = |&value: &u16| (Some(value) != self.unlabelled).then(|| Cow::Owned(value.to_string()));
        let labels = match image.labelled(self)? {
            Known::Mask(mask) => mask.values.iter().map(name).collect(),
            Known::Sets(sets) => {
                let label = |set| plain_label(&set, sets.labels()).filter(|label| *label != UNLABELLED);
                let name = |set| label(set).map(|label| Cow::Owned(self.labels[label as usize].to_string()));
                sets.sets().map(name).collect()
            }
        };
        Ok(Truth { labels, known: Vec::new() })
    }

    fn label_sets(&self) -> Vec<LabelSet<'_>> {
        let labels = self.labels.iter().map(u16::to_string).collect();
        vec![LabelSet { name: Some("label".into()), labels }]
    }

    fn label_set_of(&self, _graph: &FactorGraph, _variable: usize) -> usize {
        0
    }

    fn features(&self, _data: &Dataset<FactorGraph>, _settings: &Settings) -> Features {
        self.all_features()
    }

    /// The names of the weights. Labels are named by their mask values, and the numbers of sites and pairs by their
    /// positions.
    fn names<'a>(&'a self, features: &'a Features, weights: &'a [f64]) -> Names<'a> {
        let part = |(kind, (name, rows)): (usize, (&str, &'a _))| {
            let tables = if kind == 0 && self.tables != Tables::Ising { Tables::Full } else { self.tables };
            let numbers = if kind == 0 { self.channels } else { self.pair_channels };
            let (rows, sites) = (Cow::Borrowed(rows), if kind == 0 { 1 } else { 2 });
            WeightPart::described(name, vec![0; sites], tables, rows, numbers, |id| id.to_string())
        };
        let names = std::iter::once("site").chain(self.pair_kinds().iter().copied());
        let parts = names.zip(&features.rows).enumerate().map(part).collect();
        Names { sets: self.label_sets(), parts, weights }
    }

    fn check_transfer(&self, from: &Self) -> Result<()> {
        let told = |domain: &GridDomain| (domain.sites, domain.channels, domain.pair_channels);
        match told(self) == told(from) {
            true => Ok(()),
            false => Err(Error::Setting(
                "the model has other features of its images: give the same features, patches and expansion, and \
                 images with the same numbers"
                    .into(),
            )),
        }
    }

    fn engine(&self) -> Engine {
        Engine::default()
    }

    fn objective(
        &self,
        settings: &Settings,
        features: Arc<Features>,
        data: Dataset<FactorGraph>,
        threads: usize,
    ) -> Result<Box<dyn Objective>> {
        settings.objective.check_weights(data.uses_variable_weights())?;
        // Graph cuts are the fast decoders of grids, but exact for two labels only, and only where neighbours attract each other.
        let cuts = settings.inference != Some(Engine::Exact);
        match settings.objective {
            Criterion::Perceptron if cuts && self.labels.len() <= 2 => {
                Ok(Box::new(Risk::new(Perceptron(GraphCut), features, data, threads)?))
            }
            Criterion::Perceptron if cuts => {
                let loss = Perceptron(AlphaExpansion::default());
                Ok(Box::new(Risk::new(loss, features, data, threads)?))
            }
            Criterion::MaxMargin if cuts && self.labels.len() <= 2 => {
                Ok(Box::new(Risk::new(MaxMargin(GraphCut), features, data, threads)?))
            }
            Criterion::MaxMargin if cuts => {
                let loss = MaxMargin(AlphaExpansion::default());
                Ok(Box::new(Risk::new(loss, features, data, threads)?))
            }
            _ => {
                let engine = settings.inference.unwrap_or_else(|| self.engine());
                let sum = Sum::new(features, data, threads, settings);
                FactorGraph::objective(sum, settings, engine, Self::TOLERANCE)
            }
        }
    }

    /// The first weights of [`Init::Logistic`].
    fn initial_weights(
        &self,
        data: &Dataset<FactorGraph>,
        features: &Features,
        settings: &Settings,
        fit: Fit<'_, Self>,
    ) -> Result<Vec<f64>> {
        if settings.init != Init::Logistic {
            return Err(unknown_start(settings.init, Self::KIND));
        }
        let mut theta = logistic(self, data, settings, fit)?;
        // The constant alone: the numbers of a pair say where labels differ, and would add up.
        for rows in features.rows.iter().skip(1) {
            let equal = |entry: usize| entry / rows.stride() == entry % rows.stride();
            let weights = &mut theta[rows.range(CONSTANT)];
            match rows.basis.is_empty() {
                true => weights
                    .iter_mut()
                    .zip(rows.entries_of(CONSTANT))
                    .filter(|(_, entry)| equal(*entry))
                    .for_each(|(weight, _)| *weight = PAIR_WEIGHT),
                false => weights.fill(PAIR_WEIGHT),
            }
        }
        Ok(theta)
    }

    fn scores(&self, judgement: &Judgement) -> Scores {
        let pixels = judgement.overall();
        Scores { accuracy: pixels.percent(), tokens: pixels.total, ..Scores::default() }
    }

    fn head(&self) -> Result<serde_json::Value> {
        serde_json::to_value(self).map_err(|error| Error::Setting(error.to_string()))
    }

    fn write<'a>(&'a self, _file: &mut Writer<'a>, _slots: bool) {}

    fn read(head: serde_json::Value, _file: &mut Reader) -> Result<Self> {
        let domain: GridDomain = parse_head(head)?;
        domain.check().map_err(|why| FORMAT.damaged(why))?;
        Ok(domain)
    }

    fn shapes(&self) -> Result<TableShapes> {
        Ok(self.table_shapes())
    }

    /// Models of images are small, so zero weights are kept.
    fn without_unused(&self, _used: Vec<Vec<bool>>) -> Option<(Self, Vec<Vec<bool>>)> {
        None
    }

    fn digest(&self, digest: &mut Digest) {
        digest.debug(self);
    }
}

impl GridTagger {
    /// Loads an image that comes from `name`.
    pub fn load_image(&mut self, sites: &Sites, name: &str) -> Result<&mut GraphAnswers> {
        use crate::answers::Answers;
        self.with_parts(|model, _, scratch, answers| {
            let mut data = Dataset::new();
            model.domain.observe_sites(sites, name, scratch, &mut data)?;
            let place = Place::new(name, 0);
            let graph = data.graph(0).clone();
            answers.load(&graph, place, &mut |own| potentials(&model.features, &data, 0, &model.weights, own))
        })
    }

    /// The mask for a labelling of the current image.
    pub fn mask(&self, labels: &[Label]) -> Mask {
        let values = labels.iter().map(|&label| self.model().domain.labels[label as usize]).collect();
        let (height, width) = self.scratch().size;
        Mask { height, width, values }
    }
}
