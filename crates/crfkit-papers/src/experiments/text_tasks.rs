//! The three text tasks of smd-crf-2006 and ctjpgis-psa-2007.

use crate::corpora::{BC2GM, BIONLP2004, CONLL2000, DataSet, sentences};
use crate::experiment::{Context, Form};
use crate::learning::Task;
use crfkit::Result;
use crfkit::data::presets::preset;
use crfkit::data::template::Templates;
use crfkit::eval::Evaluation;
use std::collections::HashMap;

/// One of the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTask {
    /// CoNLL-2000, noun phrases only: 3 labels (the papers' feature counts and times fit no other reading).
    BaseNp,
    /// BioNLP/NLPBA-2004: 11 labels.
    Nlpba,
    /// BioCreative II gene mention: 3 labels; trained on all 15,000 training sentences.
    Bc2,
}

impl TextTask {
    /// The data that it needs.
    pub const fn data(self) -> &'static [DataSet] {
        match self {
            TextTask::BaseNp => &[CONLL2000],
            TextTask::Nlpba => &[BIONLP2004],
            TextTask::Bc2 => &[BC2GM],
        }
    }

    /// The preset for its templates: CRF++'s for chunking, or Settles' orthographic features.
    pub fn preset(self) -> &'static str {
        match self {
            TextTask::BaseNp => "chunking",
            _ => "bio",
        }
    }

    /// The number of training sentences in quick form; the test set has half as many.
    pub const QUICK: usize = 200;

    /// Reads the task.
    pub fn load(self, context: &Context) -> Result<Task> {
        self.load_with(context, self.preset(), |_| true)
    }

    /// Reads the task with the templates of a preset that `keep` wants.
    pub fn load_with(
        self,
        context: &Context,
        preset_name: &str,
        keep: impl Fn(&str) -> bool,
    ) -> Result<Task> {
        let corpora = &context.corpora;
        let (train, test) = match self {
            TextTask::BaseNp => {
                let part = |file| -> Result<_> { sentences(&base_np(&corpora.text(file)?), file) };
                (part(CONLL2000.files[0])?, part(CONLL2000.files[1])?)
            }
            TextTask::Nlpba => {
                (corpora.sentences(BIONLP2004.files[0])?, corpora.sentences(BIONLP2004.files[1])?)
            }
            TextTask::Bc2 => {
                let mut train = corpora.sentences(BC2GM.files[0])?;
                train.extend(corpora.sentences(BC2GM.files[1])?);
                (train, corpora.sentences(BC2GM.files[2])?)
            }
        };
        let few = |n: usize| context.form.pick(n, n.min(TextTask::QUICK));
        let test_size = context.form.pick(test.len(), test.len().min(TextTask::QUICK / 2));
        let preset = preset(preset_name)?;
        let text = preset.text(train[0].columns() - 1);
        let used = text.lines().filter(|line| keep(line));
        let text = used.fold(String::new(), |text, line| text + line + "\n");
        let templates = Templates::compile(&text, preset.dialect, preset_name)?;
        Task::new(&train[..few(train.len())], &test[..test_size], templates, 1)
    }
}

/// The number of passes of the online methods.
pub fn passes(form: Form, full: usize) -> usize {
    form.pick(full, 2)
}

/// Labels other than B-NP and I-NP become O.
pub fn base_np(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once(' ') {
        Some((rest, label)) if !label.ends_with("-NP") => format!("{rest} O\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// What counts as the label of a token.
pub type Reading = fn(&str) -> &str;

/// The label as it is.
pub const WHOLE: Reading = |label| label;

/// Whether the token is part of an entity, of whatever type.
pub const ENTITY: Reading = |label| if label == "O" { "O" } else { "entity" };

/// Token F1: a token counts if its label is correct as it is read, and O does not count as a label.
pub fn token_f1(task: &Task, predicted: &[Vec<&str>], read: Reading) -> f64 {
    let mut evaluation = Evaluation::default();
    for (sentence, predicted) in task.sentences.iter().zip(predicted) {
        let label = sentence.columns().saturating_sub(1);
        let gold: Vec<&str> = (0..sentence.len()).map(|row| read(sentence.field(row, label))).collect();
        let predicted: Vec<&str> = predicted.iter().map(|label| read(label)).collect();
        evaluation.add_sequence(&gold, &predicted, None);
    }
    let mut sum = crfkit::eval::ChunkCounts::default();
    for (_, counts) in evaluation.labels().into_iter().filter(|(label, _)| *label != "O") {
        sum.gold += counts.gold;
        sum.predicted += counts.predicted;
        sum.correct += counts.correct;
    }
    sum.f1()
}

/// The first and the last character of a mention, not counting spaces.
type Span = (usize, usize);

/// The mentions of a labelled sentence.
fn spans(words: &[&str], labels: &[&str]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let (mut at, mut inside) = (0, false);
    for (word, label) in words.iter().zip(labels) {
        let end = at + word.chars().count();
        match (*label, inside, spans.last_mut()) {
            ("O", ..) => inside = false,
            ("I-GENE", true, Some(last)) => last.1 = end - 1,
            _ => {
                spans.push((at, end - 1));
                inside = true;
            }
        }
        at = end;
    }
    spans
}

/// Mentions by sentence id, from lines `id|start end|text`.
fn mentions(text: &str) -> HashMap<&str, Vec<Span>> {
    let mut all: HashMap<&str, Vec<Span>> = HashMap::new();
    for line in text.lines() {
        let mut parts = line.split('|');
        let (Some(id), Some(span)) = (parts.next(), parts.next()) else { continue };
        let Some((start, end)) = span.split_once(' ') else { continue };
        if let (Ok(start), Ok(end)) = (start.parse(), end.parse()) {
            all.entry(id).or_default().push((start, end));
        }
    }
    all
}

/// F1 as BioCreative II computes it. A prediction is correct if it is a gold mention or one of its alternatives
/// (those that overlap with it), and each gold mention can be found once.
pub fn f1_with_alternatives(context: &Context, task: &Task, predicted: &[Vec<&str>]) -> Result<f64> {
    let [ids, genes, alternatives] = [3, 4, 5].map(|k| context.corpora.text(BC2GM.files[k]));
    let (ids, genes, alternatives) = (ids?, genes?, alternatives?);
    let (genes, alternatives) = (mentions(&genes), mentions(&alternatives));
    let mut counts = crfkit::eval::ChunkCounts::default();
    for ((id, sentence), labels) in ids.lines().zip(&task.sentences).zip(predicted) {
        let words: Vec<&str> = (0..sentence.len()).map(|row| sentence.field(row, 0)).collect();
        let found = spans(&words, labels);
        let gold = genes.get(id).map_or(&[][..], |spans| spans);
        let others = alternatives.get(id).map_or(&[][..], |spans| spans);
        let right = |gene: &&Span| {
            let good = |span: &Span| {
                span == *gene || (others.contains(span) && span.0 <= gene.1 && gene.0 <= span.1)
            };
            found.iter().any(good)
        };
        counts.gold += gold.len() as u64;
        counts.predicted += found.len() as u64;
        counts.correct += gold.iter().filter(right).count() as u64;
    }
    Ok(counts.f1())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_phrases_are_left_out() {
        assert_eq!(base_np("a DT B-NP\nb VB B-VP\n\nc NN I-NP\n"), "a DT B-NP\nb VB O\n\nc NN I-NP\n");
    }

    #[test]
    fn mentions_are_counted_in_characters_without_spaces() {
        let words = ["an", "IL-2", "gene", ",", "p53"];
        assert_eq!(spans(&words, &["O", "B-GENE", "I-GENE", "O", "B-GENE"]), [(2, 9), (11, 13)]);
        assert_eq!(spans(&words, &["I-GENE", "B-GENE", "O", "O", "O"]), [(0, 1), (2, 5)]);
        assert_eq!(mentions("P1|2 9|IL-2 gene\nP1|11 13|p53\n")["P1"], [(2, 9), (11, 13)]);
    }
}
