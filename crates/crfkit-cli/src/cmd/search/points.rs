//! The points of a search: settings and their scores, and the file that keeps them.

use crate::io::{name, read_text};
use anyhow::Result;
use crfkit::train::Settings;
use crfkit::{Error, Place};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// One setting of the grid, and the score of its model.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its settings, which are its name.
    pub name: String,
    features: String,
    settings: [String; 3],
    /// A number that is the same for the same data and settings.
    pub fingerprint: u64,
    /// The name of the score.
    pub metric: &'static str,
    /// The score, in per cent.
    pub score: f64,
    /// Weights other than 0.
    pub weights: usize,
    /// Passes over the training data.
    pub passes: f64,
    /// Whether no point is better.
    pub best: bool,
}

impl Point {
    /// A point that has not been trained yet.
    pub fn new(features: &str, settings: &Settings) -> Self {
        let Settings { sigma, l1, min_count, .. } = settings;
        let settings = [sigma.to_string(), l1.to_string(), min_count.to_string()];
        let [sigma, l1, min_count] = &settings;
        let name = format!("sigma {sigma}, l1 {l1}, min-count {min_count}, {features}");
        let features = features.to_owned();
        Point {
            name,
            features,
            settings,
            fingerprint: 0,
            metric: "accuracy",
            score: f64::NEG_INFINITY,
            weights: 0,
            passes: 0.0,
            best: false,
        }
    }

    /// The point on one line.
    pub fn line(&self) -> String {
        format!("{}: {} {:.2}", self.name, self.metric, self.score)
    }

    /// The point as a JSON object.
    pub fn json(&self) -> Value {
        let [sigma, l1, min_count] = &self.settings;
        json!({
            "sigma": sigma, "l1": l1, "min_count": min_count, "features": self.features,
            "fingerprint": format!("{:016x}", self.fingerprint), "metric": self.metric, "score": self.score,
            "weights": self.weights, "passes": self.passes, "best": self.best,
        })
    }
}

/// The file of finished points.
pub struct Log {
    file: Option<(File, String)>,
    known: Vec<Value>,
}

impl Log {
    /// Opens the file, if there is one, and reads the points in it. A last line that is incomplete, because the program was ended while
    /// it was written, does not count.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(Log { file: None, known: Vec::new() }) };
        let file = name(path);
        let failed = |error| Error::io(&*file, error);
        let text = match read_text(path) {
            Err(Error::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let complete = text.rfind('\n').map_or(0, |end| end + 1);
        let mut known = Vec::new();
        for (number, line) in (1..).zip(text[..complete].lines()) {
            let value: Value = serde_json::from_str(line).unwrap_or_default();
            if value["fingerprint"].as_str().is_none() || value["score"].as_f64().is_none() {
                let message = "this is not a point of a search: give another file, or delete this line";
                return Err(Error::input(Place::new(&*file, number), message).into());
            }
            known.push(value);
        }
        let open = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        if complete < text.len() {
            open.set_len(complete as u64).map_err(failed)?;
        }
        Ok(Log { file: Some((open, file)), known })
    }

    /// The finished point with these settings and data.
    pub fn find(&self, point: &Point) -> Option<Point> {
        let wanted = point.json();
        let same = |known: &&Value| {
            ["sigma", "l1", "min_count", "features", "fingerprint"]
                .iter()
                .all(|key| known[key] == wanted[key])
        };
        let known = self.known.iter().find(same)?;
        Some(Point {
            metric: if known["metric"] == "F1" { "F1" } else { "accuracy" },
            score: known["score"].as_f64()?,
            weights: known["weights"].as_u64()? as usize,
            passes: known["passes"].as_f64()?,
            ..point.clone()
        })
    }

    /// Adds a finished point.
    pub fn add(&mut self, point: &Point) -> Result<()> {
        if let Some((file, name)) = &mut self.file {
            let line = format!("{}\n", point.json());
            file.write_all(line.as_bytes()).map_err(|error| Error::io(&**name, error))?;
        }
        Ok(())
    }
}

/// Writes a table of points.
pub fn table(points: &[Point], out: &mut Vec<u8>) -> std::io::Result<()> {
    let metric = points.first().map_or("score", |point| point.metric);
    writeln!(
        out,
        "  {:>8} {:>10}{:>10}{:>10}{:>10}{:>9}  features",
        metric, "sigma", "l1", "min-count", "weights", "passes"
    )?;
    for point in points {
        let [sigma, l1, min_count] = &point.settings;
        writeln!(
            out,
            "{} {:>8.2} {sigma:>10}{l1:>10}{min_count:>10}{:>10}{:>9.1}  {}",
            if point.best { '*' } else { ' ' },
            point.score,
            point.weights,
            point.passes,
            point.features
        )?;
    }
    Ok(())
}
