//! pwpl-2007 sections 4.2 and 5: that stochastic gradients can train PWPL as well, which the paper says and does not try.

use super::grids::{GridTask, shapes};
use super::pwpl_text::{NER, names, settings};
use super::smd_grids::LBP;
use super::smd_text::{sgd, smd};
use crate::chart::{Chart, Line};
use crate::corpora::CONLL2003;
use crate::experiment::{Context, Experiment, Form, Outcome};
use crate::graph_learning::GraphTask;
use crfkit::Result;
use crfkit::graph::FactorGraph;
use crfkit::loss::{Loss, OnPieces, Pieces, Pseudolikelihood};
use crfkit::optim::Updates;
use crfkit::train::{Criterion, Method, Parameters, Settings};
use serde_json::json;
use std::time::Instant;

/// Row 60.
pub const STOCHASTIC: Experiment = Experiment {
    id: "pwpl-stochastic",
    row: 60,
    title: "pwpl sections 4.2 and 5: PWPL by AdaGrad, SMD and SGD against L-BFGS, on names and on the pieces of one large picture",
    version: 1,
    data: &[CONLL2003],
    needs: &[],
    tolerance: "names: each comes to within 0.3 points of L-BFGS's end in fewer passes than L-BFGS; picture: with batches of pieces each has \
                after one pass an objective within 1 % of L-BFGS's end, and L-BFGS needs more passes for that",
    inconsistent: None,
    settings: |form| {
        json!({"names": (NER.settings)(form), "pieces": PIECES, "passes": PASSES, "methods": on_names(),
        "picture": {"side": side(form), "noise": NOISE, "seed": 1, "test": TEST_PICTURES}, "methods of the picture": on_picture()})
    },
    run,
};

const PIECES: Pieces = Pieces::SharedUnary;
/// After so many passes the methods are looked at.
const PASSES: [usize; 4] = [1, 2, 4, 8];
/// Standard deviation of the picture's noise.
const NOISE: f64 = 1.0;
const TEST_PICTURES: usize = 4;

fn side(form: Form) -> usize {
    form.pick(256, 16)
}

/// σ² = 10 for all; smd's constants for base NP.
fn on_names() -> [(&'static str, Settings); 4] {
    let with = |name, by: Settings| {
        let Settings { optimizer, parameters, .. } = by;
        let objective = Criterion::PiecewisePseudo;
        (name, Settings { objective, pieces: Some(PIECES), optimizer, parameters, ..settings() })
    };
    [
        ("AdaGrad", Settings { optimizer: Method::Adagrad, ..Settings::default() }),
        ("SMD", smd(0.1, 8, 1)),
        ("SGD", sgd(0.1, 8)),
        (LBFGS, settings()),
    ]
    .map(|(name, by)| with(name, by))
}

const LBFGS: &str = "L-BFGS";

/// Four weights, which every piece touches: gains a tenth of those on text.
fn on_picture() -> [(&'static str, Settings); 4] {
    on_names().map(|(name, mut settings)| {
        let given = &mut settings.parameters;
        match settings.optimizer {
            Method::Smd => *given = Parameters { mu: Some(0.1), lambda: Some(0.9), ..online() },
            Method::Sgd => *given = online(),
            Method::Adagrad => given.updates = Some(Updates::Dense),
            _ => {}
        }
        (name, settings)
    })
}

fn online() -> Parameters {
    Parameters { batch: Some(8), eta0: Some(0.01), updates: Some(Updates::Dense), ..Parameters::default() }
}

fn run(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    chains(context, &mut outcome)?;
    picture(context, &mut outcome)?;
    outcome.note(
        "The paper tries no stochastic method. Its other remark, that it is unclear how to apply one where all data are one graph, is met by \
         pieces as examples: PWPL is a sum over pieces, so a batch is some of them.",
    );
    Ok(outcome)
}

/// Shows what a run has come to.
fn moment(outcome: &mut Outcome, name: &str, at: &str, [objective, score]: [f64; 2], measure: &str) {
    outcome.show(format!("{name}, {at}: objective"), "", objective);
    outcome.show(format!("{name}, {at}: {measure}"), "", score);
}

fn after(passes: usize) -> String {
    format!("{passes} {}", if passes == 1 { "pass" } else { "passes" })
}

fn chains(context: &Context, outcome: &mut Outcome) -> Result<()> {
    let task = names(context)?;
    let mut curves = Vec::new();
    for (name, settings) in on_names() {
        (context.say)(&format!("names, {name}"));
        let label = format!("names, {name}");
        let online = name != LBFGS;
        for passes in PASSES {
            let curve = task.learn(&Settings { passes: Some(passes), ..settings.clone() }, &[], None)?;
            let objective =
                if curve.theta.is_empty() { f64::NAN } else { task.objective(&settings, &curve.theta)? };
            moment(outcome, &label, &after(passes), [objective, curve.final_f1()], "F1");
            if online && passes == PASSES[PASSES.len() - 1] {
                let seconds = curve.last().map_or(f64::NAN, |point| point.seconds);
                outcome.show(format!("{label}, {}: seconds", after(passes)), "", seconds);
                curves.push((name, curve));
            }
        }
        if !online {
            let limit = context.form.pick(settings.passes, Some(5));
            let curve = task.learn(&Settings { passes: limit, ..settings.clone() }, &[], None)?;
            let objective = task.objective(&settings, &curve.theta)?;
            moment(outcome, &label, "at its end", [objective, curve.final_f1()], "F1");
            let [passes, seconds] = curve.last().map_or([f64::NAN; 2], |point| [point.passes, point.seconds]);
            outcome.show(format!("{label}, at its end: passes"), "", passes);
            outcome.show(format!("{label}, at its end: seconds"), "", seconds);
            curves.push((name, curve));
        }
    }
    let Some((_, batch)) = curves.last() else { return Ok(()) };
    let near = batch.final_f1() - 0.3;
    for (name, curve) in &curves {
        outcome.show(
            format!("names, {name}: passes to within 0.3 points of L-BFGS's end"),
            "",
            curve.passes_to(near),
        );
        outcome.show(
            format!("names, {name}: seconds to within 0.3 points of L-BFGS's end"),
            "",
            curve.seconds_to(near),
        );
        if *name != LBFGS {
            outcome.claim(
                format!(
                    "names: {name} comes to within 0.3 points of L-BFGS's end in fewer passes than L-BFGS"
                ),
                curve.passes_to(near) < batch.passes_to(near),
            );
        }
    }
    outcome.charts.push(Chart {
        name: "names".into(),
        title: "PWPL on names: F-score on the test set".into(),
        x: "passes".into(),
        y: "F1, %".into(),
        log_x: true,
        lines: curves.iter().map(|(name, curve)| curve.line(name)).collect(),
        ..Chart::default()
    });
    Ok(())
}

/// Objective, error and passes of a run on the picture, and its seconds.
fn fit<L: Loss<Graph = FactorGraph>>(task: &GraphTask, loss: L, settings: &Settings) -> Result<[f64; 4]> {
    let start = Instant::now();
    let curve = task.learn(loss, settings, vec![0.0; task.features.dim()], &|_| f64::NAN)?;
    let seconds = start.elapsed().as_secs_f64();
    let error = if curve.theta.is_empty() { f64::NAN } else { task.error(&curve.theta, &LBP) };
    let passes = curve.error.last().map_or(f64::NAN, |point| point[0]);
    Ok([curve.final_objective(), error, passes, seconds])
}

fn picture(context: &Context, outcome: &mut Outcome) -> Result<()> {
    let mut images = shapes(1, 1 + TEST_PICTURES, side(context.form), NOISE);
    let test = images.split_off(1);
    let whole = GridTask::new(&images, test)?.task;
    let pieces = GraphTask {
        data: whole.data.split(PIECES)?,
        test: whole.test.clone(),
        features: whole.features.clone(),
    };
    outcome.show("picture: pixels", "", images[0].labels.len() as f64);
    outcome.show("picture: pieces", "", pieces.data.len() as f64);
    let loss = || OnPieces { pieces: PIECES, loss: Pseudolikelihood::<FactorGraph>::default() };
    let mut found = Vec::new();
    for (name, settings) in on_picture() {
        (context.say)(&format!("picture, {name}"));
        let label = match name {
            LBFGS => format!("picture, {name}"),
            _ => format!("picture, {name} on batches of pieces"),
        };
        let mut line = Vec::new();
        let ends = PASSES.map(Some).into_iter().chain((name == LBFGS).then_some(None));
        for end in ends {
            let settings = Settings { passes: end, ..settings.clone() };
            let [objective, error, passes, seconds] = match name {
                LBFGS => fit(&whole, loss(), &settings)?,
                _ => fit(&pieces, Pseudolikelihood::default(), &settings)?,
            };
            let at = end.map_or_else(|| "at its end".into(), after);
            moment(outcome, &label, &at, [objective, error], "test error");
            line.push([passes, objective]);
            if end.is_none_or(|passes| passes == PASSES[PASSES.len() - 1]) {
                outcome.show(format!("{label}, {at}: seconds"), "", seconds);
            }
            if end.is_none() {
                outcome.show(format!("{label}, {at}: passes"), "", passes);
            }
        }
        found.push(Line { name: name.into(), points: line });
    }
    (context.say)("picture, AdaGrad on the whole");
    let (_, adagrad) = &on_picture()[0];
    let last = PASSES[PASSES.len() - 1];
    let [objective, error, ..] = fit(&whole, loss(), &Settings { passes: Some(last), ..adagrad.clone() })?;
    moment(
        outcome,
        "picture, AdaGrad, the picture as one batch",
        &after(last),
        [objective, error],
        "test error",
    );
    let Some(batch) = found.last() else { return Ok(()) };
    let end = batch.points.last().map_or(f64::NAN, |point| point[1]);
    let near = |line: &Line| line.points[0][1] <= 1.01 * end;
    for line in &found[..found.len() - 1] {
        let text =
            format!("picture: after one pass over its pieces {} is within 1 % of L-BFGS's end", line.name);
        outcome.claim(text, near(line));
    }
    outcome.claim("picture: L-BFGS is not within 1 % of it after one pass", !near(batch));
    outcome.charts.push(Chart {
        name: "picture".into(),
        title: "PWPL on the pieces of one picture: objective".into(),
        x: "passes".into(),
        y: "objective".into(),
        log_x: true,
        log_y: true,
        lines: found,
        ..Chart::default()
    });
    Ok(())
}
