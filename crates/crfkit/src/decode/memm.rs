//! Decoding of maximum-entropy Markov models: the Viterbi algorithm over locally normalised scores.

use super::Decoder;
use super::viterbi::{self, Viterbi};
use crate::graph::{BEGIN, Chain, END, FORBIDDEN, Graph, Label, PAIR, Psi, TRIPLE, Table};
use crate::math::{Array, simd};

/// The direction in which a chain is normalised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// p(y_t | y_{t−1}), from the first label to the last.
    #[default]
    Forward,
    /// p(y_t | y_{t+1}), from the last label to the first.
    Backward,
}

/// The most probable labelling under Π_t p(y_t | y_{t∓1}) (pwpl-2007 section 5), in O(T·labels²). Its score is log p.
///
/// Forward, log p(j | i) = ū_t(j) + w(i, j) − log z_t(i) with z_t(i) = Σ_k exp(ū_t(k) + w(i, k)), where ū includes
/// the tables of the first and the last label. Subtracting log z_t from the node table of t−1 leaves the problem of
/// finding the best labelling of a chain. Backward, z_t(j) = Σ_k exp(ū_t(k) + w(k, j)) is subtracted from the node
/// table of t+1. On a second-order chain, z_t depends on two labels, and is subtracted from the own table of their pair: such a chain must
/// have own tables of pairs.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemmViterbi(pub Direction);

/// Scratch for [`MemmViterbi`].
#[derive(Debug, Default)]
pub struct Work {
    viterbi: viterbi::Work,
    own: Array<f64>,
    /// ū, then exp(ū − max).
    node: Vec<f64>,
    e: Vec<f64>,
    /// log z_t.
    log_z: Vec<f64>,
    /// The scores that are summed in one entry of log z_t.
    line: Vec<f64>,
}

/// Up to this spread, no product of exponentials underflows.
const SAFE_SPREAD: f64 = 500.0;

impl Decoder for MemmViterbi {
    type Graph = Chain;
    type Work = Work;

    fn argmax(&self, chain: &Chain, psi: Psi<f64>, labels: &mut Vec<Label>, work: &mut Work) -> f64 {
        let given_nothing = self.normalise(chain, psi, work);
        let psi = Psi { shared: psi.shared, own: &work.own };
        Viterbi.argmax(chain, psi, labels, &mut work.viterbi) - given_nothing
    }
}

impl MemmViterbi {
    /// Replaces ψ by that of the locally normalised chain. Every engine and decoder for chains then gives the results
    /// of the maximum-entropy Markov model.
    #[doc(hidden)]
    pub fn localise(&self, chain: &Chain, shared: &[Table<f64>], own: &mut Array<f64>, work: &mut Work) {
        self.normalise(chain, Psi { shared, own }, work);
        std::mem::swap(own, &mut work.own);
    }

    /// Fills `work.own` with node tables from which the normalisers are subtracted. Returns the normaliser of the
    /// label that is conditioned on nothing.
    fn normalise(&self, chain: &Chain, psi: Psi<f64>, work: &mut Work) -> f64 {
        let (labels, stride, own_len) = (chain.labels, chain.stride(), chain.own_len());
        work.own.reserve(own_len);
        work.own.plane_mut(0)[..own_len].copy_from_slice(&psi.own.plane(0)[..own_len]);
        let mut given_nothing = 0.0;
        for t in 0..chain.len {
            work.node.clear();
            work.node.extend_from_slice(&psi.own.plane(0)[t * stride..(t + 1) * stride]);
            for (id, at) in [(BEGIN, 0), (END, chain.len - 1)] {
                if t == at {
                    (0..labels).for_each(|j| work.node[j] += psi.shared[id].log.get(j));
                }
            }
            let given = match self.0 {
                Direction::Forward => t.checked_sub(1),
                Direction::Backward => (t + 1 < chain.len).then_some(t + 1),
            };
            let further = match self.0 {
                Direction::Forward => t >= 2,
                Direction::Backward => t + 2 < chain.len,
            };
            match given {
                Some(_) if chain.triples && further => self.given_two(chain, psi, t, work),
                Some(given) => {
                    self.log_z(chain, psi, t, work);
                    let own = &mut work.own.plane_mut(0)[given * stride..][..labels];
                    own.iter_mut().zip(&work.log_z).for_each(|(x, log_z)| *x -= possible(*log_z));
                }
                None => given_nothing = log_sum_exp(&work.node[..labels]),
            }
        }
        given_nothing
    }

    /// Subtracts log z_t, given two labels, from the own table of their pair: those of t−2 and t−1, or of t+1 and t+2. ū_t is in `work.node`.
    fn given_two(&self, chain: &Chain, psi: Psi<f64>, t: usize, work: &mut Work) {
        let Work { own, node, line, .. } = work;
        let (stride, triple) = (chain.stride(), &psi.shared[TRIPLE]);
        let states = triple.triples.as_ref().expect("a second-order chain has a table of triples").states();
        for j in 0..chain.labels {
            let (given, others, table) = match self.0 {
                Direction::Forward => (states.before(j), states.after(j), chain.pair_offset(t - 1)),
                Direction::Backward => (states.after(j), states.before(j), chain.pair_offset(t + 2)),
            };
            for &given in given {
                line.clear();
                line.extend(others.iter().map(|&label| {
                    let [i, k] = match self.0 {
                        Direction::Forward => [given as usize, label as usize],
                        Direction::Backward => [label as usize, given as usize],
                    };
                    let pair = match self.0 {
                        Direction::Forward => viterbi::pair(chain, psi, t, j, k),
                        Direction::Backward => viterbi::pair(chain, psi, t + 1, i, j),
                    };
                    node[label as usize] + pair + triple.log.get((i * chain.labels + j) * stride + k)
                }));
                let entry = match self.0 {
                    Direction::Forward => given as usize * stride + j,
                    Direction::Backward => j * stride + given as usize,
                };
                own.add(table + entry, -possible(log_sum_exp(line)));
            }
        }
    }

    /// Writes log z_t to `work.log_z`, given ū_t in `work.node`.
    fn log_z(&self, chain: &Chain, psi: Psi<f64>, t: usize, work: &mut Work) {
        let (labels, stride) = (chain.labels, chain.stride());
        let Work { node, e, log_z, line, .. } = work;
        let pair = &psi.shared[PAIR];
        for row in [&mut *e, &mut *log_z] {
            row.clear();
            row.resize(stride, 0.0);
        }
        let mut shift = [0.0];
        let spread = simd::exp_rows(node, labels, &mut shift, e);
        if !chain.own_pairs && spread + pair.spread < SAFE_SPREAD {
            let m = match self.0 {
                Direction::Forward => &pair.exp_t,
                Direction::Backward => &pair.exp,
            };
            line.clear();
            line.resize(stride, 1.0);
            simd::advance(&e[..labels], m.plane(0), 1.0, line, log_z);
            log_z[..labels].iter_mut().for_each(|z| *z = z.ln() + shift[0] + pair.shift);
            return;
        }
        line.clear();
        line.resize(labels, 0.0);
        for (given, log_z) in log_z[..labels].iter_mut().enumerate() {
            for (k, x) in line.iter_mut().enumerate() {
                *x = node[k]
                    + match self.0 {
                        Direction::Forward => viterbi::pair(chain, psi, t, given, k),
                        Direction::Backward => viterbi::pair(chain, psi, t + 1, k, given),
                    };
            }
            *log_z = log_sum_exp(line);
        }
    }
}

/// log z, or 0 if no label is possible: then all stay forbidden.
fn possible(log_z: f64) -> f64 {
    if log_z > -FORBIDDEN / 2.0 { log_z } else { 0.0 }
}

fn log_sum_exp(x: &[f64]) -> f64 {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    max + x.iter().map(|x| (x - max).exp()).sum::<f64>().ln()
}
