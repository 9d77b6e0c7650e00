//! The end of a training run: the model file, its page and the last messages.

use super::data::TrainingData;
use super::session::{Clock, End, Session};
use crate::args::TrainArgs;
use crate::cmd::eval::{How, judge};
use crate::cmd::report;
use crate::io::Door;
use crate::progress::Progress;
use anyhow::{Context, Result};
use crfkit::domain::WeightedModel;
use crfkit::files::{write_atomically, write_atomically_with};
use crfkit::model::Precision;
use crfkit::tag::Labeller;
use crfkit::train::Trained;
use crfkit_report::{ModelPart, Page, Run};
use std::process::ExitCode;
use std::sync::Arc;

/// A model that was written.
pub struct Written<D: TrainingData> {
    /// The model as it is in the file.
    pub model: Arc<WeightedModel<D>>,
    /// Weights other than 0.
    pub weights: usize,
    /// Bytes of the file.
    pub bytes: usize,
}

/// Makes the model as small as asked for, writes it, and says what shrinking costs.
pub fn write_model<D: TrainingData>(
    args: &TrainArgs,
    full: WeightedModel<D>,
    progress: &Progress,
) -> Result<Written<D>> {
    if args.shrink.is_none() && args.precision == Precision::F64 {
        let bytes = full.encode(args.precision, |file| {
            let bytes = file.bytes();
            write_atomically_with(&args.model, |out| file.write_to(out))?;
            Ok(bytes)
        })?;
        return Ok(Written { weights: active(&full), bytes, model: Arc::new(full) });
    }
    let shrunk = args.shrink.map(|threshold| full.shrink(threshold));
    let bytes = shrunk.as_ref().unwrap_or(&full).to_bytes(args.precision)?;
    write_atomically(&args.model, &bytes)?;
    let (full, kept) = (Arc::new(full), Arc::new(WeightedModel::from_bytes(&bytes)?));
    report_loss(args, &full, &kept, progress)
        .context("the model is written, but what shrinking costs cannot be measured")?;
    Ok(Written { weights: active(&kept), bytes: bytes.len(), model: kept })
}

/// Ends a run: writes the model and its page, and prints the last lines.
pub fn finish<D: TrainingData>(
    mut session: Session,
    (trained, clock): (Trained<D>, Clock),
) -> Result<ExitCode> {
    let args = session.args;
    let Trained { model, stop, passes, objective, features } = trained;
    let Written { model, weights, bytes } = write_model(args, model, &session.progress)?;
    let end = End { stop, clock, passes, objective, features, weights, bytes };
    session.end(&end);
    write_report(&session, &model).context("the model is written, but its page is not")?;
    Ok(session.farewell(&end, &D::next(args)))
}

/// Writes the page of `--report`, if one is wanted: the run, the model, and its scores on the development data, if that can be read again.
fn write_report<D: TrainingData>(session: &Session, model: &Arc<WeightedModel<D>>) -> Result<()> {
    let args = session.args;
    let Some(path) = &args.report else { return Ok(()) };
    session.progress.step(|| "writing the report".into());
    let name = report::run_name(args.log.as_deref().unwrap_or(&args.model));
    let dev = D::dev_inputs(args).filter(|inputs| inputs.again());
    let mut part = ModelPart::new(&args.model.display().to_string(), &model.names());
    if let Some(templates) = model.domain.templates() {
        report::put_into_words(&mut part, templates);
    }
    let page = Page {
        runs: vec![Run::read(session.log.kept(), &name)?],
        model: Some(part),
        evaluations: match &dev {
            Some(inputs) => {
                let model = D::applied(model);
                let how = How { samples: true, ..how(args, &*model) };
                judge(&model, inputs, &how)?.into_parts(&*model, inputs)
            }
            None => Vec::new(),
        },
        images: D::pictures(model, &dev.unwrap_or_else(|| D::training_inputs(args)))?,
        ..Page::default()
    };
    report::write(&page, path)
}

fn active<D: TrainingData>(model: &WeightedModel<D>) -> usize {
    model.weights.iter().filter(|w| **w != 0.0).count()
}

/// Says what shrinking has cost, on the development data, or on training data where there is none.
fn report_loss<D: TrainingData>(
    args: &TrainArgs,
    full: &Arc<WeightedModel<D>>,
    kept: &Arc<WeightedModel<D>>,
    progress: &Progress,
) -> Result<()> {
    let inputs = D::dev_inputs(args).unwrap_or_else(|| D::training_inputs(args));
    if !inputs.again() {
        progress.note(
            "cannot measure what shrinking costs: standard input cannot be read again (give --dev FILE)",
        );
        return Ok(());
    }
    progress.step(|| "measuring what shrinking costs".into());
    let scores = |model| -> Result<_> {
        let model = D::applied(model);
        Ok(model.scores(&judge(&model, &inputs, &how(args, &*model))?.judgement))
    };
    let (before, after) = (scores(full)?, scores(kept)?);
    let mut text = format!(
        "smaller model: {} weights → {}; on {}: accuracy {:.2} → {:.2}",
        active(full),
        active(kept),
        inputs.name(),
        before.accuracy,
        after.accuracy
    );
    if before.chunked {
        text += &format!(", F1 {:.2} → {:.2}", before.f1, after.f1);
    }
    progress.note(&text);
    Ok(())
}

/// How a trained model is evaluated: labels may be missing where they might in training.
fn how<M: Door>(args: &TrainArgs, model: &M) -> How {
    How { partial: args.partial_labels, ..How::usual(model, args.input.threads()) }
}
