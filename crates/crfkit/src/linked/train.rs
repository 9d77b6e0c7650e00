//! Training: a corpus of linked chains and settings in, a model out.

use super::{LinkedCorpus, LinkedModel};
use crate::checkpoint::Digest;
use crate::model::Features;
use crate::train::{
    GraphJudge, GraphStart, GraphTrained, Listener, Settings, check_graph_settings, fit_graphs,
};
use crate::{Error, Result};
use std::sync::Arc;

/// Scores of a model on development data.
pub type LinkedJudge<'a> = GraphJudge<'a, LinkedModel>;

/// What a run needs besides corpus and settings.
pub type LinkedStart<'a> = GraphStart<'a, LinkedModel>;

/// A trained model and how the training went.
pub type LinkedTrained = GraphTrained<LinkedModel>;

/// The features that a corpus has under these settings.
pub fn features(corpus: &LinkedCorpus, settings: &Settings) -> Features {
    let cards: Vec<usize> = corpus.labels.iter().map(Vec::len).collect();
    let shapes = corpus.links.shapes(&cards, &corpus.templates, &corpus.alphabet);
    Features::new(&corpus.data, shapes.kinds, shapes.node_kinds, &shapes.shared, settings.features)
}

/// A number for everything that decides how a run goes, which binds a checkpoint to it. `judge` names the development data.
pub fn fingerprint(corpus: &LinkedCorpus, settings: &Settings, start: &LinkedStart, judge: &[u8]) -> u64 {
    let LinkedCorpus { links, templates, columns, label_columns, labels, alphabet, data } = corpus;
    let mut digest = Digest::new(settings);
    digest.debug(&(links, columns, label_columns, start.engine));
    digest.templates(templates);
    labels.iter().for_each(|labels| digest.texts(labels));
    digest.alphabet(alphabet);
    digest.dataset(data);
    digest.weights(&start.theta);
    digest.weights(&start.prior_mean);
    digest.bytes(judge);
    digest.finish()
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
    let model = LinkedModel {
        links,
        templates,
        columns,
        label_columns,
        labels,
        alphabet,
        features: features.clone(),
        weights: Vec::new(),
        engine: start.engine,
        settings: serde_json::to_value(settings).map_err(|e| Error::Setting(e.to_string()))?,
    };
    let set = |model: &mut LinkedModel, theta: &[f64]| model.weights = theta.to_vec();
    fit_graphs(data, features, settings, start, model, set, listener)
}
