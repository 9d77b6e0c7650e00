//! Joint distributions of two neighbouring labels, and co-occurrence rates.

use super::counts::{Tally, ordered};
use super::spelling::{Spelling, features};
use crate::domain::chain::log_rate;
use crate::graph::Table;

/// P̃(y, y'|a, b) for every pair of keys (a, b) that was seen, sparse.
#[derive(Clone, Debug, Default)]
pub(super) struct Joint {
    /// The keys (a, b), in ascending order.
    keys: Vec<[u32; 2]>,
    /// First entry of each key, and the end of the last.
    start: Vec<u32>,
    /// Entries: label, next label, probability.
    entries: Vec<(u32, u32, f64)>,
}

impl Joint {
    /// Normalises the counts of (a, b, y, y') for each (a, b).
    pub(crate) fn new(tally: &Tally<4>) -> Self {
        let mut joint = Joint { start: vec![0], ..Joint::default() };
        for group in ordered(tally).chunk_by(|x, y| x.0[..2] == y.0[..2]) {
            let total = group.iter().map(|(_, n)| n).sum::<u64>() as f64;
            joint.keys.push([group[0].0[0], group[0].0[1]]);
            joint.entries.extend(group.iter().map(|&([_, _, i, j], n)| (i, j, n as f64 / total)));
            joint.start.push(joint.entries.len() as u32);
        }
        joint
    }

    /// Makes the distributions for pairs of spelling features, from counts of (spelling, next spelling, y, y').
    pub(crate) fn of_features(spellings: &Tally<4>) -> Self {
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
    pub(crate) fn find(&self, key: [u32; 2]) -> Option<&[(u32, u32, f64)]> {
        let k = self.keys.binary_search(&key).ok()?;
        Some(&self.entries[self.start[k] as usize..self.start[k + 1] as usize])
    }

    /// Overwrites the joint distribution with the mean of P̃(·, ·|f, g) over the features f and g of two spellings that
    /// were seen together. Returns false if there are none.
    pub(crate) fn mean(&self, spellings: [Spelling; 2], labels: usize, work: &mut PairWork) -> bool {
        work.clear(labels);
        let mut seen = 0;
        for f in features(spellings[0]) {
            for g in features(spellings[1]) {
                if let Some(entries) = self.find([f as u32, g as u32]) {
                    seen += 1;
                    entries.iter().for_each(|&(i, j, p)| work.joint[i as usize * labels + j as usize] += p);
                }
            }
        }
        work.joint.iter_mut().for_each(|p| *p /= f64::from(seen.max(1)));
        seen > 0
    }
}

/// Working memory for the distribution of two neighbouring labels.
#[derive(Clone, Debug, Default)]
pub struct PairWork {
    /// P(y, y') `[labels][labels]`.
    pub(super) joint: Vec<f64>,
    /// P(y).
    pub(super) left: Vec<f64>,
    /// P(y').
    pub(super) right: Vec<f64>,
}

impl PairWork {
    /// Sets everything to zero.
    pub(super) fn clear(&mut self, labels: usize) {
        for (vector, len) in
            [(&mut self.joint, labels * labels), (&mut self.left, labels), (&mut self.right, labels)]
        {
            vector.clear();
            vector.resize(len, 0.0);
        }
    }

    /// Sets P(y) and P(y') to the sums of P(y, y'). They must be 0 before.
    pub(super) fn fill_marginals(&mut self) {
        for (row, left) in self.joint.chunks_exact(self.right.len()).zip(&mut self.left) {
            *left = row.iter().sum();
            self.right.iter_mut().zip(row).for_each(|(right, p)| *right += p);
        }
    }

    /// Overwrites `rates`, `[labels][stride]`, with ln P(y, y')/(P(y)·P(y')) (eq. 1), at least `floor`. The padding is
    /// left alone.
    pub(super) fn log_rates(&self, stride: usize, floor: f64, rates: &mut [f64]) {
        let rows = rates.chunks_mut(stride).zip(self.joint.chunks_exact(self.right.len())).zip(&self.left);
        for ((rates, joint), &left) in rows {
            for ((rate, &p), &right) in rates.iter_mut().zip(joint).zip(&self.right) {
                *rate = log_rate(p, left, right, floor);
            }
        }
    }
}

/// ln CR(y; y') of the labels alone, with P̃(y, y') over all neighbours and P̃(y) over all tokens.
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
