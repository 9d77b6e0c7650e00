//! Labelling sequences with a model in closed form.

use super::{EmpiricalModel, PairKind, PairWork, Word};
use crate::answers::ChainAnswers;
use crate::data::columns::Columns;
use crate::data::conllu::Fields;
use crate::decode::Decode;
use crate::domain::chain::{ColumnLayout, Sequence};
use crate::error::counted;
use crate::eval::Scores;
use crate::graph::{Chain, Shared};
use crate::infer::Engine;
use crate::model::LabelSet;
use crate::tag::{Judgement, Labeller, Tagger, Truth};
use crate::{Error, Place, Result};
use std::borrow::Cow;
use std::sync::Arc;

/// A worker that labels sequences with a model in closed form.
pub type EmpiricalTagger = Tagger<EmpiricalModel>;

/// Working memory for loading sequences.
#[derive(Clone, Debug, Default)]
pub struct EmpiricalScratch {
    words: Vec<Word>,
    pairs: PairWork,
}

impl EmpiricalModel {
    /// Computes the log-potentials of a sequence of words.
    fn fill<'a>(
        &self,
        words: impl Iterator<Item = &'a str>,
        scratch: &mut EmpiricalScratch,
        answers: &mut ChainAnswers,
    ) {
        let EmpiricalScratch { words: found, pairs: work } = scratch;
        found.clear();
        found.extend(words.map(|word| self.word(word)));
        let labels = self.labels().len();
        let own_pairs = self.settings().pairs == PairKind::Lexical;
        let chain = Chain { own_pairs, ..Chain::first_order(found.len(), labels) };
        let (nodes, pairs) = answers.start(chain).split_at_mut(chain.len * chain.stride());
        for (&word, psi) in found.iter().zip(nodes.chunks_exact_mut(chain.stride())) {
            self.log_psi(word, &mut psi[..labels]);
        }
        for (pair, phi) in found.windows(2).zip(pairs.chunks_exact_mut(labels * chain.stride())) {
            self.log_phi(pair[0], pair[1], phi, work);
        }
    }

    /// The columns of the label and of the words.
    fn layout_of(&self, sequence: &Sequence) -> Result<ColumnLayout> {
        match sequence {
            Sequence::Columns { rows, label_column } => {
                let label = label_column.unwrap_or(self.settings().label_column);
                ColumnLayout::new(label, rows.columns(), || sequence.place(0))
            }
            Sequence::Attributes(_) => Err(Error::input(
                sequence.place(0),
                "this model was trained on columns: give columns, not attributes",
            )),
        }
    }
}

impl Labeller for EmpiricalModel {
    type Input = Sequence;
    type Scratch = EmpiricalScratch;
    type Tables = Arc<Shared<f64>>;
    type Answers = ChainAnswers;

    fn decode(&self) -> Decode {
        Decode::Best
    }

    fn ready(&self) -> Arc<Shared<f64>> {
        Arc::new(self.tables())
    }

    fn answers(&self, tables: &Arc<Shared<f64>>, _engine: Option<Engine>) -> ChainAnswers {
        ChainAnswers::new(tables.clone(), None)
    }

    fn load(
        &self,
        _tables: &Arc<Shared<f64>>,
        sequence: &Sequence,
        scratch: &mut EmpiricalScratch,
        answers: &mut ChainAnswers,
    ) -> Result<()> {
        let Sequence::Columns { rows, .. } = sequence else { return self.layout_of(sequence).map(|_| ()) };
        Fields::check(self.settings().fields, rows)?;
        check_words(rows, self.settings().word_column)?;
        let word = self.settings().word_column;
        self.fill((0..rows.len()).map(|row| rows.field(row, word)), scratch, answers);
        answers.finish(|| sequence.place(0))
    }

    fn label_sets(&self) -> Vec<LabelSet<'_>> {
        vec![LabelSet { name: None, labels: self.labels().into() }]
    }

    fn label_set_of(&self, _chain: &Chain, _variable: usize) -> usize {
        0
    }

    fn group(&self) -> usize {
        0
    }

    fn truth<'a>(&'a self, sequence: &'a Sequence) -> Result<Truth<'a>> {
        let layout = self.layout_of(sequence)?;
        let labels = (0..sequence.len()).map(|t| Some(Cow::Borrowed(sequence.label(t, layout.label))));
        let known = (0..sequence.len()).map(|t| self.knows(sequence.word(t, layout.word())));
        Ok(Truth { labels: labels.collect(), known: known.collect() })
    }

    fn place(sequence: &Sequence) -> Place {
        sequence.place(0)
    }

    fn scores(&self, judgement: &Judgement) -> Scores {
        judgement.sets[0].scores()
    }
}

/// Rejects sequences that do not have the word column.
fn check_words(sequence: &Columns, word_column: usize) -> Result<()> {
    if sequence.is_empty() || word_column < sequence.columns() {
        return Ok(());
    }
    let message = format!(
        "{}, but the words are in column {word_column}, counted from 0",
        counted(sequence.columns(), "column")
    );
    Err(Error::input(sequence.place(0), message))
}

impl EmpiricalTagger {
    /// Loads a sequence of words.
    pub fn load_words<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        let taken = self.with_parts(|model, _, scratch, answers| {
            model.fill(words.into_iter(), scratch, answers);
            Ok(())
        });
        taken.expect("words are always taken in");
    }
}
