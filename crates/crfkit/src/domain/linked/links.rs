//! The links between the labels of a sequence: its graph, and the observations of its tables.

use crate::Result;
use crate::data::dataset::Dataset;
use crate::data::observer::{Alphabet, Sink};
use crate::data::rule::LinkRule;
use crate::data::template::Templates;
use crate::graph::build::{PairTables, factorial_chain, skip_chain};
use crate::graph::{FactorGraph, Graph, Label};
use crate::model::{SharedShape, TableKind, TableShapes};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What links labels, besides the order of the tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Links {
    /// Several label columns. Each column is a chain, and the labels of one token form pairs (pwpl-2007 section 4.2).
    /// Every label sees the observations of its token.
    Factorial,
    /// One label column, with links between distant tokens (Sutton & McCallum 2004).
    SkipChain {
        /// Which tokens are linked.
        rule: LinkRule,
        /// Whether linked pairs have observations: those of both ends. Otherwise they share one table.
        observed: bool,
    },
}

/// The observations of one sequence: a list for every token; with bigram templates, also one for every token but the
/// first.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    ids: Vec<u32>,
    ends: Vec<usize>,
    len: usize,
    /// Whether there are bigram templates.
    pairs: bool,
    /// The numbers of the tokens, `[len][dims]`.
    pub(super) numbers: Vec<f32>,
    pub(super) dims: usize,
}

impl Sink for Observed {
    fn table(&mut self, ids: &[u32], _values: &[f64]) {
        self.ids.extend_from_slice(ids);
        self.ends.push(self.ids.len());
    }
}

impl Observed {
    /// No observations yet, for a sequence of `len` tokens with these templates.
    pub(crate) fn new(len: usize, templates: &Templates) -> Self {
        Observed { len, pairs: !templates.bigram.is_empty(), ..Observed::default() }
    }

    fn list(&self, k: usize) -> &[u32] {
        let start = if k == 0 { 0 } else { self.ends[k - 1] };
        &self.ids[start..self.ends[k]]
    }

    /// The observations of token `t`.
    pub(crate) fn node(&self, t: usize) -> &[u32] {
        self.list(t)
    }

    /// The observations of bigram templates at token `t`. There are none at the first token.
    pub(crate) fn pair(&self, t: usize) -> &[u32] {
        match t > 0 && self.pairs {
            true => self.list(self.len + t - 1),
            false => &[],
        }
    }

    /// Replaces or drops every number.
    pub(crate) fn renumber(&mut self, node: &[Option<u32>], pair: &[Option<u32>]) {
        let (mut kept, mut start) = (0, 0);
        for (k, end) in self.ends.iter_mut().enumerate() {
            let numbers = if k < self.len { node } else { pair };
            for i in start..*end {
                if let Some(new) = numbers[self.ids[i] as usize] {
                    self.ids[kept] = new;
                    kept += 1;
                }
            }
            start = std::mem::replace(end, kept);
        }
        self.ids.truncate(kept);
    }
}

impl Links {
    /// The pairs of tokens that a rule links.
    pub(super) fn skips(&self, sequence: &crate::data::columns::Columns) -> Vec<(usize, usize)> {
        match self {
            Links::Factorial => Vec::new(),
            Links::SkipChain { rule, .. } => rule.pairs(sequence),
        }
    }

    /// Whether a kind of table has the observations of single tokens. Otherwise it has those of bigram templates.
    pub(super) fn sees_nodes(&self, kind: usize, columns: usize) -> bool {
        kind < columns || matches!(self, Links::SkipChain { .. }) && kind == 2 * columns
    }

    /// The tables of graphs with `cards[c]` labels in column c. Kinds are numbered as in [`crate::graph::build`].
    pub(super) fn shapes(&self, cards: &[usize], templates: &Templates, alphabet: &Alphabet) -> TableShapes {
        let kind = |observations: usize, lines: usize, columns: usize| TableKind {
            observations,
            dense: 0,
            lines,
            columns,
            basis: Vec::new(),
        };
        let (nodes, pairs) = (alphabet.node.len(), alphabet.pair.len());
        let mut kinds: Vec<TableKind> = cards.iter().map(|&card| kind(nodes, 1, card)).collect();
        let node_kinds = kinds.len();
        let weighted = templates.label_bigram;
        let mut shared = Vec::new();
        for &card in cards {
            kinds.push(kind(pairs, card, card));
            shared.push(SharedShape { lines: card, columns: card, weighted });
        }
        let links: Vec<(usize, [usize; 2])> = match self {
            Links::Factorial => {
                let pairs_of = |c: usize| cards[c + 1..].iter().map(move |&d| (pairs, [cards[c], d]));
                (0..cards.len()).flat_map(pairs_of).collect()
            }
            Links::SkipChain { observed, .. } => vec![(if *observed { nodes } else { 0 }, [cards[0]; 2])],
        };
        for (observations, [lines, columns]) in links {
            kinds.push(kind(observations, lines, columns));
            shared.push(SharedShape { lines, columns, weighted: true });
        }
        TableShapes { kinds, node_kinds, shared }
    }

    /// Adds a sequence to `data`, with its observations table by table in the order of [`crate::graph::build`].
    pub(super) fn add(
        &self,
        graph: FactorGraph,
        observed: &Observed,
        skips: &[(usize, usize)],
        (gold, weight): (&[Label], f64),
        data: &mut Dataset<FactorGraph>,
    ) {
        let columns = graph.vars().checked_div(observed.len).unwrap_or(0);
        let mut table = |ids: &mut dyn Iterator<Item = u32>| {
            ids.for_each(|id| data.push_observation(id, 1.0));
            data.finish_table();
        };
        // The numbers of named observations come after those of dense ones.
        let named = |id: &u32| id + observed.dims as u32;
        for t in 0..observed.len {
            (0..columns).for_each(|_| table(&mut observed.node(t).iter().map(named)));
        }
        let cotemporal = columns * columns.saturating_sub(1) / 2;
        for t in (0..observed.len).filter(|_| observed.pairs) {
            let within = if t > 0 { columns } else { 0 };
            (0..within + cotemporal).for_each(|_| table(&mut observed.pair(t).iter().copied()));
        }
        if let Links::SkipChain { observed: true, .. } = self {
            for &(s, t) in skips {
                // The disjunction of both ends' inputs (see docs/REFERENCES.md): everything that either end sees, once.
                let mut both = [observed.node(s), observed.node(t)].concat();
                both.sort_unstable();
                both.dedup();
                table(&mut both.into_iter());
            }
        }
        (0..columns).for_each(|kind| data.push_dense(kind, observed.numbers.iter().copied()));
        data.finish_example(graph, gold.iter().copied(), weight);
    }
}

/// The graphs of sequences. Sequences of one structure share a graph, with everything that engines have computed about
/// it.
#[derive(Clone, Debug)]
pub(super) struct Graphs {
    cards: Vec<usize>,
    /// Tables of neighbours, and of links.
    tables: [PairTables; 2],
    factorial: bool,
    /// The graphs without skips, by length.
    plain: HashMap<usize, FactorGraph>,
}

/// The largest number of graphs that are kept. Text has few different lengths, and a long stream must not fill the
/// memory.
const KEPT: usize = 256;

impl Graphs {
    pub(crate) fn new(links: &Links, cards: Vec<usize>, templates: &Templates) -> Self {
        let tables = |own: bool| if own { PairTables::Both } else { PairTables::Shared };
        let neighbours = tables(!templates.bigram.is_empty());
        let (linked, factorial) = match links {
            Links::Factorial => (neighbours, true),
            Links::SkipChain { observed, .. } => (tables(*observed), false),
        };
        Graphs { cards, tables: [neighbours, linked], factorial, plain: HashMap::new() }
    }

    /// The graph of a sequence of `len` tokens with these skips.
    pub(crate) fn graph(&mut self, len: usize, skips: &[(usize, usize)]) -> Result<FactorGraph> {
        if let (true, Some(graph)) = (skips.is_empty(), self.plain.get(&len)) {
            return Ok(graph.clone());
        }
        let graph = match self.factorial {
            true => factorial_chain(len, &self.cards, self.tables[0])?,
            false => skip_chain(len, self.cards[0], skips, self.tables)?,
        };
        if skips.is_empty() {
            if self.plain.len() == KEPT {
                self.plain.clear();
            }
            self.plain.insert(len, graph.clone());
        }
        Ok(graph)
    }
}
