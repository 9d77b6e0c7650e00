//! Transferring the weights of one model to the features of other data.

use super::names::{LabelSet, Names, WeightKind, WeightPart};
use crate::math::simd;
use crate::{Error, Result};
use std::collections::HashMap;

/// The most names of parts that an error lists.
const SHOWN: usize = 10;

impl Names<'_> {
    /// Rearranges these weights for the `dim` weights that `new` names. Parts, observations and labels are matched by
    /// name; whatever is unknown here gets 0. It is an error if two parts of one name differ in their variables or
    /// tables, or if nothing is in common.
    pub(crate) fn weights_for(&self, new: &Names, dim: usize) -> Result<Vec<f64>> {
        self.values_for(self.weights, new, dim)
    }

    /// The same for any `values` of these weights.
    pub(super) fn values_for(&self, values: &[f64], new: &Names, dim: usize) -> Result<Vec<f64>> {
        // Of several with one name, the first counts.
        let old_sets: HashMap<_, usize> =
            self.sets.iter().enumerate().rev().map(|(k, old)| (&old.name, k)).collect();
        let old_set = |set: &LabelSet| old_sets.get(&set.name).copied();
        let identity = |part: &WeightPart| (part.name.clone(), part.is_table());
        let old_parts: HashMap<_, &WeightPart> =
            self.parts.iter().rev().map(|part| (identity(part), part)).collect();
        let old_labels = |set: &LabelSet| -> Vec<Option<usize>> {
            let Some(old) = old_set(set) else { return vec![None; set.labels.len()] };
            let numbers: HashMap<&String, usize> = self.sets[old].labels.iter().zip(0..).collect();
            set.labels.iter().map(|label| numbers.get(label).copied()).collect()
        };
        let labels: Vec<Vec<Option<usize>>> = new.sets.iter().map(old_labels).collect();
        let mut theta = vec![0.0; dim];
        let mut known = false;
        for part in &new.parts {
            let Some(&old) = old_parts.get(&identity(part)) else { continue };
            let set_names = |names: &Names, part: &WeightPart| -> Vec<Option<String>> {
                part.over.iter().map(|&set| names.sets[set].name.clone()).collect()
            };
            if old.tables != part.tables || set_names(self, old) != set_names(new, part) {
                return Err(Error::Setting(format!(
                    "the model has other tables for `{}` ({}, not {}), or has it over other variables: its weights cannot be used \
                     here",
                    part.name,
                    old.tables.name(),
                    part.tables.name()
                )));
            }
            known = true;
            self.carry(values, [old, part], new, &labels, &mut theta);
        }
        match known {
            true => Ok(theta),
            false => {
                let names = |names: &Names| {
                    let first = names.parts.iter().take(SHOWN).map(|part| part.name.as_str());
                    let more = (names.parts.len() > SHOWN).then_some("…");
                    first.chain(more).collect::<Vec<_>>().join(", ")
                };
                let (old, new) = (names(self), names(new));
                Err(Error::Setting(format!(
                    "the model has nothing in common with the data: it has weights of {old}, but weights of {new} are needed"
                )))
            }
        }
    }

    /// Transfers the rows of a part. `labels` holds the old number of each new label, set by set.
    fn carry(
        &self,
        values: &[f64],
        [old, part]: [&WeightPart; 2],
        new: &Names,
        labels: &[Vec<Option<usize>>],
        theta: &mut [f64],
    ) {
        let known: HashMap<(WeightKind, Option<String>), u32> =
            (0..old.rows()).map(|row| ((old.observation)(row), row)).collect();
        // The weights of one old row, by table entry.
        let mut table = HashMap::new();
        for row in 0..part.rows() {
            let Some(&old_row) = known.get(&(part.observation)(row)) else { continue };
            let weights = values[old.range(old_row)].iter().enumerate();
            table.clear();
            table.extend(weights.map(|(k, w)| (old.entry(old_row, k).unwrap_or(k), *w)));
            for (k, weight) in part.range(row).enumerate() {
                let entry = match part.entry(row, k) {
                    None => Some(k),
                    Some(_) => self.old_entry(part.label_numbers(row, k, &new.sets), old, labels),
                };
                theta[weight] = entry.and_then(|entry| table.get(&entry)).copied().unwrap_or(0.0);
            }
        }
    }

    /// The entry of these new labels in the old table; `None` if one of the labels is new. `labels` begins with the
    /// last variable's.
    fn old_entry(
        &self,
        new: impl Iterator<Item = (usize, usize)>,
        old: &WeightPart,
        labels: &[Vec<Option<usize>>],
    ) -> Option<usize> {
        let (mut entry, mut distance) = (0, 1);
        for (place, ((set, label), &old_set)) in new.zip(old.over.iter().rev()).enumerate() {
            entry += labels[set][label]? * distance;
            let card = self.sets[old_set].labels.len();
            distance *= if place == 0 { simd::padded(card) } else { card };
        }
        Some(entry)
    }
}
