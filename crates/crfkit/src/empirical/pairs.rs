//! Joint distributions of two neighbouring labels, and co-occurrence rates.

use super::counts::{Tally, ordered};
use super::spelling::{Spelling, features};
use crate::graph::Table;

/// P̃(y, y'|a, b) for every pair of keys (a, b) that was seen, sparse.
#[derive(Clone, Debug, Default)]
pub(super) struct Joint {
    /// The keys (a, b), ascending.
    keys: Vec<[u32; 2]>,
    /// First entry of each key, and the end.
    start: Vec<u32>,
    /// Label, next label, probability.
    entries: Vec<(u32, u32, f64)>,
}

impl Joint {
    /// Normalises the counts of (a, b, y, y') for each (a, b).
    pub fn new(tally: &Tally<4>) -> Self {
        let mut joint = Joint { start: vec![0], ..Joint::default() };
        for group in ordered(tally).chunk_by(|x, y| x.0[..2] == y.0[..2]) {
            let total = group.iter().map(|(_, n)| n).sum::<u64>() as f64;
            joint.keys.push([group[0].0[0], group[0].0[1]]);
            joint.entries.extend(group.iter().map(|&([_, _, i, j], n)| (i, j, n as f64 / total)));
            joint.start.push(joint.entries.len() as u32);
        }
        joint
    }

    /// The same for pairs of spelling features, from counts of (spelling, next spelling, y, y').
    pub fn of_features(spellings: &Tally<4>) -> Self {
        let mut tally = Tally::<4>::new();
        for (&[a, b, i, j], n) in spellings {
            for f in features(a) {
                for g in features(b) {
                    *tally.entry([f as u32, g as u32, i, j]).or_default() += n;
                }
            }
        }
        Joint::new(&tally)
    }

    /// P̃(·, ·|a, b), if the pair was seen.
    pub fn find(&self, key: [u32; 2]) -> Option<&[(u32, u32, f64)]> {
        let k = self.keys.binary_search(&key).ok()?;
        Some(&self.entries[self.start[k] as usize..self.start[k + 1] as usize])
    }

    /// Overwrites `mean`, `[labels][labels]`, with the mean of P̃(·, ·|f, g) over the features f and g of two spellings that were
    /// seen together; false if there are none.
    pub fn mean(&self, before: Spelling, spelling: Spelling, labels: usize, mean: &mut Vec<f64>) -> bool {
        mean.clear();
        mean.resize(labels * labels, 0.0);
        let mut seen = 0;
        for f in features(before) {
            for g in features(spelling) {
                if let Some(entries) = self.find([f as u32, g as u32]) {
                    seen += 1;
                    entries.iter().for_each(|&(i, j, p)| mean[i as usize * labels + j as usize] += p);
                }
            }
        }
        mean.iter_mut().for_each(|p| *p /= f64::from(seen.max(1)));
        seen > 0
    }
}

/// ln CR(y; y') = ln P(y, y')/(P(y)·P(y')) (eq. 1) of a joint distribution `[labels][labels]` with its own marginals; at least
/// `floor`. Overwrites `rates`, `[labels][stride]`.
pub(super) fn log_rates(joint: &[f64], labels: usize, stride: usize, floor: f64, rates: &mut [f64]) {
    let (mut left, mut right) = (vec![0.0; labels], vec![0.0; labels]);
    for i in 0..labels {
        for j in 0..labels {
            left[i] += joint[i * labels + j];
            right[j] += joint[i * labels + j];
        }
    }
    for i in 0..labels {
        for j in 0..labels {
            rates[i * stride + j] = log_rate(joint[i * labels + j], left[i], right[j], floor);
        }
    }
}

/// ln P(y, y')/(P(y)·P(y')), at least `floor`: also where P(y, y') is 0. Finite even if the parts do not fit each other.
pub(super) fn log_rate(joint: f64, left: f64, right: f64, floor: f64) -> f64 {
    let log = |p: f64| p.max(f64::MIN_POSITIVE).ln();
    match joint > 0.0 {
        true => (joint.ln() - log(left) - log(right)).max(floor),
        false => floor,
    }
}

/// ln CR(y; y') of the labels alone: P̃(y, y') over all neighbours, P̃(y) over all tokens.
pub(super) fn label_rates(pairs: &Tally<2>, prior: &[f64], floor: f64) -> Table<f64> {
    let labels = prior.len();
    let mut table = Table::new(labels, labels);
    let stride = table.stride;
    let log = table.log.plane_mut(0);
    log.chunks_exact_mut(stride).for_each(|row| row[..labels].fill(floor));
    let total = pairs.values().sum::<u64>() as f64;
    for (&[i, j], &n) in pairs {
        let (i, j) = (i as usize, j as usize);
        log[i * stride + j] = log_rate(n as f64 / total, prior[i], prior[j], floor);
    }
    table
}
