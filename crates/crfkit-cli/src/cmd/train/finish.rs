//! The end of a training run: the model file, and what is said about it.

use super::data::format;
use crate::args::TrainArgs;
use crate::cmd::eval::{Gold, evaluate};
use crate::input;
use crate::progress::Progress;
use anyhow::Result;
use crfkit::eval::{Scores, is_chunked};
use crfkit::files::write_atomically;
use crfkit::model::{Model, Precision};
use std::sync::Arc;

/// The size of what was written.
pub struct Written {
    /// Weights other than 0.
    pub weights: usize,
    /// Of the file.
    pub bytes: usize,
}

/// Makes the model as small as asked and writes it.
pub fn write_model(args: &TrainArgs, full: Model, progress: &Progress) -> Result<Written> {
    let shrunk = args.shrink.map(|threshold| full.shrink(threshold));
    let bytes = shrunk.as_ref().unwrap_or(&full).to_bytes(args.precision)?;
    write_atomically(&args.model, &bytes)?;
    let mut written = Written { weights: active(&full), bytes: bytes.len() };
    if shrunk.is_some() || args.precision != Precision::F64 {
        let kept = Model::from_bytes(&bytes)?;
        written.weights = active(&kept);
        report_loss(args, Arc::new(full), Arc::new(kept), progress)?;
    }
    Ok(written)
}

fn active(model: &Model) -> usize {
    model.weights.iter().filter(|w| **w != 0.0).count()
}

/// Says what shrinking has cost: on the development data, or on the training data where there is none.
fn report_loss(args: &TrainArgs, full: Arc<Model>, kept: Arc<Model>, progress: &Progress) -> Result<()> {
    let path = args.dev.as_ref().unwrap_or(&args.train[0]);
    if input::is_stdin(path) {
        progress.note("what shrinking costs is not known: standard input cannot be read again (give --dev)");
        return Ok(());
    }
    progress.step(|| "measuring what shrinking costs".into());
    let gold = Gold { format: format(args), encoding: args.input.encoding, label_column: args.label_column };
    let scores = |model| -> Result<Scores> {
        Ok(evaluate(model, path, &gold, args.input.threads())?.evaluation.scores())
    };
    let (before, after) = (scores(&full)?, scores(&kept)?);
    let mut text = format!(
        "smaller model: {} weights → {}; on {}: accuracy {:.2} → {:.2}",
        active(&full),
        active(&kept),
        input::name(path),
        before.accuracy,
        after.accuracy
    );
    if is_chunked(full.labels.iter().map(String::as_str)) {
        text += &format!(", F1 {:.2} → {:.2}", before.f1, after.f1);
    }
    progress.note(&text);
    Ok(())
}

/// The last lines: what was written, and what to type next.
pub fn report_done(args: &TrainArgs, progress: &Progress, written: &Written) {
    let model = args.model.display();
    progress.note(&format!("model: {model} ({} weights, {} bytes)", written.weights, written.bytes));
    progress.note(&format!("next: crfkit tag -m {model} FILE, or crfkit eval -m {model} FILE"));
}

/// The last lines after Ctrl-C.
pub fn report_interrupted(args: &TrainArgs, progress: &Progress, written: &Written) {
    let model = args.model.display();
    progress.note(&format!("the model so far is saved: {model} ({} bytes)", written.bytes));
    if args.checkpoint.is_some() {
        progress.note("the same command goes on from the checkpoint");
    }
}
