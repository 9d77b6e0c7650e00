//! Small images as SVG, with one square per pixel.

use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// An image in ten shades.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GridImage {
    /// What it shows.
    pub title: String,
    /// One digit per pixel, 0 black and 9 white; one line per row.
    pub rows: Vec<String>,
}

impl GridImage {
    /// An image made from numbers between 0 (black) and 1 (white), row by row.
    pub fn new(title: impl Into<String>, width: usize, pixels: impl IntoIterator<Item = f64>) -> Self {
        let shade = |x: f64| char::from(b'0' + (x.clamp(0.0, 1.0) * 9.0).round() as u8);
        let digits: Vec<char> = pixels.into_iter().map(shade).collect();
        GridImage {
            title: title.into(),
            rows: digits.chunks(width.max(1)).map(|row| row.iter().collect()).collect(),
        }
    }
}

/// Images side by side, four in a row, with their titles below.
pub fn gallery(pictures: &[GridImage]) -> String {
    const ACROSS: usize = 4;
    const SIZE: f64 = 160.0;
    let lines = pictures.len().div_ceil(ACROSS) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\" shape-rendering=\"crispEdges\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        ACROSS as f64 * (SIZE + 16.0),
        lines * (SIZE + 32.0)
    );
    for (k, picture) in pictures.iter().enumerate() {
        let (x, y) = ((k % ACROSS) as f64 * (SIZE + 16.0) + 8.0, (k / ACROSS) as f64 * (SIZE + 32.0) + 8.0);
        let columns = picture.rows.first().map_or(1, |row| row.len()).max(picture.rows.len()) as f64;
        let side = SIZE / columns;
        let title = picture.title.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">"); // writing to a string succeeds, here and below
        let _ = writeln!(
            svg,
            "<rect width=\"{SIZE}\" height=\"{:.1}\" fill=\"#000000\"/>",
            side * picture.rows.len() as f64
        );
        for (r, row) in picture.rows.iter().enumerate() {
            let bytes = row.as_bytes();
            let mut from = 0;
            // A run of one shade is one rectangle; the background is already black.
            while from < bytes.len() {
                let to = (from..bytes.len()).find(|&k| bytes[k] != bytes[from]).unwrap_or(bytes.len());
                let shade = u32::from(bytes[from] - b'0') * 255 / 9;
                if shade > 0 {
                    let _ = writeln!(
                        svg,
                        "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{side:.2}\" fill=\"rgb({shade},{shade},{shade})\"/>",
                        from as f64 * side,
                        r as f64 * side,
                        (to - from) as f64 * side
                    );
                }
                from = to;
            }
        }
        let _ = writeln!(svg, "<text y=\"{}\">{title}</text>\n</g>", SIZE + 14.0);
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_have_their_pixels() {
        let picture = GridImage::new("a & b", 2, [0.0, 1.0, 0.5, 0.5]);
        assert_eq!(picture.rows, ["09", "55"]);
        let svg = gallery(&[picture]);
        assert_eq!(svg.matches("rgb(").count(), 2);
        assert!(svg.contains("a &amp; b"));
    }
}
