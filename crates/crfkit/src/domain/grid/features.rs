//! The features of the sites of an image, computed from the numbers of its pixels.

use super::orientations::Orientations;
use crate::data::images::Image;
use crate::data::sites::{PairFeatures, Sites};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Weights of red, green and blue in perceived brightness (ITU-R BT.709).
const LUMA: [f64; 3] = [0.2126, 0.7152, 0.0722];
/// The largest side of a patch, in pixels.
const MAX_PATCH: usize = 1 << 12;
/// The smallest side of a patch with orientations, in pixels. Smaller patches have too few pixels for a histogram.
const MIN_ORIENTATIONS: usize = 4;

/// The numbers that a site has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SiteNumbers {
    /// The numbers of its pixels: intensity, or red, green and blue, or the numbers of an array. A patch has their
    /// means.
    #[default]
    Values,
    /// The intensity of its pixels, in colour images too. A patch has the mean.
    Intensity,
    /// The orientations of the edges in and around a patch (Kumar and Hebert 2003; smd-crf-2006 section 5.2): five
    /// numbers for a site, and fourteen that pairs compare.
    Orientations,
}

/// The features of sites. With [`SiteNumbers::Orientations`], patches of 16 pixels and the quadratic expansion, a site
/// has 21 features and a pair 15, constants included: those of smd-crf-2006 section 5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteFeatures {
    /// The numbers that a site has.
    pub numbers: SiteNumbers,
    /// The side of a site in pixels: 1 for single pixels, more for square patches. Pixels beyond the last whole patch
    /// are left out.
    pub patch: usize,
    /// Whether the products of any two numbers of a site are features too.
    pub quadratic: bool,
}

impl Default for SiteFeatures {
    fn default() -> Self {
        SiteFeatures { numbers: SiteNumbers::default(), patch: 1, quadratic: false }
    }
}

impl SiteFeatures {
    /// Rejects values that make no sense.
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

    /// Computes the features of the sites of an image. The error says why there are none.
    pub fn extract<'a>(&self, given: &'a Sites) -> std::result::Result<Cow<'a, Sites>, String> {
        given.check()?;
        let plain = self.numbers == SiteNumbers::Values && self.patch == 1;
        let sites = match (&given.pairs, self.numbers) {
            _ if plain => Cow::Borrowed(given),
            (PairFeatures::Compared(_) | PairFeatures::Given { .. }, _) => {
                return Err(
                    "it has numbers of pairs, so each pixel must be a site: leave out patches, and use values only"
                        .into(),
                );
            }
            (PairFeatures::Differences, SiteNumbers::Values) => {
                Cow::Owned(means(&given.nodes, self.patch)?.into())
            }
            (PairFeatures::Differences, SiteNumbers::Intensity) => {
                Cow::Owned(means(&intensity(&given.nodes)?, self.patch)?.into())
            }
            (PairFeatures::Differences, SiteNumbers::Orientations) => {
                let (height, width) = whole_patches(&given.nodes, self.patch)?;
                Cow::Owned(Orientations::new(&intensity(&given.nodes)?).sites(height, width, self.patch))
            }
        };
        let sites = if self.quadratic { Cow::Owned(expanded(sites.into_owned())) } else { sites };
        // Products of large numbers may be infinite.
        sites.check().map(|()| sites)
    }
}

/// Numbers of rows and columns of whole patches in an image. It is an error if there are none.
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

/// The means of the numbers in each patch.
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
        n => {
            return Err(format!(
                "pixels with {n} numbers have no intensity: give 1 number, or 3 (red, green, blue)"
            ));
        }
    };
    Ok(Image { channels: 1, values, ..*image })
}

/// x and all products x_a·x_b, a ≤ b: the quadratic expansion without its constant. The numbers of pairs do not change.
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
    let pairs = if pairs == PairFeatures::Differences { PairFeatures::Compared(nodes) } else { pairs };
    Sites { nodes: wide, pairs }
}
