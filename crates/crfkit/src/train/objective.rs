//! The objective that training minimises, open to optimisers from elsewhere.

use super::scales::Scales;
use crate::domain::{Corpus, Domain, WeightedModel};
use crate::model::Features;
use crate::optim::{Objective, Prior, Touched};
use crate::settings::{Kind, Settings};
use crate::{Error, Result};
use std::sync::Arc;

/// The smooth function that training minimises: the sum of all losses plus the Gaussian penalty. An optimiser of your own evaluates it, and
/// [`TrainingObjective::model`] turns the weights that it found into a model.
///
/// The weights are those of features that are scaled as [`Settings::scaling`] asks for. Features without values are not
/// affected. The L1 penalty is not smooth, and not part of it.
///
/// ```
/// use crfkit::chain::{CorpusBuilder, Sequence};
/// use crfkit::data::observer::Source;
/// use crfkit::train::{Settings, TrainingObjective};
///
/// let mut builder = CorpusBuilder::new(Source::Attributes);
/// builder.add(&Sequence::from_features([("NAME", vec![("upper", 1.0)]), ("O", vec![("lower", 1.0)])])?)?;
/// let objective = TrainingObjective::new(builder.finish(1)?, &Settings::default(), 1)?;
/// let mut theta = vec![0.0; objective.dim()];
/// for _ in 0..100 {
///     let (_, gradient) = objective.value_grad(&theta)?;
///     theta.iter_mut().zip(gradient).for_each(|(weight, slope)| *weight -= 0.2 * slope);
/// }
/// assert!(objective.value_grad(&theta)?.0 < objective.value_grad(&vec![0.0; objective.dim()])?.0);
/// let model = objective.model(&theta)?;
/// # Ok::<(), crfkit::Error>(())
/// ```
pub struct TrainingObjective<D: Domain> {
    pub(super) domain: D,
    pub(super) features: Arc<Features>,
    /// With the constraint that the model will have.
    pub(super) settings: Settings,
    scales: Option<Scales>,
    pub(super) prior: Prior,
    pub(super) losses: Box<dyn Objective>,
}

impl<D: Domain> TrainingObjective<D> {
    /// The objective of these settings on a corpus. `threads` = 0 takes all cores; the values do not depend on it.
    pub fn new(corpus: Corpus<D>, settings: &Settings, threads: usize) -> Result<Self> {
        settings.check(D::KIND)?;
        let features = corpus.features(settings);
        TrainingObjective::of(corpus, features, settings, Vec::new(), threads)
    }

    /// The same with given features and means of the prior; if there are no means, the settings have them.
    pub(super) fn of(
        corpus: Corpus<D>,
        features: Features,
        settings: &Settings,
        mut prior_mean: Vec<f64>,
        threads: usize,
    ) -> Result<Self> {
        let Corpus { domain, mut data } = corpus;
        if data.is_empty() {
            return Err(Error::Setting("the training data holds no example".into()));
        }
        let constraint = settings.constraint.or_else(|| domain.observed_constraint(&data));
        let settings = Settings { constraint, compute: settings.numbers(D::KIND), ..settings.clone() };
        data.drop_zeros();
        let scales = Scales::new(&domain, &data, &features, &settings)?;
        if let Some(scales) = &scales {
            scales.scale(&mut data);
            scales.apply(&mut prior_mean, &features);
        }
        let features = Arc::new(features);
        let prior = settings.prior(&features, prior_mean);
        let losses = domain.objective(&settings, features.clone(), data, threads)?;
        Ok(TrainingObjective { domain, features, settings, scales, prior, losses })
    }

    /// Number of weights.
    pub fn dim(&self) -> usize {
        self.features.dim()
    }

    /// Number of examples.
    pub fn examples(&self) -> usize {
        self.losses.examples()
    }

    /// The sum of the losses alone, in the form that the optimisers of this library minimise.
    pub fn losses(&self) -> &dyn Objective {
        self.losses.as_ref()
    }

    /// The Gaussian prior.
    pub fn prior(&self) -> &Prior {
        &self.prior
    }

    /// The value at θ and its gradient.
    pub fn value_grad(&self, theta: &[f64]) -> Result<(f64, Vec<f64>)> {
        self.check("theta", theta)?;
        let mut gradient = vec![0.0; self.dim()];
        let value = self.losses.value_grad(theta, &mut gradient);
        Ok((value + self.prior.add(theta, &mut gradient), gradient))
    }

    /// H·v at θ: the derivative of the gradient in the direction v.
    pub fn hess_vec(&self, theta: &[f64], v: &[f64]) -> Result<Vec<f64>> {
        self.check("theta", theta)?;
        self.check("v", v)?;
        let mut product = vec![0.0; self.dim()];
        self.losses.hess_vec(theta, v, &mut vec![0.0; self.dim()], &mut product);
        self.add_curvature(1.0, v, &mut product);
        Ok(product)
    }

    /// The value of a batch at θ and its gradient: the losses of these examples, and their share of the penalty. So the values of batches that
    /// make up the training set add up to the whole.
    pub fn batch_grad(&self, batch: &[u32], theta: &[f64]) -> Result<(f64, Vec<f64>)> {
        self.check("theta", theta)?;
        let (touched, share) = self.touched(batch)?;
        let (mut rows, mut gradient) = (Vec::new(), vec![0.0; self.dim()]);
        let value = self.losses.batch_grad(batch, theta, &touched, &mut rows);
        touched.scatter(&rows, &mut gradient);
        let mut pull = vec![0.0; self.dim()];
        let penalty = self.prior.add(theta, &mut pull);
        gradient.iter_mut().zip(pull).for_each(|(slope, pull)| *slope += share * pull);
        Ok((value + share * penalty, gradient))
    }

    /// H·v of a batch at θ; see [`TrainingObjective::batch_grad`].
    pub fn batch_hess_vec(&self, batch: &[u32], theta: &[f64], v: &[f64]) -> Result<Vec<f64>> {
        self.check("theta", theta)?;
        self.check("v", v)?;
        let (touched, share) = self.touched(batch)?;
        let (mut gradient, mut rows, mut product) = (Vec::new(), Vec::new(), vec![0.0; self.dim()]);
        self.losses.batch_hess_vec(batch, [theta, v], &touched, &mut gradient, &mut rows);
        touched.scatter(&rows, &mut product);
        self.add_curvature(share, v, &mut product);
        Ok(product)
    }

    /// The model with these weights.
    pub fn model(&self, theta: &[f64]) -> Result<WeightedModel<D>> {
        self.check("theta", theta)?;
        let weights = self.unscaled(theta.to_vec());
        Ok(made(self.domain.clone(), self.features.clone(), self.settings.clone(), weights))
    }

    /// The same, in place of the objective and its examples.
    pub(super) fn into_model(self, theta: Vec<f64>) -> WeightedModel<D> {
        let weights = self.unscaled(theta);
        let TrainingObjective { domain, features, settings, losses, .. } = self;
        drop(losses);
        made(domain, features, settings, weights)
    }

    /// The objective's weights, from those of a model. An empty vector stays empty.
    pub(super) fn scaled(&self, mut theta: Vec<f64>) -> Vec<f64> {
        self.scales.iter().for_each(|scales| scales.apply(&mut theta, &self.features));
        theta
    }

    /// The weights of a model, from those of the objective.
    pub(super) fn unscaled(&self, mut theta: Vec<f64>) -> Vec<f64> {
        self.scales.iter().for_each(|scales| scales.undo(&mut theta, &self.features));
        theta
    }

    fn check(&self, what: &str, vector: &[f64]) -> Result<()> {
        match vector.len() == self.dim() {
            true => Ok(()),
            false => Err(Error::Setting(format!(
                "{what} has {} numbers, but the objective has {} weights",
                vector.len(),
                self.dim()
            ))),
        }
    }

    /// The weights that a batch touches, and its share of the examples.
    fn touched(&self, batch: &[u32]) -> Result<(Touched, f64)> {
        if let Some(example) = batch.iter().find(|&&example| example as usize >= self.examples()) {
            return Err(Error::Setting(format!(
                "the batch has example {example}, but there are {}, counted from 0",
                self.examples()
            )));
        }
        let mut touched = Touched::default();
        self.losses.touched(batch, &mut touched);
        Ok((touched, batch.len() as f64 / self.examples() as f64))
    }

    /// Adds `share` × the curvature of the penalty times v.
    fn add_curvature(&self, share: f64, v: &[f64], product: &mut [f64]) {
        product
            .iter_mut()
            .zip(v)
            .enumerate()
            .for_each(|(i, (out, v))| *out += share * self.prior.precision(i) * v);
    }
}

/// A model whose weights are those of features as they are.
fn made<D: Domain>(
    domain: D,
    features: Arc<Features>,
    mut settings: Settings,
    weights: Vec<f64>,
) -> WeightedModel<D> {
    if D::KIND != Kind::Chain {
        settings.inference.get_or_insert_with(|| domain.engine());
    }
    WeightedModel { domain, features, weights: weights.into(), settings }
}
