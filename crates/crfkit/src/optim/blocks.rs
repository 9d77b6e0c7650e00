//! Fixed blocks of examples, for methods that remember something about every example.

use super::remembered::BYTES;
use super::{Problem, Row};
use crate::ability::Ability;
use crate::math::dispatch::dispatch;
use crate::math::simd;
use crate::{Error, Result};
use fearless_simd::{f64x8, prelude::*};

/// The largest number of variables in a block: their tables stay in the cache.
const BLOCK: usize = 250;
/// The least number of blocks, unless examples are fewer.
const BLOCKS: usize = 800;

/// A variable of a block and its table of log-potentials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Single {
    /// The first residual of the table.
    pub start: u32,
    /// The number of labels.
    pub labels: u32,
    /// The gold label.
    pub gold: u32,
}

impl Single {
    /// Σ x²/(a + b) and Σ reach · x² over the labels of some variables, each with its reach, where a = old + weight · 1\[gold\] and b = a
    /// + x are weight × marginals. Their sum is not smaller than their difference x; rounding must not make it so.
    pub(super) fn distances(
        singles: &[(Single, f32)],
        weight: f64,
        change: &[f64],
        old: &[f64],
    ) -> (f64, f64) {
        dispatch!(simd::level(), simd => {
            let zero = f64x8::splat(simd, 0.0);
            let (mut distance, mut squares) = (zero, zero);
            for &(single, reach) in singles {
                let [start, labels, gold] = [single.start, single.labels, single.gold].map(|x| x as usize);
                for k in (0..labels).step_by(EIGHT) {
                    let at = start + k..start + labels;
                    let (x, old) = (eight(simd, &change[at.clone()]), eight(simd, &old[at]));
                    let gold = f64x8::simd_from(simd, std::array::from_fn(|j| f64::from(u8::from(k + j == gold))));
                    let sum = (x + old * 2.0 + gold * (2.0 * weight)).max(x.abs()) + f64::MIN_POSITIVE;
                    let square = x * x;
                    distance += square / sum;
                    squares += square * f64::from(reach);
                }
            }
            let add = |x: f64x8<_>| <[f64; EIGHT]>::from(x).iter().sum::<f64>();
            (add(distance), add(squares))
        })
    }
}

/// The number of labels at once.
const EIGHT: usize = 8;

/// Loads the first eight numbers, or fewer and zeros.
#[inline(always)]
fn eight<S: Simd>(simd: S, x: &[f64]) -> f64x8<S> {
    match x.first_chunk::<EIGHT>() {
        Some(x) => f64x8::simd_from(simd, *x),
        None => f64x8::simd_from(simd, std::array::from_fn(|j| x.get(j).copied().unwrap_or(0.0))),
    }
}

/// What [`Blocks::for_each_example`] calls.
pub(crate) type ExampleVisit<'a> = dyn FnMut(f64, usize, &[(Single, f64)]) + 'a;

/// The examples of a likelihood, divided into blocks that are evaluated as a whole.
///
/// The residuals of a block are w(ν − 1\[y\]), the weight of the example times the difference between its marginals
/// and its gold labels. There is one for each entry of the examples' own tables, example after example, and one for
/// each weight of the shared tables, summed over the examples. Aᵀ × residuals is the gradient of the block's losses.
pub trait Blocks: Sync {
    /// The number of blocks.
    fn len(&self) -> usize;

    /// Whether there are no blocks.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The examples of a block.
    fn examples(&self, block: usize) -> &[u32];

    /// The number of residuals of a block.
    fn size(&self, block: usize) -> usize;

    /// The number of rows of all blocks.
    fn rows(&self) -> usize;

    /// Calls `visit` with every row of a block, in ascending order, and Σ |value| over its uses.
    fn for_each_row(&self, block: usize, visit: &mut dyn FnMut(Row, f64));

    /// Calls `visit` for every example of a block with its weight, the end of its residuals, and its variables, each
    /// with Σ value² · `steps` over the rows of its table. Variables without a table of their own are left out.
    fn for_each_example(&self, block: usize, steps: &dyn Fn(usize) -> f64, visit: &mut ExampleVisit<'_>);

    /// A worker; each thread needs one of its own.
    fn worker(&self) -> Box<dyn BlockWorker + '_>;
}

/// Evaluates blocks, with scratch memory.
pub trait BlockWorker: Send {
    /// Returns the losses of a block at θ and overwrites `residuals`.
    fn residuals(&mut self, block: usize, theta: &[f64], residuals: &mut [f64]) -> f64;

    /// Overwrites `rows` with the rows of a block, in ascending order, and `out` with Aᵀx for these rows.
    fn project(&mut self, block: usize, x: &[f64], rows: &mut Vec<Row>, out: &mut Vec<f64>);
}

/// The bytes of all residuals.
pub(super) fn most_stored(blocks: &dyn Blocks) -> u64 {
    (0..blocks.len()).map(|block| BYTES * blocks.size(block) as u64).sum()
}

/// The examples in blocks.
pub(super) fn examples_in_blocks<'a>(problem: &Problem<'a>, seed: u64) -> Result<Box<dyn Blocks + 'a>> {
    let blocks = problem.objective.blocks(BLOCK, BLOCKS, seed);
    blocks.ok_or_else(|| {
        Error::Setting(format!(
            "saga needs {}, which this objective does not provide; use `optimizer` lbfgs",
            Ability::Marginals.name()
        ))
    })
}
