//! Training: a corpus of linked chains and settings in, a model out.

use super::{LinkedCorpus, LinkedModel};
use crate::model::Features;
use crate::train::{Fitted, GraphStart, GraphTrained, Listener, Settings, check_graph_settings, fit_graphs};
use crate::{Error, Result};
use std::sync::Arc;

/// What a run needs besides corpus and settings.
pub type LinkedStart = GraphStart;

/// A trained model and how the training went.
pub type LinkedTrained = GraphTrained<LinkedModel>;

/// The features that a corpus has under these settings.
pub fn features(corpus: &LinkedCorpus, settings: &Settings) -> Features {
    let cards: Vec<usize> = corpus.labels.iter().map(Vec::len).collect();
    let shapes = corpus.links.shapes(&cards, &corpus.templates, &corpus.alphabet);
    Features::new(&corpus.data, shapes.kinds, shapes.node_kinds, &shapes.shared, settings.features)
}

/// Trains a model. `features` are those of [`features`].
pub fn train(
    corpus: LinkedCorpus,
    features: Features,
    settings: &Settings,
    start: LinkedStart,
    listener: &mut dyn Listener,
) -> Result<LinkedTrained> {
    check_graph_settings(settings)?;
    let LinkedCorpus { links, templates, columns, label_columns, labels, alphabet, data } = corpus;
    let features = Arc::new(features);
    let Fitted { theta, stop, passes, objective } =
        fit_graphs(data, features.clone(), settings, &start, listener)?;
    let settings = serde_json::to_value(settings).map_err(|e| Error::Setting(e.to_string()))?;
    let model = LinkedModel {
        links,
        templates,
        columns,
        label_columns,
        labels,
        alphabet,
        features: Arc::unwrap_or_clone(features),
        weights: theta,
        engine: start.engine,
        settings,
    };
    Ok(LinkedTrained { model, stop, passes, objective })
}
