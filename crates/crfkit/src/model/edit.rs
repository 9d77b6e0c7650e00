//! Editing a model: weights that are set, deleted or forbidden by name.
//!
//! Edits are lines of a [dump](super::dump), of which the last field is a number, `delete` or `forbid`. Empty lines, lines that begin
//! with `#`, and lines about labels and parts change nothing; so a dump is a file of edits that sets every weight to what it is.

use super::dump::{Dump, DumpedPart};
use super::names::{Entries, LabelSet, NamedWeight, Names, WeightKind, WeightPart};
use super::{Features, Rows, TableWeights};
use crate::math::simd;
use crate::{Error, Place, Result};
use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

/// The weight of something that is forbidden. exp(−60 000) is 0, and every number format of model files holds it.
pub(crate) const FORBIDDEN_WEIGHT: f64 = -60_000.0;

/// A change of one weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// The place where the edit was read.
    pub place: Place,
    /// The weight by name, with its new value: 0 if it is deleted, −60,000 if it is forbidden.
    pub weight: NamedWeight,
}

/// What becomes of the weights that no edit names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Others {
    /// They stay as they are.
    #[default]
    Keep,
    /// They are deleted.
    Delete,
}

/// Reads edits of the model that has these `names`. `name` is the input's name in error messages.
pub fn read_edits(input: impl BufRead, name: &str, names: &Names) -> Result<Vec<Edit>> {
    // The parts are known, so that their lines may be missing.
    let part = |part: &WeightPart| DumpedPart {
        name: part.name.clone(),
        tables: part.tables,
        over: part.over.iter().map(|&set| names.sets[set].name.clone().unwrap_or_default()).collect(),
    };
    let parts = names.parts.iter().filter(|_| !names.is_chain()).map(part).collect();
    let mut dump = Dump { parts, ..Dump::default() };
    let mut edits = Vec::new();
    for (number, line) in (1..).zip(input.lines()) {
        let line = line.map_err(|error| Error::io(name, error))?;
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let value = match line.rsplit_once('\t') {
            Some((_, "delete")) => Some(0.0),
            Some((_, "forbid")) => Some(FORBIDDEN_WEIGHT),
            _ => None,
        };
        let place = Place::new(name, number);
        let plain = match (value, line.rsplit_once('\t')) {
            (Some(value), Some((names, _))) => format!("{names}\t{value}"),
            _ => line,
        };
        dump.read_line(&plain).ok_or_else(|| {
            let message = "this line is not a weight: give its part, its names and a number, `delete` or `forbid`, separated by tabs, as \
                           in a dump of the model";
            Error::input(place.clone(), message)
        })?;
        edits.extend(dump.weights.drain(..).map(|weight| Edit { place: place.clone(), weight }));
    }
    Ok(edits)
}

/// A weight that the features do not have yet: its row (of a kind) or shared table, its entry and its value.
#[derive(Default)]
struct Added {
    rows: Vec<BTreeMap<(u32, u32), f64>>,
    tables: Vec<BTreeMap<u32, f64>>,
}

impl Features {
    /// The features and weights of a model after `edits`. It is an error if an edit names
    /// an observation or a label that the model does not know.
    pub(crate) fn edited(
        &self,
        names: &Names,
        edits: &[Edit],
        others: Others,
    ) -> Result<(Features, Vec<f64>)> {
        let mut weights = match others {
            Others::Keep => names.weights.to_vec(),
            Others::Delete => vec![0.0; names.weights.len()],
        };
        let mut added = Added {
            rows: vec![BTreeMap::new(); self.rows.len()],
            tables: vec![BTreeMap::new(); self.tables.len()],
        };
        let rows = wanted_rows(names, edits);
        for Edit { place, weight } in edits {
            let refuse = |why: String| Error::input(place.clone(), why);
            let (number, row) =
                rows.get(&key(weight)).copied().ok_or_else(|| refuse(unknown(names, weight)))?;
            let part = &names.parts[number];
            let entry = entry_of(part, &names.sets, weight).map_err(refuse)?;
            let found = part.range(row).enumerate().find(|(k, _)| part.entry(row, *k).unwrap_or(*k) == entry);
            match (found, &part.entries) {
                (Some((_, place)), _) => weights[place] = weight.weight,
                // A weight of 0 is as good as none.
                (None, _) if weight.weight == 0.0 => {}
                (None, Entries::Rows(of)) => {
                    let kind = self.rows.iter().position(|rows| std::ptr::eq(rows, &**of));
                    let kind = kind.ok_or_else(|| refuse(unknown(names, weight)))?;
                    added.rows[kind].insert((row, entry as u32), weight.weight);
                }
                (None, Entries::Table(of)) => {
                    let table = self.tables.iter().position(|table| std::ptr::eq(table, *of));
                    let table = table.ok_or_else(|| refuse(unknown(names, weight)))?;
                    if !self.permits(table, entry) {
                        return Err(refuse(format!(
                            "the model does not allow {} here, so this has no weight: only label pairs that training allowed have weights",
                            weight.labels.join(" ")
                        )));
                    }
                    added.tables[table].insert(entry as u32, weight.weight);
                }
            }
        }
        Ok(self.with_added(&weights, &added))
    }

    /// The features with more weights.
    fn with_added(&self, weights: &[f64], added: &Added) -> (Features, Vec<f64>) {
        let mut all = Vec::with_capacity(weights.len());
        let rows = self.rows.iter().zip(&added.rows).map(|(old, added)| {
            let mut new = Rows { base: all.len(), ..old.clone() };
            if added.is_empty() {
                all.extend_from_slice(&weights[old.base..][..old.weights()]);
                return new;
            }
            (new.start, new.entry) = (vec![0].into(), Vec::new().into());
            for row in 0..old.len as u32 {
                let known =
                    old.entries_of(row).zip(&weights[old.range(row)]).map(|(entry, w)| (entry as u32, *w));
                let more = added.range((row, 0)..=(row, u32::MAX)).map(|((_, entry), w)| (*entry, *w));
                let mut both: Vec<(u32, f64)> = known.chain(more).collect();
                both.sort_by_key(|(entry, _)| *entry);
                new.entry.to_mut().extend(both.iter().map(|(entry, _)| *entry));
                all.extend(both.iter().map(|(_, w)| *w));
                new.start.to_mut().push(new.entry.len() as u32);
            }
            new
        });
        let rows = rows.collect();
        let tables = self.tables.iter().zip(&added.tables).map(|(old, added)| {
            let known = old.entry.iter().copied().zip(weights[old.base..].iter().copied());
            let mut both: Vec<(u32, f64)> =
                known.chain(added.iter().map(|(entry, w)| (*entry, *w))).collect();
            both.sort_by_key(|(entry, _)| *entry);
            let new = TableWeights {
                base: all.len(),
                entry: both.iter().map(|(entry, _)| *entry).collect(),
                ..old.clone()
            };
            all.extend(both.iter().map(|(_, w)| *w));
            new
        });
        let tables = tables.collect();
        (Features::of(rows, self.node_kinds, tables, self.lattice.clone()), all)
    }
}

/// An observation by name: its part, its kind and its name.
type Key = (String, WeightKind, Option<String>);

fn key(weight: &NamedWeight) -> Key {
    (weight.part.clone(), weight.kind, weight.observation.clone())
}

/// Part and row of every observation that edits name.
fn wanted_rows(names: &Names, edits: &[Edit]) -> HashMap<Key, (usize, u32)> {
    let mut wanted: HashMap<Key, Option<(usize, u32)>> =
        edits.iter().map(|edit| (key(&edit.weight), None)).collect();
    for (number, part) in names.parts.iter().enumerate() {
        if !edits.iter().any(|edit| edit.weight.part == part.name) {
            continue;
        }
        for row in 0..part.rows() {
            let (kind, observation) = (part.observation)(row);
            if let Some(found) = wanted.get_mut(&(part.name.clone(), kind, observation)) {
                found.get_or_insert((number, row));
            }
        }
    }
    wanted.into_iter().filter_map(|(key, found)| Some((key, found?))).collect()
}

/// The entry of a weight in the table of its part.
fn entry_of(
    part: &WeightPart,
    sets: &[LabelSet],
    weight: &NamedWeight,
) -> std::result::Result<usize, String> {
    if weight.labels.is_empty() {
        return Ok(0);
    }
    if weight.labels.len() != part.over.len() {
        return Err(format!(
            "a weight of {} has {} labels, not {}",
            part.name,
            part.over.len(),
            weight.labels.len()
        ));
    }
    let (mut entry, mut distance) = (0, 1);
    for (place, (name, &set)) in weight.labels.iter().zip(&part.over).rev().enumerate() {
        let labels = &sets[set].labels;
        let label = labels.iter().position(|label| label == name).ok_or_else(|| {
            format!("the model has no label `{name}` here: its labels are {}", labels.join(", "))
        })?;
        entry += label * distance;
        distance *= if place == 0 { simd::padded(labels.len()) } else { labels.len() };
    }
    Ok(entry)
}

/// The message about a weight that the model cannot have.
fn unknown(names: &Names, weight: &NamedWeight) -> String {
    match &weight.observation {
        Some(observation) if names.parts.iter().any(|part| part.name == weight.part) => format!(
            "the model has no observation `{observation}` of {}: only weights of observations that it knows can be changed",
            weight.part
        ),
        _ => {
            let mut parts: Vec<&str> = names.parts.iter().map(|part| part.name.as_str()).collect();
            parts.dedup();
            format!("the model has no such weights of {}: its parts are {}", weight.part, parts.join(", "))
        }
    }
}
