//! Images of random shapes, with noise.

use crfkit::data::images::{Image, Mask};
use crfkit::math::random::Random;

/// Width and height of an image, in pixels.
pub const SIDE: usize = 64;
/// The mask's value for pixels of a shape.
pub const WHITE: u16 = 255;

/// An image and its mask. The mask is the truth (0 or 255); the image is the same as 0 and 1 plus Gaussian noise of
/// standard deviation `noise`.
pub fn picture(seed: u64, number: u64, noise: f64) -> (Image, Mask) {
    let mut random = Random::stream(seed, number);
    let mut values = vec![0; SIDE * SIDE];
    for _ in 0..2 + random.below(3) {
        let shape = Shape::draw(&mut random);
        for (pixel, value) in values.iter_mut().enumerate() {
            if shape.covers((pixel / SIDE) as f64, (pixel % SIDE) as f64) {
                *value = WHITE;
            }
        }
    }
    let noisy = |&value: &u16| f64::from(u8::from(value > 0)) + noise * normal(&mut random);
    let image = Image { height: SIDE, width: SIDE, channels: 1, values: values.iter().map(noisy).collect() };
    (image, Mask { height: SIDE, width: SIDE, values })
}

/// A standard normal variate (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.uniform()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.uniform()).cos()
}

/// A disc, a ring or a rotated rectangle around a centre (row, column).
enum Shape {
    Disc { centre: [f64; 2], radius: f64 },
    Ring { centre: [f64; 2], inner: f64, outer: f64 },
    Rectangle { centre: [f64; 2], half: [f64; 2], direction: [f64; 2] },
}

impl Shape {
    fn draw(random: &mut Random) -> Self {
        let mut between = |low: f64, high: f64| low + (high - low) * random.uniform();
        let side = SIDE as f64;
        let centre = [between(0.15, 0.85) * side, between(0.15, 0.85) * side];
        match between(0.0, 3.0) as usize {
            0 => Shape::Disc { centre, radius: between(5.0, 12.0) },
            1 => {
                let outer = between(9.0, 15.0);
                Shape::Ring { centre, inner: outer - between(4.0, 6.0), outer }
            }
            _ => {
                let half = [between(4.0, 12.0), between(4.0, 12.0)];
                let angle = between(0.0, std::f64::consts::PI);
                Shape::Rectangle { centre, half, direction: [angle.sin(), angle.cos()] }
            }
        }
    }

    fn covers(&self, row: f64, column: f64) -> bool {
        let (Shape::Disc { centre, .. } | Shape::Ring { centre, .. } | Shape::Rectangle { centre, .. }) =
            self;
        let [y, x] = [row - centre[0], column - centre[1]];
        match self {
            Shape::Disc { radius, .. } => y.hypot(x) <= *radius,
            Shape::Ring { inner, outer, .. } => (*inner..=*outer).contains(&y.hypot(x)),
            Shape::Rectangle { half, direction: [sine, cosine], .. } => {
                (x * cosine + y * sine).abs() <= half[0] && (y * cosine - x * sine).abs() <= half[1]
            }
        }
    }
}
