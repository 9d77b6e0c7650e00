//! `crfkit train`: from data to a model file, in the same way for every kind of model.

mod calibrate;
mod checkpoint;
pub mod data;
mod empirical;
mod finish;
mod listener;
mod session;
mod stream;

use crate::args::{Format, Init, Penalty, PriorMean, Rules, TrainArgs};
use crate::error::{some, usage};
use crate::flags::{Given, ModelKind};
use crate::io::{is_stdin, name, open_model};
use crate::paths::{Named, check_apart, check_inputs_kept, outputs};
use anyhow::{Context, Result};
use crfkit::chain::ChainDomain;
use crfkit::checkpoint::fingerprint;
use crfkit::domain::{Corpus, WeightedModel};
use crfkit::files::check_writable;
use crfkit::grid::GridDomain;
use crfkit::linked::LinkedDomain;
use crfkit::model::Features;
use crfkit::train::{TrainOptions, train};
use crfkit::typed::TypedDomain;
use data::{TrainingData, counts, read_dev, recorded};
use session::Session;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Trains a model and writes it.
pub fn run(args: &TrainArgs) -> Result<ExitCode> {
    let kind = kind(args);
    args.given.check_training(kind)?;
    check_effects(args, &args.given)?;
    check(args, kind)?;
    match kind {
        ModelKind::Stream => stream::run(args),
        ModelKind::Counts => empirical::run(args),
        ModelKind::Chain => learn::<ChainDomain>(args),
        ModelKind::Factorial | ModelKind::SkipChain => learn::<LinkedDomain>(args),
        ModelKind::File => learn::<TypedDomain>(args),
        ModelKind::Grid => learn::<GridDomain>(args),
    }
}

/// The kind of model that the arguments ask for.
pub fn kind(args: &TrainArgs) -> ModelKind {
    match args.grid.graph {
        _ if args.stream => ModelKind::Stream,
        _ if args.empirical.method.is_some() => ModelKind::Counts,
        graph => graph,
    }
}

/// Trains by minimising an objective.
fn learn<D: TrainingData>(args: &TrainArgs) -> Result<ExitCode> {
    let settings = args.settings(D::KIND)?;
    settings.check(D::KIND).map_err(usage)?;
    D::check(args)?;
    let mut session = Session::new(args)?;
    session.progress.step(|| "reading".into());
    let corpus = D::read_training(args)?;
    let features = corpus.features(&settings);
    let dev = read_dev(args, &corpus.domain)?;
    let counts = counts(&corpus, &features);
    session.progress.note(&D::describe(&corpus, &counts, &settings));
    calibrate::check_size(args, counts.sequences)?;

    let models = StartModels::open(args)?;
    let mut start = TrainOptions { dev, ..models.weights(args, &corpus, &features)? };
    let notes = models.lost_labels(args, &corpus).into_iter().chain(without_effect(
        args,
        &start.theta,
        &start.prior_mean,
    ));
    notes.for_each(|note| session.progress.note(&note));
    // Calibration may train a second model, which starts like the first one.
    let models = args.calibrate.then_some(models);
    start.resume = session.resume(|| fingerprint(&corpus, &settings, &start))?;

    let recorded = recorded(args, &corpus, &settings)?;
    session.begin(counts, &recorded, start.resume.is_some())?;
    let (mut trained, clock) =
        session.train(counts.tokens, |listener| train(corpus, features, &settings, start, listener))?;
    let calibrated = models.map_or(Ok(()), |models| D::calibrate(&session, &models, &mut trained));
    let status = finish::finish(session, (trained, clock))?;
    calibrated.context("the model is written, but has no temperature")?;
    Ok(status)
}

/// The models of --init and --prior-mean. Each is opened once, however many models are trained: it may come through a pipe.
pub struct StartModels<D: TrainingData> {
    init: Option<Arc<WeightedModel<D>>>,
    prior_mean: Option<Arc<WeightedModel<D>>>,
}

impl<D: TrainingData> StartModels<D> {
    /// Opens those that the arguments ask for.
    pub fn open(args: &TrainArgs) -> Result<Self> {
        let init = match &args.init {
            Some(Init::Model(path)) => Some((path, model_of::<D>(path).context("--init")?)),
            _ => None,
        };
        let prior_mean = match (&args.prior_mean, &init) {
            (PriorMean::Model(path), Some((same, model))) if path == *same => Some(model.clone()),
            (PriorMean::Model(path), _) => Some(model_of::<D>(path).context("--prior-mean")?),
            (PriorMean::Value(_), _) => None,
        };
        Ok(StartModels { init: init.map(|(_, model)| model), prior_mean })
    }

    /// The first weights and the mean of the prior for a corpus; empty where there is no model.
    pub fn weights(
        &self,
        args: &TrainArgs,
        corpus: &Corpus<D>,
        features: &Features,
    ) -> Result<TrainOptions<D>> {
        let of = |model: &Option<Arc<WeightedModel<D>>>, flag: &'static str| match model {
            Some(model) => model.weights_for(corpus, features).context(flag),
            None => Ok(Vec::new()),
        };
        Ok(TrainOptions {
            theta: of(&self.init, "--init")?,
            prior_mean: of(&self.prior_mean, "--prior-mean")?,
            dev: None,
            resume: None,
            threads: args.input.threads(),
        })
    }

    /// Names the labels of the model of --init that the training data does not have: the new model will not know them.
    fn lost_labels(&self, args: &TrainArgs, corpus: &Corpus<D>) -> Option<String> {
        let (Some(first), Some(Init::Model(path))) = (&self.init, &args.init) else { return None };
        let (old, new) = (first.domain.label_sets(), corpus.domain.label_sets());
        let known: HashSet<_> =
            new.iter().flat_map(|set| set.labels.iter().map(|label| (set.name.as_deref(), label))).collect();
        let old = old.iter().flat_map(|set| set.labels.iter().map(|label| (set.name.as_deref(), label)));
        let lost: Vec<String> =
            old.filter(|label| !known.contains(label)).map(|(_, label)| label.clone()).collect();
        let text = "has labels that the training data does not have, so the new model will not know them";
        (!lost.is_empty()).then(|| format!("note: {} {text}: {}", name(path), some(&lost)))
    }
}

/// Names the models of --init and --prior-mean that have no weight of the new model.
fn without_effect(args: &TrainArgs, theta: &[f64], mean: &[f64]) -> Vec<String> {
    let mut models = Vec::new();
    if let Some(Init::Model(path)) = &args.init {
        models.push((path, "--init", theta));
    }
    if let PriorMean::Model(path) = &args.prior_mean {
        models.push((path, "--prior-mean", mean));
    }
    let zero = |weights: &[f64]| weights.iter().all(|weight| *weight == 0.0);
    let nothing = models.into_iter().filter(|(_, _, weights)| zero(weights));
    let text = "has no weight with the name of a weight of the new model, so it has no effect";
    nothing.map(|(path, flag, _)| format!("note: {flag}: {} {text}", name(path))).collect()
}

/// The model in a file, which must be of this kind.
fn model_of<D: TrainingData>(path: &Path) -> Result<Arc<WeightedModel<D>>> {
    open_model(path)?.weighted::<D>().with_context(|| {
        format!("{}: the model is of another kind, but one of {} is needed here", name(path), D::NEEDED)
    })
}

/// Rejects flags that would have no effect beside the others, or on data of this format.
pub fn check_effects(args: &TrainArgs, given: &Given) -> Result<()> {
    let input = &args.input;
    let attributes = input.format == Some(Format::Attributes) && args.grid.graph == ModelKind::Chain;
    let conllu = |path: &PathBuf| input.reading(None).format_of(path, Format::Columns) == Format::Conllu;
    let tests = [
        (
            "patience",
            args.dev.is_none() && args.grid.dev_images.is_none(),
            "counts evaluations on development data: give --dev, or leave it out",
        ),
        (
            "fields",
            !args.train.iter().any(conllu),
            "is for CoNLL-U, but the data is in another format: leave it out",
        ),
        (
            "preset",
            attributes,
            "makes features from columns, but attribute lines are features already: leave it out",
        ),
        (
            "label-column",
            attributes,
            "is for columns, but attribute lines begin with the label: leave it out",
        ),
        (
            "template-dialect",
            args.template.is_none(),
            "is the dialect of --template FILE: give it too, or leave this out",
        ),
    ];
    match tests.into_iter().find(|&(flag, wrong, _)| wrong && given.has(flag)) {
        Some((flag, _, why)) => Err(usage(format!("--{flag} {why}"))),
        None => Ok(()),
    }
}

/// Rejects what is wrong for every kind of model, before any work starts.
pub fn check(args: &TrainArgs, kind: ModelKind) -> Result<()> {
    if matches!(kind, ModelKind::Stream | ModelKind::Counts) && args.grid.graph != ModelKind::Chain {
        return Err(usage("--stream and --method are for plain chains: leave out --graph"));
    }
    let auto = args.sigma == Some(Penalty::Auto) || args.l1 == Penalty::Auto;
    if auto && matches!(kind, ModelKind::Stream | ModelKind::Counts) {
        return Err(usage(
            "--sigma auto and --l1 auto train several times, which --stream and --method cannot: give numbers",
        ));
    }
    if args.label_column.len() > 1 && kind != ModelKind::Factorial {
        return Err(usage("several label columns need --graph factorial: add it, or give one column"));
    }
    if kind == ModelKind::Grid && (args.grid.images.is_none() || args.grid.masks.is_none()) {
        return Err(usage("--graph grid trains on images: give --images DIR and --masks DIR"));
    }
    if kind != ModelKind::Grid && args.train.is_empty() {
        return Err(usage("there is no training data: give a file, or - for standard input"));
    }
    if args.seconds.is_some_and(|seconds| seconds.is_nan() || seconds <= 0.0) {
        return Err(usage("--seconds must be a positive number"));
    }
    check_inputs(args.train.iter().chain(&args.dev).chain(&args.empirical.heldout))?;
    check_aliases(args, None)?;
    Ok(outputs(args).iter().try_for_each(|(_, path)| check_writable(path))?)
}

/// Rejects outputs, `more` among them, that are also inputs, or each other. A model that only gives the first weights or the prior may be
/// replaced by the new one: it is read before training begins, and the new one takes its place whole.
pub fn check_aliases(args: &TrainArgs, more: Option<Named>) -> Result<()> {
    let (mut outputs, grid) = (outputs(args), &args.grid);
    outputs.extend(more);
    let given = [
        ("the development data", &args.dev),
        ("the vectors of the development data", &args.dev_vectors),
        ("the held-out data", &args.empirical.heldout),
        ("the template", &args.template),
        ("the directory of training images", &grid.images),
        ("the directory of training masks", &grid.masks),
        ("the directory of development images", &grid.dev_images),
        ("the directory of development masks", &grid.dev_masks),
    ];
    let given = given.into_iter().filter_map(|(what, path)| Some((what, path.as_deref()?)));
    let vectors = args.input.vectors.iter().map(|path| ("the vectors of the training data", &**path));
    let rules = args.constraint.as_deref().filter(|path| matches!(Rules::of(path), Rules::File(_)));
    let rules = rules.map(|path| ("the file of rules", path));
    let training = args.train.iter().map(|path| ("training data", &**path));
    let inputs: Vec<Named> = training.chain(given).chain(vectors).chain(rules).collect();
    check_inputs_kept(&outputs, &inputs)?;
    let mut models: Vec<Named> = Vec::new();
    if let Some(Init::Model(path)) = &args.init {
        models.push(("the model of --init", path));
    }
    if let PriorMean::Model(path) = &args.prior_mean {
        models.push(("the model of --prior-mean", path));
    }
    check_inputs_kept(&outputs[1..], &models)?;
    check_apart(&outputs)
}

/// Rejects standard input that is given twice.
fn check_inputs<'a>(inputs: impl Iterator<Item = &'a PathBuf>) -> Result<()> {
    match inputs.filter(|path| is_stdin(path)).count() > 1 {
        true => Err(usage("standard input is given twice, but can be read only once")),
        false => Ok(()),
    }
}
