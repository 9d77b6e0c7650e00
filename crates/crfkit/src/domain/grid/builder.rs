//! The builder of a training corpus of images.

use super::{GridCorpus, GridDomain, GridImage, GridScratch};
use crate::data::columns::wrong_weight;
use crate::data::dataset::Dataset;
use crate::data::images::Mask;
use crate::data::sites::Sites;
use crate::graph::{FactorGraph, UNLABELLED};
use crate::{Error, Place, Result};

/// Builds a corpus from images and their masks.
#[derive(Clone, Debug)]
pub struct GridBuilder {
    domain: GridDomain,
    scratch: GridScratch,
    data: Dataset<FactorGraph>,
}

impl GridBuilder {
    /// A builder without images.
    pub fn new(domain: GridDomain) -> Result<Self> {
        domain.check()?;
        Ok(GridBuilder { domain, scratch: GridScratch::default(), data: Dataset::new() })
    }

    /// Adds an image and its mask, which has one pixel for each site; both come from `name`. Every value of the mask
    /// must be a label of the domain, or its value for no label.
    pub fn add(&mut self, sites: &Sites, mask: &Mask, name: &str) -> Result<()> {
        let image =
            GridImage { sites: sites.clone(), mask: Some(mask.clone()), weights: None, name: name.into() };
        self.add_image(&image)
    }

    /// Adds an image that carries its mask.
    pub fn add_image(&mut self, image: &GridImage) -> Result<()> {
        self.add_weighted(image, 1.0)
    }

    /// Adds an image that carries its mask, with a weight in training: 2 counts as two such images, and 0 leaves it out. It is an error if the
    /// weight is negative or not finite.
    pub fn add_weighted(&mut self, image: &GridImage, weight: f64) -> Result<()> {
        if !(weight.is_finite() && weight >= 0.0) {
            return Err(Error::input(Place::new(&image.name, 0), wrong_weight(weight)));
        }
        // Report errors in the image first: its sites may be why the mask does not fit.
        let sites = self.domain.describe(&image.sites, &image.name)?;
        let mask = image.labelled(&self.domain)?;
        let mut gold = Vec::with_capacity(mask.values.len());
        for &value in &mask.values {
            gold.push(match self.domain.label(value) {
                _ if Some(value) == self.domain.unlabelled => UNLABELLED,
                Some(label) => label,
                None => {
                    let labels = &self.domain.labels;
                    let message = format!("the mask has the value {value}, but labels are {labels:?}");
                    return Err(Error::input(Place::new(&image.name, 0), message));
                }
            });
        }
        let weights = image.weighed(mask)?;
        if weight == 0.0 {
            return Ok(());
        }
        let graph = self.scratch.graph(&self.domain, sites.nodes.height, sites.nodes.width)?;
        self.domain.push_observations(&sites, &graph, &mut self.data);
        self.data.finish_example(graph, gold, weight);
        if let Some(weights) = weights {
            self.data.set_variable_weights(weights);
        }
        Ok(())
    }

    /// Returns the corpus.
    pub fn finish(self) -> Result<GridCorpus> {
        match self.data.is_empty() {
            true => Err(Error::Setting("there is no image to learn from whose weight is above 0".into())),
            false => Ok(GridCorpus { domain: self.domain, data: self.data }),
        }
    }
}
