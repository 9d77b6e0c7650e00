//! Line charts as SVG.

use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A line chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Part of the file name; unique within its experiment.
    pub name: String,
    /// Above the chart.
    pub title: String,
    /// Below the horizontal axis.
    pub x: String,
    /// Beside the vertical axis.
    pub y: String,
    /// Is the horizontal axis logarithmic?
    pub log_x: bool,
    /// Is the vertical axis logarithmic?
    #[serde(default)]
    pub log_y: bool,
    /// The lines.
    pub lines: Vec<Line>,
    /// Horizontal lines for single numbers, mostly the paper's: name and height.
    pub levels: Vec<(String, f64)>,
    /// Smallest and largest value shown; `None` shows all.
    pub range: Option<[f64; 2]>,
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its points.
    pub points: Vec<[f64; 2]>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
/// Left, top, right, bottom.
const MARGIN: [f64; 4] = [64.0, 36.0, 160.0, 48.0];
/// Distinct also for readers who do not see all colours (Okabe and Ito).
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b", "#000000"];

/// The places of the ticks of an axis, about six.
fn ticks(from: f64, to: f64) -> Vec<f64> {
    let raw = (to - from) / 6.0;
    let power = 10f64.powf(raw.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|&s| s >= raw * 0.999).unwrap_or(raw);
    let first = (from / step).ceil() as i64;
    let last = (to / step).floor() as i64;
    (first..=last).map(|k| k as f64 * step).collect()
}

/// A number without needless digits.
fn short(x: f64) -> String {
    let text = format!("{x:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Text inside an element.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The smallest interval with all finite numbers, widened if it has no length.
fn bounds(numbers: impl Iterator<Item = f64>) -> [f64; 2] {
    let [low, high] = numbers
        .filter(|x| x.is_finite())
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], x| [a.min(x), b.max(x)]);
    match high - low {
        d if d > 0.0 => [low, high],
        0.0 => [low - 0.5, low + 0.5],
        _ => [0.0, 1.0],
    }
}

impl Chart {
    /// The chart as SVG.
    pub fn svg(&self) -> String {
        let log = |x: f64| x.max(f64::MIN_POSITIVE).log10();
        let across = |x: f64| if self.log_x { log(x) } else { x };
        let up = |y: f64| if self.log_y { log(y) } else { y };
        let visible =
            |p: &&[f64; 2]| p[1].is_finite() && (!self.log_x || p[0] > 0.0) && (!self.log_y || p[1] > 0.0);
        let points = || self.lines.iter().flat_map(|line| line.points.iter().filter(visible));
        let [x0, x1] = bounds(points().map(|p| across(p[0])));
        let levels = self.levels.iter().map(|level| level.1);
        let range = self.range.unwrap_or_else(|| bounds(points().map(|p| p[1]).chain(levels)));
        let [y0, y1] = range.map(up);
        let [left, top, right, bottom] = MARGIN;
        let px = |x: f64| left + (across(x) - x0) / (x1 - x0) * (WIDTH - left - right);
        let py = |y: f64| HEIGHT - bottom - (up(y).clamp(y0, y1) - y0) / (y1 - y0) * (HEIGHT - top - bottom);
        let (end_x, end_y) = (WIDTH - right, HEIGHT - bottom);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <title>{0}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text x=\"{left}\" y=\"22\" font-size=\"14\" font-weight=\"bold\">{0}</text>\n",
            escape(&self.title)
        );
        let mut add = |line: String| {
            svg.push_str(&line);
            svg.push('\n');
        };
        let powers = |from: f64, to: f64| -> Vec<f64> {
            (from.ceil() as i32..=to.floor() as i32).map(|e| 10f64.powi(e)).collect()
        };
        for x in if self.log_x { powers(x0, x1) } else { ticks(x0, x1) } {
            let at = px(x);
            add(format!("<path d=\"M{at:.1} {top}V{end_y}\" stroke=\"#dddddd\"/>"));
            add(format!(
                "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                end_y + 16.0,
                short(x)
            ));
        }
        for y in if self.log_y { powers(y0, y1) } else { ticks(y0, y1) } {
            let at = py(y);
            add(format!("<path d=\"M{left} {at:.1}H{end_x}\" stroke=\"#dddddd\"/>"));
            add(format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                at + 4.0,
                short(y)
            ));
        }
        add(format!("<path d=\"M{left} {top}V{end_y}H{end_x}\" fill=\"none\" stroke=\"#333333\"/>"));
        let middle = [(left + end_x) / 2.0, (top + end_y) / 2.0];
        add(format!(
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            middle[0],
            HEIGHT - 12.0,
            escape(&self.x)
        ));
        add(format!(
            "<text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            middle[1],
            escape(&self.y)
        ));
        for (k, (name, y)) in self.levels.iter().enumerate() {
            let at = py(*y);
            add(format!("<path d=\"M{left} {at:.1}H{end_x}\" stroke=\"#333333\" stroke-dasharray=\"2 3\"/>"));
            let x = left + 6.0 + 150.0 * k as f64;
            add(format!("<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"#333333\">{}</text>", at - 4.0, escape(name)));
        }
        for (k, line) in self.lines.iter().enumerate() {
            let colour = COLOURS[k % COLOURS.len()];
            let mut path = String::new();
            for [x, y] in line.points.iter().filter(visible) {
                let command = if path.is_empty() { 'M' } else { 'L' };
                let _ = write!(path, "{command}{:.1} {:.1}", px(*x), py(*y)); // writing to a string succeeds
            }
            let dash = if k < COLOURS.len() { "none" } else { "6 3" };
            add(format!(
                "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" stroke-dasharray=\"{dash}\"/>"
            ));
            let y = top + 12.0 + 18.0 * k as f64;
            add(format!("<path d=\"M{:.1} {y}h18\" stroke=\"{colour}\" stroke-width=\"3\"/>", end_x + 10.0));
            add(format!(
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                end_x + 34.0,
                y + 4.0,
                escape(&line.name)
            ));
        }
        svg + "</svg>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 6.0), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert!(ticks(91.3, 94.2).iter().all(|t| (91.3..=94.2).contains(t)));
        assert_eq!(short(0.5), "0.5");
        assert_eq!(short(100.0), "100");
    }

    #[test]
    fn a_chart_has_its_lines_names_and_levels_escaped() {
        let lines = vec![Line { name: "a<b".into(), points: vec![[0.1, 1.0], [1.0, 2.0], [10.0, f64::NAN]] }];
        let chart = Chart {
            title: "A & B".into(),
            log_x: true,
            lines,
            levels: vec![("paper".into(), 1.5)],
            ..Chart::default()
        };
        let svg = chart.svg();
        assert!(svg.contains("A &amp; B") && svg.contains("a&lt;b") && svg.contains("paper"));
        // The first point is at the lower left, the second at the top; that without a value is left out.
        assert!(svg.contains("M64.0 372.0L560.0 36.0\""), "{svg}");
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn a_power_is_a_straight_line_on_logarithmic_axes() {
        let points = [1.0, 10.0, 100.0].map(|x: f64| [x, x * x]).to_vec();
        let lines = vec![Line { name: "squares".into(), points }];
        let svg = Chart { log_x: true, log_y: true, lines, ..Chart::default() }.svg();
        assert!(svg.contains("M64.0 372.0L312.0 204.0L560.0 36.0\""), "{svg}");
        // The vertical axis has the powers from 1 to 10000.
        assert!([1, 10, 100, 1000, 10_000].iter().all(|y| svg.contains(&format!(">{y}<"))), "{svg}");
    }

    #[test]
    fn an_empty_chart_is_a_chart() {
        assert!(Chart::default().svg().ends_with("</svg>\n"));
    }
}
