//! The end of a training run: the model file, and what is said about it.

use super::data::format;
use super::session::{Clock, End, Session, next_for_text};
use crate::args::{Decode, TrainArgs};
use crate::cmd::eval::{Gold, evaluate};
use crate::cmd::report;
use crate::input;
use crate::loaded::Loaded;
use crate::progress::Progress;
use anyhow::Result;
use crfkit::eval::Scores;
use crfkit::files::write_atomically;
use crfkit::grid::GridModel;
use crfkit::linked::LinkedModel;
use crfkit::model::{Model, Names, Precision};
use crfkit::train::GraphTrained;
use crfkit::typed::TypedModel;
use crfkit_report::{EvaluationPart, ModelPart, Page, Run};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// A model that can be made smaller.
pub trait Small: Sized {
    /// Without weights of at most `threshold` in absolute value.
    fn shrink(&self, threshold: f64) -> Self;
    /// Its file.
    fn to_bytes(&self, precision: Precision) -> crfkit::Result<Vec<u8>>;
    /// Reads such a file.
    fn from_bytes(bytes: &[u8]) -> crfkit::Result<Self>;
    /// Its weights by name.
    fn names(&self) -> Names<'_>;
}

/// Models have these methods under the same names.
macro_rules! small {
    ($($model:ty),*) => {$(
        impl Small for $model {
            fn shrink(&self, threshold: f64) -> Self {
                <$model>::shrink(self, threshold)
            }
            fn to_bytes(&self, precision: Precision) -> crfkit::Result<Vec<u8>> {
                <$model>::to_bytes(self, precision)
            }
            fn from_bytes(bytes: &[u8]) -> crfkit::Result<Self> {
                <$model>::from_bytes(bytes)
            }
            fn names(&self) -> Names<'_> {
                <$model>::names(self)
            }
        }
    )*};
}
small!(Model, LinkedModel, TypedModel, GridModel);

/// What was written.
pub struct Written<M> {
    /// The model as it is in the file.
    pub model: Arc<M>,
    /// Weights other than 0.
    pub weights: usize,
    /// Of the file.
    pub bytes: usize,
}

/// By what it is measured what a smaller model costs.
pub struct Measure<'a, M> {
    /// What the data is called.
    pub on: String,
    /// The scores of a model on it.
    pub scores: Box<Scoring<'a, M>>,
}

/// Gives the scores of a model.
type Scoring<'a, M> = dyn Fn(&Arc<M>) -> Result<Scores> + 'a;

impl<'a, M> Measure<'a, M> {
    /// On development data, or on training data where there is none; `None` for standard input, which cannot be read again.
    pub fn on_text(
        args: &'a TrainArgs,
        scores: impl Fn(&Arc<M>, &Path) -> Result<Scores> + 'a,
    ) -> Option<Self> {
        let path = args.dev.as_ref().unwrap_or(&args.train[0]);
        (!input::is_stdin(path))
            .then(|| Measure { on: input::name(path), scores: Box::new(move |model| scores(model, path)) })
    }
}

impl<'a> Measure<'a, Model> {
    /// Of chains.
    pub fn of_chains(args: &'a TrainArgs) -> Option<Self> {
        Measure::on_text(args, |model: &Arc<Model>, path| {
            let model = [Loaded::Weighted(model.clone())];
            Ok(evaluate(&model, path, &gold(args), args.input.threads())?.evaluation.scores())
        })
    }
}

/// Makes the model as small as asked, writes it, and says what that costs.
pub fn write_model<M: Small>(
    args: &TrainArgs,
    full: M,
    progress: &Progress,
    measure: Option<Measure<M>>,
) -> Result<Written<M>> {
    let shrunk = args.shrink.map(|threshold| full.shrink(threshold));
    let bytes = shrunk.as_ref().unwrap_or(&full).to_bytes(args.precision)?;
    write_atomically(&args.model, &bytes)?;
    let mut model = Arc::new(full);
    if shrunk.is_some() || args.precision != Precision::F64 {
        let kept = Arc::new(M::from_bytes(&bytes)?);
        report_loss(&model, &kept, progress, measure)?;
        model = kept;
    }
    Ok(Written { weights: active(&*model), bytes: bytes.len(), model })
}

/// The end of a run on graphs that come from text: the model, what `scores` say if it is made smaller, and its page with the `parts` of an
/// evaluation.
pub fn finish_graphs<M: Small>(
    mut session: Session,
    (trained, clock): (GraphTrained<M>, Clock),
    features: usize,
    scores: impl Fn(&Arc<M>, &Path) -> Result<Scores>,
    parts: impl FnOnce(&Arc<M>, &Path) -> Result<Vec<EvaluationPart>>,
) -> Result<ExitCode> {
    let args = session.args;
    let GraphTrained { model, stop, passes, objective } = trained;
    let measure = Measure::on_text(args, scores);
    let Written { model, weights, bytes } = write_model(args, model, &session.progress, measure)?;
    let end = End { stop, clock, passes, objective, features, weights, bytes };
    session.end(&end)?;
    write_report(args, &session, &*model, |path| parts(&model, path))?;
    Ok(session.farewell(&end, &next_for_text(args)))
}

/// Writes the page of `--report`, if one is wanted: the run, the model, and what `evaluate` says of it on the development data, if that can be
/// read again.
pub fn write_report(
    args: &TrainArgs,
    session: &Session,
    model: &impl Small,
    evaluate: impl FnOnce(&Path) -> Result<Vec<EvaluationPart>>,
) -> Result<()> {
    let Some(path) = &args.report else { return Ok(()) };
    session.progress.step(|| "writing the report".into());
    let name = report::run_name(args.log.as_deref().unwrap_or(&args.model));
    let evaluations = match &args.dev {
        Some(dev) if !input::is_stdin(dev) => evaluate(dev)?,
        _ => Vec::new(),
    };
    let page = Page {
        runs: vec![Run::read(session.log.kept(), &name)?],
        model: Some(ModelPart::new(&args.model.display().to_string(), &model.names())),
        evaluations,
        ..Page::default()
    };
    report::write(&page, path)
}

/// What a page says of a chain on a file.
pub fn chain_parts(args: &TrainArgs, model: &Arc<Model>, path: &Path) -> Result<Vec<EvaluationPart>> {
    let gold = Gold { samples: true, ..gold(args) };
    let found = evaluate(&[Loaded::Weighted(model.clone())], path, &gold, args.input.threads())?;
    Ok(vec![found.into_part(path)])
}

/// How the data of this run is read.
fn gold(args: &TrainArgs) -> Gold {
    Gold {
        format: format(args),
        encoding: args.input.encoding,
        label_column: args.label_column[0],
        decode: Decode::Viterbi,
        samples: false,
    }
}

fn active<M: Small>(model: &M) -> usize {
    model.names().weights.iter().filter(|w| **w != 0.0).count()
}

/// Says what shrinking has cost.
fn report_loss<M: Small>(
    full: &Arc<M>,
    kept: &Arc<M>,
    progress: &Progress,
    measure: Option<Measure<M>>,
) -> Result<()> {
    let Some(Measure { on, scores }) = measure else {
        progress.note("what shrinking costs is not known: standard input cannot be read again (give --dev)");
        return Ok(());
    };
    progress.step(|| "measuring what shrinking costs".into());
    let (before, after) = (scores(full)?, scores(kept)?);
    let mut text = format!(
        "smaller model: {} weights → {}; on {on}: accuracy {:.2} → {:.2}",
        active(&**full),
        active(&**kept),
        before.accuracy,
        after.accuracy
    );
    if before.chunked {
        text += &format!(", F1 {:.2} → {:.2}", before.f1, after.f1);
    }
    progress.note(&text);
    Ok(())
}
