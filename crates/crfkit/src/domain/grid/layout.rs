//! The layout of images: their labels, their features, and which sites are joined.

use super::{SiteFeatures, Tables};
use crate::data::dataset::Dataset;
use crate::data::sites::{PairArrays, PairFeatures, Sites};
use crate::graph::build::PairTables;
use crate::graph::{FactorGraph, Graph, Grid, Label, Neighbours};
use crate::model::{Features, Keep, TableKind, TableShapes};
use crate::{Error, Place, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The tolerance at which iterative engines stop on images. Other graphs use
/// [`Engine::TOLERANCE`](crate::infer::Engine::TOLERANCE), which is much finer: their log Z is needed to many digits,
/// because their gradients feed line searches. An image has thousands of pixels, most of which converge in a few sweeps
/// while a few take hundreds. Marginals need no more digits than this, and log Z, which is stationary at a fixed point,
/// has twice as many.
pub(super) const TOLERANCE: f64 = 1e-4;
/// The kind of table of sites, and the first kind of pairs.
const SITES: usize = 0;
const PAIRS: usize = 1;
/// The largest number of numbers that a site or a pair may have.
const MAX_CHANNELS: usize = 1 << 16;

/// The domain of images: labels, features, and which sites are joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GridDomain {
    /// The mask values that are labels, in ascending order.
    pub labels: Vec<u16>,
    /// The mask value of pixels without a label. They are summed out in training, and not scored in evaluation.
    pub unlabelled: Option<u16>,
    /// The features of sites.
    pub sites: SiteFeatures,
    /// How many numbers a site has, not counting the constant.
    pub channels: usize,
    /// How many numbers a pair has, not counting the constant.
    pub pair_channels: usize,
    /// The arrays that these come from; `None` in models of earlier versions, which do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<PairArrays>,
    /// Which sites are joined.
    pub neighbours: Neighbours,
    /// The form of the tables of pairs. With [`Tables::Ising`] pixels have such tables too; otherwise pixels have one
    /// weight for each label and feature.
    pub tables: Tables,
    /// Whether pairs of all directions share their weights.
    #[serde(default, skip_serializing_if = "Directions::are_shared")]
    pub directions: Directions,
}

/// Which pairs of neighbours share their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Directions {
    /// All pairs: an image and its transpose are the same to the model.
    #[default]
    Shared,
    /// Those of one direction: horizontal pairs, vertical ones, and both kinds of diagonal ones have weights of their own.
    Separate,
}

impl Directions {
    fn are_shared(&self) -> bool {
        *self == Directions::Shared
    }
}

/// The names of the pairs of each direction, in the order of [`Grid`].
const DIRECTIONS: [&str; 4] = ["horizontal", "vertical", "falling", "rising"];

impl GridDomain {
    /// A domain with Potts tables over four neighbours, for images like `example`, which comes from `name`.
    pub fn new(labels: Vec<u16>, sites: SiteFeatures, example: &Sites, name: &str) -> Result<Self> {
        let described = sites.extract(example).map_err(|why| Error::input(Place::new(name, 0), why))?;
        let (channels, pair_channels) = (described.nodes.channels, described.pair_channels());
        let (neighbours, tables) = (Neighbours::Four, Tables::Potts);
        let directions = Directions::default();
        Ok(GridDomain {
            labels,
            unlabelled: None,
            sites,
            channels,
            pair_channels,
            pairs: Some(example.pairs.arrays()),
            neighbours,
            tables,
            directions,
        })
    }

    /// Rejects values that no model can have.
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

    /// The label number of a mask value.
    pub fn label(&self, value: u16) -> Option<Label> {
        self.labels.binary_search(&value).ok().map(|label| label as Label)
    }

    /// The graph of an image of this size.
    pub fn graph(&self, height: usize, width: usize) -> Result<FactorGraph> {
        let (labels, neighbours) = (self.labels.len(), self.neighbours);
        let pairs = PairTables::Own;
        let directions_tied = self.directions.are_shared();
        Ok(Grid { height, width, labels, neighbours, pairs, directions_tied }.build()?)
    }

    /// The features of all images: every feature with all labellings.
    pub fn all_features(&self) -> Features {
        Features::new(&Dataset::<FactorGraph>::new(), self.table_shapes(), Keep::All)
    }

    /// The names of the kinds of pairs, which have weights of their own.
    pub(super) fn pair_kinds(&self) -> &'static [&'static str] {
        match (self.neighbours, self.directions) {
            (Neighbours::None, _) => &[],
            (Neighbours::Four | Neighbours::Eight, Directions::Shared) => &["pair"],
            (Neighbours::Four, Directions::Separate) => &DIRECTIONS[..2],
            (Neighbours::Eight, Directions::Separate) => &DIRECTIONS,
        }
    }

    pub(super) fn table_shapes(&self) -> TableShapes {
        let labels = self.labels.len();
        let nodes = if self.tables == Tables::Ising { Tables::Ising } else { Tables::Full };
        let node = TableKind {
            observations: 1 + self.channels,
            dense: 1 + self.channels,
            lines: 1,
            columns: labels,
            basis: nodes.basis(&[labels]),
        };
        let basis = self.tables.basis(&[labels; 2]);
        let pair = TableKind {
            observations: 1 + self.pair_channels,
            dense: 1 + self.pair_channels,
            lines: labels,
            columns: labels,
            basis,
        };
        let mut kinds = vec![node];
        kinds.extend(self.pair_kinds().iter().map(|_| pair.clone()));
        TableShapes { kinds, node_kinds: 1, shared: Vec::new() }
    }

    /// Computes the features of the sites of an image that comes from `name`, and checks that the model can use them.
    pub(super) fn describe<'a>(&self, given: &'a Sites, name: &str) -> Result<Cow<'a, Sites>> {
        let refuse = |why: String| Error::input(Place::new(name, 0), why);
        let sites = self.sites.extract(given).map_err(refuse)?;
        let kind = |channels: usize| match channels {
            1 => "1 channel (grey)".to_owned(),
            3 => "3 channels (coloured)".to_owned(),
            n => format!("{n} channels"),
        };
        if sites.nodes.channels != self.channels {
            let (found, expected) = (kind(sites.nodes.channels), kind(self.channels));
            let message = format!("the image has {found}, but those before it in training have {expected}");
            return Err(refuse(format!("{message}: convert one kind")));
        }
        if sites.nodes.values.iter().any(|&x| !(x as f32).is_finite()) {
            return Err(refuse("products of its numbers are too large: scale them down".into()));
        }
        if self.neighbours == Neighbours::None {
            return Ok(sites);
        }
        let found = given.pairs.arrays();
        match self.pairs.filter(|expected| found != *expected) {
            None => {}
            Some(PairArrays::Sites) => {
                return Err(refuse(format!(
                    "in training, pairs have no numbers of their own, but here they have {}: leave them out",
                    found.names()
                )));
            }
            Some(expected) => {
                let found =
                    if found == PairArrays::Sites { "it has no such arrays" } else { "it has other ones" };
                return Err(refuse(format!(
                    "the numbers of pairs come from the arrays {} in training, but {found}: give them",
                    expected.names()
                )));
            }
        }
        if sites.pair_channels() != self.pair_channels {
            let (found, expected) = (sites.pair_channels(), self.pair_channels);
            return Err(refuse(format!("pairs have {found} numbers, but those of others have {expected}")));
        }
        match (&sites.pairs, self.neighbours) {
            (PairFeatures::Given { .. }, Neighbours::Eight) => Err(refuse(
                "there are numbers of horizontal and vertical pairs, but eight neighbours have diagonal ones too: join four".into(),
            )),
            _ => Ok(sites),
        }
    }

    /// Adds the observations of an image: a constant and the numbers of every site, and a constant and the numbers of
    /// every pair. All of them are dense. `graph` must be the graph of an image of this size.
    pub(super) fn push_observations(
        &self,
        sites: &Sites,
        graph: &FactorGraph,
        data: &mut Dataset<FactorGraph>,
    ) {
        if data.is_empty() && data.dense().is_empty() {
            data.set_dense(SITES, 1 + self.channels);
            (PAIRS..)
                .zip(self.pair_kinds())
                .for_each(|(kind, _)| data.set_dense(kind, 1 + self.pair_channels));
        }
        let single = |x: f64| x as f32;
        for f in 0..graph.factors() {
            let kind = graph.own_kind(f);
            data.push_dense(kind, [1.0]);
            match *graph.factor(f).vars {
                [i] => data.push_dense(kind, sites.nodes.pixel(i).iter().copied().map(single)),
                [i, j] => data.push_dense(kind, sites.pair(i, j).map(single)),
                _ => unreachable!("a grid has nodes and pairs"),
            }
            data.finish_table();
        }
    }
}
