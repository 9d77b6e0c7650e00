//! Pictures and masks as examples.

use super::Layout;
use crate::data::dataset::Dataset;
use crate::data::images::Mask;
use crate::data::sites::Sites;
use crate::graph::{FactorGraph, Label, UNLABELLED};
use crate::{Error, Place, Result};
use std::collections::BTreeMap;

/// Examples of one layout: images with their masks.
#[derive(Clone, Debug)]
pub struct Pictures {
    layout: Layout,
    /// The graph of each size: images of one size share it.
    graphs: BTreeMap<(usize, usize), FactorGraph>,
    pub(super) data: Dataset<FactorGraph>,
    labelled: usize,
}

impl Pictures {
    /// None yet.
    pub fn new(layout: Layout) -> Result<Self> {
        layout.check()?;
        Ok(Pictures { layout, graphs: BTreeMap::new(), data: Dataset::new(), labelled: 0 })
    }

    /// Adds a picture and its mask, which has a pixel for each site; both come from `name`. Every value of the mask must be a
    /// label of the layout, or its value for no label.
    pub fn add(&mut self, picture: &Sites, mask: &Mask, name: &str) -> Result<()> {
        let refuse = |why: String| Error::input(Place::new(name, 0), why);
        let sites = self.layout.describe(picture, name)?;
        let (height, width) = (sites.nodes.height, sites.nodes.width);
        if let Some(why) = misfit((height, width), mask) {
            return Err(refuse(why));
        }
        let mut gold = Vec::with_capacity(mask.values.len());
        for &value in &mask.values {
            gold.push(match self.layout.label(value) {
                _ if Some(value) == self.layout.unlabelled => UNLABELLED,
                Some(label) => label,
                None => {
                    let labels = &self.layout.labels;
                    return Err(refuse(format!("the mask has the value {value}, but labels are {labels:?}")));
                }
            });
        }
        let graph = self.graph(height, width)?;
        self.layout.observe(&sites, &graph, &mut self.data);
        self.finish(height, width, gold)
    }

    /// The graph of a size.
    fn graph(&mut self, height: usize, width: usize) -> Result<FactorGraph> {
        if let Some(graph) = self.graphs.get(&(height, width)) {
            return Ok(graph.clone());
        }
        let graph = self.layout.graph(height, width)?;
        self.graphs.insert((height, width), graph.clone());
        Ok(graph)
    }

    /// Ends an example whose observations have been pushed.
    pub(super) fn finish(&mut self, height: usize, width: usize, gold: Vec<Label>) -> Result<()> {
        let graph = self.graph(height, width)?;
        self.labelled += gold.iter().filter(|&&label| label != UNLABELLED).count();
        self.data.finish_example(graph, gold, 1.0);
        Ok(())
    }

    /// Their layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The examples.
    pub fn data(&self) -> &Dataset<FactorGraph> {
        &self.data
    }

    /// Pixels with a label.
    pub fn labelled(&self) -> usize {
        self.labelled
    }

    /// Has every pixel a label?
    pub fn complete(&self) -> bool {
        self.labelled == self.data.variables()
    }
}

/// Why a mask does not fit a picture of this height and width in sites, if it does not.
pub(super) fn misfit((height, width): (usize, usize), mask: &Mask) -> Option<String> {
    ((height, width) != (mask.height, mask.width)).then(|| {
        let (tall, wide) = (mask.height, mask.width);
        format!("the image has {width} × {height} sites (pixels or patches), but its mask has {wide} × {tall}: they must fit each other")
    })
}
