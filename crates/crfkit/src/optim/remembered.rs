//! What [`super::Saga`] remembers about the examples: residuals that are not close to 0, and how the last visits went.

use super::State;
use super::blocks::{Blocks, Single};
use super::restored::{Restored, finite, not_negative};
use super::saga_damping::at_most;
use crate::Result;
use crate::math::dispatch::dispatch;
use crate::math::simd;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is remembered about a block.
#[derive(Default)]
pub(super) struct Memory {
    /// The distance of each residual that is not 0 from the one before, in bytes: [`FAR`] stands for so many places
    /// without a residual. A residual takes one byte beside its four, however many labels there are.
    gaps: Vec<u8>,
    /// These residuals, in single precision. What is stored here is exactly what has been added to the gradient, so
    /// rounding it is no bias.
    residuals: Vec<f32>,
    /// The losses at the last visit.
    pub loss: f64,
    pub examples: Vec<Example>,
    /// The variables of all examples, with Σ value²σ²D over the rows of each.
    pub singles: Vec<(Single, f32)>,
}

/// A gap that is not the last one to the next residual.
const FAR: u8 = 255;

/// What is remembered about an example.
pub(super) struct Example {
    pub weight: f64,
    /// The end of its residuals.
    pub end: usize,
    /// The end of its variables.
    pub singles: usize,
    /// s at the last visit.
    pub distance: f32,
    /// The trust in s at the last visit; 0 before the first.
    pub trust: f32,
}

/// The number of bytes that a residual takes.
pub(super) const BYTES: u64 = 5;

/// The new residuals of a block that are worth storing, with their places in ascending order.
#[derive(Default)]
pub(super) struct Kept {
    at: Vec<u32>,
    residuals: Vec<f32>,
    /// How many there are; both vectors have room for more.
    len: usize,
}

impl Memory {
    /// The memory of a block before its first visit, when all residuals are 0; `step` returns σ²D of a row.
    pub(crate) fn new(blocks: &dyn Blocks, block: usize, step: &dyn Fn(usize) -> f64) -> Self {
        let mut memory = Memory::default();
        blocks.for_each_example(block, step, &mut |weight, end, singles| {
            memory.singles.extend(singles.iter().map(|&(single, reach)| (single, at_most(reach))));
            let singles = memory.singles.len();
            memory.examples.push(Example { weight, end, singles, distance: 0.0, trust: 0.0 });
        });
        memory
    }

    /// The stored residuals with their places, in ascending order.
    pub(crate) fn stored(&self) -> impl Iterator<Item = (usize, f32)> {
        let mut gaps = self.gaps.iter();
        let mut next = 0;
        self.residuals.iter().map(move |&residual| {
            for &gap in &mut gaps {
                next += usize::from(gap);
                if gap != FAR {
                    break;
                }
            }
            next += 1;
            (next - 1, residual)
        })
    }

    /// Replaces the stored residuals by others, with their places in ascending order, in no more memory than they need.
    pub(crate) fn keep(&mut self, (places, residuals): (&[u32], &[f32])) {
        let far = usize::from(FAR);
        let mut next = 0;
        let gaps = places.iter().map(|&at| at as usize - std::mem::replace(&mut next, at as usize + 1));
        let bytes: usize = gaps.map(|gap| gap / far + 1).sum();
        fit(&mut self.gaps, bytes);
        fit(&mut self.residuals, residuals.len());
        self.residuals.extend_from_slice(residuals);
        next = 0;
        for &at in places {
            let gap = at as usize - std::mem::replace(&mut next, at as usize + 1);
            self.gaps.extend(std::iter::repeat_n(FAR, gap / far));
            self.gaps.push((gap % far) as u8);
        }
    }
}

/// Empties a vector and gives it room for `len` entries and few more. Its memory grows and shrinks where it is: if it was returned and asked
/// for anew at each visit, by another thread each time, every thread's share of the allocator would keep room for it.
fn fit<T>(vector: &mut Vec<T>, len: usize) {
    vector.clear();
    vector.reserve_exact(len);
    if vector.capacity() / 2 > len {
        vector.shrink_to(len);
    }
}

impl Kept {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// The places and the residuals.
    pub(crate) fn stored(&self) -> (&[u32], &[f32]) {
        (&self.at[..self.len], &self.residuals[..self.len])
    }

    /// Replaces the residuals `range` by old + γ · change, without those up to `smallest`, and `change` by what has changed.
    /// Ranges must come in ascending order.
    pub(crate) fn store(
        &mut self,
        range: std::ops::Range<usize>,
        old: &[f64],
        gamma: f64,
        change: &mut [f64],
        smallest: f32,
    ) {
        let (first, old, change) = (range.start as u32, &old[range.clone()], &mut change[range]);
        let end = self.len + change.len();
        if self.at.len() < end {
            self.at.resize(end, 0);
            self.residuals.resize(end, 0.0);
        }
        let (at, residuals) = (&mut self.at[self.len..end], &mut self.residuals[self.len..end]);
        dispatch!(simd::level(), _ => {
            for ((residual, old), change) in residuals.iter_mut().zip(old).zip(change) {
                let new = (old + gamma * *change) as f32;
                *residual = if new.abs() > smallest { new } else { 0.0 };
                *change = f64::from(*residual) - old;
            }
        });
        // Without branches: which residuals are not 0 is hard to foretell. Each is moved, and the next one overwrites it if it is 0.
        let mut kept = 0;
        for i in 0..residuals.len() {
            let residual = residuals[i];
            (at[kept], residuals[kept]) = (first + i as u32, residual);
            kept += usize::from(residual.to_bits() != 0);
        }
        self.len += kept;
    }

    /// Stores only the `count` largest of the residuals that [`Kept::store`] has stored.
    pub(crate) fn keep_largest(&mut self, count: usize, old: &[f64], change: &mut [f64]) {
        if self.len <= count {
            return;
        }
        let mut sizes: Vec<f32> = self.residuals[..self.len].iter().map(|x| x.abs()).collect();
        let (_, &mut bound, _) = sizes.select_nth_unstable_by(count, |a, b| b.total_cmp(a));
        let mut kept = 0;
        for k in 0..self.len {
            let i = self.at[k] as usize;
            // Those as large as the bound would be one too many.
            if self.residuals[k].abs() > bound {
                (self.at[kept], self.residuals[kept]) = (self.at[k], self.residuals[k]);
                kept += 1;
            } else {
                change[i] = -old[i];
            }
        }
        self.len = kept;
    }
}

/// Adds all memory to the state of a run.
pub(super) fn save(memory: &[Mutex<Memory>], state: &mut State) {
    let mut add = |name: &str, each: &dyn Fn(&Memory, &mut Vec<f64>)| {
        let mut vector = Vec::new();
        memory.iter().for_each(|memory| each(&lock(memory), &mut vector));
        state.vectors.insert(name.into(), vector);
    };
    add("losses", &|memory, out| out.push(memory.loss));
    add("distances", &|memory, out| {
        out.extend(memory.examples.iter().map(|example| f64::from(example.distance)))
    });
    add("trust", &|memory, out| out.extend(memory.examples.iter().map(|example| f64::from(example.trust))));
    add("stored", &|memory, out| out.push(memory.residuals.len() as f64));
    add("stored_at", &|memory, out| out.extend(memory.stored().map(|(at, _)| at as f64)));
    add("residuals", &|memory, out| out.extend(memory.residuals.iter().map(|&x| f64::from(x))));
}

/// Fills the memory of fresh blocks with what [`save`] has left.
pub(super) fn restore(blocks: &dyn Blocks, memory: &mut [Mutex<Memory>], state: &mut Restored) -> Result<()> {
    if !state.resumed() {
        return Ok(());
    }
    let examples = (0..blocks.len()).map(|block| blocks.examples(block).len()).sum();
    let mut losses = state.vector("losses", blocks.len(), 0.0, finite)?.into_iter();
    let mut distances = state.vector("distances", examples, 0.0, finite)?.into_iter();
    let mut trust = state.vector("trust", examples, 0.0, not_negative)?.into_iter();
    let stored = state.counts("stored", blocks.len(), u32::MAX.into())?;
    let all = stored.iter().sum::<f64>() as usize;
    let mut at = state.counts("stored_at", all, u32::MAX.into())?.into_iter();
    let mut residuals = state.vector("residuals", all, 0.0, finite)?.into_iter();
    let (mut places, mut kept) = (Vec::new(), Vec::new());
    for (block, (memory, stored)) in memory.iter_mut().zip(stored).enumerate() {
        let memory = memory.get_mut().unwrap_or_else(PoisonError::into_inner);
        memory.loss = losses.next().unwrap_or(0.0);
        for example in &mut memory.examples {
            example.distance = distances.next().unwrap_or(0.0) as f32;
            example.trust = trust.next().unwrap_or(0.0) as f32;
        }
        places.clear();
        places.extend(at.by_ref().take(stored as usize).map(|at| at as u32));
        kept.clear();
        kept.extend(residuals.by_ref().take(stored as usize).map(|x| x as f32));
        let ascending = places.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending || places.last().is_some_and(|&at| at as usize >= blocks.size(block)) {
            return Err(Restored::disagrees("stored_at"));
        }
        memory.keep((&places, &kept));
    }
    Ok(())
}

/// Locks memory that no thread leaves half-written.
pub(super) fn lock<T>(memory: &Mutex<T>) -> MutexGuard<'_, T> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}
