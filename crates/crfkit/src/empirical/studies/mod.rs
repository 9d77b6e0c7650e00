//! The small data sets of empirical-training-2013 and the methods that the paper compares on them, for tests and
//! experiments.
//!
//! Words and labels of a [`Sample`] are numbers with names. They are numbered in the order of the names, so the numbers
//! agree with those of an [`super::EmpiricalModel`].

mod directed;
mod tables;

pub use directed::{Directed, First};

use super::{Counts, PairKind};
use crate::answers::ChainAnswers;
use crate::graph::{Chain, Label, Table};
use crate::math::random::Random;
use std::sync::Arc;

/// A small data set.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Names of the words, sorted.
    pub words: &'static [&'static str],
    /// Names of the labels, sorted.
    pub labels: &'static [&'static str],
    /// Words and labels of each sequence.
    pub sequences: Vec<(Vec<usize>, Vec<Label>)>,
}

impl Sample {
    /// The five instances of sections 3.4.3 and 4.1: a b c d, four times labelled 0 0 0 0 and once 0 1 1 0.
    pub fn five() -> Self {
        let words: Vec<usize> = (0..4).collect();
        let mut sequences = vec![(words.clone(), vec![0, 0, 0, 0]); 4];
        sequences.push((words, vec![0, 1, 1, 0]));
        Sample { words: &["a", "b", "c", "d"], labels: &["0", "1"], sequences }
    }

    /// The five instances of [`Sample::five`], and a b, b c and c d, each labelled 0 0 (section 3.4.3).
    pub fn eight() -> Self {
        let mut sample = Sample::five();
        sample.sequences.extend((0..3).map(|a| (vec![a, a + 1], vec![0, 0])));
        sample
    }

    /// The label-bias data of section 4.4: R1 I B and R2 O B, equally likely. A label emits its own symbol (r for both
    /// R1 and R2) with probability 29/32, and each other symbol with probability 1/32.
    pub fn label_bias(seed: u64, sequences: usize) -> Self {
        const LABELS: &[&str] = &["B", "I", "O", "R1", "R2"];
        const WORDS: &[&str] = &["b", "i", "o", "r"];
        /// The own symbol of each label.
        const OWN: [usize; 5] = [0, 1, 2, 3, 3];
        let mut random = Random::new(seed);
        let mut draw = || {
            let labels: [Label; 3] = [[3, 1, 0], [4, 2, 0]][random.below(2)];
            let symbol = |y: Label| match random.below(32) {
                other @ 0..3 => (OWN[y as usize] + 1 + other) % WORDS.len(),
                _ => OWN[y as usize],
            };
            (labels.map(symbol).to_vec(), labels.to_vec())
        };
        Sample { words: WORDS, labels: LABELS, sequences: (0..sequences).map(|_| draw()).collect() }
    }

    /// The same data with a label S and its symbol s in front of every sequence. What depends on R1 or R2 is then not
    /// part of the first pair.
    pub fn behind_a_start(&self) -> Self {
        const LABELS: &[&str] = &["B", "I", "O", "R1", "R2", "S"];
        const WORDS: &[&str] = &["b", "i", "o", "r", "s"];
        let in_front = |(words, labels): &(Vec<usize>, Vec<Label>)| {
            let start = (WORDS.len() - 1, LABELS.len() as Label - 1);
            ([&[start.0], &words[..]].concat(), [&[start.1], &labels[..]].concat())
        };
        Sample { words: WORDS, labels: LABELS, sequences: self.sequences.iter().map(in_front).collect() }
    }

    /// Counts the sequences.
    pub fn counts(&self, pairs: PairKind) -> Counts {
        let mut counts = Counts::new(pairs);
        for (words, labels) in &self.sequences {
            counts.add(words.iter().zip(labels).map(|(&x, &y)| (self.words[x], self.labels[y as usize])));
        }
        counts
    }

    /// Percentage of correct labels when `label` labels the words.
    pub fn accuracy(&self, mut label: impl FnMut(&[usize]) -> Vec<Label>) -> f64 {
        let (mut right, mut all) = (0, 0);
        for (words, labels) in &self.sequences {
            right += label(words).iter().zip(labels).filter(|(a, b)| a == b).count();
            all += labels.len();
        }
        100.0 * right as f64 / all as f64
    }
}

/// The best labelling of a chain whose log-potentials are functions: `node(t, y)`, and `pair(t, y, y')` of the labels
/// at t − 1 and t.
pub(crate) fn best_labelling(
    chain: Chain,
    node: impl Fn(usize, usize) -> f64,
    pair: impl Fn(usize, usize, usize) -> f64,
) -> Vec<Label> {
    let tables = [chain.labels, 1, 1].map(|rows| Table::new(rows, chain.labels));
    let mut answers = ChainAnswers::new(Arc::new(tables.into()), None);
    let chain = Chain { own_pairs: true, ..chain };
    let own = answers.start(chain);
    for t in 0..chain.len {
        for j in 0..chain.labels {
            own[t * chain.stride() + j] = node(t, j);
            for i in (0..chain.labels).filter(|_| t > 0) {
                own[chain.pair_offset(t) + i * chain.stride() + j] = pair(t, i, j);
            }
        }
    }
    answers.viterbi().to_vec()
}
