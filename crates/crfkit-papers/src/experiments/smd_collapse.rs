//! smd-crf-2006 section 5.1: when the pseudolikelihood breaks down, depending on the image noise and the gain of SGD.

use super::grids::{GridTask, shapes};
use super::smd_grid_claims::CLAIMS_SHAPES;
use super::smd_grids::{LBP, method, sizes};
use crate::chart::{Chart, Line};
use crate::experiment::{Context, Experiment, Form, Outcome, Part};
use crfkit::Result;
use crfkit::loss::Pseudolikelihood;
use crfkit::train::{Parameters, Settings};
use serde_json::json;

/// smd-crf-2006 section 5.1: the collapse of pseudolikelihood.
pub const COLLAPSE: Experiment = Experiment {
    id: "smd-pl-collapse",
    part: Part::Study,
    title: "smd section 5.1: the collapse of pseudolikelihood, by noise and step size",
    version: 1,
    needs: &[],
    tolerance: "it has collapsed where it errs on more sites than logistic regression; with the smallest gain it never does, with the paper's it does \
                for some noise, and no gain is worse with less noise",
    settings: |form| json!({"noise": NOISES, "eta0": GAINS, "sizes": sizes(form), "SGD": sgd(GAINS[0], form)}),
    run: collapse,
    ..CLAIMS_SHAPES
};

/// Standard deviations of the noise; smd-fig4 uses the first.
const NOISES: [f64; 3] = [0.5, 1.0, 1.5];
/// η₀; the first is the paper's.
const GAINS: [f64; 4] = [0.04, 0.01, 0.0025, 0.000_625];

fn sgd(eta0: f64, form: Form) -> Settings {
    let settings = method("SGD", 2, 1, form);
    let parameters = Parameters { eta0: Some(eta0), ..settings.parameters };
    Settings { parameters, ..settings }
}

fn collapse(context: &Context) -> Result<Outcome> {
    let (mut outcome, form) = (Outcome::default(), context.form);
    let (mut lines, mut levels) = (Vec::new(), Vec::new());
    // Whether it has collapsed, by noise, then by gain.
    let mut table = Vec::new();
    for sd in NOISES {
        (context.say)(&format!("noise {sd}"));
        let [train, test, side] = sizes(form);
        let mut images = shapes(1, train + test, side, sd);
        let test = images.split_off(train);
        let grids = GridTask::new(&images, test)?;
        let error = |theta: &[f64]| grids.task.error(theta, &LBP);
        let logistic = error(&grids.logistic());
        outcome.show(format!("noise {sd}, logistic regression: test error"), "", logistic);
        levels.push((format!("noise {sd}, logistic"), logistic));
        let (mut points, mut collapsed) = (Vec::new(), Vec::new());
        for eta0 in GAINS {
            // Only the final state counts.
            let start = grids.start.clone();
            let curve =
                grids.task.learn(Pseudolikelihood::default(), &sgd(eta0, form), start, &|_| f64::NAN)?;
            let wrong = if curve.theta.is_empty() { f64::NAN } else { error(&curve.theta) };
            outcome.show(format!("noise {sd}, η₀ = {eta0}: test error"), "", wrong);
            collapsed.push(wrong.is_nan() || wrong > logistic);
            points.push([eta0, wrong]);
        }
        points.retain(|point| !point[1].is_nan());
        lines.push(Line { name: format!("noise {sd}"), points });
        table.push(collapsed);
    }
    let last = GAINS.len() - 1;
    outcome.claim("with the smallest gain it never collapses", table.iter().all(|by_gain| !by_gain[last]));
    outcome.claim("with the paper's gain it does for some noise", table.iter().any(|by_gain| by_gain[0]));
    let grows = (0..=last).all(|gain| table.windows(2).all(|noise| noise[0][gain] <= noise[1][gain]));
    outcome.claim("a gain that collapses with some noise collapses with more", grows);
    outcome.charts.push(Chart {
        name: "errors".into(),
        title: "Pseudolikelihood by SGD: wrong sites of the test images".into(),
        x: "η₀".into(),
        y: "%".into(),
        log_x: true,
        lines,
        levels,
        ..Chart::default()
    });
    Ok(outcome)
}
