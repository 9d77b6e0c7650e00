//! All stored results together: what each is worth, why it differs, and whether it is of today's sources.

use crate::code;
use crate::experiment::{Experiment, Reason, Record};
use crate::store::{Store, hash};
use crate::verdict::{Verdict, judge};
use crfkit::Result;

/// One experiment of the book.
pub struct Entry {
    /// The experiment.
    pub experiment: &'static Experiment,
    /// Its result.
    pub record: Record,
    /// The verdict.
    pub verdict: Verdict,
    /// The reasons for differences, each with the experiment that gives it.
    pub why: Vec<(String, Reason)>,
    /// Why the result is stale, if it is.
    pub stale: Option<&'static str>,
}

/// The results of all experiments that have one, in order, and the experiments that have none.
pub struct Book {
    /// The results.
    pub entries: Vec<Entry>,
    /// The experiments without a result.
    pub missing: Vec<&'static Experiment>,
}

impl Book {
    /// Reads all results.
    pub fn read(store: &Store) -> Result<Self> {
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for experiment in crate::experiments() {
            match store.read(experiment.id) {
                Some(record) => found.push((experiment, record)),
                None => missing.push(experiment),
            }
        }
        let reasons: Vec<(String, Reason)> = found
            .iter()
            .flat_map(|(_, record)| {
                record.outcome.why.iter().map(|reason| (record.id.clone(), reason.clone()))
            })
            .collect();
        let mut entries = Vec::new();
        for (experiment, record) in found {
            let why = reasons_of(experiment, &record, &reasons);
            let verdict = judge(experiment, &record, &why);
            let stale = stale(store, experiment, &record)?;
            entries.push(Entry { experiment, record, verdict, why, stale });
        }
        Ok(Book { entries, missing })
    }

    /// The result of an experiment.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.record.id == id)
    }
}

/// Why an experiment differs: the reasons given for it, or, if there are none, those of the experiments whose results it uses. These
/// explain what it claims of them, and the numbers that they name. An experiment that explains another one does not itself differ for the reason that it gives.
fn reasons_of(experiment: &Experiment, record: &Record, all: &[(String, Reason)]) -> Vec<(String, Reason)> {
    let own: Vec<_> = all.iter().filter(|(_, reason)| reason.of == experiment.id).cloned().collect();
    if !own.is_empty() || !record.outcome.why.is_empty() {
        return own;
    }
    let used = all.iter().filter(|(_, reason)| experiment.needs.contains(&reason.of.as_str()));
    let claims = record.outcome.claims.iter().map(|claim| claim.text.clone());
    let whole = |(id, reason): &(String, Reason)| {
        let explains = reason.explains.iter().cloned().chain(claims.clone()).collect();
        (id.clone(), Reason { explains, ..reason.clone() })
    };
    used.map(whole).collect()
}

/// Why a result is not what today's sources would give, if that is so.
pub fn stale(store: &Store, experiment: &Experiment, record: &Record) -> Result<Option<&'static str>> {
    let now = code::of(experiment.id);
    let own = match &record.code {
        _ if record.hash != hash(experiment, store.form)? => Some("its settings have changed"),
        None => Some("it was made before sources were recorded"),
        Some(code) if code.experiment != now.experiment => Some("the sources of the experiment have changed"),
        Some(code) if code.library != now.library => Some("the library has changed"),
        Some(_) => None,
    };
    if own.is_some() {
        return Ok(own);
    }
    for id in experiment.needs {
        let used = crate::find(id)?;
        match store.read(id) {
            Some(needed) if needed.made > record.made => return Ok(Some("a result that it uses is newer")),
            Some(needed) if stale(store, used, &needed)?.is_some() => {
                return Ok(Some("a result that it uses is stale"));
            }
            Some(_) => {}
            None => return Ok(Some("a result that it uses is missing")),
        }
    }
    Ok(None)
}
