//! The end of a training run: the model file, and what is said about it.

use super::data::format;
use crate::args::TrainArgs;
use crate::cmd::eval::{Gold, evaluate};
use crate::cmd::report;
use crate::input;
use crate::loaded::Loaded;
use crate::progress::Progress;
use anyhow::Result;
use crfkit::eval::{Scores, is_chunked};
use crfkit::files::write_atomically;
use crfkit::model::{Model, Precision};
use crfkit_report::{ModelPart, Page, Run};
use std::sync::Arc;

/// What was written.
pub struct Written {
    /// The model as it is in the file.
    pub model: Arc<Model>,
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
    let mut model = Arc::new(full);
    if shrunk.is_some() || args.precision != Precision::F64 {
        let kept = Arc::new(Model::from_bytes(&bytes)?);
        report_loss(args, &model, &kept, progress)?;
        model = kept;
    }
    Ok(Written { weights: active(&model), bytes: bytes.len(), model })
}

/// Writes the page of `--report`: the run, the model, and its mistakes on the development data if that can be read again.
pub fn write_report(args: &TrainArgs, log: &[u8], written: &Written, progress: &Progress) -> Result<()> {
    let Some(path) = &args.report else { return Ok(()) };
    progress.step(|| "writing the report".into());
    let name = report::run_name(args.log.as_deref().unwrap_or(&args.model));
    let model_name = args.model.display().to_string();
    let mut page = Page {
        runs: vec![Run::read(log, &name)?],
        model: Some(ModelPart::new(&model_name, &written.model)),
        ..Page::default()
    };
    match &args.dev {
        Some(dev) if !input::is_stdin(dev) => {
            let gold = Gold { samples: true, ..gold(args) };
            let found = evaluate(&Loaded::Weighted(written.model.clone()), dev, &gold, args.input.threads())?;
            page.evaluation = Some(found.into_part(dev));
        }
        _ => {}
    }
    report::write(&page, path)
}

/// How the data of this run is read.
fn gold(args: &TrainArgs) -> Gold {
    Gold {
        format: format(args),
        encoding: args.input.encoding,
        label_column: args.label_column[0],
        samples: false,
    }
}

fn active(model: &Model) -> usize {
    model.weights.iter().filter(|w| **w != 0.0).count()
}

/// Says what shrinking has cost: on the development data, or on the training data where there is none.
fn report_loss(args: &TrainArgs, full: &Arc<Model>, kept: &Arc<Model>, progress: &Progress) -> Result<()> {
    let path = args.dev.as_ref().unwrap_or(&args.train[0]);
    if input::is_stdin(path) {
        progress.note("what shrinking costs is not known: standard input cannot be read again (give --dev)");
        return Ok(());
    }
    progress.step(|| "measuring what shrinking costs".into());
    let gold = gold(args);
    let scores = |model: &Arc<Model>| -> Result<Scores> {
        let model = Loaded::Weighted(model.clone());
        Ok(evaluate(&model, path, &gold, args.input.threads())?.evaluation.scores())
    };
    let (before, after) = (scores(full)?, scores(kept)?);
    let mut text = format!(
        "smaller model: {} weights → {}; on {}: accuracy {:.2} → {:.2}",
        active(full),
        active(kept),
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
