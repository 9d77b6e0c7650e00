//! How the program reads training and development data: one file for each kind of model.

mod chains;
mod graphs;
mod images;
mod linked;

pub use chains::{check_format, check_layout, for_each_sequence, format, layout_of, open, source};

use super::StartModels;
use super::session::Session;
use crate::args::{Format, TrainArgs};
use crate::error::usage;
use crate::io::{self, Door, Inputs};
use crate::log::DataSize;
use anyhow::Result;
use crfkit::data::template::Templates;
use crfkit::domain::{Corpus, Dev, Domain, WeightedModel};
use crfkit::model::Features;
use crfkit::train::{Settings, Trained};
use crfkit::{Error, Place};
use crfkit_report::GridSample;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How the data of a kind of model is read for training.
pub trait TrainingData: Domain {
    /// The form in which `tag` and `eval` apply a trained model.
    type Applied: Door;
    /// The name of such models in messages.
    const NEEDED: &'static str;

    /// The model in the form in which it is applied.
    fn applied(model: &Arc<WeightedModel<Self>>) -> Arc<Self::Applied>;
    /// Rejects arguments that do not fit each other, before anything is read.
    fn check(_args: &TrainArgs) -> Result<()> {
        Ok(())
    }
    /// Reads all training data.
    fn read_training(args: &TrainArgs) -> Result<Corpus<Self>>;
    /// Calls `each` with all inputs of the development data in a file, or in a directory of images.
    fn for_each_dev(args: &TrainArgs, path: &Path, domain: &Self, each: EachInput<Self>) -> Result<()>;
    /// The error about development data in a file that has none.
    fn nothing(path: &Path) -> anyhow::Error {
        no_sequence(path)
    }
    /// Number of different observations.
    fn observations(_domain: &Self, features: &Features) -> usize {
        features.rows.iter().map(|rows| rows.len).sum()
    }
    /// One line about the training set, for the user.
    fn describe(corpus: &Corpus<Self>, counts: &DataSize, settings: &Settings) -> String;
    /// Every setting that shapes the model, for the log.
    fn recorded(_corpus: &Corpus<Self>, settings: &Settings) -> Result<Value> {
        Ok(serde_json::to_value(settings)?)
    }
    /// The templates that make features, if the data has columns.
    fn templates(&self) -> Option<&Templates> {
        None
    }
    /// The training data as inputs that a model can be applied to.
    fn training_inputs(args: &TrainArgs) -> Inputs {
        text_inputs(args, &args.train[0], args.input.vectors.first().cloned())
    }
    /// The development data as inputs that a model can be applied to, if there is any.
    fn dev_inputs(args: &TrainArgs) -> Option<Inputs> {
        args.dev.as_deref().map(|path| text_inputs(args, path, args.dev_vectors.clone()))
    }
    /// The images with the most mistakes, for a page.
    fn pictures(_model: &Arc<WeightedModel<Self>>, _inputs: &Inputs) -> Result<Vec<GridSample>> {
        Ok(Vec::new())
    }
    /// Fits the temperature of a model that is trained, if such models have one.
    fn calibrate(
        _session: &Session,
        _models: &StartModels<Self>,
        _trained: &mut Trained<Self>,
    ) -> Result<()> {
        Ok(())
    }
    /// The commands to try next.
    fn next(args: &TrainArgs) -> String {
        let model = args.model.display();
        format!("crfkit tag -m {model} FILE, or crfkit eval -m {model} FILE")
    }
}

/// A function that is called with inputs.
pub type EachInput<'a, D> = &'a mut dyn FnMut(&<D as Domain>::Input) -> Result<()>;

/// Reads development data, if there is any.
pub fn read_dev<D: TrainingData>(args: &TrainArgs, domain: &D) -> Result<Option<Dev<D>>> {
    let Some(inputs) = D::dev_inputs(args) else { return Ok(None) };
    let mut dev = new_dev(args, domain);
    let path = match &inputs.place {
        io::InputPlace::File(path) | io::InputPlace::Images { images: path, .. } => path,
    };
    D::for_each_dev(args, path, domain, &mut |input| Ok(dev.add(domain, input)?))?;
    match dev.is_empty() {
        true => Err(D::nothing(path)),
        false => Ok(Some(dev)),
    }
}

/// An empty development set, whose labels mean what those of the training data mean.
pub fn new_dev<D: TrainingData>(args: &TrainArgs, domain: &D) -> Dev<D> {
    let dev = Dev::new(domain);
    if args.partial_labels { dev.with_partial_labels() } else { dev }
}

/// The size of the training set.
pub fn counts<D: TrainingData>(corpus: &Corpus<D>, features: &Features) -> DataSize {
    let Corpus { domain, data } = corpus;
    DataSize {
        sequences: data.len(),
        tokens: data.variables() / domain.group().max(1),
        labels: domain.label_sets().iter().map(|set| set.labels.len()).sum(),
        observations: D::observations(domain, features),
        features: features.dim(),
    }
}

/// Every setting that shapes the model, and where its features come from, for the log. The text of a template file is there too: the file
/// may be another one by the time that somebody compares runs.
pub fn recorded<D: TrainingData>(args: &TrainArgs, corpus: &Corpus<D>, settings: &Settings) -> Result<Value> {
    let mut recorded = D::recorded(corpus, settings)?;
    if let Some(templates) = corpus.domain.templates() {
        match &args.template {
            None => recorded["preset"] = args.preset.clone().into(),
            Some(path) => {
                recorded["template"] = io::name(path).into();
                recorded["template_text"] = templates.source.clone().into();
            }
        }
    }
    Ok(recorded)
}

/// A file of labelled text as inputs, with the vectors of its tokens.
fn text_inputs(args: &TrainArgs, path: &Path, vectors: Option<PathBuf>) -> Inputs {
    let place = io::InputPlace::File(path.to_owned());
    let mut reading = io::Reading { vectors, ..args.input.reading(args.label_column.first().copied()) };
    // Files of other formats may stand beside CoNLL-U, and attribute lists have no columns.
    match reading.format_of(path, Format::Columns) {
        Format::Conllu => {}
        Format::Attributes => (reading.fields, reading.label_column) = (None, None),
        _ => reading.fields = None,
    }
    Inputs { place, reading }
}

/// The error about a file without data.
pub fn no_sequence(path: &Path) -> anyhow::Error {
    let message =
        "no sequence in it: labelled tokens are needed, one per line, with an empty line between sequences";
    Error::input(Place::new(io::name(path), 0), message).into()
}

/// Rejects weights of the labels of nodes and pixels with an objective that has no place for them.
fn check_label_weights(args: &TrainArgs) -> Result<()> {
    let objective = args.objective.unwrap_or_default();
    objective.check_weights(!args.label_weight.is_empty()).map_err(usage)
}
