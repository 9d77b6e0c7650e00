//! Results as files, one per experiment, so that an interrupted run can resume.

use crate::book::stale;
use crate::experiment::{Context, Experiment, Fixed, Form, Part, Record, Stated};
use crate::{Corpora, code, date};
use crfkit::{Error, Result};
use serde::Serialize;
use std::collections::BTreeMap;
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
    /// Which results of other experiments are used.
    pub needed: Needed,
}

/// Which results of other experiments an experiment uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Needed {
    /// Those of today's sources; stale ones are made again first.
    #[default]
    Current,
    /// Those that are stored, stale or not.
    Stored,
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

    /// The result as it is stored, if it exists and can be read.
    pub(crate) fn stored(&self, id: &str) -> Option<Record> {
        serde_json::from_str(&fs::read_to_string(self.path(id)).ok()?).ok()
    }

    /// The stored result with its comparisons and claims, if it exists and can be read.
    pub fn read(&self, id: &str) -> Option<Record> {
        let mut record = self.stored(id)?;
        review(&mut record);
        Some(record)
    }

    /// Writes down when tolerances were fixed and claims made that the stored result does not know yet: now, so after this result.
    pub fn date(&self, id: &str) -> Result<()> {
        let Some(stored) = self.stored(id) else { return Ok(()) };
        let mut reviewed = stored.clone();
        review(&mut reviewed);
        let now = date::now();
        let (fixed, stated) =
            (dates(&reviewed, Some(&stored), &now), claim_dates(&reviewed, Some(&stored), &now));
        if fixed != stored.fixed || stated != stored.stated {
            write(&self.path(id), &json(&Record { fixed, stated, ..stored })?)?;
        }
        Ok(())
    }

    /// Runs an experiment and those that it needs, unless their results are up to date.
    pub fn run(&self, experiment: &Experiment, corpora: &Corpora, say: &dyn Fn(&str)) -> Result<Done> {
        let before = self.stored(experiment.id);
        if let Some(record) = self.read(experiment.id).filter(|_| before.is_some())
            && stale(self, experiment, &record)?
                .is_none_or(|why| self.needed == Needed::Stored && why == "a result that it uses is stale")
        {
            return Ok(Done::UpToDate(Box::new(record)));
        }
        for set in experiment.data {
            if let Err(error) = corpora.require(set) {
                return Ok(Done::NoData(error));
            }
        }
        for id in experiment.needs {
            if self.needed == Needed::Stored && self.read(id).is_some() {
                continue;
            }
            if let Done::NoData(error) = self.run(crate::find(id)?, corpora, say)? {
                return Ok(Done::NoData(error));
            }
        }
        say(&format!("{}: {}", experiment.id, experiment.title));
        let results = |id: &str| {
            self.read(id)
                .ok_or_else(|| Error::Setting(format!("{}: needs the result of {id}", experiment.id)))
        };
        let (start, began) = (Instant::now(), date::now());
        let context = Context { form: self.form, corpora: corpora.clone(), results: &results, say };
        let outcome = (experiment.run)(&context)?;
        let mut record = Record {
            id: experiment.id.into(),
            row: experiment.row,
            title: experiment.title.into(),
            form: self.form,
            hash: hash(experiment, self.form)?,
            code: Some(code::of(experiment.id)),
            made: date::now(),
            fixed: BTreeMap::new(),
            stated: BTreeMap::new(),
            settings: (experiment.settings)(self.form),
            tolerance: experiment.tolerance.into(),
            seconds: start.elapsed().as_secs_f64(),
            cores: std::thread::available_parallelism().ok().map(usize::from),
            quick: BTreeMap::new(),
            confirmed: None,
            outcome,
        };
        let mut reviewed = record.clone();
        review(&mut reviewed);
        record.fixed = dates(&reviewed, before.as_ref(), &began);
        record.stated = claim_dates(&reviewed, before.as_ref(), &began);
        write(&self.path(experiment.id), &json(&record)?)?;
        Ok(Done::Ran(Box::new(Record { fixed: record.fixed, stated: record.stated, ..reviewed })))
    }
}

/// Adds the comparisons and claims that follow from the stored numbers, and says of numbers of the paper that cannot be compared why.
fn review(record: &mut Record) {
    let Ok(experiment) = crate::find(&record.id) else { return };
    (experiment.review)(&mut record.outcome);
    for number in &mut record.outcome.numbers {
        let Some(paper) =
            number.paper.as_ref().filter(|_| number.tolerance.is_none() && number.apart.is_none())
        else {
            continue;
        };
        let in_words = paper.trim_start_matches(['<', '>']).parse::<f64>().is_err();
        number.apart = match experiment.part {
            _ if number.what.contains("seconds") => Some("another machine".into()),
            _ if experiment.inconsistent.is_some() => Some("the claims test this statement".into()),
            Part::Paper if in_words => Some("in words; see the claims".into()),
            Part::Paper => None,
            // A study has no numbers to reproduce.
            Part::Study => Some("a study of our own".into()),
        };
    }
}

/// When the tolerances of a result were fixed. One that is new or wider than before is of the time `now`; one that has become narrower
/// keeps its date, because what is within it was within the old one as well.
fn dates(record: &Record, before: Option<&Record>, now: &str) -> BTreeMap<String, Fixed> {
    let mut dates = BTreeMap::new();
    for number in &record.outcome.numbers {
        let Some(tolerance) = number.tolerance else { continue };
        let known = before.and_then(|before| before.fixed.get(&number.what));
        let seen = before.filter(|before| before.outcome.numbers.iter().any(|n| n.what == number.what));
        let first =
            known.map(|known| &known.first).or(seen.map(|before| &before.made)).unwrap_or(&record.made);
        let fixed = known.filter(|known| tolerance <= known.tolerance).map_or(now, |known| &known.fixed);
        dates.insert(number.what.clone(), Fixed { tolerance, fixed: fixed.into(), first: first.clone() });
    }
    dates
}

/// When the claims of a result were made. One that is new is of the time `now`; its first result is the first of the experiment.
fn claim_dates(record: &Record, before: Option<&Record>, now: &str) -> BTreeMap<String, Stated> {
    let first = |before: &Record| {
        let dated = before.fixed.values().map(|fixed| &fixed.first);
        let dated = dated.chain(before.stated.values().map(|stated| &stated.first));
        dated.chain([&before.made]).min().cloned()
    };
    let first = before.and_then(first).unwrap_or_else(|| record.made.clone());
    let dated = |text: &String| {
        let known = before.and_then(|before| before.stated.get(text)).cloned();
        known.unwrap_or_else(|| Stated { stated: now.into(), first: first.clone() })
    };
    record.outcome.claims.iter().map(|claim| (claim.text.clone(), dated(&claim.text))).collect()
}

/// Everything besides the code that a result depends on: version and settings, also of the experiments that it uses.
pub fn hash(experiment: &Experiment, form: Form) -> Result<String> {
    let mut text = format!("{} {} {}", experiment.id, experiment.version, (experiment.settings)(form));
    for id in experiment.needs {
        text += &hash(crate::find(id)?, form)?;
    }
    Ok(format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes())))
}
