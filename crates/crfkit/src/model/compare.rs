//! Comparing the weights of two models, by name.

use super::names::{NamedWeight, Names, WeightKind, WeightPart};
use crate::Result;
use std::collections::HashSet;

/// The weights of two models, compared by name. The first of two numbers always belongs to the first model.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Number of weights in each model.
    pub weights: [usize; 2],
    /// Number of weights that both models have.
    pub common: usize,
    /// How many of these differ.
    pub changed: usize,
    /// √Σ(a − b)² over all weights; a weight that a model does not have is 0.
    pub distance: f64,
    /// The weights that differ most, largest difference first.
    pub largest: Vec<WeightDifference>,
    /// Number of observations that only one of the models has.
    pub alone: [usize; 2],
    /// Of these, the ones with the heaviest weights.
    pub heaviest_alone: [Vec<NamedWeight>; 2],
}

/// A weight of two models.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightDifference {
    /// The weight by name, with its value in the second model.
    pub weight: NamedWeight,
    /// Its value in each model; `None` where the model has no such weight.
    pub values: [Option<f64>; 2],
}

impl Names<'_> {
    /// Compares these weights with those of another model. `top` says how many single weights and observations to name. It is an error if
    /// the models have nothing in common.
    #[doc(hidden)]
    pub fn compare(&self, other: &Names, top: usize) -> Result<Comparison> {
        let both = [self, other];
        let mut comparison = Comparison {
            weights: both.map(|names| names.weights.len()),
            common: 0,
            changed: 0,
            distance: 0.0,
            largest: Vec::new(),
            alone: [0; 2],
            heaviest_alone: [Vec::new(), Vec::new()],
        };
        // Weights of the second model, and what the first one has for them; whether it has them is told by ones.
        let theirs = self.values_for(self.weights, other, other.weights.len())?;
        let has = self.values_for(&vec![1.0; self.weights.len()], other, other.weights.len())?;
        let mut differences: Vec<(f64, usize, usize)> = Vec::new();
        let mut square = 0.0;
        for (k, &b) in other.weights.iter().enumerate() {
            let difference = b - theirs[k];
            if has[k] != 0.0 {
                comparison.common += 1;
                comparison.changed += usize::from(difference != 0.0);
            }
            square += difference * difference;
            if difference != 0.0 {
                differences.push((difference.abs(), 1, k));
            }
        }
        let missing = other.values_for(&vec![1.0; other.weights.len()], self, self.weights.len())?;
        for (k, &a) in self.weights.iter().enumerate().filter(|(k, a)| missing[*k] == 0.0 && **a != 0.0) {
            square += a * a;
            differences.push((a.abs(), 0, k));
        }
        comparison.distance = square.sqrt();
        differences.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
        for &(_, model, k) in differences.iter().take(top) {
            let Some(weight) = both[model].named(k) else { continue };
            let values = match model {
                0 => [Some(weight.weight), None],
                _ => [(has[k] != 0.0).then_some(theirs[k]), Some(weight.weight)],
            };
            comparison.largest.push(WeightDifference { weight, values });
        }
        for model in 0..2 {
            let (count, heaviest) = both[model].alone(both[1 - model], top);
            (comparison.alone[model], comparison.heaviest_alone[model]) = (count, heaviest);
        }
        Ok(comparison)
    }

    /// The number of observations that `other` does not have, and those with the heaviest weights.
    fn alone(&self, other: &Names, top: usize) -> (usize, Vec<NamedWeight>) {
        let mut known: HashSet<(&str, WeightKind, Option<String>)> = HashSet::new();
        for part in &other.parts {
            known.extend((0..part.rows()).map(|row| {
                let (kind, observation) = (part.observation)(row);
                (&*part.name, kind, observation)
            }));
        }
        let (mut count, mut heaviest) = (0, Vec::new());
        for part in self.parts.iter().filter(|part| !part.is_table()) {
            for row in 0..part.rows() {
                let (kind, observation) = (part.observation)(row);
                if known.contains(&(&*part.name, kind, observation)) {
                    continue;
                }
                count += 1;
                let range = part.range(row);
                let heavy = range.clone().zip(0..).max_by(|(a, _), (b, _)| {
                    self.weights[*a].abs().total_cmp(&self.weights[*b].abs()).then(b.cmp(a))
                });
                if let Some((weight, k)) = heavy {
                    heaviest.push((self.weights[weight].abs(), part, row, k));
                }
            }
        }
        heaviest.sort_by(|a, b| b.0.total_cmp(&a.0));
        heaviest.truncate(top);
        (count, heaviest.into_iter().map(|(_, part, row, k)| self.named_in(part, row, k)).collect())
    }

    /// A weight with its name; `None` past the last one.
    fn named(&self, weight: usize) -> Option<NamedWeight> {
        self.parts.iter().find_map(|part| {
            let row = part.row_of(weight)?;
            Some(self.named_in(part, row, weight - part.range(row).start))
        })
    }

    /// Weight k of a row, with its name.
    pub(super) fn named_in(&self, part: &WeightPart, row: u32, k: usize) -> NamedWeight {
        let (kind, observation) = (part.observation)(row);
        NamedWeight {
            part: part.name.clone(),
            kind,
            observation,
            labels: part.labels(row, k, &self.sets),
            weight: self.weights[part.range(row).start + k],
        }
    }
}
