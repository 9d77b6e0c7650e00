//! Labelling sequences.

use crate::any::Ensemble;
use crate::data::tokens::tokens;
use crate::domain::chain::Sequence;
use crate::eval::{ChunkLabels, chunks, is_chunked};
use crate::graph::Label;
use crate::tag::Tagger;
use crate::{Error, Result};
use std::ops::Range;

/// A worker that labels sequences. It owns its working memory, so make one per thread.
///
/// ```
/// use crfkit::Trainer;
/// use crfkit::chain::Sequence;
///
/// let sequences = [Sequence::from_rows([["2", "B-QTY"], ["cups", "B-UNIT"], ["flour", "B-NAME"]])];
/// let mut tagger = Trainer::new().train(sequences)?.tagger()?;
/// for token in tagger.tag([["2"], ["spoons"], ["flour"]])? {
///     println!("{} {:.3}", token.label, token.probability);
/// }
///
/// let sequence = Sequence::from_rows([["cups"], ["flour"]])?;
/// let best = tagger.nbest(&sequence, 3)?; // labels, with their probability
/// assert!(best[0].1 >= best[1].1);
/// let sure = tagger.confidence(&sequence)?;
/// assert!((sure.probability - best[0].1).abs() < 1e-12);
/// # Ok::<(), crfkit::Error>(())
/// ```
#[derive(Debug)]
pub struct SequenceTagger {
    tagger: Tagger<Ensemble>,
}

/// The label of a token, and how sure the model is of it.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledToken {
    /// The label.
    pub label: String,
    /// Probability of the label given the whole sequence.
    pub probability: f64,
}

/// A labelled part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledSpan {
    /// Where it is in the text, in bytes.
    pub range: Range<usize>,
    /// The type of the chunk, or the label of the token where labels are not chunks.
    pub label: String,
}

/// A chunk that was found, and how sure the model is of it.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledChunk {
    /// Its tokens.
    pub tokens: Range<usize>,
    /// Its type.
    pub label: String,
    /// Probability that exactly these tokens are a chunk of this type, given the whole sequence.
    pub probability: f64,
}

/// A labelled sequence, and how sure the model is of all its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Confidence {
    /// The label of every token.
    pub tokens: Vec<LabelledToken>,
    /// The chunks; none where labels are not chunks.
    pub chunks: Vec<LabelledChunk>,
    /// Probability of all these labels together.
    pub probability: f64,
    /// Entropy of the labelling in nats: 0 if the model is certain, and larger the more labellings it considers.
    pub entropy: f64,
}

impl SequenceTagger {
    pub(super) fn new(tagger: Tagger<Ensemble>) -> Self {
        SequenceTagger { tagger }
    }

    /// Another worker for the same model, for another thread.
    pub fn fork(&self) -> Self {
        SequenceTagger { tagger: self.tagger.fork() }
    }

    /// Labels a sequence of tokens. Each row holds the fields that the training data had, without the label.
    pub fn tag<R>(&mut self, rows: R) -> Result<Vec<LabelledToken>>
    where
        R: IntoIterator<Item: IntoIterator<Item: AsRef<str>>>,
    {
        self.tag_sequence(&Sequence::from_rows(rows)?)
    }

    /// Labels running text, which the [simple tokeniser](crate::data::tokens) cuts into tokens. Returns the chunks that were found (`B-NAME
    /// I-NAME` is one of type `NAME`), or each token where labels are not chunks. It is an error if the model reads more columns than the
    /// words.
    ///
    /// ```no_run
    /// let text = "2 cups of flour, sifted";
    /// for span in crfkit::Model::open("model")?.tagger()?.tag_text(text)? {
    ///     println!("{}: {}", span.label, &text[span.range]);
    /// }
    /// # Ok::<(), crfkit::Error>(())
    /// ```
    pub fn tag_text(&mut self, text: &str) -> Result<Vec<LabelledSpan>> {
        self.tagger.model().check_words_alone()?;
        let tokens: Vec<Range<usize>> = tokens(text).collect();
        self.tagger.load(&Sequence::from_rows(tokens.iter().map(|token| [&text[token.clone()]]))?)?;
        let found = self.tagger.viterbi().to_vec();
        let names = self.tagger.model().labels();
        let labels: Vec<&str> = found.iter().map(|&label| &*names[label as usize]).collect();
        let parts = match is_chunked(names.iter().map(String::as_str)) {
            true => chunks(&labels),
            false => labels.iter().enumerate().map(|(token, label)| (token..token + 1, *label)).collect(),
        };
        let span = |(part, label): (Range<usize>, &str)| LabelledSpan {
            range: tokens[part.start].start..tokens[part.end - 1].end,
            label: label.to_owned(),
        };
        Ok(parts.into_iter().map(span).collect())
    }

    /// Labels a sequence in any form, for example one with [features of your own](Sequence::from_features).
    /// Rows with more fields than the training data had, including the label, are rejected with an error.
    pub fn tag_sequence(&mut self, sequence: &Sequence) -> Result<Vec<LabelledToken>> {
        if let Some(most) = self.tagger.model().columns().filter(|most| sequence.columns() > *most) {
            let message = format!(
                "{} columns, but the model was trained on {most}, including the label: give one row per token, or running text to \
                 tag_text",
                sequence.columns()
            );
            return Err(Error::input(sequence.place(0), message));
        }
        self.tagger.load(sequence)?;
        let labels = self.tagger.viterbi().to_vec();
        Ok(self.named(&labels))
    }

    /// Labels a sequence in which some tokens may have only certain labels. `allowed` has pairs of a token, counted from 0, and the
    /// labels that it may have; a single label fixes it. Labels and probabilities are conditional on these labels. It is an error if no
    /// labelling is possible.
    ///
    /// ```no_run
    /// use crfkit::chain::Sequence;
    ///
    /// let mut tagger = crfkit::Model::open("model")?.tagger()?;
    /// let sequence = Sequence::from_rows([["2"], ["cups"], ["flour"]])?;
    /// let tokens = tagger.tag_constrained(&sequence, [(1, vec!["B-UNIT"]), (2, vec!["B-NAME", "O"])])?;
    /// assert_eq!(tokens[1].label, "B-UNIT");
    /// # Ok::<(), crfkit::Error>(())
    /// ```
    pub fn tag_constrained<'a, L>(
        &mut self,
        sequence: &Sequence,
        allowed: impl IntoIterator<Item = (usize, L)>,
    ) -> Result<Vec<LabelledToken>>
    where
        L: IntoIterator<Item = &'a str>,
    {
        let mut sets = Vec::new();
        for (token, labels) in allowed {
            if token >= sequence.len() {
                return Err(Error::Setting(format!(
                    "labels are given for token {token}, but the sequence has {} tokens: tokens count from 0",
                    sequence.len()
                )));
            }
            sets.push((token, self.tagger.model().label_bits(labels, || sequence.place(token))?));
        }
        self.tagger.load_constrained(sequence, &sets)?;
        let labels = self.tagger.viterbi().to_vec();
        Ok(self.named(&labels))
    }

    /// Labels a sequence, and says how sure the model is of the labelling, of each label and of each chunk. All probabilities are exact.
    pub fn confidence(&mut self, sequence: &Sequence) -> Result<Confidence> {
        let tokens = self.tag_sequence(sequence)?;
        let names: Vec<&str> = tokens.iter().map(|token| token.label.as_str()).collect();
        let marks = ChunkLabels::new(self.tagger.model().labels());
        let chunked = is_chunked(self.tagger.model().labels().iter().map(String::as_str));
        let mut found = Vec::new();
        for (part, kind) in if chunked { chunks(&names) } else { Vec::new() } {
            let probability = self.tagger.chunk_probability(&marks, part.clone(), kind);
            found.push(LabelledChunk { tokens: part, label: kind.to_owned(), probability });
        }
        let labels = self.tagger.viterbi().to_vec();
        let (probability, entropy) = (self.tagger.probability(&labels), self.tagger.entropy());
        Ok(Confidence { tokens, chunks: found, probability, entropy })
    }

    /// The `n` best labellings of a sequence, each with its probability, best first; fewer where there are fewer. An error if they need
    /// more than a gigabyte.
    pub fn nbest(&mut self, sequence: &Sequence, n: usize) -> Result<Vec<(Vec<String>, f64)>> {
        self.tagger.load(sequence)?;
        let ranked = self.tagger.nbest(n)?;
        let name = |&label: &Label| self.tagger.model().labels()[label as usize].clone();
        let named: Vec<Vec<String>> =
            ranked.iter().map(|ranked| ranked.labels.iter().map(name).collect()).collect();
        let sure: Vec<f64> = ranked.iter().map(|ranked| self.tagger.probability(&ranked.labels)).collect();
        Ok(named.into_iter().zip(sure).collect())
    }

    /// The probability of every label at every token of a sequence, in the order of
    /// [`Model::labels`](super::Model::labels).
    pub fn marginals(&mut self, sequence: &Sequence) -> Result<Vec<Vec<f64>>> {
        self.tagger.load(sequence)?;
        let labels = self.tagger.model().labels().len();
        Ok((0..self.tagger.len())
            .map(|t| (0..labels).map(|label| self.tagger.marginal(t, label as Label)).collect())
            .collect())
    }

    /// ln P(labels | sequence). A label that the model does not know is an error.
    pub fn log_probability(&mut self, sequence: &Sequence, labels: &[impl AsRef<str>]) -> Result<f64> {
        if labels.len() != sequence.len() {
            return Err(Error::Setting(format!(
                "the sequence has {} tokens, but {} labels are given",
                sequence.len(),
                labels.len()
            )));
        }
        self.tagger.load(sequence)?;
        let number = |label: &str| {
            let unknown = || Error::Setting(format!("the model has no label `{label}`"));
            self.tagger.model().label(label).ok_or_else(unknown)
        };
        let numbers = labels.iter().map(|label| number(label.as_ref())).collect::<Result<Vec<Label>>>()?;
        Ok(self.tagger.log_probability(&numbers))
    }

    fn named(&mut self, labels: &[Label]) -> Vec<LabelledToken> {
        let mut tokens = Vec::with_capacity(labels.len());
        for (t, &label) in labels.iter().enumerate() {
            let probability = self.tagger.marginal(t, label);
            tokens.push(LabelledToken {
                label: self.tagger.model().labels()[label as usize].clone(),
                probability,
            });
        }
        tokens
    }
}
