//! Labelling inputs with a model of any kind.

mod judgement;

pub use judgement::{Accuracy, Judgement, Truth};

use crate::answers::{Answers, ChainAnswers};
use crate::decode::{Decode, Ranked};
use crate::eval::{Calibration, ChunkLabels, Scores};
use crate::graph::{Graph, Label};
use crate::infer::Engine;
use crate::model::LabelSet;
use crate::{Place, Result};
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// A model that labels inputs: one with weights, or one made from counts.
pub trait Labeller: Debug + Send + Sync + 'static {
    /// One example, as it is read.
    type Input: Debug + Send;
    /// Working memory for loading an input.
    type Scratch: Default + Debug + Send;
    /// Tables computed from the model once, for all workers.
    type Tables: Debug + Send + Sync;
    /// The type that answers questions about an input.
    type Answers: Answers + Debug + Send;

    /// The decoder that is used unless another one is asked for.
    fn decode(&self) -> Decode;
    /// Computes the tables that all workers share.
    #[doc(hidden)]
    fn ready(&self) -> Self::Tables;
    /// The answers of a worker, with no input loaded yet. Marginals come from `engine`, or by default from the engine
    /// that the model was trained with.
    fn answers(&self, tables: &Self::Tables, engine: Option<Engine>) -> Self::Answers;
    /// Loads an input.
    fn load(
        &self,
        tables: &Self::Tables,
        input: &Self::Input,
        scratch: &mut Self::Scratch,
        answers: &mut Self::Answers,
    ) -> Result<()>;
    /// The label sets.
    #[doc(hidden)]
    fn label_sets(&self) -> Vec<LabelSet<'_>>;
    /// The label set of a variable.
    #[doc(hidden)]
    fn label_set_of(&self, graph: &<Self::Answers as Answers>::Graph, variable: usize) -> usize;
    /// How many consecutive variables form a group whose labels should all be correct; 0 for the whole graph.
    #[doc(hidden)]
    fn group(&self) -> usize;
    /// The gold labels of an input. It is an error if it has none.
    #[doc(hidden)]
    fn truth<'a>(&'a self, input: &'a Self::Input) -> Result<Truth<'a>>;
    /// The place where an input was read.
    fn place(input: &Self::Input) -> Place;
    /// The scores by which models are compared.
    fn scores(&self, judgement: &Judgement) -> Scores;
}

/// A worker that labels inputs. It owns its working memory, so make one per thread, all from one shared model. First
/// load an input with [`Tagger::load`]; the other methods then answer questions about it.
#[derive(Debug)]
pub struct Tagger<M: Labeller> {
    model: Arc<M>,
    tables: Arc<M::Tables>,
    engine: Option<Engine>,
    scratch: M::Scratch,
    answers: M::Answers,
    /// Whether gold labels may be missing, or one of several.
    partial: bool,
}

impl<M: Labeller> Tagger<M> {
    /// A worker for `model`.
    pub fn new(model: Arc<M>) -> Self {
        Tagger::with_engine(model, None)
    }

    /// A worker that computes marginals by `engine` instead of the one that the model was trained with.
    pub fn with_engine(model: Arc<M>, engine: impl Into<Option<Engine>>) -> Self {
        let tables = Arc::new(model.ready());
        Tagger::with_tables(model, tables, engine.into())
    }

    pub(crate) fn with_tables(model: Arc<M>, tables: Arc<M::Tables>, engine: Option<Engine>) -> Self {
        let answers = model.answers(&tables, engine);
        Tagger { model, tables, engine, scratch: M::Scratch::default(), answers, partial: false }
    }

    /// The same worker, for comparisons with data in which labels may be missing: variables with `?` or with one of several labels (`A|B`)
    /// have no gold label.
    pub fn with_partial_labels(self) -> Self {
        Tagger { partial: true, ..self }
    }

    /// Another worker for the same model. The tables are shared, not computed again.
    pub fn fork(&self) -> Self {
        let fork = Tagger::with_tables(self.model.clone(), self.tables.clone(), self.engine);
        Tagger { partial: self.partial, ..fork }
    }

    /// Several workers for the same model: `workers` of them, at least one.
    #[doc(hidden)]
    pub fn crew(self, workers: usize) -> Vec<Self> {
        let mut crew: Vec<Self> = (1..workers).map(|_| self.fork()).collect();
        crew.push(self);
        crew
    }

    /// The model.
    pub fn model(&self) -> &Arc<M> {
        &self.model
    }

    /// Loads an input and returns the answers about it.
    pub fn load(&mut self, input: &M::Input) -> Result<&mut M::Answers> {
        self.with_parts(|model, tables, scratch, answers| model.load(tables, input, scratch, answers))
    }

    /// Loads an input by means of a closure.
    pub(crate) fn with_parts(
        &mut self,
        load: impl FnOnce(&M, &M::Tables, &mut M::Scratch, &mut M::Answers) -> Result<()>,
    ) -> Result<&mut M::Answers> {
        load(&self.model, &self.tables, &mut self.scratch, &mut self.answers)?;
        Ok(&mut self.answers)
    }

    /// The working memory for loading inputs.
    pub(crate) fn scratch(&self) -> &M::Scratch {
        &self.scratch
    }

    /// The answers about the current input.
    pub fn answers(&mut self) -> &mut M::Answers {
        &mut self.answers
    }

    /// The labels of the current input.
    pub fn labels(&mut self, decode: Decode) -> Result<&[Label]> {
        self.answers.labels(decode)
    }

    /// Whether iterative inference converged; `None` if no answer about this input has needed it.
    pub fn converged(&self) -> Option<bool> {
        self.answers.converged()
    }

    /// Number of variables of the current input.
    pub fn variables(&self) -> usize {
        self.answers.graph().vars()
    }

    /// The sum over the variables of −Σ p ln p, p being the probabilities of a variable's labels, in nats.
    pub fn label_entropy(&mut self) -> Result<f64> {
        let mut sum = 0.0;
        for v in 0..self.variables() {
            for label in 0..self.answers.graph().card(v) as Label {
                let p = self.answers.probability_of(v, label)?;
                sum += if p > 0.0 { -p * p.ln() } else { 0.0 };
            }
        }
        Ok(sum.max(0.0))
    }

    /// The gold labels of an input of `model`, which is this worker's model. It is an error if it has none.
    #[doc(hidden)]
    pub fn truth<'a>(&self, model: &'a M, input: &'a M::Input) -> Result<Truth<'a>> {
        let truth = model.truth(input)?;
        Ok(if self.partial { truth.without_partial() } else { truth })
    }

    /// Labels an input, compares the result with its gold labels, and returns the predicted labels.
    pub fn judge(
        &mut self,
        input: &M::Input,
        decode: Decode,
        judgement: &mut Judgement,
    ) -> Result<Vec<Label>> {
        let model = self.model.clone();
        let truth = self.truth(&model, input)?;
        self.load(input)?;
        let labels = self.answers.labels(decode)?.to_vec();
        let graph = self.answers.graph();
        judgement.add(&model.label_sets(), |v| model.label_set_of(graph, v), model.group(), &truth, &labels);
        Ok(labels)
    }

    /// Adds the labels of the current input to a reliability table: each label's probability, and whether it is right. Variables without
    /// a gold label do not count.
    pub fn calibrate(
        &mut self,
        input: &M::Input,
        labels: &[Label],
        calibration: &mut Calibration,
    ) -> Result<()> {
        let model = self.model.clone();
        let (truth, sets) = (self.truth(&model, input)?, model.label_sets());
        for (v, &label) in labels.iter().enumerate() {
            let Some(gold) = &truth.labels[v] else { continue };
            let set = model.label_set_of(self.answers.graph(), v);
            calibration
                .add(self.answers.probability_of(v, label)?, sets[set].labels[label as usize] == **gold);
        }
        Ok(())
    }
}

/// P(`tokens` are exactly a chunk of type `kind` | sequence), over all labellings that have it.
#[doc(hidden)]
pub fn chunk_probability(
    answers: &mut ChainAnswers,
    labels: &ChunkLabels,
    tokens: Range<usize>,
    kind: &str,
) -> f64 {
    let number = |label: Option<Label>| label.map(|label| label as usize);
    answers.probability_where(tokens.clone(), |t, before, after| {
        labels.fits((&tokens, kind), t, number(before), number(after))
    })
}

/// The questions that can be asked about chains, with any model.
impl<M: Labeller<Answers = ChainAnswers>> Tagger<M> {
    /// Number of tokens of the sequence.
    pub fn len(&self) -> usize {
        self.answers.chain().len
    }

    /// Whether the sequence is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The best labelling (Viterbi).
    pub fn viterbi(&mut self) -> &[Label] {
        self.answers.viterbi()
    }

    /// The most probable label of every token.
    pub fn max_marginal(&mut self) -> &[Label] {
        self.answers.max_marginal()
    }

    /// P(label of the token | sequence).
    pub fn marginal(&mut self, token: usize, label: Label) -> f64 {
        self.answers.marginal(token, label)
    }

    /// The `n` best labellings with their scores, best first; see [`ChainAnswers::nbest`].
    pub fn nbest(&mut self, n: usize) -> Result<Vec<Ranked>> {
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

    /// P(the tokens from `start` on have these labels | sequence).
    pub fn span_probability(&mut self, start: usize, labels: &[Label]) -> f64 {
        self.answers.span_probability(start, labels)
    }

    /// P(`tokens` are exactly a chunk of type `kind` | sequence), over all labellings that have it.
    pub fn chunk_probability(&mut self, labels: &ChunkLabels, tokens: Range<usize>, kind: &str) -> f64 {
        chunk_probability(&mut self.answers, labels, tokens, kind)
    }

    /// The entropy of the labelling, in nats; see [`ChainAnswers::entropy`].
    pub fn entropy(&mut self) -> f64 {
        self.answers.entropy()
    }

    /// The lead of the best labelling over the second best; see [`ChainAnswers::margin`].
    pub fn margin(&mut self) -> Result<f64> {
        self.answers.margin()
    }

    /// ln P(labelling | sequence). It also works for long sequences, whose probability is too small for an `f64`.
    pub fn log_probability(&mut self, labels: &[Label]) -> f64 {
        self.answers.log_probability(labels)
    }
}
