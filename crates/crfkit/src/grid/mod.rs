//! Grids: pictures whose every pixel has a label, from masks to a model and back to masks.
//!
//! ```text
//! picture ─SiteFeatures→ Sites ─observe→ Dataset<FactorGraph> ─train→ GridModel
//! picture ─same features→ ψ ─engine→ marginals ─decoder→ labels → mask
//! ```
//!
//! Features are those of smd-crf-2006 section 5: h_i = [1, x_i] of a site, which is a pixel or a patch, and h_ij = [1, |m_i − m_j|] of a
//! pair of neighbours, or any numbers that are given for it.

mod errors;
mod features;
mod file;
mod names;
mod orientations;
mod pictures;
mod tagger;
mod train;

pub use crate::decode::Decode;
pub use crate::infer::Engine;
pub use crate::model::Tables;
pub use errors::PixelErrors;
pub use features::{SiteFeatures, SiteNumbers};
pub use pictures::Pictures;
pub use tagger::GridTagger;
pub use train::{Init, Settings, Start, Trained, fingerprint, train};

use crate::data::dataset::Dataset;
use crate::data::sites::{Pairs, Sites};
use crate::graph::build::PairTables;
use crate::graph::{FactorGraph, Grid, Label, Neighbours};
use crate::model::{Features, Keep, Kind};
use crate::{Error, Place, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Iterative engines stop here: marginals need no more digits, and log Z, which is stationary at a fixed point, has twice as many.
const TOLERANCE: f64 = 1e-4;
/// Numbers of a site or of a pair at most.
const MAX_CHANNELS: usize = 1 << 16;

/// The shape of a model: which labels and features there are, and who is joined with whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// The mask values that are labels, in ascending order.
    pub labels: Vec<u8>,
    /// The mask value of pixels without a label: summed out in training, not scored in evaluation.
    pub unlabelled: Option<u8>,
    /// What is told about sites.
    pub sites: SiteFeatures,
    /// Numbers of a site, the constant not counted.
    pub channels: usize,
    /// Numbers of a pair, the constant not counted.
    pub pair_channels: usize,
    /// Which sites are joined.
    pub neighbours: Neighbours,
    /// What the tables of pairs are made of; with [`Tables::Ising`] those of pixels too, otherwise pixels have a weight for each
    /// label and feature.
    pub tables: Tables,
}

impl Layout {
    /// Potts tables over four neighbours for pictures like `example`, which comes from `name`.
    pub fn new(labels: Vec<u8>, sites: SiteFeatures, example: &Sites, name: &str) -> Result<Self> {
        let described = sites.describe(example).map_err(|why| Error::input(Place::new(name, 0), why))?;
        let (channels, pair_channels) = (described.nodes.channels, described.pair_channels());
        let (neighbours, tables) = (Neighbours::Four, Tables::Potts);
        Ok(Layout { labels, unlabelled: None, sites, channels, pair_channels, neighbours, tables })
    }

    /// Refuses what no model can have.
    pub fn check(&self) -> Result<()> {
        let refuse = |why: String| Err(Error::Setting(why));
        if self.labels.is_empty() || !self.labels.is_sorted_by(|a, b| a < b) {
            return refuse("labels must be one or more mask values in ascending order".into());
        }
        if let Some(value) = self.unlabelled.filter(|value| self.label(*value).is_some()) {
            return refuse(format!("the mask value {value} cannot be a label and mean that there is none"));
        }
        self.sites.check()?;
        if self.channels == 0 {
            return refuse("a site has no numbers, but it must have some".into());
        }
        for (what, channels) in [("site", self.channels), ("pair", self.pair_channels)] {
            if channels > MAX_CHANNELS {
                return refuse(format!(
                    "a {what} has {channels} numbers: {MAX_CHANNELS} at most are possible"
                ));
            }
        }
        match self.tables == Tables::Ising && self.labels.len() != 2 {
            true => refuse(format!(
                "Ising tables are for two labels, but there are {}: use Potts tables",
                self.labels.len()
            )),
            false => Ok(()),
        }
    }

    /// The number of a mask value's label.
    pub fn label(&self, value: u8) -> Option<Label> {
        self.labels.binary_search(&value).ok().map(|label| label as Label)
    }

    /// The graph of an image.
    pub fn graph(&self, height: usize, width: usize) -> Result<FactorGraph> {
        let (labels, neighbours) = (self.labels.len(), self.neighbours);
        let pairs = PairTables::Own;
        Ok(Grid { height, width, labels, neighbours, pairs, directions_tied: true }.build()?)
    }

    /// Which weight stands where.
    pub fn features(&self) -> Features {
        let labels = self.labels.len();
        let nodes = if self.tables == Tables::Ising { Tables::Ising } else { Tables::Full };
        let node = Kind {
            observations: 1 + self.channels,
            lines: 1,
            columns: labels,
            basis: nodes.basis(&[labels]),
        };
        let basis = self.tables.basis(&[labels; 2]);
        let pair = Kind { observations: 1 + self.pair_channels, lines: labels, columns: labels, basis };
        let kinds = match self.neighbours {
            Neighbours::None => vec![node],
            Neighbours::Four | Neighbours::Eight => vec![node, pair],
        };
        Features::new(&Dataset::<FactorGraph>::new(), kinds, 1, &[], Keep::All)
    }

    /// What is told about the sites of a picture that comes from `name`, if it has what the model expects.
    fn describe<'a>(&self, given: &'a Sites, name: &str) -> Result<Cow<'a, Sites>> {
        let refuse = |why: String| Error::input(Place::new(name, 0), why);
        let sites = self.sites.describe(given).map_err(refuse)?;
        let kind = |channels: usize| match channels {
            1 => "grey".to_owned(),
            3 => "coloured".to_owned(),
            n => format!("of {n} numbers a site"),
        };
        if sites.nodes.channels != self.channels {
            let (found, expected) = (kind(sites.nodes.channels), kind(self.channels));
            return Err(refuse(format!("the image is {found}, but others are {expected}: convert one kind")));
        }
        if self.neighbours == Neighbours::None {
            return Ok(sites);
        }
        if sites.pair_channels() != self.pair_channels {
            let (found, expected) = (sites.pair_channels(), self.pair_channels);
            return Err(refuse(format!("pairs have {found} numbers, but those of others have {expected}")));
        }
        match (&sites.pairs, self.neighbours) {
            (Pairs::Given { .. }, Neighbours::Eight) => Err(refuse(
                "there are numbers of horizontal and vertical pairs, but eight neighbours have diagonal ones too: join four".into(),
            )),
            _ => Ok(sites),
        }
    }

    /// Adds the observations of a picture: a constant and the numbers of every site, a constant and the numbers of every pair. `graph`
    /// must be that of its size.
    fn observe(&self, sites: &Sites, graph: &FactorGraph, data: &mut Dataset<FactorGraph>) {
        for f in 0..graph.factors() {
            data.push_observation(0, 1.0);
            match *graph.factor(f).vars {
                [i] => (1..).zip(sites.nodes.pixel(i)).for_each(|(id, &x)| data.push_observation(id, x)),
                [i, j] => (1..).zip(sites.pair(i, j)).for_each(|(id, x)| data.push_observation(id, x)),
                _ => unreachable!("a grid has nodes and pairs"),
            }
            data.finish_table();
        }
    }
}

/// A trained model of pictures. Nothing in it changes after training.
#[derive(Clone, Debug, PartialEq)]
pub struct GridModel {
    /// Its shape.
    pub layout: Layout,
    /// θ, by [`Layout::features`].
    pub weights: Vec<f64>,
    /// Every setting that shaped the weights.
    pub settings: Settings,
}
