//! Why results of smd-crf-2006 section 5 by mean field differ here: more images for figure 3, more passes for figure 6. Designed after the
//! figures had been run.

use super::grids::{GridTask, shapes};
use super::smd_grids::{FIGURE_4, FIGURE_6, LBP, METHODS, MF, SD, at_once, load, method, sizes};
use crate::experiment::{Context, Experiment, Form, Outcome, Part, none};
use crate::graph_learning::paired;
use crfkit::loss::Likelihood;
use crfkit::train::Settings;
use crfkit::{Error, Result};
use serde_json::json;

/// smd-crf-2006 figure 3 on more images.
pub const IMAGES: Experiment = Experiment {
    id: "smd-fig3-images",
    row: 95,
    part: Part::Study,
    title: "smd figure 3 on more images: whether LBP or MF errs on fewer sites",
    version: 1,
    data: &[],
    needs: &["smd-fig4"],
    review: none,
    tolerance: "MF is not better than LBP by more than two standard errors of the mean difference per image",
    settings: |form| json!({"images": images(form), "seed": 2, "noise": SD, "weights": "those of smd-fig4, BFGS", "decoding": "as in smd-fig3"}),
    run: more_images,
    ..FIGURE_4
};
/// smd-crf-2006 figure 6 with more passes of MF.
pub const MEAN_FIELD: Experiment = Experiment {
    id: "smd-fig6-mf",
    part: Part::Study,
    title: "smd figure 6 by MF with more passes",
    version: 1,
    needs: &["smd-fig6"],
    review: none,
    tolerance: "that of smd-claims-manmade: errors within 1.5 points of each other are similar",
    settings: |form| json!({"methods": METHODS.map(|name| longer(name, form))}),
    run: longer_mean_field,
    ..FIGURE_6
};

/// How many images are labelled; figure 3 has one.
fn images(form: Form) -> usize {
    form.pick(200, 4)
}

fn more_images(context: &Context) -> Result<Outcome> {
    let found = context.result("smd-fig4")?.outcome;
    let side = sizes(context.form)[2];
    let images = shapes(2, images(context.form), side, SD);
    let task = GridTask::new(&images[..1], images.clone())?.task;
    let mut outcome = Outcome::default();
    let mut errors = Vec::new();
    for criterion in ["LBP", "MF"] {
        let none = || Error::Setting(format!("smd-fig4: BFGS by {criterion} diverged"));
        let theta = found.weights.get(&format!("{criterion} BFGS")).ok_or_else(none)?;
        let of = task.errors(theta, &LBP);
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        outcome.show(format!("BFGS, {criterion}: mean error of the images"), "", mean);
        errors.push(of);
    }
    let [less, error] = paired(&errors[0], &errors[1]);
    outcome.show("LBP less MF: mean difference of the errors of an image", "", less);
    outcome.show("LBP less MF: standard error of this mean", "", error);
    outcome.claim("MF is not better than LBP by more than two standard errors", less <= 2.0 * error);
    let text = format!(
        "on {} other images of the same kind the errors of LBP and MF differ by {less:.4} points per image on average, with a standard error of {error:.4}.",
        images.len()
    );
    match [less < -2.0 * error, less <= 2.0 * error] {
        [true, _] => outcome.because(
            "smd-fig3",
            &["the best by LBP"],
            format!("one image is too few: {text} LBP is better."),
        ),
        [_, true] => {
            outcome.looked("smd-fig3", format!("no difference can be seen in either direction: {text}"))
        }
        _ => outcome.looked("smd-fig3", format!("it is not chance: {text}")),
    }
    Ok(outcome)
}

/// A method of figure 6 by MF, with five times the passes.
fn longer(name: &str, form: Form) -> Settings {
    Settings { passes: Some(form.pick(150, 2)), ..method(name, 1, 3, form) }
}

fn longer_mean_field(context: &Context) -> Result<Outcome> {
    let grids = load(context, true)?;
    let task = &grids.task;
    let form = context.form;
    // Only the end of a run is looked at.
    let blind = |_: &[f64]| f64::NAN;
    let learn = |name: &str| task.learn(Likelihood(MF), &longer(name, form), grids.start.clone(), &blind);
    let mut outcome = Outcome::default();
    let mut errors = Vec::new();
    for (name, curve) in METHODS.iter().zip(at_once(&METHODS, &learn)?) {
        let error = if curve.theta.is_empty() { f64::NAN } else { task.error(&curve.theta, &LBP) };
        outcome.show(format!("MF {name}: objective"), "", curve.final_objective());
        outcome.show(format!("MF {name}: test error"), "", error);
        errors.push((error, curve.final_objective()));
    }
    let range = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let all = || errors.iter().map(of);
        match all().any(f64::is_nan) {
            true => [f64::NAN; 2],
            false => [all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max)],
        }
    };
    let ([least, most], [low, high]) = (range(&|one| one.0), range(&|one| one.1));
    outcome.show("MF: range of the test errors", "", most - least);
    outcome.show("MF: highest objective, per cent above the lowest", "", 100.0 * (high / low - 1.0));
    outcome.claim("MF: all four end at similar errors", most - least <= 1.5);
    let passes = form.pick(150, 2);
    let text = format!(
        "with {passes} passes of MF the errors are {:.1} (SMD), {:.1} (SGD), {:.1} (BFGS) and {:.1} % (ASG), and the highest objective \
         is {:.1} % above the lowest.",
        errors[0].0,
        errors[1].0,
        errors[2].0,
        errors[3].0,
        100.0 * (high / low - 1.0)
    );
    match most - least <= 1.5 {
        true => outcome.because("smd-claims-manmade", &["MF: all four"], format!("the passes: {text}")),
        false => outcome.looked("smd-claims-manmade", format!("not the passes alone: {text}")),
    }
    Ok(outcome)
}
