//! What only exact inference can say about a graph: its best labellings, and probabilities of labellings and of their parts.

use super::{Answers, GraphAnswers};
use crate::decode::{Decode, NBEST_MEMORY, Ranked, graph_nbest};
use crate::graph::{FORBIDDEN, Graph, Label, TableRef};
use crate::math::Array;
use crate::{Error, Result};
use std::ops::Range;

impl GraphAnswers {
    /// Returns an error if the engine is not exact, or cannot work on the current graph.
    fn check_exact(&self) -> Result<()> {
        match self.parts().0.is_exact() {
            true => self.check_engine(),
            false => Err(self.at_place(Error::Setting(
                "n-best lists, and probabilities of whole labellings and of chunks, need exact inference: use `inference` exact".into(),
            ))),
        }
    }

    /// The `n` best labellings with their scores, best first; fewer where the graph has fewer. The first one is that of
    /// [`Decode::Best`]. Other equal scores come in any order, but always in the same one. It is an error if the engine is not exact,
    /// or if they need more memory than [`NBEST_MEMORY`].
    pub fn nbest(&mut self, n: usize) -> Result<Vec<Ranked>> {
        self.check_exact()?;
        let ranked = graph_nbest(self.graph(), self.psi(), n, -FORBIDDEN / 2.0, NBEST_MEMORY);
        let mut ranked = ranked.map_err(|error| self.at_place(error))?;
        if !ranked.is_empty() {
            // Both searches are exact, but each breaks ties in its own way.
            let labels = self.labels(Decode::Best)?.to_vec();
            match ranked.iter().position(|ranked| ranked.labels == labels) {
                Some(place) => ranked[..=place].rotate_right(1),
                None => {
                    ranked.pop();
                    ranked.insert(0, Ranked { score: self.score(&labels), labels });
                }
            }
        }
        Ok(ranked)
    }

    /// ln P of the best labelling minus ln P of the second best; infinite if there is no second. It is an error if the engine is not exact.
    pub fn margin(&mut self) -> Result<f64> {
        Ok(match &self.nbest(2)?[..] {
            // Of equally good ones, rounding may say that the second is better.
            [best, second] => (best.score - second.score).max(0.0),
            _ => f64::INFINITY,
        })
    }

    /// log Z of the current graph. It is an error if the engine is not exact.
    pub fn log_z(&mut self) -> Result<f64> {
        self.check_exact()?;
        Ok(self.infer()?.log_z)
    }

    /// ln P(labelling | input); −∞ for a labelling that is not allowed. It is an error if the engine is not exact.
    pub fn log_probability(&mut self, labels: &[Label]) -> Result<f64> {
        let (log_z, score) = (self.log_z()?, self.score(labels));
        // No labelling is more probable than all of them; with enormous weights rounding may say so.
        Ok(if score < -FORBIDDEN / 2.0 { f64::NEG_INFINITY } else { (score - log_z).min(0.0) })
    }

    /// P(labelling | input). It is an error if the engine is not exact.
    pub fn probability(&mut self, labels: &[Label]) -> Result<f64> {
        self.log_probability(labels).map(f64::exp)
    }

    /// −Σ P ln P over all labellings of the graph, in nats: 0 if one labelling is certain. It is an error if the engine is not exact.
    pub fn entropy(&mut self) -> Result<f64> {
        self.check_exact()?;
        Ok(self.infer()?.entropy)
    }

    /// P(the labels of `tokens` are such that `allowed` allows every step | input), where token t is the variable `path[t]`, and each token is
    /// linked with the next. Steps are those of [`ChainAnswers::probability_where`](super::ChainAnswers::probability_where): into each of
    /// the tokens, and into the one after them. It is an error if the engine is not exact.
    #[doc(hidden)]
    pub fn probability_where(
        &mut self,
        path: &[usize],
        tokens: Range<usize>,
        allowed: impl Fn(usize, Option<Label>, Option<Label>) -> bool,
    ) -> Result<f64> {
        let log_z = self.log_z()?;
        let steps = tokens.start..=tokens.end;
        let pairs = steps.clone().filter(|&t| 0 < t && t < path.len());
        let scopes: Vec<Vec<usize>> = pairs.clone().map(|t| vec![path[t - 1], path[t]]).collect();
        let (graph, given) = (self.graph().with_more_own(&scopes)?, self.graph().own_len());
        let first = self.graph().own_tables();
        let mut own = Array::zeros(graph.own_len());
        graph.clear_own(own.plane_mut(0));
        own.plane_mut(0)[..given].copy_from_slice(&self.parts().1.plane(0)[..given]);
        let number = |label: usize| Some(label as Label);
        for (k, t) in pairs.enumerate() {
            let (offset, stride) = (graph.own_offset(first + k), graph.own_shape(first + k).stride());
            for (i, j) in
                (0..graph.card(path[t - 1])).flat_map(|i| (0..graph.card(path[t])).map(move |j| (i, j)))
            {
                if !allowed(t, number(i), number(j)) {
                    own.set(offset + i * stride + j, -FORBIDDEN);
                }
            }
        }
        // At the ends of the path there is one label only.
        graph.for_each_factor(|factor| {
            let (TableRef::Own(offset), [v]) = (factor.table, factor.vars) else { return };
            for j in 0..graph.card(*v) {
                let begins = steps.contains(&0) && *v == path[0] && !allowed(0, None, number(j));
                let ends = steps.contains(&path.len())
                    && *v == path[path.len() - 1]
                    && !allowed(path.len(), number(j), None);
                if begins || ends {
                    own.set(offset + j * factor.strides[0], -FORBIDDEN);
                }
            }
        });
        Ok((self.infer_on(&graph, &own).log_z - log_z).exp().min(1.0))
    }
}
