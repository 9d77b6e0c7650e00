//! Average gradients through stored marginals: the quick way to the neighbourhood of the optimum.

use super::blocks::{BlockWorker, Blocks, Single, examples_in_blocks, most_stored};
use super::checks::require_prior;
use super::finite::diverged;
use super::online::report_due;
use super::remembered::{self, Kept, Memory, lock};
use super::restored::{MOST, Restored, positive};
use super::saga_rounds::Rounds;
use super::saga_weights::{Change, Weights};
use super::{Control, Minimum, Optimizer, Prior, Problem, Progress, State, Stop, Watch};
use crate::Result;
use crate::ability::Ability;
use crate::math::random::Random;
use std::sync::{Mutex, PoisonError};

/// Steps on a few blocks of examples at a time. The curvature of an example limits the length of its step, and the
/// frequency of a weight limits its share.
///
/// Idea: store the residuals rᵢ = wᵢ(μᵢ − 1\[yᵢ\]) of every example, where μᵢ are marginals, and with them the gradient
/// d = Σ Aᵢᵀrᵢ of the losses. At the optimum θ minimises ⟨d, θ⟩ plus the penalties, so that without an L1 penalty θ =
/// mean − σ²d, and every μᵢ equals the marginals at θ. A visit moves rᵢ by a share γ towards the residuals at θ, and d
/// accordingly. It moves θ by as much as d has changed, and a little towards its place:
///
/// ```text
/// x = residuals at θ − rᵢ    rᵢ ← rᵢ + λγx    u = λγAᵢᵀx    d ← d + u
/// z ← z − σ²Du − (D/N)(z − mean + σ²d)       θ = z, or with an L1 penalty θ = z moved towards 0 by σ²·l1
/// ```
///
/// Here N is the number of blocks that touch a row, U how often they use it, m how often a step does on average, and D =
/// max(0.2, 1/√(1 + σ²U/30)) / (1 + 0.003·σ²(m − 1)) ≤ 1 the damping of the row at first. Rare weights follow their few examples at
/// once, frequent ones average, and weights that a step uses many times move no further than its curvature allows. The D of a row
/// that nearly every step moves shrinks while its moves reverse each other, and grows again while they do not. If a
/// round raises the objective by 1 % all the same, every D is halved.
///
/// γ = τs/(τs + q) is the best step of dual coordinate ascent to second order, with q ≈ uᵀσ²Du/γ², where the tokens of an example
/// count separately, and s = Σ 2x²/(a + b) over single variables, the curvature of their entropies between weight × marginals a
/// and b. τ is the trust in s: 1 at first, and less while s grows from visit to visit. λ ≤ 1 is the best step for all examples of a block
/// together, Σγs / (Σγ²s + uᵀσ²Du) with u for λ = 1 and the rows that many of its tokens share. It is small in a long sequence of an
/// unusual kind. With γ = λ = 1 and one D this is SAGA with sparse updates.
///
/// A step visits several blocks at the same θ, on all threads, and then moves stretches of θ, on all threads. Blocks and
/// stretches depend on the data alone, so the result does not depend on the number of threads. Residuals below `tolerance`
/// / 1000 are stored as 0 and cost no memory: a token has few labels whose marginals are worth remembering.
///
/// Parameters: `passes` = 50, `tolerance` = 1e-4, `memory_limit` (none).
///
/// Needs: exact marginals of single examples and a finite σ. Stops when about `tolerance` · objective is left to gain.
/// This is estimated from the duality gap, with s/2 at the last visit for the KL divergence of each example, and with the
/// part of each weight reduced by the first D, because damped weights have more curvature than the prior's. Where features are
/// correlated that is too little. So the next rounds must promise less than 0.3 · `tolerance` · objective too, if their gains shrink as
/// those of the last rounds did.
///
/// References: Defazio, Bach and Lacoste-Julien 2014 (SAGA); Leblond, Pedregosa and Lacoste-Julien 2017 (sparse updates);
/// Shalev-Shwartz and Zhang 2014 (dual ascent with an L1 penalty); Shalev-Shwartz 2016 (dual ascent steps without a dual).
/// Blocks, damping, γ from single variables, λ and sparse memory are our own.
#[derive(Clone, Debug)]
pub struct Saga {
    /// The largest number of passes.
    pub passes: f64,
    /// The seed for the order of the examples.
    pub seed: u64,
    /// Stop when about this share of the objective is left to gain; see above.
    pub tolerance: f64,
    /// The largest number of bytes to store. To stay below it, only the largest residuals of each block are stored, and
    /// the optimum is met less exactly.
    pub memory_limit: u64,
}

impl Default for Saga {
    fn default() -> Self {
        Saga { passes: Saga::PASSES as f64, seed: 1, tolerance: 1e-4, memory_limit: u64::MAX }
    }
}

/// If s has grown since the last visit, the trust was too large and is multiplied by this; otherwise it recovers
/// slowly.
const DOUBT: f64 = 0.7;
const LEAST_TRUST: f64 = 0.01;
const RECOVER: f64 = 1.1;
/// The residuals up to this share of the tolerance are not worth their memory.
const SMALLEST: f64 = 1e-3;
/// A round whose objective is higher by this factor has moved the weights too far.
const RISEN: f64 = 1.01;
/// The part of the estimated gap that is left to gain, with some caution; the rest belongs to the dual.
const LEFT: f64 = 0.8;
/// With an L1 penalty, weights at 0 hide more than as much again.
const LEFT_L1: f64 = 2.5;
/// The run goes on while the next rounds promise more than this share of what may be left.
const AHEAD: f64 = 0.3;
/// A step visits one block in this many.
const STEPS: usize = 200;
/// The largest number of blocks that a step visits.
const LANES: usize = 8;
/// The largest number of steps between two reports.
const REPORT: usize = 16;

impl Saga {
    /// The default number of passes.
    pub const PASSES: usize = 50;

    /// The largest number of bytes that it may come to store, if hardly any residual is close to 0. Returns an error if
    /// the objective does not provide marginals.
    #[doc(hidden)]
    pub fn storage(problem: &Problem) -> Result<u64> {
        Ok(most_stored(&*examples_in_blocks(problem, 1)?))
    }
}

/// What a visit needs besides the memory of the block.
struct Lane<'a> {
    worker: Box<dyn BlockWorker + 'a>,
    /// The residuals before the visit, and their change.
    old: Vec<f64>,
    change: Vec<f64>,
    kept: Kept,
}

struct Run<'a> {
    problem: &'a Problem<'a>,
    blocks: &'a dyn Blocks,
    seed: u64,
    /// The share of its residuals that a block may store.
    storable: f64,
    memory: Vec<Mutex<Memory>>,
    lanes: Vec<Mutex<Lane<'a>>>,
    changes: Vec<Mutex<Change>>,
    weights: Weights,
    /// Residuals up to this are stored as 0.
    smallest: f64,
    /// Whether the run has started from weights other than 0. Its first round then only stores their residuals: without them, the
    /// first steps would lead back to 0.
    warm: bool,
    rounds: Rounds,
    round: u64,
    /// The number of blocks of the round that are done.
    done: usize,
    order: Vec<u32>,
    visits: u64,
}

impl Optimizer for Saga {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Smooth, Ability::Marginals]
    }

    fn check(&self, prior: &Prior, _l1: f64) -> Result<()> {
        require_prior("saga", prior)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let blocks = examples_in_blocks(problem, self.seed)?;
        let mut run = Run::new(self, problem, &*blocks, state)?;
        watch.stores(most_stored(&*blocks).min(self.memory_limit))?;
        let stop = loop {
            let whole = run.done == 0 && run.round > 0;
            let enough = self.tolerance * run.rounds.last;
            if whole && run.left() <= enough && run.rounds.ahead() <= AHEAD * enough {
                break Stop::Gap;
            }
            if run.passes() >= self.passes || blocks.is_empty() {
                break Stop::Passes;
            }
            let (mut fine, before) = (true, run.done);
            problem.objective.on_threads(&mut || fine = run.steps());
            if !fine {
                return Err(diverged(run.passes(), &problem.prior));
            }
            let whole = run.done == 0;
            let progress = Progress {
                passes: run.passes(),
                objective: if whole { Some(run.rounds.last) } else { run.report(before) },
                gradient_norm: None,
                gap: None,
                theta: whole.then_some(&run.weights.theta),
            };
            if watch.step(&progress, &|| run.state())? == Control::Stop {
                break Stop::Watch;
            }
        };
        Ok(Minimum { passes: run.passes(), theta: run.weights.theta, stop })
    }
}

impl<'a> Run<'a> {
    fn new(method: &Saga, problem: &'a Problem<'a>, blocks: &'a dyn Blocks, state: State) -> Result<Self> {
        let dim = problem.objective.dim();
        let mut state = Restored::new(state, dim)?;
        let warm = match state.resumed() {
            true => state.flag("warm")?,
            false => state.theta().iter().any(|x| *x != 0.0),
        };
        let lanes = (blocks.len() / STEPS).clamp(1, LANES);
        let weights = Weights::new(problem, blocks, lanes, &mut state)?;
        // The step length of an example relies on the first damping, whatever came later.
        let steps = weights.first_steps();
        let step = |row: usize| f64::from(steps[row]);
        let mut memory: Vec<Mutex<Memory>> =
            std::iter::repeat_with(Mutex::default).take(blocks.len()).collect();
        problem.objective.in_parallel(blocks.len(), &|block| {
            *lock(&memory[block]) = Memory::new(blocks, block, &step);
        });
        remembered::restore(blocks, &mut memory, &mut state)?;
        let lane = || {
            Mutex::new(Lane { worker: blocks.worker(), old: vec![], change: vec![], kept: Kept::default() })
        };
        let mut run = Run {
            problem,
            blocks,
            seed: method.seed,
            storable: method.memory_limit as f64 / most_stored(blocks).max(1) as f64,
            memory,
            lanes: std::iter::repeat_with(lane).take(lanes).collect(),
            changes: std::iter::repeat_with(Mutex::default).take(lanes).collect(),
            weights,
            smallest: state.number("smallest", SMALLEST * method.tolerance, positive)?,
            warm,
            rounds: Rounds::new(&mut state)?,
            round: state.count("round", MOST)?,
            done: state.count("done", blocks.len().saturating_sub(1) as u64)? as usize,
            order: Vec::new(),
            visits: state.count("visits", MOST)?,
        };
        run.shuffle();
        Ok(run)
    }

    fn state(&self) -> State {
        let mut state = State::start(self.weights.theta.clone());
        self.weights.save(&mut state);
        remembered::save(&self.memory, &mut state);
        self.rounds.save(&mut state);
        for (name, number) in [
            ("smallest", self.smallest),
            ("warm", f64::from(u8::from(self.warm))),
            ("round", self.round as f64),
            ("done", self.done as f64),
            ("visits", self.visits as f64),
        ] {
            state.numbers.insert(name.into(), number);
        }
        state
    }

    /// The order of a round depends only on the seed and the round.
    fn shuffle(&mut self) {
        self.order = (0..self.blocks.len() as u32).collect();
        Random::stream(self.seed, self.round).shuffle(&mut self.order);
    }

    fn passes(&self) -> f64 {
        self.visits as f64 / self.problem.objective.examples().max(1) as f64
    }

    /// Whether visits leave the weights as they are.
    fn only_stores(&self) -> bool {
        self.warm && self.round == 0
    }

    /// The objective within the first round if it is to be reported, after `before` blocks at the last look.
    fn report(&self, before: usize) -> Option<f64> {
        let due = (before + 1..=self.done).any(|done| report_due(done, self.order.len()));
        (self.round == 0 && due).then(|| self.objective())
    }

    /// Σ over all blocks.
    fn sum(&self, each: impl Fn(&Memory) -> f64) -> f64 {
        self.memory.iter().map(|memory| each(&lock(memory))).sum()
    }

    /// The losses, each at the weights of its last visit, plus the present penalty. In the first round, the losses so
    /// far are scaled to all examples.
    fn objective(&self) -> f64 {
        let seen = if self.round == 0 { self.passes() } else { 1.0 };
        self.sum(|memory| memory.loss) / seen + self.problem.penalty(&self.weights.theta)
    }

    /// An estimate of what is left to gain; see [`Saga`].
    fn left(&self) -> f64 {
        let distance =
            |memory: &Memory| memory.examples.iter().map(|example| f64::from(example.distance)).sum();
        let left = LEFT * (0.5 * self.sum(distance) + self.weights.behind(self.problem));
        if self.problem.l1 > 0.0 { LEFT_L1 * left } else { left }
    }

    /// Takes a few steps, up to the end of the round. Returns whether all losses are numbers.
    fn steps(&mut self) -> bool {
        let parts = if self.round == 0 { 32 } else { 16 };
        let steps = (self.order.len() / self.lanes.len() / parts).clamp(1, REPORT);
        for _ in 0..steps {
            if !self.step() {
                return false;
            }
            if self.done == 0 {
                break;
            }
        }
        true
    }

    /// Visits the next blocks.
    fn step(&mut self) -> bool {
        // While θ is far from its place, steps are smaller.
        let lanes = if self.round == 0 { self.lanes.len().div_ceil(2) } else { self.lanes.len() };
        let stay = self.only_stores();
        let step = self.done..self.order.len().min(self.done + lanes);
        let blocks = &self.order[step.clone()];
        self.problem.objective.in_parallel(blocks.len(), &|lane| {
            let block = blocks[lane] as usize;
            self.visit(
                block,
                &mut lock(&self.memory[block]),
                &mut lock(&self.lanes[lane]),
                &mut lock(&self.changes[lane]),
            );
        });
        self.visits +=
            blocks.iter().map(|&block| self.blocks.examples(block as usize).len() as u64).sum::<u64>();
        let mut changes = Vec::with_capacity(step.len());
        for change in &mut self.changes[..step.len()] {
            changes.push(&*change.get_mut().unwrap_or_else(PoisonError::into_inner));
        }
        self.weights.apply(self.problem, &changes, stay);
        let loss = blocks.iter().map(|&block| lock(&self.memory[block as usize]).loss).sum::<f64>();
        self.done = step.end;
        if self.done == self.order.len() {
            self.done = 0;
            self.round += 1;
            self.shuffle();
            let objective = self.objective();
            if objective > RISEN * self.rounds.last {
                self.weights.halve();
            }
            self.rounds.end(objective);
        }
        loss.is_finite()
    }

    /// Moves the residuals of a block, and finds the change of the gradient.
    fn visit(&self, block: usize, memory: &mut Memory, lane: &mut Lane, out: &mut Change) {
        let Lane { worker, old, change, kept } = lane;
        let size = self.blocks.size(block);
        change.resize(size, 0.0);
        memory.loss = worker.residuals(block, &self.weights.theta, change);
        old.clear();
        old.resize(size, 0.0);
        for (at, residual) in memory.stored() {
            old[at] = residual.into();
            change[at] -= f64::from(residual);
        }
        kept.clear();
        let (mut start, mut first, mut sum) = (0, 0, 0.0);
        // Σγs, Σγ²s and Σγ²q.
        let (mut slope, mut bend, mut apart) = (0.0, 0.0, 0.0);
        for e in 0..memory.examples.len() {
            let example = &mut memory.examples[e];
            let singles = &memory.singles[first..example.singles];
            let (distance, q) = Single::distances(singles, example.weight, change, old);
            let s = 2.0 * distance;
            let trust = match f64::from(example.trust) {
                0.0 => 1.0,
                trust if s > example.distance.into() => (DOUBT * trust).max(LEAST_TRUST),
                trust => (RECOVER * trust).min(1.0),
            };
            let mut gamma = if s + q > 0.0 { trust * s / (trust * s + q) } else { 1.0 };
            (example.trust, example.distance) = (trust as f32, s as f32);
            if self.only_stores() {
                // As if there had been no visit yet, and nothing were left to gain.
                (gamma, example.trust, example.distance) = (1.0, 0.0, 0.0);
            }
            let (end, singles) = (example.end, example.singles);
            kept.store(start..end, old, gamma, change, self.smallest as f32);
            (start, first) = (end, singles);
            sum += gamma;
            slope += gamma * s;
            bend += gamma * gamma * s;
            apart += gamma * gamma * q;
        }
        let gamma = sum / memory.examples.len() as f64;
        kept.store(start..size, old, gamma, change, self.smallest as f32);
        self.limit(size, kept, old, change);
        worker.project(block, change, &mut out.rows, &mut out.values);
        let all = bend + apart.max(self.weights.power(out));
        if slope < all && !self.only_stores() {
            kept.clear();
            kept.store(0..size, old, slope / all, change, self.smallest as f32);
            self.limit(size, kept, old, change);
            worker.project(block, change, &mut out.rows, &mut out.values);
        }
        memory.keep(kept.stored());
    }

    /// Keeps to the limit of memory.
    fn limit(&self, size: usize, kept: &mut Kept, old: &[f64], change: &mut [f64]) {
        if self.storable < 1.0 {
            kept.keep_largest((self.storable * size as f64) as usize, old, change);
        }
    }
}
