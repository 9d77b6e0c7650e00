//! The printed forms of an [`Evaluation`].

use std::collections::HashMap;
use std::io::{self, Write};

use super::{ChunkCounts, Confusion, Evaluation};

/// The largest number of rows in the confusion table; the rest is summarised in one line.
const MAX_ROWS: usize = 20;
/// The largest number of wrong labels named in a row of the confusion table; the rest is summarised.
const MAX_WRONG_LABELS: usize = 4;

impl Evaluation {
    /// Writes everything: conlleval's block first, since programs parse it, unless the labels are not chunk labels; then accuracies and
    /// the table of errors.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let scores = self.scores();
        if scores.chunked {
            self.write_conlleval(out)?;
            writeln!(out)?;
        }
        writeln!(out, "token accuracy:        {:6.2}%  ({} tokens)", scores.accuracy, scores.tokens)?;
        let (accuracy, sequences) = (scores.sequence_accuracy, scores.sequences);
        writeln!(out, "sequence accuracy:     {accuracy:6.2}%  ({sequences} sequences)")?;
        for (what, accuracy) in [("known", scores.known_accuracy), ("unknown", scores.unknown_accuracy)] {
            if let Some(accuracy) = accuracy {
                writeln!(out, "{:<23}{accuracy:6.2}%", format!("{what}-word accuracy:"))?;
            }
        }
        writeln!(out)?;
        self.write_confusion(out)
    }

    /// Writes the block that conlleval prints, byte for byte, because programs parse it.
    ///
    /// There is one difference: for labels without a type (`B`, `I`, `O`) conlleval prints the line of the nameless
    /// type twice; crfkit prints it once.
    pub fn write_conlleval(&self, out: &mut impl Write) -> io::Result<()> {
        let (all, scores) = (self.chunks(), self.scores());
        writeln!(
            out,
            "processed {} tokens with {} phrases; found: {} phrases; correct: {}.",
            scores.tokens, all.gold, all.predicted, all.correct
        )?;
        if scores.tokens == 0 {
            return Ok(());
        }
        write!(out, "accuracy: {:6.2}%; ", scores.accuracy)?;
        write_ratios(out, &all)?;
        writeln!(out)?;
        for (name, counts) in self.chunk_types() {
            // Padded by bytes rather than characters, like the original.
            write!(out, "{:1$}{name}: ", "", 17usize.saturating_sub(name.len()))?;
            write_ratios(out, &counts)?;
            writeln!(out, "  {}", counts.predicted)?;
        }
        Ok(())
    }

    /// Writes a table of the errors: one row per gold label that has errors, most errors first, at most 20 rows. Each
    /// row lists the labels that were predicted instead.
    pub fn write_confusion(&self, out: &mut impl Write) -> io::Result<()> {
        let rows = self.error_rows();
        if rows.is_empty() {
            return writeln!(out, "no wrong labels");
        }
        let shown = &rows[..rows.len().min(MAX_ROWS)];
        let width = shown.iter().map(|row| row.gold.chars().count()).max().unwrap_or(0).max("gold".len());
        writeln!(out, "{:width$}  {:>9}  {:>9}  taken for", "gold", "tokens", "wrong")?;
        for row in shown {
            write!(out, "{:width$}  {:>9}  {:>9}  ", row.gold, row.tokens, row.errors)?;
            write_wrong_labels(out, &row.taken_for)?;
        }
        let hidden = &rows[shown.len()..];
        if !hidden.is_empty() {
            let errors: u64 = hidden.iter().map(|row| row.errors).sum();
            writeln!(
                out,
                "the {MAX_ROWS} labels with the most errors; {} more labels have {errors} errors",
                hidden.len()
            )?;
        }
        Ok(())
    }

    fn error_rows(&self) -> Vec<Row<'_>> {
        let mut wrong: HashMap<&str, Vec<Confusion>> = HashMap::new();
        // The cells come largest first, so each row is sorted as well.
        for cell in self.confusion().into_iter().filter(|cell| cell.gold != cell.predicted) {
            wrong.entry(cell.gold).or_default().push(cell);
        }
        let mut rows = Vec::new();
        for (gold, counts) in self.labels() {
            if let Some(taken_for) = wrong.remove(gold) {
                rows.push(Row { gold, tokens: counts.gold, errors: counts.gold - counts.correct, taken_for });
            }
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.errors)); // stable: ties stay sorted by name
        rows
    }
}

/// One gold label of the confusion table.
struct Row<'a> {
    gold: &'a str,
    tokens: u64,
    errors: u64,
    taken_for: Vec<Confusion<'a>>,
}

fn write_ratios(out: &mut impl Write, counts: &ChunkCounts) -> io::Result<()> {
    let (precision, recall, f1) = (counts.precision(), counts.recall(), counts.f1());
    write!(out, "precision: {precision:6.2}%; recall: {recall:6.2}%; FB1: {f1:6.2}")
}

pub(super) fn write_wrong_labels(out: &mut impl Write, cells: &[Confusion]) -> io::Result<()> {
    let (named, others) = cells.split_at(cells.len().min(MAX_WRONG_LABELS));
    for (i, cell) in named.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        write!(out, "{comma}{} {}", cell.predicted, cell.tokens)?;
    }
    if !others.is_empty() {
        let tokens: u64 = others.iter().map(|cell| cell.tokens).sum();
        write!(out, ", others {tokens}")?;
    }
    writeln!(out)
}
