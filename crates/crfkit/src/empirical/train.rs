//! From counts to a model, including the choice of how unknown words are treated.

use super::{Counts, EmpiricalModel, EmpiricalSettings, EmpiricalTagger, UnknownWords};
use crate::data::columns::Columns;
use crate::eval::Evaluation;
use crate::{Error, Result};
use std::sync::Arc;

/// Labelled sequences that are held out from training.
#[derive(Clone, Debug, Default)]
pub struct HeldOut {
    /// Words and labels of each sequence.
    sequences: Vec<Vec<(String, String)>>,
}

impl HeldOut {
    /// Adds a sequence of words with their labels.
    pub fn add<'a>(&mut self, sequence: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let owned = |(word, label): (&str, &str)| (word.to_owned(), label.to_owned());
        self.sequences.push(sequence.into_iter().map(owned).collect());
    }

    /// Adds a sequence in columns, read as [`Counts::add_columns`] reads it.
    pub fn add_columns(&mut self, sequence: &Columns, label_column: usize) -> Result<()> {
        let [word, label] = super::counts::token_columns(sequence, label_column)?;
        self.add((0..sequence.len()).map(|row| (sequence.field(row, word), sequence.field(row, label))));
        Ok(())
    }

    /// Labels all sequences by Viterbi and compares the result with their labels.
    pub fn evaluate(&self, tagger: &mut EmpiricalTagger) -> Evaluation {
        let model = tagger.model().clone();
        let mut evaluation = Evaluation::default();
        for sequence in &self.sequences {
            tagger.load_words(sequence.iter().map(|(word, _)| word.as_str()));
            let predicted: Vec<&str> =
                tagger.viterbi().iter().map(|&y| model.labels()[y as usize].as_str()).collect();
            let gold: Vec<&str> = sequence.iter().map(|(_, label)| label.as_str()).collect();
            let known: Vec<bool> = sequence.iter().map(|(word, _)| model.knows(word)).collect();
            evaluation.add_sequence(&gold, &predicted, Some(&known));
        }
        evaluation
    }

    /// The sequences in which a word is unknown to `model`.
    fn with_unknown_words(&self, model: &EmpiricalModel) -> HeldOut {
        let unknown = |sequence: &&Vec<(String, String)>| sequence.iter().any(|(word, _)| !model.knows(word));
        HeldOut { sequences: self.sequences.iter().filter(unknown).cloned().collect() }
    }
}

/// The result of training.
#[derive(Clone, Debug)]
pub struct TrainedEmpirical {
    /// The trained model.
    pub model: EmpiricalModel,
    /// What was tried on the held-out data, in order. The model's settings have the best.
    pub trials: Vec<Trial>,
}

/// One way to treat unknown words, and its accuracy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// How unknown words were treated.
    pub unknown: UnknownWords,
    /// Percentage of correct labels in the held-out sequences that have unknown words.
    pub accuracy: f64,
}

/// The choices tried on held-out data after `settings.unknown` itself.
const CHOICES: [UnknownWords; 8] = [
    UnknownWords::Power(0.5),
    UnknownWords::Power(0.75),
    UnknownWords::Power(1.5),
    UnknownWords::Power(2.0),
    UnknownWords::Mix(0.9),
    UnknownWords::Mix(0.75),
    UnknownWords::Mix(0.5),
    UnknownWords::Mix(0.25),
];

/// Makes a model from counts. With held-out data, `settings.unknown` is only the first of several choices. The one with
/// the best accuracy is taken; among equals, the first.
pub fn train(
    counts: &Counts,
    settings: &EmpiricalSettings,
    held_out: Option<&HeldOut>,
) -> Result<TrainedEmpirical> {
    let mut model = EmpiricalModel::estimate(counts, settings)?;
    let mut trials = Vec::new();
    if let Some(held_out) = held_out {
        if held_out.sequences.is_empty() {
            return Err(Error::Setting("the held-out data has no sequences".into()));
        }
        let held_out = held_out.with_unknown_words(&model);
        let tables = Arc::new(Arc::new(model.tables()));
        for unknown in std::iter::once(settings.unknown).chain(CHOICES) {
            model.set_unknown(unknown);
            let shared = Arc::new(model);
            let mut tagger = EmpiricalTagger::with_tables(shared.clone(), tables.clone(), None);
            let accuracy = held_out.evaluate(&mut tagger).scores().accuracy;
            trials.push(Trial { unknown, accuracy });
            drop(tagger);
            model = Arc::unwrap_or_clone(shared);
        }
        let best = trials.iter().rev().max_by(|a, b| a.accuracy.total_cmp(&b.accuracy));
        model.set_unknown(best.map_or(settings.unknown, |best| best.unknown));
    }
    Ok(TrainedEmpirical { model, trials })
}
