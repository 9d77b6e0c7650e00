//! The clique tree (junction tree) of a graph. It decides what exact inference costs and in which order it runs.

use super::FactorGraph;
use super::elimination::Elimination;
use crate::error::GraphError;

/// A tree of sets of variables ("bags"). Every factor fits in one bag, and the bags that contain a given variable are
/// connected. Children come before their parents. Tables over a bag are dense and unpadded; the last variable varies
/// fastest.
#[derive(Clone, Debug)]
pub struct CliqueTree {
    /// The bags.
    pub bags: Vec<Bag>,
    /// The bag that holds each variable's node table.
    pub(crate) nodes: Vec<Home>,
    /// The bag that holds each clique's table.
    pub(crate) cliques: Vec<Home>,
    /// Number of variables in the largest bag.
    pub width: usize,
    /// Number of entries in the tables of all bags.
    pub entries: usize,
}

/// One bag.
#[derive(Clone, Debug)]
pub struct Bag {
    /// The variables of the bag.
    pub(crate) vars: Vec<usize>,
    /// The number of labels of each variable.
    pub(crate) cards: Vec<usize>,
    /// The number of entries in its table.
    pub(crate) size: usize,
    /// The bag to which it sends its message.
    pub(crate) parent: Option<usize>,
    /// The number of entries in a table over the separator: the variables shared with the parent.
    pub(crate) separator_size: usize,
    /// Strides of that table, for this bag's variables; see [`Home::strides`].
    pub(crate) separator_strides: Vec<usize>,
    /// Strides of that table, for the parent's variables.
    pub(crate) parent_strides: Vec<usize>,
}

/// The bag to which a table of the graph belongs.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    /// A bag that contains all variables of the table.
    pub(crate) bag: usize,
    /// For each variable of the bag, the distance between its labels in the table; 0 if the table does not have that
    /// variable.
    pub(crate) strides: Vec<usize>,
}

/// Bytes that the tables of exact inference may take where no other limit is given.
pub const EXACT_MEMORY: usize = 1 << 30;

/// More entries than any machine can hold: the search stops here.
const HOPELESS: u128 = 1 << 40;

/// Bytes per entry: the number itself, and at most as much again for messages.
const BYTES: u128 = 16;

impl CliqueTree {
    /// Eliminates variable after variable in the order of min-fill.
    pub(super) fn new(graph: &FactorGraph) -> Result<Self, GraphError> {
        let n = graph.cards().len();
        let scopes = graph.cliques().scopes();
        let mut left = Elimination::new(n, (0..scopes.len()).map(|c| scopes.vars(c)));
        let mut rank = vec![0; n];
        let mut sets: Vec<Vec<usize>> = Vec::with_capacity(n);
        let (mut width, mut entries) = (0, 0u128);
        while let Some((v, around)) = left.next() {
            rank[v] = sets.len();
            let set: Vec<usize> = std::iter::once(v).chain(around.iter().copied()).collect();
            let size = set.iter().fold(1u128, |size, &w| size.saturating_mul(graph.cards()[w] as u128));
            (width, entries) = (width.max(set.len()), entries.saturating_add(size));
            if entries > HOPELESS {
                let bytes = entries.saturating_mul(BYTES);
                let limit = usize::try_from(HOPELESS * BYTES).unwrap_or(usize::MAX);
                return Err(GraphError::TooWide { width, bytes, limit });
            }
            sets.push(set);
            left.remove(v, &around);
        }
        Ok(Self::join(graph, &sets, &rank))
    }

    /// Builds the tree from the sets that elimination left. Each set has its own variable first. The parent of a set
    /// is the set of whichever of its other variables was eliminated next. A set that is contained in one of its
    /// children is dropped in favour of that child.
    fn join(graph: &FactorGraph, sets: &[Vec<usize>], rank: &[usize]) -> Self {
        let n = sets.len();
        let parent: Vec<Option<usize>> =
            sets.iter().map(|set| set[1..].iter().map(|&w| rank[w]).min()).collect();
        // The set that stands for each set. The last set that it stands for determines its parent.
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
        // Children first: a kept set is placed where the last set that it stands for was eliminated.
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
        // The set of the variable that is eliminated first contains all other variables of the factor.
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

    /// Returns an error if the tables need more than `limit` bytes.
    pub(crate) fn check(&self, limit: usize) -> Result<(), GraphError> {
        let bytes = self.entries as u128 * BYTES;
        if bytes > limit as u128 {
            return Err(GraphError::TooWide { width: self.width, bytes, limit });
        }
        Ok(())
    }
}

/// The strides of a table over `vars`, by the variables of a bag.
fn strides_by(bag: &[usize], vars: &[usize], strides: &[usize]) -> Vec<usize> {
    bag.iter().map(|v| vars.iter().position(|w| w == v).map_or(0, |k| strides[k])).collect()
}

impl Bag {
    /// Calls `visit(entry, index)` for every entry of the bag's table, with its index in a table that has these
    /// strides. `digits` is scratch.
    #[inline]
    pub(crate) fn walk(
        &self,
        strides: &[usize],
        digits: &mut Vec<usize>,
        mut visit: impl FnMut(usize, usize),
    ) {
        digits.clear();
        digits.resize(self.cards.len(), 0);
        let mut index = 0;
        for entry in 0..self.size {
            visit(entry, index);
            // Counts up like a number whose last digit changes fastest.
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
