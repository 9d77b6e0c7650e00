//! Training: a corpus of typed graphs and settings in, a model out.

use super::{TypedCorpus, TypedModel};
use crate::model::Features;
use crate::train::{Fitted, GraphStart, GraphTrained, Listener, Settings, check_graph_settings, fit_graphs};
use crate::{Error, Result};
use std::sync::Arc;

/// What a run needs besides corpus and settings.
pub type TypedStart = GraphStart;

/// A trained model and how the training went.
pub type TypedTrained = GraphTrained<TypedModel>;

/// The features that a corpus has: all labellings of everything that is observed.
pub fn features(corpus: &TypedCorpus) -> Result<Features> {
    corpus.types.features(&corpus.name_counts())
}

/// Trains a model. `features` are those of [`features`].
pub fn train(
    corpus: TypedCorpus,
    features: Features,
    settings: &Settings,
    start: TypedStart,
    listener: &mut dyn Listener,
) -> Result<TypedTrained> {
    check_graph_settings(settings)?;
    let TypedCorpus { types, names, data } = corpus;
    let Fitted { theta: weights, stop, passes, objective } =
        fit_graphs(data, Arc::new(features), settings, &start, listener)?;
    let settings = serde_json::to_value(settings).map_err(|e| Error::Setting(e.to_string()))?;
    let model = TypedModel { types, names, weights, engine: start.engine, settings };
    Ok(TypedTrained { model, stop, passes, objective })
}
