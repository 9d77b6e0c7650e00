//! An image with its mask.

use super::GridDomain;
use crate::data::images::Mask;
use crate::data::sites::Sites;
use crate::{Error, Place, Result};

/// An image, with the labels of its sites if they are known.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The numbers of the image's pixels.
    pub sites: Sites,
    /// The mask: a label for each site.
    pub mask: Option<Mask>,
    /// Name of the image in messages.
    pub name: String,
}

impl Picture {
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
