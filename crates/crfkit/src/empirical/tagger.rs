//! Applying a model in closed form to sequences.

use super::{EmpiricalModel, PairWork, Pairs, Word};
use crate::answers::Answers;
use crate::data::columns::Columns;
use crate::decode::Ranked;
use crate::graph::{Chain, Label, Shared};
use crate::{Error, Result};
use std::sync::Arc;

/// A worker that labels sequences. It owns its memory: make one a thread, from one shared [`EmpiricalModel`]. After
/// [`EmpiricalTagger::words`] or [`EmpiricalTagger::columns`] has taken in a sequence, the other methods answer questions
/// about it.
#[derive(Debug)]
pub struct EmpiricalTagger {
    model: Arc<EmpiricalModel>,
    answers: Answers,
    words: Vec<Word>,
    pairs: PairWork,
}

impl EmpiricalTagger {
    /// A worker for `model`.
    pub fn new(model: Arc<EmpiricalModel>) -> Self {
        let tables = Arc::new(model.tables());
        EmpiricalTagger::with(model, tables)
    }

    /// Another worker for the same model, without making its tables again.
    pub fn another(&self) -> Self {
        EmpiricalTagger::with(self.model.clone(), self.answers.shared().clone())
    }

    pub(super) fn with(model: Arc<EmpiricalModel>, tables: Arc<Shared<f64>>) -> Self {
        EmpiricalTagger {
            model,
            answers: Answers::new(tables),
            words: Vec::new(),
            pairs: PairWork::default(),
        }
    }

    /// The model.
    pub fn model(&self) -> &Arc<EmpiricalModel> {
        &self.model
    }

    /// Takes in a sequence of words.
    pub fn words<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        self.words.clear();
        self.words.extend(words.into_iter().map(|word| self.model.word(word)));
        let labels = self.model.labels().len();
        let own_pairs = self.model.settings().pairs == Pairs::Lexical;
        let chain = Chain { len: self.words.len(), labels, own_pairs };
        let (nodes, pairs) = self.answers.start(chain).split_at_mut(chain.len * chain.stride());
        for (&word, psi) in self.words.iter().zip(nodes.chunks_exact_mut(chain.stride())) {
            self.model.log_psi(word, &mut psi[..labels]);
        }
        for (pair, phi) in self.words.windows(2).zip(pairs.chunks_exact_mut(labels * chain.stride())) {
            self.model.log_phi(pair[0], pair[1], phi, &mut self.pairs);
        }
    }

    /// Takes in a sequence in columns, with the words in `word_column`.
    pub fn columns(&mut self, sequence: &Columns, word_column: usize) -> Result<()> {
        if !sequence.is_empty() && word_column >= sequence.columns() {
            let message = format!(
                "{} columns, but the words are in column {word_column}, counted from 0",
                sequence.columns()
            );
            return Err(Error::input(sequence.place(0), message));
        }
        self.words((0..sequence.len()).map(|row| sequence.field(row, word_column)));
        Ok(())
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

    /// The best labelling (section 3.8).
    pub fn viterbi(&mut self) -> &[Label] {
        self.answers.viterbi()
    }

    /// The most probable label of every position.
    pub fn max_marginal(&mut self) -> &[Label] {
        self.answers.max_marginal()
    }

    /// P(label at `position` | sequence), with the factors normalised over all labellings.
    pub fn marginal(&mut self, position: usize, label: Label) -> f64 {
        self.answers.marginal(position, label)
    }

    /// The `n` best labellings with their scores, best first.
    pub fn nbest(&mut self, n: usize) -> Vec<Ranked> {
        self.answers.nbest(n)
    }

    /// ln Z: 0 where the factors are those of one distribution.
    pub fn log_z(&mut self) -> f64 {
        self.answers.log_z()
    }

    /// ln P(labelling | sequence).
    pub fn log_probability(&mut self, labels: &[Label]) -> f64 {
        self.answers.log_probability(labels)
    }
}
