//! Rare observations in a pass over all examples.
//!
//! Most observations occur a few times and have one or two weights. Finding the weights of each takes longer than adding them, so a pass has a
//! list instead: which weight goes to which place of ψ. The list of each slot of a block is by weight. θ and the gradient are then read
//! from their beginning to their end, and only ψ, which is in the cache, is read in no order.

use super::Risk;
use super::index::{Block, Index};
use super::potentials::first_rare;
use super::threads::Threads;
use crate::data::dataset::Dataset;
use crate::graph::{Graph, NODES};
use crate::math::Real;
use crate::model::Features;
use std::ops::Range;

/// The number of tasks into which the links of a block are divided.
const PARTS: usize = 16;

/// The blocks of a full pass, and the links of their rare observations.
pub(super) struct Plan {
    /// The blocks. Their occurrences lack the rows that are linked.
    pub index: Index,
    /// The links of each block.
    pub links: Vec<Links>,
    /// Node rows from this number on are linked.
    pub rare: u32,
}

/// The links of a block.
#[derive(Default)]
pub(super) struct Links {
    slots: Vec<SlotLinks>,
    /// Where the weights of each part begin in θ, and the end.
    weights: Vec<usize>,
}

/// The links of a slot.
#[derive(Default)]
struct SlotLinks {
    /// Weights, and their places in the block's ψ, by row. Each slot has a list of its own: it then fits into memory that the occurrences of
    /// another block have left.
    links: Vec<[u32; 2]>,
    /// Where the links of each part end.
    ends: [usize; PARTS],
}

impl Plan {
    /// Blocks of at most `longest` numbers of type `R`, or one example.
    pub(crate) fn new<G: Graph, R: Real>(risk: &Risk<G>, longest: usize) -> Self {
        let Risk { features, data, .. } = risk;
        let mut index = Index::new::<G, R>(risk, longest);
        let rare = first_rare(features, data);
        index.dense_rows = index.dense_rows.min(rare as usize);
        let blocks = index.blocks.iter_mut().collect();
        let links = risk.threads.map(blocks, |block| Links::take(features, data, block, rare));
        Plan { index, links, rare }
    }
}

impl Links {
    /// Makes links of the node rows from `rare` on, and takes them out of the occurrences of a block.
    fn take(features: &Features, data: &Dataset<impl Graph>, block: &mut Block, rare: u32) -> Self {
        let (rows, of) = (&features.rows[NODES], &block.occurrences);
        let taken = of.rows.partition_point(|&row| row < rare)..of.end_of(features, NODES);
        if taken.is_empty() {
            return Links::default();
        }
        let length = |slot: &Range<usize>| slot.clone().map(|example| data.graph(example).own_len()).sum();
        let ends: Vec<usize> = block.slots.iter().map(length).scan(0, add_up).collect();
        let count = |position: usize| of.count(position) * rows.range(of.rows[position]).len();
        let total: usize = taken.clone().map(count).sum();
        let part_of = |before: usize| (before * PARTS / total.max(1)).min(PARTS - 1);
        let visit = |each: &mut dyn FnMut(usize, usize, [u32; 2])| {
            let mut before = 0;
            for position in taken.clone() {
                let (row, part) = (of.rows[position], part_of(before));
                before += count(position);
                for &table in &of.tables[of.first[position] as usize..of.first[position + 1] as usize] {
                    let slot = ends.partition_point(|&end| end <= table as usize);
                    for (weight, entry) in rows.range(row).zip(rows.entries_of(row)) {
                        each(slot, part, [weight as u32, table + entry as u32]);
                    }
                }
            }
        };
        // Twice over the rows: to count, then to fill.
        let mut slots: Vec<SlotLinks> = ends.iter().map(|_| SlotLinks::default()).collect();
        visit(&mut |slot, part, _| slots[slot].ends[part] += 1);
        for SlotLinks { links, ends } in &mut slots {
            (1..PARTS).for_each(|part| ends[part] += ends[part - 1]);
            links.reserve_exact(ends[PARTS - 1]);
        }
        visit(&mut |slot, _, link| slots[slot].links.push(link));
        let mut weights = vec![rows.range(of.rows[taken.start]).start];
        let mut before = 0;
        for position in taken.clone() {
            weights.resize(part_of(before) + 1, rows.range(of.rows[position]).start);
            before += count(position);
        }
        weights.resize(PARTS + 1, rows.range(of.rows[taken.end - 1]).end);
        block.remove(taken);
        Links { slots, weights }
    }

    /// ψ ← ψ + the weights of a slot. `psi` is the slot's, and begins at `first`.
    pub(crate) fn gather<R: Real>(&self, slot: usize, theta: &[f64], psi: &mut [R], first: usize) {
        for &[weight, place] in self.slots.get(slot).map_or(&[][..], |slot| &slot.links) {
            psi[place as usize - first] += R::of(theta[weight as usize]);
        }
    }

    /// gradient ← gradient + dψ at the places of each weight.
    pub(crate) fn scatter<R: Real>(&self, threads: &Threads, dpsi: &[R], gradient: &mut [f64]) {
        let Some(&start) = self.weights.first() else { return };
        let (mut rest, mut done) = (&mut gradient[start..], start);
        let mut tasks = Vec::with_capacity(PARTS);
        for (part, &end) in self.weights[1..].iter().enumerate() {
            let (mine, tail) = std::mem::take(&mut rest).split_at_mut(end - done);
            tasks.push((part, mine, done));
            (rest, done) = (tail, end);
        }
        threads.map(tasks, |(part, gradient, first)| {
            for SlotLinks { links, ends } in &self.slots {
                let start = part.checked_sub(1).map_or(0, |before| ends[before]);
                for &[weight, place] in &links[start..ends[part]] {
                    gradient[weight as usize - first] += dpsi[place as usize].into();
                }
            }
        });
    }
}

/// The sum of numbers so far.
fn add_up(sum: &mut usize, next: usize) -> Option<usize> {
    *sum += next;
    Some(*sum)
}

impl Block {
    /// Removes the rows at these positions.
    fn remove(&mut self, positions: Range<usize>) {
        let of = &mut self.occurrences;
        let tables = of.first[positions.start]..of.first[positions.end];
        of.first.drain(positions.start + 1..=positions.end);
        of.first[positions.start + 1..].iter_mut().for_each(|first| *first -= tables.len() as u32);
        of.rows.drain(positions.clone());
        of.tables.drain(tables.start as usize..tables.end as usize);
        of.rows.shrink_to_fit();
        of.first.shrink_to_fit();
        of.tables.shrink_to_fit();
        let moved = |position: usize| match position {
            before if before <= positions.start => before,
            behind => behind.max(positions.end) - positions.len(),
        };
        for part in &mut self.parts {
            part.rows = moved(part.rows.start)..moved(part.rows.end);
        }
        self.parts.retain(|part| !part.rows.is_empty());
    }
}
