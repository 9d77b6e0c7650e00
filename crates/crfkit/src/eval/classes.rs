//! Scores of single labels, for labels that are classes rather than chunks: those of pixels and nodes.

use super::report::write_wrong_labels;
use super::{ChunkCounts, Confusion, Evaluation};
use std::collections::HashMap;
use std::io::{self, Write};

impl ChunkCounts {
    /// Intersection over union in per cent: of the tokens that have the label in the gold data or in the prediction, the
    /// share that have it in both; 0 if there are none.
    pub fn iou(&self) -> f64 {
        let union = self.gold + self.predicted - self.correct;
        super::per_cent(self.correct, union).unwrap_or(0.0)
    }
}

impl Evaluation {
    /// Tokens by label, as [`Evaluation::labels`] has them, but labels that are numbers are in numerical order and come
    /// first.
    pub fn classes(&self) -> Vec<(&str, ChunkCounts)> {
        let mut classes = self.labels();
        classes.sort_by_key(|(name, _)| name.parse::<u64>().unwrap_or(u64::MAX)); // stable: names stay sorted
        classes
    }

    /// The mean over labels of the share of their tokens that are correct, in per cent. Labels that do not occur in the
    /// gold data do not count; 0 if none does. Rare labels count as much as frequent ones.
    pub fn mean_class_accuracy(&self) -> f64 {
        mean(self.labels().iter().filter(|(_, counts)| counts.gold > 0).map(|(_, counts)| counts.recall()))
    }

    /// The mean of the intersection over union, in per cent, over the labels that occur in the gold data or in the
    /// prediction.
    pub fn mean_iou(&self) -> f64 {
        mean(self.labels().iter().map(|(_, counts)| counts.iou()))
    }

    /// Writes a line for each label: how many tokens have it, the share of them that are correct, the share of the tokens
    /// predicted to have it that do, intersection over union, and the labels that were predicted instead. `what` is what a
    /// token is called.
    pub fn write_classes(&self, what: &str, out: &mut impl Write) -> io::Result<()> {
        let mut wrong: HashMap<&str, Vec<Confusion>> = HashMap::new();
        // The cells come largest first, so each list is sorted as well.
        for cell in self.confusion().into_iter().filter(|cell| cell.gold != cell.predicted) {
            wrong.entry(cell.gold).or_default().push(cell);
        }
        let classes = self.classes();
        let width =
            classes.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max("label".len());
        writeln!(
            out,
            "{:width$}  {what:>9}  {:>8}  {:>9}  {:>7}  taken for",
            "label", "accuracy", "precision", "IoU"
        )?;
        for (name, counts) in classes {
            let (accuracy, precision, iou) = (counts.recall(), counts.precision(), counts.iou());
            let accuracy = if counts.gold == 0 { "–".into() } else { format!("{accuracy:.2}%") };
            let precision = if counts.predicted == 0 { "–".into() } else { format!("{precision:.2}%") };
            write!(out, "{name:width$}  {:>9}  {accuracy:>8}  {precision:>9}  {iou:>6.2}%", counts.gold)?;
            match wrong.get(name) {
                Some(cells) => {
                    write!(out, "  ")?;
                    write_wrong_labels(out, cells)?;
                }
                None => writeln!(out)?,
            }
        }
        Ok(())
    }
}

fn mean(scores: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = scores.fold((0.0, 0), |(sum, count), score| (sum + score, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}
