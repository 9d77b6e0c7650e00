//! Labellings of a chain in which some things occur at most once: a label, or a type of chunks.
//!
//! A state is a label together with the set of things that have occurred so far, so that the rule is one on neighbouring states. A step
//! from label i to label j adds what begins there. The tables of the chain stay as they are: a position costs O(labels²·2^things). The best
//! labellings are searched for from the end (`once_paths.rs`).

use super::StateChain;
use crate::graph::{BEGIN, Chain, END, Label, PAIR, Psi};

/// States (labels times sets of things) that are searched exactly, at most.
const MOST_STATES: usize = 4096;

/// Things of which a labelling may have each at most once.
#[derive(Clone, Debug)]
pub struct AtMostOnce {
    pub(super) labels: usize,
    pub(super) things: usize,
    /// For each label before (the last is the beginning) and each label after, the bits of the things that begin there.
    begins: Vec<u32>,
    /// The states of a chain without these things: labels, or label pairs on second-order chains.
    width: usize,
    most_states: usize,
}

impl AtMostOnce {
    /// This many things; `begins` says whether one begins at a label after another, where `None` is the beginning of the sequence.
    ///
    /// # Panics
    /// If there are more than 32 things.
    pub fn new(labels: usize, things: usize, begins: impl Fn(usize, Option<usize>, usize) -> bool) -> Self {
        assert!(things <= 32, "a bit for each thing");
        let mut all = Vec::with_capacity((labels + 1) * labels);
        for before in (0..labels).map(Some).chain([None]) {
            for after in 0..labels {
                let bits = (0..things).filter(|&thing| begins(thing, before, after)).map(|thing| 1 << thing);
                all.push(bits.sum());
            }
        }
        AtMostOnce { labels, things, begins: all, width: labels, most_states: MOST_STATES }
    }

    /// The same with another limit on the number of states that are searched exactly.
    pub fn within(self, most_states: usize) -> Self {
        AtMostOnce { most_states, ..self }
    }

    /// The same on second-order chains with these label pairs.
    pub(crate) fn on_pairs(self, pairs: usize) -> Self {
        AtMostOnce { width: pairs, ..self }
    }

    /// The same things on the chain over the label pairs of second-order chains.
    pub(crate) fn by_pairs(&self, pairs: &StateChain) -> Self {
        let label = |pair: usize| pairs.label(pair) as usize;
        let mut by_pairs = AtMostOnce::new(pairs.len(), 0, |_, _, _| false);
        (by_pairs.things, by_pairs.most_states) = (self.things, self.most_states);
        by_pairs.begins.clear();
        for before in (0..pairs.len()).map(Some).chain([None]) {
            let begins = (0..pairs.len()).map(|after| self.begins(before.map(label), label(after)) as u32);
            by_pairs.begins.extend(begins);
        }
        by_pairs
    }

    /// The number of states: labels, or label pairs, times sets of things.
    pub fn states(&self) -> u64 {
        (self.width as u64) << self.things
    }

    /// Whether there are few enough states for exact probabilities. Otherwise only the best labelling is found, among the n best.
    pub fn is_exact(&self) -> bool {
        self.states() <= self.most_states as u64
    }

    /// The bits of the things that begin at a label after another.
    pub(super) fn begins(&self, before: Option<usize>, after: usize) -> usize {
        self.begins[before.unwrap_or(self.labels) * self.labels + after] as usize
    }

    /// Whether a labelling has each thing at most once.
    pub fn is_satisfied_by(&self, labels: &[Label]) -> bool {
        let (mut seen, mut before) = (0, None);
        labels.iter().all(|&label| {
            let new = self.begins(before, label as usize);
            let free = seen & new == 0;
            (seen, before) = (seen | new, Some(label as usize));
            free
        })
    }

    /// Overwrites `out`, `[T][stride]`, with the probability of each label at each position given that every thing occurs at most once, and
    /// returns log Z over these labellings.
    pub fn marginals(&self, chain: &Chain, psi: Psi<f64>, out: &mut [f64]) -> f64 {
        let (n, states, stride) = (self.labels, self.labels << self.things, chain.stride());
        out[..chain.len * stride].fill(0.0);
        if chain.len == 0 {
            return 0.0;
        }
        let mut alpha = vec![f64::NEG_INFINITY; chain.len * states];
        self.start(chain, psi, &mut alpha[..states]);
        let mut most = vec![0.0; states];
        for t in 1..chain.len {
            let (before, now) = alpha.split_at_mut(t * states);
            let (before, now) = (&before[(t - 1) * states..], &mut now[..states]);
            most.fill(f64::NEG_INFINITY);
            self.each_step(|from, to, i, j| {
                most[to] = most[to].max(before[from] + step(chain, psi, t, i, j))
            });
            now.fill(0.0);
            self.each_step(|from, to, i, j| {
                if most[to] > f64::NEG_INFINITY {
                    now[to] += (before[from] + step(chain, psi, t, i, j) - most[to]).exp();
                }
            });
            for (s, x) in now.iter_mut().enumerate() {
                *x = x.ln() + most[s] + node(chain, psi, t, s % n);
            }
        }
        let mut beta: Vec<f64> = (0..states).map(|s| psi.shared[END].log.get(s % n)).collect();
        let last = &alpha[(chain.len - 1) * states..];
        let log_z = log_sum(last.iter().zip(&beta).map(|(a, b)| a + b));
        let mut next = vec![0.0; states];
        for t in (0..chain.len).rev() {
            for (s, b) in beta.iter().enumerate() {
                let p = (alpha[t * states + s] + b - log_z).exp();
                out[t * stride + s % n] += if p.is_nan() { 0.0 } else { p };
            }
            if t == 0 {
                break;
            }
            most.fill(f64::NEG_INFINITY);
            let value =
                |to: usize, i: usize, j: usize| beta[to] + node(chain, psi, t, j) + step(chain, psi, t, i, j);
            self.each_step(|from, to, i, j| most[from] = most[from].max(value(to, i, j)));
            next.fill(0.0);
            self.each_step(|from, to, i, j| {
                if most[from] > f64::NEG_INFINITY {
                    next[from] += (value(to, i, j) - most[from]).exp();
                }
            });
            beta.clear();
            beta.extend(next.iter().zip(&most).map(|(x, most)| x.ln() + most));
        }
        log_z
    }

    /// −Σ P ln P over the labellings in which every thing occurs at most once, in nats: log Z minus the mean score, which is carried along
    /// from state to state.
    pub fn entropy(&self, chain: &Chain, psi: Psi<f64>) -> f64 {
        if chain.len == 0 {
            return 0.0;
        }
        let (n, states) = (self.labels, self.labels << self.things);
        let mut alpha = vec![f64::NEG_INFINITY; states];
        self.start(chain, psi, &mut alpha);
        // The mean score of what leads to each state; anything where nothing does.
        let mut mean: Vec<f64> = alpha.iter().map(|a| a.max(-f64::MAX)).collect();
        let (mut most, mut sum, mut next) = (vec![0.0; states], vec![0.0; states], vec![0.0; states]);
        for t in 1..chain.len {
            most.fill(f64::NEG_INFINITY);
            sum.fill(0.0);
            next.fill(0.0);
            self.each_step(|from, to, i, j| most[to] = most[to].max(alpha[from] + step(chain, psi, t, i, j)));
            self.each_step(|from, to, i, j| {
                let w = step(chain, psi, t, i, j);
                let share = (alpha[from] + w - most[to]).exp();
                if share > 0.0 {
                    sum[to] += share;
                    next[to] += share * (mean[from] + w);
                }
            });
            for s in 0..states {
                let u = node(chain, psi, t, s % n);
                alpha[s] = sum[s].ln() + most[s] + u;
                mean[s] = if sum[s] > 0.0 { next[s] / sum[s] + u } else { 0.0 };
            }
        }
        let end = |s: usize| psi.shared[END].log.get(s % n);
        let log_z = log_sum((0..states).map(|s| alpha[s] + end(s)));
        let share = |s: usize| (alpha[s] + end(s) - log_z).exp();
        let score: f64 = (0..states).filter(|&s| share(s) > 0.0).map(|s| share(s) * (mean[s] + end(s))).sum();
        (log_z - score).max(0.0)
    }

    /// The scores of the states of the first position.
    fn start(&self, chain: &Chain, psi: Psi<f64>, scores: &mut [f64]) {
        for j in 0..self.labels {
            let set = self.begins(None, j);
            scores[set * self.labels + j] = psi.shared[BEGIN].log.get(j) + node(chain, psi, 0, j);
        }
    }

    /// Calls `visit` with every step that is allowed: the state before, the state after, and their labels.
    fn each_step(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        let n = self.labels;
        for set in 0..1 << self.things {
            for i in 0..n {
                for j in 0..n {
                    let new = self.begins(Some(i), j);
                    if set & new == 0 {
                        visit(set * n + i, (set | new) * n + j, i, j);
                    }
                }
            }
        }
    }
}

pub(super) fn node(chain: &Chain, psi: Psi<f64>, t: usize, j: usize) -> f64 {
    psi.own.get(t * chain.stride() + j)
}

/// The score of label j at position t after label i.
pub(super) fn step(chain: &Chain, psi: Psi<f64>, t: usize, i: usize, j: usize) -> f64 {
    let entry = i * chain.stride() + j;
    let own = if chain.own_pairs { psi.own.get(chain.pair_offset(t) + entry) } else { 0.0 };
    psi.shared[PAIR].log.get(entry) + own
}

fn log_sum(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = numbers.clone().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY { most } else { most + numbers.map(|x| (x - most).exp()).sum::<f64>().ln() }
}
