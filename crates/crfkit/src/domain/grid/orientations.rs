//! Histograms of edge orientations at several scales, and features computed from them after Kumar and Hebert (2003).
//! Buildings have straight edges in one or two directions; meadows do not.
//!
//! A histogram E has K classes of orientation, modulo π. Each class has the mean gradient magnitude of a window's
//! pixels in that class, times K. It is smoothed around the circle, E_δ = Σ_k K((δ − k)/h)·E_k / Σ_k K((δ − k)/h). Its
//! numbers are:
//!
//! - heaved central-shift moments: v_0 = mean of E, v_p = Σ_δ (E_δ − v_0)₊^{p+1} / Σ_δ (E_δ − v_0)₊, of which v_p^{1/p}
//!   is used, because it grows with the contrast as E does;
//! - the orientations δ_1 and δ_2 of its two largest peaks, in units of π: δ_1 itself, and |sin(δ_1 − δ_2)|, 1 for
//!   right angles;
//! - between scales, |cos 2(δ_1 − δ_1')|, 1 for equal angles and for right angles.
//!
//! A site has the five numbers v_0, v_1, √v_2, δ_1, |sin(δ_1 − δ_2)| of its patch. Pairs compare fourteen. Twelve are
//! v_0, v_1, √v_2 and |sin(δ_1 − δ_2)| of three windows around the patch, once, twice and four times as wide. The other
//! two are |cos 2(δ_1 − δ_1')| of each two successive windows. smd-crf-2006 does not say which five and fourteen it
//! uses. On held-out photographs of its training set these did better than v_1, √v_2, δ_1, δ_2, |sin(δ_1 − δ_2)|, and
//! plain differences did better than differences of a smoothed image.

use crate::data::images::Image;
use crate::data::sites::{PairFeatures, Sites};
use std::f64::consts::PI;

/// Number of orientation classes.
const BINS: usize = 50;
/// Bandwidth of the smoothing, in classes.
const BANDWIDTH: f64 = 0.7;
/// Reach of the smoothing, in classes. Beyond it the kernel is below 1e-3.
const REACH: usize = 3;
/// Sides of the windows, in patches.
const WINDOWS: [usize; 3] = [1, 2, 4];
/// The unit of the moments: a steep gradient for a whole window. Most moments then lie between 0 and 1, as the other
/// numbers do. Methods with fixed gains need that.
const STEEP: f64 = 0.2;

/// The gradient of an image at each pixel.
pub(super) struct Orientations {
    height: usize,
    width: usize,
    /// Magnitude of the gradient, `[height][width]`.
    magnitude: Vec<f64>,
    /// Orientation class of the gradient, `[height][width]`.
    class: Vec<u8>,
}

/// The numbers of one window.
struct Histogram {
    /// The moments v_0, v_1 and √v_2.
    moments: [f64; 3],
    /// The peaks δ_1 and δ_2, in units of π.
    peaks: [f64; 2],
}

impl Histogram {
    /// |sin(δ_1 − δ_2)|.
    fn corner(&self) -> f64 {
        (PI * (self.peaks[0] - self.peaks[1])).sin().abs()
    }
}

impl Orientations {
    /// The gradient of an image with one number per pixel, by central differences. Border pixels are repeated beyond
    /// the border.
    pub(crate) fn new(image: &Image) -> Self {
        let (height, width, pixels) = (image.height, image.width, image.values.len());
        let at =
            |row: usize, column: usize| image.values[row.min(height - 1) * width + column.min(width - 1)];
        let (mut magnitude, mut class) = (Vec::with_capacity(pixels), Vec::with_capacity(pixels));
        for row in 0..height {
            for column in 0..width {
                let across = 0.5 * (at(row, column + 1) - at(row, column.saturating_sub(1)));
                let down = 0.5 * (at(row + 1, column) - at(row.saturating_sub(1), column));
                magnitude.push(across.hypot(down));
                let turn = down.atan2(across).rem_euclid(PI) / PI;
                class.push(((turn * BINS as f64) as usize).min(BINS - 1) as u8);
            }
        }
        Orientations { height, width, magnitude, class }
    }

    /// The numbers of `height` × `width` patches.
    pub(crate) fn sites(&self, height: usize, width: usize, patch: usize) -> Sites {
        let (mut nodes, mut compare) = (Vec::new(), Vec::new());
        for row in 0..height {
            for column in 0..width {
                let windows = WINDOWS.map(|times| self.histogram(row, column, patch, times));
                nodes.extend(windows[0].moments);
                nodes.extend([windows[0].peaks[0], windows[0].corner()]);
                for window in &windows {
                    compare.extend(window.moments);
                    compare.push(window.corner());
                }
                let turn = |k: usize| 2.0 * PI * (windows[k].peaks[0] - windows[k + 1].peaks[0]);
                compare.extend([turn(0).cos().abs(), turn(1).cos().abs()]);
            }
        }
        let image = |channels: usize, values: Vec<f64>| Image { height, width, channels, values };
        Sites { nodes: image(5, nodes), pairs: PairFeatures::Compared(image(14, compare)) }
    }

    /// The numbers of the window around a patch that is `times` times as wide, as far as it lies in the image.
    fn histogram(&self, row: usize, column: usize, patch: usize, times: usize) -> Histogram {
        let range = |at: usize, end: usize| {
            let around = patch * (times - 1) / 2;
            (at * patch).saturating_sub(around)..((at + 1) * patch + around).min(end)
        };
        let (rows, columns) = (range(row, self.height), range(column, self.width));
        let unit = BINS as f64 / (STEEP * (rows.len() * columns.len()) as f64);
        let mut sums = [0.0; BINS];
        for row in rows {
            for pixel in row * self.width + columns.start..row * self.width + columns.end {
                sums[self.class[pixel] as usize] += unit * self.magnitude[pixel];
            }
        }
        let e = around_the_circle(&sums);
        Histogram { moments: moments(&e), peaks: peaks(&e) }
    }
}

/// The Gaussian kernel at `x` bandwidths.
fn kernel(x: f64) -> f64 {
    (-0.5 * x * x).exp()
}

/// The histogram, smoothed around the circle.
fn around_the_circle(sums: &[f64; BINS]) -> [f64; BINS] {
    let weight = |distance: usize| kernel((distance as f64 - REACH as f64) / BANDWIDTH);
    let total: f64 = (0..=2 * REACH).map(weight).sum();
    std::array::from_fn(|bin| {
        let near = (0..=2 * REACH).map(|k| weight(k) * sums[(bin + BINS + k - REACH) % BINS]);
        near.sum::<f64>() / total
    })
}

/// The moments v_0, v_1 and √v_2 of a histogram.
fn moments(e: &[f64; BINS]) -> [f64; 3] {
    let mean = e.iter().sum::<f64>() / BINS as f64;
    let heaved = |power: i32| e.iter().map(|e| (e - mean).max(0.0).powi(power)).sum::<f64>();
    match heaved(1) {
        0.0 => [mean, 0.0, 0.0],
        sum => [mean, heaved(2) / sum, (heaved(3) / sum).sqrt()],
    }
}

/// The orientations of the two largest peaks, in units of π. If there is only one peak its orientation is returned
/// twice; if there is none, both are 0.
fn peaks(e: &[f64; BINS]) -> [f64; 2] {
    let [mut first, mut second] = [None::<usize>; 2];
    for bin in 0..BINS {
        // A plateau counts once, where it begins.
        if e[bin] > e[(bin + BINS - 1) % BINS] && e[bin] >= e[(bin + 1) % BINS] {
            if first.is_none_or(|other| e[bin] > e[other]) {
                second = first.replace(bin);
            } else if second.is_none_or(|other| e[bin] > e[other]) {
                second = Some(bin);
            }
        }
    }
    let turn = |bin: usize| (bin as f64 + 0.5) / BINS as f64;
    let first = first.map_or(0.0, turn);
    [first, second.map_or(first, turn)]
}
