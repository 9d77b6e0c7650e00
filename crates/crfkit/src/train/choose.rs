//! The choice of σ and of the L1 penalty by the score on held-out data.

use super::fit::score_of;
use super::{Checkpoint, Control, Event, Listener, StopReason, TrainOptions, Trained, train_with};
use crate::data::dataset::Dataset;
use crate::domain::{Corpus, Dev, Domain};
use crate::math::random::Random;
use crate::model::Features;
use crate::settings::{Method, Settings, Tuning, TuningTrial};
use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// One example in this many is held out.
const HELD_OUT: usize = 10;
/// σ changes by this factor from one trial to the next.
const SIGMA_STEP: f64 = 2.0;
/// The L1 penalties that can be tried, and the first of them.
const L1S: [f64; 8] = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];
const FIRST_L1: usize = 3;
/// A climb makes at most this many trials, so that the search ends.
const TRIALS: i32 = 3;
/// Trials after the first start from good weights. They get this share of the first one's passes.
const SHARE: f64 = 0.5;
/// The last run starts from good weights too. It gets this share of the first trial's passes.
const LAST_SHARE: f64 = 1.25;
/// Two scores are equal if their numbers of mistakes differ by less than this times the square root of the mistakes. Labels that two
/// similar models disagree on are about a quarter of the mistakes, so this is one standard deviation of the difference.
const CHANCE: f64 = 0.5;

/// The penalties that were chosen.
pub(super) struct Chosen {
    /// The settings with these penalties.
    pub settings: Settings,
    /// The weights of the best trial.
    pub theta: Vec<f64>,
    /// Whether the listener has stopped the search.
    pub stopped: bool,
}

/// Tries penalties, each from the weights of the best one so far, and chooses. σ doubles as long as the score rises, or
/// else is halved as long as it rises; then the L1 penalty grows as long as the score does not fall. Of scores that are
/// equal but for chance, it takes the σ nearest to the first one, since nothing speaks against it, and the largest L1 penalty,
/// which has the smallest model. A listener that stops a trial ends the search.
pub(super) fn choose<D: Domain>(
    corpus: &Corpus<D>,
    features: &Features,
    settings: &Settings,
    start: &TrainOptions<D>,
    listener: &mut dyn Listener,
) -> Result<Chosen> {
    let what = settings.choose;
    let split = match &start.dev {
        Some(dev) => (corpus.data.clone(), dev.clone()),
        None => hold_out(corpus, settings.seed)?,
    };
    let l1 = if what.l1 { 0.0 } else { settings.l1 };
    let mut search = Search {
        settings: Settings { choose: Tuning::default(), ..settings.clone() },
        corpus,
        features,
        split,
        start,
        listener,
        tried: Vec::new(),
        best: None,
        passes: None,
        stopped: false,
    };
    let mut chosen = search.attempt(settings.sigma, l1)?;
    if what.sigma {
        search.climb(|step| Some((settings.sigma * SIGMA_STEP.powi(step), l1)), false)?;
        let distance = |tried: &TuningTrial| (tried.sigma / settings.sigma).ln().abs();
        chosen = search.equals().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(chosen);
    }
    if what.l1 {
        let sigma = chosen.sigma;
        let next = |step: i32| {
            let place = FIRST_L1.checked_add_signed(if step > 0 { step - 1 } else { step } as isize)?;
            Some((sigma, *L1S.get(place)?))
        };
        search.climb(next, true)?;
        let equals = search.equals().filter(|tried| tried.sigma == sigma);
        chosen = equals.max_by(|a, b| a.l1.total_cmp(&b.l1)).unwrap_or(chosen);
    }
    let TuningTrial { sigma, l1, .. } = chosen;
    let stopped = search.stopped;
    let mut tried = search.tried;
    tried.iter_mut().for_each(|tried| tried.chosen = (tried.sigma, tried.l1) == (sigma, l1));
    let theta = match settings.optimizer {
        Method::Sdca => Vec::new(),
        _ => search.best.map_or(Vec::new(), |best| best.theta),
    };
    Ok(Chosen { settings: with_penalties(settings, tried)?, theta, stopped })
}

/// The examples without a tenth, and that tenth as a development set. Which examples these are depends on the seed.
fn hold_out<D: Domain>(corpus: &Corpus<D>, seed: u64) -> Result<(Dataset<D::Graph>, Dev<D>)> {
    let examples = corpus.data.len();
    if examples < 2 {
        return Err(Error::Setting(
            "`sigma` and `l1` cannot be chosen with a single training example: give a development set, or a number"
                .into(),
        ));
    }
    let mut order: Vec<usize> = (0..examples).collect();
    Random::new(seed).shuffle(&mut order);
    let mut held_out = vec![false; examples];
    order[..examples.div_ceil(HELD_OUT)].iter().for_each(|&example| held_out[example] = true);
    let rest = corpus.data.select(|example| !held_out[example]);
    Ok((rest, Dev::from_data(&corpus.domain, corpus.data.select(|example| held_out[example]))))
}

/// A search over penalties.
struct Search<'a, D: Domain> {
    settings: Settings,
    corpus: &'a Corpus<D>,
    features: &'a Features,
    /// The examples that trials are trained on, and those that they are scored on.
    split: (Dataset<D::Graph>, Dev<D>),
    start: &'a TrainOptions<D>,
    listener: &'a mut dyn Listener,
    tried: Vec<TuningTrial>,
    best: Option<Best>,
    /// Passes of the first trial.
    passes: Option<f64>,
    /// Whether the listener has stopped the search.
    stopped: bool,
}

/// The trial with the best score so far.
struct Best {
    score: f64,
    /// Scores that are lower by less than this are equal.
    chance: f64,
    theta: Vec<f64>,
}

impl<D: Domain> Search<'_, D> {
    /// Makes trials 1, 2, … of `next` while the score rises, or if not even the first one does, trials −1, −2, …. If
    /// growing penalties are `welcome`, it is enough for trials 1, 2, … that the score does not fall by more than chance.
    fn climb(&mut self, next: impl Fn(i32) -> Option<(f64, f64)>, welcome: bool) -> Result<()> {
        for direction in [1, -1] {
            for step in 1..=TRIALS {
                let (Some((sigma, l1)), Some(best)) = (next(direction * step), &self.best) else {
                    return Ok(());
                };
                let (before, least) = (best.score, best.score - best.chance);
                let settings = Settings { sigma, l1, ..self.settings.clone() };
                if self.stopped || settings.check(D::KIND).is_err() {
                    return Ok(());
                }
                let score = self.attempt(sigma, l1)?.score;
                let rises = score > before || welcome && direction > 0 && score >= least;
                match (rises, step) {
                    (false, 1) => break,
                    (false, _) | (true, TRIALS) => return Ok(()),
                    (true, _) => {}
                }
            }
        }
        Ok(())
    }

    /// The trials whose scores equal the best one, but for chance.
    fn equals(&self) -> impl Iterator<Item = TuningTrial> {
        let least = self.best.as_ref().map_or(f64::NEG_INFINITY, |best| best.score - best.chance);
        self.tried.iter().copied().filter(move |tried| tried.score >= least)
    }

    /// Trains with these penalties and scores the result.
    fn attempt(&mut self, sigma: f64, l1: f64) -> Result<TuningTrial> {
        // SDCA begins with answers, not with weights.
        let warm = self.settings.optimizer != Method::Sdca;
        let share = self.passes.filter(|_| warm).map(|passes| (passes * SHARE).ceil() as usize);
        let passes = share.into_iter().chain(self.settings.passes).min();
        let settings = Settings { sigma, l1, passes, ..self.settings.clone() };
        let (data, dev) = &self.split;
        let corpus = Corpus { domain: self.corpus.domain.clone(), data: data.clone() };
        let start = TrainOptions {
            theta: match &self.best {
                Some(best) if warm => best.theta.clone(),
                _ => self.start.theta.clone(),
            },
            prior_mean: self.start.prior_mean.clone(),
            threads: self.start.threads,
            ..TrainOptions::default()
        };
        let mut trial = Trial { listener: &mut *self.listener, sigma, l1 };
        let trained = train_with(corpus, self.features.clone(), &settings, start, false, &mut trial)?;
        let Trained { model, passes, stop, .. } = trained;
        let judgement =
            dev.judge(&model.domain, &model.features, &model.weights, &model.settings, self.start.threads)?;
        let scores = model.domain.scores(&judgement);
        let score = score_of(&scores);
        let best = self.best.as_ref().is_none_or(|best| score > best.score);
        if best {
            let labels = scores.tokens as f64;
            let chance = 100.0 * CHANCE * (labels * (100.0 - score) / 100.0).max(0.0).sqrt() / labels;
            self.best = Some(Best { score, chance, theta: model.weights.to_vec() });
        }
        self.passes.get_or_insert(passes);
        let tried = TuningTrial { sigma, l1, passes, score, chosen: false };
        self.tried.push(tried);
        let event = Event::Trial { sigma, l1, passes, objective: None, score: Some((score, best)) };
        let control = self.listener.event(&event)?;
        self.stopped |= control == Control::Stop || stop == StopReason::Listener;
        Ok(tried)
    }
}

/// Reports the run of a trial. Checkpoints are those of the run that follows the search.
struct Trial<'a> {
    listener: &'a mut dyn Listener,
    sigma: f64,
    l1: f64,
}

impl Listener for Trial<'_> {
    fn event(&mut self, event: &Event) -> Result<Control> {
        match *event {
            Event::Progress { passes, objective, .. } | Event::InitialWeights { passes, objective } => {
                let Trial { sigma, l1, .. } = *self;
                self.listener.event(&Event::Trial { sigma, l1, passes, objective, score: None })
            }
            _ => Ok(Control::Continue),
        }
    }

    fn stop_flag(&mut self) -> Option<Arc<AtomicBool>> {
        self.listener.stop_flag()
    }
}

/// The settings of an interrupted run whose search had ended.
pub(super) fn resumed(settings: &Settings, checkpoint: &Checkpoint) -> Result<Settings> {
    with_penalties(settings, checkpoint.tried.clone())
}

/// The settings with the penalties that were chosen.
fn with_penalties(settings: &Settings, tried: Vec<TuningTrial>) -> Result<Settings> {
    let limit = tried.first().map(|first| (first.passes * LAST_SHARE).ceil() as usize);
    let passes = settings.passes.or(limit);
    match tried.iter().find(|tried| tried.chosen) {
        Some(&TuningTrial { sigma, l1, .. }) => Ok(Settings { sigma, l1, tried, passes, ..settings.clone() }),
        None => Err(Error::Setting("the checkpoint does not hold the penalties of its run".into())),
    }
}
