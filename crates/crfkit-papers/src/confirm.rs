//! Confirms stored results after a change of the library, without hours of reruns.
//!
//! The quick form of an experiment runs in seconds and takes the same path through the library. Its numbers are the same, to the last digit,
//! for the same code. While a result is up to date they are stored beside it. When the library has changed they are made
//! again: if all are the same, the change does not matter to this small part, and the result is *confirmed*. That is strong evidence
//! and no proof, so the page says so. Only a rerun makes a result up to date again.

use crate::experiment::{Confirmed, Experiment, Form, Record};
use crate::store::{Done, Needed, Store, failed, json, write};
use crate::{Corpora, code, date};
use crfkit::Result;
use std::collections::BTreeMap;
use std::fs;

/// What `confirm` found for a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Confirmation {
    /// It is up to date, and its quick numbers are stored: so many.
    Stored(usize),
    /// The library has changed, and the quick numbers are the same: so many.
    Confirmed(usize),
    /// These quick numbers have changed.
    Changed(Vec<String>),
    /// It cannot be confirmed, and why.
    Impossible(&'static str),
}

/// Quick numbers: what two runs agree on. Times differ.
fn agreed([one, other]: &[Record; 2]) -> BTreeMap<String, Option<f64>> {
    let numbers = one.outcome.numbers.iter().zip(&other.outcome.numbers);
    let same = numbers.filter(|(a, b)| a.what == b.what && a.ours == b.ours);
    same.map(|(number, _)| (number.what.clone(), number.ours)).collect()
}

/// Runs the quick form of each experiment twice, and stores or compares its numbers. Returns what was found for each.
pub fn confirm(
    store: &Store,
    chosen: &[&'static Experiment],
    corpora: &Corpora,
    say: &dyn Fn(&str),
) -> Result<Vec<(&'static str, Confirmation)>> {
    let quick = ["confirm-1", "confirm-2"].map(|name| Store {
        directory: std::env::temp_dir().join(format!("crfkit-papers-{}-{name}", std::process::id())),
        form: Form::Quick,
        needed: Needed::Current,
    });
    let found = chosen.iter().map(|experiment| {
        let Some(record) = store.stored(experiment.id) else {
            return Ok((experiment.id, Confirmation::Impossible("it has no stored result")));
        };
        let mut runs = Vec::new();
        for quick in &quick {
            match quick.run(experiment, corpora, say)? {
                Done::Ran(record) | Done::UpToDate(record) => runs.push(*record),
                Done::NoData(_) => {
                    return Ok((experiment.id, Confirmation::Impossible("its data are missing")));
                }
            }
        }
        let runs: [Record; 2] = runs.try_into().expect("two runs");
        Ok((experiment.id, judge(store, record, agreed(&runs))?))
    });
    let found = found.collect();
    for directory in quick.iter().map(|quick| &quick.directory).filter(|directory| directory.exists()) {
        fs::remove_dir_all(directory).map_err(failed(directory))?;
    }
    found
}

/// Stores the quick numbers of a result that is up to date, or compares them with those that are stored.
fn judge(store: &Store, record: Record, numbers: BTreeMap<String, Option<f64>>) -> Result<Confirmation> {
    let now = code::of(&record.id);
    let path = store.path(&record.id);
    let save = |record: &Record| write(&path, &json(record)?);
    match &record.code {
        Some(code) if *code == now => {
            let count = numbers.len();
            save(&Record { quick: numbers, confirmed: None, ..record })?;
            Ok(Confirmation::Stored(count))
        }
        Some(code) if code.experiment == now.experiment => {
            if record.quick.is_empty() {
                return Ok(Confirmation::Impossible("it has no quick numbers by the sources that made it"));
            }
            let changed = |(what, ours): &(&String, &Option<f64>)| numbers.get(*what) != Some(*ours);
            let changed: Vec<String> =
                record.quick.iter().filter(changed).map(|(what, _)| what.clone()).collect();
            let confirmed = changed.is_empty().then(|| Confirmed { library: now.library, when: date::now() });
            let count = record.quick.len();
            save(&Record { confirmed, ..record })?;
            Ok(if changed.is_empty() {
                Confirmation::Confirmed(count)
            } else {
                Confirmation::Changed(changed)
            })
        }
        _ => Ok(Confirmation::Impossible("the sources of the experiment have changed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Outcome;

    #[test]
    fn a_result_is_confirmed_by_equal_numbers_and_no_others() {
        let directory = std::env::temp_dir().join(format!("crfkit-papers-{}-judge", std::process::id()));
        let store = Store { directory: directory.clone(), form: Form::Full, needed: Needed::Current };
        let id = "ep-ttp-scores";
        let numbers = |x: f64| BTreeMap::from([("one".to_owned(), Some(x)), ("none".to_owned(), None)]);
        let record = Record {
            id: id.into(),
            row: 122,
            title: String::new(),
            form: Form::Full,
            hash: String::new(),
            code: Some(code::of(id)),
            made: String::new(),
            fixed: BTreeMap::new(),
            stated: BTreeMap::new(),
            settings: serde_json::Value::Null,
            tolerance: String::new(),
            seconds: 0.0,
            cores: None,
            quick: BTreeMap::new(),
            confirmed: None,
            outcome: Outcome::default(),
        };
        assert_eq!(judge(&store, record, numbers(1.5)).unwrap(), Confirmation::Stored(2));
        let stored = store.stored(id).unwrap();
        assert_eq!(stored.quick, numbers(1.5));
        // As if another library had made it.
        let mut older = stored;
        older.code.as_mut().unwrap().library = "another".into();
        let check = |x: f64| judge(&store, older.clone(), numbers(x)).unwrap();
        assert_eq!(check(1.25), Confirmation::Changed(vec!["one".into()]));
        assert_eq!(store.stored(id).unwrap().confirmed, None);
        assert_eq!(check(1.5), Confirmation::Confirmed(2));
        let confirmed = store.stored(id).unwrap();
        assert!(crate::book::is_confirmed(&confirmed));
        // A later change of the library asks for another confirmation.
        let mut later = confirmed;
        later.confirmed.as_mut().unwrap().library = "a third".into();
        assert!(!crate::book::is_confirmed(&later));
        let unknown = Record { quick: BTreeMap::new(), ..older };
        assert!(matches!(judge(&store, unknown, numbers(1.5)).unwrap(), Confirmation::Impossible(_)));
        fs::remove_dir_all(directory).unwrap();
    }
}
