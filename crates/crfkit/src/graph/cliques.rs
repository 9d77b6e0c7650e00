//! The factors of a graph, merged by their sets of variables.
//!
//! Several factors may be over the same variables, for example a shared table and one with observations. An engine
//! treats them as one table; otherwise they would form a loop. Factors over one variable are merged into that
//! variable's node table, and factors over the same two or more variables into one *clique*.

use super::{FactorGraph, Scopes, TableRef};
use crate::error::GraphError;
use crate::math::simd;
use std::collections::HashMap;
use std::ops::Range;

/// Where the table of a clique is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The table of a single factor, unchanged.
    Table(TableRef),
    /// A sum of tables, at this offset of [`super::Fields`].
    Merged(usize),
}

/// The cliques of a graph, and which variables they contain. A *slot* is a pair (clique, variable); the slots of one
/// clique are adjacent.
#[derive(Clone, Debug)]
pub struct Cliques {
    /// Variables and table layout of each clique, taken from its first factor.
    scopes: Scopes,
    /// The factors of each clique, in CSR form.
    factors: Lists,
    /// The factors over a single variable, in CSR form by variable.
    unary: Lists,
    /// Where the table of each clique is.
    sources: Vec<Source>,
    merged_len: usize,
    /// The slots of each variable, in CSR form.
    incident: Lists,
    /// The clique of each slot.
    slot_clique: Vec<u32>,
    /// The start of each slot's row in an array of messages, and the end.
    message: Vec<usize>,
    /// The start of each variable's row in an array of node tables, and the end.
    node: Vec<usize>,
}

/// Lists of numbers in one flat array.
#[derive(Clone, Debug)]
struct Lists {
    start: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// List k holds, in ascending order, every i whose home is k. Items without a home are left out.
    fn by_home(lists: usize, homes: impl Iterator<Item = Option<usize>> + Clone) -> Self {
        let mut start = vec![0u32; lists + 1];
        for home in homes.clone().flatten() {
            start[home + 1] += 1;
        }
        for k in 0..lists {
            start[k + 1] += start[k];
        }
        let mut next = start.clone();
        let mut items = vec![0; start[lists] as usize];
        for (i, home) in homes.enumerate() {
            if let Some(home) = home {
                items[next[home] as usize] = i as u32;
                next[home] += 1;
            }
        }
        Lists { start, items }
    }

    #[inline]
    fn get(&self, k: usize) -> &[u32] {
        &self.items[self.start[k] as usize..self.start[k + 1] as usize]
    }
}

impl Cliques {
    /// The cliques of factors with these scopes and tables.
    pub(super) fn new(cards: &[usize], factors: &Scopes, tables: &[TableRef]) -> Result<Self, GraphError> {
        let mut scopes = Scopes::new();
        let mut known = HashMap::new();
        let mut homes = Vec::with_capacity(factors.len());
        for f in 0..factors.len() {
            let vars = factors.vars(f);
            if vars.len() == 1 {
                homes.push(None);
                continue;
            }
            let mut key = vars.to_vec();
            key.sort_unstable();
            let clique = *known.entry(key).or_insert(scopes.len());
            if clique == scopes.len() {
                scopes.push(vars, cards)?;
            }
            homes.push(Some(clique));
        }
        let members = Lists::by_home(scopes.len(), homes.iter().copied());
        let alone = |f: usize| (factors.vars(f).len() == 1).then(|| factors.vars(f)[0]);
        let unary = Lists::by_home(cards.len(), (0..factors.len()).map(alone));
        let mut merged_len = 0;
        let sources = (0..scopes.len())
            .map(|c| match members.get(c) {
                [f] => Source::Table(tables[*f as usize]),
                _ => {
                    let at = merged_len;
                    merged_len += scopes.shape(c).size();
                    Source::Merged(at)
                }
            })
            .collect();
        let slot_vars = scopes.slot_vars();
        let incident = Lists::by_home(cards.len(), slot_vars.iter().map(|&v| Some(v)));
        let slot_clique = (0..scopes.len()).flat_map(|c| vec![c as u32; scopes.vars(c).len()]).collect();
        let message = places(slot_vars.iter().map(|&v| cards[v]));
        let node = places(cards.iter().copied());
        Ok(Cliques {
            factors: members,
            unary,
            sources,
            merged_len,
            incident,
            slot_clique,
            message,
            node,
            scopes,
        })
    }

    /// The number of cliques.
    #[inline]
    pub fn len(&self) -> usize {
        self.scopes.len()
    }

    /// Whether there are no cliques.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Variables, slots and table layouts of the cliques.
    #[inline]
    pub(crate) fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// The factors of clique `c`.
    #[inline]
    pub fn factors(&self, c: usize) -> &[u32] {
        self.factors.get(c)
    }

    /// The factors over variable `v` alone.
    #[inline]
    pub(crate) fn unary(&self, v: usize) -> &[u32] {
        self.unary.get(v)
    }

    /// Where the table of clique `c` is.
    #[inline]
    pub(crate) fn source(&self, c: usize) -> Source {
        self.sources[c]
    }

    /// Total length of the merged tables.
    #[inline]
    pub(super) fn merged_len(&self) -> usize {
        self.merged_len
    }

    /// The slots of variable `v`: one for each clique that contains it.
    #[inline]
    pub fn incident(&self, v: usize) -> &[u32] {
        self.incident.get(v)
    }

    /// The clique of a slot.
    #[inline]
    pub(crate) fn slot_clique(&self, slot: usize) -> usize {
        self.slot_clique[slot] as usize
    }

    /// The row of `slot` in an array of messages; rows are padded.
    #[inline]
    pub(crate) fn message(&self, slot: usize) -> Range<usize> {
        self.message[slot]..self.message[slot + 1]
    }

    /// Length of an array of messages.
    #[inline]
    pub(crate) fn message_len(&self) -> usize {
        self.message[self.message.len() - 1]
    }

    /// The row of variable `v` in an array of node tables; rows are padded.
    #[inline]
    pub fn node(&self, v: usize) -> Range<usize> {
        self.node[v]..self.node[v + 1]
    }

    /// Length of an array of node tables.
    #[inline]
    pub(crate) fn node_len(&self) -> usize {
        self.node[self.node.len() - 1]
    }

    /// Whether every clique has exactly two variables.
    pub fn pairwise(&self) -> bool {
        self.scopes.slot_vars().len() == 2 * self.len()
    }
}

/// The start of each of a series of padded rows with these lengths, and the end.
fn places(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut at = vec![0];
    let mut end = 0;
    for length in lengths {
        end += simd::padded(length);
        at.push(end);
    }
    at
}

/// For each variable of clique `c`, the distance between its labels in the table of factor `f`. These strides map an
/// entry of the clique to an entry of the factor.
pub(super) fn strides_in(graph: &FactorGraph, c: usize, f: usize, strides: &mut Vec<usize>) {
    let factor = graph.factor(f);
    strides.clear();
    strides.extend(graph.cliques().scopes().vars(c).iter().map(|v| {
        let k = factor.vars.iter().position(|w| w == v).expect("a clique has the variables of its factors");
        factor.strides[k]
    }));
}
