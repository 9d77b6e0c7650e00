//! Blocks of examples in random order, for methods that remember the residuals of every example.
//!
//! A block is evaluated as a whole. Its occurrences are sorted by row, so each row of weights is read once for all its
//! examples, and each row of the gradient is written once.

use super::any_loss::Worker;
use super::flat::Flat;
use super::occurrences::{Occurrences, widest};
use super::packed::Packed;
use super::single::Singles;
use super::{Risk, gold};
use crate::ability::Ability;
use crate::data::dataset::{Dataset, DenseNumbers};
use crate::graph::{Gradient, Graph, Psi, Shared, SharedSum, TableRef};
use crate::math::Array;
use crate::math::product::RowsOf;
use crate::math::random::Random;
use crate::model::DenseWeights;
use crate::optim::{BlockWorker, Blocks, ExampleVisit, Row, Single};
use std::ops::Range;

/// The examples of a risk in blocks.
pub(super) struct ExampleBlocks<'a, G: Graph> {
    risk: &'a Risk<G>,
    blocks: Vec<Block>,
}

struct Block {
    examples: Vec<u32>,
    /// The length of their own tables.
    own_len: usize,
    occurrences: Packed,
}

impl<'a, G: Graph> ExampleBlocks<'a, G> {
    /// Divides the examples, in an order that depends on the seed, into blocks of at most `variables` variables or one
    /// example. `None` if the gradient is not marginals minus gold labels.
    pub(super) fn new(risk: &'a Risk<G>, variables: usize, seed: u64) -> Option<Self> {
        if !risk.loss.gives.contains(&Ability::Marginals) {
            return None;
        }
        let Risk { features, data, .. } = risk;
        let mut order: Vec<u32> = (0..data.len() as u32).collect();
        Random::stream(seed, u64::MAX).shuffle(&mut order);
        let mut groups = Vec::new();
        let mut rest = &order[..];
        while !rest.is_empty() {
            let mut size = 0;
            let fits = |&&example: &&u32| {
                size += data.graph(example as usize).vars();
                size <= variables
            };
            let (examples, behind) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            groups.push(examples);
            rest = behind;
        }
        let blocks = risk.count_in(&groups, |examples, counter| {
            let each = examples.iter().map(|&example| example as usize);
            Block {
                examples: examples.to_vec(),
                own_len: each.clone().map(|example| data.graph(example).own_len()).sum(),
                occurrences: Packed::new(Occurrences::new(features, data, each, counter)),
            }
        });
        Some(ExampleBlocks { risk, blocks })
    }

    /// Σ |value| of each dense row of a kind over some examples.
    fn dense_uses(&self, kind: usize, examples: &[u32]) -> Vec<f64> {
        let Some(dense) = self.risk.data.dense().iter().find(|dense| dense.kind() == kind) else {
            return Vec::new();
        };
        let mut uses = vec![0.0; dense.width()];
        for x in examples.iter().flat_map(|&e| dense.of(e as usize).chunks_exact(dense.width())) {
            uses.iter_mut().zip(x).for_each(|(uses, x)| *uses += f64::from(x.abs()));
        }
        uses
    }

    /// The weights of the shared tables as a row of a block whose other rows have `place` weights.
    fn shared_row(&self, place: usize) -> Row {
        let features = &self.risk.features;
        let row = features.first_row(features.rows.len()) as u32;
        Row::new(row, features.first_shared_weight()..features.dim(), place)
    }
}

impl<G: Graph> Blocks for ExampleBlocks<'_, G> {
    fn len(&self) -> usize {
        self.blocks.len()
    }

    fn examples(&self, block: usize) -> &[u32] {
        &self.blocks[block].examples
    }

    fn size(&self, block: usize) -> usize {
        self.blocks[block].own_len + self.shared_row(0).weights().len()
    }

    fn rows(&self) -> usize {
        self.shared_row(0).row as usize + 1
    }

    fn for_each_row(&self, block: usize, visit: &mut dyn FnMut(Row, f64)) {
        let Risk { features, data, .. } = self.risk;
        let Block { examples, occurrences: packed, .. } = &self.blocks[block];
        let mut occurrences = Occurrences::default();
        packed.unpack(&mut occurrences);
        let mut place = 0;
        let mut visit_next = |row: u32, weights: Range<usize>, uses: f64| {
            let len = weights.len();
            visit(Row::new(row, weights, place), uses);
            place += len;
        };
        let mut position = 0;
        for (kind, rows) in features.rows.iter().enumerate() {
            let first = features.first_row(kind) as u32;
            for (row, uses) in self.dense_uses(kind, examples).into_iter().enumerate() {
                visit_next(first + row as u32, rows.range(row as u32), uses);
            }
            let end = occurrences.end_of(features, kind);
            occurrences.for_each_row(features, kind, position..end, |row, weights, tables, values| {
                let uses = match values {
                    [] => tables.len() as f64,
                    _ => values.iter().map(|value| value.abs()).sum(),
                };
                visit_next(row, weights, uses);
            });
            position = end;
        }
        let variables: usize = examples.iter().map(|&example| data.graph(example as usize).vars()).sum();
        visit(self.shared_row(place), variables as f64);
    }

    fn for_each_example(&self, block: usize, steps: &dyn Fn(usize) -> f64, visit: &mut ExampleVisit<'_>) {
        let Risk { features, data, .. } = self.risk;
        let mut singles = Vec::new();
        let mut start = 0;
        for example in self.blocks[block].examples.iter().map(|&example| example as usize) {
            let (graph, gold) = (data.graph(example), data.gold(example));
            singles.clear();
            graph.for_each_factor(|factor| {
                if let (TableRef::Own(at), &[v]) = (factor.table, factor.vars) {
                    let (at, labels) = ((start + at) as u32, graph.card(v) as u32);
                    singles.push((Single { start: at, labels, gold: gold[v] }, 0.0));
                }
            });
            singles.sort_unstable_by_key(|(single, _)| single.start);
            for (f, table) in data.tables(example).enumerate() {
                let at = (start + graph.own_offset(f)) as u32;
                let Ok(place) = singles.binary_search_by_key(&at, |(single, _)| single.start) else {
                    continue;
                };
                let first = features.first_row(graph.own_kind(f));
                let (observations, values) = data.observations(table);
                for (k, &id) in observations.iter().enumerate() {
                    let value = values.get(k).copied().unwrap_or(1.0);
                    singles[place].1 += value * value * steps(first + id as usize);
                }
            }
            for dense in data.dense() {
                let first = features.first_row(dense.kind());
                let (step, mut tables): (Vec<f64>, _) =
                    ((0..dense.width()).map(|d| steps(first + d)).collect(), Vec::new());
                dense.add_tables(graph, start, &mut tables);
                for (at, x) in tables.iter().zip(dense.of(example).chunks_exact(dense.width())) {
                    if let Ok(place) = singles.binary_search_by_key(at, |(single, _)| single.start) {
                        singles[place].1 +=
                            x.iter().zip(&step).map(|(x, step)| f64::from(*x).powi(2) * step).sum::<f64>();
                    }
                }
            }
            start += graph.own_len();
            visit(data.weight(example), start, &singles);
        }
    }

    fn worker(&self) -> Box<dyn BlockWorker + '_> {
        let shared = self.risk.features.empty_tables();
        Box::new(Evaluator {
            blocks: self,
            occurrences: (usize::MAX, Occurrences::default()),
            flat: Flat::default(),
            worker: (self.risk.loss.real)(),
            // A block has few examples. Its lanes are worth filling only where products are sparse.
            singles: self.risk.singles().filter(|_| shared.iter().any(|table| table.sparse.is_some())),
            psi_single: Vec::new(),
            sum: SharedSum::new(&shared),
            shared,
            psi: Vec::new(),
            own: Array::default(),
            dpsi: Array::default(),
            table: vec![0.0; widest(&self.risk.features)],
            numbers: Vec::new(),
            weights: Vec::new(),
            single_weights: DenseWeights::default(),
            sums: Vec::new(),
        })
    }
}

struct Evaluator<'a, G: Graph> {
    blocks: &'a ExampleBlocks<'a, G>,
    /// A block and its occurrences.
    occurrences: (usize, Occurrences),
    flat: Flat,
    worker: Box<dyn Worker<G, f64>>,
    /// If the blocks are evaluated in single precision.
    singles: Option<Singles<G>>,
    psi_single: Vec<f32>,
    shared: Shared<f64>,
    sum: SharedSum<f64>,
    /// ψ of the block, then dψ, and what its repeated rows need behind it.
    psi: Vec<f64>,
    /// ψ and dψ of one example.
    own: Array<f64>,
    dpsi: Array<f64>,
    table: Vec<f64>,
    /// The dense numbers of the block, for each kind that has them.
    numbers: Vec<Numbers>,
    /// The weights of dense rows, and the sums of one kind of them.
    weights: Vec<f64>,
    single_weights: DenseWeights<f32>,
    sums: Vec<f64>,
}

/// The dense numbers of a block, side by side: its examples are few and short, and products need many rows at a time.
#[derive(Default)]
struct Numbers {
    kind: usize,
    width: usize,
    values: Vec<f32>,
    /// The start of the table of each row.
    tables: Vec<u32>,
}

impl Numbers {
    fn rows(&self) -> RowsOf<'_> {
        RowsOf { values: &self.values, width: self.width, tables: &self.tables }
    }

    /// Overwrites this with the numbers of some examples.
    fn collect(&mut self, data: &Dataset<impl Graph>, dense: &DenseNumbers, examples: &[u32]) {
        (self.kind, self.width) = (dense.kind(), dense.width());
        self.values.clear();
        self.tables.clear();
        let mut start = 0;
        for example in examples.iter().map(|&example| example as usize) {
            let graph = data.graph(example);
            self.values.extend_from_slice(dense.of(example));
            dense.add_tables(graph, start, &mut self.tables);
            start += graph.own_len();
        }
    }
}

impl<G: Graph> Evaluator<'_, G> {
    /// Unpacks the occurrences and dense numbers of a block, unless they are at hand.
    fn unpack(&mut self, block: usize) {
        let (unpacked, occurrences) = &mut self.occurrences;
        if *unpacked != block {
            let Block { occurrences: packed, own_len, examples } = &self.blocks.blocks[block];
            packed.unpack(occurrences);
            let Risk { features, data, .. } = self.blocks.risk;
            self.flat.list(features, occurrences, *own_len);
            self.numbers.resize_with(data.dense().len(), Numbers::default);
            for (numbers, dense) in self.numbers.iter_mut().zip(data.dense()) {
                numbers.collect(data, dense, examples);
            }
            *unpacked = block;
        }
    }
}

impl<G: Graph> Evaluator<'_, G> {
    /// [`BlockWorker::residuals`] in single precision. The occurrences and the shared tables are ready.
    fn single_residuals(&mut self, block: usize, theta: &[f64], residuals: &mut [f64]) -> f64 {
        let Block { examples, own_len, .. } = &self.blocks.blocks[block];
        let Some(singles) = &mut self.singles else { return f64::NAN };
        self.psi_single.clear();
        self.psi_single.resize(self.flat.end(), 0.0);
        let (features, of) = (&self.blocks.risk.features, &self.occurrences.1);
        of.spread(features, theta, &mut self.table, &mut self.psi_single);
        self.flat.spread(features, of, theta, &mut self.table, &mut self.psi_single);
        if !self.numbers.is_empty() {
            self.single_weights.set(features, &[theta]);
            for of in &self.numbers {
                let w = self.single_weights.matrix(of.kind, 0);
                features.rows[of.kind].add_products(of.rows(), w, &mut self.psi_single);
            }
        }
        singles.many.prepare(&self.shared);
        let examples = examples.iter().map(|&example| example as usize);
        let (own, at) = (&mut self.psi_single[..*own_len], (theta, &self.shared));
        let value = singles.losses(self.blocks.risk, examples, at, own, &mut self.sum);
        let (own_residuals, shared_residuals) = residuals.split_at_mut(*own_len);
        own_residuals.iter_mut().zip(&self.psi_single).for_each(|(out, x)| *out = f64::from(*x));
        self.finish(shared_residuals);
        value
    }

    /// Writes the sums of the shared tables, and sets them to 0.
    fn finish(&mut self, shared_residuals: &mut [f64]) {
        let features = &self.blocks.risk.features;
        self.sum.finish(&self.shared);
        shared_residuals.fill(0.0);
        features.scatter_tables(&self.sum, 0, features.first_shared_weight(), shared_residuals);
        self.sum.clear(&self.shared);
    }
}

impl<G: Graph> BlockWorker for Evaluator<'_, G> {
    fn residuals(&mut self, block: usize, theta: &[f64], residuals: &mut [f64]) -> f64 {
        let Risk { features, data, .. } = self.blocks.risk;
        let Block { examples, own_len, .. } = &self.blocks.blocks[block];
        self.unpack(block);
        features.fill_tables(&[theta], &mut self.shared);
        if self.singles.is_some() {
            return self.single_residuals(block, theta, residuals);
        }
        self.psi.resize(self.flat.end(), 0.0);
        let mut rest = &mut self.psi[..*own_len];
        for &example in examples {
            let graph = data.graph(example as usize);
            let (own, behind) = rest.split_at_mut(graph.own_len());
            graph.clear_own(own);
            rest = behind;
        }
        self.occurrences.1.spread(features, theta, &mut self.table, &mut self.psi);
        self.flat.spread(features, &self.occurrences.1, theta, &mut self.table, &mut self.psi);
        for of in &self.numbers {
            features.rows[of.kind].add_products_at(of.rows(), theta, &mut self.weights, &mut self.psi);
        }
        let (mut own_residuals, shared_residuals) = residuals.split_at_mut(*own_len);
        let (mut psi, mut value) = (&self.psi[..], 0.0);
        for example in examples.iter().map(|&example| example as usize) {
            let graph = data.graph(example);
            let len = graph.own_len();
            self.own.reserve(len);
            self.own.plane_mut(0)[..len].copy_from_slice(&psi[..len]);
            self.dpsi.reserve(len);
            value += self.worker.loss(
                graph,
                Psi { shared: &self.shared, own: &self.own },
                gold(data, example),
                &mut Gradient { own: self.dpsi.slice_mut(0..len), shared: &mut self.sum },
            );
            let (mine, behind) = own_residuals.split_at_mut(len);
            mine.copy_from_slice(&self.dpsi.plane(0)[..len]);
            (own_residuals, psi) = (behind, &psi[len..]);
        }
        self.finish(shared_residuals);
        value
    }

    fn project(&mut self, block: usize, x: &[f64], rows: &mut Vec<Row>, out: &mut Vec<f64>) {
        let features = &self.blocks.risk.features;
        let Block { own_len, .. } = &self.blocks.blocks[block];
        self.unpack(block);
        self.psi.resize(self.flat.end(), 0.0);
        self.psi[..*own_len].copy_from_slice(&x[..*own_len]);
        self.flat.sum(features, &self.occurrences.1, &mut self.psi);
        rows.clone_from(&self.flat.rows);
        out.clear();
        let (mut position, mut listed) = (0, 0);
        for (kind, of_kind) in features.rows.iter().enumerate() {
            if of_kind.dense > 0 {
                let size = of_kind.dense_size();
                self.sums.clear();
                self.sums.resize(of_kind.dense * size, 0.0);
                for numbers in self.numbers.iter().filter(|numbers| numbers.kind == kind) {
                    of_kind.add_outer(numbers.rows(), x, &mut self.sums);
                }
                for (row, sum) in self.sums.chunks_exact(size).enumerate() {
                    of_kind.append_dense(sum, row as u32, out);
                }
            }
            let end = self.occurrences.1.end_of(features, kind);
            if of_kind.complete() {
                self.occurrences.1.pack(features, position..end, x, &mut self.table, out);
            } else {
                let before = listed;
                listed = self.flat.listed(kind);
                self.flat.take(before..listed, &self.psi, out);
            }
            position = end;
        }
        rows.push(self.blocks.shared_row(out.len()));
        out.extend_from_slice(&x[*own_len..]);
    }
}
