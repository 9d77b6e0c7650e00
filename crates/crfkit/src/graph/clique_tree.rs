//! The clique tree (junction tree) of a graph: what exact inference costs, and in which order it runs.

use super::FactorGraph;
use crate::error::GraphError;
use std::collections::BTreeSet;

/// A tree of sets of variables ("bags"), such that every factor fits in one bag and the bags of any variable hang together.
/// Children come before their parents. Tables over a bag are dense, without padding, the last variable fastest.
#[derive(Clone, Debug)]
pub struct CliqueTree {
    /// The bags.
    pub bags: Vec<Bag>,
    /// Where each variable's node table belongs.
    pub nodes: Vec<Home>,
    /// Where each clique's table belongs.
    pub cliques: Vec<Home>,
    /// Variables in the largest bag.
    pub width: usize,
    /// Entries of all bags' tables.
    pub entries: usize,
}

/// One bag.
#[derive(Clone, Debug)]
pub struct Bag {
    /// Its variables.
    pub vars: Vec<usize>,
    /// Their numbers of labels.
    pub cards: Vec<usize>,
    /// Entries of its table.
    pub size: usize,
    /// The bag that it sends its message to.
    pub parent: Option<usize>,
    /// Entries of a table over the variables that it shares with the parent, the separator.
    pub separator_size: usize,
    /// Strides of that table by this bag's variables, as [`Home::strides`].
    pub separator_strides: Vec<usize>,
    /// The same by the parent's variables.
    pub parent_strides: Vec<usize>,
}

/// Where a table of the graph belongs.
#[derive(Clone, Debug)]
pub struct Home {
    /// The bag that takes it: one that has all of its variables.
    pub bag: usize,
    /// For each variable of the bag, the distance between its labels in the table; 0 for a variable that the table does not have.
    pub strides: Vec<usize>,
}

/// More entries than any machine holds: the search stops here.
const HOPELESS: u128 = 1 << 40;

/// Bytes of one entry: its number, and at most as much again for messages.
const BYTES: u128 = 16;

impl CliqueTree {
    /// Eliminates variable after variable, always the one that joins the fewest new pairs (min-fill; of equal ones the one with the
    /// fewest neighbours, then the first).
    pub(super) fn new(graph: &FactorGraph) -> Result<Self, GraphError> {
        let n = graph.cards().len();
        let scopes = graph.cliques().scopes();
        let mut neighbours = vec![BTreeSet::new(); n];
        for c in 0..scopes.len() {
            for &v in scopes.vars(c) {
                neighbours[v].extend(scopes.vars(c).iter().copied().filter(|&w| w != v));
            }
        }
        let mut cost: Vec<(usize, usize)> = (0..n).map(|v| fill(&neighbours, v)).collect();
        let mut queue: BTreeSet<_> = (0..n).map(|v| (cost[v], v)).collect();
        let mut rank = vec![0; n];
        let mut sets: Vec<Vec<usize>> = Vec::with_capacity(n);
        let (mut width, mut entries) = (0, 0u128);
        while let Some((_, v)) = queue.pop_first() {
            rank[v] = sets.len();
            let around: Vec<usize> = neighbours[v].iter().copied().collect();
            let set: Vec<usize> = std::iter::once(v).chain(around.iter().copied()).collect();
            let size = set.iter().fold(1u128, |size, &w| size.saturating_mul(graph.cards()[w] as u128));
            (width, entries) = (width.max(set.len()), entries.saturating_add(size));
            if entries > HOPELESS {
                let bytes = entries.saturating_mul(BYTES);
                return Err(GraphError::TooWide { width, bytes, limit: (HOPELESS * BYTES) as usize });
            }
            sets.push(set);
            let mut stale = BTreeSet::new();
            for &w in &around {
                neighbours[w].remove(&v);
                neighbours[w].extend(around.iter().copied().filter(|&u| u != w));
                stale.insert(w);
                stale.extend(neighbours[w].iter().copied());
            }
            for w in stale {
                queue.remove(&(cost[w], w));
                cost[w] = fill(&neighbours, w);
                queue.insert((cost[w], w));
            }
        }
        Ok(Self::join(graph, &sets, &rank))
    }

    /// The tree of the sets that elimination left, each with its variable first: a set hangs below the one of its variable that was
    /// eliminated next. A set that lies wholly in one of its children is dropped in favour of that child.
    fn join(graph: &FactorGraph, sets: &[Vec<usize>], rank: &[usize]) -> Self {
        let n = sets.len();
        let parent: Vec<Option<usize>> =
            sets.iter().map(|set| set[1..].iter().map(|&w| rank[w]).min()).collect();
        // The set that stands for each set; what it stands for last tells its parent.
        let mut stands: Vec<usize> = (0..n).collect();
        let mut top: Vec<usize> = (0..n).collect();
        for i in 0..n {
            if let Some(p) = parent[i]
                && stands[p] == p
                && sets[i].len() == sets[p].len() + 1
            {
                let keeper = stands[i];
                stands[p] = keeper;
                top[keeper] = p;
            }
        }
        let resolve = |mut i: usize| {
            while stands[i] != i {
                i = stands[i];
            }
            i
        };
        // Children first: a kept set comes where the last set that it stands for was eliminated.
        let mut kept: Vec<usize> = (0..n).filter(|&i| stands[i] == i).collect();
        kept.sort_by_key(|&i| top[i]);
        let mut place = vec![0; n];
        for (at, &i) in kept.iter().enumerate() {
            place[i] = at;
        }
        let size = |vars: &[usize]| vars.iter().map(|&v| graph.cards()[v]).product::<usize>();
        let bags: Vec<Bag> = kept
            .iter()
            .map(|&i| {
                let separator = &sets[top[i]][1..];
                let up = parent[top[i]].map(&resolve);
                let mut strides = vec![1; separator.len()];
                for k in (0..separator.len().saturating_sub(1)).rev() {
                    strides[k] = strides[k + 1] * graph.cards()[separator[k + 1]];
                }
                Bag {
                    cards: sets[i].iter().map(|&v| graph.cards()[v]).collect(),
                    size: size(&sets[i]),
                    parent: up.map(|p| place[p]),
                    separator_size: size(separator),
                    separator_strides: strides_by(&sets[i], separator, &strides),
                    parent_strides: up.map_or(Vec::new(), |p| strides_by(&sets[p], separator, &strides)),
                    vars: sets[i].clone(),
                }
            })
            .collect();
        // The set of the variable that is eliminated first has all the others of a factor.
        let home = |vars: &[usize], strides: &[usize]| {
            let first = vars.iter().map(|&v| rank[v]).min().expect("a factor has a variable");
            let bag = place[resolve(first)];
            Home { bag, strides: strides_by(&bags[bag].vars, vars, strides) }
        };
        let scopes = graph.cliques().scopes();
        CliqueTree {
            nodes: (0..n).map(|v| home(&[v], &[1])).collect(),
            cliques: (0..scopes.len()).map(|c| home(scopes.vars(c), scopes.strides(c))).collect(),
            width: bags.iter().map(|bag| bag.vars.len()).max().unwrap_or(0),
            entries: bags.iter().map(|bag| bag.size).sum(),
            bags,
        }
    }

    /// Refuses a tree whose tables need more than `limit` bytes.
    pub fn check(&self, limit: usize) -> Result<(), GraphError> {
        let bytes = self.entries as u128 * BYTES;
        if bytes > limit as u128 {
            return Err(GraphError::TooWide { width: self.width, bytes, limit });
        }
        Ok(())
    }
}

/// How many pairs of neighbours of `v` are not joined, and how many neighbours it has.
fn fill(neighbours: &[BTreeSet<usize>], v: usize) -> (usize, usize) {
    let around = &neighbours[v];
    let joined = |w: &usize| around.iter().filter(|&u| u > w && neighbours[*w].contains(u)).count();
    let pairs = around.len() * around.len().saturating_sub(1) / 2;
    (pairs - around.iter().map(joined).sum::<usize>(), around.len())
}

/// The strides of a table over `vars`, by the variables of a bag.
fn strides_by(bag: &[usize], vars: &[usize], strides: &[usize]) -> Vec<usize> {
    bag.iter().map(|v| vars.iter().position(|w| w == v).map_or(0, |k| strides[k])).collect()
}

impl Bag {
    /// Calls `visit(entry, index)` with every entry of the bag's table and its place in a table with these strides. `digits` is
    /// scratch.
    #[inline]
    pub fn walk(&self, strides: &[usize], digits: &mut Vec<usize>, mut visit: impl FnMut(usize, usize)) {
        digits.clear();
        digits.resize(self.cards.len(), 0);
        let mut index = 0;
        for entry in 0..self.size {
            visit(entry, index);
            // Counts up like a number whose last digit moves fastest.
            for k in (0..digits.len()).rev() {
                digits[k] += 1;
                index += strides[k];
                if digits[k] < self.cards[k] {
                    break;
                }
                index -= strides[k] * self.cards[k];
                digits[k] = 0;
            }
        }
    }
}
