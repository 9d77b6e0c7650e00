//! The n best labellings of a chain, exactly.

use super::paths::{AllPaths, Paths};
use super::viterbi::pair;
use crate::graph::{Chain, END, Label, Psi};
use crate::{Error, Result};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A labelling with its score.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The score (log-potential) of the whole labelling.
    pub score: f64,
    /// One label per position.
    pub labels: Vec<Label>,
}

/// Bytes that the labellings of one chain, and the search for them, may take where no other limit is given.
pub const NBEST_MEMORY: usize = 1 << 30;

/// The `n` best labellings, best first; fewer where the chain has fewer, or where [`NBEST_MEMORY`] holds fewer. Use
/// [`nbest_within`] to get an error instead.
///
/// Among equal scores, the labelling with the smaller last label comes first, then the last but one decides, and so on: the first is
/// the one of [`Viterbi`](super::Viterbi). Scores are sums from the first position to the last, so two labellings whose true scores differ
/// by less than the rounding of such a sum may change places.
pub fn nbest(chain: &Chain, psi: Psi<f64>, n: usize) -> Vec<Ranked> {
    let mut search = Search::new(AllPaths::new(chain, psi));
    let mut ranked = Vec::new();
    while ranked.len() < n
        && search.bytes(ranked.len() + 1) <= NBEST_MEMORY
        && let Some(next) = search.ranked(ranked.len())
    {
        ranked.push(next);
    }
    ranked
}

/// The `n` best labellings as [`nbest`] has them; an error where they, and the search for them, need more than `limit` bytes.
pub fn nbest_within(chain: &Chain, psi: Psi<f64>, n: usize, limit: usize) -> Result<Vec<Ranked>> {
    search_within(AllPaths::new(chain, psi), n, limit)
}

/// The `n` best labellings among these paths; an error where they, and the search for them, need more than `limit` bytes.
pub(super) fn search_within(paths: impl Paths, n: usize, limit: usize) -> Result<Vec<Ranked>> {
    let chain = *paths.chain();
    let mut search = Search::new(paths);
    // What the answer alone takes is known before the search.
    let most = n.min(labellings(&chain));
    let refuse = |bytes: usize| {
        Err(Error::Setting(format!(
            "the {n} best labellings of a sequence of {} tokens need more than {bytes} bytes, but the limit is {limit}: ask for \
             fewer labellings, or cut the sequence",
            chain.len
        )))
    };
    if search.bytes(most) > limit {
        return refuse(search.bytes(most));
    }
    let mut ranked = Vec::new();
    while ranked.len() < n {
        let Some(next) = search.ranked(ranked.len()) else { break };
        ranked.push(next);
        if search.bytes(most) > limit {
            return refuse(limit);
        }
    }
    Ok(ranked)
}

/// How many labellings a chain has, or the largest number there is.
fn labellings(chain: &Chain) -> usize {
    match chain.labels {
        0 | 1 => 1,
        labels => (0..chain.len.min(64)).fold(1, |all: usize, _| all.saturating_mul(labels)),
    }
}

/// The ranked prefixes of a chain that end in one state at one position, or, beyond the last position, the ranked labellings. Found
/// only as far as somebody asks.
#[derive(Debug, Default)]
struct Node {
    /// The best ones, best first.
    found: Vec<Prefix>,
    /// Candidates for the next one: for each label before that was opened, its best prefix that is not found yet. The label that was
    /// opened last is the worst of them; the next one is opened when its best prefix is found.
    candidates: BinaryHeap<Prefix>,
    /// Whether the candidates that follow from the newest of `found` are still missing.
    behind: bool,
}

/// A prefix without its last state: the `rank`th best one (from 0) that ends in the state with `label` one position before. `score` has the
/// pair with the last label, but not that label's own table.
#[derive(Clone, Copy, Debug)]
struct Prefix {
    score: f64,
    label: u32,
    rank: u32,
}

impl Prefix {
    fn new(score: f64, label: usize, rank: usize) -> Self {
        // −0 is no less than 0.
        Prefix { score: score + 0.0, label: label as u32, rank: rank as u32 }
    }
}

impl Ord for Prefix {
    /// The better one is greater: by score, then the smaller label, then the smaller rank.
    fn cmp(&self, other: &Self) -> Ordering {
        let places = |prefix: &Self| (prefix.label, prefix.rank);
        self.score.total_cmp(&other.score).then_with(|| places(other).cmp(&places(self)))
    }
}
impl PartialOrd for Prefix {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Prefix {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Prefix {}

/// Lazy k-best Viterbi (Huang and Chiang 2005, algorithm 3). The next labelling asks for at most one more prefix at each position, so n
/// labellings cost n·T prefixes, equal scores or not: O(n·T·(L + log n)) time besides that of δ, and O(T·S + n·T) memory for S states.
struct Search<P> {
    paths: P,
    /// Number + 1 in `nodes` of state j at position t, `[T][states]`, and of the end; 0 for one that was not asked for.
    numbers: Vec<u32>,
    nodes: Vec<Node>,
    /// Positions and states whose next prefix is being looked for; reused memory.
    asked: Vec<(usize, usize)>,
    /// Prefixes that were ever candidates, and labels that were looked at to find them.
    candidates: usize,
    looks: usize,
}

impl<P: Paths> Search<P> {
    fn new(paths: P) -> Self {
        let numbers = vec![0; paths.chain().len * paths.states() + 1];
        Search { paths, numbers, nodes: Vec::new(), asked: Vec::new(), candidates: 0, looks: 0 }
    }

    /// Bytes of the search so far and of so many labellings, at most; without Viterbi's own.
    fn bytes(&self, labellings: usize) -> usize {
        let labelling = size_of::<Ranked>() + self.paths.chain().len * size_of::<Label>();
        // A candidate may be among those found as well, and lists grow by doubling.
        let search = self.nodes.len() * size_of::<Node>() + 4 * self.candidates * size_of::<Prefix>();
        search.saturating_add(labellings.saturating_mul(labelling))
    }

    /// The labelling number `rank`, from 0; all before it must have been asked for.
    fn ranked(&mut self, rank: usize) -> Option<Ranked> {
        let Chain { len, labels, .. } = *self.paths.chain();
        if len == 0 {
            return (rank == 0).then(|| Ranked { score: 0.0, labels: Vec::new() });
        }
        if labels == 0 {
            return None;
        }
        let mut state = 0;
        let mut at = self.find(len, state, rank)?;
        let score = at.score;
        let mut labels = vec![0; len];
        for t in (0..len).rev() {
            labels[t] = at.label;
            if t > 0 {
                state = self.before(t + 1, state, at);
                at = self.find(t, state, at.rank as usize).expect("a prefix that was counted");
            }
        }
        Some(Ranked { score, labels })
    }

    /// The state at t − 1 of a prefix that goes on to state j at t.
    fn before(&self, t: usize, j: usize, prefix: Prefix) -> usize {
        self.paths.before(t, j, prefix.label as usize).expect("the state of a prefix")
    }

    /// Score of the best prefix that ends in label i at t − 1 and goes on to state j at t, if there is one; t = T is the end.
    fn best(&self, t: usize, i: usize, j: usize) -> Option<f64> {
        let before = self.paths.before(t, j, i)?;
        Some(self.paths.delta(t - 1, before) + self.step(t, i, j))
    }

    /// Log-potential of the pair (label i at t − 1, state j at t).
    fn step(&self, t: usize, i: usize, j: usize) -> f64 {
        let (chain, psi) = (self.paths.chain(), self.paths.psi());
        if t == chain.len { psi.shared[END].log.get(i) } else { pair(chain, psi, t, i, self.paths.label(j)) }
    }

    /// The best label before state j at t that is worse than `last`, if any.
    fn next_label(&mut self, t: usize, j: usize, last: Option<Prefix>) -> Option<Prefix> {
        let labels = self.paths.chain().labels;
        self.looks += labels;
        let prefixes = (0..labels).filter_map(|i| Some(Prefix::new(self.best(t, i, j)?, i, 0)));
        prefixes.filter(|prefix| last.is_none_or(|last| *prefix < last)).max()
    }

    /// The node of state j at t, with its best prefix found.
    fn node(&mut self, t: usize, j: usize) -> usize {
        let at = t * self.paths.states() + j;
        if self.numbers[at] == 0 {
            let found: Vec<Prefix> = self.next_label(t, j, None).into_iter().collect();
            self.candidates += found.len();
            self.nodes.push(Node { found, behind: true, ..Node::default() });
            self.numbers[at] = self.nodes.len() as u32;
        }
        self.numbers[at] as usize - 1
    }

    /// The prefix number `rank` of state j at t ≥ 1, if there are so many. All before it must be found.
    fn find(&mut self, t: usize, j: usize, rank: usize) -> Option<Prefix> {
        // Down: whose next prefix must be known first. Each asks at most one other, one position before.
        let mut asked = std::mem::take(&mut self.asked);
        let mut next = Some((t, j, rank));
        while let Some((t, j, rank)) = next.take() {
            let node = self.node(t, j);
            let Node { found, behind, .. } = &self.nodes[node];
            if found.len() > rank {
                break;
            }
            asked.push((t, j));
            if *behind
                && t > 1
                && let Some(&newest) = found.last()
            {
                next = Some((t - 1, self.before(t, j, newest), newest.rank as usize + 1));
            }
        }
        // And up again.
        while let Some((t, j)) = asked.pop() {
            self.advance(t, j);
        }
        self.asked = asked;
        let node = self.node(t, j);
        self.nodes[node].found.get(rank).copied()
    }

    /// Finds one more prefix of state j at t, if there is one; what it asks of the position before is found.
    fn advance(&mut self, t: usize, j: usize) {
        let node = self.node(t, j);
        let Some(&newest) = self.nodes[node].found.last() else { return };
        if std::mem::take(&mut self.nodes[node].behind) {
            let follow = |search: &mut Self, prefix: Option<Prefix>| {
                search.candidates += usize::from(prefix.is_some());
                search.nodes[node].candidates.extend(prefix);
            };
            let longer = self.after(t, j, newest);
            follow(self, longer);
            if newest.rank == 0 {
                let other = self.next_label(t, j, Some(newest));
                follow(self, other);
            }
        }
        let Node { found, candidates, behind } = &mut self.nodes[node];
        if let Some(best) = candidates.pop() {
            found.push(best);
            *behind = true;
        }
    }

    /// The prefix with the same label before state j at t, and the next rank there.
    fn after(&self, t: usize, j: usize, newest: Prefix) -> Option<Prefix> {
        let (label, rank) = (newest.label as usize, newest.rank as usize + 1);
        if t == 1 {
            return None; // one label is all that there is of a prefix of one position
        }
        let before = self.before(t, j, newest);
        let node = self.numbers[(t - 1) * self.paths.states() + before].checked_sub(1)?;
        let score = self.nodes[node as usize].found.get(rank)?.score;
        let own = self.paths.psi().own.get((t - 1) * self.paths.chain().stride() + label);
        Some(Prefix::new(score + own + self.step(t, label, j), label, rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Shared, Table};
    use crate::math::Array;
    use crate::math::random::Random;

    fn tables(labels: usize, score: impl Fn(usize) -> f64) -> Shared<f64> {
        [labels, 1, 1]
            .map(|rows| {
                let mut table = Table::new(rows, labels);
                for (i, j) in (0..rows).flat_map(|i| (0..labels).map(move |j| (i, j))) {
                    table.log.set(i * table.stride + j, score(i * labels + j));
                }
                table.update();
                table
            })
            .into()
    }

    /// Candidates, looks and bytes of a search for `n` labellings.
    fn cost(len: usize, labels: usize, n: usize, score: impl Fn(usize) -> f64) -> [usize; 3] {
        let chain = Chain::first_order(len, labels);
        let shared = tables(labels, |i| score(7 * i));
        let mut own = Array::zeros(chain.own_len());
        chain.clear_own(own.plane_mut(0));
        for (t, j) in (0..len).flat_map(|t| (0..labels).map(move |j| (t, j))) {
            own.set(t * chain.stride() + j, score(t % 3 + j));
        }
        let mut search = Search::new(AllPaths::new(&chain, Psi { shared: &shared, own: &own }));
        assert!((0..n).all(|rank| search.ranked(rank).is_some()));
        [search.candidates, search.looks, search.bytes(0)]
    }

    /// All scores equal, nearly equal, of a short period, random: the work is linear in positions and labellings.
    #[test]
    fn ties_cost_no_more_than_anything_else() {
        let mut rng = Random::new(5);
        let random: Vec<f64> = (0..1000).map(|_| rng.uniform()).collect();
        let scores: [&dyn Fn(usize) -> f64; 4] =
            [&|_| 0.0, &|i| 1e-16 * (i % 5) as f64, &|i| [0.5, 0.25, 0.125][i % 3], &|i| {
                random[i % random.len()]
            }];
        for (labels, n) in [(3, 10), (3, 500), (20, 10)] {
            for (kind, score) in scores.iter().enumerate() {
                for len in [100, 200, 400] {
                    let [candidates, looks, bytes] = cost(len, labels, n, score);
                    assert!(candidates <= 3 * (n + labels) * len, "{kind}: {candidates} candidates");
                    assert!(looks <= 2 * (n + 1) * len * labels, "{kind}: {looks} looks");
                    assert!(bytes <= 400 * (n + 1) * len, "{kind}: {bytes} bytes");
                }
            }
        }
    }
}
