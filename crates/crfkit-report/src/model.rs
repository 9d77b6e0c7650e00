//! What a model has learned: the heaviest features of every label, and the weights of label pairs.

use crfkit::Result;
use crfkit::graph::{NODES, PAIRS};
use crfkit::math::simd;
use crfkit::model::Model;
use crfkit::model::dump::{self, Kind};
use serde::Serialize;

/// Labels at most: more cannot be looked at side by side.
const LABELS: usize = 40;
/// Features of each label.
const FEATURES: usize = 10;

/// What a model has learned.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ModelPart {
    /// What the page calls it.
    pub name: String,
    /// Number of labels, those left out included.
    pub all_labels: usize,
    /// The labels shown, sorted: all, or the 40 with the most weight.
    pub labels: Vec<String>,
    /// Their heaviest features, one entry a label.
    pub features: Vec<LabelFeatures>,
    /// Weights between them.
    pub transitions: Vec<Transition>,
}

/// The heaviest features of a label, heaviest first.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LabelFeatures {
    /// The label.
    pub label: String,
    /// Its features.
    pub features: Vec<Feature>,
}

/// A feature and its weight.
#[derive(Clone, Debug, Serialize)]
pub struct Feature {
    /// The observation.
    pub observation: String,
    /// The label before, for observations of label pairs.
    pub previous: Option<String>,
    /// The weight.
    pub weight: f64,
}

/// The weight of one label after another.
#[derive(Clone, Debug, Serialize)]
pub struct Transition {
    /// The label before; `None` at the beginning of a sequence.
    pub previous: Option<String>,
    /// The label after; `None` at the end of a sequence.
    pub label: Option<String>,
    /// The weight.
    pub weight: f64,
}

impl ModelPart {
    /// The part of a page that shows `model`.
    pub fn new(name: &str, model: &Model) -> Result<ModelPart> {
        let labels = shown_labels(model);
        let shown = |label: &Option<String>| label.as_ref().is_none_or(|label| labels.contains(label));
        let mut features = Vec::new();
        for label in &labels {
            let heaviest = dump::top(model, FEATURES, Some(label), None)?.into_iter().map(|w| Feature {
                observation: w.observation.unwrap_or_default(),
                previous: w.previous,
                weight: w.weight,
            });
            features.push(LabelFeatures { label: label.clone(), features: heaviest.collect() });
        }
        let transitions = dump::transitions(model).into_iter().map(|w| match w.kind {
            Kind::End => Transition { previous: Some(w.label), label: None, weight: w.weight },
            _ => Transition { previous: w.previous, label: Some(w.label), weight: w.weight },
        });
        Ok(ModelPart {
            name: name.into(),
            all_labels: model.labels.len(),
            transitions: transitions.filter(|t| shown(&t.previous) && shown(&t.label)).collect(),
            features,
            labels,
        })
    }
}

/// All labels, or those whose observations have the most weight in sum.
fn shown_labels(model: &Model) -> Vec<String> {
    if model.labels.len() <= LABELS {
        return model.labels.clone();
    }
    let stride = simd::padded(model.labels.len());
    let mut sums = vec![0.0; model.labels.len()];
    for rows in [&model.features.rows[NODES], &model.features.rows[PAIRS]] {
        for row in 0..rows.len as u32 {
            for (weight, entry) in model.weights[rows.range(row)].iter().zip(rows.entries_of(row)) {
                sums[entry % stride] += weight.abs();
            }
        }
    }
    let mut order: Vec<usize> = (0..sums.len()).collect();
    order.sort_by(|&a, &b| sums[b].total_cmp(&sums[a]));
    order.truncate(LABELS);
    order.sort_unstable();
    order.into_iter().map(|label| model.labels[label].clone()).collect()
}
