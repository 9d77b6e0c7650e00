//! Weights of labels: sequences that have a label, or nodes and pixels with it, count more, or less, in training.

use crate::{Error, Result};

/// The weights of some labels, and whether they have occurred.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelWeights(Vec<(String, f64, bool)>);

impl LabelWeights {
    /// These weights. It is an error if one is negative or not finite, or if a label is named twice.
    pub(super) fn new(weights: impl IntoIterator<Item = (String, f64)>) -> Result<Self> {
        let mut all: Vec<(String, f64, bool)> = Vec::new();
        for (label, weight) in weights {
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(Error::Setting(format!(
                    "the weight of label {label} is {weight}, but it must be a finite number of at least 0"
                )));
            }
            if all.iter().any(|(known, ..)| *known == label) {
                return Err(Error::Setting(format!("label {label} has two weights: give one")));
            }
            all.push((label, weight, false));
        }
        Ok(LabelWeights(all))
    }

    /// The weight of a sequence with these labels: its own, times the largest of its labels' weights.
    pub(super) fn of<'a>(&mut self, weight: f64, labels: impl Iterator<Item = &'a str>) -> f64 {
        if self.0.is_empty() {
            return weight;
        }
        let mut largest: Option<f64> = None;
        for label in labels {
            let of = self.of_label(label);
            largest = Some(largest.map_or(of, |before| before.max(of)));
        }
        weight * largest.unwrap_or(1.0)
    }

    /// Notes which labels have occurred elsewhere.
    pub(super) fn join(&mut self, other: &Self) {
        for ((.., seen), (.., there)) in self.0.iter_mut().zip(&other.0) {
            *seen |= there;
        }
    }

    /// The weight of a label.
    pub(super) fn of_label(&mut self, label: &str) -> f64 {
        match self.0.iter_mut().find(|(known, ..)| known == label) {
            Some((_, of, seen)) => {
                *seen = true;
                *of
            }
            None => 1.0,
        }
    }

    /// Rejects weights of labels that did not occur.
    pub(super) fn check(&self) -> Result<()> {
        match self.0.iter().find(|(.., seen)| !seen) {
            Some((label, ..)) => Err(Error::Setting(format!(
                "there is a weight of label {label}, but nothing has this label: correct its name, or leave it out"
            ))),
            None => Ok(()),
        }
    }
}
