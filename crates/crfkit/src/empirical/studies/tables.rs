//! CRFs whose parameters are whole tables: one ψ(y, x) for every label and word, and one φ(y, y', x, x') for every pair
//! of labels and pair of words.
//!
//! θ = ln ψ `[words][labels]`, then ln φ `[words][words][labels][labels]`.

use super::{Sample, best_labelling};
use crate::empirical::{CountedChains, EmpiricalModel, PairWork, Word};
use crate::graph::{Chain, Label};
use crate::math::simd;
use std::collections::BTreeMap;

/// Stands for the logarithm of 0 in scores.
const NEVER: f64 = -100.0;

impl Sample {
    /// First weight of ln ψ(·, x).
    pub fn node(&self, x: usize) -> usize {
        x * self.labels.len()
    }

    /// First weight of ln φ(·, ·, a, b).
    pub fn pair(&self, a: usize, b: usize) -> usize {
        let (words, labels) = (self.words.len(), self.labels.len());
        words * labels + (a * words + b) * labels * labels
    }

    /// Number of weights.
    pub fn dim(&self) -> usize {
        self.pair(self.words.len(), 0)
    }

    /// The negative log-likelihood of standard training (eq. 14), as a function of θ.
    pub fn likelihood(&self) -> CountedChains {
        let mut chains = CountedChains::new(self.labels.len(), self.dim(), None);
        let mut inputs: BTreeMap<&[usize], Vec<&[Label]>> = BTreeMap::new();
        for (words, labels) in &self.sequences {
            inputs.entry(words).or_default().push(labels);
        }
        for (words, labellings) in inputs {
            let nodes = words.iter().map(|&x| vec![self.node(x)]);
            let pairs = words.windows(2).map(|pair| vec![self.pair(pair[0], pair[1])]);
            chains.add(words.len(), nodes.chain(pairs).collect());
            labellings.iter().for_each(|labels| chains.observe(labels, 1.0));
        }
        chains
    }

    /// Eq. 10 with separate parameters for each of its factors: −Σ ln P(y_t, y_{t+1}|x) + Σ ln P(y_t|x), the second sum
    /// over inner positions, both probabilities free and normalised. It has no lower bound: the factors in the
    /// denominator are not tied to those in the numerator and can become arbitrarily small (section 3.2.1).
    pub fn ratio(&self) -> CountedChains {
        let mut chains = CountedChains::new(self.labels.len(), self.dim(), None);
        for (words, labels) in &self.sequences {
            for t in 1..words.len() {
                let pair = vec![self.pair(words[t - 1], words[t])];
                chains.add(2, vec![vec![], vec![], pair]);
                chains.observe(&labels[t - 1..=t], 1.0);
                if t + 1 < words.len() {
                    chains.add(1, vec![vec![self.node(words[t])]]);
                    chains.observe(&labels[t..=t], -1.0);
                }
            }
        }
        chains
    }

    /// Labels `words` by eq. 10 at θ: pairs in the numerator, inner labels in the denominator.
    pub fn decode_ratio(&self, theta: &[f64], words: &[usize]) -> Vec<Label> {
        let inner = |t: usize| t > 0 && t + 1 < words.len();
        best_labelling(
            Chain { own_pairs: true, ..Chain::first_order(words.len(), self.labels.len()) },
            |t, y| if inner(t) { -theta[self.node(words[t]) + y] } else { 0.0 },
            |t, i, j| theta[self.pair(words[t - 1], words[t]) + i * self.labels.len() + j],
        )
    }

    /// Labels `words` by ψ and φ at θ.
    pub fn decode(&self, theta: &[f64], words: &[usize]) -> Vec<Label> {
        best_labelling(
            Chain { own_pairs: true, ..Chain::first_order(words.len(), self.labels.len()) },
            |t, y| theta[self.node(words[t]) + y],
            |t, i, j| theta[self.pair(words[t - 1], words[t]) + i * self.labels.len() + j],
        )
    }

    /// êp: the factors of a model (eq. 12–13), written as θ.
    pub fn theta_of(&self, model: &EmpiricalModel) -> Vec<f64> {
        let labels = self.labels.len();
        let (mut theta, mut work) = (vec![0.0; self.dim()], PairWork::default());
        let words: Vec<Word> = self.words.iter().map(|word| model.word(word)).collect();
        let stride = simd::padded(labels);
        let mut phi = vec![0.0; labels * stride];
        for a in 0..self.words.len() {
            model.log_psi(words[a], &mut theta[self.node(a)..][..labels]);
            for b in 0..self.words.len() {
                model.log_phi(words[a], words[b], &mut phi, &mut work);
                for i in 0..labels {
                    let row = self.pair(a, b) + i * labels;
                    theta[row..][..labels].copy_from_slice(&phi[i * stride..][..labels]);
                }
            }
        }
        theta
    }

    /// t̂tp, the other maximum of the likelihood (eq. 18–20): ψ = 1; φ is P̃(y, y'|x, x') for the first and the last
    /// pair of the sequence, and the co-occurrence rate for the middle pair.
    pub fn test_time_problem() -> Vec<f64> {
        let sample = Sample::five();
        let mut theta = vec![0.0; sample.dim()];
        // P̃(y, y'|x, x') of a b, b c and c d, indexed by (y, y').
        let joints: [[f64; 4]; 3] = [[0.8, 0.2, 0.0, 0.0], [0.8, 0.0, 0.0, 0.2], [0.8, 0.0, 0.2, 0.0]];
        let single = |y: usize| if y == 0 { 0.8 } else { 0.2 };
        for (a, joint) in joints.iter().enumerate() {
            for (k, p) in joint.iter().enumerate() {
                let divisor = if a == 1 { single(k / 2) * single(k % 2) } else { 1.0 };
                theta[sample.pair(a, a + 1) + k] = (p / divisor).ln().max(NEVER);
            }
        }
        theta
    }
}
