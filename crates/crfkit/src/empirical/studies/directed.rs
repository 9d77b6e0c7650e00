//! Directed models in closed form: products of P̃(y'|y, x'), which suffer from label bias (section 3.5).

use super::{Sample, best_labelling};
use crate::graph::{Chain, Label};
use std::collections::HashMap;

/// The first factor of the product, before the conditional probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// P̃(y₁|x₁) over the first positions: a maximum-entropy Markov model.
    Label,
    /// P̃(y₁, y₂|x₁, x₂), as in eq. 11.
    Pair,
}

/// A directed model, estimated by relative frequencies.
#[derive(Clone, Debug)]
pub struct Directed {
    first: First,
    labels: usize,
    /// Frequencies of the first label given the first word.
    single: Shares,
    /// Frequencies of (label, next label) given (word, next word).
    pair: Shares,
    /// Frequencies of the next label given (label, next word).
    next: Shares,
}

/// Counts of outcomes: by (condition, outcome), and by condition.
#[derive(Clone, Debug, Default)]
struct Shares {
    both: HashMap<(Vec<usize>, usize), f64>,
    condition: HashMap<Vec<usize>, f64>,
}

impl Shares {
    fn add(&mut self, condition: Vec<usize>, outcome: usize) {
        *self.both.entry((condition.clone(), outcome)).or_default() += 1.0;
        *self.condition.entry(condition).or_default() += 1.0;
    }

    /// ln P̃(outcome|condition). If the condition was never seen, all `outcomes` are equally likely; an outcome that
    /// was not seen with the condition gets −100.
    fn log(&self, condition: Vec<usize>, outcome: usize, outcomes: usize) -> f64 {
        match self.condition.get(&condition) {
            None => -(outcomes as f64).ln(),
            Some(all) => self.both.get(&(condition, outcome)).map_or(-100.0, |n| (n / all).ln()),
        }
    }
}

impl Directed {
    /// Estimates the model by counting.
    pub fn new(sample: &Sample, first: First) -> Self {
        let labels = sample.labels.len();
        let [single, pair, next] = [Shares::default(), Shares::default(), Shares::default()];
        let mut model = Directed { first, labels, single, pair, next };
        for (words, gold) in &sample.sequences {
            let y: Vec<usize> = gold.iter().map(|&y| y as usize).collect();
            for t in 0..words.len() {
                if t == 0 {
                    model.single.add(vec![words[t]], y[t]);
                } else {
                    model.pair.add(vec![words[t - 1], words[t]], y[t - 1] * labels + y[t]);
                    model.next.add(vec![y[t - 1], words[t]], y[t]);
                }
            }
        }
        model
    }

    /// The best labelling of `words`.
    pub fn decode(&self, words: &[usize]) -> Vec<Label> {
        let (labels, joint_start) = (self.labels, self.first == First::Pair && words.len() > 1);
        best_labelling(
            Chain { own_pairs: true, ..Chain::first_order(words.len(), labels) },
            |t, y| if t == 0 && !joint_start { self.single.log(vec![words[0]], y, labels) } else { 0.0 },
            |t, i, j| match t == 1 && joint_start {
                true => self.pair.log(vec![words[0], words[1]], i * labels + j, labels * labels),
                false => self.next.log(vec![i, words[t]], j, labels),
            },
        )
    }
}
