//! What is told about the sites of a picture, and how it follows from the numbers of its pixels.

use super::orientations::Orientations;
use crate::data::images::Image;
use crate::data::sites::{Pairs, Sites};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Shares of red, green and blue in what the eye takes for brightness (ITU-R BT.709).
const LUMA: [f64; 3] = [0.2126, 0.7152, 0.0722];
/// The side of a patch at most.
const MAX_PATCH: usize = 1 << 12;
/// The side of a patch with orientations at least: fewer pixels have no histogram.
const MIN_ORIENTATIONS: usize = 4;

/// Which numbers a site has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SiteNumbers {
    /// Those of its pixels: intensity, or red, green and blue, or the numbers of an array. A patch has their means.
    #[default]
    Values,
    /// The intensity of its pixels, of coloured pictures too. A patch has the mean.
    Intensity,
    /// Which way the edges in and around a patch run (Kumar and Hebert 2003; smd-crf-2006 section 5.2): five numbers of a site,
    /// fourteen that pairs compare.
    Orientations,
}

/// What is told about sites. With [`SiteNumbers::Orientations`], patches of 16 pixels and the quadratic expansion a site has 21
/// features and a pair 15, the constants included: those of smd-crf-2006 section 5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteFeatures {
    /// Which numbers.
    pub numbers: SiteNumbers,
    /// A site is a patch of so many pixels each way, a single pixel if 1. Pixels beyond the last whole patch are left out.
    pub patch: usize,
    /// Do the products of any two numbers of a site follow the numbers themselves?
    pub quadratic: bool,
}

impl Default for SiteFeatures {
    fn default() -> Self {
        SiteFeatures { numbers: SiteNumbers::default(), patch: 1, quadratic: false }
    }
}

impl SiteFeatures {
    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<()> {
        let least = if self.numbers == SiteNumbers::Orientations { MIN_ORIENTATIONS } else { 1 };
        match (least..=MAX_PATCH).contains(&self.patch) {
            true => Ok(()),
            false => Err(Error::Setting(format!(
                "a patch of {} pixels: here it has between {least} and {MAX_PATCH} each way",
                self.patch
            ))),
        }
    }

    /// What is told about the sites of a picture; or why there is nothing to tell.
    pub fn describe<'a>(&self, given: &'a Sites) -> std::result::Result<Cow<'a, Sites>, String> {
        given.check()?;
        let plain = self.numbers == SiteNumbers::Values && self.patch == 1;
        let sites = match (&given.pairs, self.numbers) {
            _ if plain => Cow::Borrowed(given),
            (Pairs::Compared(_) | Pairs::Given { .. }, _) => {
                return Err(
                    "it has numbers of pairs, which go with sites as they are: no patches, and values only"
                        .into(),
                );
            }
            (Pairs::Differences, SiteNumbers::Values) => Cow::Owned(means(&given.nodes, self.patch)?.into()),
            (Pairs::Differences, SiteNumbers::Intensity) => {
                Cow::Owned(means(&intensity(&given.nodes)?, self.patch)?.into())
            }
            (Pairs::Differences, SiteNumbers::Orientations) => {
                let (height, width) = whole_patches(&given.nodes, self.patch)?;
                Cow::Owned(Orientations::new(&intensity(&given.nodes)?).sites(height, width, self.patch))
            }
        };
        let sites = if self.quadratic { Cow::Owned(expanded(sites.into_owned())) } else { sites };
        // Products of large numbers may not be finite.
        sites.check().map(|()| sites)
    }
}

/// Rows and columns of the whole patches of an image; an error if there are none.
fn whole_patches(image: &Image, patch: usize) -> std::result::Result<(usize, usize), String> {
    let (height, width) = (image.height / patch, image.width / patch);
    match height * width {
        0 => Err(format!(
            "{} × {} pixels are less than one patch of {patch} × {patch}",
            image.width, image.height
        )),
        _ => Ok((height, width)),
    }
}

/// The mean numbers of each patch.
fn means(image: &Image, patch: usize) -> std::result::Result<Image, String> {
    let ((height, width), channels) = (whole_patches(image, patch)?, image.channels);
    let mut values = vec![0.0; height * width * channels];
    let share = 1.0 / (patch * patch) as f64;
    for row in 0..height * patch {
        for column in 0..width * patch {
            let site = row / patch * width + column / patch;
            let mean = &mut values[site * channels..][..channels];
            let pixel = image.pixel(row * image.width + column);
            mean.iter_mut().zip(pixel).for_each(|(mean, x)| *mean += share * x);
        }
    }
    Ok(Image { height, width, channels, values })
}

/// The brightness of each pixel.
fn intensity(image: &Image) -> std::result::Result<Image, String> {
    let grey = |pixel: &[f64]| pixel.iter().zip(LUMA).map(|(x, share)| share * x).sum();
    let values = match image.channels {
        1 => image.values.clone(),
        3 => image.values.chunks_exact(3).map(grey).collect(),
        n => return Err(format!("{n} numbers a pixel have no intensity: 1 and 3 (red, green, blue) have")),
    };
    Ok(Image { channels: 1, values, ..*image })
}

/// x and all products x_a·x_b, a ≤ b: the quadratic expansion without its constant. Pairs keep the numbers that they had.
fn expanded(Sites { nodes, pairs }: Sites) -> Sites {
    let n = nodes.channels;
    let mut values = Vec::with_capacity(nodes.height * nodes.width * (n + n * (n + 1) / 2));
    for pixel in 0..nodes.height * nodes.width {
        let x = nodes.pixel(pixel);
        values.extend_from_slice(x);
        for a in 0..n {
            values.extend(x[a..].iter().map(|b| x[a] * b));
        }
    }
    let wide = Image { channels: n + n * (n + 1) / 2, values, ..nodes };
    let pairs = if pairs == Pairs::Differences { Pairs::Compared(nodes) } else { pairs };
    Sites { nodes: wide, pairs }
}
