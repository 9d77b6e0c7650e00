//! `crfkit report`: logs of runs, and what is known of a model, as one HTML page.

pub mod grid;

use super::eval::{Gold, evaluate, linked, typed};
use crate::args::ReportArgs;
use crate::error::usage;
use crate::input::{self, GraphModel};
use crate::loaded::Loaded;
use crate::pictures;
use anyhow::Result;
use crfkit::files::write_atomically;
use crfkit::model::Names;
use crfkit::{Error, Place};
use crfkit_report::{ModelPart, Page, Run};
use std::collections::HashSet;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Writes the page.
pub fn run(args: &ReportArgs) -> Result<ExitCode> {
    let mut page = Page { runs: named_runs(&args.runs, read_log)?, ..Page::default() };
    if let Some(run) = page.runs.iter().position(|run| run.start.is_none()) {
        let message = "no run in it: a log begins with an event `settings` (crfkit train --log)";
        return Err(Error::input(Place::new(input::name(&args.runs[run]), 0), message).into());
    }
    if let (Some(path), Some(images), Some(masks)) = (&args.model, &args.images, &args.masks) {
        let model = Arc::new(pictures::read_model(path)?);
        page.images = grid::samples(&model, &pictures::pairs(images, masks)?)?;
    } else if let Some(path) = &args.model {
        let graphs = input::read_graph_model(path)?;
        if graphs.is_some() && (args.label_column.is_some() || args.input.format.is_some()) {
            return Err(usage("--label-column and --format are for models of plain chains: leave them out"));
        }
        let (encoding, threads) = (args.input.encoding, args.input.threads());
        let show = |names: &Names| Some(ModelPart::new(&input::name(path), names));
        let test = args.test.as_deref();
        match graphs {
            Some(GraphModel::Linked(model)) => {
                page.model = show(&model.names());
                let found = test.map(|test| linked::parts(&model, test, encoding, threads)).transpose()?;
                page.evaluations = found.unwrap_or_default();
            }
            Some(GraphModel::Typed(model)) => {
                page.model = show(&model.names());
                let found = test.map(|test| typed::parts(&model, test, encoding, threads)).transpose()?;
                page.evaluations = found.unwrap_or_default();
            }
            Some(GraphModel::Grid(_)) if test.is_some() => {
                return Err(usage(
                    "--test is for text and graphs: a model of pictures has --images and --masks",
                ));
            }
            Some(GraphModel::Grid(model)) => page.model = show(&model.names()),
            None => {
                let model = input::read_model(path)?;
                page.model = show(&model.names());
                if let Some(test) = test {
                    let loaded = [Loaded::Weighted(model)];
                    let gold =
                        Gold { samples: true, ..Gold::new(&loaded[0], &args.input, args.label_column) };
                    let found = evaluate(&loaded, test, &gold, threads)?;
                    found.report_unknown_labels();
                    page.evaluations.push(found.into_part(test));
                }
            }
        }
    }
    write(&page, &args.output)?;
    Ok(ExitCode::SUCCESS)
}

/// The runs of some logs, each under a name of its own.
pub fn named_runs(paths: &[PathBuf], read: impl Fn(&Path) -> Result<Run>) -> Result<Vec<Run>> {
    let all_differ = |names: &[String]| names.iter().collect::<HashSet<_>>().len() == names.len();
    let mut names: Vec<String> = paths.iter().map(|path| run_name(path)).collect();
    if !all_differ(&names) {
        names = paths.iter().map(|path| input::name(path)).collect();
    }
    if !all_differ(&names) {
        return Err(usage("one log is given twice"));
    }
    paths.iter().zip(names).map(|(path, name)| Ok(Run { name, ..read(path)? })).collect()
}

/// The run of a log.
pub fn read_log(path: &Path) -> Result<Run> {
    let name = input::name(path);
    let file = File::open(path).map_err(|error| Error::io(&*name, error))?;
    Ok(Run::read(BufReader::new(file), &name)?)
}

/// What a page calls the run of a log, or of a model: the file's name without folder and ending.
pub fn run_name(path: &Path) -> String {
    path.file_stem().map_or_else(|| input::name(path), |stem| stem.to_string_lossy().into_owned())
}

/// Writes a page, whole or not at all.
pub fn write(page: &Page, path: &Path) -> Result<()> {
    let mut html = Vec::new();
    page.write_html(&mut html)?;
    Ok(write_atomically(path, &html)?)
}
