//! Training: a corpus of typed graphs and settings in, a model out.

use super::{TypedCorpus, TypedModel, Types};
use crate::checkpoint::Digest;
use crate::model::Features;
use crate::train::{self, GraphStart, GraphTrained, Listener, check_graph_settings, fit_graphs};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a run needs besides corpus and settings.
pub type TypedStart<'a> = GraphStart<'a, TypedModel>;

/// A trained model and how the training went.
pub type TypedTrained = GraphTrained<TypedModel>;

/// Everything that shapes the weights besides the graphs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// σ of the weights of single types, by name; the others have the common one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sigma_of: BTreeMap<String, f64>,
    /// What is minimised and how; what is about text has no meaning here.
    #[serde(flatten)]
    pub training: train::Settings,
}

impl Settings {
    /// Refuses what makes no sense, before any work starts.
    pub fn check(&self) -> Result<()> {
        check_graph_settings(&self.training)?;
        let refuse = |why: String| Err(Error::Setting(why));
        if let Some((name, sigma)) = self.sigma_of.iter().find(|(_, s)| !(s.is_finite() && **s > 0.0)) {
            return refuse(format!("--sigma-of {name}={sigma}: σ must be a positive number"));
        }
        let train::Settings { sigma, sigma_pairs, l1, prior_mean, .. } = self.training;
        let finite = sigma.is_finite() && sigma_pairs.is_none_or(f64::is_finite);
        match self.sigma_of.is_empty() || (finite && l1 == 0.0 && prior_mean == 0.0) {
            true => Ok(()),
            false => refuse(
                "--sigma-of is for a Gaussian prior around 0 on all weights: give a finite --sigma, and leave --l1 and \
                 --prior-mean out"
                    .into(),
            ),
        }
    }

    /// σ of each type in units of the common one.
    ///
    /// A prior on θ with a σ of its own is the common prior on θ′ = θ/s, s = σ_type/σ, where features are multiplied by s: θᵀh = θ′ᵀ(s·h).
    /// So optimisers need not know of types.
    fn scales(&self, types: &Types) -> Result<Vec<f64>> {
        let mut scales = vec![1.0; types.all().len()];
        for (name, sigma_of) in &self.sigma_of {
            let Some(kind) = types.kind(name) else {
                let known: Vec<&str> = types.all().iter().map(|of| of.name.as_str()).collect();
                let known = known.join(", ");
                return Err(Error::Setting(format!(
                    "--sigma-of {name}: there is no such type; types are {known}"
                )));
            };
            let train::Settings { sigma, sigma_pairs, .. } = self.training;
            let common = if kind < types.nodes().len() { sigma } else { sigma_pairs.unwrap_or(sigma) };
            scales[kind] = sigma_of / common;
        }
        Ok(scales)
    }
}

/// The features that a corpus has: all labellings of everything that is observed.
pub fn features(corpus: &TypedCorpus) -> Result<Features> {
    corpus.types.features(&corpus.name_counts())
}

/// A number for everything that decides how a run goes, which binds a checkpoint to it. `judge` names the development data.
pub fn fingerprint(corpus: &TypedCorpus, settings: &Settings, start: &TypedStart, judge: &[u8]) -> u64 {
    let TypedCorpus { types, names, data } = corpus;
    let mut digest = Digest::new(settings);
    digest.debug(&(types.all(), start.engine));
    names.iter().for_each(|names| digest.strings(names));
    digest.dataset(data);
    digest.weights(&start.theta);
    digest.weights(&start.prior_mean);
    digest.bytes(judge);
    digest.finish()
}

/// Trains a model. `features` are those of [`features`].
pub fn train(
    corpus: TypedCorpus,
    features: Features,
    settings: &Settings,
    mut start: TypedStart,
    listener: &mut dyn Listener,
) -> Result<TypedTrained> {
    settings.check()?;
    let scales = settings.scales(&corpus.types)?;
    let TypedCorpus { types, names, mut data } = corpus;
    let features = Arc::new(features);
    if !settings.sigma_of.is_empty() {
        data.scale_values(|kind| scales[kind]);
        scale(&mut start.theta, &features, |kind| 1.0 / scales[kind]);
        scale(&mut start.prior_mean, &features, |kind| 1.0 / scales[kind]);
    }
    let model = TypedModel {
        types,
        names,
        features: features.clone(),
        weights: Vec::new(),
        engine: start.engine,
        settings: serde_json::to_value(settings).map_err(|e| Error::Setting(e.to_string()))?,
    };
    let set = |model: &mut TypedModel, theta: &[f64]| {
        model.weights = theta.to_vec();
        scale(&mut model.weights, &features, |kind| scales[kind]);
    };
    fit_graphs(data, features.clone(), &settings.training, start, model, set, listener)
}

/// Multiplies the weights of each kind.
fn scale(theta: &mut [f64], features: &Features, factor: impl Fn(usize) -> f64) {
    for (kind, rows) in features.rows.iter().enumerate() {
        let weights = theta.iter_mut().skip(rows.base).take(rows.weights());
        weights.for_each(|weight| *weight *= factor(kind));
    }
}
