//! smd-crf-2006 section 5.1 on the authors' noisy images that are available: fifty copies of one of the four. The left half of forty copies is
//! for training, the right half of the other ten for test, so that no label of the test images is seen in training.

use super::grids::{GridTask, Image, denoise};
use super::reviews;
use super::smd_grid_claims::CLAIMS_SHAPES;
use super::smd_grids::{CRITERIA, LBP, METHODS, MF, at_once, method, near_bfgs};
use crate::corpora::DENOISE;
use crate::experiment::{Context, Experiment, Form, Outcome};
use crate::graph_learning::paired;
use crfkit::Result;
use crfkit::loss::{PartialLikelihood, Pseudolikelihood};
use serde_json::{Value, json};

/// smd-crf-2006 section 5.1, on the authors' images.
pub const DENOISE_64: Experiment = Experiment {
    id: "smd-denoise64",
    review: |outcome| {
        reviews::lbp_beats_mean_field(outcome);
        reviews::smd_shapes(outcome);
    },
    title: "smd section 5.1 on Kumar and Hebert's noisy images: BFGS, SGD, SMD and ASG by LBP, MF and PL",
    version: 2,
    data: &[DENOISE],
    needs: &[],
    tolerance: "LBP is better than MF, both are better than logistic regression, PL errs on more than half of the sites; SGD and SMD end within 1 % of \
                the objective of BFGS",
    settings,
    run,
    ..CLAIMS_SHAPES
};

/// The number of copies for training; the others are labelled.
const TRAIN: usize = 40;

fn settings(form: Form) -> Value {
    let methods: Vec<_> = (0..3).flat_map(|c| METHODS.map(|name| method(name, c, 1, form))).collect();
    json!({"train": TRAIN, "halves": ["left for training", "right for test"], "quick": form.pick(None, Some(4)), "methods": methods,
        "inference": {"tolerance": LBP.tolerance, "damping": LBP.damping}})
}

/// The halves of all copies.
fn halves(images: &[Image]) -> [Vec<Image>; 2] {
    let middle = images.first().map_or(0, |image| image.size[1] / 2);
    let half =
        |image: &Image, left: bool| image.columns(if left { 0..middle } else { middle..image.size[1] });
    [true, false].map(|left| images.iter().map(|image| half(image, left)).collect())
}

fn run(context: &Context) -> Result<Outcome> {
    let mut images = denoise(context)?;
    let mut test = images.split_off(TRAIN.min(images.len()));
    images.truncate(context.form.pick(usize::MAX, 4));
    test.truncate(context.form.pick(usize::MAX, 2));
    let ([images, _], [_, test]) = (halves(&images), halves(&test));
    let grids = GridTask::new(&images, test.clone())?;
    // The conditionals of PL need the label of every neighbour.
    let completed: Vec<Image> = images.into_iter().map(Image::completed).collect();
    let complete = GridTask::new(&completed, test)?;
    let GridTask { task, start, .. } = &grids;
    let error = |theta: &[f64]| if theta.is_empty() { f64::NAN } else { task.error(theta, &LBP) };
    let mut outcome = Outcome::default();
    let logistic = error(&grids.logistic());
    outcome.show("logistic regression: test error", "", logistic);
    let form = context.form;
    // Only the end of a run is looked at.
    let blind = |_: &[f64]| f64::NAN;
    let (mut errors, mut images_of) = (Vec::new(), Vec::new());
    for (c, criterion) in CRITERIA.iter().enumerate() {
        (context.say)(criterion);
        let learn = |name: &str| {
            let settings = method(name, c, 1, form);
            match c {
                0 => task.learn(PartialLikelihood::new(LBP), &settings, start.clone(), &blind),
                1 => task.learn(PartialLikelihood::new(MF), &settings, start.clone(), &blind),
                _ => complete.task.learn(Pseudolikelihood::default(), &settings, start.clone(), &blind),
            }
        };
        for (name, curve) in METHODS.iter().zip(at_once(&METHODS, &learn)?) {
            let wrong = error(&curve.theta);
            outcome.show(format!("{criterion} {name}: test error"), "", wrong);
            outcome.show(format!("{criterion} {name}: objective"), "", curve.final_objective());
            errors.push((format!("{criterion} {name}"), wrong));
            if *name == "BFGS" && !curve.theta.is_empty() {
                images_of.push(task.errors(&curve.theta, &LBP));
            }
        }
    }
    near_bfgs(&mut outcome);
    if let [lbp, mean_field, _] = &images_of[..] {
        let [less, error] = paired(lbp, mean_field);
        outcome.show("BFGS, LBP less MF: mean difference of the errors of an image", "", less);
        outcome.show("BFGS, LBP less MF: standard error of this mean", "", error);
        if less.abs() <= 2.0 * error {
            let text = format!(
                "these images cannot tell. The errors of an image by LBP and by MF differ by {less:.4} points on average over {} images, with a \
                 standard error of {error:.4}.",
                lbp.len()
            );
            outcome.because(DENOISE_64.id, &["the best by LBP"], text);
        }
    }
    let of =
        |name: &str| errors.iter().find(|(method, _)| method == name).map_or(f64::NAN, |(_, error)| *error);
    let (bfgs, mean_field) = (of("LBP BFGS"), of("MF BFGS"));
    outcome.claim("both are better than logistic regression", bfgs < logistic && mean_field < logistic);
    outcome.note(
        "All copies share one truth, so the test images are the other half of it. Two of its pixels have no label: by LBP and MF they are summed out, \
         for PL they have a neighbour's label; they are not scored.",
    );
    Ok(outcome)
}
