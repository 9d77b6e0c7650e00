//! Files of predictions: their scores, and the comparison of two of them.

use crate::args::EvalArgs;
use crate::io::{Reading, RowFile, name};
use anyhow::Result;
use crfkit::data::columns::Columns;
use crfkit::data::rows::RowFormat;
use crfkit::eval::{Difference, Evaluation, PairedBootstrap};
use crfkit::{Error, Place};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Resamples of the paired bootstrap.
const RESAMPLES: usize = 10_000;

/// The scores of a file of predictions, or its comparison with another one.
pub fn scores(args: &EvalArgs, predicted: &Path) -> Result<Vec<u8>> {
    let reading = args.input.reading(None);
    let mut text = Vec::new();
    match &args.against {
        Some(against) => compare_two([predicted, against], &reading, args, &mut text)?,
        None => {
            let evaluation = compare_columns(predicted, &reading)?;
            match args.json {
                true => writeln!(text, "{}", serde_json::to_string(&evaluation.scores())?)?,
                false => evaluation.write_text(&mut text)?,
            }
        }
    }
    Ok(text)
}

/// A file whose last two columns are gold and predicted labels, or the two in front of the probabilities that `tag --marginals` adds.
struct PredictedFile {
    file: RowFile,
    rows: Columns,
    /// Whether the last column has probabilities; known from the first sequence on.
    with_probabilities: Option<bool>,
    /// The column of the gold labels of the current sequence; the next one has the predicted labels.
    labels: usize,
}

impl PredictedFile {
    fn open(path: &Path, reading: &Reading) -> Result<Self> {
        let file = RowFile::open(path, reading, &RowFormat::Columns)?;
        Ok(PredictedFile { file, rows: Columns::default(), with_probabilities: None, labels: 0 })
    }

    /// Reads the next sequence; false at the end.
    fn read(&mut self) -> Result<bool> {
        let more = self.file.read(&mut self.rows);
        let rows = &self.rows;
        let refuse = |row, message: &str| Err(Error::input(rows.place(row), message).into());
        if has_heading(rows) {
            return refuse(
                0,
                "a line `#` with a probability, not a token: write the predictions without --probability, --confidence, --nbest and \
                 --output crfpp",
            );
        }
        if !more? {
            return Ok(false);
        }
        let last = column(rows, rows.columns() - 1);
        let marked =
            *self.with_probabilities.get_or_insert_with(|| last.iter().all(|field| is_probability(field)));
        if let Some(row) = last.iter().position(|field| is_probability(field) != marked) {
            return refuse(
                row,
                "the last column has probabilities in some rows only: is this the output of one run of tag?",
            );
        }
        let is_marked = |field: &str| field.rsplit_once('/').is_some_and(|(_, p)| is_probability(p));
        if let Some(row) = last.iter().position(|field| is_marked(field)) {
            return refuse(
                row,
                "the last column has labels with probabilities: write the predictions without --output crfpp and --marginals all",
            );
        }
        let Some(labels) = (rows.columns() - usize::from(marked)).checked_sub(2) else {
            return refuse(
                0,
                "one column, but the last two are compared: gold and predicted labels are needed",
            );
        };
        self.labels = labels;
        Ok(true)
    }

    fn gold(&self) -> Vec<&str> {
        column(&self.rows, self.labels)
    }

    fn predicted(&self) -> Vec<&str> {
        column(&self.rows, self.labels + 1)
    }
}

/// Whether a sequence begins with a line in which `tag` gives probabilities of all of it.
fn has_heading(rows: &Columns) -> bool {
    !rows.is_empty()
        && rows.field(0, 0) == "#"
        && (1..rows.columns()).any(|column| is_probability(rows.field(0, column)))
}

fn column(rows: &Columns, column: usize) -> Vec<&str> {
    (0..rows.len()).map(|row| rows.field(row, column)).collect()
}

/// Compares the gold and the predicted labels of a file.
fn compare_columns(path: &Path, reading: &Reading) -> Result<Evaluation> {
    let mut file = PredictedFile::open(path, reading)?;
    let mut evaluation = Evaluation::default();
    while file.read()? {
        evaluation.add_sequence(&file.gold(), &file.predicted(), None);
    }
    if evaluation.scores().sequences == 0 {
        return Err(nothing(path));
    }
    // The scores of a label count how often it is gold, and how often it is predicted.
    if evaluation.labels().iter().all(|(_, of)| of.gold == 0 || of.predicted == 0) {
        // The output of `tag --marginals` for text without gold labels: words are in their place.
        if file.with_probabilities == Some(true) {
            let text = "the column in front of the predicted labels has none of these labels: the input of tag needs gold labels in its last \
                        column";
            return Err(Error::input(Place::new(name(path), 0), text).into());
        }
        let text = "the last two columns have no label in common: are they gold and predicted labels?";
        let _ = writeln!(std::io::stderr(), "crfkit: note: {}: {text}", name(path));
    }
    Ok(evaluation)
}

fn nothing(path: &Path) -> anyhow::Error {
    Error::input(Place::new(name(path), 0), "no sequence in it").into()
}

/// Compares the predictions of two files by the paired bootstrap.
fn compare_two(paths: [&Path; 2], reading: &Reading, args: &EvalArgs, out: &mut Vec<u8>) -> Result<()> {
    let [mut a, mut b] = [PredictedFile::open(paths[0], reading)?, PredictedFile::open(paths[1], reading)?];
    let mut both = PairedBootstrap::default();
    loop {
        match (a.read()?, b.read()?) {
            (false, false) => break,
            (true, true) => {}
            (more, _) => {
                let (short, file) = if more { (paths[1], &a) } else { (paths[0], &b) };
                let message =
                    format!("{} has no more sequences: give two predictions of the same data", name(short));
                return Err(Error::input(file.rows.place(0), message).into());
            }
        }
        let (gold, other) = (a.gold(), b.gold());
        let shared = gold.len().min(other.len());
        if let Some(row) = (0..shared).find(|&row| gold[row] != other[row]) {
            let message = format!(
                "the gold label is `{}` here, but `{}` at {}: give two predictions of the same data",
                gold[row],
                other[row],
                b.rows.place(row)
            );
            return Err(Error::input(a.rows.place(row), message).into());
        }
        if gold.len() != other.len() {
            let message = format!(
                "{} tokens, but {} at {}: give two predictions of the same data",
                gold.len(),
                other.len(),
                b.rows.place(0)
            );
            return Err(Error::input(a.rows.place(0), message).into());
        }
        both.add(&gold, &a.predicted(), &b.predicted());
    }
    if both.is_empty() {
        return Err(nothing(paths[0]));
    }
    let (accuracy, f1) = both.compare(RESAMPLES, args.seed);
    if args.json {
        let object =
            json!({ "sequences": both.len(), "resamples": RESAMPLES, "accuracy": accuracy, "f1": f1 });
        return Ok(writeln!(out, "{object}")?);
    }
    let mut line = |name: &str, found: &Difference| {
        let Difference { scores: [a, b], difference, interval: [low, high], p } = found;
        writeln!(
            out,
            "{name:<9} {a:6.2} − {b:6.2} = {difference:+.2}, 95 % interval {low:+.2} to {high:+.2}, p = {p:.4}"
        )
    };
    f1.iter().try_for_each(|found| line("F1", found))?;
    line("accuracy", &accuracy)?;
    writeln!(out, "{} sequences, {RESAMPLES} resamples (paired bootstrap)", both.len())?;
    Ok(())
}

/// Whether a field is a probability as `tag` prints it, with six decimals.
fn is_probability(field: &str) -> bool {
    let (whole, decimals) = field.split_once('.').unwrap_or_default();
    matches!(whole, "0" | "1") && decimals.len() == 6 && decimals.bytes().all(|byte| byte.is_ascii_digit())
}
