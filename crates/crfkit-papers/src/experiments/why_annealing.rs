//! Whether ASG reaches the others in smd-crf-2006 figure 4 if t in η₀/t counts passes. Designed after the figure had been run, and keeps its
//! tolerances.

use super::grids::GridTask;
use super::smd_grid_claims::CLAIMS_SHAPES;
use super::smd_grids::{FIGURE_4, LBP, load, method};
use crate::chart::{Chart, Line};
use crate::experiment::{Context, Experiment, Form, Outcome, Part, none};
use crfkit::Result;
use crfkit::loss::Likelihood;
use crfkit::train::{Parameters, Settings};
use serde_json::json;

/// smd-crf-2006 figure 4: ASG with a gain for each pass.
pub const ANNEALING: Experiment = Experiment {
    id: "smd-fig4-annealing",
    row: 110,
    part: Part::Study,
    title: "smd figure 4 by LBP: ASG with η₀/t, where t counts passes instead of steps",
    version: 1,
    needs: &["smd-fig4"],
    review: none,
    tolerance: "those of smd-claims-shapes: the same error is 0.5 points, the same objective 1 %",
    settings: |form| json!({"passes": passes(form), "pass": pass(1, form), "gain": "η₀/t, t the number of the pass"}),
    run: annealing,
    ..FIGURE_4
};

fn passes(form: Form) -> usize {
    form.pick(100, 2)
}

/// One pass of SGD with the gain of pass t, and an order of its own.
fn pass(t: usize, form: Form) -> Settings {
    let sgd = method("SGD", 0, 1, form);
    let eta0 = sgd.parameters.eta0.map(|eta0| eta0 / t as f64);
    Settings { passes: Some(1), seed: t as u64, parameters: Parameters { eta0, ..sgd.parameters }, ..sgd }
}

fn annealing(context: &Context) -> Result<Outcome> {
    let found = context.result("smd-fig4")?.outcome;
    let grids = load(context, false)?;
    let GridTask { task, start, .. } = &grids;
    let mut theta = start.clone();
    let (mut points, mut outcome) = (Vec::new(), Outcome::default());
    for t in 1..=passes(context.form) {
        let curve = task.learn(Likelihood(LBP), &pass(t, context.form), theta, &|_| f64::NAN)?;
        points.push([t as f64, curve.final_objective()]);
        theta = curve.theta;
        if theta.is_empty() {
            break;
        }
    }
    let end = points.last().map_or(f64::NAN, |point| point[1]);
    let error = if theta.is_empty() { f64::NAN } else { task.error(&theta, &LBP) };
    let gains: f64 = (1..=points.len()).map(|t| task.data.len() as f64 / t as f64).sum();
    outcome.show("LBP ASG, gain by pass: objective", "", end);
    outcome.show("LBP ASG, gain by pass: test error", "", error);
    outcome.show("LBP ASG, gain by pass: sum of its gains, in η₀", "", gains);
    let mut of = |what: &str| -> Result<[f64; 4]> {
        let mut all = [f64::NAN; 4];
        for (x, name) in all.iter_mut().zip(["SMD", "SGD", "BFGS", "ASG"]) {
            *x = found.number(&format!("LBP {name}: {what}"))?;
            outcome.show(format!("LBP {name}: {what}, from smd-fig4"), "", *x);
        }
        Ok(all)
    };
    let [mut objectives, mut errors] = [of("objective")?, of("test error")?];
    let [before, before_error] = [objectives[3], errors[3]];
    (objectives[3], errors[3]) = (end, error);
    let range = |all: [f64; 4]| {
        let any = all.iter().any(|x| x.is_nan());
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if any { [f64::NAN; 2] } else { [low, high] }
    };
    let ([low, high], [least, most]) = (range(objectives), range(errors));
    let (objective, test) = (high <= 1.01 * low, most - least <= 0.5);
    // The level of smd-fig4: nine tenths of the way down to the lowest objective.
    let first = points.first().map_or(f64::NAN, |point| point[1]);
    let level = low + 0.1 * (first - low);
    let needed = points.iter().find(|point| point[1] <= level).map_or(f64::INFINITY, |point| point[0]);
    outcome.show("LBP ASG, gain by pass: passes to nine tenths of its decrease", "", needed);
    outcome.claim("LBP: all four end at the same objective", objective);
    outcome.claim("LBP: all four end at the same error", test);
    let text = format!(
        "what t counts in η₀/t. In smd-fig4 it counts steps, as the paper's notation for one step has it, and ASG ends at the objective {before:.0} with an \
         error of {before_error:.2} %. Where it counts passes, the gains of {} passes sum up to {gains:.1} η₀, and ASG ends at {end:.0} and {error:.2} %; BFGS ends at \
         {:.0} and {:.2} %.",
        points.len(),
        objectives[2],
        errors[2]
    );
    let explained: Vec<&str> = [
        (objective, "LBP: all four end at the same objective"),
        (test, "LBP: all four end at the same error"),
    ]
    .into_iter()
    .filter_map(|(holds, claim)| holds.then_some(claim))
    .collect();
    match explained.is_empty() {
        false => outcome.because(CLAIMS_SHAPES.id, &explained, text),
        true => outcome.looked(CLAIMS_SHAPES.id, format!("not {text}")),
    }
    outcome.charts.push(Chart {
        name: "objective".into(),
        title: "LBP: training objective of ASG".into(),
        x: "passes".into(),
        y: "objective".into(),
        log_x: true,
        lines: vec![Line { name: "ASG, gain by pass".into(), points }],
        ..Chart::default()
    });
    Ok(outcome)
}
