//! How good a labelling is: chunk precision, recall and F1 as conlleval computes them, token and sequence accuracy,
//! accuracy on words seen and not seen in training, and the confusion table.
//!
//! [`Evaluation`] takes one sequence after another. [`Evaluation::merge`] joins two evaluations, for example from two
//! threads.

mod bootstrap;
mod calibration;
mod chunks;
mod classes;
mod fields;
mod report;
mod scheme;

use std::collections::HashMap;

use serde::ser::{Serialize, SerializeStruct, Serializer};

pub use bootstrap::{Difference, PairedBootstrap};
pub use calibration::{Bin, Calibration};
#[doc(hidden)]
pub use chunks::ChunkLabels;
use chunks::{Mark, Matcher, can_have_chunks};
pub(crate) use chunks::{Side, kind};
pub use chunks::{chunks, is_chunked};
pub use scheme::Scheme;

/// Counts over the sequences added so far.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    labels: Names,
    /// For each label, what it says about chunks.
    marks: Vec<Mark>,
    types: Names,
    /// Counts for each chunk type.
    chunks: Vec<ChunkCounts>,
    /// Tokens by (gold, predicted) label. This is a map because, with many labels, most pairs never occur.
    confusion: HashMap<(u32, u32), u64>,
    tokens: Share,
    known: Share,
    unknown: Share,
    sequences: Share,
}

/// Scores in per cent (93.61, not 0.9361). A score with nothing to count is 0, never NaN. In JSON, chunk scores are
/// null if the labels are not chunk labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// Whether the labels are chunk labels. If not, F1, precision and recall mean nothing.
    pub chunked: bool,
    /// Chunk F1: the harmonic mean of precision and recall.
    pub f1: f64,
    /// Share of the predicted chunks that are correct in type, start and end.
    pub precision: f64,
    /// Share of the gold chunks that are predicted.
    pub recall: f64,
    /// Share of the tokens with the correct label.
    pub accuracy: f64,
    /// Token accuracy among words seen in training; `None` if there are no such words.
    pub known_accuracy: Option<f64>,
    /// Token accuracy among words not seen in training; `None` if there are no such words.
    pub unknown_accuracy: Option<f64>,
    /// Share of the sequences whose labels are all correct.
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

/// How often something (a chunk type, a label) occurs in the gold data, in the prediction, and in both at the same
/// place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkCounts {
    /// Occurrences in the gold data.
    pub gold: u64,
    /// Occurrences in the prediction.
    pub predicted: u64,
    /// Occurrences in both, at the same place.
    pub correct: u64,
}

/// One cell of the confusion table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confusion<'a> {
    /// The gold label.
    pub gold: &'a str,
    /// The predicted label.
    pub predicted: &'a str,
    /// Number of tokens with these two labels.
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
            // All types of `other` are known by now: they were added with its labels.
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
    pub fn chunks(&self) -> ChunkCounts {
        let mut sum = ChunkCounts::default();
        self.chunks.iter().for_each(|counts| sum.merge(counts));
        sum
    }

    /// Chunks by type, sorted by the type's name (by bytes).
    pub fn chunk_types(&self) -> Vec<(&str, ChunkCounts)> {
        self.types.sorted(&self.chunks)
    }

    /// Tokens by label, sorted by the label's name (by bytes).
    pub fn labels(&self) -> Vec<(&str, ChunkCounts)> {
        let mut counts = vec![ChunkCounts::default(); self.marks.len()];
        for (&(gold, predicted), &tokens) in &self.confusion {
            counts[gold as usize].gold += tokens;
            counts[predicted as usize].predicted += tokens;
            if gold == predicted {
                counts[gold as usize].correct += tokens;
            }
        }
        self.labels.sorted(&counts)
    }

    /// The non-zero cells of the confusion table, correct ones included: most tokens first, then by name.
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

    /// The id of a label. A new label also adds its mark and its chunk type.
    fn label_id(&mut self, label: &str) -> u32 {
        let id = self.labels.id(label);
        if id as usize == self.marks.len() {
            self.marks.push(Mark::new(label, |kind| self.types.id(kind)));
            self.chunks.resize(self.types.names.len(), ChunkCounts::default());
        }
        id
    }
}

impl ChunkCounts {
    /// Per cent of the predicted occurrences that are correct; 0 if there are none.
    pub fn precision(&self) -> f64 {
        per_cent(self.correct, self.predicted).unwrap_or(0.0)
    }

    /// Per cent of the gold occurrences that were found; 0 if there are none.
    pub fn recall(&self) -> f64 {
        per_cent(self.correct, self.gold).unwrap_or(0.0)
    }

    /// Harmonic mean of precision and recall, in per cent; 0 if both are 0.
    pub fn f1(&self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        if self.correct == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) }
    }

    fn merge(&mut self, other: &ChunkCounts) {
        self.gold += other.gold;
        self.predicted += other.predicted;
        self.correct += other.correct;
    }
}

/// A number of correct items out of a total.
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

/// Computed in conlleval's order of operations, so that the printed digits agree.
fn per_cent(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| 100.0 * part as f64 / all as f64)
}

/// Ids for names, in order of first appearance.
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

    /// Names with their counts, sorted by name; names never counted are left out.
    fn sorted(&self, counts: &[ChunkCounts]) -> Vec<(&str, ChunkCounts)> {
        let named = self.names.iter().map(|name| &**name).zip(counts.iter().copied());
        let mut rows: Vec<_> = named.filter(|(_, counts)| *counts != ChunkCounts::default()).collect();
        rows.sort_unstable_by_key(|&(name, _)| name);
        rows
    }
}
