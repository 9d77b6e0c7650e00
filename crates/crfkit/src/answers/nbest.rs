//! The best labellings of a chain, and how far apart they are.

use super::ChainAnswers;
use crate::Result;
use crate::decode::{AtMostOnce, NBEST_MEMORY, Ranked, nbest_within};
use crate::graph::Psi;

impl ChainAnswers {
    /// The `n` best labellings with their scores, best first; fewer where the sequence has fewer. An error if they need more memory
    /// than [`NBEST_MEMORY`].
    pub fn nbest(&mut self, n: usize) -> Result<Vec<Ranked>> {
        let once = self.once.clone();
        if once.as_ref().is_none_or(|once| once.is_exact()) {
            let mut ranked = self.ranked(n, once.as_deref())?;
            ranked.retain(|ranked| !self.forbids(ranked.score));
            return Ok(ranked);
        }
        // Too many states: lists without the things that occur at most once, until enough labellings have them so.
        let mut asked = n;
        loop {
            let mut ranked = self.ranked(asked, None)?;
            // What comes after a labelling that is forbidden is forbidden too.
            let complete = ranked.len() < asked || ranked.last().is_some_and(|last| self.forbids(last.score));
            let satisfied =
                |ranked: &Ranked| once.as_ref().is_some_and(|once| once.is_satisfied_by(&ranked.labels));
            ranked.retain(|ranked| !self.forbids(ranked.score) && satisfied(ranked));
            if complete || ranked.len() >= n {
                ranked.truncate(n);
                return Ok(ranked);
            }
            asked *= 2;
        }
    }

    /// The `n` best labellings, forbidden ones last, in which these things occur at most once.
    fn ranked(&mut self, n: usize, once: Option<&AtMostOnce>) -> Result<Vec<Ranked>> {
        let Some(pairs) = self.by_pairs()? else {
            return match once {
                None => nbest_within(&self.chain, self.psi(), n, NBEST_MEMORY),
                Some(once) => once.nbest(&self.chain, self.psi(), n, NBEST_MEMORY),
            };
        };
        let (chain, own) = pairs.of(&self.chain, self.psi());
        let psi = Psi { shared: &pairs.shared, own: &own };
        let mut ranked = match once {
            None => nbest_within(&chain, psi, n, NBEST_MEMORY)?,
            Some(once) => once.by_pairs(&pairs).nbest(&chain, psi, n, NBEST_MEMORY)?,
        };
        ranked.iter_mut().for_each(|ranked| pairs.labels(&mut ranked.labels));
        Ok(ranked)
    }

    /// ln P of the best labelling minus ln P of the second best; infinite if there is no second.
    pub fn margin(&mut self) -> Result<f64> {
        let ranked = self.nbest(2)?;
        Ok(match &ranked[..] {
            [best, second] => best.score - second.score,
            _ => f64::INFINITY,
        })
    }
}
