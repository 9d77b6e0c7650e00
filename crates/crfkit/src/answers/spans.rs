//! Probabilities of parts of a labelling, and the entropy of a chain.
//!
//! A chain is a Markov chain given its input: P(y_a … y_b) = μ_{a,a+1} ∏ μ_{t,t+1}/μ_t. So everything here follows from the
//! marginals of labels and of neighbouring pairs.

use super::ChainAnswers;
use crate::graph::{Chain, FORBIDDEN, Gradient, Graph, Label, Psi, SharedSum};
use crate::infer::{ForwardBackward, Inference};
use crate::math::Array;
use std::ops::Range;

/// The marginals of all pairs of neighbours of one chain, in the layout of a chain whose pairs have own tables.
#[derive(Debug, Default)]
pub(super) struct PairMarginals {
    /// Whether they are those of the current chain.
    pub(super) ready: bool,
    own: Array<f64>,
    marginals: Array<f64>,
}

impl PairMarginals {
    /// μ of a label.
    fn node(&self, chain: &Chain, t: usize, label: usize) -> f64 {
        self.marginals.get(t * chain.stride() + label)
    }

    /// μ of label i at t − 1 and label j at t.
    fn pair(&self, chain: &Chain, t: usize, i: usize, j: usize) -> f64 {
        self.marginals.get(chain.pair_offset(t) + i * chain.stride() + j)
    }
}

impl ChainAnswers {
    /// P(the labels of `tokens` are such that `allowed` allows every step | sequence). A step goes into a token: it has its position and
    /// the labels before and after it, `None` beyond the ends of the sequence. The steps are those into each of the tokens and the one
    /// into the token after them. There must be at least one token.
    #[doc(hidden)]
    pub fn probability_where(
        &mut self,
        tokens: Range<usize>,
        allowed: impl Fn(usize, Option<Label>, Option<Label>) -> bool,
    ) -> f64 {
        if self.chain.triples
            || self.chain.segments.is_some()
            || self.once.as_ref().is_some_and(|once| once.is_exact())
        {
            return self.share_where(tokens, allowed);
        }
        let (pairs, chain) = self.pair_marginals();
        let (chain, labels) = (&chain, chain.labels);
        let number = |label: usize| Some(label as Label);
        // The probability of the labels so far, with label j at the current token.
        let mut sums: Vec<f64> = (0..labels)
            .map(|j| match tokens.start {
                0 if allowed(0, None, number(j)) => pairs.node(chain, 0, j),
                0 => 0.0,
                t => {
                    let before = (0..labels).filter(|&i| allowed(t, number(i), number(j)));
                    before.map(|i| pairs.pair(chain, t, i, j)).sum()
                }
            })
            .collect();
        for t in tokens.start + 1..=tokens.end {
            // P(label before | labels so far) over μ, which is 0 only if the sum is.
            let shares = sums.iter().enumerate().map(|(i, sum)| match *sum > 0.0 {
                true => sum / pairs.node(chain, t - 1, i),
                false => 0.0,
            });
            let shares: Vec<f64> = shares.collect();
            if t == chain.len {
                return (0..labels).filter(|&i| allowed(t, number(i), None)).map(|i| sums[i]).sum();
            }
            for (j, sum) in sums.iter_mut().enumerate() {
                let before = (0..labels).filter(|&i| shares[i] > 0.0 && allowed(t, number(i), number(j)));
                *sum = before.map(|i| shares[i] * pairs.pair(chain, t, i, j)).sum();
            }
        }
        sums.iter().sum()
    }

    /// The same as a quotient of two sums over labellings, for chains whose pair marginals do not determine it.
    fn share_where(
        &mut self,
        tokens: Range<usize>,
        allowed: impl Fn(usize, Option<Label>, Option<Label>) -> bool,
    ) -> f64 {
        let log_z = self.log_z();
        let (chain, given) = (Chain { own_pairs: true, ..self.chain }, self.chain.own_len());
        let (len, stride, labels) = (chain.own_len(), chain.stride(), 0..chain.labels);
        let mut own = Array::zeros(len);
        chain.clear_own(own.plane_mut(0));
        own.plane_mut(0)[..given].copy_from_slice(&self.own.plane(0)[..given]);
        let number = |label: usize| Some(label as Label);
        for t in tokens.start..=tokens.end {
            for j in labels.clone() {
                if t == 0 && !allowed(0, None, number(j)) {
                    own.set(j, -FORBIDDEN);
                } else if t == chain.len && !allowed(t, number(j), None) {
                    own.set((t - 1) * stride + j, -FORBIDDEN);
                } else if t > 0 && t < chain.len {
                    for i in labels.clone().filter(|&i| !allowed(t, number(i), number(j))) {
                        own.set(chain.pair_offset(t) + i * stride + j, -FORBIDDEN);
                    }
                }
            }
        }
        let mut marginals = Array::zeros(len);
        let masked = match self.once_log_z(&chain, &own, marginals.plane_mut(0)) {
            Some(log_z) => log_z,
            None => {
                let mut sums = SharedSum::new(&self.shared);
                let mut out = Gradient { own: marginals.slice_mut(0..len), shared: &mut sums };
                let psi = Psi { shared: &self.shared, own: &own };
                ForwardBackward.log_z(&chain, psi, 1.0, &mut out, &mut self.inference).log_z
            }
        };
        (masked - log_z).exp().min(1.0)
    }

    /// log Z − E(score).
    fn entropy_by_score(&mut self) -> f64 {
        let log_z = self.log_z();
        self.sums.finish(&self.shared);
        let product = |marginals: &[f64], psi: &[f64]| -> f64 {
            let both = marginals.iter().zip(psi).filter(|(mu, _)| **mu > 0.0);
            both.map(|(mu, psi)| mu * psi).sum()
        };
        let len = self.chain.own_len();
        let mut score = product(&self.marginals.plane(0)[..len], &self.own.plane(0)[..len]);
        for (sum, table) in self.sums.0.iter().zip(&*self.shared) {
            score += product(sum.direct.plane(0), table.log.plane(0));
        }
        (log_z - score).max(0.0)
    }

    /// P(the tokens from `start` on have these labels | sequence).
    pub fn span_probability(&mut self, start: usize, labels: &[Label]) -> f64 {
        let tokens = start..start + labels.len();
        self.probability_where(tokens.clone(), |t, _, after| {
            t == tokens.end || after == Some(labels[t - start])
        })
    }

    /// P(label `before` at `position` − 1 and label `after` at `position` | sequence). There is no pair at position 0.
    pub fn pair_marginal(&mut self, position: usize, before: Label, after: Label) -> f64 {
        let (pairs, chain) = self.pair_marginals();
        pairs.pair(&chain, position, before as usize, after as usize)
    }

    /// −Σ P ln P over all labellings of the sequence, in nats: 0 if one labelling is certain.
    pub fn entropy(&mut self) -> f64 {
        if let Some(entropy) = self.once_entropy() {
            return entropy;
        }
        if self.chain.triples || self.chain.segments.is_some() {
            return self.entropy_by_score();
        }
        let (pairs, chain) = self.pair_marginals();
        let (chain, len, labels) = (&chain, chain.len, chain.labels);
        let term = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
        let node = |t: usize| -> f64 { (0..labels).map(|j| term(pairs.node(chain, t, j))).sum() };
        let pair = |t: usize| -> f64 {
            let all = (0..labels).flat_map(|i| (0..labels).map(move |j| (i, j)));
            all.map(|(i, j)| term(pairs.pair(chain, t, i, j))).sum()
        };
        let entropy = match len {
            0 => 0.0,
            1 => node(0),
            _ => (1..len).map(pair).sum::<f64>() - (1..len - 1).map(node).sum::<f64>(),
        };
        entropy.max(0.0)
    }

    /// The marginals of pairs, and the chain whose layout they have. Forward-backward runs once per chain.
    fn pair_marginals(&mut self) -> (&PairMarginals, Chain) {
        let chain = Chain { own_pairs: true, ..self.chain };
        if !self.pairs.ready {
            let (len, given) = (chain.own_len(), self.chain.own_len());
            let PairMarginals { ready, own, marginals } = &mut self.pairs;
            own.reserve(len);
            marginals.reserve(len);
            let tables = &mut own.plane_mut(0)[..len];
            chain.clear_own(tables);
            tables[..given].copy_from_slice(&self.own.plane(0)[..given]);
            let mut sums = SharedSum::new(&self.shared);
            let mut out = Gradient { own: marginals.slice_mut(0..len), shared: &mut sums };
            let psi = Psi { shared: &self.shared, own };
            ForwardBackward.log_z(&chain, psi, 1.0, &mut out, &mut self.inference);
            *ready = true;
        }
        (&self.pairs, chain)
    }
}
