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
use std::path::{Path, PathBuf};
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

    /// Models that label together: of the same labels and the same format of data.
    pub fn read_all(paths: &[PathBuf]) -> Result<Vec<Self>> {
        let models = paths.iter().map(|path| Loaded::read(path)).collect::<Result<Vec<_>>>()?;
        for (model, path) in models.iter().zip(paths).skip(1) {
            if model.labels() != models[0].labels() {
                anyhow::bail!(
                    "{}: its labels are not those of {}: models that label together need the same",
                    name(path),
                    name(&paths[0])
                );
            }
            if model.format() != models[0].format() {
                anyhow::bail!("{}: another format of data than that of {}", name(path), name(&paths[0]));
            }
        }
        Ok(models)
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

    fn member(&self) -> Member {
        match self {
            Loaded::Weighted(model) => Member::Weighted(Tagger::new(model.clone())),
            Loaded::Empirical(model) => Member::Empirical(EmpiricalTagger::new(model.clone())),
        }
    }
}

/// What applies one model, or several together.
#[derive(Debug)]
pub struct Worker {
    first: Member,
    others: Vec<Member>,
}

impl Worker {
    /// Workers that share the models.
    pub fn crew(models: &[Loaded], threads: usize) -> Vec<Worker> {
        let Some((first, others)) = models.split_first() else { return Vec::new() };
        let first = Worker { first: first.member(), others: others.iter().map(Loaded::member).collect() };
        let another = |_| Worker {
            first: first.first.another(),
            others: first.others.iter().map(Member::another).collect(),
        };
        let mut workers: Vec<Worker> = (1..threads).map(another).collect();
        workers.push(first);
        workers
    }

    /// Takes in a sequence, and gives what answers questions about it. Where there are several models, it has the mean of their
    /// marginals.
    pub fn take_in(&mut self, sequence: &Sequence) -> crfkit::Result<&mut Answers> {
        let answers = self.first.take_in(sequence)?;
        if !self.others.is_empty() {
            let others = self.others.iter_mut().map(|other| other.take_in(sequence));
            answers.average(others.collect::<crfkit::Result<Vec<_>>>()?);
        }
        Ok(answers)
    }
}

/// What applies one model.
#[derive(Debug)]
enum Member {
    /// Of weights.
    Weighted(Tagger),
    /// Of counts.
    Empirical(EmpiricalTagger),
}

impl Member {
    fn another(&self) -> Self {
        match self {
            Member::Weighted(tagger) => Member::Weighted(tagger.another()),
            Member::Empirical(tagger) => Member::Empirical(tagger.another()),
        }
    }

    fn take_in(&mut self, sequence: &Sequence) -> crfkit::Result<&mut Answers> {
        match (self, sequence) {
            (Member::Weighted(tagger), Sequence::Columns(columns)) => {
                check_label_column(tagger.model(), sequence)?;
                tagger.columns(columns)?;
                Ok(tagger.answers())
            }
            (Member::Weighted(tagger), Sequence::Attributes(attributes)) => {
                tagger.attributes(attributes)?;
                Ok(tagger.answers())
            }
            (Member::Empirical(tagger), Sequence::Columns(columns)) => {
                tagger.columns(columns, tagger.model().settings().word_column)?;
                Ok(tagger.answers())
            }
            (Member::Empirical(_), Sequence::Attributes(attributes)) => {
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
