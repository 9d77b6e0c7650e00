//! The exponential functions u and v of EP2 (empirical-training-2013, section 3.7.2).
//!
//! u(y|x) ∝ exp Σ_f λ_f(y) and v(y, y'|x, x') ∝ exp(Σ_f α_f(y) + Σ_f' β_f'(y') + θ(y, y')), where f runs over the
//! spelling features of x and f' over those of x'. Both also include a feature that every word has. The two are
//! multinomial regressions on the counts: u is a chain of one position, v a chain of two. Words of one spelling share
//! one u, so the cost of a fit depends on the number of different spellings and not on the size of the corpus.

use super::counts::{Counts, Tally, ordered};
use super::fit::CountedChains;
use super::pairs::PairWork;
use super::spelling::{FEATURES, Spelling, features};
use super::{EmpiricalSettings, PairKind};
use crate::Result;
use crate::optim::{Lbfgs, Mean, Prior};

/// The weights of u and v.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Exponential {
    /// λ `[1 + FEATURES][labels]`.
    pub(crate) u: Vec<f64>,
    /// α `[rows][labels]`, β `[rows][labels]`, θ `[labels][labels]`; one row for labels alone, 1 + FEATURES with
    /// lexical pairs.
    pub(crate) v: Vec<f64>,
}

/// Number of rows of node weights that v has on each side.
fn rows_of_pairs(pairs: PairKind) -> usize {
    match pairs {
        PairKind::Tags => 1,
        PairKind::Lexical => 1 + FEATURES,
    }
}

/// The first weight of each row of a spelling; `base` is where the rows of its position begin.
fn rows(spelling: Spelling, base: usize, labels: usize) -> impl Iterator<Item = usize> + Clone {
    std::iter::once(base).chain(features(spelling).map(move |f| base + (1 + f) * labels))
}

/// The objective of u: the labels of each spelling, with their counts.
fn singles(counts: &Counts, dim: usize) -> CountedChains {
    let labels = counts.labels();
    let mut chains = CountedChains::new(labels, dim, None);
    for group in ordered(&counts.spelling_labels()).chunk_by(|x, y| x.0[0] == y.0[0]) {
        chains.add(1, vec![rows(group[0].0[0], 0, labels).collect()]);
        group.iter().for_each(|&([_, y], n)| chains.observe(&[y], n as f64));
    }
    chains
}

/// The objective of v: the label pairs of each pair of spellings, with their counts.
fn pairs(counts: &Counts, pairs: PairKind, dim: usize) -> CountedChains {
    let labels = counts.labels();
    let right = rows_of_pairs(pairs) * labels;
    let mut chains = CountedChains::new(labels, dim, Some(2 * right));
    let neighbours: Tally<4> = match pairs {
        // Without features, all words are alike.
        PairKind::Tags => counts.label_pairs.iter().map(|(&[i, j], &n)| ([0, 0, i, j], n)).collect(),
        PairKind::Lexical => counts.spelling_pairs(),
    };
    for group in ordered(&neighbours).chunk_by(|x, y| x.0[..2] == y.0[..2]) {
        let [a, b, ..] = group[0].0;
        chains.add(2, vec![rows(a, 0, labels).collect(), rows(b, right, labels).collect()]);
        group.iter().for_each(|&([_, _, i, j], n)| chains.observe(&[i, j], n as f64));
    }
    chains
}

impl Exponential {
    /// The numbers of weights of u and v.
    pub(crate) fn dims(labels: usize, pairs: PairKind) -> [usize; 2] {
        [(1 + FEATURES) * labels, (2 * rows_of_pairs(pairs) + labels) * labels]
    }

    /// Fits u to P̃(y|x), and v to P̃(y, y'|x, x') (eq. 24), each with a Gaussian prior. For the feature that every
    /// word has, the prior's mean and the first weights are ln P̃(y): what u and v would be if nothing else were known.
    /// For all others the mean is 0.
    pub(crate) fn fit(counts: &Counts, settings: &EmpiricalSettings) -> Result<Self> {
        let labels = counts.labels();
        let [mut u, mut v] = Exponential::dims(labels, settings.pairs).map(|dim| vec![0.0; dim]);
        let log_prior = counts.prior().iter().map(|p| p.ln()).collect::<Vec<f64>>();
        u[..labels].copy_from_slice(&log_prior);
        v[..labels].copy_from_slice(&log_prior);
        v[rows_of_pairs(settings.pairs) * labels..][..labels].copy_from_slice(&log_prior);
        // Counts range from one to thousands, which makes long and narrow valleys. More memory halves the number of
        // passes.
        let method = Lbfgs { memory: 20, tolerance: 1e-5, ..Lbfgs::default() };
        let from = |chains: CountedChains, start: Vec<f64>| {
            let prior = Prior { mean: Mean::Vector(start.clone()), ..Prior::gaussian(settings.sigma) };
            chains.fit(start, prior, &method)
        };
        Ok(Exponential {
            u: from(singles(counts, u.len()), u)?,
            v: from(pairs(counts, settings.pairs, v.len()), v)?,
        })
    }

    /// Overwrites `p` with u(·|spelling).
    pub(crate) fn single(&self, spelling: Spelling, p: &mut [f64]) {
        p.fill(0.0);
        for row in rows(spelling, 0, p.len()) {
            p.iter_mut().zip(&self.u[row..]).for_each(|(score, w)| *score += w);
        }
        normalise(p);
    }

    /// The parts of v: α, β and θ.
    pub(crate) fn parts_of_v(&self, labels: usize) -> (&[f64], &[f64], &[f64]) {
        let right = (self.v.len() / labels - labels) / 2 * labels;
        (&self.v[..right], &self.v[right..2 * right], &self.v[2 * right..])
    }

    /// Overwrites the joint distribution with v(·, ·|both spellings). Without lexical pairs both must be 0.
    pub(crate) fn pair(&self, [before, spelling]: [Spelling; 2], labels: usize, work: &mut PairWork) {
        work.clear(labels);
        let (alpha, beta, theta) = self.parts_of_v(labels);
        for (side, spelling, weights) in [(&mut work.left, before, alpha), (&mut work.right, spelling, beta)]
        {
            for row in rows(spelling, 0, labels) {
                side.iter_mut().zip(&weights[row..]).for_each(|(score, w)| *score += w);
            }
        }
        let theta = theta.chunks_exact(labels);
        for ((joint, theta), left) in work.joint.chunks_exact_mut(labels).zip(theta).zip(&work.left) {
            for ((score, w), right) in joint.iter_mut().zip(theta).zip(&work.right) {
                *score = left + right + w;
            }
        }
        normalise(&mut work.joint);
    }
}

/// p ← exp(p)/Σ exp(p).
fn normalise(p: &mut [f64]) {
    let max = p.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    p.iter_mut().for_each(|p| *p = (*p - max).exp());
    let sum: f64 = p.iter().sum();
    p.iter_mut().for_each(|p| *p /= sum);
}
