//! `crfkit report`: turns logs of runs, and what a model has learned, into one HTML page.

use super::eval::{How, judge};
use super::tag::with_model;
use crate::args::ReportArgs;
use crate::error::usage;
use crate::io::{Door, InputPlace, Inputs, WithModel, grid_samples, name, open_model, open_text};
use crate::paths::{Named, check_inputs_kept};
use anyhow::Result;
use crfkit::any::AnyModel;
use crfkit::data::observer::Source;
use crfkit::data::template::Templates;
use crfkit::files::write_atomically;
use crfkit::{Error, Place};
use crfkit_report::{EvaluationPart, ModelPart, Page, Run};
use std::collections::HashSet;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Writes the page.
pub fn run(args: &ReportArgs) -> Result<ExitCode> {
    check_aliases(args)?;
    let mut page = Page { runs: named_runs(&args.runs, read_log)?, ..Page::default() };
    if let Some(run) = page.runs.iter().position(|run| run.start.is_none()) {
        let message = "no run in it: a log begins with an event `settings`; crfkit train --log writes one";
        return Err(Error::input(Place::new(name(&args.runs[run]), 0), message).into());
    }
    if let Some(path) = &args.model {
        let model = open_model(path)?;
        page.model = model.names().map(|names| ModelPart::new(&name(path), &names));
        if let (Some(part), Some(templates)) = (&mut page.model, templates_of(&model)) {
            put_into_words(part, templates);
        }
        page.evaluations = with_model(model.clone(), Evaluate(args))??;
        if let (AnyModel::Grid(model), Some(inputs)) = (&model, inputs(args)) {
            page.images = grid_samples(model, &inputs)?;
        }
    }
    write(&page, &args.output)?;
    Ok(ExitCode::SUCCESS)
}

/// The templates that made a model's observations, if they did.
fn templates_of(model: &AnyModel) -> Option<&Templates> {
    match model {
        AnyModel::Chain(model) => match &model.domain.source {
            Source::Templates(templates) => Some(templates),
            Source::Attributes => None,
        },
        AnyModel::Linked(model) => Some(&model.domain.templates),
        _ => None,
    }
}

/// Shows observations that are results of tests in words.
pub fn put_into_words(part: &mut ModelPart, templates: &Templates) {
    for feature in part.features.iter_mut().flat_map(|of| &mut of.features) {
        if let Some(words) = templates.describe_tests(&feature.observation) {
            feature.observation = words;
        }
    }
}

/// Rejects a page in place of an input.
fn check_aliases(args: &ReportArgs) -> Result<()> {
    let given = [
        ("the model", &args.model),
        ("the labelled data", &args.test),
        ("the directory of images", &args.images),
        ("the directory of masks", &args.masks),
    ];
    let given = given.into_iter().filter_map(|(what, path)| Some((what, path.as_deref()?)));
    let vectors = args.input.vectors.iter().map(|path| ("the vectors of the labelled data", &**path));
    let logs = args.runs.iter().map(|path| ("a log", &**path));
    let inputs: Vec<Named> = logs.chain(given).chain(vectors).collect();
    check_inputs_kept(&[("-o", &args.output)], &inputs)
}

/// The labelled data that is given, if any.
fn inputs(args: &ReportArgs) -> Option<Inputs> {
    let place = match (&args.test, &args.images, &args.masks) {
        (Some(test), ..) => InputPlace::File(test.clone()),
        (None, Some(images), masks) => InputPlace::Images { images: images.clone(), masks: masks.clone() },
        (None, None, _) => return None,
    };
    Some(Inputs { place, reading: args.input.reading(args.label_column) })
}

struct Evaluate<'a>(&'a ReportArgs);

impl WithModel for Evaluate<'_> {
    type Out = Result<Vec<EvaluationPart>>;

    fn with<M: Door>(self, model: Arc<M>) -> Self::Out {
        self.0.given.check_model("report", model.kind())?;
        match inputs(self.0) {
            Some(inputs) => {
                let usual = How::usual(&*model, self.0.input.threads());
                let how = How { samples: true, partial: self.0.partial_labels, ..usual };
                let found = judge(&model, &inputs, &how)?;
                found.report_unknown_labels(&*model);
                Ok(found.into_parts(&*model, &inputs))
            }
            None => Ok(Vec::new()),
        }
    }
}

/// The runs of the logs, each with a name of its own.
pub fn named_runs(paths: &[PathBuf], read: impl Fn(&Path) -> Result<Run>) -> Result<Vec<Run>> {
    let all_differ = |names: &[String]| names.iter().collect::<HashSet<_>>().len() == names.len();
    let mut names: Vec<String> = paths.iter().map(|path| run_name(path)).collect();
    if !all_differ(&names) {
        names = paths.iter().map(|path| name(path)).collect();
    }
    if !all_differ(&names) {
        return Err(usage("a log is given twice: leave one out"));
    }
    paths.iter().zip(names).map(|(path, name)| Ok(Run { name, ..read(path)? })).collect()
}

/// The run of a log.
pub fn read_log(path: &Path) -> Result<Run> {
    Ok(Run::read(BufReader::new(open_text(path)?), &name(path))?)
}

/// The name of a run on a page: the name of its log, or of its model, without folder and ending.
pub fn run_name(path: &Path) -> String {
    path.file_stem().map_or_else(|| name(path), |stem| stem.to_string_lossy().into_owned())
}

/// Writes a page, whole or not at all.
pub fn write(page: &Page, path: &Path) -> Result<()> {
    let mut html = Vec::new();
    page.write_html(&mut html)?;
    Ok(write_atomically(path, &html)?)
}
