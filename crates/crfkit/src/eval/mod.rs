//! How good a labelling is: chunk precision, recall and F1 as conlleval computes them, token and sequence
//! accuracy, accuracy on words that training has seen and on those it has not, and what was taken for what.
//!
//! [`Evaluation`] takes one sequence after the other; two of them (from two threads, say) are joined by
//! [`Evaluation::merge`].

mod chunks;
mod fields;
mod report;

use std::collections::HashMap;

use serde::ser::{Serialize, SerializeStruct, Serializer};

pub use chunks::is_chunked;
use chunks::{Mark, Matcher, can_have_chunks};

/// Counts over the sequences seen so far.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    labels: Names,
    /// Per label: its part in chunks.
    marks: Vec<Mark>,
    types: Names,
    /// Per chunk type.
    chunks: Vec<Counts>,
    /// Tokens by (gold, predicted) label. A map, since with many labels most pairs never occur.
    confusion: HashMap<(u32, u32), u64>,
    tokens: Share,
    known: Share,
    unknown: Share,
    sequences: Share,
}

/// The scores in per cent (93.61, not 0.9361). What has nothing to count is 0, never NaN; in JSON, scores of chunks are null
/// where labels are no chunks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// Are the labels chunks? Otherwise F1, precision and recall say nothing.
    pub chunked: bool,
    /// Chunk F1: the harmonic mean of precision and recall.
    pub f1: f64,
    /// Share of the predicted chunks that are right: type, start and end.
    pub precision: f64,
    /// Share of the gold chunks that were found.
    pub recall: f64,
    /// Share of the tokens with the right label.
    pub accuracy: f64,
    /// The same among words that training has seen; `None` where there are none.
    pub known_accuracy: Option<f64>,
    /// The same among words that training has not seen; `None` where there are none.
    pub unknown_accuracy: Option<f64>,
    /// Share of the sequences whose labels are all right.
    pub sequence_accuracy: f64,
    /// Number of tokens.
    pub tokens: u64,
    /// Number of sequences.
    pub sequences: u64,
}

impl Serialize for Scores {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of_chunks = |score: f64| self.chunked.then_some(score);
        let mut fields = serializer.serialize_struct("Scores", 9)?;
        fields.serialize_field("f1", &of_chunks(self.f1))?;
        fields.serialize_field("precision", &of_chunks(self.precision))?;
        fields.serialize_field("recall", &of_chunks(self.recall))?;
        fields.serialize_field("accuracy", &self.accuracy)?;
        fields.serialize_field("known_accuracy", &self.known_accuracy)?;
        fields.serialize_field("unknown_accuracy", &self.unknown_accuracy)?;
        fields.serialize_field("sequence_accuracy", &self.sequence_accuracy)?;
        fields.serialize_field("tokens", &self.tokens)?;
        fields.serialize_field("sequences", &self.sequences)?;
        fields.end()
    }
}

/// How often something (a chunk type, a label) is in the gold data, in the prediction, and in both at the
/// same place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Occurrences in the gold data.
    pub gold: u64,
    /// Occurrences in the prediction.
    pub predicted: u64,
    /// Occurrences in both.
    pub correct: u64,
}

/// One cell of the confusion table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confusion<'a> {
    /// The right label.
    pub gold: &'a str,
    /// The predicted label.
    pub predicted: &'a str,
    /// Number of tokens.
    pub tokens: u64,
}

impl Evaluation {
    /// Adds one sequence. `known[t]` says whether the word at `t` occurs in the training data.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn add_sequence(&mut self, gold: &[&str], predicted: &[&str], known: Option<&[bool]>) {
        assert_eq!(gold.len(), predicted.len(), "one predicted label per gold label");
        if let Some(known) = known {
            assert_eq!(gold.len(), known.len(), "one `known` per label");
        }
        let mut matcher = Matcher::new();
        let mut all_right = true;
        for t in 0..gold.len() {
            let pair = (self.label_id(gold[t]), self.label_id(predicted[t]));
            let right = pair.0 == pair.1;
            all_right &= right;
            *self.confusion.entry(pair).or_default() += 1;
            self.tokens.add(right);
            match known.map(|known| known[t]) {
                Some(true) => self.known.add(right),
                Some(false) => self.unknown.add(right),
                None => {}
            }
            self.step(&mut matcher, self.marks[pair.0 as usize], self.marks[pair.1 as usize]);
        }
        self.step(&mut matcher, Mark::OUTSIDE, Mark::OUTSIDE);
        self.sequences.add(all_right);
    }

    /// Adds everything that `other` has counted.
    pub fn merge(&mut self, other: &Evaluation) {
        let labels: Vec<u32> = other.labels.names.iter().map(|name| self.label_id(name)).collect();
        for (&(gold, predicted), tokens) in &other.confusion {
            *self.confusion.entry((labels[gold as usize], labels[predicted as usize])).or_default() += tokens;
        }
        for (name, counts) in other.types.names.iter().zip(&other.chunks) {
            // All types of `other` are known here by now: they came in with its labels.
            self.chunks[self.types.id(name) as usize].merge(counts);
        }
        self.tokens.merge(&other.tokens);
        self.known.merge(&other.known);
        self.unknown.merge(&other.unknown);
        self.sequences.merge(&other.sequences);
    }

    /// The scores over everything added so far.
    pub fn scores(&self) -> Scores {
        let chunks = self.chunks();
        Scores {
            chunked: can_have_chunks(self.labels.names.iter().map(|name| &**name)),
            f1: chunks.f1(),
            precision: chunks.precision(),
            recall: chunks.recall(),
            accuracy: self.tokens.per_cent().unwrap_or(0.0),
            known_accuracy: self.known.per_cent(),
            unknown_accuracy: self.unknown.per_cent(),
            sequence_accuracy: self.sequences.per_cent().unwrap_or(0.0),
            tokens: self.tokens.all,
            sequences: self.sequences.all,
        }
    }

    /// Chunks of all types together.
    pub fn chunks(&self) -> Counts {
        let mut sum = Counts::default();
        self.chunks.iter().for_each(|counts| sum.merge(counts));
        sum
    }

    /// Chunks by type, sorted by the type's name (by bytes).
    pub fn chunk_types(&self) -> Vec<(&str, Counts)> {
        self.types.sorted(&self.chunks)
    }

    /// Tokens by label, sorted by the label's name (by bytes).
    pub fn labels(&self) -> Vec<(&str, Counts)> {
        let mut counts = vec![Counts::default(); self.marks.len()];
        for (&(gold, predicted), &tokens) in &self.confusion {
            counts[gold as usize].gold += tokens;
            counts[predicted as usize].predicted += tokens;
            if gold == predicted {
                counts[gold as usize].correct += tokens;
            }
        }
        self.labels.sorted(&counts)
    }

    /// The cells of the confusion table that are not 0, right ones included: most tokens first, then by name.
    pub fn confusion(&self) -> Vec<Confusion<'_>> {
        let name = |id: u32| &*self.labels.names[id as usize];
        let mut cells: Vec<Confusion> = self
            .confusion
            .iter()
            .map(|(&(gold, predicted), &tokens)| Confusion {
                gold: name(gold),
                predicted: name(predicted),
                tokens,
            })
            .collect();
        cells.sort_unstable_by(|a, b| {
            b.tokens.cmp(&a.tokens).then_with(|| (a.gold, a.predicted).cmp(&(b.gold, b.predicted)))
        });
        cells
    }

    fn step(&mut self, matcher: &mut Matcher, gold: Mark, predicted: Mark) {
        let step = matcher.step(gold, predicted);
        if let Some(kind) = step.correct {
            self.chunks[kind as usize].correct += 1;
        }
        if let Some(kind) = step.gold {
            self.chunks[kind as usize].gold += 1;
        }
        if let Some(kind) = step.predicted {
            self.chunks[kind as usize].predicted += 1;
        }
    }

    /// The id of a label, new or not; a new one brings its mark and its chunk type.
    fn label_id(&mut self, label: &str) -> u32 {
        let id = self.labels.id(label);
        if id as usize == self.marks.len() {
            self.marks.push(Mark::new(label, |kind| self.types.id(kind)));
            self.chunks.resize(self.types.names.len(), Counts::default());
        }
        id
    }
}

impl Counts {
    /// Per cent of the predicted ones that are right; 0 if there are none.
    pub fn precision(&self) -> f64 {
        per_cent(self.correct, self.predicted).unwrap_or(0.0)
    }

    /// Per cent of the gold ones that were found; 0 if there are none.
    pub fn recall(&self) -> f64 {
        per_cent(self.correct, self.gold).unwrap_or(0.0)
    }

    /// Harmonic mean of precision and recall, in per cent; 0 if both are.
    pub fn f1(&self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        if self.correct == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) }
    }

    fn merge(&mut self, other: &Counts) {
        self.gold += other.gold;
        self.predicted += other.predicted;
        self.correct += other.correct;
    }
}

/// How many of all are right.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    right: u64,
    all: u64,
}

impl Share {
    fn add(&mut self, right: bool) {
        self.right += u64::from(right);
        self.all += 1;
    }

    fn merge(&mut self, other: &Share) {
        self.right += other.right;
        self.all += other.all;
    }

    fn per_cent(&self) -> Option<f64> {
        per_cent(self.right, self.all)
    }
}

/// In conlleval's order of operations, so that the printed digits agree.
fn per_cent(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| 100.0 * part as f64 / all as f64)
}

/// Ids for names, in order of appearance.
#[derive(Clone, Debug, Default)]
struct Names {
    ids: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
}

impl Names {
    fn id(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = u32::try_from(self.names.len()).expect("fewer than 2³² names");
        self.ids.insert(name.into(), id);
        self.names.push(name.into());
        id
    }

    /// Names with their counts, by name; those never counted are left out.
    fn sorted(&self, counts: &[Counts]) -> Vec<(&str, Counts)> {
        let named = self.names.iter().map(|name| &**name).zip(counts.iter().copied());
        let mut rows: Vec<_> = named.filter(|(_, counts)| *counts != Counts::default()).collect();
        rows.sort_unstable_by_key(|&(name, _)| name);
        rows
    }
}
