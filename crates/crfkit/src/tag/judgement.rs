//! Comparing labellings with gold labels, for any kind of model.

use crate::data::partial::sole_label;
use crate::eval::Evaluation;
use crate::graph::Label;
use crate::model::LabelSet;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The gold labels of one input.
#[derive(Clone, Debug, Default)]
pub struct Truth<'a> {
    /// The gold label of each variable, by name; `None` if it is not known.
    pub labels: Vec<Option<Cow<'a, str>>>,
    /// For each variable, whether its word was seen in training; empty if there are no words.
    pub known: Vec<bool>,
}

impl Truth<'_> {
    /// The same without the labels of variables that may have any label (`?`) or one of several (`A|B`).
    pub(crate) fn without_partial(mut self) -> Self {
        for label in &mut self.labels {
            match label.as_deref().map(sole_label) {
                Some(Some(sole)) if label.as_deref() != Some(sole) => {
                    *label = Some(Cow::Owned(sole.to_owned()))
                }
                Some(None) => *label = None,
                _ => {}
            }
        }
        self
    }
}

/// How many labels are correct, out of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accuracy {
    /// How many have a gold label.
    pub total: u64,
    /// How many of them got that label.
    pub correct: u64,
}

impl Accuracy {
    /// The fraction in per cent; 100 if nothing was counted.
    pub fn percent(&self) -> f64 {
        if self.total == 0 { 100.0 } else { 100.0 * self.correct as f64 / self.total as f64 }
    }

    /// How many are wrong.
    pub fn wrong(&self) -> u64 {
        self.total - self.correct
    }

    fn count(&mut self, right: bool) {
        self.total += 1;
        self.correct += u64::from(right);
    }

    fn merge(&mut self, other: &Accuracy) {
        self.total += other.total;
        self.correct += other.correct;
    }
}

/// A comparison of predicted labels with gold labels, by label set and by group of variables.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// An evaluation for each label set. The variables of one set in one graph count as a sequence.
    pub sets: Vec<Evaluation>,
    /// For each label set, how many of the variables with a gold label are correct.
    pub accuracies: Vec<Accuracy>,
    /// How many groups of variables have all labels correct. A group is a token with several labels, or a whole graph.
    pub joint: Accuracy,
    /// How often each label that the model does not know occurs as a gold label. These variables count as errors.
    pub unknown_labels: BTreeMap<String, u64>,
}

impl Judgement {
    /// An empty comparison, for models with `sets` label sets.
    pub fn new(sets: usize) -> Self {
        Judgement {
            sets: vec![Evaluation::default(); sets],
            accuracies: vec![Accuracy::default(); sets],
            ..Judgement::default()
        }
    }

    /// Compares the predicted labels of a graph with its gold labels. `label_set_of` gives the label set of a variable;
    /// `group` is the value of [`Labeller::group`](super::Labeller::group).
    pub(crate) fn add(
        &mut self,
        sets: &[LabelSet],
        label_set_of: impl Fn(usize) -> usize,
        group: usize,
        truth: &Truth,
        found: &[Label],
    ) {
        let name = |v: usize| sets[label_set_of(v)].labels[found[v] as usize].as_str();
        let group = if group == 0 { found.len().max(1) } else { group };
        for (number, gold) in truth.labels.chunks(group).enumerate() {
            let mut right = None;
            for (v, gold) in (number * group..).zip(gold) {
                if let Some(gold) = gold {
                    let hit = gold == name(v);
                    right = Some(right.unwrap_or(true) && hit);
                    self.accuracies[label_set_of(v)].count(hit);
                    if !hit && !sets[label_set_of(v)].labels.iter().any(|label| label == gold) {
                        *self.unknown_labels.entry(gold.to_string()).or_default() += 1;
                    }
                }
            }
            if let Some(right) = right {
                self.joint.count(right);
            }
        }
        for (set, evaluation) in self.sets.iter_mut().enumerate() {
            let labelled = (0..found.len()).filter(|&v| label_set_of(v) == set);
            let pairs = labelled.filter_map(|v| truth.labels[v].as_deref().map(|gold| (gold, name(v))));
            let (gold, predicted): (Vec<&str>, Vec<&str>) = pairs.unzip();
            if !gold.is_empty() || (found.is_empty() && sets.len() == 1) {
                let compared = truth.known.iter().zip(&truth.labels).filter(|(_, gold)| gold.is_some());
                let known: Vec<bool> = compared.map(|(known, _)| *known).collect();
                let known = (known.len() == gold.len() && !gold.is_empty()).then_some(&known[..]);
                evaluation.add_sequence(&gold, &predicted, known);
            }
        }
    }

    /// Adds a comparison of other graphs.
    pub fn merge(&mut self, other: &Judgement) {
        self.sets.resize_with(self.sets.len().max(other.sets.len()), Evaluation::default);
        self.sets.iter_mut().zip(&other.sets).for_each(|(all, one)| all.merge(one));
        self.accuracies.resize(self.accuracies.len().max(other.accuracies.len()), Accuracy::default());
        self.accuracies.iter_mut().zip(&other.accuracies).for_each(|(all, one)| all.merge(one));
        self.joint.merge(&other.joint);
        for (label, tokens) in &other.unknown_labels {
            *self.unknown_labels.entry(label.clone()).or_default() += tokens;
        }
    }

    /// The fraction of correct labels over all sets.
    pub fn overall(&self) -> Accuracy {
        let mut all = Accuracy::default();
        self.accuracies.iter().for_each(|share| all.merge(share));
        all
    }

    /// Whether nothing has been compared.
    pub fn is_empty(&self) -> bool {
        self.sets.iter().all(|set| set.scores().sequences == 0)
    }
}
