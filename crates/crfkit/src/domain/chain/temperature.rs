//! Calibration: a temperature at which the probabilities of a chain agree with labelled data (Guo et al. 2017).
//!
//! All log-potentials are divided by T. The best labelling stays the same, and T = 1 is the model as it was trained. The loss
//! Σ −ln P(labels | sequence) is convex in 1/T, so its minimum is found by golden sections.

use super::{ChainModel, Domain, Sequence};
use crate::graph::Label;
use crate::tag::Tagger;
use crate::{Error, Place, Result};
use std::sync::Arc;

/// ln T lies between minus and plus this number.
const RANGE: f64 = 5.0;
/// ln T is found to this precision.
const PRECISION: f64 = 1e-4;
/// (√5 − 1)/2.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// A model with a fitted temperature.
#[derive(Clone, Debug)]
pub struct TemperatureFit {
    /// The model at the temperature, which is one of its settings.
    pub model: ChainModel,
    /// The temperature.
    pub temperature: f64,
    /// −ln P(labels | sequence), on average over the sequences: at T = 1, and at the temperature.
    pub losses: [f64; 2],
    /// Number of sequences that were used.
    pub sequences: usize,
    /// Number of sequences that were left out, because the model cannot give them their labels.
    pub left_out: usize,
}

impl ChainModel {
    /// The same model at another temperature; see [`Settings::temperature`](crate::settings::Settings::temperature).
    pub fn with_temperature(&self, temperature: Option<f64>) -> Self {
        let mut model = self.clone();
        model.settings.temperature = temperature;
        model
    }

    /// Fits the temperature to labelled sequences, which should not be those of training. Sequences with labels that the model does not
    /// know, or that its constraint forbids, are left out. It is an error if none is left.
    pub fn calibrate(&self, sequences: &[Sequence]) -> Result<TemperatureFit> {
        let plain = Arc::new(self.with_temperature(None));
        let mut tagger = Tagger::new(plain.clone());
        let mut used: Vec<(&Sequence, Vec<Label>)> = Vec::new();
        for sequence in sequences.iter().filter(|sequence| !sequence.is_empty()) {
            let truth = self.domain.truth(sequence)?;
            let number = |name: &str| self.domain.labels.binary_search_by(|label| (**label).cmp(name)).ok();
            let labels: Option<Vec<Label>> =
                truth.labels.iter().map(|label| Some(number(label.as_deref()?)? as Label)).collect();
            tagger.load(sequence)?;
            used.extend(
                labels
                    .filter(|labels| tagger.log_probability(labels).is_finite())
                    .map(|labels| (sequence, labels)),
            );
        }
        if used.is_empty() {
            let place =
                sequences.first().map_or_else(|| Place::new("input", 0), |sequence| sequence.place(0));
            return Err(Error::input(
                place,
                "no sequence has labels that the model can give: a temperature needs labelled data",
            ));
        }
        let loss = |log_t: f64| -> Result<f64> {
            let mut tagger = Tagger::new(Arc::new(self.with_temperature(Some(log_t.exp()))));
            let mut sum = 0.0;
            for (sequence, labels) in &used {
                tagger.load(sequence)?;
                sum -= tagger.log_probability(labels);
            }
            Ok(sum / used.len() as f64)
        };
        let before = loss(0.0)?;
        let (log_t, after) = golden(loss)?;
        // Never worse than before.
        let (temperature, after) = if after < before { (log_t.exp(), after) } else { (1.0, before) };
        Ok(TemperatureFit {
            model: self.with_temperature(Some(temperature)),
            temperature,
            losses: [before, after],
            sequences: used.len(),
            left_out: sequences.len() - used.len(),
        })
    }
}

/// The minimum of a function between −[`RANGE`] and [`RANGE`], and its value.
fn golden(mut f: impl FnMut(f64) -> Result<f64>) -> Result<(f64, f64)> {
    let (mut low, mut high) = (-RANGE, RANGE);
    let (mut a, mut b) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_a, mut at_b) = (f(a)?, f(b)?);
    while high - low > PRECISION {
        if at_a <= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - GOLDEN * (high - low);
            at_a = f(a)?;
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + GOLDEN * (high - low);
            at_b = f(b)?;
        }
    }
    Ok(if at_a <= at_b { (a, at_a) } else { (b, at_b) })
}
