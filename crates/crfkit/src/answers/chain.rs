//! The log-potentials of one chain, and all questions that can be asked about them.

use super::Answers;
use crate::decode::{
    Decode, Decoder, Direction, MemmViterbi, NBEST_MEMORY, Ranked, Viterbi, max_marginal, nbest_within,
};
use crate::graph::{Chain, Gradient, Graph, Label, PAIR, Psi, Shared, SharedSum};
use crate::infer::{ForwardBackward, Inference};
use crate::math::Array;
use crate::math::vector::axpy;
use crate::{Error, Place, Result};
use std::sync::Arc;

/// The log-potentials of one chain, with the working memory of the answers. [`ChainAnswers::start`] begins the next
/// chain.
#[derive(Debug)]
pub struct ChainAnswers {
    /// The decoder of models that are normalised label by label.
    local: Option<MemmViterbi>,
    shared: Arc<Shared<f64>>,
    chain: Chain,
    own: Array<f64>,
    marginals: Array<f64>,
    log_z: Option<f64>,
    sums: SharedSum<f64>,
    viterbi: <Viterbi as Decoder>::Work,
    memm: <MemmViterbi as Decoder>::Work,
    inference: <ForwardBackward as Inference>::Work<f64>,
    labels: Vec<Label>,
}

impl ChainAnswers {
    /// Answers without a chain yet. All chains will share these tables. A `direction` is for models that are normalised
    /// label by label.
    pub fn new(shared: Arc<Shared<f64>>, direction: Option<Direction>) -> Self {
        ChainAnswers {
            local: direction.map(MemmViterbi),
            sums: SharedSum::new(&shared),
            chain: Chain { len: 0, labels: shared[PAIR].labels, own_pairs: false },
            shared,
            own: Array::default(),
            marginals: Array::default(),
            log_z: None,
            viterbi: Default::default(),
            memm: Default::default(),
            inference: Default::default(),
            labels: Vec::new(),
        }
    }

    /// Begins the next chain and returns its own tables, empty, for the caller to fill.
    pub fn start(&mut self, chain: Chain) -> &mut [f64] {
        self.chain = chain;
        self.log_z = None;
        self.own.reserve(chain.own_len());
        let own = &mut self.own.plane_mut(0)[..chain.own_len()];
        chain.clear_own(own);
        own
    }

    /// Must be called once the tables are filled. If the model is normalised label by label, this normalises them.
    pub fn finish(&mut self) {
        if let Some(memm) = self.local {
            memm.localise(&self.chain, &self.shared, &mut self.own, &mut self.memm);
        }
    }

    /// The shared tables.
    pub fn shared(&self) -> &Arc<Shared<f64>> {
        &self.shared
    }

    /// The current chain.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The log-potentials of the current chain.
    pub fn psi(&self) -> Psi<'_, f64> {
        Psi { shared: &self.shared, own: &self.own }
    }

    /// The best labelling (Viterbi).
    pub fn viterbi(&mut self) -> &[Label] {
        let psi = Psi { shared: &self.shared, own: &self.own };
        Viterbi.argmax(&self.chain, psi, &mut self.labels, &mut self.viterbi);
        &self.labels
    }

    /// The most probable label of every position.
    pub fn max_marginal(&mut self) -> &[Label] {
        self.log_z();
        max_marginal(&self.chain, self.marginals.plane(0), &mut self.labels);
        &self.labels
    }

    /// P(label at `position` | sequence).
    pub fn marginal(&mut self, position: usize, label: Label) -> f64 {
        self.log_z();
        self.marginals.get(position * self.chain.stride() + label as usize)
    }

    /// Replaces the node marginals by the mean of these and of others for the same sequence. [`ChainAnswers::marginal`]
    /// and [`ChainAnswers::max_marginal`] then use the mean (ctjpgis-psa-2007 section 5). The labels must be the same.
    pub fn average<'a>(&mut self, others: impl IntoIterator<Item = &'a mut ChainAnswers>) {
        self.log_z();
        let len = self.chain.len * self.chain.stride();
        let mut members = 1.0;
        for other in others {
            other.log_z();
            members += 1.0;
            axpy(1.0, &other.marginals.plane(0)[..len], &mut self.marginals.plane_mut(0)[..len]);
        }
        self.marginals.plane_mut(0)[..len].iter_mut().for_each(|p| *p /= members);
    }

    /// The `n` best labellings with their scores, best first; fewer where the sequence has fewer. An error if they need more memory
    /// than [`NBEST_MEMORY`].
    pub fn nbest(&mut self, n: usize) -> Result<Vec<Ranked>> {
        nbest_within(&self.chain, self.psi(), n, NBEST_MEMORY)
    }

    /// P(labelling | sequence).
    pub fn probability(&mut self, labels: &[Label]) -> f64 {
        self.log_probability(labels).exp()
    }

    /// ln P(labelling | sequence).
    pub fn log_probability(&mut self, labels: &[Label]) -> f64 {
        let log_z = self.log_z();
        self.psi().score(&self.chain, labels) - log_z
    }

    /// log Z. Forward-backward runs only once per chain.
    pub fn log_z(&mut self) -> f64 {
        if let Some(log_z) = self.log_z {
            return log_z;
        }
        let len = self.chain.own_len();
        self.marginals.reserve(len);
        self.sums.clear(&self.shared);
        let psi = Psi { shared: &self.shared, own: &self.own };
        let mut out = Gradient { own: self.marginals.slice_mut(0..len), shared: &mut self.sums };
        let outcome = ForwardBackward.log_z(&self.chain, psi, 1.0, &mut out, &mut self.inference);
        self.log_z = Some(outcome.log_z);
        outcome.log_z
    }
}

impl Answers for ChainAnswers {
    type Graph = Chain;

    fn load(&mut self, chain: &Chain, _place: Place, fill: &mut dyn FnMut(&mut Array<f64>)) -> Result<()> {
        self.start(*chain);
        fill(&mut self.own);
        self.finish();
        Ok(())
    }

    fn graph(&self) -> &Chain {
        &self.chain
    }

    fn labels(&mut self, decode: Decode) -> Result<&[Label]> {
        match decode {
            Decode::Best | Decode::Exact => Ok(self.viterbi()),
            Decode::MaxMarginal => Ok(self.max_marginal()),
            _ => Err(Error::Setting(
                "chains are solved exactly: choose the best labelling or the most probable label of every token".into(),
            )),
        }
    }

    fn probability_of(&mut self, variable: usize, label: Label) -> Result<f64> {
        Ok(self.marginal(variable, label))
    }

    fn converged(&self) -> Option<bool> {
        None
    }
}
