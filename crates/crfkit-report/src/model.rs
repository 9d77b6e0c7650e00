//! The weights of a model: the heaviest features of every label, and the weights of label pairs.

use crfkit::model::{NamedWeight, Names, SetLabel, WeightKind};
use serde::Serialize;
use std::collections::HashMap;

/// The largest number of labels: more cannot be compared side by side.
const LABELS: usize = 40;
/// The number of features shown for each label.
const FEATURES: usize = 10;

/// The weights of a model, for the page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ModelPart {
    /// The name of the model on the page.
    pub name: String,
    /// The number of labels, including those that are not shown.
    pub all_labels: usize,
    /// The labels shown: all of them, or the 40 with the largest weights.
    pub labels: Vec<String>,
    /// The heaviest features, one entry per label; on graphs followed by those of factors, one entry per type.
    pub features: Vec<Heaviest>,
    /// The weights of label pairs, on chains.
    pub transitions: Vec<Transition>,
}

/// The heaviest features of a label or a type of factors, heaviest first.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Heaviest {
    /// The label or the type of factors.
    pub of: String,
    /// The features.
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
    /// The previous label; `None` at the beginning of a sequence.
    pub previous: Option<String>,
    /// The next label; `None` at the end of a sequence.
    pub label: Option<String>,
    /// The weight.
    pub weight: f64,
}

impl ModelPart {
    /// The part of a page that shows a model, given the names of its weights.
    pub fn new(name: &str, names: &Names) -> ModelPart {
        let sets = &names.sets;
        let all: Vec<SetLabel> = (0..sets.len())
            .flat_map(|set| (0..sets[set].labels.len()).map(move |label| (set, label)))
            .collect();
        let shown = shown_labels(names, &all);
        let title = |&(set, label): &SetLabel| match &sets[set].name {
            Some(name) if sets.len() > 1 => format!("{} ({name})", sets[set].labels[label]),
            _ => sets[set].labels[label].clone(),
        };
        let labels: Vec<String> = shown.iter().map(title).collect();
        let of_label = |(label, title): (&SetLabel, &String)| {
            heaviest(title, names.top(FEATURES, |part| names.is_by_label(part), &[*label], None))
        };
        let mut features: Vec<Heaviest> = shown.iter().zip(&labels).map(of_label).collect();
        let mut transitions = Vec::new();
        if names.is_chain() {
            transitions = chain_transitions(names, &labels);
        } else {
            let of_part =
                |name: &str| heaviest(name, names.top(FEATURES, |part| part.name == name, &[], None));
            features.extend(names.other_parts().into_iter().map(of_part));
        }
        ModelPart { name: name.into(), all_labels: all.len(), labels, features, transitions }
    }
}

fn heaviest(of: &str, weights: Vec<NamedWeight>) -> Heaviest {
    let feature = |w: NamedWeight| Feature {
        observation: match (w.kind, w.observation) {
            (WeightKind::Dense, Some(number)) => format!("dense {number}"),
            (_, observation) => observation.unwrap_or_default(),
        },
        labels: w.labels,
        weight: w.weight,
    };
    Heaviest { of: of.into(), features: weights.into_iter().map(feature).collect() }
}

/// The weights between the labels shown.
fn chain_transitions(names: &Names, labels: &[String]) -> Vec<Transition> {
    let shown = |label: &Option<String>| label.as_ref().is_none_or(|label| labels.contains(label));
    // A table of the page has two labels.
    let tables = names.iter_where(|part| part.is_table() && part.over.len() <= 2).map(|w| {
        let mut labels = w.labels.into_iter();
        let (previous, label) = match &*w.part {
            "begin" => (None, labels.next()),
            _ => (labels.next(), labels.next()),
        };
        Transition { previous, label, weight: w.weight }
    });
    tables.filter(|t| shown(&t.previous) && shown(&t.label)).collect()
}

/// All labels, or those whose observations have the largest total weight.
fn shown_labels(names: &Names, all: &[SetLabel]) -> Vec<SetLabel> {
    if all.len() <= LABELS {
        return all.to_vec();
    }
    let mut sums: HashMap<SetLabel, f64> = HashMap::new();
    for part in names.parts.iter().filter(|part| names.is_by_label(part)) {
        for row in 0..part.rows() {
            for (k, weight) in part.range(row).enumerate() {
                let last = part.label_numbers(row, k, &names.sets).next();
                last.into_iter()
                    .for_each(|label| *sums.entry(label).or_default() += names.weights[weight].abs());
            }
        }
    }
    let sum = |label: &SetLabel| sums.get(label).copied().unwrap_or(0.0);
    let mut order = all.to_vec();
    order.sort_by(|a, b| sum(b).total_cmp(&sum(a)));
    order.truncate(LABELS);
    order.sort_unstable();
    order
}
