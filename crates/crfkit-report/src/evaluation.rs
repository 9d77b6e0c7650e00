//! How good a model is: scores, labels, what was taken for what, and the sequences it got most wrong.

use crfkit::eval::{Counts, Evaluation, Scores, is_chunked};
use crfkit::graph::Label;
use serde::Serialize;
use std::collections::HashMap;

/// Labels of the confusion table at most.
const CONFUSED_LABELS: usize = 30;
/// Sequences shown.
const SAMPLES: usize = 40;
/// Tokens shown of one sequence.
const TOKENS: usize = 200;

/// How good a model is on labelled data.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluationPart {
    /// What the page calls the data.
    pub name: String,
    /// Are the labels parts of chunks, so that F1 is the score to look at?
    pub chunked: bool,
    /// The scores, in per cent.
    pub scores: Scores,
    /// By type of chunk.
    pub types: Vec<Row>,
    /// By label, token by token.
    pub labels: Vec<Row>,
    /// What was taken for what.
    pub confusion: Confusion,
    /// Sequences, worst mistakes first.
    pub samples: Vec<Sample>,
}

/// A label or a type of chunk; scores in per cent.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Occurrences in the gold data.
    pub gold: u64,
    /// Occurrences in the prediction.
    pub predicted: u64,
    /// Share of the predicted ones that are right.
    pub precision: f64,
    /// Share of the gold ones that were found.
    pub recall: f64,
    /// Harmonic mean of both.
    pub f1: f64,
}

impl Row {
    fn all(counted: Vec<(&str, Counts)>) -> Vec<Row> {
        let row = |(name, counts): (&str, Counts)| Row {
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
    /// Number of labels, those left out included.
    pub all_labels: usize,
    /// The labels shown, sorted: all, or the 30 with the most mistakes.
    pub labels: Vec<String>,
    /// (gold, predicted, tokens), the labels by their place in `labels`; cells of 0 are left out.
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
    /// The part of a page that shows `evaluation`, which was on the data called `name`.
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

/// A sequence and what the model made of it.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Where it was read.
    pub place: String,
    /// How bad the mistakes are: Σ over wrong tokens of P(predicted) − P(gold), where that is positive. Where nothing is wrong,
    /// − the smallest probability of a label, so that the least sure come first.
    pub mistake: f64,
    /// Its tokens.
    pub tokens: Vec<Token>,
    /// Tokens left out at the end.
    pub cut: usize,
}

/// A token of a [`Sample`].
#[derive(Clone, Debug, Serialize)]
pub struct Token {
    /// The word.
    pub text: String,
    /// The right label.
    pub gold: String,
    /// The predicted label.
    pub predicted: String,
    /// P(predicted label).
    pub p: f64,
    /// P(right label); 0 for a label that the model does not know.
    pub p_gold: f64,
}

/// The sequences with the worst mistakes seen so far, worst first.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<Sample>);

impl Samples {
    /// Looks at a sequence, whose predicted and gold labels are given; `names` are those of the model's labels, `marginal` gives P(label) at
    /// a position, `place` says where it was read, `text` gives the word at a position.
    pub fn add(
        &mut self,
        names: &[String],
        [predicted, gold]: [&[&str]; 2],
        mut marginal: impl FnMut(usize, Label) -> f64,
        place: impl FnOnce() -> String,
        text: impl Fn(usize) -> String,
    ) {
        let number = |name: &str| names.iter().position(|other| other == name).map(|label| label as Label);
        let (mut mistake, mut all_right, mut least_sure) = (0.0, true, f64::INFINITY);
        let mut probabilities = Vec::with_capacity(gold.len());
        for (t, (&label, &gold)) in predicted.iter().zip(gold).enumerate() {
            let mut p_of = |name: &str| number(name).map_or(0.0, |label| marginal(t, label));
            let (p, p_gold) = (p_of(label), p_of(gold));
            if label != gold {
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
            return;
        }
        let tokens = (0..gold.len().min(TOKENS)).map(|t| Token {
            text: text(t),
            gold: gold[t].into(),
            predicted: predicted[t].into(),
            p: probabilities[t].0,
            p_gold: probabilities[t].1,
        });
        let cut = gold.len().saturating_sub(TOKENS);
        self.insert(Sample { place: place(), mistake, tokens: tokens.collect(), cut });
    }

    /// Takes in what has been collected from later sequences.
    pub fn merge(&mut self, later: &Samples) {
        for sample in &later.0 {
            self.insert(sample.clone());
        }
    }

    /// How many are at least as bad.
    fn rank(&self, mistake: f64) -> usize {
        self.0.partition_point(|sample| sample.mistake >= mistake)
    }

    fn insert(&mut self, sample: Sample) {
        self.0.insert(self.rank(sample.mistake), sample);
        self.0.truncate(SAMPLES);
    }
}
