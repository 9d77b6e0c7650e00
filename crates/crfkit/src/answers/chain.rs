//! The log-potentials of one chain, and all questions that can be asked about them.

use super::Answers;
use super::spans::PairMarginals;
use crate::decode::{AtMostOnce, Decode, Decoder, Direction, MemmViterbi, StateChain, Viterbi, max_marginal};
use crate::graph::{
    Chain, FORBIDDEN, Gradient, Graph, LENGTH, Label, LabelBits, LabelRules, PAIR, Psi, Shared, SharedSum,
    TRIPLE, Table, allow_only,
};
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
    /// The tables of the model, the same divided by the temperature, and these with the rules imposed.
    raw: Arc<Shared<f64>>,
    free: Arc<Shared<f64>>,
    pub(super) shared: Arc<Shared<f64>>,
    /// Log-potentials are divided by this.
    temperature: f64,
    rules: Option<Arc<LabelRules>>,
    /// Every chain of at least this length has a labelling that obeys the rules.
    always: usize,
    /// What may occur at most once, and the best labelling of the current chain in which it does.
    pub(super) once: Option<Arc<AtMostOnce>>,
    pub(super) best_once: Vec<Label>,
    /// The chain over states, once n-best lists of a second-order chain or of one with segments have asked for it.
    pub(super) by_pairs: Option<Arc<StateChain>>,
    /// Whether some positions of the current chain may have only some labels.
    masked: bool,
    pub(super) chain: Chain,
    pub(super) own: Array<f64>,
    pub(super) marginals: Array<f64>,
    pub(super) log_z: Option<f64>,
    pub(super) sums: SharedSum<f64>,
    viterbi: <Viterbi as Decoder>::Work,
    memm: <MemmViterbi as Decoder>::Work,
    pub(super) inference: <ForwardBackward as Inference>::Work<f64>,
    pub(super) pairs: PairMarginals,
    labels: Vec<Label>,
}

impl ChainAnswers {
    /// Answers without a chain yet. All chains will share these tables. A `direction` is for models that are normalised
    /// label by label.
    #[doc(hidden)]
    pub fn new(shared: Arc<Shared<f64>>, direction: Option<Direction>) -> Self {
        let triples = shared.get(TRIPLE).is_some_and(|table| table.triples.is_some());
        let segments = shared.get(LENGTH).and_then(|table| Some(table.segments.as_ref()?.of_chain(false)));
        let rules = shared[PAIR].rules.clone();
        ChainAnswers {
            local: direction.map(MemmViterbi),
            sums: SharedSum::new(&shared),
            chain: Chain { len: 0, labels: shared[PAIR].labels, own_pairs: false, triples, segments },
            raw: shared.clone(),
            free: shared.clone(),
            temperature: 1.0,
            always: always(&shared),
            shared,
            rules,
            once: None,
            best_once: Vec::new(),
            by_pairs: None,
            masked: false,
            own: Array::default(),
            marginals: Array::default(),
            log_z: None,
            viterbi: Default::default(),
            memm: Default::default(),
            inference: Default::default(),
            pairs: PairMarginals::default(),
            labels: Vec::new(),
        }
    }

    /// The same answers at a temperature: all log-potentials are divided by it. The best labelling stays the same; at a high temperature,
    /// probabilities are closer to each other.
    #[doc(hidden)]
    pub fn with_temperature(mut self, temperature: f64) -> Self {
        if temperature != 1.0 {
            let cooled = |table: &Table<f64>| {
                let mut table = table.clone();
                let allowed = table.log.plane_mut(0).iter_mut().filter(|w| **w > -FORBIDDEN / 2.0);
                allowed.for_each(|w| *w /= temperature);
                table.update();
                table
            };
            self.free = Arc::new(self.raw.iter().map(cooled).collect());
        }
        self.temperature = temperature;
        let rules = self.rules.take();
        self.obey(rules);
        self
    }

    /// Imposes rules on all chains from now on, or none. All answers are then those given that the labelling obeys the rules.
    #[doc(hidden)]
    pub fn obey(&mut self, rules: Option<Arc<LabelRules>>) {
        self.shared = match &rules {
            Some(rules) => Arc::new(rules.imposed_on(&self.free)),
            None => self.free.clone(),
        };
        self.sums = SharedSum::new(&self.shared);
        (self.log_z, self.pairs.ready, self.by_pairs) = (None, false, None);
        // The model's own rules hold besides.
        self.rules = self.shared[PAIR].rules.clone();
        self.always = always(&self.shared);
    }

    /// The rules on chains, if there are any.
    #[doc(hidden)]
    pub fn rules(&self) -> Option<&Arc<LabelRules>> {
        self.rules.as_ref()
    }

    /// Allows only these labels at these positions of the current chain, for all answers. Must be called after
    /// [`ChainAnswers::finish`]. It is an error if no labelling is left; `place` is where the chain was read.
    pub fn allow(&mut self, allowed: &[(usize, LabelBits)], place: impl FnOnce() -> Place) -> Result<()> {
        (self.log_z, self.masked, self.pairs.ready) = (None, true, false);
        let mut sets: Vec<Option<LabelBits>> = vec![None; self.chain.len];
        for (t, labels) in allowed {
            match &mut sets[*t] {
                Some(set) => set.meet(labels),
                none => *none = Some(labels.clone()),
            }
            allow_only(&self.chain, &mut self.own, *t, labels);
        }
        let free;
        let rules = match &self.rules {
            Some(rules) => rules,
            None => {
                free = Arc::new(LabelRules::new(self.chain.labels));
                &free
            }
        };
        let possible = rules.possible(self.chain.len, |t| sets[t].as_ref());
        match possible && !self.is_impossible_by_length() {
            true => self.find_once(place),
            false => Err(impossible(place())),
        }
    }

    /// Begins the next chain and returns its own tables, empty, for the caller to fill.
    #[doc(hidden)]
    pub fn start(&mut self, chain: Chain) -> &mut [f64] {
        self.chain = chain;
        (self.log_z, self.masked, self.pairs.ready) = (None, false, false);
        self.own.reserve(chain.own_len());
        let own = &mut self.own.plane_mut(0)[..chain.own_len()];
        chain.clear_own(own);
        own
    }

    /// Must be called once the tables are filled. If the model is normalised label by label, this normalises them. It is an error if no
    /// labelling obeys the rules; `place` is where the chain was read.
    #[doc(hidden)]
    pub fn finish(&mut self, place: impl FnOnce() -> Place) -> Result<()> {
        if let Some(memm) = self.local {
            self.make_pairs();
            memm.localise(&self.chain, &self.raw, &mut self.own, &mut self.memm);
        }
        if self.temperature != 1.0 {
            let own = &mut self.own.plane_mut(0)[..self.chain.own_len()];
            own.iter_mut().for_each(|w| *w /= self.temperature);
        }
        let possible = match self.rules.clone() {
            Some(rules) if self.chain.len < self.always => {
                rules.possible(self.chain.len, |_| None) && !self.is_impossible_by_length()
            }
            _ => true,
        };
        if possible { self.find_once(place) } else { Err(impossible(place())) }
    }

    /// Gives the pairs of a second-order chain own tables of zeros, if they have none: normalisers are subtracted there.
    fn make_pairs(&mut self) {
        if self.chain.triples && !self.chain.own_pairs {
            let rows = self.chain.own_len();
            self.chain.own_pairs = true;
            self.own.reserve(self.chain.own_len());
            self.chain.clear_own(&mut self.own.plane_mut(0)[rows..self.chain.own_len()]);
        }
    }

    /// Whether every labelling that obeys the rules has a segment that is too long.
    fn is_impossible_by_length(&mut self) -> bool {
        let psi = Psi { shared: &self.shared, own: &self.own };
        self.chain.segments.is_some()
            && Viterbi.argmax(&self.chain, psi, &mut self.labels, &mut self.viterbi) < -FORBIDDEN / 2.0
    }

    /// The shared tables.
    #[doc(hidden)]
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
        if self.once.is_some() {
            return &self.best_once;
        }
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
    #[doc(hidden)]
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

    /// P(labelling | sequence).
    pub fn probability(&mut self, labels: &[Label]) -> f64 {
        self.log_probability(labels).exp()
    }

    /// ln P(labelling | sequence); −∞ for a labelling that is forbidden.
    pub fn log_probability(&mut self, labels: &[Label]) -> f64 {
        let log_z = self.log_z();
        let score = self.psi().score(&self.chain, labels);
        let once = self.once.as_ref().is_none_or(|once| once.is_satisfied_by(labels));
        // No labelling is more probable than all of them; with enormous weights rounding may say so.
        if self.forbids(score) || !once { f64::NEG_INFINITY } else { (score - log_z).min(0.0) }
    }

    /// Whether a labelling with this score is forbidden.
    pub(super) fn forbids(&self, score: f64) -> bool {
        (self.rules.is_some() || self.masked || self.chain.triples) && score < -FORBIDDEN / 2.0
    }

    /// log Z. Forward-backward runs only once per chain.
    pub fn log_z(&mut self) -> f64 {
        if let Some(log_z) = self.log_z {
            return log_z;
        }
        let len = self.chain.own_len();
        self.marginals.reserve(len);
        self.sums.clear(&self.shared);
        if self.once.is_some() {
            let (own, mut marginals) = (std::mem::take(&mut self.own), std::mem::take(&mut self.marginals));
            let log_z = self.once_log_z(&self.chain.clone(), &own, marginals.plane_mut(0));
            (self.own, self.marginals) = (own, marginals);
            if let Some(log_z) = log_z {
                self.log_z = Some(log_z);
                return log_z;
            }
        }
        let psi = Psi { shared: &self.shared, own: &self.own };
        let mut out = Gradient { own: self.marginals.slice_mut(0..len), shared: &mut self.sums };
        let outcome = ForwardBackward.log_z(&self.chain, psi, 1.0, &mut out, &mut self.inference);
        self.log_z = Some(outcome.log_z);
        outcome.log_z
    }
}

/// The length from which on every chain has a labelling that the tables allow.
fn always(shared: &Shared<f64>) -> usize {
    let Some(rules) = &shared[PAIR].rules else { return 0 };
    // Segments of one token are never too long.
    let segments = shared.get(LENGTH).and_then(|table| table.segments.as_ref());
    let always = segments.map_or_else(|| rules.always(), |segments| segments.singles_of(rules).always());
    always.unwrap_or(usize::MAX)
}

pub(super) fn impossible(place: Place) -> Error {
    Error::input(
        place,
        "no labelling of this sequence obeys the constraint: allow more labels at its tokens, or label it without the constraint",
    )
}

impl Answers for ChainAnswers {
    type Graph = Chain;

    fn load(&mut self, chain: &Chain, place: Place, fill: &mut dyn FnMut(&mut Array<f64>)) -> Result<()> {
        self.start(*chain);
        fill(&mut self.own);
        self.finish(|| place)
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

    fn score(&self, labels: &[Label]) -> f64 {
        self.psi().score(&self.chain, labels)
    }

    fn forbid(&mut self, variable: usize, label: Label) -> bool {
        (self.log_z, self.masked, self.pairs.ready) = (None, true, false);
        self.own.set(variable * self.chain.stride() + label as usize, -FORBIDDEN);
        // If nothing is possible any more, the score of the labels says so.
        let _ = self.find_once(|| Place::new("input", 0));
        true
    }

    fn allow(&mut self, allowed: &[(usize, LabelBits)]) -> Result<()> {
        match allowed.is_empty() {
            true => Ok(()),
            false => ChainAnswers::allow(self, allowed, || Place::new("input", 0)),
        }
    }

    fn obey(&mut self, rules: Option<Arc<LabelRules>>) {
        ChainAnswers::obey(self, rules);
    }

    fn converged(&self) -> Option<bool> {
        None
    }
}
