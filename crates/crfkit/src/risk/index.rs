//! The blocks of a full pass: consecutive examples, and their occurrences sorted by observation.

use super::Risk;
use super::occurrences::Occurrences;
use super::potentials::dense_rows;
use crate::data::dataset::Dataset;
use crate::graph::Graph;
use crate::math::Real;
use crate::model::Features;
use std::ops::Range;

/// The number of tasks into which the examples of a block are divided.
pub(super) const SLOTS: usize = 8;
/// The number of tasks into which the rows of a block are divided.
const PARTS: usize = 16;
/// The length of dψ in a block of a pass in double precision: 4 MB, which stay in the cache between the two halves of a block.
pub(super) const BLOCK: usize = 1 << 19;

/// All blocks of a data set.
pub(super) struct Index {
    /// The blocks, in the order of the examples.
    pub blocks: Vec<Block>,
    /// Length of the largest block's dψ.
    pub buffer: usize,
    /// Node rows with numbers below this are spread out.
    pub dense_rows: usize,
}

/// Some consecutive examples.
pub(super) struct Block {
    /// Length of their dψ.
    pub own_len: usize,
    /// The examples of each slot.
    pub slots: Vec<Range<usize>>,
    /// The rows of each part.
    pub parts: Vec<Part>,
    /// The occurrences of all examples.
    pub occurrences: Occurrences,
    /// The examples, and where the tables of their dense observations begin, for each kind that has them.
    pub examples: Range<usize>,
    pub dense: Vec<Vec<u32>>,
}

/// Some of the rows of a block.
pub(super) struct Part {
    /// Positions in the block's list of rows.
    pub rows: Range<usize>,
    /// Weights up to this index of θ belong to this part or an earlier one.
    pub end: usize,
}

impl Index {
    /// Blocks of at most `longest` numbers of type `R`, or one example.
    pub(super) fn new<G: Graph, R: Real>(risk: &Risk<G>, longest: usize) -> Self {
        let Risk { features, data, .. } = risk;
        let mut ranges = Vec::new();
        let mut begin = 0;
        while begin < data.len() {
            let (mut end, mut own_len) = (begin, 0);
            while end < data.len() && (end == begin || own_len + data.graph(end).own_len() <= longest) {
                own_len += data.graph(end).own_len();
                end += 1;
            }
            ranges.push((begin..end, own_len));
            begin = end;
        }
        let buffer = ranges.iter().map(|(_, own_len)| *own_len).max().unwrap_or(0);
        let blocks = risk.count_in(&ranges, |(examples, own_len), counter| {
            Block::new(features, data, examples.clone(), *own_len, counter)
        });
        Index { blocks, buffer, dense_rows: dense_rows::<R>(features, data) }
    }
}

impl Block {
    fn new(
        features: &Features,
        data: &Dataset<impl Graph>,
        examples: Range<usize>,
        own_len: usize,
        counter: &mut [u32],
    ) -> Self {
        let occurrences = Occurrences::new(features, data, examples.clone(), counter);
        let work = |position: usize| occurrences.count(position) + 4;
        let all: usize = (0..occurrences.rows()).map(work).sum();
        let parts = cut(0..occurrences.rows(), PARTS, all, work)
            .into_iter()
            .filter(|rows| !rows.is_empty())
            .map(|rows| Part { end: occurrences.weights(features, rows.end - 1).end, rows })
            .collect();
        let mut dense = vec![Vec::new(); data.dense().len()];
        for (of, tables) in data.dense().iter().zip(&mut dense) {
            let mut start = 0;
            for graph in examples.clone().map(|example| data.graph(example)) {
                of.add_tables(graph, start, tables);
                start += graph.own_len();
            }
        }
        let slots = cut(examples.clone(), SLOTS, own_len, |e| data.graph(e).own_len());
        Block { own_len, slots, parts, occurrences, examples, dense }
    }
}

/// Divides `items` into at most `pieces` consecutive ranges of about equal `weight`.
fn cut(
    items: Range<usize>,
    pieces: usize,
    total: usize,
    weight: impl Fn(usize) -> usize,
) -> Vec<Range<usize>> {
    let mut cuts = Vec::with_capacity(pieces);
    let (mut begin, mut sum) = (items.start, 0);
    for item in items.clone() {
        sum += weight(item);
        if sum * pieces >= total * (cuts.len() + 1) && cuts.len() + 1 < pieces {
            cuts.push(begin..item + 1);
            begin = item + 1;
        }
    }
    cuts.push(begin..items.end);
    cuts
}
