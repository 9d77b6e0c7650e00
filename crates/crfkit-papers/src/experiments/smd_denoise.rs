//! smd-crf-2006 section 5.1 on the authors' noisy images that are available: fifty copies of one of the four.

use super::grids::{GridTask, denoise};
use super::reviews;
use super::smd_grid_claims::CLAIMS_SHAPES;
use super::smd_grids::{LBP, MF, at_once, method, near_bfgs};
use crate::corpora::DENOISE;
use crate::experiment::{Context, Experiment, Form, Outcome};
use crfkit::Result;
use crfkit::loss::PartialLikelihood;
use serde_json::{Value, json};

/// smd-crf-2006 section 5.1, on the authors' images.
pub const DENOISE_64: Experiment = Experiment {
    id: "smd-denoise64",
    review: reviews::lbp_beats_mean_field,
    title: "smd section 5.1 on Kumar and Hebert's noisy images: BFGS, SGD, SMD and ASG by LBP, BFGS by MF",
    version: 1,
    data: &[DENOISE],
    needs: &[],
    tolerance: "LBP is better than MF, both are better than logistic regression; SGD and SMD end within 1 % of \
                the objective of BFGS",
    settings,
    run,
    ..CLAIMS_SHAPES
};

/// The number of training images; the others are labelled.
const TRAIN: usize = 40;
const RUNS: [(&str, usize); 5] =
    [("LBP SMD", 0), ("LBP SGD", 0), ("LBP BFGS", 0), ("MF BFGS", 1), ("LBP ASG", 0)];

fn settings(form: Form) -> Value {
    let methods =
        RUNS.map(|(name, criterion)| method(name.split(" ").last().unwrap_or(name), criterion, 1, form));
    json!({"train": TRAIN, "quick": form.pick(None, Some(4)), "methods": methods,
        "inference": {"tolerance": LBP.tolerance, "damping": LBP.damping}})
}

fn run(context: &Context) -> Result<Outcome> {
    let mut images = denoise(context)?;
    let mut test = images.split_off(TRAIN.min(images.len()));
    images.truncate(context.form.pick(usize::MAX, 4));
    test.truncate(context.form.pick(usize::MAX, 2));
    let grids = GridTask::new(&images, test)?;
    let GridTask { task, start, .. } = &grids;
    let error = |theta: &[f64]| task.error(theta, &LBP);
    let mut outcome = Outcome::default();
    let logistic = error(&grids.logistic());
    outcome.show("logistic regression: test error", "", logistic);
    let form = context.form;
    let learn = |name: &str| {
        let (criterion, optimizer) = name.split_once(' ').unwrap_or(("", name));
        match criterion {
            "LBP" => {
                task.learn(PartialLikelihood::new(LBP), &method(optimizer, 0, 1, form), start.clone(), &error)
            }
            _ => {
                task.learn(PartialLikelihood::new(MF), &method(optimizer, 1, 1, form), start.clone(), &error)
            }
        }
    };
    let names = RUNS.map(|(name, _)| name);
    let mut errors = Vec::new();
    for (name, curve) in names.iter().zip(at_once(&names, &learn)?) {
        outcome.show(format!("{name}: test error"), "", curve.final_error());
        outcome.show(format!("{name}: objective"), "", curve.final_objective());
        errors.push(curve.final_error());
    }
    near_bfgs(&mut outcome);
    let (bfgs, mean_field) = (errors[2], errors[3]);
    outcome.claim("both are better than logistic regression", bfgs < logistic && mean_field < logistic);
    outcome.note("All copies share one truth, and two of its pixels have no label: they are summed out and not scored. PL, whose conditionals need every neighbour's label, is not run here for that reason, and there is no second label image to test on.");
    Ok(outcome)
}
