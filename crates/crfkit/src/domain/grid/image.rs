//! An image with its mask.

use super::GridDomain;
use crate::data::images::Mask;
use crate::data::label_masks::LabelMask;
use crate::data::sites::Sites;
use crate::{Error, Place, Result};
use std::io::Read;

/// An image, with the labels of its sites if they are known.
#[derive(Clone, Debug)]
pub struct GridImage {
    /// The numbers of the image's pixels.
    pub sites: Sites,
    /// The mask: a label for each site.
    pub mask: Option<Mask>,
    /// Instead of a mask, the labels that each site may have: (height, width, labels). Its label is one of them.
    pub sets: Option<LabelMask>,
    /// The labels that each site may have when the image is labelled: (height, width, labels). Labels and probabilities are conditional on
    /// it. `None` if all are possible; training and development data may not restrict answers.
    pub allowed: Option<LabelMask>,
    /// The weight of each site in training, row by row; `None` if all are 1.
    pub weights: Option<Vec<f64>>,
    /// Name of the image in messages.
    pub name: String,
}

impl GridImage {
    /// An image of which only its numbers are known.
    pub fn new(sites: Sites, name: &str) -> Self {
        GridImage { sites, mask: None, sets: None, allowed: None, weights: None, name: name.into() }
    }

    /// Reads an image or an archive ([`Sites::read`]). An archive may also have the array `allowed` (height, width, labels), of 0
    /// and 1. `name` is the image's name in messages.
    pub fn read(reader: impl Read, name: &str) -> Result<Self> {
        let (sites, allowed) = Sites::read_restricted(reader, name)?;
        Ok(GridImage { allowed, ..GridImage::new(sites, name) })
    }

    /// The weights of the sites, if there are any. It is an error if there is not one for each of them, or if one is
    /// negative or not finite.
    pub(super) fn weighed(&self, sites: usize) -> Result<Option<&[f64]>> {
        let refuse = |why: String| Err(Error::input(Place::new(&self.name, 0), why));
        let Some(weights) = &self.weights else { return Ok(None) };
        if weights.len() != sites {
            return refuse(format!("{} weights, but {sites} sites", weights.len()));
        }
        match weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
            Some(weight) => {
                refuse(format!("a weight is {weight}, but it must be a finite number of at least 0"))
            }
            None => Ok(Some(weights)),
        }
    }

    /// What is known of the labels of the sites. It is an error if it is missing or does not fit them.
    pub(super) fn labelled(&self, domain: &GridDomain) -> Result<Known<'_>> {
        let refuse = |why: String| Error::input(Place::new(&self.name, 0), why);
        let [height, width] = self.size(domain);
        match (&self.mask, &self.sets) {
            (Some(mask), None) => match misfit((height, width), mask) {
                Some(why) => Err(refuse(why)),
                None => Ok(Known::Mask(mask)),
            },
            (None, Some(sets)) => {
                let fits = sets.check("labels", &[height, width], domain.labels.len());
                fits.map(|()| Known::Sets(sets)).map_err(refuse)
            }
            (None, None) => Err(refuse("the image has no mask, but labels are needed here".into())),
            (Some(_), Some(_)) => {
                Err(refuse("the image has a mask and sets of labels: give one of both".into()))
            }
        }
    }

    /// Rejects restrictions that do not fit the image.
    pub(super) fn check_allowed(&self, domain: &GridDomain) -> Result<()> {
        let Some(allowed) = &self.allowed else { return Ok(()) };
        let fits = allowed.check("allowed", &self.size(domain), domain.labels.len());
        fits.map_err(|why| {
            let labels = "the last axis is for the labels of the model in ascending order";
            Error::input(Place::new(&self.name, 0), format!("{why}: {labels}"))
        })
    }

    /// Numbers of rows and columns of sites.
    fn size(&self, domain: &GridDomain) -> [usize; 2] {
        let (nodes, patch) = (&self.sites.nodes, domain.sites.patch.max(1));
        [nodes.height / patch, nodes.width / patch]
    }
}

/// What is known of the labels of an image.
pub(super) enum Known<'a> {
    /// The label of each site.
    Mask(&'a Mask),
    /// The labels that each site may have.
    Sets(&'a LabelMask),
}

/// Why a mask does not fit an image of this height and width in sites; `None` if it fits.
fn misfit((height, width): (usize, usize), mask: &Mask) -> Option<String> {
    ((height, width) != (mask.height, mask.width)).then(|| {
        let (tall, wide) = (mask.height, mask.width);
        format!("the image has {width} × {height} sites (pixels or patches), but its mask has {wide} × {tall}: they must fit each other")
    })
}
