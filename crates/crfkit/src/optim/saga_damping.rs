//! How far [`super::Saga`] moves each row of weights.

use super::Prior;
use super::State;
use super::blocks::Blocks;
use super::restored::{Restored, finite, positive};
use crate::Result;
use crate::math::dispatch::dispatch;
use crate::math::simd;
use fearless_simd::{f64x8, prelude::*};

/// A row that is used this often (times σ²) counts as frequent.
const FREQUENT: f64 = 30.0;
/// The smallest damping that a frequent row gets at first.
const LEAST: f64 = 0.2;
/// The variance of an indicator, on average over tokens whose labels are mostly clear.
const BEND: f64 = 0.003;
/// A row is crowded if a block uses it this often.
const CROWDED: f64 = 16.0;
/// A row is watched if a step visits at least this many blocks that touch it, on average.
const OFTEN: f64 = 2.0;
/// Two moves with this cosine leave the damping of a row as it is: moves that reverse a little are no harm.
const STEADY: f64 = -0.2;
/// How quickly the damping follows the cosine, if a round has at least so many steps; with fewer it is up to so many times as quick.
const FOLLOW: f64 = 0.1;
const MANY_STEPS: f64 = 200.0;
const QUICKER: f64 = 5.0;
/// The smallest share of its first damping that a watched row keeps.
const FAINTEST: f64 = 0.01;

/// The number of weights at once.
const EIGHT: usize = 8;

/// The damping D of a row. Rows are visited in random order, so this is as small as it can be.
#[derive(Clone, Copy, Default)]
pub(super) struct Damped {
    /// σ²D.
    pub step: f32,
    /// D/N.
    pub share: f32,
}

impl Damped {
    fn times(self, factor: f64) -> Damped {
        let times = |x: f32| (f64::from(x) * factor) as f32;
        Damped { step: times(self.step), share: times(self.share) }
    }
}

/// How a row is used.
#[derive(Clone, Copy, Default)]
pub(super) struct Use {
    /// Its weights.
    pub start: u32,
    pub len: u32,
    /// How often, and by how many blocks.
    uses: f64,
    blocks: f64,
    /// The most uses by one block.
    most: f64,
}

/// How all rows are used.
pub(super) fn uses(blocks: &dyn Blocks) -> Vec<Use> {
    let mut rows = vec![Use::default(); blocks.rows()];
    for block in 0..blocks.len() {
        blocks.for_each_row(block, &mut |row, uses| {
            let of = &mut rows[row.row as usize];
            (of.start, of.len) = (row.weights().start as u32, row.weights().len() as u32);
            of.uses += uses;
            of.most = of.most.max(uses);
            of.blocks += 1.0;
        });
    }
    rows
}

impl Use {
    /// The damping of the row, where a step visits `lanes` blocks.
    pub(super) fn damped(&self, prior: &Prior, lanes: usize) -> Damped {
        if self.blocks == 0.0 {
            return Damped::default();
        }
        let variance = prior.variance(self.start as usize);
        let often = (1.0 + variance * self.uses / FREQUENT).sqrt().recip().max(LEAST);
        let in_step = self.uses / self.blocks * lanes as f64;
        let damping = often / (1.0 + BEND * variance * (in_step - 1.0).max(0.0));
        Damped { step: at_most(variance * damping), share: at_most(damping / self.blocks) }
    }

    /// Whether a block uses it so often that its tokens may move it too far together.
    pub(super) fn is_crowded(&self) -> bool {
        self.most >= CROWDED
    }

    /// The work that it makes: its weights and a little more, times the number of blocks that touch them.
    pub(super) fn work(&self) -> f64 {
        (f64::from(self.len) + 4.0) * self.blocks
    }
}

/// A row that nearly every step moves. If its moves reverse each other, they are too long, and D shrinks; while they go the same way, D
/// grows, up to what it was at first.
///
/// This sees what no count of uses foretells: features that occur together move the same log-potentials together, and how far these
/// bend depends on how clear the labels are, which changes during the run.
pub(super) struct Watched {
    row: usize,
    /// Its first weight.
    start: usize,
    first: Damped,
    /// The share of the first D that is left.
    factor: f64,
    /// The weights after the last step, and their last move.
    before: Vec<f64>,
    moved: Vec<f64>,
}

impl Watched {
    /// The rows to watch if a step visits `lanes` of `blocks` blocks, with their damping and weights so far.
    pub(super) fn new(
        (uses, rows): (&[Use], &mut [Damped]),
        (blocks, lanes): (usize, usize),
        z: &[f64],
        state: &mut Restored,
    ) -> Result<Vec<Watched>> {
        let least = (OFTEN / lanes as f64).min(1.0) * blocks as f64;
        let often = |(row, of): (usize, &Use)| (of.len > 0 && of.blocks >= least).then_some(row);
        let watched: Vec<usize> = uses.iter().enumerate().filter_map(often).collect();
        let weights = watched.iter().map(|&row| uses[row].len as usize).sum();
        let factors = state.vector("factors", watched.len(), 1.0, positive)?;
        let moved = state.vector("moved", weights, 0.0, finite)?;
        let mut moved = &moved[..];
        let restored = watched.iter().zip(factors).map(|(&row, factor)| {
            let first = rows[row];
            rows[row] = first.times(factor);
            let [start, len] = [uses[row].start, uses[row].len].map(|x| x as usize);
            let (mine, rest) = moved.split_at(len);
            moved = rest;
            Watched {
                row,
                start,
                first,
                factor,
                before: z[start..start + len].to_vec(),
                moved: mine.to_vec(),
            }
        });
        Ok(restored.collect())
    }

    /// Adds all rows to the state of a run.
    pub(super) fn save(all: &[Watched], state: &mut State) {
        state.vectors.insert("factors".into(), all.iter().map(|of| of.factor).collect());
        state.vectors.insert("moved".into(), all.iter().flat_map(|of| of.moved.iter().copied()).collect());
    }

    /// σ²D at the beginning of the run.
    pub(super) fn first_step(&self) -> f32 {
        self.first.step
    }

    /// How quickly damping follows the moves, where a round has so many steps.
    pub(super) fn rate(steps: f64) -> f64 {
        FOLLOW * (MANY_STEPS / steps).sqrt().clamp(1.0, QUICKER)
    }

    /// Adapts D to the last two moves; `now` are the weights after the last one.
    pub(super) fn follow(&mut self, rate: f64, now: &[f64], damped: &mut Damped) {
        let [both, last, this] = dispatch!(simd::level(), simd => {
            let mut sums = [f64x8::splat(simd, 0.0); 3];
            let (now, now_rest) = now.as_chunks::<EIGHT>();
            let (before, before_rest) = self.before.as_chunks_mut::<EIGHT>();
            let (moved, moved_rest) = self.moved.as_chunks_mut::<EIGHT>();
            for ((now, before), moved) in now.iter().zip(before).zip(moved) {
                let moves = f64x8::simd_from(simd, *now) - f64x8::simd_from(simd, *before);
                let previous = f64x8::simd_from(simd, *moved);
                sums = [sums[0] + moves * previous, sums[1] + previous * previous, sums[2] + moves * moves];
                (*before, *moved) = (*now, moves.into());
            }
            let mut sums = sums.map(|x| <[f64; EIGHT]>::from(x).iter().sum::<f64>());
            for ((now, before), moved) in now_rest.iter().zip(before_rest).zip(moved_rest) {
                let moves = now - *before;
                sums = [sums[0] + moves * *moved, sums[1] + *moved * *moved, sums[2] + moves * moves];
                (*before, *moved) = (*now, moves);
            }
            sums
        });
        let cosine = both / (last * this).sqrt();
        if cosine.is_finite() {
            self.factor = (self.factor * (rate * (cosine - STEADY)).exp()).clamp(FAINTEST, 1.0);
            *damped = self.first.times(self.factor);
        }
    }

    /// The number of the row.
    pub(super) fn row(&self) -> usize {
        self.row
    }

    /// Its first weight, and the one behind its last.
    pub(super) fn weights(&self) -> [usize; 2] {
        [self.start, self.start + self.before.len()]
    }
}

/// x in single precision. A number that is too large for it becomes the largest one: infinity times 0 would be no number.
pub(super) fn at_most(x: f64) -> f32 {
    x.min(f32::MAX.into()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_of_a_very_wide_prior_is_finite() {
        let row = Use { start: 0, len: 3, uses: 5.0, blocks: 5.0, most: 1.0 };
        for sigma in [1e18, 1e20, 1e100] {
            let Damped { step, share } = row.damped(&Prior::gaussian(sigma), 1);
            assert!(step.is_finite() && step > 1e30 && share.is_finite(), "σ {sigma}: {step} and {share}");
        }
    }

    /// Moves back and forth make D smaller, those in one direction larger again, and no move leaves it.
    #[test]
    fn damping_follows_the_moves() {
        let first = Damped { step: 0.5, share: 0.25 };
        let mut row =
            Watched { row: 0, start: 0, first, factor: 1.0, before: vec![0.0; 2], moved: vec![0.0; 2] };
        let (mut damped, mut x) = (first, 0.0);
        for k in 0..60 {
            x += if k % 2 == 0 { 1.0 } else { -1.0 };
            row.follow(FOLLOW, &[x, -x], &mut damped);
        }
        assert_eq!((row.factor, damped.step), (FAINTEST, (0.5 * FAINTEST) as f32));
        row.follow(FOLLOW, &[x, -x], &mut damped);
        assert_eq!(row.factor, FAINTEST);
        for _ in 0..60 {
            x += 1.0;
            row.follow(FOLLOW, &[x, -x], &mut damped);
        }
        assert_eq!((row.factor, damped.step, damped.share), (1.0, 0.5, 0.25));
    }
}
