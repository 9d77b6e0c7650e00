//! How many pixels are wrong.

use super::Layout;
use super::pictures::misfit;
use crate::data::images::Mask;
use crate::{Error, Place, Result};

/// Wrong pixels among those that have a gold label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PixelErrors {
    /// Pixels with a gold label.
    pub pixels: u64,
    /// Those of them that got another one.
    pub wrong: u64,
}

impl PixelErrors {
    /// Adds an image: its gold mask, called `name`, and the mask that was found. Unlabelled pixels do not count; values that the model does
    /// not know are always wrong.
    pub fn add(&mut self, layout: &Layout, gold: &Mask, found: &Mask, name: &str) -> Result<()> {
        if let Some(why) = misfit((found.height, found.width), gold) {
            return Err(Error::input(Place::new(name, 0), why));
        }
        for (gold, found) in gold.values.iter().zip(&found.values) {
            if Some(*gold) != layout.unlabelled {
                self.pixels += 1;
                self.wrong += u64::from(gold != found);
            }
        }
        Ok(())
    }

    /// Per cent of the pixels that are wrong; 0 where there are none.
    pub fn percent(&self) -> f64 {
        100.0 * self.wrong as f64 / self.pixels.max(1) as f64
    }
}
