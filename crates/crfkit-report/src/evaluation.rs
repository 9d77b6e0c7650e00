//! How good a model is: scores, labels, the confusion table, and the sequences with the worst mistakes.

use crate::Reason;
use crfkit::eval::{ChunkCounts, Evaluation, Scores, is_chunked};
use crfkit::graph::Label;
use serde::Serialize;
use std::collections::HashMap;

/// The largest number of labels in the confusion table.
const CONFUSED_LABELS: usize = 30;
/// The number of sequences shown.
const SAMPLES: usize = 40;
/// The largest number of tokens shown of one sequence.
const TOKENS: usize = 200;
/// The largest number of mistakes explained in one sequence.
const REASONS: usize = 10;

/// How good a model is on labelled data.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluationPart {
    /// The name of the data on the page.
    pub name: String,
    /// Whether the labels are chunk labels, so that F1 is the relevant score.
    pub chunked: bool,
    /// The scores, in per cent.
    pub scores: Scores,
    /// Scores by chunk type.
    pub types: Vec<Row>,
    /// Token scores by label.
    pub labels: Vec<Row>,
    /// The confusion table.
    pub confusion: Confusion,
    /// Sequences, those with the worst mistakes first.
    pub samples: Vec<Sample>,
}

/// A label or a chunk type; scores are in per cent.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The name of the label or type.
    pub name: String,
    /// Occurrences in the gold data.
    pub gold: u64,
    /// Occurrences in the prediction.
    pub predicted: u64,
    /// Share of the predicted occurrences that are correct.
    pub precision: f64,
    /// Share of the gold occurrences that were found.
    pub recall: f64,
    /// Harmonic mean of both.
    pub f1: f64,
}

impl Row {
    fn all(counted: Vec<(&str, ChunkCounts)>) -> Vec<Row> {
        let row = |(name, counts): (&str, ChunkCounts)| Row {
            name: name.into(),
            gold: counts.gold,
            predicted: counts.predicted,
            precision: counts.precision(),
            recall: counts.recall(),
            f1: counts.f1(),
        };
        counted.into_iter().map(row).collect()
    }
}

/// Tokens by gold and predicted label.
#[derive(Clone, Debug, Serialize)]
pub struct Confusion {
    /// The number of labels, including those that are not shown.
    pub all_labels: usize,
    /// The labels shown, sorted: all of them, or the 30 with the most mistakes.
    pub labels: Vec<String>,
    /// (gold, predicted, tokens), with labels as indices into `labels`; cells with 0 tokens are left out.
    pub cells: Vec<(usize, usize, u64)>,
}

impl Confusion {
    fn new(evaluation: &Evaluation) -> Confusion {
        let cells = evaluation.confusion();
        let mut mistakes: HashMap<&str, u64> = HashMap::new();
        for cell in cells.iter().filter(|cell| cell.gold != cell.predicted) {
            *mistakes.entry(cell.gold).or_default() += cell.tokens;
            *mistakes.entry(cell.predicted).or_default() += cell.tokens;
        }
        let mut labels: Vec<&str> = evaluation.labels().into_iter().map(|(label, _)| label).collect();
        let all_labels = labels.len();
        labels.sort_by_key(|label| std::cmp::Reverse(mistakes.get(label))); // stable: ties stay sorted by name
        labels.truncate(CONFUSED_LABELS);
        labels.sort_unstable();
        let place = |label: &str| labels.binary_search(&label).ok();
        let cells = cells
            .iter()
            .filter_map(|cell| Some((place(cell.gold)?, place(cell.predicted)?, cell.tokens)))
            .collect();
        Confusion { all_labels, labels: labels.into_iter().map(str::to_owned).collect(), cells }
    }
}

impl EvaluationPart {
    /// The part of a page that shows `evaluation` on the data called `name`.
    pub fn new(name: &str, evaluation: &Evaluation, samples: Samples) -> EvaluationPart {
        let labels = evaluation.labels();
        EvaluationPart {
            name: name.into(),
            chunked: is_chunked(labels.iter().map(|(label, _)| *label)),
            scores: evaluation.scores(),
            types: Row::all(evaluation.chunk_types()),
            labels: Row::all(labels),
            confusion: Confusion::new(evaluation),
            samples: samples.0,
        }
    }
}

/// A sequence and the model's prediction for it.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Where it was read, for example file and line.
    pub place: String,
    /// How bad the mistakes are: the sum over wrong tokens of P(predicted) − P(gold), counting only positive terms.
    /// If nothing is wrong, it is minus the smallest probability of a predicted label, so that the least certain
    /// sequences come first.
    pub mistake: f64,
    /// The tokens shown.
    pub tokens: Vec<Token>,
    /// The number of tokens left out at the end.
    pub cut: usize,
}

impl Sample {
    /// The wrong tokens that are worth an explanation: the first ones.
    pub fn mistakes(&self) -> Vec<usize> {
        let wrong = |t: &usize| self.tokens[*t].is_wrong();
        (0..self.tokens.len()).filter(wrong).take(REASONS).collect()
    }
}

/// A token of a [`Sample`].
#[derive(Clone, Debug, Serialize)]
pub struct Token {
    /// The word.
    pub text: String,
    /// The gold label, if it is known.
    pub gold: Option<String>,
    /// The predicted label.
    pub predicted: String,
    /// P(predicted label).
    pub p: f64,
    /// P(gold label); 0 for a label that the model does not know, and where there is none.
    pub p_gold: f64,
    /// Why the predicted label beat the runner-up, if it is wrong and was explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

impl Token {
    /// Whether the predicted label is not the gold label.
    pub fn is_wrong(&self) -> bool {
        self.gold.as_ref().is_some_and(|gold| *gold != self.predicted)
    }
}

/// The sequences with the worst mistakes seen so far, worst first.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<Sample>);

impl Samples {
    /// Considers a sequence with these predicted and gold labels, of which some may not be known, and returns its sample if it is one of the worst. `names` are the names of the
    /// model's labels, `marginal` returns P(label) at a position, `place` says where the sequence was read, and `text` returns the
    /// word at a position.
    pub fn add(
        &mut self,
        names: &[String],
        (predicted, gold): (&[&str], &[Option<&str>]),
        mut marginal: impl FnMut(usize, Label) -> f64,
        place: impl FnOnce() -> String,
        text: impl Fn(usize) -> String,
    ) -> Option<&mut Sample> {
        let number = |name: &str| names.iter().position(|other| other == name).map(|label| label as Label);
        let (mut mistake, mut all_right, mut least_sure) = (0.0, true, f64::INFINITY);
        let mut probabilities = Vec::with_capacity(gold.len());
        for (t, (&label, &gold)) in predicted.iter().zip(gold).enumerate() {
            let mut p_of = |name: &str| number(name).map_or(0.0, |label| marginal(t, label));
            let (p, p_gold) = (p_of(label), gold.map_or(0.0, &mut p_of));
            if gold.is_some_and(|gold| gold != label) {
                mistake += (p - p_gold).max(0.0);
                all_right = false;
            }
            least_sure = p.min(least_sure);
            probabilities.push((p, p_gold));
        }
        if all_right {
            mistake = -least_sure.min(1.0);
        }
        if self.rank(mistake) >= SAMPLES {
            return None;
        }
        let tokens = (0..gold.len().min(TOKENS)).map(|t| Token {
            text: text(t),
            gold: gold[t].map(str::to_owned),
            predicted: predicted[t].into(),
            p: probabilities[t].0,
            p_gold: probabilities[t].1,
            reason: None,
        });
        let cut = gold.len().saturating_sub(TOKENS);
        let at = self.insert(Sample { place: place(), mistake, tokens: tokens.collect(), cut });
        self.0.get_mut(at)
    }

    /// Merges the samples collected from later sequences.
    pub fn merge(&mut self, later: &Samples) {
        for sample in &later.0 {
            self.insert(sample.clone());
        }
    }

    /// The number of samples that are at least as bad.
    fn rank(&self, mistake: f64) -> usize {
        self.0.partition_point(|sample| sample.mistake >= mistake)
    }

    /// Inserts a sample, and returns its rank.
    fn insert(&mut self, sample: Sample) -> usize {
        let rank = self.rank(sample.mistake);
        self.0.insert(rank, sample);
        self.0.truncate(SAMPLES);
        rank
    }
}
