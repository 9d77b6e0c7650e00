//! `crfkit cv`: scores by cross-validation.

use super::train::data::{TrainingData, new_dev, read_dev};
use super::train::{StartModels, check, check_effects, kind};
use crate::args::{CvArgs, Folds, Shown, TrainArgs, TrainingPart};
use crate::error::{stdout_failed, usage};
use crate::flags::{Given, ModelKind, single_run};
use crate::io::is_stdin;
use anyhow::{Context, Result};
use crfkit::chain::ChainDomain;
use crfkit::domain::{Dev, WeightedModel};
use crfkit::eval::Scores;
use crfkit::grid::GridDomain;
use crfkit::linked::LinkedDomain;
use crfkit::train::{Settings, train};
use crfkit::typed::TypedDomain;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Trains and tests a model for each fold, and prints the scores.
pub fn run(args: &CvArgs) -> Result<ExitCode> {
    check_several(&args.training.0, &args.given, "cv")?;
    let training = &args.training.0;
    let scores = match kind(training) {
        ModelKind::Chain => cross::<ChainDomain>(args),
        ModelKind::Factorial | ModelKind::SkipChain => cross::<LinkedDomain>(args),
        ModelKind::File => cross::<TypedDomain>(args),
        ModelKind::Grid => cross::<GridDomain>(args),
        ModelKind::Counts | ModelKind::Stream => {
            Err(usage("cv trains models by passes over the data: leave out --method and --stream"))
        }
    }?;
    let mut out = Vec::new();
    match args.output {
        Shown::Text => text(&scores, &mut out)?,
        Shown::Json => writeln!(out, "{}", json(&scores))?,
    }
    std::io::stdout().write_all(&out).map_err(stdout_failed)?;
    Ok(ExitCode::SUCCESS)
}

/// Rejects what does not go with training many models on parts of the data.
pub fn check_several(args: &TrainArgs, given: &Given, verb: &str) -> Result<()> {
    given.check_training(kind(args))?;
    check_effects(args, given)?;
    if let Some(flag) = single_run(verb).find(|flag| given.has(flag)) {
        return Err(usage(format!(
            "--{flag} is for a single run: {verb} trains several models; leave it out"
        )));
    }
    if args.train.iter().any(|path| is_stdin(path)) {
        return Err(usage(format!("{verb} reads the data several times: give a file, not standard input")));
    }
    check(args, kind(args))
}

/// The files that hold the training data; for images their directory.
pub fn data_paths(args: &TrainArgs) -> Vec<PathBuf> {
    args.grid.images.iter().chain(&args.train).cloned().collect()
}

/// The examples of the training data that a model is not trained on.
pub fn held_out<D: TrainingData>(args: &TrainArgs, domain: &D, part: TrainingPart) -> Result<Dev<D>> {
    let mut test = new_dev(args, domain);
    let mut reading = args.clone();
    (reading.grid.dev_images, reading.grid.dev_masks) = (args.grid.images.clone(), args.grid.masks.clone());
    let mut example = 0;
    for (number, path) in data_paths(args).iter().enumerate() {
        reading.dev_vectors = args.input.vectors.get(number).cloned();
        D::for_each_dev(&reading, path, domain, &mut |input| {
            if !part.takes(example) {
                test.add(domain, input)?;
            }
            example += 1;
            Ok(())
        })?;
    }
    Ok(test)
}

/// The scores of a model on a test set.
pub fn scores_on<D: TrainingData>(model: &WeightedModel<D>, test: &Dev<D>, threads: usize) -> Result<Scores> {
    let judged = test.judge(&model.domain, &model.features, &model.weights, &model.settings, threads)?;
    match judged.overall().total {
        0 => Err(usage("the held-out data has no gold label to compare with: label more of it")),
        _ => Ok(model.domain.scores(&judged)),
    }
}

fn cross<D: TrainingData>(args: &CvArgs) -> Result<Vec<Scores>> {
    let training = &args.training.0;
    let settings: Settings = training.settings(D::KIND)?;
    settings.check(D::KIND).map_err(usage)?;
    D::check(training)?;
    let folds = Folds { count: args.folds as usize, seed: training.seed };
    let models = StartModels::open(training)?;
    let mut all = Vec::new();
    for fold in 0..folds.count {
        let of = || format!("fold {} of {}", fold + 1, folds.count);
        let part = TrainingPart::without(folds, fold);
        let reading = TrainArgs { part, ..training.clone() };
        let corpus = D::read_training(&reading).with_context(of)?;
        let test = held_out(training, &corpus.domain, part)?;
        if test.is_empty() {
            return Err(usage(format!(
                "{} has no sequence: there are fewer sequences than folds; give a smaller --folds",
                of()
            )));
        }
        let features = corpus.features(&settings);
        let mut start = models.weights(training, &corpus, &features)?;
        start.dev = read_dev(training, &corpus.domain)?;
        let trained = train(corpus, features, &settings, start, &mut ()).with_context(of)?;
        let scores = scores_on(&trained.model, &test, training.input.threads())?;
        if !training.quiet {
            let _ = writeln!(std::io::stderr(), "crfkit: {}: {}", of(), short(&scores));
        }
        all.push(scores);
    }
    Ok(all)
}

/// The score by which models are compared, with its name.
pub fn main_score(scores: &Scores) -> (&'static str, f64) {
    if scores.chunked { ("F1", scores.f1) } else { ("accuracy", scores.accuracy) }
}

fn short(scores: &Scores) -> String {
    let (name, score) = main_score(scores);
    format!("{name} {score:.2} on {} tokens", scores.tokens)
}

/// The scores that are shown: their names, and how they are found.
type Column = (&'static str, fn(&Scores) -> f64);

fn columns(scores: &[Scores]) -> Vec<Column> {
    let of_chunks: [Column; 3] = [("precision", |s| s.precision), ("recall", |s| s.recall), ("F1", |s| s.f1)];
    let of_all: [Column; 2] = [("accuracy", |s| s.accuracy), ("whole", |s| s.sequence_accuracy)];
    let chunked = scores.iter().any(|scores| scores.chunked);
    // Only plain chains count whole sequences.
    let whole = scores.iter().any(|scores| scores.sequence_accuracy > 0.0);
    let of_all = of_all.into_iter().filter(|(name, _)| whole || *name != "whole");
    of_chunks.into_iter().filter(|_| chunked).chain(of_all).collect()
}

/// Mean and half the width of the 95 % interval of numbers, by Student's t.
fn interval(numbers: &[f64]) -> (f64, f64) {
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, student(numbers.len() - 1) * (variance / n).sqrt())
}

/// The 97.5 % quantile of Student's t.
fn student(freedom: usize) -> f64 {
    const FIRST: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    // Beyond the table, Cornish and Fisher's series is exact to these digits.
    let (z, n) = (1.959_964_f64, freedom as f64);
    let series =
        z + (z.powi(3) + z) / (4.0 * n) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n);
    FIRST.get(freedom.wrapping_sub(1)).copied().unwrap_or(series)
}

fn text(scores: &[Scores], out: &mut Vec<u8>) -> std::io::Result<()> {
    let columns = columns(scores);
    write!(out, "{:<8}{:>10}", "fold", "tokens")?;
    columns.iter().try_for_each(|(name, _)| write!(out, "{name:>12}"))?;
    writeln!(out)?;
    for (fold, of) in scores.iter().enumerate() {
        write!(out, "{:<8}{:>10}", fold + 1, of.tokens)?;
        columns.iter().try_for_each(|(_, score)| write!(out, "{:>12.2}", score(of)))?;
        writeln!(out)?;
    }
    let found: Vec<(f64, f64)> =
        columns.iter().map(|(_, score)| interval(&scores.iter().map(score).collect::<Vec<_>>())).collect();
    write!(out, "{:<8}{:>10}", "mean", "")?;
    found.iter().try_for_each(|(mean, _)| write!(out, "{mean:>12.2}"))?;
    write!(out, "\n{:<8}{:>10}", "95 %", "")?;
    found.iter().try_for_each(|(_, half)| write!(out, "{:>12}", format!("± {half:.2}")))?;
    writeln!(out)
}

fn json(scores: &[Scores]) -> Value {
    let (mut means, mut intervals) = (Map::new(), Map::new());
    for (name, score) in columns(scores) {
        let name = if name == "whole" { "sequence_accuracy".to_owned() } else { name.to_lowercase() };
        let (mean, half) = interval(&scores.iter().map(score).collect::<Vec<_>>());
        means.insert(name.clone(), mean.into());
        intervals.insert(name, json!([mean - half, mean + half]));
    }
    json!({ "folds": scores, "mean": means, "interval": intervals })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_table() {
        let (mean, half) = interval(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(mean, 2.5);
        assert!((half - 3.182 * (5.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-9);
        assert!((student(31) - 2.0395).abs() < 1e-3 && (student(1000) - 1.9623).abs() < 1e-3);
    }
}
