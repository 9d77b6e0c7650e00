//! Training in one pass over a stream: each sequence is used once and then forgotten.

use super::{Criterion, Init, Kind, Method, PriorMean, Settings};
use crate::data::attributes::Attributes;
use crate::data::columns::Columns;
use crate::data::dataset::Dataset;
use crate::data::observer::Source;
use crate::data::sorting::sorted_labels;
use crate::domain::chain::{ChainModel, CorpusBuilder, Sequence};
use crate::domain::too_many_labels;
use crate::graph::{Chain, Graph, Label, NODES, PAIRS, TableRef};
use crate::infer::ForwardBackward;
use crate::loss::Likelihood;
use crate::model::{Features, Keep};
use crate::optim::{PsaStream, Updates};
use crate::risk::Risk;
use crate::{Error, Result};
use std::sync::Arc;

/// With more labels than this, some tokens must repeat a label that occurred before; see [`SELDOM`].
const MANY_LABELS: usize = 1024;

/// For this many labels, at least one token must repeat an earlier label. Real labels repeat far more often: even if all of the 8192 labels that
/// training accepts were equally frequent, about 64 tokens would have repeated one by the time that 1024 labels have occurred.
const SELDOM: u64 = 32;

/// A loss of this many times the loss at zero weights shows that the steps were too long.
const DIVERGED: f64 = 2.0;

/// Trains a chain with PSA, one sequence after the other. The alphabets of labels and observations, and with them the
/// weights, grow as new ones arrive. Memory depends on the number of different features, never on the number of
/// sequences.
///
/// Every observation has a row of weights, one for each known label. Rows are laid out with room to spare. When the
/// room is used up, or a new label arrives, all weights move to a layout of twice the size. With [`Keep::Observed`] a
/// weight stays 0 until its observation and its label have occurred together.
pub struct StreamTrainer {
    settings: Settings,
    /// Number of sequences in the whole stream, if known.
    examples: Option<u64>,
    builder: CorpusBuilder,
    risk: Risk<Chain>,
    /// The feature layout of `risk`, with room to spare.
    features: Arc<Features>,
    psa: PsaStream,
    batch: usize,
    /// Which weights may move; empty if all may.
    seen: Vec<bool>,
    /// Examples that have been used. They are kept only so that their memory can be reused.
    spent: Dataset<Chain>,
    /// Sum of the losses of weights of zero.
    uniform: f64,
    progress: StreamProgress,
}

/// How far a stream has got.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamProgress {
    /// Sequences so far.
    pub sequences: u64,
    /// Tokens so far.
    pub tokens: u64,
    /// Labels so far.
    pub labels: usize,
    /// Observations so far.
    pub observations: usize,
    /// Sum of the losses, each at the weights before its own step.
    pub loss: f64,
}

impl StreamTrainer {
    /// A trainer that has seen nothing yet. `examples` is the number of sequences in the whole stream, if known: it decides the share of the
    /// prior in each step.
    pub fn new(source: Source, settings: &Settings, examples: Option<u64>) -> Result<Self> {
        Self::check(settings)?;
        let method = settings.psa();
        let features = Arc::new(layout(settings, &source, 0, [0, 0]));
        let prior = settings.prior(&features, Vec::new());
        let risk = Risk::new(Likelihood(ForwardBackward), features.clone(), Dataset::new(), 1)?;
        Ok(StreamTrainer {
            batch: method.schedule.batch,
            psa: PsaStream::new(&method, prior, examples)?,
            settings: Settings { compute: settings.numbers(Kind::Chain), ..settings.clone() },
            examples,
            builder: CorpusBuilder::new(source),
            risk,
            features,
            seen: Vec::new(),
            spent: Dataset::new(),
            uniform: 0.0,
            progress: StreamProgress::default(),
        })
    }

    /// Rejects settings that training on a stream does not support, before any work starts.
    pub fn check(settings: &Settings) -> Result<()> {
        settings.check(Kind::Chain)?;
        let refused = [
            (settings.optimizer != Method::Psa, "only `optimizer` psa works"),
            (settings.objective != Criterion::Likelihood, "only `objective` likelihood works"),
            (
                settings.min_count > 1,
                "how often an observation will occur is not known: leave `min_count` out",
            ),
            (settings.passes.is_some_and(|passes| passes > 1), "there is one pass: leave `passes` out"),
            (
                settings.prior_mean != PriorMean::Value(0.0),
                "new weights begin at the prior's mean, which must be 0",
            ),
            (settings.choose.any(), "there is one pass: give numbers for `sigma` and `l1`"),
            (settings.order != 1, "which label pairs occur is not known: use `order` 1"),
            (settings.segments.is_some(), "the segments of the data are not known: leave `segments` out"),
            (settings.init != Init::Zero, "new weights begin at 0: leave `init` out"),
            (
                settings.parameters.updates == Some(Updates::Dense),
                "a step must not cost the number of weights: leave `updates` out",
            ),
        ];
        match refused.iter().find(|(wrong, _)| *wrong) {
            Some((_, why)) => Err(Error::Setting(format!("in a stream, {why}"))),
            None => Ok(()),
        }
    }

    /// Learns from a sequence in either format.
    pub fn add(&mut self, sequence: &Sequence) -> Result<()> {
        let before = self.builder.len();
        self.builder.add(sequence)?;
        self.check_dense_columns()?;
        self.added(sequence.len(), before)
    }

    fn check_dense_columns(&self) -> Result<()> {
        self.settings.objective.check_weights(self.builder.weighs_tokens())?;
        match self.builder.has_numbers() {
            true => Err(Error::Setting(
                "in a stream, tokens have no vectors: train on all data, or give named features".into(),
            )),
            false => Ok(()),
        }
    }

    /// Learns from a column sequence; see [`CorpusBuilder::add_columns`].
    pub fn add_columns(&mut self, sequence: &Columns, label_column: usize) -> Result<()> {
        let before = self.builder.len();
        self.builder.add_columns(sequence, label_column)?;
        self.check_dense_columns()?;
        self.added(sequence.len(), before)
    }

    /// Learns from an attribute instance.
    pub fn add_attributes(&mut self, instance: &Attributes) -> Result<()> {
        let before = self.builder.len();
        self.builder.add_attributes(instance)?;
        self.check_dense_columns()?;
        self.added(instance.len(), before)
    }

    /// How far training has got.
    pub fn progress(&self) -> StreamProgress {
        let alphabet = self.builder.alphabet();
        StreamProgress {
            labels: self.builder.labels().len(),
            observations: alphabet.node.len() + alphabet.pair.len(),
            ..self.progress
        }
    }

    /// Counts a sequence of `tokens` tokens, and makes a step if the batch is full. `before` is how many sequences the builder held before this
    /// one; if the number is the same, the sequence had weight 0 and does not count.
    fn added(&mut self, tokens: usize, before: usize) -> Result<()> {
        if self.builder.len() == before {
            return Ok(());
        }
        self.progress.sequences += 1;
        self.progress.tokens += tokens as u64;
        self.check_labels()?;
        self.builder.alphabet().check_room()?;
        if self.builder.len() < self.batch { Ok(()) } else { self.step() }
    }

    /// Rejects data with words or numbers in place of labels. The limit on labels is that of other training, but reaching it would take minutes,
    /// because every new label moves all weights. So many labels that hardly ever repeat are rejected earlier.
    fn check_labels(&self) -> Result<()> {
        let (labels, tokens) = (self.builder.labels(), self.progress.tokens);
        let again = tokens.saturating_sub(labels.len() as u64);
        match labels.len() > MANY_LABELS && again < labels.len() as u64 / SELDOM {
            true => Err(too_many_labels(labels, self.builder.label_column(), &format!("in {tokens} tokens"))),
            false => self.builder.check_labels(),
        }
    }

    fn step(&mut self) -> Result<()> {
        self.make_room()?;
        let batch = self.builder.take_examples(std::mem::replace(&mut self.spent, Dataset::new()));
        self.spent = self.risk.replace_data(batch);
        let seen = &mut self.seen;
        if self.settings.features == Keep::Observed {
            mark_seen(&self.features, self.risk.data(), seen);
        }
        let labels = self.builder.labels().len() as f64;
        let data = self.risk.data();
        let tokens = |e: usize| data.weight(e) * data.gold(e).len() as f64;
        self.uniform += (0..data.len()).map(tokens).sum::<f64>() * labels.ln();
        self.progress.loss += self.psa.step(&self.risk, |i| seen.get(i).is_none_or(|seen| *seen))?;
        Ok(())
    }

    /// Moves all weights to a larger layout if there is no room for the labels or observations.
    fn make_room(&mut self) -> Result<()> {
        let (alphabet, labels) = (self.builder.alphabet(), self.builder.labels().len());
        let needed = [alphabet.node.len(), alphabet.pair.len()];
        let rows = [NODES, PAIRS].map(|kind| self.features.rows[kind].len);
        if labels == self.features.rows[NODES].columns && needed.iter().zip(rows).all(|(n, rows)| *n <= rows)
        {
            return Ok(());
        }
        let room =
            [NODES, PAIRS].map(|kind| if needed[kind] <= rows[kind] { rows[kind] } else { 2 * needed[kind] });
        let features = layout(&self.settings, self.builder.source(), labels, room);
        let names: Vec<Label> = (0..labels as Label).collect();
        self.move_to(features, &names)
    }

    /// Moves all weights to another layout, in which the old label l has the number `labels[l]`.
    fn move_to(&mut self, features: Features, labels: &[Label]) -> Result<()> {
        let prior = self.settings.prior(&features, Vec::new());
        self.psa.grow(prior, |x, fresh| relocate(&self.features, &features, labels, x, fresh));
        if self.settings.features == Keep::Observed {
            self.seen = relocate(&self.features, &features, labels, &self.seen, false);
        }
        self.features = Arc::new(features);
        self.risk = Risk::new(Likelihood(ForwardBackward), self.features.clone(), Dataset::new(), 1)?;
        Ok(())
    }

    /// Ends training and returns the model of all sequences so far.
    pub fn finish(mut self) -> Result<StreamModel> {
        if self.progress.sequences == 0 {
            return Err(Error::Setting("the training data holds no sequence".into()));
        }
        if !self.builder.is_empty() {
            self.step()?;
        }
        let (labels, order) = sorted_labels(self.builder.labels());
        let alphabet = self.builder.alphabet();
        let used = [alphabet.node.len(), alphabet.pair.len()];
        self.move_to(layout(&self.settings, self.builder.source(), labels.len(), used), &order)?;
        let progress = self.progress();
        let weights = self.psa.theta().to_vec();
        let (objective, zero) = (progress.loss + self.psa.penalty(), self.uniform);
        if objective.is_nan() || objective > DIVERGED * zero && zero > 0.0 {
            let prior = self.settings.prior(&self.features, Vec::new());
            let advice = prior.advice("use a smaller step (`eta0`) or a smaller `sigma`");
            let message =
                format!("the objective is {objective:.6e}, but {zero:.6e} at weights of zero; {advice}");
            return Err(Error::Diverged { passes: 1.0, message });
        }
        let settings =
            Settings { stream: Some(progress.sequences), examples: self.examples, ..self.settings.clone() };
        let domain = self.builder.into_domain(labels);
        drop(self.risk);
        let trained = self.features.dim();
        let mut model = ChainModel { domain, features: self.features, weights: weights.into(), settings };
        if self.settings.features == Keep::Observed {
            model = model.compact();
        }
        Ok(StreamModel { model, progress, objective, features: trained })
    }
}

/// The result of training on a stream.
#[derive(Clone, Debug)]
pub struct StreamModel {
    /// The trained model.
    pub model: ChainModel,
    /// How much of the stream was seen.
    pub progress: StreamProgress,
    /// Sum of the losses, each at the weights before its own step, plus the penalty of the last weights.
    pub objective: f64,
    /// Number of weights in training, zeros included.
    pub features: usize,
}

/// A feature layout in which each of `rows` node and pair observations has all labels.
fn layout(settings: &Settings, source: &Source, labels: usize, rows: [usize; 2]) -> Features {
    let none = Dataset::new();
    Features::chain(&none, labels, rows, Keep::All, source.label_bigram(), settings.boundaries)
}

/// Moves a vector over the weights of one layout into the order of another, in which the old label l has the number
/// `labels[l]`. Weights that the old layout does not have become `fresh`.
fn relocate<T: Copy>(old: &Features, new: &Features, labels: &[Label], x: &[T], fresh: T) -> Vec<T> {
    let mut moved = vec![fresh; new.dim()];
    let mut block = |lines: usize, columns: [usize; 2], from: usize, to: usize| {
        for line in 0..lines {
            let new_line = if lines == 1 { 0 } else { labels[line] as usize };
            let start = from + line * columns[0];
            for (label, &x) in x[start..start + columns[0]].iter().enumerate() {
                moved[to + new_line * columns[1] + labels[label] as usize] = x;
            }
        }
    };
    for (old, new) in old.rows.iter().zip(&new.rows) {
        for row in 0..old.len.min(new.len) as u32 {
            block(old.lines, [old.columns, new.columns], old.range(row).start, new.range(row).start);
        }
    }
    for (old, new) in old.tables.iter().zip(&new.tables).filter(|(old, _)| !old.entry.is_empty()) {
        block(old.lines, [old.columns, new.columns], old.base, new.base);
    }
    moved
}

/// Marks the weights whose observation and label, or label pair, occur together in `data`.
fn mark_seen(features: &Features, data: &Dataset<Chain>, seen: &mut [bool]) {
    let mut entry = Vec::new();
    for example in 0..data.len() {
        let (chain, gold) = (data.graph(example), data.gold(example));
        // Entries of complete tables, without their padding.
        let dense = |entry: usize| entry / chain.stride() * chain.labels + entry % chain.stride();
        entry.clear();
        entry.resize(chain.own_len(), 0);
        chain.for_each_factor(|factor| match factor.table {
            TableRef::Own(offset) => entry[offset] = dense(factor.entry(gold)),
            TableRef::Shared(id) if features.tables[id].entry.is_empty() => {}
            TableRef::Shared(id) => seen[features.tables[id].base + dense(factor.entry(gold))] = true,
        });
        for (f, table) in data.tables(example).enumerate() {
            let (rows, entry) = (&features.rows[chain.own_kind(f)], entry[chain.own_offset(f)]);
            for &id in data.observations(table).0 {
                seen[rows.range(id).start + entry] = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::attributes::AttributeReader;
    use crate::data::text::{Encoding, Lines};
    use crate::math::random::Random;

    /// Adds sequences with labels of these numbers, without steps.
    fn add_labels(mut number: impl FnMut() -> usize) -> Result<()> {
        let settings = Settings { optimizer: Method::Psa, ..Settings::default() };
        let mut trainer = StreamTrainer::new(Source::Attributes, &settings, None)?;
        trainer.batch = usize::MAX;
        for _ in 0..200 {
            let text: String = (0..20).map(|_| format!("{}\tx\n", number())).collect();
            let mut reader = AttributeReader::new(Lines::new(text.as_bytes(), "text", Encoding::Utf8));
            let mut instance = Attributes::default();
            while reader.read(&mut instance)? {
                trainer.add_attributes(&instance)?;
            }
        }
        Ok(())
    }

    #[test]
    fn a_stream_takes_as_many_labels_as_other_training() {
        for labels in [1300, 2500, 8000] {
            let mut random = Random::new(labels as u64);
            add_labels(|| random.below(labels)).unwrap_or_else(|error| panic!("{labels} labels: {error}"));
        }
        let mut numbers = 0..;
        assert!(add_labels(|| numbers.next().unwrap_or(0)).is_err(), "each token has a label of its own");
    }

    #[test]
    fn nothing_is_kept_of_a_sequence() {
        let settings = Settings { optimizer: Method::Psa, ..Settings::default() };
        let mut trainer = StreamTrainer::new(Source::Attributes, &settings, None).unwrap();
        let text = "A\tx=1\tz\nB\tx=2:0.5\nA\n\n@weight:2\nB\tx=1\nB\tz\n\n".repeat(1500);
        let mut reader = AttributeReader::new(Lines::new(text.as_bytes(), "text", Encoding::Utf8));
        let mut instance = Attributes::default();
        let mut sizes = Vec::new();
        while reader.read(&mut instance).unwrap() {
            trainer.add_attributes(&instance).unwrap();
            let rows = trainer.builder.alphabet().node.len();
            let examples = [trainer.builder.len(), trainer.risk.data().len(), trainer.spent.len()];
            sizes.push((
                rows,
                trainer.features.dim(),
                trainer.psa.theta().len(),
                trainer.seen.len(),
                examples,
            ));
        }
        assert_eq!(trainer.progress().sequences, 3000);
        assert!(
            sizes[2..].iter().all(|size| *size == sizes[2]),
            "{:?} and then {:?}",
            sizes[2],
            sizes.last()
        );
        assert_eq!(sizes[2].4, [0, 1, 1], "one example in use, and the memory of one");
    }
}
