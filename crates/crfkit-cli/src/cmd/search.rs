//! `crfkit search`: the best settings of a grid.

mod points;

use super::cv::{check_several, held_out, main_score, scores_on};
use super::train::data::{TrainingData, read_dev};
use super::train::{StartModels, check_aliases, kind};
use crate::args::{Folds, SearchArgs, Shown, TrainArgs, TrainingPart};
use crate::error::{stdout_failed, usage};
use crate::flags::ModelKind;
use crate::io::name;
use anyhow::{Context, Result};
use crfkit::chain::ChainDomain;
use crfkit::checkpoint::fingerprint;
use crfkit::domain::{Corpus, Dev};
use crfkit::files::{check_writable, write_atomically};
use crfkit::grid::GridDomain;
use crfkit::linked::LinkedDomain;
use crfkit::train::{Settings, TrainOptions, train};
use crfkit::typed::TypedDomain;
use points::{Log, Point};
use std::io::Write;
use std::process::ExitCode;

/// Without development data, one example of this many is held out.
const HELD_OUT: usize = 10;

/// Trains a model for each point of the grid, and prints their scores.
pub fn run(args: &SearchArgs) -> Result<ExitCode> {
    let first = &args.grid.first;
    check_several(first, &args.given, "search")?;
    let log = args.points.as_deref().map(|path| ("--points", path));
    choices(args).iter().try_for_each(|(_, choice)| check_aliases(choice, log))?;
    args.points.iter().try_for_each(|path| check_writable(path))?;
    let points = match kind(first) {
        ModelKind::Chain => search::<ChainDomain>(args),
        ModelKind::Factorial | ModelKind::SkipChain => search::<LinkedDomain>(args),
        ModelKind::File => search::<TypedDomain>(args),
        ModelKind::Grid => search::<GridDomain>(args),
        ModelKind::Counts | ModelKind::Stream => {
            Err(usage("search trains models by passes over the data: leave out --method and --stream"))
        }
    }?;
    let mut out = Vec::new();
    match args.output {
        Shown::Text => points::table(&points, &mut out)?,
        Shown::Json => points.iter().try_for_each(|point| writeln!(out, "{}", point.json()))?,
    }
    std::io::stdout().write_all(&out).map_err(stdout_failed)?;
    if args.given.has("model") && !first.quiet {
        let _ = writeln!(std::io::stderr(), "crfkit: the best model is in {}", name(&first.model));
    }
    Ok(ExitCode::SUCCESS)
}

/// The flags for each choice of features, with the name of the choice.
fn choices(args: &SearchArgs) -> Vec<(String, TrainArgs)> {
    let grid = &args.grid;
    let base = || grid.first.clone();
    let templates =
        grid.template.iter().map(|path| (name(path), TrainArgs { template: Some(path.clone()), ..base() }));
    let presets =
        grid.preset.iter().map(|preset| (preset.clone(), TrainArgs { preset: preset.clone(), ..base() }));
    let features: Vec<(String, TrainArgs)> =
        if grid.template.is_empty() { presets.collect() } else { templates.collect() };
    let counted = features.into_iter().flat_map(|(name, args)| {
        let of = |min_count: &u32| (name.clone(), TrainArgs { min_count: *min_count, ..args.clone() });
        grid.min_count.iter().map(of).collect::<Vec<_>>()
    });
    counted.collect()
}

fn search<D: TrainingData>(args: &SearchArgs) -> Result<Vec<Point>> {
    let grid = &args.grid;
    let mut log = Log::open(args.points.as_deref())?;
    let usual = grid.first.settings(D::KIND)?;
    let sigmas = if grid.sigma.is_empty() { vec![usual.sigma] } else { grid.sigma.clone() };
    let l1s = if args.given.has("c1") { vec![usual.l1] } else { grid.l1.clone() };
    // Every point is checked before the first is trained.
    for (_, flags) in choices(args) {
        D::check(&flags)?;
        for (&l1, &sigma) in l1s.iter().flat_map(|l1| sigmas.iter().map(move |sigma| (l1, sigma))) {
            let settings = Settings { sigma, l1, ..flags.settings(D::KIND)? };
            settings.check(D::KIND).map_err(usage)?;
        }
    }
    let models = StartModels::<D>::open(&grid.first)?;
    let mut all: Vec<Point> = Vec::new();
    for (features, flags) in choices(args) {
        let part = TrainingPart::without(Folds { count: HELD_OUT, seed: flags.seed }, 0);
        let apart = D::dev_inputs(&flags).is_none();
        let reading = TrainArgs { part: if apart { part } else { TrainingPart::default() }, ..flags.clone() };
        let corpus = D::read_training(&reading)?;
        let dev = match read_dev(&flags, &corpus.domain)? {
            Some(dev) => dev,
            None => held_out(&flags, &corpus.domain, part)?,
        };
        if dev.is_empty() {
            return Err(usage(format!(
                "no sequence is held out: at least {HELD_OUT} are needed, or development data (--dev FILE)"
            )));
        }
        for &l1 in &l1s {
            let mut previous = Vec::new();
            for &sigma in &sigmas {
                let settings = Settings { sigma, l1, ..flags.settings(D::KIND)? };
                let mut point = Point::new(&features, &settings);
                let task = Task { flags: &flags, corpus: &corpus, dev: &dev, models: &models, settings };
                point.fingerprint = task.fingerprint()?;
                let known = log.find(&point);
                let is_known = known.is_some();
                let mut model = None;
                match known {
                    Some(known) => point = known,
                    None => model = Some(task.train(&mut point, &mut previous)?),
                }
                if !flags.quiet {
                    let again = if is_known { " (from the file of points)" } else { "" };
                    let _ = writeln!(std::io::stderr(), "crfkit: {}{again}", point.line());
                }
                all.push(point);
                let best = best(&all);
                if best == all.len() - 1 && args.given.has("model") {
                    if model.is_none() && !flags.model.exists() {
                        let mut again = all[best].clone();
                        model = Some(task.train(&mut again, &mut Vec::new())?);
                    }
                    if let Some(bytes) = model {
                        write_atomically(&flags.model, &bytes)?;
                    }
                }
                // A point that is recorded is not trained again, so its model must be there before.
                if !is_known {
                    log.add(&all[all.len() - 1])?;
                }
            }
        }
    }
    let best = best(&all);
    all[best].best = true;
    Ok(all)
}

/// The point with the best score; of equal ones, the first.
fn best(points: &[Point]) -> usize {
    let mut best = 0;
    for (number, point) in points.iter().enumerate() {
        if point.score > points[best].score {
            best = number;
        }
    }
    best
}

/// A point with the data that it is trained and tested on.
struct Task<'a, D: TrainingData> {
    flags: &'a TrainArgs,
    corpus: &'a Corpus<D>,
    dev: &'a Dev<D>,
    models: &'a StartModels<D>,
    settings: Settings,
}

impl<D: TrainingData> Task<'_, D> {
    /// A number that is the same for the same data and settings.
    fn fingerprint(&self) -> Result<u64> {
        let features = self.corpus.features(&self.settings);
        let start = TrainOptions {
            dev: Some(self.dev.clone()),
            ..self.models.weights(self.flags, self.corpus, &features)?
        };
        Ok(fingerprint(self.corpus, &self.settings, &start))
    }

    /// Trains a model from the weights before, gives the point its score, and returns the bytes of the model.
    fn train(&self, point: &mut Point, previous: &mut Vec<f64>) -> Result<Vec<u8>> {
        let features = self.corpus.features(&self.settings);
        let mut start = self.models.weights(self.flags, self.corpus, &features)?;
        if start.theta.is_empty() {
            start.theta = std::mem::take(previous);
        }
        let trained = train(self.corpus.clone(), features, &self.settings, start, &mut ())
            .with_context(|| point.name.clone())?;
        *previous = trained.model.weights.to_vec();
        let scores = scores_on(&trained.model, self.dev, self.flags.input.threads())?;
        (point.metric, point.score) = main_score(&scores);
        point.weights = trained.model.weights.iter().filter(|w| **w != 0.0).count();
        point.passes = trained.passes;
        let model = match self.flags.shrink {
            Some(threshold) => trained.model.shrink(threshold),
            None => trained.model,
        };
        Ok(model.to_bytes(self.flags.precision)?)
    }
}
