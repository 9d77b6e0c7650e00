//! Why results of smd-crf-2006 section 5 differ here: what stops BFGS on the Bethe free energy, steps that are too
//! long for the pseudolikelihood, and noise. These experiments were designed after the figures had been run, and keep
//! their tolerances.

use super::grids::{GridTask, shapes};
use super::smd_grid_claims::CLAIMS_SHAPES;
use super::smd_grids::{FIGURE_5, FIGURE_6, LBP, at_once, load, method, sizes};
use crate::corpora::MANMADE;
use crate::experiment::{Context, Experiment, Form, Outcome, Part};
use crate::graph_learning::GraphCurve;
use crfkit::graph::{FactorGraph, Label};
use crfkit::infer::LoopyBp;
use crfkit::loss::{Likelihood, Pseudolikelihood};
use crfkit::math::vector::{axpy, norm};
use crfkit::optim::{Objective, Prior, Problem, Touched};
use crfkit::risk::Risk;
use crfkit::train::Settings;
use crfkit::{Error, Result};
use serde_json::json;

/// smd-crf-2006 figure 6: what stops BFGS.
pub const JUMPS: Experiment = Experiment {
    id: "smd-fig6-jumps",
    part: Part::Study,
    title: "smd figure 6: the objective of LBP around the weights where BFGS stops, and BFGS from other weights",
    version: 1,
    needs: &["smd-fig6"],
    tolerance: "that of smd-fig6: LBP is better than logistic regression, whatever the method; an objective jumps if a step of 0.0001 changes it \
                ten times as much as the gradient says",
    settings: |form| json!({"steps": STEPS, "passes": form.pick(AGAIN, 2), "settled": {"tolerance": SETTLED.tolerance, "damping": SETTLED.damping}}),
    run: jumps,
    ..FIGURE_6
};
/// smd-crf-2006 figure 5 with shorter steps.
pub const SHORT_STEPS: Experiment = Experiment {
    id: "smd-fig5-steps",
    part: Part::Study,
    title: "smd figure 5 with shorter steps of SMD on PL, and weights at which BFGS was not stopped",
    version: 1,
    data: &[MANMADE],
    needs: &["smd-fig6", "smd-fig6-jumps"],
    tolerance: "that of smd-fig5: the four agree on 90 % of the test sites",
    settings: |form| json!({"SMD": short("SMD", form), "BFGS": short("BFGS", form)}),
    run: short_steps,
    ..FIGURE_5
};
/// smd-crf-2006 section 5.1 with more noise.
pub const NOISE: Experiment = Experiment {
    id: "smd-shapes-noise",
    part: Part::Study,
    title: "smd section 5.1: pseudolikelihood on shapes with more noise",
    version: 1,
    needs: &[],
    tolerance: "PL breaks down where an error is at least the share of the label 1, less 0.5 points, as in smd-claims-shapes",
    settings: |form| json!({"noise": noises(form), "sizes": sizes(form), "PL": NAMES.map(|name| method(name, 2, 1, form)), "LBP": by_lbp(form)}),
    run: noise,
    ..CLAIMS_SHAPES
};

/// Inference until the messages have converged.
const SETTLED: LoopyBp = LoopyBp { damping: 0.5, max_iterations: 3000, tolerance: 1e-9, ..LBP };
/// Lengths of steps along the negative gradient.
const STEPS: [f64; 4] = [1e-2, 1e-3, 1e-4, 1e-5];
/// The number of passes of BFGS when it restarts.
const AGAIN: usize = 40;

/// The loss of each photograph.
fn losses(risk: &Risk<FactorGraph>, theta: &[f64]) -> Vec<f64> {
    let (mut touched, mut gradient) = (Touched::default(), Vec::new());
    let loss = |example| {
        risk.touched(&[example], &mut touched);
        risk.batch_grad(&[example], theta, &touched, &mut gradient)
    };
    (0..risk.examples() as u32).map(loss).collect()
}

fn jumps(context: &Context) -> Result<Outcome> {
    let found = context.result("smd-fig6")?.outcome;
    let weights = |name: &str| {
        let none = || Error::Setting(format!("smd-fig6: {name} by LBP diverged"));
        found.weights.get(&format!("LBP {name}")).cloned().ok_or_else(none)
    };
    let grids = load(context, true)?;
    let task = &grids.task;
    let risk = |engine| Risk::new(Likelihood(engine), task.features.clone(), task.data.clone(), 0);
    let (as_trained, settled) = (risk(LBP)?, risk(SETTLED)?);
    let theta = weights("BFGS")?;
    let mut outcome = Outcome::default();
    let mut jump: f64 = 0.0;
    for (name, risk) in [("as trained", &as_trained), ("settled", &settled)] {
        let problem = Problem { objective: risk, prior: Prior::gaussian(1.0), l1: 0.0 };
        let mut gradient = vec![0.0; theta.len()];
        let here = problem.smooth(&theta, &mut gradient);
        outcome.show(format!("messages {name}: objective where BFGS has stopped"), "", here);
        let slope = norm(&gradient);
        outcome.show(format!("messages {name}: norm of its gradient"), "", slope);
        for step in STEPS {
            for (side, sign) in [("down", -1.0), ("up", 1.0)] {
                let mut there = theta.clone();
                axpy(sign * step / slope, &gradient, &mut there);
                let change = problem.smooth(&there, &mut vec![0.0; theta.len()]) - here;
                let what = format!(
                    "messages {name}: change of the objective, {step} {side} the gradient, over what the gradient says"
                );
                outcome.show(what, "", change / (sign * step * slope));
                if step == 1e-4 {
                    jump = jump.max(change.abs() / (step * slope));
                }
            }
        }
    }
    let pairs: Vec<_> = losses(&as_trained, &theta).into_iter().zip(losses(&settled, &theta)).collect();
    let apart = pairs.iter().map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let several = pairs.iter().filter(|(a, b)| (a - b).abs() > 0.01).count();
    outcome.show("photographs whose loss depends on the damping: two fixed points", "", several as f64);
    outcome.show("largest difference of these losses", "", apart);

    let error = |theta: &[f64]| task.error(theta, &LBP);
    let settings =
        Settings { passes: Some(context.form.pick(AGAIN, 2)), ..method("BFGS", 0, 3, context.form) };
    let start = |name: &str| -> Result<GraphCurve> {
        (context.say)(&format!("BFGS from the weights of {name}"));
        task.learn(Likelihood(LBP), &settings, weights(name)?, &error)
    };
    for name in ["BFGS", "SMD", "SGD"] {
        let curve = start(name)?;
        outcome.show(format!("BFGS from the weights of {name}: objective"), "", curve.final_objective());
        outcome.show(format!("BFGS from the weights of {name}: test error"), "", curve.final_error());
        outcome.weights.insert(format!("LBP BFGS from {name}"), curve.theta);
    }
    let value = |name: &str| outcome.number(&format!("BFGS from the weights of {name}: objective"));
    let wrong = |name: &str| outcome.number(&format!("BFGS from the weights of {name}: test error"));
    let (again, lower, errors) =
        (value("BFGS")?, [value("SMD")?, value("SGD")?], [wrong("SMD")?, wrong("SGD")?]);
    let logistic = found.number("logistic regression: test error")?;
    let [stopped, best] = [found.number("LBP BFGS: objective")?, found.number("LBP SMD: objective")?];
    outcome.claim("the objective jumps where BFGS has stopped", jump >= 10.0);
    outcome.claim(
        "from the weights of SMD and SGD, BFGS ends lower than these",
        lower[0] < best && lower[1] < found.number("LBP SGD: objective")?,
    );
    outcome.claim("and is better than logistic regression", errors.iter().all(|&error| error < logistic));
    let points = match several {
        0 => format!(
            "no photograph has two fixed points there that the damping decides between (losses differ by up to {apart:.2})"
        ),
        _ => format!(
            "in {several} of the photographs the messages have two fixed points whose losses are up to {apart:.1} apart, and which one is found depends on \
             the weights (and on the damping, so the tolerance is not the cause)"
        ),
    };
    let text = format!(
        "the objective of LBP is not continuous. Where BFGS has stopped ({stopped:.0}; SMD finds {best:.0}) a step of 0.0001 along the gradient changes \
         it by {jump:.0} times what the gradient says; {points}. A line search cannot \
         cross such a step up, and refuses points at which a loss is below 0; started there again it stays at {again:.0}. Stochastic methods never look \
         at the value. From the weights of SMD, BFGS goes down to {:.0} with a test error of {:.2} %; logistic regression has {logistic:.2} %.",
        lower[0], errors[0]
    );
    match jump >= 10.0 && lower[0] < best && errors.iter().all(|&error| error < logistic) {
        true => outcome.because("smd-fig6", &["LBP"], text),
        false => outcome.looked("smd-fig6", format!("not only that {text}")),
    }
    Ok(outcome)
}

/// PL with steps per site instead of per batch: η₀ = 0.04 divided by the sites of a photograph; BFGS until it has
/// converged.
fn short(name: &str, form: Form) -> Settings {
    let mut settings = method(name, 2, 3, form);
    settings.passes = Some(form.pick(200, 2));
    if name == "SMD" {
        let eta0 = 0.04 / 384.0;
        settings.parameters.eta0 = Some(eta0);
        settings.parameters.mu = Some(10.0 * eta0);
    }
    settings
}

fn short_steps(context: &Context) -> Result<Outcome> {
    let [figure, jumps] = ["smd-fig6", "smd-fig6-jumps"].map(|id| context.result(id));
    let (figure, jumps) = (figure?.outcome, jumps?.outcome);
    let grids = load(context, true)?;
    let task = &grids.task;
    let error = |theta: &[f64]| task.error(theta, &LBP);
    let (names, form) = (["BFGS", "SMD"], context.form);
    let learn =
        |name: &str| task.learn(Pseudolikelihood::default(), &short(name, form), grids.start.clone(), &error);
    let mut outcome = Outcome::default();
    let mut weights = Vec::new();
    for (name, curve) in names.iter().zip(at_once(&names, &learn)?) {
        let before = |what: &str| figure.number(&format!("PL {name}: {what}")).unwrap_or(f64::NAN);
        outcome.show(format!("PL {name}: objective in smd-fig6"), "", before("objective"));
        outcome.show(format!("PL {name}: objective"), "", curve.final_objective());
        outcome.show(format!("PL {name}: test error"), "", curve.final_error());
        weights.push((format!("{name}, PL"), curve.theta));
    }
    let of = |outcome: &Outcome, name: &str| outcome.weights.get(name).cloned().unwrap_or_default();
    weights.push(("BFGS, LBP (from SMD)".into(), of(&jumps, "LBP BFGS from SMD")));
    weights.push(("SMD, LBP".into(), of(&figure, "LBP SMD")));
    let before = ["LBP BFGS", "PL BFGS", "PL SMD"];
    weights.extend(before.map(|key| (format!("{key} of smd-fig6"), of(&figure, key))));
    let labels: Vec<Vec<Label>> =
        weights.iter().map(|(_, theta)| task.labels(&task.test, theta, &LBP).concat()).collect();
    let share = |which: &[usize]| {
        let sites = labels[0].len();
        let same = (0..sites).filter(|&i| which.iter().all(|&k| labels[k][i] == labels[which[0]][i])).count();
        100.0 * same as f64 / sites as f64
    };
    let names: Vec<&str> = weights.iter().map(|(name, _)| name.as_str()).collect();
    for [a, b] in [[0, 1], [0, 2], [1, 3], [2, 3], [0, 5], [1, 6], [2, 4]] {
        outcome.show(
            format!("sites on which `{}` and `{}` agree, in per cent", names[a], names[b]),
            "",
            share(&[a, b]),
        );
    }
    let (all, before) = (share(&[0, 1, 2, 3]), share(&[4, 3, 5, 6]));
    outcome.show("sites on which the four of smd-fig5 agree, in per cent", "", before);
    outcome.show("sites on which these four agree, in per cent", "", all);
    outcome.claim("the four agree on 90 % of the test sites", all >= 90.0);
    let objective = |outcome: &Outcome, name: &str| outcome.number(&format!("PL {name}: objective"));
    let text = format!(
        "two of the four had not learnt PL, and one was stopped by a jump of LBP (see smd-fig6-jumps). η₀ = 0.04 is too long a step for the sum over the \
         sites of three photographs: SMD ends at the objective {:.0}, and BFGS at {:.0} after 30 passes. With 0.04 for the mean over a photograph's sites \
         SMD comes to {:.0}, BFGS in 200 passes to {:.0}, and the four agree on {all:.1} % of the sites instead of {before:.1} %.",
        objective(&figure, "SMD")?,
        objective(&figure, "BFGS")?,
        objective(&outcome, "SMD")?,
        objective(&outcome, "BFGS")?
    );
    outcome.because("smd-fig5", &["agree"], text);
    Ok(outcome)
}

const NAMES: [&str; 4] = ["SMD", "SGD", "BFGS", "ASG"];

/// Standard deviations of the noise; smd-fig4 uses 0.5.
fn noises(form: Form) -> &'static [f64] {
    form.pick(&[1.0, 1.5], &[1.0])
}

fn by_lbp(form: Form) -> Settings {
    Settings { passes: Some(form.pick(20, 2)), ..method("SGD", 0, 1, form) }
}

fn noise(context: &Context) -> Result<Outcome> {
    let (mut outcome, form) = (Outcome::default(), context.form);
    let mut text = String::from(
        "the noise. How much the paper's images have is not stated; smd-fig4 has a standard deviation of 0.5. With more, a stochastic method with \
         η₀ = 0.04 errs by PL on as many sites as are white, or diverges:",
    );
    let (mut broken, mut others, mut batch) = (false, true, true);
    let mut above = vec![false; NAMES.len()];
    for &sd in noises(form) {
        (context.say)(&format!("noise {sd}"));
        let [train, test, side] = sizes(form);
        let mut images = shapes(1, train + test, side, sd);
        let test = images.split_off(train);
        let grids = GridTask::new(&images, test)?;
        let task = &grids.task;
        let error = |theta: &[f64]| task.error(theta, &LBP);
        let gold = (0..task.test.len()).flat_map(|example| task.test.gold(example));
        let white = 100.0 * gold.clone().filter(|&&y| y == 1).count() as f64 / gold.count() as f64;
        let logistic = error(&grids.logistic());
        outcome.show(format!("noise {sd}: share of the label 1"), "", white);
        outcome.show(format!("noise {sd}, logistic regression: test error"), "", logistic);
        let learn = |name: &str| match name {
            "LBP" => task.learn(Likelihood(LBP), &by_lbp(form), grids.start.clone(), &error),
            _ => task.learn(
                Pseudolikelihood::default(),
                &method(name, 2, 1, form),
                grids.start.clone(),
                &error,
            ),
        };
        let by_lbp = learn("LBP")?.final_error();
        outcome.show(format!("noise {sd}, LBP SGD: test error"), "", by_lbp);
        let mut errors = Vec::new();
        for (name, curve) in NAMES.iter().zip(at_once(&NAMES, &learn)?) {
            outcome.show(format!("noise {sd}, PL {name}: test error"), ">50", curve.final_error());
            errors.push(curve.final_error());
        }
        above.iter_mut().zip(&errors).for_each(|(above, &error)| *above |= error > 50.0);
        let shown =
            |error: f64| if error.is_nan() { "– (it diverged)".into() } else { format!("{error:.1}") };
        broken |=
            [errors[0], errors[1], errors[3]].iter().any(|&error| error.is_nan() || error >= white - 0.5);
        others &= by_lbp < logistic;
        batch &= errors[2] < white / 2.0;
        text += &format!(
            " with {sd} SMD, SGD and ASG err on {}, {} and {} % of the sites (all black would be {white:.1} %), BFGS on {} %, LBP on {by_lbp:.1} %;",
            shown(errors[0]),
            shown(errors[1]),
            shown(errors[3]),
            shown(errors[2])
        );
    }
    if broken && batch {
        text += " so it is the step that breaks PL down: BFGS, which looks for its optimum, errs on less than half of the label 1.";
    }
    outcome.claim("PL with the paper's η₀ = 0.04 breaks down: a stochastic method errs on as many sites as have the label 1", broken);
    outcome.claim("LBP does not: it is better than logistic regression", others);
    // The paper's errors are above 50 %, which black images cannot have.
    let shown: Vec<String> = NAMES
        .iter()
        .zip(above)
        .filter(|(_, above)| *above)
        .map(|(name, _)| format!("PL {name}: test error"))
        .collect();
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    match shown.is_empty() {
        false => outcome.because("smd-claims-shapes", &shown, text),
        true => outcome.looked(
            "smd-claims-shapes",
            format!("{text} Errors above 50 %, as in the paper, are not found with any noise."),
        ),
    }
    Ok(outcome)
}
