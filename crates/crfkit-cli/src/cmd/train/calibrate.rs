//! `crfkit train --calibrate`: the temperature of a model of chains, at the end of its run.

use super::StartModels;
use super::data::TrainingData;
use super::session::Session;
use crate::args::{Folds, TrainArgs, TrainingPart};
use crate::cmd::cv::data_paths;
use crate::error::usage;
use crate::io::{is_stdin, name};
use anyhow::{Context, Result};
use crfkit::chain::{ChainDomain, ChainModel, Sequence, TemperatureFit};
use crfkit::optim::Control;
use crfkit::settings::Tuning;
use crfkit::train::{Event, Listener, Settings, StopReason, Trained, train};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One sequence in this many is held out where there is no development data.
const HELD_OUT: usize = 10;

/// Rejects what a temperature cannot be fitted to, before anything is read.
pub fn check(args: &TrainArgs) -> Result<()> {
    match &args.dev {
        _ if !args.calibrate => Ok(()),
        Some(path) if is_stdin(path) => {
            Err(usage("--calibrate reads the development data again: give a file, not standard input"))
        }
        Some(_) => Ok(()),
        None if args.seconds.is_some() || args.train.iter().any(|path| is_stdin(path)) => Err(usage(
            "without --dev, --calibrate reads the data again and trains a second model, which goes neither with --seconds nor with \
             standard input: give --dev FILE",
        )),
        None => Ok(()),
    }
}

/// Rejects data of which nothing can be held out, before training.
pub fn check_size(args: &TrainArgs, sequences: usize) -> Result<()> {
    match args.calibrate && args.dev.is_none() && sequences < HELD_OUT {
        true => Err(usage(format!(
            "--calibrate holds out every tenth sequence, but there are only {sequences}: give development data (--dev FILE)"
        ))),
        false => Ok(()),
    }
}

/// Fits the temperature of a model that is trained: to the development data, or else to every tenth sequence, by the probabilities of a
/// second model that is trained without them. That model serves for nothing else: the weights stay those of all data.
pub fn calibrate(
    session: &Session,
    models: &StartModels<ChainDomain>,
    trained: &mut Trained<ChainDomain>,
) -> Result<()> {
    // Time that is up ends the training, not what is asked for after it.
    if trained.stop == StopReason::Listener && session.interrupted() {
        session.progress.note("interrupted: the model has no temperature");
        return Ok(());
    }
    session.progress.step(|| "calibrating".into());
    let args = session.args;
    let fit = if args.partial_labels { ChainModel::calibrate_partial } else { ChainModel::calibrate };
    let fitted = match &args.dev {
        Some(path) => {
            let all = sequences(args, path, &trained.model.domain, |_| true)?;
            fit(&trained.model, &all).with_context(|| name(path))?
        }
        None => {
            let part = TrainingPart::without(Folds { count: HELD_OUT, seed: args.seed }, 0);
            let second = without(args, part, (models, &trained.model.settings), session.stop_flag())?;
            if second.stop == StopReason::Listener {
                trained.stop = StopReason::Listener;
                session.progress.note("interrupted: the model has no temperature");
                return Ok(());
            }
            let (mut held_out, mut before) = (Vec::new(), 0);
            let mut reading = args.clone();
            for (file, path) in data_paths(args).iter().enumerate() {
                reading.dev_vectors = args.input.vectors.get(file).cloned();
                let mut read = 0;
                held_out.extend(sequences(&reading, path, &second.model.domain, |number| {
                    read = number + 1;
                    !part.takes(before + number)
                })?);
                before += read;
            }
            fit(&second.model, &held_out)?
        }
    };
    let TemperatureFit { temperature, losses: [before, after], sequences, left_out, .. } = fitted;
    let without = if left_out > 0 { format!(" ({left_out} left out)") } else { String::new() };
    session.progress.note(&format!(
        "temperature {temperature:.4}; -log p of {sequences} sequences{without}: {before:.6} before, {after:.6} after"
    ));
    trained.model = trained.model.with_temperature(Some(temperature));
    Ok(())
}

/// Trains on a part of the data, with the penalties that the whole was trained with.
fn without(
    args: &TrainArgs,
    part: TrainingPart,
    (models, settings): (&StartModels<ChainDomain>, &Settings),
    stop: Arc<AtomicBool>,
) -> Result<Trained<ChainDomain>> {
    let corpus = ChainDomain::read_training(&TrainArgs { part, ..args.clone() })?;
    let settings = Settings { choose: Tuning::default(), ..settings.clone() };
    let features = corpus.features(&settings);
    let start = models.weights(args, &corpus, &features)?;
    Ok(train(corpus, features, &settings, start, &mut Stoppable(stop))?)
}

/// The sequences of a file that are wanted, by their numbers in it.
fn sequences(
    args: &TrainArgs,
    path: &Path,
    domain: &ChainDomain,
    mut wanted: impl FnMut(usize) -> bool,
) -> Result<Vec<Sequence>> {
    let (mut all, mut number) = (Vec::new(), 0);
    ChainDomain::for_each_dev(args, path, domain, &mut |sequence| {
        if wanted(number) {
            all.push(sequence.clone());
        }
        number += 1;
        Ok(())
    })?;
    Ok(all)
}

/// Hears of Ctrl-C and nothing else.
struct Stoppable(Arc<AtomicBool>);

impl Listener for Stoppable {
    fn event(&mut self, _: &Event) -> crfkit::Result<Control> {
        Ok(if self.0.load(Ordering::SeqCst) { Control::Stop } else { Control::Continue })
    }

    fn stop_flag(&mut self) -> Option<Arc<AtomicBool>> {
        Some(self.0.clone())
    }
}
