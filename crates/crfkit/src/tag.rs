//! Applying a model to sequences.

use crate::answers::Answers;
use crate::data::attributes::Attributes;
use crate::data::columns::Columns;
use crate::data::observer::{Observer, Sink, Source};
use crate::decode::{Direction, MemmViterbi, Ranked};
use crate::graph::{Chain, Graph, Label, NODES, Shared};
use crate::model::{Dense, Features, Model};
use crate::{Error, Place, Result};
use std::sync::Arc;

/// A worker that labels sequences. It owns its scratch memory: make one a thread, from one shared [`Model`]. After
/// [`Tagger::columns`] or [`Tagger::attributes`] has taken in a sequence, the other methods answer questions about it.
#[derive(Debug)]
pub struct Tagger {
    model: Arc<Model>,
    dense: Arc<Dense>,
    observer: Observer,
    answers: Answers,
    /// For models that are normalised label by label.
    memm: Option<MemmViterbi>,
}

/// From which side the model is normalised when it labels; `None` for models of whole labellings.
fn direction(model: &Model) -> Option<Direction> {
    match model.settings.get("objective")?.as_str()? {
        "memm" => Some(Direction::Forward),
        "memm-backward" => Some(Direction::Backward),
        _ => None,
    }
}

/// Adds the weights of each observation straight to the log-potentials.
struct Potentials<'a> {
    features: &'a Features,
    weights: &'a [f64],
    dense: &'a Dense,
    chain: Chain,
    own: &'a mut [f64],
    table: usize,
}

impl Sink for Potentials<'_> {
    fn table(&mut self, ids: &[u32], values: &[f64]) {
        // A model whose pair observations have all lost their weights has no tables for them.
        if self.table >= self.chain.own_tables() {
            return;
        }
        let rows = &self.features.rows[self.chain.own_kind(self.table)];
        let own = &mut self.own[self.chain.own_offset(self.table)..];
        let mut first = 0; // rows below this are done
        if values.is_empty() && self.chain.own_kind(self.table) == NODES {
            self.dense.add(0, ids, &mut own[..self.chain.stride()]);
            first = self.dense.rows();
        }
        for (k, &id) in ids.iter().enumerate().filter(|&(_, &id)| id >= first) {
            rows.gather(self.weights, id, values.get(k).copied().unwrap_or(1.0), own);
        }
        self.table += 1;
    }
}

impl Tagger {
    /// A worker for `model`.
    pub fn new(model: Arc<Model>) -> Self {
        /// Bytes of spread-out rows: they should stay in the second-level cache.
        const DENSE_BYTES: usize = 1 << 20;
        let shared = Arc::new(model.tables());
        let mut dense = Dense::default();
        let rows = &model.features.rows[NODES];
        dense.spread(rows, Dense::fitting(rows, DENSE_BYTES), &[&model.weights], |tables, size, task| {
            tables.chunks_mut(size).enumerate().for_each(|(k, tables)| task(k, tables));
        });
        Tagger::with(model, shared, Arc::new(dense))
    }

    /// Another worker for the same model, without making its tables again.
    pub fn another(&self) -> Self {
        Tagger::with(self.model.clone(), self.answers.shared().clone(), self.dense.clone())
    }

    fn with(model: Arc<Model>, shared: Arc<Shared<f64>>, dense: Arc<Dense>) -> Self {
        let memm = direction(&model).map(MemmViterbi);
        Tagger { model, dense, observer: Observer::default(), answers: Answers::new(shared), memm }
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Empty log-potentials for a sequence of `len` positions, and who fills them.
    fn start<'a>(&'a mut self, model: &'a Model, len: usize) -> (Potentials<'a>, &'a mut Observer) {
        let chain = model.chain(len);
        let own = self.answers.start(chain);
        let (features, weights, dense) = (&model.features, &model.weights[..], &*self.dense);
        (Potentials { features, weights, dense, chain, own, table: 0 }, &mut self.observer)
    }

    /// Takes in a sequence of columns. It must have at least the columns that the templates use.
    pub fn columns(&mut self, sequence: &Columns) -> Result<()> {
        let model = self.model.clone();
        let Source::Templates(templates) = &model.source else {
            return Err(Error::Setting(
                "this model was trained on attribute lines: use --format attributes".into(),
            ));
        };
        if !sequence.is_empty() && sequence.columns() < templates.columns_needed {
            let message = format!(
                "{} columns, but the model's templates use {}: give all columns that the training data had before the label",
                sequence.columns(),
                templates.columns_needed
            );
            return Err(Error::input(sequence.place(0), message));
        }
        let (mut sink, observer) = self.start(&model, sequence.len());
        observer.columns(templates, sequence, &model.alphabet, &mut sink);
        self.localise();
        Ok(())
    }

    /// Takes in an instance of attributes.
    pub fn attributes(&mut self, instance: &Attributes) -> Result<()> {
        let model = self.model.clone();
        if let Source::Templates(_) = &model.source {
            let place = if instance.is_empty() { Place::new("input", 0) } else { instance.place(0) };
            return Err(Error::input(place, "this model was trained on columns: use --format columns"));
        }
        let (mut sink, observer) = self.start(&model, instance.len());
        observer.attributes(instance, &model.alphabet, &mut sink);
        self.localise();
        Ok(())
    }

    /// Turns the log-potentials into those of a locally normalised chain, for models that are trained that way.
    fn localise(&mut self) {
        if let Some(memm) = self.memm {
            self.answers.localise(memm);
        }
    }

    /// Number of positions of the sequence.
    pub fn len(&self) -> usize {
        self.answers.chain().len
    }

    /// Is the sequence empty?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sequence's log-potentials: everything that can be asked about any chain.
    pub fn answers(&mut self) -> &mut Answers {
        &mut self.answers
    }

    /// The best labelling (Viterbi).
    pub fn viterbi(&mut self) -> &[Label] {
        self.answers.viterbi()
    }

    /// The most probable label of every position.
    pub fn max_marginal(&mut self) -> &[Label] {
        self.answers.max_marginal()
    }

    /// P(label at `position` | sequence).
    pub fn marginal(&mut self, position: usize, label: Label) -> f64 {
        self.answers.marginal(position, label)
    }

    /// The `n` best labellings with their scores, best first.
    pub fn nbest(&mut self, n: usize) -> Vec<Ranked> {
        self.answers.nbest(n)
    }

    /// log Z of the sequence.
    pub fn log_z(&mut self) -> f64 {
        self.answers.log_z()
    }

    /// P(labelling | sequence).
    pub fn probability(&mut self, labels: &[Label]) -> f64 {
        self.answers.probability(labels)
    }

    /// ln P(labelling | sequence): also of long sequences, whose probability is too small for a number.
    pub fn log_probability(&mut self, labels: &[Label]) -> f64 {
        self.answers.log_probability(labels)
    }
}
