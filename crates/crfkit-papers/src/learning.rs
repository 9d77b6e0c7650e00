//! Learning curves of linear chains.

use crate::chart::Line;
use crfkit::chain::{ChainCorpus, ChainDev, ChainModel, CorpusBuilder, Sequence};
use crfkit::data::columns::Columns;
use crfkit::data::observer::Source;
use crfkit::data::template::Templates;
use crfkit::domain::Domain;
use crfkit::eval::Scores;
use crfkit::model::Features;
use crfkit::optim::{Control, Minimum, Objective, Prior, Problem, Progress, State, Stop, Watch};
use crfkit::risk::Derivative;
use crfkit::tag::Tagger;
use crfkit::train::{self, Kind, Settings};
use crfkit::{Error, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Training and test data with one alphabet.
pub struct Task {
    /// The training data.
    pub corpus: ChainCorpus,
    /// The test data.
    pub test: ChainDev,
    /// The test data as text.
    pub sentences: Vec<Columns>,
}

/// The state of a run at one moment.
#[derive(Clone, Debug)]
pub struct Point {
    /// The number of evaluations of the training set.
    pub passes: f64,
    /// Seconds of training, not counting evaluation.
    pub seconds: f64,
    /// Scores on the test data.
    pub scores: Scores,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The states in order; the last is the end, unless the run diverged.
    pub points: Vec<Point>,
    /// The final weights; empty if the run diverged.
    pub theta: Vec<f64>,
    /// Why the run ended; `None` if it diverged.
    pub stop: Option<Stop>,
}

impl Curve {
    /// The last state.
    pub fn last(&self) -> Option<&Point> {
        self.points.last()
    }

    /// F1 at the end; NaN if the run diverged.
    pub fn final_f1(&self) -> f64 {
        self.stop.and(self.last()).map_or(f64::NAN, |point| point.scores.f1)
    }

    /// The largest F1.
    pub fn best_f1(&self) -> f64 {
        self.points.iter().map(|point| point.scores.f1).fold(0.0, f64::max)
    }

    /// The first state in which F1 was at least `f1`.
    fn moment(&self, f1: f64) -> Option<&Point> {
        self.points.iter().find(|point| point.scores.f1 >= f1)
    }

    /// The passes until F1 was at least `f1`; ∞ if it never was.
    pub fn passes_to(&self, f1: f64) -> f64 {
        self.moment(f1).map_or(f64::INFINITY, |point| point.passes)
    }

    /// The seconds until F1 was at least `f1`; ∞ if it never was.
    pub fn seconds_to(&self, f1: f64) -> f64 {
        self.moment(f1).map_or(f64::INFINITY, |point| point.seconds)
    }

    /// F1 against passes.
    pub fn line(&self, name: &str) -> Line {
        let points = self.points.iter().map(|point| [point.passes, point.scores.f1]).collect();
        Line { name: name.into(), points }
    }
}

/// Fractions of the first pass after which the online methods are also evaluated.
pub const EARLY: [f64; 4] = [0.05, 0.1, 0.2, 0.5];

impl Task {
    /// Makes a task. Labels are in the last column.
    pub fn new(train: &[Columns], test: &[Columns], templates: Templates, min_count: u32) -> Result<Self> {
        let mut builder = CorpusBuilder::new(Source::Templates(templates));
        for sequence in train {
            builder.add_columns(sequence, sequence.columns() - 1)?;
        }
        let corpus = builder.finish(min_count)?;
        let mut dev = ChainDev::new(&corpus.domain);
        for rows in test {
            let sequence = Sequence::Columns { rows: rows.clone(), label_column: Some(-1) };
            dev.add(&corpus.domain, &sequence)?;
        }
        Ok(Task { corpus, test: dev, sentences: test.to_vec() })
    }

    /// The features for these settings.
    pub fn features(&self, settings: &Settings) -> Arc<Features> {
        Arc::new(train::features(&self.corpus, settings))
    }

    /// Scores of weights on the test data.
    pub fn scores(&self, features: &Features, theta: &[f64], settings: &Settings) -> Result<Scores> {
        self.scores_on(&self.test, features, theta, settings)
    }

    /// Scores of weights on other data.
    pub fn scores_on(
        &self,
        data: &ChainDev,
        features: &Features,
        theta: &[f64],
        settings: &Settings,
    ) -> Result<Scores> {
        let domain = &self.corpus.domain;
        Ok(domain.scores(&data.judge(domain, features, theta, settings, 0)?))
    }

    /// The losses on the training data; with 0 threads all processors are used.
    pub fn losses(&self, settings: &Settings, threads: usize) -> Result<Box<dyn Objective>> {
        let pieces = settings.pieces.unwrap_or_default();
        let (features, data) = (self.features(settings), self.corpus.data.clone());
        settings.objective.objective(pieces, Derivative::Dual, features, data, threads)
    }

    /// The losses and the penalty of these weights on the training data.
    pub fn objective(&self, settings: &Settings, theta: &[f64]) -> Result<f64> {
        let objective = self.losses(settings, 0)?;
        let prior = Prior::gaussian(settings.sigma);
        let problem = Problem { objective: objective.as_ref(), prior, l1: settings.l1 };
        Ok(problem.smooth(theta, &mut vec![0.0; theta.len()]) + problem.l1_penalty(theta))
    }

    /// A tagger with these weights.
    pub fn tagger(&self, theta: &[f64], settings: &Settings) -> Tagger<ChainModel> {
        Tagger::new(Arc::new(ChainModel {
            domain: self.corpus.domain.clone(),
            features: self.features(settings),
            weights: theta.to_vec().into(),
            settings: settings.clone(),
        }))
    }

    /// The labels of all test sentences: those that have the largest mean marginal over the taggers.
    pub fn label(&self, taggers: &mut [Tagger<ChainModel>]) -> Result<Vec<Vec<&str>>> {
        let labels = &self.corpus.domain.labels;
        let mut all = Vec::with_capacity(self.sentences.len());
        for sentence in &self.sentences {
            for tagger in taggers.iter_mut() {
                tagger.load_columns(sentence)?;
            }
            if let Some((first, others)) = taggers.split_first_mut() {
                first.answers().average(others.iter_mut().map(Tagger::answers));
                all.push(first.max_marginal().iter().map(|&y| labels[y as usize].as_str()).collect());
            }
        }
        Ok(all)
    }

    /// Trains without evaluating on the test data, and returns the weights.
    pub fn train(&self, settings: &Settings) -> Result<Vec<f64>> {
        let curve = self.once(settings, None, false)?;
        match curve.stop {
            Some(_) => Ok(curve.theta),
            None => Err(Error::Setting(format!("{} diverged", settings.optimizer.name()))),
        }
    }

    /// Trains, and evaluates each time the number of passes has grown by a twentieth. `end` stops in the middle of a
    /// pass. Each entry of `early` costs a separate run up to that point.
    pub fn learn(&self, settings: &Settings, early: &[f64], end: Option<f64>) -> Result<Curve> {
        let mut points = Vec::new();
        for &moment in early {
            match self.once(settings, Some(moment), false)? {
                Curve { stop: None, .. } => return Ok(Curve { points, theta: Vec::new(), stop: None }),
                curve => points.extend(curve.points),
            }
        }
        let mut curve = self.once(settings, end, true)?;
        curve.points.splice(0..0, points);
        Ok(curve)
    }

    fn once(&self, settings: &Settings, end: Option<f64>, evaluate: bool) -> Result<Curve> {
        settings.check(Kind::Chain)?;
        let features = self.features(settings);
        let objective = self.losses(settings, 0)?;
        let problem = Problem {
            objective: objective.as_ref(),
            prior: Prior::gaussian(settings.sigma),
            l1: settings.l1,
        };
        let mut watch = Evaluate {
            task: self,
            settings,
            features: &features,
            end,
            evaluate,
            start: Instant::now(),
            paused: Duration::ZERO,
            points: Vec::new(),
        };
        let state = State::start(vec![0.0; features.dim()]);
        match settings.optimizer.optimizer(settings).minimize(&problem, state, &mut watch) {
            Ok(Minimum { theta, stop, passes }) => {
                if watch.points.last().is_none_or(|point| point.passes < passes) {
                    watch.add(passes, &theta)?;
                }
                Ok(Curve { points: watch.points, theta, stop: Some(stop) })
            }
            Err(Error::Diverged { .. }) => Ok(Curve { points: watch.points, theta: Vec::new(), stop: None }),
            Err(error) => Err(error),
        }
    }
}

/// Evaluates while a method runs.
struct Evaluate<'a> {
    task: &'a Task,
    settings: &'a Settings,
    features: &'a Features,
    end: Option<f64>,
    evaluate: bool,
    start: Instant,
    /// The time spent on evaluation.
    paused: Duration,
    points: Vec<Point>,
}

impl Evaluate<'_> {
    fn add(&mut self, passes: f64, theta: &[f64]) -> Result<()> {
        let now = Instant::now();
        let seconds = (now - self.start).saturating_sub(self.paused).as_secs_f64();
        let scores = self.task.scores(self.features, theta, self.settings)?;
        self.paused += now.elapsed();
        self.points.push(Point { passes, seconds, scores });
        Ok(())
    }
}

impl Watch for Evaluate<'_> {
    fn step(&mut self, progress: &Progress, _: &dyn Fn() -> State) -> Result<Control> {
        let due = self.points.last().is_none_or(|point| progress.passes >= 1.05 * point.passes);
        if let Some(theta) = progress.theta.filter(|_| self.evaluate && due) {
            self.add(progress.passes, theta)?;
        }
        // Rounding must not cost a step.
        Ok(match self.end {
            Some(end) if progress.passes >= end - 1e-9 => Control::Stop,
            _ => Control::Continue,
        })
    }
}
