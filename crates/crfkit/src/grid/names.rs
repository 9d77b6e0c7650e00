//! What the weights of a model of pictures are called.

use super::{GridModel, Layout};
use crate::model::{LabelSet, Names, Part, Tables};
use crate::{Error, Result};
use std::borrow::Cow;

/// What has weights, in the order of [`Layout::features`].
const PARTS: [&str; 2] = ["site", "pair"];

impl Layout {
    /// The names of such weights; labels are called by their mask values, numbers of sites and pairs by their places.
    fn names<'a>(&self, weights: &'a [f64]) -> Names<'a> {
        let labels = self.labels.iter().map(u8::to_string).collect();
        let part = |(kind, (name, rows)): (usize, (&str, _))| {
            let tables = if kind == 0 && self.tables != Tables::Ising { Tables::Full } else { self.tables };
            let numbers = if kind == 0 { self.channels } else { self.pair_channels };
            Part::described(name, vec![0; kind + 1], tables, Cow::Owned(rows), numbers, |id| id.to_string())
        };
        Names {
            sets: vec![LabelSet { name: Some("label".into()), labels }],
            parts: PARTS.into_iter().zip(self.features().rows).enumerate().map(part).collect(),
            weights,
        }
    }
}

impl GridModel {
    /// Its weights by name.
    pub fn names(&self) -> Names<'_> {
        self.layout.names(&self.weights)
    }

    /// This model's weights, arranged for pictures of another layout; labels that it does not know get 0. Refused where numbers mean
    /// something else there.
    pub fn weights_for(&self, layout: &Layout) -> Result<Vec<f64>> {
        let told = |layout: &Layout| (layout.sites, layout.channels, layout.pair_channels);
        if told(&self.layout) != told(layout) {
            return Err(Error::Setting(
                "the model was told other things about its pictures: give the same --image-features, --patch and --quadratic, and \
                 pictures with the same numbers"
                    .into(),
            ));
        }
        self.names().weights_for(&layout.names(&[]), layout.features().dim())
    }
}
