//! Labellings of a chain in which things occur at most once, and the chain over states that second-order chains and those with segments are
//! searched on.

use super::ChainAnswers;
use super::chain::impossible;
use crate::decode::{AtMostOnce, StateChain};
use crate::graph::{Chain, FORBIDDEN, Graph, Psi};
use crate::math::Array;
use crate::{Error, Place, Result};
use std::sync::Arc;

impl ChainAnswers {
    /// Allows things at most once on all chains from now on. If that takes too many states ([`AtMostOnce::is_exact`]), labels and n-best
    /// lists obey it, but probabilities do not.
    #[doc(hidden)]
    pub fn at_most_once(&mut self, once: Option<Arc<AtMostOnce>>) {
        (self.log_z, self.once) = (None, once);
    }

    /// Finds the best labelling in which things occur at most once, where that is asked for. It is an error if there is none.
    pub(super) fn find_once(&mut self, place: impl FnOnce() -> Place) -> Result<()> {
        let Some(once) = self.once.clone() else { return Ok(()) };
        if once.is_exact() {
            let score = match self.by_pairs()? {
                None => {
                    let psi = Psi { shared: &self.shared, own: &self.own };
                    once.argmax(&self.chain, psi, &mut self.best_once)
                }
                Some(pairs) => {
                    let (chain, own) = pairs.of(&self.chain, self.psi());
                    let psi = Psi { shared: &pairs.shared, own: &own };
                    let score = once.by_pairs(&pairs).argmax(&chain, psi, &mut self.best_once);
                    pairs.labels(&mut self.best_once);
                    score
                }
            };
            return if score < -FORBIDDEN / 2.0 { Err(impossible(place())) } else { Ok(()) };
        }
        match self.nbest(1) {
            Ok(ranked) => match ranked.into_iter().next() {
                Some(best) => {
                    self.best_once = best.labels;
                    Ok(())
                }
                None => Err(impossible(place())),
            },
            Err(error) => Err(Error::input(
                place(),
                format!(
                    "too many of the best labellings have something twice: allow fewer things at most once ({error})"
                ),
            )),
        }
    }

    /// The chain over states, if this is a second-order chain or one with segments. An error if there are too many states.
    pub(super) fn by_pairs(&mut self) -> Result<Option<Arc<StateChain>>> {
        let Some(size) = StateChain::size(&self.shared) else { return Ok(None) };
        if size > StateChain::MOST {
            return Err(Error::Setting(format!(
                "n-best lists and labels at most once are for at most {} label pairs of a second-order chain, or labels times lengths of \
                 segments, but the model has {size}: ask for the best labelling, or train with `transitions` observed, `order` 1 or shorter \
                 `segments`",
                StateChain::MOST
            )));
        }
        let new = || Arc::new(StateChain::new(&self.shared));
        Ok(Some(self.by_pairs.get_or_insert_with(new).clone()))
    }

    /// The entropy over the labellings in which things occur at most once, if that is asked for and exact.
    pub(super) fn once_entropy(&mut self) -> Option<f64> {
        let once = self.once.clone().filter(|once| once.is_exact())?;
        let Some(pairs) = self.by_pairs().ok()? else { return Some(once.entropy(&self.chain, self.psi())) };
        let (chain, own) = pairs.of(&self.chain, self.psi());
        Some(once.by_pairs(&pairs).entropy(&chain, Psi { shared: &pairs.shared, own: &own }))
    }

    /// log Z of a chain with these own tables over the labellings in which things occur at most once, and the marginals of its labels, if
    /// that is asked for and exact.
    pub(super) fn once_log_z(&mut self, chain: &Chain, own: &Array<f64>, out: &mut [f64]) -> Option<f64> {
        let once = self.once.clone().filter(|once| once.is_exact())?;
        // Loading the chain has failed where there are too many pairs.
        let Some(pairs) = self.by_pairs().ok()? else {
            return Some(once.marginals(chain, Psi { shared: &self.shared, own }, out));
        };
        let (by_pairs, own) = pairs.of(chain, Psi { shared: &self.shared, own });
        let mut marginals = vec![0.0; by_pairs.own_len()];
        let psi = Psi { shared: &pairs.shared, own: &own };
        let log_z = once.by_pairs(&pairs).marginals(&by_pairs, psi, &mut marginals);
        out[..chain.len * chain.stride()].fill(0.0);
        for t in 0..chain.len {
            for pair in 0..pairs.len() {
                out[t * chain.stride() + pairs.label(pair) as usize] +=
                    marginals[t * by_pairs.stride() + pair];
            }
        }
        Some(log_z)
    }
}
