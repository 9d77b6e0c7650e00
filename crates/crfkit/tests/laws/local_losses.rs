//! Local losses on chains equal their definitions by brute force, and each other where theory says so: pseudolikelihood is
//! the likelihood without edges, one piece is the likelihood, piecewise training bounds it, and piecewise
//! pseudolikelihood is two MEMMs. All of them are convex. `graph_losses.rs` has the same tests for any graph.

use crate::common;

use common::{Problem, chains, difference};
use crfkit::decode::{Decoder, Direction, MemmViterbi, Viterbi};
use crfkit::graph::{Chain, Graph, Label, PAIR, Psi, TableRef};
use crfkit::infer::ForwardBackward;
use crfkit::infer::enumerate::enumerate;
use crfkit::loss::{
    ChainPiecewise, ChainPiecewisePseudolikelihood, Likelihood, Loss, Marginal, Memm, Perceptron, Pieces,
    Piecewise, PiecewisePseudolikelihood, Pseudolikelihood,
};
use crfkit::math::random::Random;

const RANGES: [f64; 4] = [0.0, 2.0, 30.0, 700.0];
const PIECES: [Pieces; 3] = [Pieces::Factor, Pieces::Edge, Pieces::SharedUnary];

fn log_sum_exp(x: impl Iterator<Item = f64>) -> f64 {
    let x: Vec<f64> = x.collect();
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    max + x.iter().map(|x| (x - max).exp()).sum::<f64>().ln()
}

fn value<L: Loss<Graph = Chain>>(loss: &L, problem: &Problem) -> f64 {
    problem.evaluate::<f64, L>(loss, None, 0.0).0
}

/// The scores of a chain as the definitions want them.
struct Scores<'a>(&'a Problem);

impl Scores<'_> {
    /// Node table, with the tables of first and last labels.
    fn node(&self, t: usize, j: usize) -> f64 {
        let Problem { chain, shared, own, .. } = self.0;
        let mut u = own[t * chain.stride() + j];
        if t == 0 {
            u += shared[1][j];
        }
        if t + 1 == chain.len {
            u += shared[2][j];
        }
        u
    }

    /// Shared and own table of (t−1, t).
    fn pair(&self, t: usize, i: usize, j: usize) -> f64 {
        let Problem { chain, shared, own, .. } = self.0;
        let w = shared[PAIR][i * chain.labels + j];
        if chain.own_pairs { w + own[chain.pair_offset(t) + i * chain.stride() + j] } else { w }
    }

    fn gold(&self, t: usize) -> usize {
        self.0.gold[t] as usize
    }

    fn labels(&self) -> std::ops::Range<usize> {
        0..self.0.chain.labels
    }

    /// −log p(y_t) from the scores of its labels, times the weight of the token.
    fn minus_log_p(&self, t: usize, score: impl Fn(usize) -> f64) -> f64 {
        let weight = self.0.variables.get(t).copied().unwrap_or(1.0);
        weight * (log_sum_exp(self.labels().map(&score)) - score(self.gold(t)))
    }

    fn pseudolikelihood(&self) -> f64 {
        let len = self.0.chain.len;
        let term = |t: usize| {
            self.minus_log_p(t, |j| {
                let left = if t > 0 { self.pair(t, self.gold(t - 1), j) } else { 0.0 };
                let right = if t + 1 < len { self.pair(t + 1, j, self.gold(t + 1)) } else { 0.0 };
                left + self.node(t, j) + right
            })
        };
        (0..len).map(term).sum()
    }

    /// The score of a piece (t−1, t) with the node tables that it has.
    fn edge(&self, pieces: Pieces, t: usize, i: usize, j: usize) -> f64 {
        let left = if t == 1 || pieces == Pieces::SharedUnary { self.node(t - 1, i) } else { 0.0 };
        left + self.pair(t, i, j) + self.node(t, j)
    }

    /// Edge and shared-unary pieces.
    fn piecewise(&self, pieces: Pieces) -> f64 {
        if self.0.chain.len == 1 {
            return self.minus_log_p(0, |j| self.node(0, j));
        }
        let term = |t: usize| {
            let all = self.labels().flat_map(|i| self.labels().map(move |j| (i, j)));
            log_sum_exp(all.map(|(i, j)| self.edge(pieces, t, i, j)))
                - self.edge(pieces, t, self.gold(t - 1), self.gold(t))
        };
        (1..self.0.chain.len).map(term).sum()
    }

    fn piecewise_pseudolikelihood(&self, pieces: Pieces) -> f64 {
        if self.0.chain.len == 1 {
            return self.minus_log_p(0, |j| self.node(0, j));
        }
        let term = |t: usize| {
            self.minus_log_p(t, |j| self.edge(pieces, t, self.gold(t - 1), j))
                + self.minus_log_p(t - 1, |i| self.edge(pieces, t, i, self.gold(t)))
        };
        (1..self.0.chain.len).map(term).sum()
    }

    /// −log p(y_t | y_{t−1}) or −log p(y_t | y_{t+1}), or −log p(y_t) at the end where it starts.
    fn memm(&self, direction: Direction, t: usize) -> f64 {
        self.minus_log_p(t, |j| {
            self.node(t, j)
                + match direction {
                    Direction::Forward if t > 0 => self.pair(t, self.gold(t - 1), j),
                    Direction::Backward if t + 1 < self.0.chain.len => self.pair(t + 1, j, self.gold(t + 1)),
                    _ => 0.0,
                }
        })
    }
}

/// Calls `check` with random chains of every kind and size of scores.
fn each_problem(seed: u64, mut check: impl FnMut(&Problem)) {
    let mut rng = Random::new(seed);
    for chain in chains() {
        for range in RANGES {
            check(&Problem::random(&mut rng, chain, range));
        }
    }
}

fn assert_equal(a: f64, b: f64, what: &str, problem: &Problem) {
    assert!(difference(a, b) < 1e-12, "{what}: {a} and {b} on {:?}", problem.chain);
}

#[test]
fn losses_equal_their_definitions() {
    each_problem(1, |problem| {
        let scores = Scores(problem);
        let len = problem.chain.len;
        let check = |a: f64, b: f64, what: &str| assert_equal(a, b, what, problem);
        check(value(&Pseudolikelihood::default(), problem), scores.pseudolikelihood(), "pseudolikelihood");
        for direction in [Direction::Forward, Direction::Backward] {
            let truth = (0..len).map(|t| scores.memm(direction, t)).sum();
            check(value(&Memm(direction), problem), truth, "memm");
        }
        for pieces in [Pieces::Edge, Pieces::SharedUnary] {
            let pseudo = ChainPiecewisePseudolikelihood { pieces };
            let (truth, pseudo_truth) = match len {
                0 => (0.0, 0.0),
                _ => (scores.piecewise(pieces), scores.piecewise_pseudolikelihood(pieces)),
            };
            check(value(&ChainPiecewise { pieces }, problem), truth, "piecewise");
            check(value(&pseudo, problem), pseudo_truth, "piecewise pseudolikelihood");
        }
        // The chain by factors is the general graph by factors.
        let factor = Pieces::Factor;
        check(
            value(&ChainPiecewise { pieces: factor }, problem),
            value(&Piecewise::default(), problem),
            "piecewise by factors",
        );
        check(
            value(&ChainPiecewisePseudolikelihood { pieces: factor }, problem),
            value(&PiecewisePseudolikelihood::default(), problem),
            "piecewise pseudolikelihood by factors",
        );
    });
}

/// With weights of tokens, each prediction of a token counts as much as the token weighs, and the gradient is the slope.
#[test]
fn tokens_weigh_what_they_weigh() {
    let mut rng = Random::new(11);
    for chain in chains().into_iter().filter(|chain| chain.len > 0) {
        for range in [0.5, 3.0, 700.0] {
            let mut x = Problem::random(&mut rng, chain, range);
            x.weight = 0.5;
            // Some tokens do not count at all.
            x.variables = (0..chain.len).map(|_| (3.0 * rng.uniform() - 0.5).max(0.0)).collect();
            let d = Problem::random(&mut rng, chain, 1.0);
            let scores = Scores(&x);
            weighted(&Pseudolikelihood::default(), &x, &d, scores.pseudolikelihood());
            for direction in [Direction::Forward, Direction::Backward] {
                let truth = (0..chain.len).map(|t| scores.memm(direction, t)).sum();
                weighted(&Memm(direction), &x, &d, truth);
            }
            for pieces in [Pieces::Edge, Pieces::SharedUnary] {
                let loss = ChainPiecewisePseudolikelihood { pieces };
                weighted(&loss, &x, &d, scores.piecewise_pseudolikelihood(pieces));
            }
            if range < 700.0 {
                let all = enumerate(&chain, &x.tables(None, 0.0), &x.own_array(None, 0.0));
                let mu = |t: usize| all.own[t * chain.stride() + x.gold[t] as usize];
                let truth = (0..chain.len).map(|t| -x.variables[t] * mu(t).ln()).sum();
                weighted(&Marginal(ForwardBackward), &x, &d, truth);
            }
        }
    }
}

fn weighted<L: Loss<Graph = Chain>>(loss: &L, x: &Problem, d: &Problem, truth: f64) {
    let (value, own, shared) = x.evaluate::<f64, _>(loss, None, 0.0);
    assert!(difference(value, x.weight * truth) < 1e-9, "{value} and {truth} on {:?}", x.chain);
    let h = 1e-6;
    let at = |h: f64| x.moved(d, h).evaluate::<f64, _>(loss, None, 0.0).0;
    let (slope, numeric) = (x.slope(&own, &shared, d), (at(h) - at(-h)) / (2.0 * h));
    assert!(difference(slope, numeric) < 1e-5, "{slope} against {numeric} on {:?}", x.chain);
}

#[test]
fn the_perceptron_is_best_minus_gold() {
    each_problem(2, |problem| {
        let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
        let truth = enumerate(&problem.chain, &shared, &own);
        let gold = Psi { shared: &shared, own: &own }.score(&problem.chain, &problem.gold);
        let (value, gradient, sums) = problem.evaluate::<f64, _>(&Perceptron(Viterbi), None, 0.0);
        assert_equal(value, truth.ranked[0].0 - gold, "perceptron", problem);
        let (_, best) = &truth.ranked[0];
        if truth.ranked.get(1).is_none_or(|second| second.0 < truth.ranked[0].0) {
            let mut own = vec![0.0; problem.chain.own_len()];
            let mut shared = vec![vec![0.0; sums.0[0].direct.len()]; 3];
            for (labels, amount) in [(best, 1.0), (&problem.gold, -1.0)] {
                problem.chain.for_each_factor(|factor| match factor.table {
                    TableRef::Own(offset) => own[offset + factor.entry(labels)] += amount,
                    TableRef::Shared(id) => shared[id][factor.entry(labels)] += amount,
                });
            }
            assert_eq!(gradient.plane(0), own);
            for (sum, shared) in sums.0.iter().zip(&shared) {
                assert_eq!(sum.direct.plane(0), &shared[..sum.direct.len()]);
            }
        }
    });
}

/// A chain whose pairs all have score 0 has no edges.
#[test]
fn without_edges_pseudolikelihood_is_likelihood() {
    each_problem(3, |problem| {
        let mut problem = problem.moved(problem, 0.0);
        problem.shared[PAIR].fill(0.0);
        if problem.chain.own_pairs && problem.chain.len > 0 {
            problem.own[problem.chain.len * problem.chain.stride()..].fill(0.0);
        }
        let likelihood = value(&Likelihood(ForwardBackward), &problem);
        assert_equal(value(&Pseudolikelihood::default(), &problem), likelihood, "pl = ml", &problem);
        assert_equal(value(&Memm(Direction::Forward), &problem), likelihood, "memm = ml", &problem);
    });
}

#[test]
fn one_piece_is_the_likelihood() {
    each_problem(4, |problem| {
        if problem.chain.len == 1 || problem.chain.len == 2 {
            let likelihood = value(&Likelihood(ForwardBackward), problem);
            let pseudo = value(&Pseudolikelihood::default(), problem);
            for pieces in [Pieces::Edge, Pieces::SharedUnary] {
                assert_equal(value(&ChainPiecewise { pieces }, problem), likelihood, "pw = ml", problem);
                let pwpl = value(&ChainPiecewisePseudolikelihood { pieces }, problem);
                assert_equal(pwpl, pseudo, "pwpl = pl", problem);
            }
        }
    });
}

/// Σ log Z of the pieces bounds log Z from above where no factor is in two pieces.
#[test]
fn piecewise_bounds_the_likelihood() {
    each_problem(5, |problem| {
        let likelihood = value(&Likelihood(ForwardBackward), problem);
        for pieces in [Pieces::Factor, Pieces::Edge] {
            let piecewise = value(&ChainPiecewise { pieces }, problem);
            assert!(piecewise >= likelihood - 1e-9 * likelihood.abs().max(1.0), "{piecewise} {likelihood}");
        }
    });
}

/// pwpl-2007 eq. 13. With shared-unary pieces the conditionals of piecewise pseudolikelihood are those of both MEMMs without
/// the two that are given nothing. With edge pieces the forward ones are (but for the first node's), and the backward ones are
/// those of a backward MEMM over ψ_t(y_{t−1}, y_t, x_t), which does not see x_{t−1}.
#[test]
fn piecewise_pseudolikelihood_is_two_memms() {
    each_problem(6, |problem| {
        let (scores, len) = (Scores(problem), problem.chain.len);
        if len < 2 {
            return;
        }
        let pwpl = |pieces| value(&ChainPiecewisePseudolikelihood { pieces }, problem);
        let forward = value(&Memm(Direction::Forward), problem) - scores.memm(Direction::Forward, 0);
        let backward = value(&Memm(Direction::Backward), problem) - scores.memm(Direction::Backward, len - 1);
        assert_equal(pwpl(Pieces::SharedUnary), forward + backward, "eq. 13, shared unary", problem);
        // The same without node tables, except for the first node.
        let mut blind = problem.moved(problem, 0.0);
        blind.own[problem.chain.stride()..len * problem.chain.stride()].fill(0.0);
        blind.shared[2].fill(0.0);
        let blind_backward = value(&Memm(Direction::Backward), &blind) - (problem.chain.labels as f64).ln();
        assert_equal(pwpl(Pieces::Edge), forward + blind_backward, "eq. 13, edge", problem);
    });
    // Where the first and the last label are certain, as in the paper, nothing has to be taken off.
    let chain = Chain { len: 5, labels: 3, own_pairs: false, triples: false, segments: None };
    let mut problem = Problem::random(&mut Random::new(7), chain, 2.0);
    for t in [0, 4] {
        problem.own[t * chain.stride() + problem.gold[t] as usize] += 1e4;
    }
    let memms = value(&Memm(Direction::Forward), &problem) + value(&Memm(Direction::Backward), &problem);
    let pwpl = value(&ChainPiecewisePseudolikelihood { pieces: Pieces::SharedUnary }, &problem);
    assert_equal(pwpl, memms, "eq. 13", &problem);
}

fn convex_on_a_segment<L: Loss<Graph = Chain>>(loss: &L, rng: &mut Random, chain: Chain) {
    for range in [1.0, 5.0, 100.0] {
        let a = Problem::random(rng, chain, range);
        let direction = Problem::random(rng, chain, range);
        let b = a.moved(&direction, 1.0);
        for share in [0.1, 0.5, 0.8] {
            let middle = value(loss, &a.moved(&direction, share));
            let chord = (1.0 - share) * value(loss, &a) + share * value(loss, &b);
            assert!(middle <= chord + 1e-10 * chord.abs().max(1.0), "{middle} {chord} on {chain:?}");
        }
    }
}

#[test]
fn losses_are_convex() {
    let mut rng = Random::new(8);
    for chain in chains() {
        convex_on_a_segment(&Likelihood(ForwardBackward), &mut rng, chain);
        convex_on_a_segment(&Pseudolikelihood::default(), &mut rng, chain);
        convex_on_a_segment(&Memm(Direction::Forward), &mut rng, chain);
        convex_on_a_segment(&Memm(Direction::Backward), &mut rng, chain);
        convex_on_a_segment(&Perceptron(Viterbi), &mut rng, chain);
        for pieces in PIECES {
            convex_on_a_segment(&ChainPiecewise { pieces }, &mut rng, chain);
            convex_on_a_segment(&ChainPiecewisePseudolikelihood { pieces }, &mut rng, chain);
        }
    }
}

fn weight_multiplies<L: Loss<Graph = Chain>>(loss: &L) {
    for own_pairs in [false, true] {
        let chain = Chain { len: 4, labels: 3, own_pairs, triples: false, segments: None };
        let mut problem = Problem::random(&mut Random::new(9), chain, 2.0);
        let (value, own, shared) = problem.evaluate::<f64, _>(loss, None, 0.0);
        problem.weight = 2.5;
        let (value2, own2, shared2) = problem.evaluate::<f64, _>(loss, None, 0.0);
        assert!(difference(2.5 * value, value2) < 1e-14);
        for i in 0..chain.own_len() {
            assert!((2.5 * own.get(i) - own2.get(i)).abs() < 1e-13);
        }
        for (a, b) in shared.0.iter().zip(&shared2.0) {
            for i in 0..a.direct.len() {
                assert!((2.5 * a.direct.get(i) - b.direct.get(i)).abs() < 1e-13);
            }
        }
    }
}

#[test]
fn an_example_weight_multiplies_value_and_gradient() {
    weight_multiplies(&Pseudolikelihood::default());
    weight_multiplies(&Memm(Direction::Forward));
    weight_multiplies(&Memm(Direction::Backward));
    weight_multiplies(&Perceptron(Viterbi));
    for pieces in PIECES {
        weight_multiplies(&ChainPiecewise { pieces });
        weight_multiplies(&ChainPiecewisePseudolikelihood { pieces });
    }
}

/// Uniform scores: every conditional is 1/labels, every pair 1/labels².
#[test]
fn uniform_scores_count_the_conditionals() {
    let chain = Chain { len: 7, labels: 5, own_pairs: false, triples: false, segments: None };
    let problem = Problem::random(&mut Random::new(10), chain, 0.0);
    let in_logs = |value: f64| value / 5f64.ln();
    assert!(difference(in_logs(value(&Pseudolikelihood::default(), &problem)), 7.0) < 1e-14);
    assert!(difference(in_logs(value(&Memm(Direction::Backward), &problem)), 7.0) < 1e-14);
    for (pieces, terms) in PIECES.into_iter().zip([7 + 6 * 2 + 2, 6 * 2, 6 * 2]) {
        assert!(difference(in_logs(value(&ChainPiecewise { pieces }, &problem)), terms as f64) < 1e-14);
        let pwpl = ChainPiecewisePseudolikelihood { pieces };
        assert!(difference(in_logs(value(&pwpl, &problem)), terms as f64) < 1e-14);
    }
}

/// The decoder's labelling is the most probable one under the product of conditionals, which is what the loss measures.
#[test]
fn memm_viterbi_equals_enumeration() {
    let mut rng = Random::new(11);
    for direction in [Direction::Forward, Direction::Backward] {
        for chain in chains() {
            for range in RANGES {
                let mut problem = Problem::random(&mut rng, chain, range);
                let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
                let psi = Psi { shared: &shared, own: &own };
                let mut labels = Vec::new();
                let score = MemmViterbi(direction).argmax(&chain, psi, &mut labels, &mut Default::default());
                let mut log_p = |labels: &[Label]| {
                    problem.gold = labels.to_vec();
                    -value(&Memm(direction), &problem)
                };
                assert!(difference(log_p(&labels), score) < 1e-11, "the labels have the score");
                let all = enumerate(&chain, &shared, &own).ranked;
                let log_ps: Vec<f64> = all.iter().map(|(_, labels)| log_p(labels)).collect();
                let best = log_ps.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                assert!(difference(best, score) < 1e-11, "{best} {score} on {chain:?}");
                assert!(log_sum_exp(log_ps.into_iter()).abs() < 1e-10, "probabilities add up to 1");
            }
        }
    }
}
