//! A model of either kind, and what applies it: the only place that tells them apart when text is labelled.

use crate::args::Format;
use crate::input::{Sequence, model_format, name};
use anyhow::{Context, Result};
use crfkit::answers::Answers;
use crfkit::empirical::{EmpiricalModel, EmpiricalTagger};
use crfkit::graph::Label;
use crfkit::grid::GridModel;
use crfkit::linked::LinkedModel;
use crfkit::model::{self, Model};
use crfkit::tag::Tagger;
use crfkit::typed::TypedModel;
use crfkit::{Error, Place};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// A model.
#[derive(Clone, Debug)]
pub enum Loaded {
    /// Weights of observations.
    Weighted(Arc<Model>),
    /// Counts.
    Empirical(Arc<EmpiricalModel>),
}

impl Loaded {
    /// The model in a file.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = File::open(path).and_then(|file| model::open(&file));
        let bytes = bytes.map_err(|error| Error::io(name(path), error))?;
        if GridModel::is_file(&bytes) {
            anyhow::bail!("{}: a model of pictures: `tag` and `eval` apply it with --images DIR", name(path));
        }
        if LinkedModel::is_file(&bytes) {
            anyhow::bail!(
                "{}: a model of a factorial or skip chain, but a plain chain is needed here",
                name(path)
            );
        }
        if TypedModel::is_file(&bytes) {
            anyhow::bail!("{}: a model of graphs, but a chain is needed here", name(path));
        }
        let model = match EmpiricalModel::is_file(&bytes) {
            true => EmpiricalModel::from_bytes(&bytes).map(|model| Loaded::Empirical(Arc::new(model))),
            false => Model::from_memory(&bytes).map(|model| Loaded::Weighted(Arc::new(model))),
        };
        model.with_context(|| name(path))
    }

    /// Names of the labels, sorted.
    pub fn labels(&self) -> &[String] {
        match self {
            Loaded::Weighted(model) => &model.labels,
            Loaded::Empirical(model) => model.labels(),
        }
    }

    /// The number of a label.
    pub fn label(&self, name: &str) -> Option<Label> {
        match self {
            Loaded::Weighted(model) => model.label(name),
            Loaded::Empirical(model) => model.label(name),
        }
    }

    /// Was this word seen in training? `None` if the model knows no words.
    pub fn knows(&self, word: &str) -> Option<bool> {
        match self {
            Loaded::Weighted(model) => model.knows(word),
            Loaded::Empirical(model) => Some(model.knows(word)),
        }
    }

    /// The format of the data that it was trained on.
    pub fn format(&self) -> Format {
        match self {
            Loaded::Weighted(model) => model_format(model),
            Loaded::Empirical(_) => Format::Columns,
        }
    }

    /// The label column that it was trained with.
    pub fn label_column(&self) -> i32 {
        match self {
            Loaded::Weighted(model) => {
                setting(model, "label_column").and_then(|column| i32::try_from(column).ok()).unwrap_or(-1)
            }
            Loaded::Empirical(model) => model.settings().label_column,
        }
    }

    /// Workers that share it.
    pub fn workers(&self, threads: usize) -> Vec<Worker> {
        let first = match self {
            Loaded::Weighted(model) => Worker::Weighted(Tagger::new(model.clone())),
            Loaded::Empirical(model) => Worker::Empirical(EmpiricalTagger::new(model.clone())),
        };
        let mut workers: Vec<Worker> = (1..threads).map(|_| first.another()).collect();
        workers.push(first);
        workers
    }
}

/// What applies a model.
#[derive(Debug)]
pub enum Worker {
    /// Of weights.
    Weighted(Tagger),
    /// Of counts.
    Empirical(EmpiricalTagger),
}

impl Worker {
    fn another(&self) -> Self {
        match self {
            Worker::Weighted(tagger) => Worker::Weighted(tagger.another()),
            Worker::Empirical(tagger) => Worker::Empirical(tagger.another()),
        }
    }

    /// Takes in a sequence, and gives what answers questions about it.
    pub fn take_in(&mut self, sequence: &Sequence) -> crfkit::Result<&mut Answers> {
        match (self, sequence) {
            (Worker::Weighted(tagger), Sequence::Columns(columns)) => {
                check_label_column(tagger.model(), sequence)?;
                tagger.columns(columns)?;
                Ok(tagger.answers())
            }
            (Worker::Weighted(tagger), Sequence::Attributes(attributes)) => {
                tagger.attributes(attributes)?;
                Ok(tagger.answers())
            }
            (Worker::Empirical(tagger), Sequence::Columns(columns)) => {
                tagger.columns(columns, tagger.model().settings().word_column)?;
                Ok(tagger.answers())
            }
            (Worker::Empirical(_), Sequence::Attributes(attributes)) => {
                let place = if attributes.is_empty() { Place::new("input", 0) } else { attributes.place(0) };
                Err(Error::input(place, "this model was trained on columns: use --format columns"))
            }
        }
    }
}

/// A whole number among the settings of a model.
fn setting(model: &Model, name: &str) -> Option<i64> {
    model.settings.get(name).and_then(serde_json::Value::as_i64)
}

/// Where the label was not the last column in training, leaving it out would shift those behind it, unnoticed.
fn check_label_column(model: &Model, sequence: &Sequence) -> crfkit::Result<()> {
    let (Some(label), Some(columns)) = (setting(model, "label_column"), setting(model, "columns")) else {
        return Ok(());
    };
    let is_last = label == -1 || label == columns - 1;
    if is_last || sequence.len() == 0 || sequence.columns() as i64 >= columns {
        return Ok(());
    }
    let message = format!(
        "{} columns, but {columns} in training, with the label in column {label}, in front of others: give all of \
         them (any text will do for the label)",
        sequence.columns()
    );
    Err(Error::input(sequence.place(0), message))
}
