//! The numbers of a grid's sites, which are pixels or patches, and of pairs of neighbours.

use super::images::{Image, check_size, read};
use super::label_masks::LabelMask;
use super::numpy::{self, ArrayArchive};
use crate::{Error, Place, Result};
use serde::{Deserialize, Serialize};
use std::io::Read;

/// The numbers of sites and of pairs of neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct Sites {
    /// The numbers of each site, x_i.
    pub nodes: Image,
    /// The numbers of each pair.
    pub pairs: PairFeatures,
}

/// The source of the numbers of a pair of neighbours.
#[derive(Clone, Debug, PartialEq)]
pub enum PairFeatures {
    /// |x_i − x_j|, computed from the numbers of the sites.
    Differences,
    /// |m_i − m_j|, computed from other numbers of the sites.
    Compared(Image),
    /// Numbers given for each pair. Diagonal neighbours have none.
    Given {
        /// Numbers for each site and its right neighbour, `[height][width − 1][numbers]`.
        horizontal: Image,
        /// Numbers for each site and the one below, `[height − 1][width][numbers]`.
        vertical: Image,
    },
}

/// The arrays that the numbers of pairs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PairArrays {
    /// The array of the sites: [`PairFeatures::Differences`].
    Sites,
    /// The array that is compared: [`PairFeatures::Compared`].
    Compared,
    /// The two arrays of given numbers: [`PairFeatures::Given`].
    Given,
}

impl PairArrays {
    /// The names of the arrays, for messages.
    pub fn names(self) -> &'static str {
        match self {
            PairArrays::Sites => "`nodes`",
            PairArrays::Compared => "`compare`",
            PairArrays::Given => "`horizontal` and `vertical`",
        }
    }
}

impl PairFeatures {
    /// The arrays that the numbers come from.
    pub fn arrays(&self) -> PairArrays {
        match self {
            PairFeatures::Differences => PairArrays::Sites,
            PairFeatures::Compared(_) => PairArrays::Compared,
            PairFeatures::Given { .. } => PairArrays::Given,
        }
    }
}

/// Names of the arrays that an archive may have.
const NAMES: [&str; 5] = ["nodes", "compare", "horizontal", "vertical", "allowed"];

impl From<Image> for Sites {
    fn from(nodes: Image) -> Self {
        Sites { nodes, pairs: PairFeatures::Differences }
    }
}

impl Sites {
    /// Reads an image ([`Image::read`]) or an archive (`.npz`). An archive has the array `nodes` and, if pairs have
    /// numbers of their own, `compare`, or `horizontal` and `vertical`: see [`PairFeatures`]. `name` is the input's name in
    /// messages.
    pub fn read(reader: impl Read, name: &str) -> Result<Self> {
        match Sites::read_restricted(reader, name)? {
            (sites, None) => Ok(sites),
            (_, Some(_)) => Err(Error::input(
                Place::new(name, 0),
                "the array `allowed` restricts the labels of an image, but only numbers are needed here: leave it out",
            )),
        }
    }

    /// Reads an image or an archive ([`Sites::read`]) with the labels that each site may have, which an archive may have as the array
    /// `allowed`.
    pub(crate) fn read_restricted(reader: impl Read, name: &str) -> Result<(Self, Option<LabelMask>)> {
        let bytes = read(reader, name)?;
        if !bytes.starts_with(numpy::ARCHIVE) {
            return Ok((Image::from_bytes(&bytes, name)?.into(), None));
        }
        let parse = |archive: ArrayArchive| {
            let sites = Sites::from_arrays(&archive)?;
            let allowed = archive.array("allowed")?.map(LabelMask::from_array).transpose();
            Ok((sites, allowed.map_err(|why| format!("allowed: {why}"))?))
        };
        ArrayArchive::open(&bytes).and_then(parse).map_err(|why| Error::input(Place::new(name, 0), why))
    }

    fn from_arrays(archive: &ArrayArchive) -> std::result::Result<Self, String> {
        let take = |name: &str| {
            let image = archive.array(name)?.map(Image::from_array).transpose();
            image.map_err(|why| format!("{name}: {why}"))
        };
        let nodes = take("nodes")?.ok_or("it has no array `nodes` of the shape (height, width, channels)")?;
        check_size(nodes.height, nodes.width)?;
        if let Some(name) = archive.names().find(|name| !NAMES.contains(name)) {
            return Err(format!(
                "unknown array `{name}`: choose from nodes, compare, horizontal, vertical and allowed"
            ));
        }
        let pairs = match (take("compare")?, take("horizontal")?, take("vertical")?) {
            (None, None, None) => PairFeatures::Differences,
            (Some(m), None, None) => PairFeatures::Compared(m),
            (None, Some(horizontal), Some(vertical)) => PairFeatures::Given { horizontal, vertical },
            _ => return Err("give either `compare`, or `horizontal` and `vertical`, for pairs".into()),
        };
        let sites = Sites { nodes, pairs };
        sites.check().map(|()| sites)
    }

    /// How many numbers a pair has.
    pub fn pair_channels(&self) -> usize {
        match &self.pairs {
            PairFeatures::Differences => self.nodes.channels,
            PairFeatures::Compared(m) => m.channels,
            PairFeatures::Given { horizontal, .. } => horizontal.channels,
        }
    }

    /// Checks that the arrays fit each other and that all numbers are finite. The error says what is wrong.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let Image { height, width, .. } = self.nodes;
        let pairs = self.pair_channels();
        check_array("nodes", &self.nodes, [height, width, self.nodes.channels])?;
        match &self.pairs {
            PairFeatures::Differences => Ok(()),
            PairFeatures::Compared(m) => check_array("compare", m, [height, width, pairs]),
            PairFeatures::Given { horizontal, vertical } => {
                check_array("horizontal", horizontal, [height, width.saturating_sub(1), pairs])?;
                check_array("vertical", vertical, [height.saturating_sub(1), width, pairs])
            }
        }
    }

    /// The numbers of the pair of sites `i` < `j`. Diagonal pairs of [`PairFeatures::Given`] have none.
    #[inline]
    pub fn pair(&self, i: usize, j: usize) -> impl Iterator<Item = f64> + '_ {
        let row = |i: usize| i / self.nodes.width;
        let (m, n): (&[f64], &[f64]) = match &self.pairs {
            PairFeatures::Differences => (self.nodes.pixel(i), self.nodes.pixel(j)),
            PairFeatures::Compared(m) => (m.pixel(i), m.pixel(j)),
            PairFeatures::Given { horizontal, .. } if row(i) == row(j) => (horizontal.pixel(i - row(i)), &[]),
            PairFeatures::Given { vertical, .. } => (vertical.pixel(i), &[]),
        };
        m.iter().enumerate().map(move |(k, m)| n.get(k).map_or(*m, |n| (m - n).abs()))
    }
}

/// The largest number of a site or a pair: it is stored in single precision, and so is the difference of two.
const MOST: f64 = 1e38;

/// Checks that the array has this shape, and only numbers that are finite and not too large.
fn check_array(name: &str, array: &Image, shape: [usize; 3]) -> std::result::Result<(), String> {
    let found = [array.height, array.width, array.channels];
    if found != shape || array.values.len() != shape.iter().product::<usize>() {
        return Err(format!("the array `{name}` has the shape {found:?}, but must have {shape:?}"));
    }
    match array.values.iter().position(|value| !value.is_finite() || value.abs() > MOST) {
        None => Ok(()),
        Some(at) => {
            let (pixel, channel) = (at / array.channels, at % array.channels);
            let (row, column) = (pixel / array.width, pixel % array.width);
            let value = array.values[at];
            let place = format!("row {row}, column {column}, number {channel}");
            Err(format!("{place} is {value:?}: numbers must be finite and at most {MOST:e}"))
        }
    }
}
