//! Average gradients through stored marginals: the quick way to the neighbourhood of the optimum.

use super::checks::{refuse_l1, require_prior};
use super::dual::{Dual, Entropy};
use super::finite::{MEMORY_LIMIT, check_storage, diverged, dual_of};
use super::fours::{four, in_fours, put_four, weighted_squares, with_known_length};
use super::online::report_due;
use super::restored::{MOST, Restored, expectation, finite};
use super::{Control, Minimum, Optimizer, Prior, Problem, Progress, State, Stop, Touched, Watch};
use crate::Result;
use crate::ability::Ability;
use crate::math::dispatch::dispatch;
use crate::math::random::Random;
use crate::math::simd;
use crate::math::vector::dot;

/// Steps on one example at a time. The curvature of the example limits the length of a step, and the frequency of a
/// weight limits its share.
///
/// Idea: store the marginals μᵢ of every example, and with them the gradient d = Σ wᵢ Aᵢᵀ(μᵢ − 1\[yᵢ\]) of the
/// losses. At the optimum θ = mean − σ²d, and every μᵢ equals the marginals at θ. A visit moves μᵢ by a share γ
/// towards ν, the marginals at θ. It moves d and θ accordingly, and θ also a little towards mean − σ²d:
///
/// ```text
/// u = wᵢ Aᵢᵀ(ν − μᵢ)    μᵢ ← μᵢ + γ(ν − μᵢ)    d ← d + γu    θ ← θ − σ²Dγu − (D/N)(θ − mean + σ²d)   on touched rows
/// ```
///
/// Here N is the number of examples that touch a row, m how often each of them does on average, and D = max(0.2,
/// 1/√(1 + σ²N/30)) / (1 + σ²(m − 1)/4) ≤ 1 the damping of the row. Rare weights follow their few examples at once,
/// frequent ones average, and weights that one example uses many times move no further than its curvature, at most
/// m/4, allows. γ = τs/(τs + q) is the best step of dual coordinate ascent to second order, with q = uᵀσ²Du and s =
/// wᵢ Σ 2(ν − μᵢ)²/(ν + μᵢ) over single variables, the curvature of their entropies. τ is the trust in s: 1 at the
/// first visit, then at most 0.6, and less while s grows from visit to visit. Without damping and with exact
/// entropies this is [`Sdca`](super::Sdca); with γ = 1 and one D it is SAGA with sparse updates. From the third round
/// on, an example whose last visit gained less than the average is skipped, at most three times in a row. A visit
/// costs what it touches.
///
/// Parameters: `passes` = 50, `tolerance` = 1e-4, `memory_limit` = 1 GiB.
///
/// Needs: marginals of single examples, a finite σ, no L1 penalty, and memory for them ([`Saga::storage`]). Stops
/// when about `tolerance` · objective is left to gain. This is estimated as half the duality gap Σ wᵢ KL(μᵢ‖ν) + (θ −
/// mean + σ²d)²/2σ², since the other half belongs to the dual, with s/2 at the last visit for each KL. The objective
/// is then about 0.2 to 0.4 · `tolerance` above its optimum, as a share. References: Defazio, Bach and Lacoste-Julien
/// 2014 (SAGA); Leblond, Pedregosa and Lacoste-Julien 2017 (sparse updates); Shalev-Shwartz 2016 (dual ascent steps
/// without a dual). Damping, γ from single variables and skipping are our own.
#[derive(Clone, Debug)]
pub struct Saga {
    /// The largest number of passes.
    pub passes: f64,
    /// The seed for the order of the examples.
    pub seed: u64,
    /// Stop when about this share of the objective is left to gain; see above.
    pub tolerance: f64,
    /// The largest number of bytes to store; a larger problem is rejected with an error.
    pub memory_limit: u64,
}

impl Default for Saga {
    fn default() -> Self {
        Saga { passes: Saga::PASSES as f64, seed: 1, tolerance: 1e-4, memory_limit: MEMORY_LIMIT }
    }
}

/// A row that this many examples touch (times σ²) counts as frequent.
const FREQUENT: f64 = 30.0;
/// The trust in s from the second visit on. The variables of an example vary together, which their single entropies
/// do not show.
const TRUST: f64 = 0.6;
/// If s has grown since the last visit, the trust was too large and is multiplied by this; otherwise it recovers
/// slowly.
const DOUBT: f64 = 0.7;
const LEAST_TRUST: f64 = 0.01;
const RECOVER: f64 = 1.1;
/// The smallest damping factor that a frequent row gets.
const LEAST: f64 = 0.2;
/// The largest variance of an indicator.
const BEND: f64 = 0.25;
/// The number of rounds in which no example is skipped.
const FULL_ROUNDS: u64 = 2;
/// The largest number of successive rounds in which an example may be skipped.
const PATIENCE: f64 = 3.0;

impl Saga {
    /// The default number of passes.
    pub const PASSES: usize = 50;

    /// The number of bytes that it stores: the marginals of all examples. Returns an error if the objective does not
    /// provide them.
    pub fn storage(problem: &Problem) -> Result<u64> {
        let dual = dual_of("saga", problem, Entropy::Single)?;
        Ok((0..problem.objective.examples() as u32).map(|e| 8 * dual.size(e) as u64).sum())
    }
}

/// σ²D and D/N of each row.
fn steps(problem: &Problem, dual: &mut dyn Dual) -> Vec<[f64; 2]> {
    #[derive(Clone, Default)]
    struct Row {
        examples: f64,
        uses: f64,
        start: usize,
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut touched = Touched::default();
    let (mut ones, mut counts) = (Vec::new(), Vec::new());
    for example in 0..problem.objective.examples() as u32 {
        problem.objective.touched(&[example], &mut touched);
        // Aᵀ1 counts how often the example uses each weight.
        ones.resize(dual.size(example), 1.0);
        dual.project(example, &ones, &touched, &mut counts);
        for row in touched.rows() {
            let counts = &counts[row.place()];
            rows.resize(rows.len().max(row.row as usize + 1), Row::default());
            let entry = &mut rows[row.row as usize];
            entry.examples += 1.0;
            entry.uses += counts.iter().fold(0.0, |most: f64, count| most.max(count.abs()));
            entry.start = row.weights().start;
        }
    }
    let step = |Row { examples, uses, start }: Row| {
        let variance = problem.prior.variance(start);
        let often = (1.0 + variance * examples / FREQUENT).sqrt().recip().max(LEAST);
        let damping = often / (1.0 + BEND * variance * (uses / examples - 1.0).max(0.0));
        [variance * damping, damping / examples]
    };
    rows.into_iter().map(step).collect()
}

struct Run<'a> {
    problem: &'a Problem<'a>,
    dual: Box<dyn Dual + 'a>,
    seed: u64,
    theta: Vec<f64>,
    /// d.
    drift: Vec<f64>,
    offsets: Vec<usize>,
    /// μᵢ.
    marginals: Vec<f64>,
    /// σ²D and D/N of each row.
    steps: Vec<[f64; 2]>,
    /// For each example: its loss and the gain at its last visit, and the rounds since then.
    losses: Vec<f64>,
    gains: Vec<f64>,
    passed_over: Vec<f64>,
    /// For each example: s at its last visit, and the trust in it at the next; 0 before the first.
    distances: Vec<f64>,
    trust: Vec<f64>,
    /// The gain per stored number that makes a visit worthwhile in this round.
    worth: f64,
    round: u64,
    /// The number of examples of the round that are done, including skipped ones.
    done: usize,
    order: Vec<u32>,
    visits: u64,
    touched: Touched,
    new: Vec<f64>,
    counting: Vec<f64>,
    rows: Vec<f64>,
}

impl Optimizer for Saga {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Smooth, Ability::Dual]
    }

    fn check(&self, prior: &Prior, l1: f64) -> Result<()> {
        refuse_l1("saga", l1)?;
        require_prior("saga", prior)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        check_storage("saga", Saga::storage(problem)?, self.memory_limit, watch)?;
        let mut run = Run::new(problem, self.seed, state)?;
        let examples = problem.objective.examples();
        let mut objective = None;
        let stop = loop {
            if run.done == 0 && run.round > 0 {
                let objective = objective.unwrap_or_else(|| run.objective());
                if run.left() <= self.tolerance * objective {
                    break Stop::Gap;
                }
            }
            if run.passes() >= self.passes || examples == 0 {
                break Stop::Passes;
            }
            run.next()?;
            let whole = run.done == 0;
            objective = (whole || run.round == 0 && report_due(run.done, examples)).then(|| run.objective());
            let progress = Progress {
                passes: run.passes(),
                objective,
                gradient_norm: None,
                gap: None,
                theta: whole.then_some(&run.theta),
            };
            if watch.step(&progress, &|| run.state())? == Control::Stop {
                break Stop::Watch;
            }
        };
        Ok(Minimum { passes: run.passes(), theta: run.theta, stop })
    }
}

impl<'a> Run<'a> {
    fn new(problem: &'a Problem<'a>, seed: u64, state: State) -> Result<Self> {
        let dim = problem.objective.dim();
        let mut state = Restored::new(state, dim)?;
        let mut dual = dual_of("saga", problem, Entropy::Single)?;
        let steps = steps(problem, &mut *dual);
        let examples = problem.objective.examples();
        let mut offsets = vec![0];
        for e in 0..examples {
            offsets.push(offsets[e] + dual.size(e as u32));
        }
        let mut marginals = state.vector("marginals", offsets[examples], 0.0, expectation)?;
        if !state.resumed() {
            for e in 0..examples {
                dual.answer(e as u32, &mut marginals[offsets[e]..offsets[e + 1]]);
            }
        }
        let mut run = Run {
            problem,
            dual,
            seed,
            drift: state.vector("drift", dim, 0.0, finite)?,
            offsets,
            marginals,
            steps,
            losses: state.vector("losses", examples, 0.0, finite)?,
            gains: state.vector("gains", examples, 0.0, finite)?,
            passed_over: state.counts("passed_over", examples, PATIENCE as u64)?,
            distances: state.vector("distances", examples, 0.0, finite)?,
            trust: state.vector("trust", examples, 0.0, |trust| (0.0..=TRUST).contains(&trust))?,
            worth: state.number("worth", 0.0, finite)?,
            round: state.count("round", MOST)?,
            done: state.count("done", examples.saturating_sub(1) as u64)? as usize,
            order: Vec::new(),
            visits: state.count("visits", MOST)?,
            touched: Touched::default(),
            new: Vec::new(),
            counting: Vec::new(),
            rows: Vec::new(),
            theta: state.take_theta(),
        };
        run.shuffle();
        Ok(run)
    }

    fn state(&self) -> State {
        let mut state = State::start(self.theta.clone());
        for (name, vector) in [
            ("drift", &self.drift),
            ("marginals", &self.marginals),
            ("losses", &self.losses),
            ("gains", &self.gains),
            ("passed_over", &self.passed_over),
            ("distances", &self.distances),
            ("trust", &self.trust),
        ] {
            state.vectors.insert(name.into(), vector.clone());
        }
        for (name, number) in [
            ("worth", self.worth),
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
        self.order = (0..self.losses.len() as u32).collect();
        Random::stream(self.seed, self.round).shuffle(&mut self.order);
    }

    fn passes(&self) -> f64 {
        self.visits as f64 / self.losses.len().max(1) as f64
    }

    /// The losses, each at the weights of its last visit, plus the present penalty. In the first round, the losses so
    /// far are scaled to all examples.
    fn objective(&self) -> f64 {
        let seen = if self.round == 0 { self.done as f64 / self.losses.len() as f64 } else { 1.0 };
        self.losses.iter().sum::<f64>() / seen + self.problem.prior.value(&self.theta)
    }

    /// An estimate of what is left to gain: half the duality gap, with s/2 for the KL(μᵢ‖ν) of each example's last
    /// visit.
    fn left(&self) -> f64 {
        // The penalty of θ + σ²d: θ = mean − σ²d at the optimum.
        let way = |i: usize, variance: f64| self.theta[i] + variance * self.drift[i];
        let behind = self.problem.prior.value_of(self.theta.len(), way);
        0.5 * (0.5 * self.distances.iter().sum::<f64>() + behind)
    }

    /// Moves to the next example that is worth a visit, and visits it. If it was the last one, the round ends.
    fn next(&mut self) -> Result<()> {
        while self.done < self.order.len() {
            let example = self.order[self.done];
            let e = example as usize;
            self.done += 1;
            let expected = self.worth * (self.offsets[e + 1] - self.offsets[e]) as f64;
            if self.gains[e] < expected && self.passed_over[e] < PATIENCE {
                self.passed_over[e] += 1.0;
                continue;
            }
            self.passed_over[e] = 0.0;
            self.visit(example)?;
            self.problem.objective.expect(self.order.get(self.done..=self.done).unwrap_or_default());
            break;
        }
        if self.done == self.order.len() {
            self.done = 0;
            self.round += 1;
            self.shuffle();
            if self.round >= FULL_ROUNDS {
                self.worth = self.gains.iter().sum::<f64>() / self.marginals.len() as f64;
            }
        }
        Ok(())
    }

    fn visit(&mut self, example: u32) -> Result<()> {
        let Run { problem, dual, theta, drift, touched, new, counting, rows, .. } = self;
        let e = example as usize;
        let old = &mut self.marginals[self.offsets[e]..self.offsets[e + 1]];
        for vector in [&mut *new, &mut *counting] {
            vector.resize(old.len(), 0.0);
        }
        problem.objective.touched(&[example], touched);
        // Everything that the visit needs from the rows is prefetched at once.
        let filled = touched.rows().iter().filter(|row| !row.weights().is_empty());
        std::hint::black_box(filled.fold(0.0, |sum, row| {
            let (start, [step, _]) = (row.weights().start, self.steps[row.row as usize]);
            sum + theta[start] + drift[start] + step
        }));
        let loss = dual.marginals(example, theta, touched, new);
        self.visits += 1;
        if !loss.is_finite() {
            return Err(diverged(self.visits as f64 / self.losses.len() as f64, &problem.prior));
        }
        dual.counting(example, counting);
        // new ← ν − μ, counting ← c (ν − μ)/(ν + μ): their product is s/2.
        for ((new, old), c) in new.iter_mut().zip(&*old).zip(&mut *counting) {
            let change = *new - old;
            *c *= change / (*new + old + f64::MIN_POSITIVE);
            *new = change;
        }
        let s = 2.0 * dual.weight(example) * dot(new, counting);
        dual.project(example, new, touched, rows);
        let steps = touched.rows().iter().map(|row| (row.place(), self.steps[row.row as usize][0]));
        let q = weighted_squares(steps, rows);
        let trust = match self.trust[e] {
            0.0 => 1.0,
            trust if s > self.distances[e] => (DOUBT * trust).max(LEAST_TRUST),
            trust => (RECOVER * trust).min(TRUST),
        };
        (self.trust[e], self.distances[e]) = (trust.min(TRUST), s);
        let gamma = if s + q > 0.0 { trust * s / (trust * s + q) } else { 1.0 };
        old.iter_mut().zip(&*new).for_each(|(old, change)| *old += gamma * change);
        dispatch!(simd::level(), simd => for row in touched.rows() {
            let [step, share] = self.steps[row.row as usize];
            let variance = problem.prior.variance(row.weights().start);
            for (part, mine) in in_fours(row.weights()).zip(in_fours(row.place())) {
                with_known_length!(part => {
                    let u = four(simd, &rows[mine.start..mine.start + part.len()]) * gamma;
                    let mean = problem.prior.four_means(simd, part.clone());
                    let (theta, drift) = (&mut theta[part.clone()], &mut drift[part]);
                    let d = four(simd, drift) + u;
                    put_four(d, drift);
                    let x = four(simd, theta) - u * step;
                    put_four(x - (x - mean + d * variance) * share, theta);
                })
            }
        });
        self.losses[e] = loss;
        self.gains[e] = 0.5 * gamma * s;
        Ok(())
    }
}
