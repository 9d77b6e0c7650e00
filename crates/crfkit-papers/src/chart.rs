//! Line charts as SVG.

use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A line chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Part of the file name; unique within the experiment.
    pub name: String,
    /// The title above the chart.
    pub title: String,
    /// The label below the horizontal axis.
    pub x: String,
    /// The label beside the vertical axis.
    pub y: String,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic.
    #[serde(default)]
    pub log_y: bool,
    /// The lines.
    pub lines: Vec<Line>,
    /// Horizontal lines for single numbers, mostly the paper's: name and height.
    pub levels: Vec<(String, f64)>,
    /// The smallest and the largest value shown; `None` shows all.
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
/// Left, top, right and bottom margin; left and right are widened if their texts need it.
const MARGIN: [f64; 4] = [64.0, 36.0, 160.0, 48.0];
/// The approximate largest width of a letter, and of a digit.
const LETTER: f64 = 7.2;
/// Colours that colour-blind readers can distinguish (Okabe and Ito).
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b", "#000000"];

/// The positions of about six ticks of an axis.
fn ticks(from: f64, to: f64) -> Vec<f64> {
    let raw = (to - from) / 6.0;
    let power = 10f64.powf(raw.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|&s| s >= raw * 0.999).unwrap_or(raw);
    let first = (from / step).ceil() as i64;
    let last = (to / step).floor() as i64;
    (first..=last).map(|k| k as f64 * step).collect()
}

/// The positions of the ticks of a logarithmic axis from 10^`from` to 10^`to`: powers of ten. If there are fewer than
/// three of them, 2 and 5 times these too; and round steps if that is still too few.
fn log_ticks(from: f64, to: f64) -> Vec<f64> {
    let (low, high) = (10f64.powf(from) * (1.0 - 1e-9), 10f64.powf(to) * (1.0 + 1e-9));
    let inside = |factors: &[f64]| -> Vec<f64> {
        let powers = from.floor() as i32..=to.ceil() as i32;
        let all = powers
            .flat_map(|e| factors.iter().map(move |factor| format!("{factor}e{e}").parse().unwrap_or(0.0)));
        all.filter(|x| (low..=high).contains(x)).collect()
    };
    let found = [inside(&[1.0]), inside(&[1.0, 2.0, 5.0])].into_iter().find(|ticks| ticks.len() >= 3);
    found.unwrap_or_else(|| ticks(low, high))
}

/// A number without unnecessary digits.
fn short(x: f64) -> String {
    if x != 0.0 && !(1e-3..1e5).contains(&x.abs()) {
        let text = format!("{x:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    let text = format!("{x:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Escapes text for use inside an element.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The smallest interval that contains all finite numbers, widened if it has no length.
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
        let marks = |log: bool, from: f64, to: f64| if log { log_ticks(from, to) } else { ticks(from, to) };
        let (x_ticks, y_ticks) = (marks(self.log_x, x0, x1), marks(self.log_y, y0, y1));
        let [left, top, right, bottom] = MARGIN;
        let letters = |texts: &mut dyn Iterator<Item = usize>| LETTER * texts.max().unwrap_or(0) as f64;
        // The axis title, tick labels, and the space around them; then colour, name and space.
        let left = left.max(28.0 + letters(&mut y_ticks.iter().map(|&y| short(y).len()))).ceil();
        let right =
            right.max(46.0 + letters(&mut self.lines.iter().map(|line| line.name.chars().count()))).ceil();
        let px = |x: f64| left + (across(x) - x0) / (x1 - x0) * (WIDTH - left - right);
        let py = |y: f64| HEIGHT - bottom - (up(y) - y0) / (y1 - y0) * (HEIGHT - top - bottom);
        let (end_x, end_y) = (WIDTH - right, HEIGHT - bottom);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <title>{0}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <clipPath id=\"inside\"><rect x=\"{left}\" y=\"{1}\" width=\"{2}\" height=\"{3}\"/></clipPath>\n\
             <text x=\"{left}\" y=\"22\" font-size=\"14\" font-weight=\"bold\">{0}</text>\n",
            escape(&self.title),
            top - 1.0, // a line at the border is not cut
            end_x - left + 1.0,
            end_y - top + 2.0
        );
        let mut add = |line: String| {
            svg.push_str(&line);
            svg.push('\n');
        };
        for x in x_ticks {
            let at = px(x);
            add(format!("<path d=\"M{at:.1} {top}V{end_y}\" stroke=\"#dddddd\"/>"));
            add(format!(
                "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                end_y + 16.0,
                short(x)
            ));
        }
        for y in y_ticks {
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
        let levels: Vec<(&str, f64)> = self
            .levels
            .iter()
            .filter(|(_, y)| (y0..=y1).contains(&up(*y)))
            .map(|(name, y)| (&**name, py(*y)))
            .collect();
        for (_, at) in &levels {
            add(format!("<path d=\"M{left} {at:.1}H{end_x}\" stroke=\"#333333\" stroke-dasharray=\"2 3\"/>"));
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
                "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" stroke-dasharray=\"{dash}\" clip-path=\"url(#inside)\"/>"
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
        for (k, (name, at)) in levels.iter().enumerate() {
            let x = left + 6.0 + 150.0 * k as f64;
            // The text goes above its line, or below it if the title of the chart or another level is near.
            let crowded =
                *at < top + 18.0 || levels.iter().any(|(_, other)| (at - 18.0..*at).contains(other));
            let y = if crowded { at + 14.0 } else { at - 4.0 };
            add(format!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"#333333\" stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
                escape(name)
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
        // The first point is at the lower left, the second at the top; the one without a value is left out.
        assert!(svg.contains("M64.0 372.0L560.0 36.0\""), "{svg}");
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn a_power_is_a_straight_line_on_logarithmic_axes() {
        let points = [1.0, 10.0, 100.0].map(|x: f64| [x, x * x]).to_vec();
        let lines = vec![Line { name: "squares".into(), points }];
        let svg = Chart { log_x: true, log_y: true, lines, ..Chart::default() }.svg();
        assert!(svg.contains("M64.0 372.0L312.0 204.0L560.0 36.0\""), "{svg}");
        // The vertical axis has the powers of ten from 1 to 10000.
        assert!([1, 10, 100, 1000, 10_000].iter().all(|y| svg.contains(&format!(">{y}<"))), "{svg}");
    }

    #[test]
    fn a_logarithmic_axis_has_enough_ticks() {
        assert_eq!(log_ticks(-1.0, 2.0), [0.1, 1.0, 10.0, 100.0]);
        assert_eq!(log_ticks(1.0, 2.3), [10.0, 20.0, 50.0, 100.0]);
        assert_eq!(log_ticks(0.5, 2.67), [5.0, 10.0, 20.0, 50.0, 100.0, 200.0]);
        assert!(log_ticks(2.1, 2.3).len() >= 3);
        assert_eq!([short(1e-5), short(1.5e6), short(50_000.0)], ["1e-5", "1.5e6", "50000"]);
    }

    #[test]
    fn what_lies_outside_the_range_is_cut_off() {
        let lines = vec![Line { name: "a".repeat(30), points: vec![[0.0, 0.0], [1.0, 15.0]] }];
        let levels = vec![("top".to_owned(), 20.0), ("far".to_owned(), 30.0)];
        let svg = Chart { lines, levels, range: Some([10.0, 20.0]), ..Chart::default() }.svg();
        // The line begins below the axis, but only the part inside is drawn.
        assert!(svg.contains("M64.0 708.0L458.0 204.0\""), "{svg}");
        assert!(svg.contains("clip-path=\"url(#inside)\""));
        // The name of the highest level is below its line, away from the title.
        assert!(svg.contains("y=\"50.0\" fill=\"#333333\"") && !svg.contains("far"), "{svg}");
    }

    #[test]
    fn an_empty_chart_is_a_chart() {
        assert!(Chart::default().svg().ends_with("</svg>\n"));
    }
}
