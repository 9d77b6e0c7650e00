//! Training: pictures and settings in, a model out.

use super::engine::WithEngine;
use super::{Engine, GridModel, Layout, Pictures};
use crate::data::dataset::Dataset;
use crate::decode::{AlphaExpansion, GraphCut};
use crate::graph::{FactorGraph, Graph, NODES, Neighbours};
use crate::infer::NodeMarginals;
use crate::loss::{PartialLikelihood, Perceptron, Pseudolikelihood};
use crate::model::Features;
use crate::optim::{Control, Differences, Objective, Optimizer, Problem, Progress, State, Watch};
use crate::risk::{Derivative, Risk};
use crate::train::{self, Criterion, Ended, Event, HessVec, Listener};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where training starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Init {
    /// All weights 0.
    #[default]
    Zero,
    /// The weights of pixels by logistic regression, those of pairs of equal labels 0.5 (smd-crf-2006 section 5).
    Logistic,
}

/// The first weight of pairs with [`Init::Logistic`].
const PAIR_WEIGHT: f64 = 0.5;

/// Everything that shapes the weights besides the pictures and their layout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// How the likelihood's marginals are computed.
    pub inference: Engine,
    /// Where training starts.
    pub init: Init,
    /// What is minimised and how; what is about text has no meaning here.
    #[serde(flatten)]
    pub training: train::Settings,
}

impl Settings {
    /// Refuses what makes no sense, before any work starts.
    pub fn check(&self) -> Result<()> {
        self.training.check()?;
        match self.training.objective {
            Criterion::Likelihood | Criterion::Pseudolikelihood | Criterion::Perceptron => Ok(()),
            other => Err(Error::Setting(format!(
                "--objective {} is for chains: on grids there are likelihood, pseudolikelihood and perceptron",
                other.name()
            ))),
        }
    }
}

/// A trained model and how the training went.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The model.
    pub model: GridModel,
    /// Why training ended.
    pub stop: Ended,
    /// Evaluations of the training set.
    pub passes: f64,
    /// Value at the model's weights: losses plus penalties.
    pub objective: f64,
}

/// Trains a model. `threads` = 0 takes all cores; the result does not depend on it.
pub fn train(
    pictures: Pictures,
    settings: &Settings,
    threads: usize,
    listener: &mut dyn Listener,
) -> Result<Trained> {
    settings.check()?;
    let training = &settings.training;
    if pictures.data().is_empty() {
        return Err(Error::Setting("there is no image to learn from".into()));
    }
    if training.objective != Criterion::Likelihood && !pictures.complete() {
        return Err(Error::Setting(format!(
            "--objective {} needs the label of every pixel: where some are unlabelled, use the likelihood",
            training.objective.name()
        )));
    }
    let layout = pictures.layout().clone();
    let features = Arc::new(layout.features());
    let theta = match settings.init {
        Init::Zero => vec![0.0; features.dim()],
        Init::Logistic => logistic(&pictures, &features, settings, threads)?,
    };
    let hess_vec = training.parameters.hess_vec.unwrap_or_default();
    let risk = objective(pictures, features.clone(), settings, threads)?;
    let differences = Differences::new(risk.as_ref());
    let problem = Problem {
        objective: if hess_vec == HessVec::Differences { &differences } else { risk.as_ref() },
        prior: training.prior(&features, Vec::new()),
        l1: training.l1,
    };
    let optimizer = training.optimizer.optimizer(training);
    check_pair(optimizer.as_ref(), problem.objective, settings)?;
    let mut watcher = Watcher { listener, stopped: false };
    let minimum = optimizer.minimize(&problem, State::start(theta), &mut watcher)?;
    let stop = if watcher.stopped { Ended::Listener } else { Ended::Method(minimum.stop) };
    let (passes, weights) = (minimum.passes, minimum.theta);
    let objective = problem.smooth(&weights, &mut vec![0.0; weights.len()]) + problem.l1_penalty(&weights);
    if !objective.is_finite() {
        let message =
            "the objective is not a finite number; use a smaller step (--eta0) or a smaller --sigma";
        return Err(Error::Diverged { passes, message: message.into() });
    }
    Ok(Trained { model: GridModel { layout, weights, settings: settings.clone() }, stop, passes, objective })
}

/// The sum of the losses over all pictures.
fn objective(
    pictures: Pictures,
    features: Arc<Features>,
    settings: &Settings,
    threads: usize,
) -> Result<Box<dyn Objective>> {
    struct Sum(Arc<Features>, Dataset<FactorGraph>, Derivative, usize);
    impl WithEngine for Sum {
        type Out = Result<Box<dyn Objective>>;
        fn with<I: NodeMarginals + Copy + 'static>(self, engine: I) -> Self::Out {
            let Sum(features, data, derivative, threads) = self;
            let risk = Risk::new(PartialLikelihood(engine), features, data, threads)?;
            Ok(Box::new(risk.with_derivative(derivative)))
        }
    }
    let derivative = match settings.training.parameters.hess_vec {
        Some(HessVec::Complex) => Derivative::Complex,
        _ => Derivative::Dual,
    };
    let binary = pictures.layout().labels.len() <= 2;
    Ok(match settings.training.objective {
        Criterion::Pseudolikelihood => {
            let loss = Pseudolikelihood::<FactorGraph>::default();
            Box::new(Risk::new(loss, features, pictures.data, threads)?.with_derivative(derivative))
        }
        Criterion::Perceptron if binary => {
            Box::new(Risk::new(Perceptron(GraphCut), features, pictures.data, threads)?)
        }
        Criterion::Perceptron => {
            let loss = Perceptron(AlphaExpansion::default());
            Box::new(Risk::new(loss, features, pictures.data, threads)?)
        }
        _ => {
            pictures.graphs().try_for_each(|graph| settings.inference.check(graph))?;
            settings.inference.with(Sum(features, pictures.data, derivative, threads))?
        }
    })
}

/// Refuses a method that needs what the objective does not give.
fn check_pair(optimizer: &dyn Optimizer, objective: &dyn Objective, settings: &Settings) -> Result<()> {
    match optimizer.needs().iter().find(|need| !objective.gives().contains(need)) {
        None => Ok(()),
        Some(need) => Err(Error::Setting(format!(
            "--optimizer {} needs {}, which --objective {} does not give on grids",
            settings.training.optimizer.declaration().name,
            need.name(),
            settings.training.objective.name(),
        ))),
    }
}

/// The weights of [`Init::Logistic`].
fn logistic(
    pictures: &Pictures,
    features: &Features,
    settings: &Settings,
    threads: usize,
) -> Result<Vec<f64>> {
    let alone = Settings {
        inference: Engine::LoopyBp, // exact where there are no pairs
        init: Init::Zero,
        training: train::Settings {
            sigma: settings.training.sigma,
            seed: settings.training.seed,
            ..train::Settings::default()
        },
    };
    let mut theta = train(pictures.without_pairs()?, &alone, threads, &mut Silent)?.model.weights;
    theta.resize(features.dim(), 0.0);
    for rows in features.rows.iter().skip(1) {
        for row in 0..rows.len as u32 {
            let equal = |entry: usize| entry / rows.stride() == entry % rows.stride();
            let weights = &mut theta[rows.range(row)];
            match rows.basis.is_empty() {
                true => weights
                    .iter_mut()
                    .zip(rows.entries_of(row))
                    .filter(|(_, entry)| equal(*entry))
                    .for_each(|(weight, _)| *weight = PAIR_WEIGHT),
                false => weights.fill(PAIR_WEIGHT),
            }
        }
    }
    Ok(theta)
}

impl Pictures {
    /// The same pictures with every pixel for itself.
    pub fn without_pairs(&self) -> Result<Pictures> {
        let mut alone = Pictures::new(Layout { neighbours: Neighbours::None, ..self.layout().clone() })?;
        for example in 0..self.data.len() {
            let graph = self.data.graph(example);
            for (f, table) in self.data.tables(example).enumerate() {
                if graph.own_kind(f) == NODES {
                    let (ids, values) = self.data.observations(table);
                    for (k, &id) in ids.iter().enumerate() {
                        alone.data.push_observation(id, values.get(k).copied().unwrap_or(1.0));
                    }
                    alone.data.finish_table();
                }
            }
            alone.finish(1, graph.vars(), self.data.gold(example).to_vec())?;
        }
        Ok(alone)
    }
}

/// Hears nothing.
struct Silent;

impl Listener for Silent {
    fn event(&mut self, _event: &Event) -> Result<Control> {
        Ok(Control::Continue)
    }
}

/// Turns the method's steps into events.
struct Watcher<'a> {
    listener: &'a mut dyn Listener,
    stopped: bool,
}

impl Watch for Watcher<'_> {
    fn step(&mut self, progress: &Progress, _state: &dyn Fn() -> State) -> Result<Control> {
        let &Progress { passes, objective, gradient_norm, .. } = progress;
        let control = self.listener.event(&Event::Progress { passes, objective, gradient_norm })?;
        self.stopped |= control == Control::Stop;
        Ok(control)
    }
}
