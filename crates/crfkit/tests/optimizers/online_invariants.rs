//! What must hold of the online methods whatever the data: limits in which they become one another, derivatives, bounds,
//! refusals.

use crate::literal;
use crate::objectives;

use crfkit::Error;
use crfkit::optim::Ability;
use crfkit::optim::{
    AdaGrad, Adam, Adaptation, Auto, AutoChoice, BatchGradient, Control, Lbfgs, Minimum, Objective,
    Optimizer, Prior, Problem, Progress, Psa, Restart, Schedule, Sgd, Smd, State, Touched, Updates, Watch,
};
use literal::Run;
use objectives::{Look, Losses, batches, distance, minimize, minimize_from, problem, uneven};

const DIM: usize = 30;

fn schedule(batch: usize, updates: Updates) -> Schedule {
    Schedule { batch, passes: 4, seed: 3, updates, ..Schedule::default() }
}

fn start() -> Vec<f64> {
    (0..DIM).map(|i| 0.1 * (i % 7) as f64 - 0.3).collect()
}

fn bits(minimum: Minimum) -> Vec<u64> {
    minimum.theta.iter().map(|x| x.to_bits()).collect()
}

/// The state after each step.
fn states(method: &dyn Optimizer, problem: &Problem, theta: &[f64]) -> Vec<State> {
    let mut states = Vec::new();
    let mut watch = Look(|_: &Progress, state: &dyn Fn() -> State| {
        states.push(state());
        Control::Continue
    });
    method.minimize(problem, State::start(theta.to_vec()), &mut watch).unwrap();
    states
}

#[test]
fn smd_without_meta_gain_is_sgd_to_the_bit() {
    let losses = Losses::logistic(1, 26, DIM);
    let no_prior = Prior::gaussian(f64::INFINITY);
    // Without a prior there is nothing to make up for, so lazy updates are dense ones.
    let cases = [
        (Updates::Dense, Prior::gaussian(0.7)),
        (Updates::Dense, uneven(DIM, 0.5, 2.0)),
        (Updates::Dense, no_prior.clone()),
        (Updates::Lazy, no_prior),
    ];
    for (updates, prior) in cases {
        for gradient in [BatchGradient::Sum, BatchGradient::Mean] {
            for batch in [1, 4, 26] {
                let schedule = Schedule { gradient, ..schedule(batch, updates) };
                let problem = Problem { objective: &losses, prior: prior.clone(), l1: 0.0 };
                let sgd = minimize_from(&Sgd::fixed(Some(0.05), schedule), &problem, &start()).unwrap();
                let smd = Smd { eta0: 0.05, mu: 0.0, schedule, ..Smd::default() };
                let smd = minimize_from(&smd, &problem, &start()).unwrap();
                assert_eq!(bits(smd), bits(sgd), "{schedule:?}");
            }
        }
    }
}

#[test]
fn smd_without_memory_multiplies_successive_gradients() {
    let losses = Losses::logistic(1, 26, DIM);
    let problem = problem(&losses, 0.7);
    let schedule = schedule(4, Updates::Dense);
    let method = Smd { eta0: 0.05, mu: 0.3, lambda: 0.0, schedule, ..Smd::default() };
    let states = states(&method, &problem, &start());
    for (t, batch) in batches(26, &schedule).iter().enumerate() {
        let before = if t == 0 { start() } else { states[t - 1].theta.clone() };
        let loss = losses.batch_gradient(batch, &before);
        let share = batch.len() as f64 / 26.0;
        for i in 0..DIM {
            let g = loss[i] + share * before[i] / 0.49;
            let (eta, v) = (states[t].vectors["gains"][i], states[t].vectors["v"][i]);
            assert!((v + eta * g).abs() < 1e-15, "step {t}: v {v}, −ηg {}", -eta * g);
        }
    }
}

#[test]
fn smd_is_the_code_of_the_slides() {
    let losses = Losses::logistic(1, 26, DIM);
    for batch in [1, 4, 26] {
        for lambda in [0.9, 1.0] {
            let (prior, schedule) = (uneven(DIM, 0.5, 2.0), schedule(batch, Updates::Dense));
            let problem = Problem { objective: &losses, prior: prior.clone(), l1: 0.0 };
            let paper = Smd {
                eta0: 0.05,
                mu: 0.3,
                lambda,
                gain_factor: [0.5, f64::INFINITY],
                gain_floor: 0.0,
                schedule,
            };
            let found = minimize_from(&paper, &problem, &start()).unwrap().theta;
            let run = Run { losses: &losses, prior: &prior, l1: 0.0, schedule, start: start() };
            let off = distance(&found, &run.smd_of_the_slides(0.05, 0.3, lambda));
            assert!(off < 1e-10, "batch {batch}, λ {lambda}: off by {off}");
        }
    }
}

#[test]
fn the_vector_of_smd_is_the_derivative_by_all_gains() {
    let losses = Losses::logistic(1, 26, DIM);
    for updates in [Updates::Dense, Updates::Lazy] {
        for prior in [Prior::gaussian(0.7), uneven(DIM, 0.5, 2.0), Prior::gaussian(f64::INFINITY)] {
            let problem = Problem { objective: &losses, prior, l1: 0.0 };
            let method = |eta0: f64| Smd { eta0, mu: 0.0, schedule: schedule(4, updates), ..Smd::default() };
            let end = |s: f64| minimize_from(&method(0.05 * s.exp()), &problem, &start()).unwrap().theta;
            let h = 1e-5;
            let slope: Vec<f64> =
                end(h).iter().zip(end(-h)).map(|(plus, minus)| (plus - minus) / (2.0 * h)).collect();
            let states = states(&method(0.05), &problem, &start());
            let off = distance(&slope, &states.last().unwrap().vectors["v"]);
            assert!(off < 1e-8, "{updates:?}, {}: off by {off}", problem.prior.sigma);
            assert!(slope.iter().any(|x| x.abs() > 0.1), "{slope:?}");
        }
    }
}

#[test]
fn a_vector_that_left_the_numbers_starts_again() {
    // A slope that never changes, and a curvature without bound.
    let losses = Losses::new(1, vec![vec![0]; 4], |_, _, gradient| {
        gradient[0] += 1.0;
        1.0
    });
    struct Steep(Losses);
    impl Objective for Steep {
        fn dim(&self) -> usize {
            1
        }
        fn examples(&self) -> usize {
            4
        }
        fn provides(&self) -> &'static [Ability] {
            &[Ability::HessVec]
        }
        fn value_grad(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
            self.0.value_grad(theta, gradient)
        }
        fn hess_vec(&self, _: &[f64], _: &[f64], _: &mut [f64], _: &mut [f64]) -> f64 {
            unreachable!("an online method asks for batches")
        }
        fn touched(&self, batch: &[u32], touched: &mut Touched) {
            self.0.touched(batch, touched);
        }
        fn batch_grad(&self, batch: &[u32], theta: &[f64], touched: &Touched, g: &mut Vec<f64>) -> f64 {
            self.0.batch_grad(batch, theta, touched, g)
        }
        fn batch_hess_vec(
            &self,
            batch: &[u32],
            [theta, v]: [&[f64]; 2],
            touched: &Touched,
            gradient: &mut Vec<f64>,
            hess_vec: &mut Vec<f64>,
        ) -> f64 {
            *hess_vec = vec![if v[0] == 0.0 { 0.0 } else { f64::INFINITY }];
            self.batch_grad(batch, theta, touched, gradient)
        }
    }
    let steep = Steep(losses);
    let problem = Problem { objective: &steep, prior: Prior::gaussian(f64::INFINITY), l1: 0.0 };
    let method = Smd { eta0: 0.1, mu: 0.0, schedule: schedule(1, Updates::Lazy), ..Smd::default() };
    let states = states(&method, &problem, &[0.0]);
    // v is 0, then −η, then infinite: every other step halves the gain, and is told.
    struct Resets(Vec<(f64, usize)>);
    impl Watch for Resets {
        fn step(&mut self, _: &Progress, _: &dyn Fn() -> State) -> crfkit::Result<Control> {
            Ok(Control::Continue)
        }
        fn reset(&mut self, passes: f64, weights: usize) -> crfkit::Result<()> {
            self.0.push((passes, weights));
            Ok(())
        }
    }
    let mut resets = Resets(Vec::new());
    method.minimize(&problem, State::start(vec![0.0]), &mut resets).unwrap();
    let examples = problem.objective.examples() as f64;
    assert_eq!(resets.0.len(), states.len() / 2);
    assert_eq!(resets.0[..2], [(2.0 / examples, 1), (4.0 / examples, 1)]);
    let gains: Vec<f64> = states.iter().map(|state| state.vectors["gains"][0]).collect();
    assert_eq!(gains[..5], [0.1, 0.05, 0.05, 0.025, 0.025]);
    assert!(states.iter().all(|state| state.vectors["v"][0].is_finite()));
}

#[test]
fn psa_multiplies_gains_by_factors_between_its_bounds() {
    let losses = Losses::logistic(1, 26, DIM);
    let schedule = Schedule { gradient: BatchGradient::Mean, passes: 20, ..schedule(1, Updates::Dense) };
    let method = Psa { period: 3, schedule, ..Psa::default() };
    let states = states(&method, &problem(&losses, 0.7), &start());
    let mut factors = Vec::new();
    for (t, pair) in states.windows(2).enumerate() {
        for (after, before) in pair[1].vectors["gains"].iter().zip(&pair[0].vectors["gains"]) {
            // pair[1] is the state after t + 2 steps.
            match (t + 2) % 6 {
                0 => factors.push(after / before),
                _ => assert_eq!(after, before, "gains change within a period"),
            }
        }
    }
    let within = |factor: &f64| (0.99 - 1e-15..=0.9999 + 1e-15).contains(factor);
    assert!(factors.iter().all(within), "{factors:?}");
    // Both bounds and what lies between.
    for wanted in [0.99, 0.9999] {
        assert!(factors.iter().any(|factor| (factor - wanted).abs() < 1e-12), "none is {wanted}");
    }
    assert!(factors.iter().any(|factor| (0.991..0.9989).contains(factor)));
}

#[test]
fn psa_reads_the_rate_of_a_quadratic() {
    // ½hθ² from 1 with gain η: θ_t = (1 − ηh)^t, so γ = (1 − ηh)^N.
    let (kappa, alpha, beta) = (0.9, 0.9999, 0.99);
    for (h, period) in [(0.01, 10), (1.0, 3), (5.0, 2), (16.0, 3), (19.8, 3)] {
        let bowl = Losses::new(1, vec![vec![0]; 4], move |_, theta, gradient| {
            gradient[0] += h * theta[0];
            0.5 * h * theta[0] * theta[0]
        });
        let gradient = BatchGradient::Mean;
        let schedule = Schedule { gradient, passes: period.max(2), ..schedule(1, Updates::Lazy) };
        let method = Psa { period, schedule, ..Psa::default() };
        let states = states(&method, &problem(&bowl, f64::INFINITY), &[1.0]);
        let gain = states[2 * period - 1].vectors["gains"][0];
        let gamma = (1.0f64 - 0.1 * h).powi(period as i32);
        let expected = match gamma {
            gamma if gamma >= kappa => alpha,
            gamma if gamma <= -kappa => beta,
            gamma => 0.5 * (alpha + beta) + (alpha - beta) * gamma / (2.0 * kappa),
        };
        assert!((gain / 0.1 - expected).abs() < 1e-12, "h {h}: {} for {expected}", gain / 0.1);
    }
}

/// ½hθ² with the printed rule and N = 1: γ = 1 − ηh, the eigenvalue of the map, so η/(1 − γ) = 1/h, and the next step is Newton's.
#[test]
fn the_printed_gain_of_psa_is_newtons_step_on_a_quadratic() {
    for h in [0.3, 2.0, 15.0] {
        let bowl = Losses::new(1, vec![vec![0]; 4], move |_, theta, gradient| {
            gradient[0] += h * theta[0];
            0.5 * h * theta[0] * theta[0]
        });
        let schedule = Schedule { gradient: BatchGradient::Mean, passes: 1, ..schedule(1, Updates::Lazy) };
        let (gain_factor, gain_range) = ([1e-3, f64::INFINITY], [1e-3, 1e3]);
        let adaptation = Adaptation::Printed;
        let method = Psa { adaptation, gain_factor, gain_range, period: 1, schedule, ..Psa::default() };
        let states = states(&method, &problem(&bowl, f64::INFINITY), &[1.0]);
        let gain = states[1].vectors["gains"][0];
        assert!((gain * h - 1.0).abs() < 1e-9, "h {h}: {gain}");
        assert!(states[2].theta[0].abs() < 1e-9, "h {h}: {}", states[2].theta[0]);
    }
}

/// A weight that moves by equal steps has γ = 1 and one that accelerates has more: the largest factor. Gains stay within their range.
#[test]
fn printed_gains_grow_and_fall_within_their_limits() {
    // From 1 down a slope: γ = 1. On a hill −½hθ²: γ = 1 + ηh.
    for hill in [0.0, 0.5] {
        let slope = Losses::new(1, vec![vec![0]; 30], move |_, theta, gradient| {
            gradient[0] += 1.0 - hill * theta[0];
            theta[0] - 0.5 * hill * theta[0] * theta[0] + 1e9
        });
        let schedule = Schedule { gradient: BatchGradient::Mean, passes: 2, ..schedule(1, Updates::Lazy) };
        let (gain_factor, gain_range) = ([0.5, 1.5], [0.1, 3.0]);
        let adaptation = Adaptation::Printed;
        let method = Psa { adaptation, gain_factor, gain_range, period: 2, schedule, ..Psa::default() };
        let states = states(&method, &problem(&slope, f64::INFINITY), &[1.0]);
        let gain = |step: usize| states[step - 1].vectors["gains"][0];
        let found = [gain(3), gain(4), gain(8), gain(12), gain(40)];
        let expected = [0.1, 0.15, 0.225, 0.3, 0.3];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "hill {hill}: {found:?}");
    }
    // Steps that overshoot ever further: γ < −1, and the factor is the smallest one.
    let bowl = Losses::new(1, vec![vec![0]; 30], |_, theta, gradient| {
        gradient[0] += 30.0 * theta[0];
        15.0 * theta[0] * theta[0]
    });
    let schedule = Schedule { gradient: BatchGradient::Mean, passes: 1, ..schedule(1, Updates::Lazy) };
    let adaptation = Adaptation::Printed;
    let method = Psa { adaptation, gain_factor: [0.5, 1.5], period: 1, schedule, ..Psa::default() };
    let states = states(&method, &problem(&bowl, f64::INFINITY), &[1.0]);
    assert_eq!(states[1].vectors["gains"][0], 0.05);
}

#[test]
fn psa_with_factors_of_one_is_sgd() {
    let losses = Losses::logistic(1, 26, DIM);
    let prior = uneven(DIM, 0.5, 2.0);
    let problem = Problem { objective: &losses, prior, l1: 0.0 };
    for batch in [1, 13] {
        let dense = Schedule { gradient: BatchGradient::Mean, passes: 20, ..schedule(batch, Updates::Dense) };
        let run = |method: &dyn Optimizer| minimize_from(method, &problem, &start()).unwrap();
        let sgd = run(&Sgd::fixed(Some(0.1), dense));
        for adaptation in [Adaptation::Shrinking, Adaptation::Printed] {
            let gain_factor = [1.0; 2];
            let psa =
                |schedule| Psa { adaptation, alpha: 1.0, beta: 1.0, gain_factor, schedule, ..Psa::default() };
            let lazy = run(&psa(Schedule { updates: Updates::Lazy, ..dense }));
            assert!(distance(&lazy.theta, &sgd.theta) < 1e-12);
            assert_eq!(bits(run(&psa(dense))), bits(run(&Sgd::fixed(Some(0.1), dense))));
        }
    }
}

#[test]
fn the_mean_is_the_sum_over_the_batch_size() {
    let losses = Losses::logistic(1, 24, DIM);
    for updates in [Updates::Dense, Updates::Lazy] {
        // Prior included; so a step with the sum and a gain over b is the same step.
        let problem = Problem { objective: &losses, prior: uneven(DIM, 0.5, 2.0), l1: 0.0 };
        let sum = schedule(8, updates);
        let mean = Schedule { gradient: BatchGradient::Mean, ..sum };
        let run = |method: &dyn Optimizer| minimize_from(method, &problem, &start()).unwrap().theta;
        let gains: [fn(Option<f64>, Schedule) -> Sgd; 2] = [Sgd::fixed, Sgd::annealed];
        for sgd in gains {
            let off = distance(&run(&sgd(Some(0.4), mean)), &run(&sgd(Some(0.05), sum)));
            assert!(off < 1e-12, "{updates:?}: off by {off}");
        }
    }
}

#[test]
fn batches_add_up_to_the_whole() {
    let losses = Losses::logistic(1, 26, DIM);
    let mut whole = vec![0.0; DIM];
    losses.value_grad(&start(), &mut whole);
    // With so small a gain θ stands still, and a pass of dense steps goes along the whole gradient, prior included.
    let eta0 = 1e-7;
    for batch in [1, 4, 26] {
        let schedule = Schedule { passes: 1, ..schedule(batch, Updates::Lazy) };
        let found =
            minimize_from(&Sgd::fixed(Some(eta0), schedule), &problem(&losses, 0.7), &start()).unwrap();
        for i in 0..DIM {
            let slope = (start()[i] - found.theta[i]) / eta0;
            assert!((slope - whole[i] - start()[i] / 0.49).abs() < 1e-3, "weight {i}: {slope}");
        }
    }
}

#[test]
fn the_perceptron_separates_and_its_average_is_the_mean_of_its_iterates() {
    let losses = Losses::perceptron(5, 60, DIM);
    let free = problem(&losses, f64::INFINITY);
    let lazy = Schedule { passes: 100, ..schedule(1, Updates::Lazy) };
    let end = minimize(&Sgd::fixed(Some(1.0), lazy), &free).theta;
    // No loss at all: no mistakes.
    assert_eq!(losses.value_grad(&end, &mut [0.0; DIM]), 0.0);
    let few = Schedule { passes: 3, ..lazy };
    let average = Sgd { average_from: Some(0.0), ..Sgd::fixed(Some(1.0), few) };
    // Without a prior the weights of a state are the iterate.
    let iterates: Vec<Vec<f64>> =
        states(&average, &free, &[0.0; DIM]).into_iter().map(|state| state.theta).collect();
    let mean: Vec<f64> =
        (0..DIM).map(|i| iterates.iter().map(|x| x[i]).sum::<f64>() / iterates.len() as f64).collect();
    let found = minimize(&average, &free).theta;
    assert!(distance(&found, &mean) < 1e-12);
    assert!(distance(&found, iterates.last().unwrap()) > 0.01, "the average is the last iterate");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let losses = Losses::logistic(1, 26, DIM);
    let (plain, sparse) = (problem(&losses, 1.0), Problem { l1: 0.5, ..problem(&losses, 1.0) });
    let schedule = schedule(4, Updates::Lazy);
    let cases: Vec<(&Problem, Box<dyn Optimizer>, &str)> = vec![
        (&sparse, Box::new(Smd::default()), "adagrad"),
        (&sparse, Box::new(Psa::default()), "adagrad"),
        (&sparse, Box::new(Sgd::averaged(None, schedule)), "`l1`"),
        (&plain, Box::new(Sgd { average_from: Some(-1.0), ..Sgd::default() }), "pass is -1"),
        (&plain, Box::new(Sgd::fixed(Some(0.0), schedule)), "`eta0` is 0"),
        (&plain, Box::new(AdaGrad { eta0: f64::NAN, schedule }), "`eta0` is NaN"),
        (&plain, Box::new(Smd { mu: -0.1, ..Smd::default() }), "`mu` is -0.1"),
        (&plain, Box::new(Smd { lambda: 1.5, ..Smd::default() }), "`lambda` is 1.5"),
        (&plain, Box::new(Smd { gain_factor: [0.0, 2.0], ..Smd::default() }), "`gain_factor` is 0,"),
        (&plain, Box::new(Smd { gain_factor: [0.5, 0.9], ..Smd::default() }), "`gain_factor` is 0.9"),
        (&plain, Box::new(Smd { gain_floor: 2.0, ..Smd::default() }), "`gain_floor` is 2"),
        (&plain, Box::new(Psa { kappa: 1.0, ..Psa::default() }), "`kappa` is 1"),
        (&plain, Box::new(Psa { alpha: 1.1, ..Psa::default() }), "`alpha` is 1.1"),
        (&plain, Box::new(Psa { beta: 0.99999, ..Psa::default() }), "`beta` is"),
        (&plain, Box::new(Psa { period: 0, ..Psa::default() }), "`period` is 0"),
        (&plain, Box::new(Psa { gain_factor: [0.5, f64::NAN], ..Psa::default() }), "`gain_factor` is NaN"),
        (&plain, Box::new(Psa { gain_range: [0.0, 2.0], ..Psa::default() }), "`gain_floor` is 0"),
        (&plain, Box::new(Psa { gain_range: [0.5, 0.9], ..Psa::default() }), "`gain_ceiling` is 0.9"),
        (&plain, Box::new(Adam { beta1: 1.0, ..Adam::default() }), "`beta1` is 1"),
        (&plain, Box::new(Adam { beta1: 0.9, beta2: 0.5, ..Adam::default() }), "`beta2` is 0.5"),
        (&plain, Box::new(Adam { epsilon: 0.0, ..Adam::default() }), "`epsilon` is 0"),
    ];
    for (problem, method, part) in cases {
        let error = minimize_from(&*method, problem, &start()).unwrap_err();
        assert!(matches!(error, Error::Setting(_)), "{error:?}");
        assert!(error.to_string().contains(part), "{error} has no {part}");
    }
    assert_eq!(Smd::default().needs(), [Ability::HessVec]);
}

#[test]
fn smd_that_diverges_says_so() {
    let losses = Losses::least_squares(2, 40, DIM, 10.0, 1.0);
    let literal = Smd { eta0: 2.0, gain_factor: [0.5, f64::INFINITY], gain_floor: 0.0, ..Smd::default() };
    let error = minimize_from(&literal, &problem(&losses, 1.0), &start()).unwrap_err().to_string();
    assert!(error.starts_with("training diverged after "), "{error}");
    assert!(error.contains("`mu`") && error.contains("`gain_factor`"), "{error}");
}

/// One example that is larger than all others together makes the losses so far, scaled to a whole pass, jump when its turn comes. That is no
/// reason to give up.
#[test]
fn auto_keeps_its_gain_where_one_example_is_large() {
    let (examples, dim) = (400, 120);
    let uses = (0..examples).map(|e| vec![e % dim, (7 * e + 3) % dim]).collect();
    let losses = Losses::new(dim, uses, move |e, theta, gradient| {
        let size = if e == 0 { 10.0 * examples as f64 } else { 1.0 };
        let places = [e % dim, (7 * e + 3) % dim];
        let p = 1.0 / (1.0 + (theta[places[0]] + theta[places[1]]).exp());
        places.iter().for_each(|&i| gradient[i] -= size * p);
        -size * (1.0 - p).ln()
    });
    for seed in 1..=60 {
        let online =
            AdaGrad { schedule: Schedule { seed, passes: 2, ..Schedule::default() }, ..AdaGrad::default() };
        let finish = Lbfgs { passes: 4.0, ..Lbfgs::default() };
        let begin = Some(AutoChoice::AdaGrad);
        let auto = Auto { online, finish, begin, tolerance: 0.01, memory_limit: u64::MAX };
        auto.minimize(&problem(&losses, 1.0), State::start(vec![0.0; dim]), &mut NoRestart(seed)).unwrap();
    }
}

/// Hears of no restart.
struct NoRestart(u64);

impl Watch for NoRestart {
    fn step(&mut self, _: &Progress, _: &dyn Fn() -> State) -> crfkit::Result<Control> {
        Ok(Control::Continue)
    }

    fn restarts(&mut self, passes: f64, next: Restart) -> crfkit::Result<()> {
        panic!("seed {}: after {passes} passes, the run begins {next}", self.0)
    }
}
