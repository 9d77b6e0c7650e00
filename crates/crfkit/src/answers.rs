//! One sequence's log-potentials, and everything that can be asked about them.

mod scratch;

pub(crate) use scratch::Scratch;

use crate::decode::{Decoder, MemmViterbi, Ranked, Viterbi, max_marginal, nbest};
use crate::graph::{Chain, Gradient, Graph, Label, PAIR, Psi, Shared, SharedSum};
use crate::infer::{ForwardBackward, Inference};
use crate::math::Array;
use crate::math::vector::axpy;
use std::sync::Arc;

/// The log-potentials of one chain, with the memory that answers need. [`Answers::start`] takes in the next chain.
#[derive(Debug)]
pub struct Answers {
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

impl Answers {
    /// No chain yet; all of them will share these tables.
    pub fn new(shared: Arc<Shared<f64>>) -> Self {
        Answers {
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

    /// The next chain: returns its own tables, empty, to be filled.
    pub fn start(&mut self, chain: Chain) -> &mut [f64] {
        self.chain = chain;
        self.log_z = None;
        self.own.reserve(chain.own_len());
        let own = &mut self.own.plane_mut(0)[..chain.own_len()];
        chain.clear_own(own);
        own
    }

    /// Turns the log-potentials into those of a chain that is normalised label by label.
    pub fn localise(&mut self, memm: MemmViterbi) {
        memm.localise(&self.chain, &self.shared, &mut self.own, &mut self.memm);
    }

    /// The shared tables.
    pub fn shared(&self) -> &Arc<Shared<f64>> {
        &self.shared
    }

    /// The chain.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Its log-potentials.
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

    /// Makes the node marginals the mean of its own and of others' about the same sequence: [`Answers::marginal`] and
    /// [`Answers::max_marginal`] then speak of all of them together (ctjpgis-psa-2007 section 5). The labels must be the same.
    pub fn average<'a>(&mut self, others: impl IntoIterator<Item = &'a mut Answers>) {
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

    /// The `n` best labellings with their scores, best first.
    pub fn nbest(&mut self, n: usize) -> Vec<Ranked> {
        nbest(&self.chain, self.psi(), n)
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

    /// log Z. Forward-backward runs once a chain.
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
