//! The scores of pixels and nodes, whose labels are classes: accuracies, Hamming loss, exact matches, and the confusion of
//! labels. Images and graphs print the same.

use anyhow::Result;
use crfkit::eval::Evaluation;
use crfkit::tag::{Accuracy, Judgement};
use serde_json::{Map, Value, json};
use std::io::Write;

/// One line of text about a share of correct things.
pub fn share_line(what: &str, share: &Accuracy, of: &str, out: &mut Vec<u8>) -> Result<()> {
    Ok(writeln!(out, "{what:<24}{:6.2}%  ({} {of})", share.percent(), share.total)?)
}

/// The share of wrong labels, between 0 and 1.
fn hamming_loss(share: &Accuracy) -> f64 {
    share.wrong() as f64 / share.total.max(1) as f64
}

/// The mean of the scores of all labels of all sets, each label by its share of correct labels.
fn mean_class_accuracy(judgement: &Judgement) -> f64 {
    let labels = judgement.sets.iter().flat_map(Evaluation::labels).filter(|(_, counts)| counts.gold > 0);
    let (sum, count) = labels.fold((0.0, 0u32), |(sum, n), (_, counts)| (sum + counts.recall(), n + 1));
    sum / f64::from(count.max(1))
}

/// Appends the scores of all labels together: `things` have labels, and `groups` of them match exactly or not.
pub fn write_summary(judgement: &Judgement, things: &str, groups: &str, out: &mut Vec<u8>) -> Result<()> {
    let labels: usize = judgement.sets.iter().map(|set| set.labels().len()).sum();
    writeln!(
        out,
        "{:<24}{:6.2}%  ({labels} labels)",
        "mean-class accuracy:",
        mean_class_accuracy(judgement)
    )?;
    let all = judgement.overall();
    writeln!(
        out,
        "{:<24}{:7.4}  ({} of {} {things} wrong)",
        "Hamming loss:",
        hamming_loss(&all),
        all.wrong(),
        all.total
    )?;
    share_line("exact match:", &judgement.joint, groups, out)
}

/// Appends the fields of all labels together to a JSON object.
pub fn add_summary(judgement: &Judgement, object: &mut Value) {
    object["mean_class_accuracy"] = mean_class_accuracy(judgement).into();
    object["hamming_loss"] = hamming_loss(&judgement.overall()).into();
    object["exact_match"] = judgement.joint.percent().into();
}

/// Adds the scores of single labels and the confusion of labels to a JSON object.
pub fn add_labels(evaluation: &Evaluation, object: &mut Value) {
    let scores = |(name, counts): (&str, crfkit::eval::ChunkCounts)| {
        let numbers = json!({
            "gold": counts.gold,
            "predicted": counts.predicted,
            "correct": counts.correct,
            "accuracy": counts.recall(),
            "precision": counts.precision(),
            "f1": counts.f1(),
            "iou": counts.iou(),
        });
        (name.to_owned(), numbers)
    };
    object["labels"] = evaluation.classes().into_iter().map(scores).collect::<Map<_, _>>().into();
    object["mean_iou"] = evaluation.mean_iou().into();
    let mut confusion = Map::new();
    for cell in evaluation.confusion() {
        let row = confusion.entry(cell.gold).or_insert_with(|| json!({}));
        row[cell.predicted] = cell.tokens.into();
    }
    object["confusion"] = confusion.into();
}
