//! Why results of smd-crf-2006 section 4 differ here: the suspected cause is removed, and the figure is run again.
//! These experiments were designed after the figures had been run, and keep their tolerances.

use super::slopes::objective;
use super::smd_text::{FIGURE_1, FIGURE_2, PASSES, PERMUTATIONS, figure, methods, sgd, smd, token_level};
use super::text_tasks::{TextTask, passes};
use crate::experiment::{Context, Experiment, Form, Outcome, Part};
use crate::learning::Task;
use crfkit::Result;
use crfkit::math::random::Random;
use crfkit::math::vector::norm;
use crfkit::optim::Touched;
use crfkit::train::{Method, Parameters, Settings};
use serde_json::json;

/// smd-crf-2006 figure 1 with other features.
pub const FEATURES: Experiment = Experiment {
    id: "smd-fig1-features",
    part: Part::Study,
    title: "smd figure 1 with fewer features: without triples of parts of speech",
    tolerance: "that of smd-fig1: final F-scores 0.6 points",
    settings: |form| json!({"left out": TRIPLES, "methods": methods(TextTask::BaseNp, form)}),
    run: features,
    ..FIGURE_1
};
/// smd-crf-2006 figure 2 with smaller steps.
pub const STEPS: Experiment = Experiment {
    id: "smd-fig2-steps",
    review: review_steps,
    part: Part::Study,
    title: "smd figure 2 with smaller steps: η₀ = 0.01 and 0.001, and how steep both tasks are",
    needs: &["smd-fig1", "smd-fig2"],
    version: 2,
    tolerance: "those of smd-fig2 and smd-claims2: the order of the methods; `the same` is 0.7 points",
    settings: |form| json!({"methods": small_steps(form), "optimum": saga(form), "steepness": {"batches": BATCHES, "iterations": ITERATIONS, "at": "30 passes of L-BFGS"}}),
    run: steps,
    ..FIGURE_2
};
/// smd-crf-2006 section 4: random permutations with smaller steps.
pub const GAINS: Experiment = Experiment {
    id: "smd-permutations-gains",
    part: Part::Study,
    title: "smd section 4: random permutations with smaller steps",
    needs: &["smd-permutations"],
    tolerance: "that of smd-permutations: F-scores of five seeds after 6 passes differ by at most 0.3",
    settings: |form| json!({"passes": passes(form, 6), "seeds": SEEDS, "eta0": ETAS}),
    run: gains,
    ..PERMUTATIONS
};

/// The templates of the preset `chunking` with three parts of speech.
const TRIPLES: [&str; 3] = ["U20", "U21", "U22"];

fn features(context: &Context) -> Result<Outcome> {
    let task = TextTask::BaseNp;
    let triple = |line: &str| TRIPLES.iter().any(|start| line.starts_with(start));
    let data = task.load_with(context, task.preset(), |line| !triple(line))?;
    let methods = methods(TextTask::BaseNp, context.form);
    let (mut outcome, curves) = figure(context, &data, methods, ("Sha & Pereira", 94.2))?;
    let count = |data: &Task| data.features(&Settings::default()).dim() as f64;
    let [few, all] = [count(&data), count(&TextTask::BaseNp.load(context)?)];
    outcome.show("features", "330731", few);
    outcome.show("features with the triples, in smd-fig1", "330731", all);
    for ((name, curve), paper) in curves.iter().zip([93.6, 93.4, 93.6, 92.7]) {
        outcome.compare(format!("{name}: final F"), paper, curve.final_f1(), 0.6);
    }
    let [end, peak] = [curves[3].1.final_f1(), curves[3].1.best_f1()];
    outcome.compare("CP: peak", 92.9, peak, 0.6);
    outcome.claim("the perceptron ends lowest, below its own peak", {
        end < peak && curves[..3].iter().all(|(_, curve)| end < curve.final_f1())
    });
    let all_within = outcome.numbers.iter().all(|number| number.within != Some(false));
    let text = format!(
        "the features. The paper's 330,731 are not listed; our template has {all}. Without its triples of parts of speech there are {few}, \
         and SMD ends at {:.2}, SGD at {:.2}, BFGS at {:.2}, and the perceptron at {end:.2} after a peak of {peak:.2}. That the \
         paper's template was just this one is not shown.",
        curves[0].1.final_f1(),
        curves[1].1.final_f1(),
        curves[2].1.final_f1()
    );
    match all_within {
        true => outcome.because("smd-fig1", &["CP"], text),
        false => outcome.looked("smd-fig1", format!("not {text}")),
    }
    Ok(outcome)
}

/// SMD and SGD with a tenth and a hundredth of the paper's η₀; figure 2 already has SGD with a tenth.
fn small_steps(form: Form) -> Vec<(&'static str, Settings)> {
    let with = |eta0: f64, settings: Settings| {
        let mut settings = Settings { passes: Some(passes(form, PASSES)), ..settings };
        settings.parameters.eta0 = Some(eta0);
        settings
    };
    vec![
        ("SMD, η₀ = 0.01", with(0.01, smd(0.02, 6, 1))),
        ("SMD, η₀ = 0.001", with(0.001, smd(0.02, 6, 1))),
        ("SGD, η₀ = 0.001", with(0.001, sgd(0.001, 6))),
    ]
}

/// SAGA, which reaches the optimum almost exactly in tens of passes.
fn saga(form: Form) -> Settings {
    let parameters =
        Parameters { tolerance: Some(1e-5), memory_limit: Some(8 << 30), ..Parameters::default() };
    Settings {
        optimizer: Method::Saga,
        parameters,
        passes: Some(passes(form, PASSES)),
        ..Settings::default()
    }
}

/// The number of batches whose curvature is measured, and the steps of the power method for each.
const BATCHES: usize = 31;
const ITERATIONS: usize = 20;

/// The median over batches of the largest eigenvalue of a batch's Hessian, near the optimum. Along its eigenvector a
/// step of SGD multiplies the distance from the batch's optimum by 1 − η λ; beyond η λ = 2 the distance grows.
fn steepness(task: &Task, batch: usize) -> Result<f64> {
    let settings = Settings { optimizer: Method::Lbfgs, passes: Some(30), ..Settings::default() };
    let theta = task.train(&settings)?;
    let objective = objective(&task.corpus, &settings)?;
    let mut random = Random::new(1);
    let (mut touched, mut gradient, mut product) = (Touched::default(), Vec::new(), Vec::new());
    let mut largest = Vec::new();
    for _ in 0..BATCHES {
        let examples: Vec<u32> = (0..batch).map(|_| random.below(objective.examples()) as u32).collect();
        objective.touched(&examples, &mut touched);
        let mut v: Vec<f64> = (0..objective.dim()).map(|_| random.uniform() - 0.5).collect();
        let mut length = norm(&v);
        for _ in 0..ITERATIONS {
            v.iter_mut().for_each(|x| *x /= length);
            objective.batch_hess_vec(&examples, [&theta, &v], &touched, &mut gradient, &mut product);
            length = norm(&product);
            v.fill(0.0);
            touched.scatter(&product, &mut v);
        }
        largest.push(length);
    }
    largest.sort_by(f64::total_cmp);
    Ok(largest[BATCHES / 2])
}

fn steps(context: &Context) -> Result<Outcome> {
    let [figure_1, figure_2] = ["smd-fig1", "smd-fig2"].map(|id| context.result(id));
    let (figure_1, found) = (figure_1?.outcome, figure_2?.outcome);
    let data = TextTask::Nlpba.load(context)?;
    let mut outcome = Outcome::default();
    (context.say)("steepness");
    let steep = [steepness(&TextTask::BaseNp.load(context)?, 8)?, steepness(&data, 6)?].map(|x| 0.1 * x);
    outcome.show("base NP: 0.1 times the largest eigenvalue of a batch's Hessian (median)", "", steep[0]);
    outcome.show("NLPBA: 0.1 times the largest eigenvalue of a batch's Hessian (median)", "", steep[1]);
    let [bfgs, perceptron] = [found.number("BFGS: final F")?, found.number("CP: final F")?];
    outcome.show("BFGS: final F, from smd-fig2", "85.8", bfgs);
    outcome.show("CP: final F, from smd-fig2", "83", perceptron);
    let small_sgd = found.number("SGD, small η₀: final F")?;
    outcome.show("SGD, η₀ = 0.01: final F, from smd-fig2", "85.8, slower", small_sgd);
    let mut curves = Vec::new();
    let mut lines: Vec<_> = found.charts.first().map_or(Vec::new(), |chart| chart.lines.clone());
    for (name, settings) in small_steps(context.form) {
        (context.say)(name);
        let curve = data.learn(&settings, &[], None)?;
        outcome.show(format!("{name}: final F"), "", curve.final_f1());
        outcome.show(format!("{name}: best F"), "", curve.best_f1());
        outcome.show(format!("{name}: passes to the F of BFGS less 0.3"), "", curve.passes_to(bfgs - 0.3));
        token_level(&mut outcome, &data, name, &settings, &curve)?;
        lines.push(curve.line(name));
        curves.push(curve);
    }
    let [smd, slow_smd, sgd] = [0, 1, 2].map(|k| curves[k].final_f1());
    let [smd_passes, sgd_passes] = [0, 2].map(|k| curves[k].passes_to(bfgs - 0.7));
    let bfgs_passes = found.number("BFGS: passes to the F of BFGS less 0.3").unwrap_or(f64::INFINITY);
    outcome.claim("η₀ = 0.01: SMD and BFGS end at the same F", (smd - bfgs).abs() < 0.7);
    outcome.claim("η₀ = 0.01: SMD ends above SGD", smd > small_sgd);
    outcome
        .claim("SMD (0.01) and SGD (0.001) end above the perceptron", smd > perceptron && sgd > perceptron);
    outcome.claim(
        "η₀ = 0.01: SMD gets there in fewer passes than BFGS",
        curves[0].passes_to(bfgs - 0.3) < bfgs_passes,
    );
    outcome.claim("SGD with a smaller η₀ (0.001) is slower than SMD (0.01)", sgd_passes > smd_passes);
    if let Some(chart) = found.charts.first() {
        outcome.charts.push(crate::chart::Chart { lines, ..chart.clone() });
    }
    let swing = |record: &Outcome, name: &str| record.number(name).unwrap_or(f64::NAN);
    let text = format!(
        "the step. η₀ = 0.1 times the largest eigenvalue of a batch's Hessian is {:.1} on base NP and {:.1} on NLPBA with our template (median \
         of {BATCHES} batches; beyond 2 a step overshoots). SGD swings (best F {:.1}, at the end {:.1}; on base NP {:.1} and {:.1}). \
         With η₀ = 0.01 SMD ends at {smd:.2}, BFGS at {bfgs:.2}; with 0.001 SMD at {slow_smd:.2} and SGD, without swings, at {sgd:.2}, above the \
         perceptron's {perceptron:.2}.",
        steep[0],
        steep[1],
        swing(&found, "SGD: best F"),
        swing(&found, "SGD: final F"),
        swing(&figure_1, "SGD: best F"),
        swing(&figure_1, "SGD: final F"),
    );
    match smd > perceptron && sgd > perceptron {
        true => outcome.because("smd-fig2", &["SMD and SGD end above"], text),
        false => outcome.looked("smd-fig2", format!("not {text}")),
    }
    (context.say)("the optimum");
    let optimum = data.learn(&saga(context.form), &[], None)?;
    let [best, above] =
        [&optimum, &curves[0]].map(|curve| data.objective(&Settings::default(), &curve.theta));
    let (best, above) = (best?, above?);
    outcome.show("optimum, by SAGA: F", "", optimum.final_f1());
    outcome.show("optimum, by SAGA: objective", "", best);
    outcome.show("SMD, η₀ = 0.01: objective", "", above);
    Ok(outcome)
}

/// Why SMD ends above BFGS with a smaller step.
fn review_steps(outcome: &mut Outcome) {
    let at = |what: &str| outcome.number(what).unwrap_or(f64::NAN);
    let above = 100.0 * (at("SMD, η₀ = 0.01: objective") / at("optimum, by SAGA: objective") - 1.0);
    let text = format!(
        "the optimum is not where F is largest. SMD (η₀ = 0.01) ends {above:.1} % above the smallest objective, and its F of {:.2} is above that of \
         the optimum, which is {:.2} (by SAGA; BFGS, at {:.2}, has not quite arrived).",
        at("SMD, η₀ = 0.01: final F"),
        at("optimum, by SAGA: F"),
        at("BFGS: final F, from smd-fig2"),
    );
    let slides = format!(
        "the step, as in smd-fig2: with η₀ = 0.01 SMD comes to the F of BFGS less 0.3 in {} passes.",
        at("SMD, η₀ = 0.01: passes to the F of BFGS less 0.3")
    );
    let arrives = at("SMD, η₀ = 0.01: passes to the F of BFGS less 0.3").is_finite();
    let overshoots = above > 0.1 && at("SMD, η₀ = 0.01: final F") > at("optimum, by SAGA: F");
    if arrives {
        outcome.because("slides-learning", &["NLPBA"], slides);
    }
    outcome.show("SMD, η₀ = 0.01: objective, per cent above the optimum", "", above);
    if overshoots {
        outcome.because("smd-fig2-steps", &["SMD and BFGS end"], text);
    }
}

const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];
/// The first gains; the paper uses 0.1.
const ETAS: [f64; 2] = [0.05, 0.02];

fn gains(context: &Context) -> Result<Outcome> {
    let task = TextTask::BaseNp.load(context)?;
    let mut outcome = Outcome::default();
    let spread = |scores: &[f64]| {
        let [low, high] =
            scores.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], &f| [a.min(f), b.max(f)]);
        high - low
    };
    let before = context.result("smd-permutations")?.outcome;
    let large: Vec<f64> =
        SEEDS.iter().map(|seed| before.number(&format!("F of SMD, seed {seed}"))).collect::<Result<_>>()?;
    outcome.show("η₀ = 0.1: range of F, from smd-permutations", "", spread(&large));
    let mut ranges = Vec::new();
    for eta0 in ETAS {
        let mut scores = Vec::new();
        for seed in SEEDS {
            let mut settings = Settings { passes: Some(passes(context.form, 6)), ..smd(0.1, 8, seed) };
            settings.parameters.eta0 = Some(eta0);
            let f = task.learn(&settings, &[], None)?.final_f1();
            outcome.show(format!("η₀ = {eta0}: F of SMD, seed {seed}"), "", f);
            scores.push(f);
        }
        outcome.show(format!("η₀ = {eta0}: range of F"), "", spread(&scores));
        ranges.push(spread(&scores));
    }
    outcome.claim(format!("η₀ = {}: the F-scores differ by at most 0.3", ETAS[1]), ranges[1] <= 0.3);
    let text = format!(
        "the step. With η₀ = 0.1, which the paper tuned for its own features, the order stays visible: F differs by {:.2} after 6 passes. \
         With 0.05 it differs by {:.2}, with 0.02 by {:.2}.",
        spread(&large),
        ranges[0],
        ranges[1]
    );
    match ranges[1] <= 0.3 {
        true => outcome.because("smd-permutations", &["differ"], text),
        false => outcome.looked("smd-permutations", format!("not {text}")),
    }
    Ok(outcome)
}
