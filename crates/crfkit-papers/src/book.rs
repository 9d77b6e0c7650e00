//! All stored results together: what each is worth, why it differs, and whether it is of today's sources.

use crate::code;
use crate::experiment::{Experiment, Reason, Record};
use crate::store::{Store, hash};
use crate::verdict::{Verdict, judge, off};
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

/// Why an experiment differs: the reasons given for it, and those given for the experiments whose results it uses, where they name what is off
/// here too. A reason explains what it names and nothing else. An experiment that explains another one does not itself differ for the
/// reason that it gives.
fn reasons_of(experiment: &Experiment, record: &Record, all: &[(String, Reason)]) -> Vec<(String, Reason)> {
    let (mut off_here, claims) = off(record);
    off_here.extend(claims);
    let names = |reason: &Reason| off_here.iter().any(|name| reason.covers(name));
    let used = |reason: &Reason| experiment.needs.contains(&reason.of.as_str());
    let inherits = record.outcome.why.is_empty();
    let given = |reason: &Reason| {
        reason.of == experiment.id || inherits && used(reason) && (names(reason) || !reason.found)
    };
    all.iter().filter(|(_, reason)| given(reason)).cloned().collect()
}

/// Whether the library has changed since the result was made, but the quick form of the experiment has given the same numbers with it.
pub fn is_confirmed(record: &Record) -> bool {
    let now = code::of(&record.id).library;
    record.code.as_ref().is_some_and(|code| code.library != now)
        && record.confirmed.as_ref().is_some_and(|confirmed| confirmed.library == now)
}

/// Why a result is not what today's sources would give, if that is so.
pub fn stale(store: &Store, experiment: &Experiment, record: &Record) -> Result<Option<&'static str>> {
    let now = code::of(experiment.id);
    let own = match &record.code {
        _ if record.hash != hash(experiment, store.form)? => Some("its settings have changed"),
        None => Some("it was made before sources were recorded"),
        Some(code) if code.experiment != now.experiment => Some("the sources of the experiment have changed"),
        Some(code) if code.library != now.library && !is_confirmed(record) => Some("the library has changed"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::unexplained;
    use serde_json::json;

    #[test]
    fn a_reason_of_another_experiment_explains_only_what_it_names() {
        let claims = crate::find("smd-claims2").unwrap();
        let claim = |text: &str| json!({"text": text, "holds": false});
        let record: Record = serde_json::from_value(json!({
            "id": claims.id, "row": claims.row, "title": "", "form": "full", "hash": "", "settings": null, "tolerance": "", "seconds": 0.0,
            "outcome": {"numbers": [], "charts": [], "notes": [], "not_testable": null, "claims": [claim("one"), claim("the other")]},
        }))
        .unwrap();
        let reason = |of: &str, explains: &str| {
            let explains = vec![explains.to_owned()];
            ("a study".to_owned(), Reason { of: of.into(), text: String::new(), explains, found: true })
        };
        let all = [
            reason("smd-fig2", "one"),
            reason("smd-fig2", "something else"),
            reason("smd-fig1", "the other"),
        ];
        let why = reasons_of(claims, &record, &all);
        assert_eq!(why, all[..1]);
        assert_eq!(unexplained(&record, &why), ["the other"]);
        // A reason given for the experiment itself does not hide those of what it uses.
        let all = [reason("smd-fig2", "one"), reason("smd-claims2", "the other")];
        assert!(unexplained(&record, &reasons_of(claims, &record, &all)).is_empty());
    }
}
