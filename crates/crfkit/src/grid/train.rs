//! Training: pictures and settings in, a model out.

use super::{Engine, GridModel, Layout, Pictures, TOLERANCE};
use crate::checkpoint::Digest;
use crate::decode::{AlphaExpansion, GraphCut};
use crate::graph::{Graph, NODES, Neighbours};
use crate::loss::Perceptron;
use crate::model::Features;
use crate::optim::{Control, Objective};
use crate::risk::Risk;
use crate::train::{
    self, Begin, Checkpoint, Criterion, Ended, Event, Fitted, GraphJudge, GraphSum, Listener, check_lengths,
};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where training starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Init {
    /// All weights 0. Approximate engines may not get away from there: neighbours that say nothing teach nothing.
    Zero,
    /// The weights of pixels by logistic regression, those of pairs of equal labels 0.5 (smd-crf-2006 section 5).
    #[default]
    Logistic,
    /// The weights that the run is given ([`Start::theta`]).
    Given,
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
        train::check_graph_settings(&self.training)
    }
}

/// What a run needs besides pictures and settings.
#[derive(Default)]
pub struct Start<'a> {
    /// Weights to start from, for [`Init::Given`].
    pub theta: Vec<f64>,
    /// Mean of the prior, weight by weight; empty where it is one number, that of the settings.
    pub prior_mean: Vec<f64>,
    /// Judges the model after each pass; the best is kept.
    pub judge: Option<GraphJudge<'a, GridModel>>,
    /// An interrupted run to go on with.
    pub resume: Option<Checkpoint>,
    /// Threads; 0 for all cores.
    pub threads: usize,
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

/// A number for everything that decides how a run goes, which binds a checkpoint to it. `judge` names the development data.
pub fn fingerprint(pictures: &Pictures, settings: &Settings, start: &Start, judge: &[u8]) -> u64 {
    let mut digest = Digest::new(settings);
    digest.debug(pictures.layout());
    digest.dataset(pictures.data());
    digest.weights(&start.theta);
    digest.weights(&start.prior_mean);
    digest.bytes(judge);
    digest.finish()
}

/// Trains a model. The result does not depend on the number of threads.
pub fn train(
    pictures: Pictures,
    settings: &Settings,
    start: Start,
    listener: &mut dyn Listener,
) -> Result<Trained> {
    settings.check()?;
    let training = &settings.training;
    if pictures.data().is_empty() {
        return Err(Error::Setting("there is no image to learn from".into()));
    }
    if !training.objective.takes_unlabelled() && !pictures.complete() {
        return Err(Error::Setting(format!(
            "--objective {} needs the label of every pixel: where some are unlabelled, use likelihood or marginal",
            training.objective.name()
        )));
    }
    let layout = pictures.layout().clone();
    let features = Arc::new(layout.features());
    let Start { theta, prior_mean, judge, resume, threads } = start;
    check_lengths(&theta, &prior_mean, features.dim())?;
    let theta = match settings.init {
        _ if resume.is_some() => Vec::new(), // the checkpoint has them
        Init::Zero => vec![0.0; features.dim()],
        Init::Logistic => logistic(&pictures, &features, settings, threads)?,
        Init::Given if theta.is_empty() => {
            return Err(Error::Setting("training is to start from weights that are not given".into()));
        }
        Init::Given => theta,
    };
    let prior = training.prior(&features, prior_mean);
    let risk = objective(pictures, features, settings, threads)?;
    let mut model = Arc::new(GridModel { layout, weights: Vec::new(), settings: settings.clone() });
    let mut judge = judge.map(|judge| {
        |theta: &[f64]| {
            Arc::make_mut(&mut model).weights = theta.to_vec();
            judge(&model)
        }
    });
    let begin = Begin { theta, resume, judge: judge.as_mut().map(|judge| judge as _) };
    let Fitted { theta, stop, passes, objective } =
        train::fit(risk.as_ref(), prior, training, begin, listener)?;
    let model = GridModel { weights: theta, ..Arc::unwrap_or_clone(model) };
    Ok(Trained { model, stop, passes, objective })
}

/// The sum of the losses over all pictures.
fn objective(
    pictures: Pictures,
    features: Arc<Features>,
    settings: &Settings,
    threads: usize,
) -> Result<Box<dyn Objective>> {
    let binary = pictures.layout().labels.len() <= 2;
    Ok(match settings.training.objective {
        Criterion::Perceptron if binary => {
            Box::new(Risk::new(Perceptron(GraphCut), features, pictures.data, threads)?)
        }
        Criterion::Perceptron => {
            let loss = Perceptron(AlphaExpansion::default());
            Box::new(Risk::new(loss, features, pictures.data, threads)?)
        }
        _ => {
            let sum = GraphSum { features, data: pictures.data, threads };
            sum.objective(&settings.training, settings.inference, TOLERANCE)?
        }
    })
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
    let start = Start { threads, ..Start::default() };
    let mut theta = train(pictures.without_pairs()?, &alone, start, &mut Silent)?.model.weights;
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
