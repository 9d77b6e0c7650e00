//! Results as files, one per experiment, so that an interrupted run can resume.

use crate::experiment::{Context, Experiment, Form, Record};
use crate::{Corpora, experiment};
use crfkit::{Error, Result};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The directory of the results.
#[derive(Clone, Debug)]
pub struct Store {
    /// The directory that contains `reproduction/ID.json` and `images/`.
    pub directory: PathBuf,
    /// Whether the results are of the full or the quick form.
    pub form: Form,
}

/// The outcome of running one experiment.
#[derive(Debug)]
pub enum Done {
    /// It was run.
    Ran(Box<Record>),
    /// Its result was already up to date.
    UpToDate(Box<Record>),
    /// Its data are missing.
    NoData(Error),
}

/// The error for reading or writing `path`.
pub(crate) fn failed(path: &Path) -> impl Fn(std::io::Error) -> Error {
    let name = path.display().to_string();
    move |error| Error::Io { name: name.clone(), error }
}

/// Writes a text file, and creates its parent directories.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(failed(directory))?;
    }
    fs::write(path, text).map_err(failed(path))
}

/// Readable JSON that ends with a line break.
pub(crate) fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|e| Error::Setting(e.to_string()))
}

impl Store {
    /// The result file of an experiment.
    pub fn path(&self, id: &str) -> PathBuf {
        self.directory.join("reproduction").join(format!("{id}.json"))
    }

    /// The stored result, if it exists and can be read.
    pub fn read(&self, id: &str) -> Option<Record> {
        serde_json::from_str(&fs::read_to_string(self.path(id)).ok()?).ok()
    }

    /// Runs an experiment and those that it needs, unless their results are up to date.
    pub fn run(&self, experiment: &Experiment, corpora: &Corpora, say: &dyn Fn(&str)) -> Result<Done> {
        let hash = hash(experiment, self.form)?;
        if let Some(record) = self.read(experiment.id).filter(|record| record.hash == hash) {
            return Ok(Done::UpToDate(Box::new(record)));
        }
        for set in experiment.data {
            if let Err(error) = corpora.require(set) {
                return Ok(Done::NoData(error));
            }
        }
        for id in experiment.needs {
            if let Done::NoData(error) = self.run(crate::find(id)?, corpora, say)? {
                return Ok(Done::NoData(error));
            }
        }
        say(&format!("{}: {}", experiment.id, experiment.title));
        let results = |id: &str| {
            self.read(id)
                .ok_or_else(|| Error::Setting(format!("{}: needs the result of {id}", experiment.id)))
        };
        let start = Instant::now();
        let context = Context { form: self.form, corpora: corpora.clone(), results: &results, say };
        let outcome = (experiment.run)(&context)?;
        let record = Record {
            id: experiment.id.into(),
            row: experiment.row,
            title: experiment.title.into(),
            form: self.form,
            hash,
            settings: (experiment.settings)(self.form),
            tolerance: experiment.tolerance.into(),
            verdict: outcome.verdict(experiment.inconsistent),
            seconds: start.elapsed().as_secs_f64(),
            outcome,
        };
        write(&self.path(experiment.id), &json(&record)?)?;
        Ok(Done::Ran(Box::new(record)))
    }
}

/// Everything that a result depends on: version and settings, also of the experiments that it uses.
pub fn hash(experiment: &Experiment, form: Form) -> Result<String> {
    let mut text = format!("{} {} {}", experiment.id, experiment.version, (experiment.settings)(form));
    for id in experiment.needs {
        text += &hash(crate::find(id)?, form)?;
    }
    Ok(format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes())))
}

/// The stored results of all experiments, in order; `None` if there is none.
pub fn records(store: &Store) -> Vec<(&'static Experiment, Option<experiment::Record>)> {
    crate::experiments().iter().map(|e| (e, store.read(e.id))).collect()
}
