//! An image with its mask.

use super::GridDomain;
use crate::data::images::Mask;
use crate::data::sites::Sites;
use crate::{Error, Place, Result};

/// An image, with the labels of its sites if they are known.
#[derive(Clone, Debug)]
pub struct GridImage {
    /// The numbers of the image's pixels.
    pub sites: Sites,
    /// The mask: a label for each site.
    pub mask: Option<Mask>,
    /// The weight of each site in training, row by row; `None` if all are 1.
    pub weights: Option<Vec<f64>>,
    /// Name of the image in messages.
    pub name: String,
}

impl GridImage {
    /// The weights of the sites, if there are any. It is an error if their number is not that of the mask, or if one is
    /// negative or not finite.
    pub(super) fn weighed(&self, mask: &Mask) -> Result<Option<&[f64]>> {
        let refuse = |why: String| Err(Error::input(Place::new(&self.name, 0), why));
        let Some(weights) = &self.weights else { return Ok(None) };
        if weights.len() != mask.values.len() {
            return refuse(format!("{} weights, but {} sites", weights.len(), mask.values.len()));
        }
        match weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
            Some(weight) => {
                refuse(format!("a weight is {weight}, but it must be a finite number of at least 0"))
            }
            None => Ok(Some(weights)),
        }
    }

    /// The mask. It is an error if it is missing or does not fit the sites.
    pub(super) fn labelled(&self, domain: &GridDomain) -> Result<&Mask> {
        let refuse = |why: String| Error::input(Place::new(&self.name, 0), why);
        let Some(mask) = &self.mask else {
            return Err(refuse("the image has no mask, but labels are needed here".into()));
        };
        let (nodes, patch) = (&self.sites.nodes, domain.sites.patch.max(1));
        match misfit((nodes.height / patch, nodes.width / patch), mask) {
            Some(why) => Err(refuse(why)),
            None => Ok(mask),
        }
    }
}

/// Why a mask does not fit an image of this height and width in sites; `None` if it fits.
fn misfit((height, width): (usize, usize), mask: &Mask) -> Option<String> {
    ((height, width) != (mask.height, mask.width)).then(|| {
        let (tall, wide) = (mask.height, mask.width);
        format!("the image has {width} × {height} sites (pixels or patches), but its mask has {wide} × {tall}: they must fit each other")
    })
}
