//! The n best labellings of a graph, exactly.

use super::exact::Work;
use super::nbest::Ranked;
use crate::graph::{Bag, CliqueTree, FactorGraph, Graph, Label, Psi};
use crate::{Error, Result};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

/// The `n` best labellings of a graph whose scores are above `floor`, best first; fewer where there are fewer. It is an error if they, and
/// the search for them, need more than `limit` bytes. The graph must have a clique tree that fits in memory.
///
/// One pass from the leaves of the clique tree to its roots finds, for each entry of each bag, the best score of everything below it. From
/// the roots on, the best score of a labelling that begins with some bags is then known without a search, so candidates are opened in the
/// order of their scores (Nilsson 1998; Lawler 1972): a labelling costs at most one step for each bag. Equal scores come in any order, but
/// always in the same one.
pub fn graph_nbest(
    graph: &FactorGraph,
    psi: Psi<f64>,
    n: usize,
    floor: f64,
    limit: usize,
) -> Result<Vec<Ranked>> {
    let tree = graph.clique_tree()?;
    let mut work = Work::default();
    let tables = work.best_below(graph, tree, psi);
    let mut search =
        Search { tree, tables, opened: Vec::new(), next: BinaryHeap::new(), orders: HashMap::new() };
    let labelling = size_of::<Ranked>() + graph.vars() * size_of::<Label>();
    let (mut ranked, mut bytes): (Vec<Ranked>, usize) = (Vec::new(), 0);
    search.begin();
    while ranked.len() < n
        && let Some(candidate) = search.next.pop()
        && candidate.score > floor
    {
        let last = search.open(candidate, &mut bytes);
        if let Some(last) = last {
            let labels = search.labels(last, graph.vars());
            ranked.push(Ranked { score: psi.score(graph, &labels), labels });
            bytes = bytes.saturating_add(labelling);
        }
        if bytes > limit {
            return Err(Error::Setting(format!(
                "the {n} best labellings of a graph of {} variables need more than {limit} bytes: ask for fewer",
                graph.vars()
            )));
        }
    }
    Ok(ranked)
}

/// A choice of an entry in each of the first bags, counted from the roots.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// The best score of a labelling with these entries.
    score: f64,
    /// The number of the last bag that has an entry, counted from the roots.
    step: usize,
    /// The choice for the bags before it: its number among those opened, or the largest number.
    before: usize,
    /// The entry of the separator of the last bag, which the bags before it determine.
    separator: usize,
    /// The place of the last bag's entry among those that agree with the separator, best first.
    rank: usize,
}

impl Ord for Candidate {
    /// The better one is greater; among equal scores the one with more bags, and then the one that follows from an earlier choice.
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |candidate: &Self| (candidate.before, candidate.rank);
        let score = self.score.total_cmp(&other.score);
        score.then(self.step.cmp(&other.step)).then_with(|| place(other).cmp(&place(self)))
    }
}
impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Candidate {}

/// A candidate that was opened: the choice before it, and the entry of its last bag.
#[derive(Clone, Copy, Debug)]
struct Opened {
    before: usize,
    entry: usize,
}

struct Search<'a> {
    tree: &'a CliqueTree,
    tables: &'a [Vec<f64>],
    opened: Vec<Opened>,
    next: BinaryHeap<Candidate>,
    /// The entries of a bag that agree with an entry of its separator, best first.
    orders: HashMap<(usize, usize), Vec<usize>>,
}

impl Search<'_> {
    /// The bag of a step. Children come before their parents, so the last bag is a root.
    fn bag(&self, step: usize) -> usize {
        self.tree.bags.len() - 1 - step
    }

    /// The best labelling, or the empty one.
    fn begin(&mut self) {
        let best = |table: &Vec<f64>| table.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let roots = self.tree.bags.iter().zip(self.tables).filter(|(bag, _)| bag.parent.is_none());
        let score = roots.map(|(_, table)| best(table)).sum::<f64>() + 0.0; // −0 is no less than 0
        self.next.push(Candidate { score, step: 0, before: usize::MAX, separator: 0, rank: 0 });
    }

    /// Opens a candidate: those that follow from it become candidates. If it has an entry in every bag, its number is returned. Adds
    /// the memory that all of it takes to `bytes`.
    fn open(&mut self, candidate: Candidate, bytes: &mut usize) -> Option<usize> {
        let Candidate { score, step, before, separator, rank } = candidate;
        if self.tree.bags.is_empty() {
            return Some(before);
        }
        let bag = self.bag(step);
        let order = self.orders.entry((bag, separator)).or_insert_with(|| {
            let order = order_of(&self.tree.bags[bag], &self.tables[bag], separator);
            *bytes = bytes.saturating_add(order.len() * size_of::<usize>());
            order
        });
        let (entry, sibling) = (order[rank], order.get(rank + 1).copied());
        let value = |entry: usize| self.tables[bag][entry];
        if let Some(sibling) = sibling {
            let score = score - (value(entry) - value(sibling));
            self.next.push(Candidate { score, rank: rank + 1, ..candidate });
        }
        let number = self.opened.len();
        self.opened.push(Opened { before, entry });
        *bytes = bytes.saturating_add(2 * size_of::<Opened>() + 4 * size_of::<Candidate>());
        if step + 1 == self.tree.bags.len() {
            return Some(number);
        }
        let separator = self.separator(step + 1, number);
        self.next.push(Candidate { score, step: step + 1, before: number, separator, rank: 0 });
        None
    }

    /// The entry of a bag's separator after a choice that ends one step before it.
    fn separator(&self, step: usize, last: usize) -> usize {
        let bag = &self.tree.bags[self.bag(step)];
        let Some(parent) = bag.parent else { return 0 };
        let mut choice = last;
        // From the step before back to the parent's.
        for _ in 0..step - 1 - self.bag(parent) {
            choice = self.opened[choice].before;
        }
        let (mut rest, mut separator) = (self.opened[choice].entry, 0);
        let above = &self.tree.bags[parent];
        for (card, stride) in above.cards.iter().zip(&bag.parent_strides).rev() {
            separator += rest % card * stride;
            rest /= card;
        }
        separator
    }

    /// The labels of a choice in all bags.
    fn labels(&self, last: usize, variables: usize) -> Vec<Label> {
        let (mut labels, mut choice) = (vec![0; variables], last);
        for bag in &self.tree.bags {
            let Opened { before, entry } = self.opened[choice];
            let mut rest = entry;
            for (&v, card) in bag.vars.iter().zip(&bag.cards).rev() {
                labels[v] = (rest % card) as Label;
                rest /= card;
            }
            choice = before;
        }
        labels
    }
}

/// The entries of a bag that agree with an entry of its separator, best first; equal ones in their order.
fn order_of(bag: &Bag, table: &[f64], separator: usize) -> Vec<usize> {
    let mut order = Vec::new();
    bag.walk(&bag.separator_strides, &mut Vec::new(), |entry, index| {
        if index == separator {
            order.push(entry);
        }
    });
    order.sort_by(|&a, &b| table[b].total_cmp(&table[a]).then(a.cmp(&b)));
    order
}
