//! Grids: pictures whose every pixel has a label, from masks to a model and back to masks.
//!
//! ```text
//! picture ─features→ observations of pixels and of pairs of neighbours → Dataset<FactorGraph> ─train→ GridModel
//! picture ─same features→ ψ ─engine→ marginals ─decoder→ labels → mask
//! ```
//!
//! Features are those of smd-crf-2006 section 5.1, for any number of channels: h_i = [1, s_i] of a pixel and h_ij = [1, |s_i − s_j|]
//! of a pair of neighbours.

mod errors;
mod file;
mod pictures;
mod tagger;
mod train;

pub use crate::decode::Decode;
pub use crate::infer::Engine;
pub use crate::model::Tables;
pub use errors::PixelErrors;
pub use pictures::Pictures;
pub use tagger::GridTagger;
pub use train::{Init, Settings, Trained, train};

use crate::data::dataset::Dataset;
use crate::data::images::Image;
use crate::graph::build::PairTables;
use crate::graph::{FactorGraph, Grid, Label, Neighbours};
use crate::model::{Features, Keep, Kind};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Iterative engines stop here: marginals need no more digits, and log Z, which is stationary at a fixed point, has twice as many.
const TOLERANCE: f64 = 1e-4;

/// The shape of a model: which labels and features there are, and who is joined with whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// The mask values that are labels, in ascending order.
    pub labels: Vec<u8>,
    /// The mask value of pixels without a label: summed out in training, not scored in evaluation.
    pub unlabelled: Option<u8>,
    /// Numbers a pixel.
    pub channels: usize,
    /// Which pixels are joined.
    pub neighbours: Neighbours,
    /// What the tables of pairs are made of; with [`Tables::Ising`] those of pixels too, otherwise pixels have a weight for each
    /// label and feature.
    pub tables: Tables,
}

impl Layout {
    /// Refuses what no model can have.
    pub fn check(&self) -> Result<()> {
        let refuse = |why: String| Err(Error::Setting(why));
        if self.labels.is_empty() || !self.labels.is_sorted_by(|a, b| a < b) {
            return refuse("labels must be one or more mask values in ascending order".into());
        }
        if let Some(value) = self.unlabelled.filter(|value| self.label(*value).is_some()) {
            return refuse(format!("the mask value {value} cannot be a label and mean that there is none"));
        }
        if self.channels == 0 || self.channels > 1 << 16 {
            return refuse(format!("a pixel has {} numbers, but it must have some", self.channels));
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
        let (labels, observations) = (self.labels.len(), 1 + self.channels);
        let nodes = if self.tables == Tables::Ising { Tables::Ising } else { Tables::Full };
        let node = Kind { observations, lines: 1, columns: labels, basis: nodes.basis(&[labels]) };
        let basis = self.tables.basis(&[labels; 2]);
        let pair = Kind { observations, lines: labels, columns: labels, basis };
        let kinds = match self.neighbours {
            Neighbours::None => vec![node],
            Neighbours::Four | Neighbours::Eight => vec![node, pair],
        };
        Features::new(&Dataset::<FactorGraph>::new(), kinds, 1, &[], Keep::All)
    }

    /// Adds the observations of an image: a constant and the channels of every pixel, a constant and the channels' absolute
    /// differences of every pair. `graph` must be that of the image's size.
    fn observe(&self, image: &Image, graph: &FactorGraph, data: &mut Dataset<FactorGraph>) {
        for f in 0..graph.factors() {
            data.push_observation(0, 1.0);
            match *graph.factor(f).vars {
                [i] => (1..).zip(image.pixel(i)).for_each(|(id, &s)| data.push_observation(id, s)),
                [i, j] => {
                    for (id, (s, t)) in (1..).zip(image.pixel(i).iter().zip(image.pixel(j))) {
                        data.push_observation(id, (s - t).abs());
                    }
                }
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
