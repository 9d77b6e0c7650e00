//! What a model has learned: the heaviest features of every label, and the weights of label pairs.

use crfkit::model::{Model, Names, Part};
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
    /// The label, or the labels of all variables.
    pub labels: Vec<String>,
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
    /// The part of a page that shows a model of chains.
    pub fn new(name: &str, model: &Model) -> ModelPart {
        let names = model.names();
        let numbers = shown_labels(&names);
        let labels: Vec<String> = numbers.iter().map(|&label| model.labels[label].clone()).collect();
        let shown = |label: &Option<String>| label.as_ref().is_none_or(|label| labels.contains(label));
        let observed = |part: &Part| !part.is_table();
        let features = numbers.iter().zip(&labels).map(|(&number, label)| {
            let heaviest = names.top(FEATURES, observed, &[(0, number)], None).into_iter().map(|w| Feature {
                observation: w.observation.unwrap_or_default(),
                labels: w.labels,
                weight: w.weight,
            });
            LabelFeatures { label: label.clone(), features: heaviest.collect() }
        });
        let features = features.collect();
        let mut tables = model.names();
        tables.parts.retain(Part::is_table);
        let transitions = tables.each().map(|w| {
            let mut labels = w.labels.into_iter();
            let (previous, label) = match &*w.part {
                "begin" => (None, labels.next()),
                _ => (labels.next(), labels.next()),
            };
            Transition { previous, label, weight: w.weight }
        });
        ModelPart {
            name: name.into(),
            all_labels: model.labels.len(),
            transitions: transitions.filter(|t| shown(&t.previous) && shown(&t.label)).collect(),
            features,
            labels,
        }
    }
}

/// All labels, or those whose observations have the most weight in sum.
fn shown_labels(names: &Names) -> Vec<usize> {
    let mut sums = vec![0.0; names.sets[0].labels.len()];
    let mut order: Vec<usize> = (0..sums.len()).collect();
    if sums.len() <= LABELS {
        return order;
    }
    for part in names.parts.iter().filter(|part| !part.is_table()) {
        for row in 0..part.rows() {
            for (k, weight) in part.range(row).enumerate() {
                let last = part.label_numbers(row, k, &names.sets).next();
                last.into_iter().for_each(|(_, label)| sums[label] += names.weights[weight].abs());
            }
        }
    }
    order.sort_by(|&a, &b| sums[b].total_cmp(&sums[a]));
    order.truncate(LABELS);
    order.sort_unstable();
    order
}
