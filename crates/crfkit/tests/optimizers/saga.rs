//! SAGA: its blocks, what it stores, and the L1 penalty.

use crate::corpora::attribute_corpus;
use crate::finite_sum::{crf, exact, prior};
use crate::objectives::{Look, distance, minimize, total};
use crfkit::infer::ForwardBackward;
use crfkit::loss::Likelihood;
use crfkit::math::random::Random;
use crfkit::optim::{
    Control, Mean, Objective, Optimizer, Prior, Problem, Progress, Saga, State, Stop, Touched,
};
use crfkit::risk::Risk;
use crfkit::train::{self, Method, Settings, TrainOptions};

/// Blocks of a few examples give the gradients of their examples, row by row.
#[test]
fn residuals_of_blocks_are_their_gradients() {
    for attributes in [false, true] {
        let crf = crf(attributes, 25);
        let mut rng = Random::new(6);
        let theta: Vec<f64> = (0..crf.dim()).map(|_| rng.uniform() - 0.5).collect();
        let blocks = crf.blocks(20, 1, 3).unwrap();
        let mut worker = blocks.worker();
        let mut seen = Vec::new();
        assert!(blocks.len() > 3 && blocks.len() < 25, "{} blocks", blocks.len());
        for block in 0..blocks.len() {
            let examples = blocks.examples(block);
            seen.extend_from_slice(examples);
            let (mut touched, mut gradient) = (Touched::default(), Vec::new());
            crf.touched(examples, &mut touched);
            let loss = crf.batch_grad(examples, &theta, &touched, &mut gradient);
            let mut expected = vec![0.0; crf.dim()];
            touched.weights().zip(&gradient).for_each(|(i, g)| expected[i] = *g);
            let mut residuals = vec![0.0; blocks.size(block)];
            assert!((worker.residuals(block, &theta, &mut residuals) - loss).abs() < 1e-9);
            let (mut rows, mut values, mut found) = (Vec::new(), Vec::new(), vec![0.0; crf.dim()]);
            worker.project(block, &residuals, &mut rows, &mut values);
            let mut visited = Vec::new();
            blocks.for_each_row(block, &mut |row, uses| {
                assert!(uses > 0.0);
                visited.push(row);
            });
            assert_eq!(visited, rows);
            for row in rows {
                found[row.weights()].copy_from_slice(&values[row.place()]);
            }
            assert!(distance(&found, &expected) < 1e-12, "block {block}");
            blocks.for_each_example(block, &|_| 1.0, &mut |weight, end, singles| {
                assert!(weight > 0.0 && end <= blocks.size(block) && !singles.is_empty());
                for (single, reach) in singles {
                    // The gold label is where residuals are negative: they sum to 0.
                    let table = single.start as usize..(single.start + single.labels) as usize;
                    let sum: f64 = residuals[table.clone()].iter().sum();
                    assert!(sum.abs() < 1e-12 && residuals[table][single.gold as usize] <= 0.0);
                    assert!(*reach >= 0.0);
                }
            });
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..crf.examples() as u32).collect::<Vec<_>>());
    }
}

/// The value alone is that of a pass with the gradient, whether or not such a pass came before.
#[test]
fn the_value_alone_is_that_of_a_pass() {
    for attributes in [false, true] {
        let crf = crf(attributes, 25);
        let mut rng = Random::new(6);
        let theta: Vec<f64> = (0..crf.dim()).map(|_| rng.uniform() - 0.5).collect();
        let before = crf.value_checked(&theta);
        let value = crf.value_grad(&theta, &mut vec![0.0; crf.dim()]);
        let after = crf.value_checked(&theta);
        assert_eq!([before.1, after.1], [0, 0]);
        assert!((before.0 - value).abs() < 1e-10 * value && after.0 == value, "{before:?} {value}");
    }
}

/// What SAGA stores is exactly what its gradient is made of, whatever is too small to be stored; and a limit on its memory
/// is kept.
#[test]
fn the_drift_of_saga_is_the_gradient_of_what_it_stores() {
    let crf = crf(true, 40);
    let problem = Problem { objective: &crf, prior: prior(&crf), l1: 0.0 };
    let blocks = crf.blocks(250, 800, 1).unwrap();
    let best = total(&problem, &minimize(&exact(), &problem).theta);
    for memory_limit in [u64::MAX, 5000] {
        let mut most = 0;
        let mut look = Look(|_: &Progress, state: &dyn Fn() -> State| {
            let state = state();
            let [stored, at, values] = ["stored", "stored_at", "residuals"].map(|name| &state.vectors[name]);
            let (mut sum, mut start) = (vec![0.0; crf.dim()], 0);
            let mut worker = blocks.worker();
            for (block, stored) in stored.iter().enumerate() {
                let mut residuals = vec![0.0; blocks.size(block)];
                for k in start..start + *stored as usize {
                    residuals[at[k] as usize] = values[k];
                }
                start += *stored as usize;
                let (mut rows, mut values) = (Vec::new(), Vec::new());
                worker.project(block, &residuals, &mut rows, &mut values);
                for row in rows {
                    sum[row.weights()].iter_mut().zip(&values[row.place()]).for_each(|(sum, x)| *sum += x);
                }
            }
            assert!(distance(&state.vectors["drift"], &sum) < 1e-10);
            most = most.max(5 * at.len());
            Control::Continue
        });
        let start = State::start(vec![0.0; crf.dim()]);
        let method = Saga { passes: 20.0, tolerance: 1e-2, memory_limit, ..Saga::default() };
        let found = method.minimize(&problem, start, &mut look).unwrap();
        let left = total(&problem, &found.theta) / best - 1.0;
        match memory_limit {
            u64::MAX => assert!(most > 6_000 && left < 0.01, "{most} bytes, {left} left"),
            limit => assert!(most <= limit as usize && left < 0.2, "{most} bytes, {left} left"),
        }
    }
}

#[test]
fn saga_finds_the_optimum_under_an_l1_penalty() {
    for attributes in [false, true] {
        let crf = crf(attributes, 30);
        for (sigma, l1) in [(1.0, 0.05), (2.2, 0.3)] {
            let prior = Prior { mean: Mean::Value(0.0), sigma, sigma_pairs: sigma, ..prior(&crf) };
            let problem = Problem { objective: &crf, prior, l1 };
            let best = minimize(&exact(), &problem).theta;
            let found = minimize(&Saga { tolerance: 1e-8, passes: 300.0, ..Saga::default() }, &problem).theta;
            let left = total(&problem, &found) / total(&problem, &best) - 1.0;
            assert!(left < 1e-6, "σ {sigma}, l1 {l1}: {left} left");
            let zeros = |theta: &[f64]| theta.iter().filter(|x| **x == 0.0).count();
            let (here, there) = (zeros(&found), zeros(&best));
            assert!(
                here > 0 && here.abs_diff(there) <= 2 + there / 10,
                "{here} zeros, {there} at the optimum"
            );
        }
    }
}

/// A run that starts from good weights stays near them: at the optimum one pass shows that there is nothing to gain, and from the optimum
/// of another prior no pass leads back to where a run from 0 would be.
#[test]
fn saga_does_not_forget_good_weights() {
    let crf = crf(false, 40);
    for l1 in [0.0, 0.1] {
        let problem = Problem { objective: &crf, prior: prior(&crf), l1 };
        let best = minimize(&exact(), &problem).theta;
        let method = Saga { passes: 20.0, tolerance: 1e-3, ..Saga::default() };
        let mut nothing = Look(|_: &Progress, _: &dyn Fn() -> State| Control::Continue);
        let found = method.minimize(&problem, State::start(best.clone()), &mut nothing).unwrap();
        assert_eq!((found.passes, found.theta), (1.0, best.clone()), "l1 {l1}");
        let prior = Prior { sigma: 2.0 * problem.prior.sigma, ..problem.prior.clone() };
        let other = Problem { objective: &crf, prior, l1 };
        let start = total(&other, &best);
        let mut worst: f64 = 0.0;
        let mut look = Look(|progress: &Progress, _: &dyn Fn() -> State| {
            worst = worst.max(progress.theta.map_or(0.0, |theta| total(&other, theta)));
            Control::Continue
        });
        method.minimize(&other, State::start(best), &mut look).unwrap();
        assert!(worst <= 1.001 * start, "l1 {l1}: {worst} above {start}");
    }
}

/// Series of tokens with two numbers each, and with attributes that all of them have. The label changes every 20 tokens.
fn series(sequences: usize, tokens: usize, constants: usize) -> String {
    let mut text = String::new();
    for t in 0..sequences * tokens {
        let label = t % tokens / 20 % 4;
        let (angle, noise) = (std::f64::consts::FRAC_PI_2 * label as f64, t as f64 + 1.0);
        let x = angle.cos() + 0.7 * (12.9898 * noise).sin();
        let z = angle.sin() + 0.7 * (78.233 * noise).sin();
        text += &format!("L{label}\tx:{x:.3}\tz:{z:.3}");
        (0..constants).for_each(|k| text += &format!("\tb{k}"));
        text += if (t + 1) % tokens == 0 { "\n\n" } else { "\n" };
    }
    text
}

/// Long sequences make the first steps far too long. Then weights that are far from the optimum may look settled, and steps have been
/// shortened several times: neither may end the run.
#[test]
fn auto_is_not_deceived_by_steps_that_were_too_long() {
    for (sequences, tokens, constants) in [(1, 1000, 20), (2, 500, 20), (40, 100, 1)] {
        let end = |settings: Settings| {
            let corpus = attribute_corpus(&series(sequences, tokens, constants), 1);
            let features = train::features(&corpus, &settings);
            let options = TrainOptions { threads: 1, ..TrainOptions::default() };
            train::train(corpus, features, &settings, options, &mut ()).unwrap().objective
        };
        let best = end(Settings { optimizer: Method::Lbfgs, ..Settings::default() });
        let left = end(Settings::default()) / best - 1.0;
        assert!(left < 0.02, "{sequences} × {tokens}: {left} above the optimum");
    }
}

/// Sentences whose words have a rare and many frequent features that occur together. The last sentence is a long one of another kind: every
/// word of it has a label that is rare elsewhere.
fn sentences(number: usize, constants: usize, odd: usize) -> String {
    let (mut random, mut text) = (Random::new(5), String::new());
    let mut word = |text: &mut String, label: usize| {
        let seen = if random.below(10) == 0 { random.below(5) } else { label };
        *text += &format!("L{label}\tword={}-{}\tshape={seen}", seen, random.below(400));
        (0..constants).for_each(|k| *text += &format!("\tb{k}"));
        text.push('\n');
    };
    for n in 0..number {
        for t in 0..15 {
            let label = [0, 0, 0, 1, 2, 0, 3][(n + t / 2) % 7];
            word(&mut text, label);
        }
        text.push('\n');
    }
    (0..odd).for_each(|_| word(&mut text, 4));
    text.push('\n');
    text
}

/// No pass is far above the one before it, and few passes come near the optimum, although many features say the same and one sentence
/// differs from all others.
#[test]
fn features_that_occur_together_and_odd_sentences_do_no_harm() {
    for (constants, odd) in [(0, 0), (25, 0), (5, 1500)] {
        let corpus = attribute_corpus(&sentences(600, constants, odd), 1);
        let settings = Settings::default();
        let features = train::features(&corpus, &settings);
        let crf = Risk::new(Likelihood(ForwardBackward), features, corpus.data, 1).unwrap();
        let problem = Problem { objective: &crf, prior: Prior::gaussian(1.0), l1: 0.0 };
        let best = total(&problem, &minimize(&exact(), &problem).theta);
        let mut last = f64::MAX;
        let mut look = Look(|progress: &Progress, _: &dyn Fn() -> State| {
            if let Some(theta) = progress.theta {
                let now = total(&problem, theta);
                assert!(now < 1.1 * last, "{constants} and {odd}: {now} after {last}");
                last = now;
            }
            Control::Continue
        });
        let method = Saga { passes: 25.0, tolerance: 1e-2, ..Saga::default() };
        let found = method.minimize(&problem, State::start(vec![0.0; crf.dim()]), &mut look).unwrap();
        let left = total(&problem, &found.theta) / best - 1.0;
        assert!(
            found.stop == Stop::Gap && left < 0.01,
            "{constants} and {odd}: {left} left after {} passes",
            found.passes
        );
    }
}
