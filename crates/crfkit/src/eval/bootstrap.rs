//! The paired bootstrap: is one labelling better than another, or is the difference chance?
//!
//! Sequences are drawn with replacement, the same ones for both labellings, and the difference of the scores is computed, thousands of
//! times (Koehn 2004; Berg-Kirkpatrick et al. 2012). The spread of these differences gives the interval and p.

use super::{ChunkCounts, Evaluation, per_cent};
use crate::math::random::Random;

/// Two labellings of the same sequences, compared with the same gold labels.
#[derive(Clone, Debug, Default)]
pub struct PairedBootstrap {
    sequences: Vec<[Counts; 2]>,
    /// Whether all labels are labels of chunks.
    all: Evaluation,
}

/// What the scores are made of.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    chunks: ChunkCounts,
    right: u64,
    tokens: u64,
}

impl Counts {
    fn of(gold: &[&str], predicted: &[&str]) -> Self {
        let mut one = Evaluation::default();
        one.add_sequence(gold, predicted, None);
        Counts { chunks: one.chunks(), right: one.tokens.right, tokens: one.tokens.all }
    }

    fn add(&mut self, other: &Counts) {
        self.chunks.merge(&other.chunks);
        self.right += other.right;
        self.tokens += other.tokens;
    }

    fn accuracy(&self) -> f64 {
        per_cent(self.right, self.tokens).unwrap_or(0.0)
    }
}

/// The scores of two labellings, and their difference.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Difference {
    /// The score of each labelling, in per cent.
    pub scores: [f64; 2],
    /// The first score minus the second.
    pub difference: f64,
    /// The 95 % interval of the difference: 2.5 % of the resamples are below, and 2.5 % above.
    pub interval: [f64; 2],
    /// How probable a difference of at least this size would be if there were none, in either direction.
    pub p: f64,
}

impl PairedBootstrap {
    /// Adds a sequence with its gold labels and two predictions.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn add(&mut self, gold: &[&str], first: &[&str], second: &[&str]) {
        self.sequences.push([Counts::of(gold, first), Counts::of(gold, second)]);
        self.all.add_sequence(gold, first, None);
        self.all.add_sequence(gold, second, None);
    }

    /// Number of sequences.
    pub fn len(&self) -> usize {
        self.sequences.len()
    }

    /// Whether there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.sequences.is_empty()
    }

    /// Compares the two labellings by `resamples` resamples: their accuracies, and their F1 if labels are those of chunks.
    pub fn compare(&self, resamples: usize, seed: u64) -> (Difference, Option<Difference>) {
        let sum = |draw: &mut dyn FnMut() -> Option<usize>| {
            let mut sums = [Counts::default(); 2];
            while let Some(sequence) = draw() {
                sums.iter_mut().zip(&self.sequences[sequence]).for_each(|(sum, one)| sum.add(one));
            }
            sums
        };
        let mut each = 0..self.len();
        let all = sum(&mut || each.next());
        let mut random = Random::new(seed);
        let mut drawn = Vec::with_capacity(resamples);
        for _ in 0..resamples {
            let mut left = self.len();
            drawn.push(sum(&mut || {
                left = left.checked_sub(1)?;
                Some(random.below(self.len()))
            }));
        }
        let by = |score: &dyn Fn(&Counts) -> f64| {
            let scores = all.each_ref().map(score);
            let drawn = drawn.iter().map(|[a, b]| score(a) - score(b)).collect();
            Difference::new(scores, drawn)
        };
        let chunked = self.all.scores().chunked;
        (by(&Counts::accuracy), chunked.then(|| by(&|counts| counts.chunks.f1())))
    }
}

impl Difference {
    /// The difference of two scores, with those of resamples.
    fn new(scores: [f64; 2], mut drawn: Vec<f64>) -> Self {
        drawn.sort_by(f64::total_cmp);
        let difference = scores[0] - scores[1];
        let at = |share: f64| {
            let last = drawn.len().saturating_sub(1);
            drawn.get((share * last as f64).round() as usize).copied().unwrap_or(difference)
        };
        // Resamples vary around the difference as it would vary around 0 if there were none.
        let extreme = drawn.iter().filter(|d| (**d - difference).abs() >= difference.abs()).count();
        let p = (extreme + 1) as f64 / (drawn.len() + 1) as f64;
        Difference { scores, difference, interval: [at(0.025), at(0.975)], p }
    }
}
