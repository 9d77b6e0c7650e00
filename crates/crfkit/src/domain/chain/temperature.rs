//! Calibration: a temperature at which the probabilities of a chain agree with labelled data (Guo et al. 2017).
//!
//! All log-potentials are divided by T. The best labelling stays the same, and T = 1 is the model as it was trained. The loss
//! Σ −ln P(labels | sequence) is convex in 1/T, so its minimum is found by golden sections.

use super::{ChainModel, Domain, Sequence};
use crate::data::partial::{is_unknown, names_of, sole_label};
use crate::graph::{Label, LabelBits};
use crate::tag::Tagger;
use crate::{Error, Place, Result};
use std::borrow::Cow;
use std::collections::HashMap;
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
    /// Number of sequences that were left out, because the model cannot give them their labels, or because nothing is known of them.
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
        let numbers = Numbers::of(self);
        self.fit_temperature(sequences, |names| numbers.complete(names))
    }

    /// The same for sequences with partial labels: `?` is any label, and `A|B` is A or B. The loss is −ln P(what is known | sequence), as
    /// in training. Sequences of which nothing is known are left out too. The loss may have several minima; the one found is that near
    /// the best of 21 temperatures.
    pub fn calibrate_partial(&self, sequences: &[Sequence]) -> Result<TemperatureFit> {
        let numbers = Numbers::of(self);
        self.fit_temperature(sequences, |names| numbers.partial(names))
    }

    /// Fits the temperature to what is `known` of each sequence, given the names of its labels.
    fn fit_temperature(
        &self,
        sequences: &[Sequence],
        known: impl Fn(&[Option<Cow<str>>]) -> Option<Known>,
    ) -> Result<TemperatureFit> {
        let mut tagger = Tagger::new(Arc::new(self.with_temperature(None)));
        let mut used: Vec<(&Sequence, Known)> = Vec::new();
        for sequence in sequences.iter().filter(|sequence| !sequence.is_empty()) {
            let Some(known) = known(&self.domain.truth(sequence)?.labels) else { continue };
            tagger.load(sequence)?;
            if known.log_probability(&mut tagger).is_finite() {
                used.push((sequence, known));
            }
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
            for (sequence, known) in &used {
                tagger.load(sequence)?;
                sum -= known.log_probability(&mut tagger);
            }
            Ok(sum / used.len() as f64)
        };
        let before = loss(0.0)?;
        let complete = used.iter().all(|(_, known)| matches!(known, Known::Labels(_)));
        let range = if complete { [-RANGE, RANGE] } else { around_the_best(loss)? };
        let (log_t, after) = golden(range, loss)?;
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

/// What is known of the labels of a sequence.
enum Known {
    /// All of them.
    Labels(Vec<Label>),
    /// The labels that are possible, at tokens where not all are.
    Sets(Vec<(usize, LabelBits)>),
}

impl Known {
    /// ln P(what is known | sequence), of the sequence that was loaded last; −∞ if it is impossible.
    fn log_probability(&self, tagger: &mut Tagger<ChainModel>) -> f64 {
        match self {
            Known::Labels(labels) => tagger.log_probability(labels),
            Known::Sets(sets) => {
                let log_z = tagger.log_z();
                match tagger.answers().allow(sets, || Place::new("input", 0)) {
                    Ok(()) => (tagger.log_z() - log_z).min(0.0),
                    Err(_) => f64::NEG_INFINITY,
                }
            }
        }
    }
}

/// The numbers of the labels by name. Those of models of other toolkits are not sorted.
struct Numbers<'a>(HashMap<&'a str, Label>);

impl<'a> Numbers<'a> {
    fn of(model: &'a ChainModel) -> Self {
        Numbers(model.domain.labels.iter().map(String::as_str).zip(0..).collect())
    }

    /// The labels, if the model knows them all.
    fn complete(&self, names: &[Option<Cow<str>>]) -> Option<Known> {
        let number = |name: &Option<Cow<str>>| self.0.get(name.as_deref()?).copied();
        names.iter().map(number).collect::<Option<_>>().map(Known::Labels)
    }

    /// The labels that the model knows of those that are possible; `None` if it knows none of a token's, or if nothing is known.
    fn partial(&self, names: &[Option<Cow<str>>]) -> Option<Known> {
        let soles: Option<Vec<_>> =
            names.iter().map(|name| Some(Cow::Borrowed(sole_label(name.as_deref()?)?))).collect();
        if let Some(soles) = soles {
            return self.complete(&soles.into_iter().map(Some).collect::<Vec<_>>());
        }
        let mut sets = Vec::new();
        for (t, text) in names.iter().enumerate() {
            let Some(text) = text.as_deref().filter(|text| !is_unknown(text)) else { continue };
            let mut set = LabelBits::none(self.0.len());
            names_of(text).filter_map(|name| self.0.get(name)).for_each(|label| set.insert(*label as usize));
            match set.is_empty() {
                true => return None,
                false => sets.push((t, set)),
            }
        }
        (!sets.is_empty()).then_some(Known::Sets(sets))
    }
}

/// The neighbours of the best of 21 points between −[`RANGE`] and [`RANGE`].
fn around_the_best(f: impl Fn(f64) -> Result<f64>) -> Result<[f64; 2]> {
    let point = |k: i32| RANGE * f64::from(k) / 10.0;
    let mut best = (f64::INFINITY, 0);
    for k in -10..=10 {
        let value = f(point(k))?;
        if value < best.0 {
            best = (value, k);
        }
    }
    Ok([point((best.1 - 1).max(-10)), point((best.1 + 1).min(10))])
}

/// The minimum of a function in a range, and its value.
fn golden([mut low, mut high]: [f64; 2], f: impl Fn(f64) -> Result<f64>) -> Result<(f64, f64)> {
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
