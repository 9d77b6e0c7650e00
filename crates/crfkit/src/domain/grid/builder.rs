//! The builder of a training corpus of images.

use super::image::Known;
use super::{GridCorpus, GridDomain, GridImage, GridScratch};
use crate::data::columns::wrong_weight;
use crate::data::dataset::Dataset;
use crate::data::images::Mask;
use crate::data::sites::Sites;
use crate::domain::partial::{SetNumbers, plain_label};
use crate::graph::{FactorGraph, Label, LabelBits, UNLABELLED};
use crate::{Error, Place, Result};

/// Builds a corpus from images and their masks.
#[derive(Clone, Debug)]
pub struct GridBuilder {
    domain: GridDomain,
    scratch: GridScratch,
    data: Dataset<FactorGraph>,
    /// The sets of labels that gold labels stand for.
    sets: SetNumbers,
}

impl GridBuilder {
    /// A builder without images.
    pub fn new(domain: GridDomain) -> Result<Self> {
        domain.check()?;
        let (scratch, data, sets) = (GridScratch::default(), Dataset::new(), SetNumbers::default());
        Ok(GridBuilder { domain, scratch, data, sets })
    }

    /// Adds an image and its mask, which has one pixel for each site; both come from `name`. Every value of the mask
    /// must be a label of the domain, or its value for no label.
    pub fn add(&mut self, sites: &Sites, mask: &Mask, name: &str) -> Result<()> {
        self.add_image(&GridImage { mask: Some(mask.clone()), ..GridImage::new(sites.clone(), name) })
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
        let refuse = |why: String| Error::input(Place::new(&image.name, 0), why);
        if image.allowed.is_some() {
            return Err(refuse(
                "`allowed` restricts the answers of a model: in training data, give what is known as labels"
                    .into(),
            ));
        }
        // Report errors in the image first: its sites may be why the mask does not fit.
        let sites = self.domain.describe(&image.sites, &image.name)?;
        let domain = &self.domain;
        let of_value = |&value: &u16| match domain.label(value) {
            _ if Some(value) == domain.unlabelled => Ok(UNLABELLED),
            Some(label) => Ok(label),
            None => {
                Err(refuse(format!("the mask has the value {value}, but labels are {:?}", domain.labels)))
            }
        };
        let gold: Vec<Label> = match image.labelled(domain)? {
            Known::Mask(mask) => mask.values.iter().map(of_value).collect::<Result<_>>()?,
            Known::Sets(sets) => {
                let gold = |set: LabelBits| {
                    plain_label(&set, sets.labels()).unwrap_or_else(|| self.sets.number(&set))
                };
                sets.sets().map(gold).collect()
            }
        };
        let weights = image.weighed(gold.len())?;
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
        let GridBuilder { domain, mut data, sets, .. } = self;
        data.set_sets(sets.into_sets());
        match data.is_empty() {
            true => Err(Error::Setting("there is no image to learn from whose weight is above 0".into())),
            false => Ok(GridCorpus { domain, data }),
        }
    }
}
