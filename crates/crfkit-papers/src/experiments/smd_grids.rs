//! smd-crf-2006 section 5, figures 3–6: stochastic methods on grids, with three approximations of the likelihood.

use super::grids::{GridTask, manmade, shapes};
use super::reviews;
use crate::chart::Chart;
use crate::corpora::MANMADE;
use crate::experiment::{Context, Experiment, Form, Outcome, Part, none};
use crate::graph_learning::GraphCurve;
use crate::picture::GridImage;
use crfkit::Result;
use crfkit::infer::{LoopyBp, MeanField, MessageSchedule};
use crfkit::loss::{Likelihood, Marginal, Pseudolikelihood};
use crfkit::optim::Updates;
use crfkit::train::{Method, Parameters, Settings};
use serde_json::{Value, json};

/// smd-crf-2006 figure 4: noisy shapes.
pub const FIGURE_4: Experiment = Experiment {
    id: "smd-fig4",
    row: 96,
    title: "smd figure 4: objective and test error on noisy shapes, by LBP, MF and PL",
    version: 2,
    data: &[],
    needs: &[],
    tolerance: "the order of criteria and methods; `the same` error is 0.5 points (our own shapes, whose errors the paper cannot have)",
    part: Part::Paper,
    review: reviews::smd_shapes,
    inconsistent: None,
    settings: |form| settings("shapes", form),
    run: |context| figure(context, false),
};
/// smd-crf-2006 figure 3: denoised images.
pub const FIGURE_3: Experiment = Experiment {
    id: "smd-fig3",
    review: reviews::lbp_beats_mean_field,
    row: 95,
    title: "smd figure 3: a noisy image, denoised by logistic regression and by {BFGS, SGD, SMD} × {LBP, MF}",
    needs: &["smd-fig4"],
    tolerance: "CRFs are better than logistic regression; LBP at least as good as MF, within 0.1 points",
    settings: |_| json!({"image": 0}),
    run: figure_3,
    ..FIGURE_4
};
/// smd-crf-2006 figure 6: man-made structure.
pub const FIGURE_6: Experiment = Experiment {
    id: "smd-fig6",
    review: none,
    row: 98,
    title: "smd figure 6: objective and test error on man-made structure, by LBP, MF and PL",
    version: 4,
    data: &[MANMADE],
    tolerance: "the order of criteria and methods; errors within 1.5 points of each other are similar",
    settings: |form| settings("man-made structure", form),
    run: |context| figure(context, true),
    ..FIGURE_4
};
/// smd-crf-2006 figure 5: structure found in a photograph.
pub const FIGURE_5: Experiment = Experiment {
    id: "smd-fig5",
    review: none,
    row: 97,
    title: "smd figure 5: structure found in a photograph, {LBP, PL} × {BFGS, SMD}",
    version: 2,
    data: &[MANMADE],
    needs: &["smd-fig6"],
    tolerance: "the four agree on 90 % of the test sites",
    settings: |_| json!({"image": 0}),
    run: figure_5,
    ..FIGURE_4
};
pub const CRITERIA: [&str; 3] = ["LBP", "MF", "PL"];
pub const METHODS: [&str; 4] = ["SMD", "SGD", "BFGS", "ASG"];

/// The tolerance of inference in training.
const TOLERANCE: f64 = 1e-5;
/// The engine for LBP.
pub(super) const LBP: LoopyBp = LoopyBp {
    schedule: MessageSchedule::Parallel,
    damping: 0.1,
    max_iterations: 200,
    tolerance: TOLERANCE,
    restarts: 0,
};
/// The engine for MF.
pub(super) const MF: MeanField =
    MeanField { max_iterations: 200, tolerance: TOLERANCE, restarts: 0, seed: 1 };

/// The standard deviation of the noise on the shapes.
pub(super) const SD: f64 = 0.5;

/// σ = 1, λ = 0.9, μ = 10 η₀; η₀ = 0.0001 for LBP, 0.001 for MF, 0.04 for PL; b = 1 for shapes, 3 for photographs.
pub(super) fn method(name: &str, criterion: usize, batch: usize, form: Form) -> Settings {
    let eta0 = [0.0001, 0.001, 0.04][criterion];
    // Every image touches every weight.
    let updates = Some(Updates::Dense);
    let online = Parameters { batch: Some(batch), eta0: Some(eta0), updates, ..Parameters::default() };
    let (optimizer, parameters) = match name {
        "SMD" => (Method::Smd, Parameters { mu: Some(10.0 * eta0), lambda: Some(0.9), ..online }),
        "SGD" => (Method::Sgd, online),
        "ASG" => (Method::Asg, online),
        _ => (Method::Bfgs, Parameters::default()),
    };
    // The paper's statements about 100 passes are about LBP.
    let passes = form.pick([100, 30, 30][criterion], 2);
    Settings { optimizer, parameters, passes: Some(passes), ..Settings::default() }
}

/// The numbers of training and test images, and the side length of a shape image.
pub(super) fn sizes(form: Form) -> [usize; 3] {
    form.pick([40, 10, 64], [4, 2, 16])
}

fn settings(data: &str, form: Form) -> Value {
    let batch = if data == "shapes" { 1 } else { 3 };
    let all: Vec<Settings> = (0..3).flat_map(|c| METHODS.map(|name| method(name, c, batch, form))).collect();
    json!({"data": data, "sizes": sizes(form), "noise": SD, "seed": 1, "methods": all,
        "inference": {"tolerance": TOLERANCE, "damping": LBP.damping},
        "decoding": "max marginals of LBP, at most 200 iterations"})
}

pub(super) fn load(context: &Context, photographs: bool) -> Result<GridTask> {
    let [train, test, side] = sizes(context.form);
    if photographs {
        let [mut all, mut others] = manmade(context)?;
        all.truncate(context.form.pick(usize::MAX, train));
        others.truncate(context.form.pick(usize::MAX, test));
        return GridTask::new(&all, others);
    }
    let mut images = shapes(1, train + test, side, SD);
    let test = images.split_off(train);
    GridTask::new(&images, test)
}

fn figure(context: &Context, photographs: bool) -> Result<Outcome> {
    let grids = load(context, photographs)?;
    let GridTask { task, start, .. } = &grids;
    let error = |theta: &[f64]| task.error(theta, &LBP);
    let mut outcome = Outcome::default();
    outcome.show("logistic regression: test error", "", error(&grids.logistic()));
    let gold = (0..task.test.len()).flat_map(|example| task.test.gold(example));
    let share = gold.clone().map(|&y| f64::from(y)).sum::<f64>() / gold.count() as f64;
    outcome.show("share of the label 1", "", 100.0 * share);
    let (batch, form) = (if photographs { 3 } else { 1 }, context.form);
    for (c, criterion) in CRITERIA.iter().enumerate() {
        (context.say)(criterion);
        let learn = |name: &str| {
            let settings = method(name, c, batch, form);
            match c {
                0 => task.learn(Likelihood(LBP), &settings, start.clone(), &error),
                1 => task.learn(Likelihood(MF), &settings, start.clone(), &error),
                _ => task.learn(Pseudolikelihood::default(), &settings, start.clone(), &error),
            }
        };
        let curves = at_once(&METHODS, &learn)?;
        for (name, curve) in METHODS.iter().zip(&curves) {
            outcome.show(format!("{criterion} {name}: test error"), "", curve.final_error());
            outcome.show(format!("{criterion} {name}: objective"), "", curve.final_objective());
            if !curve.theta.is_empty() {
                outcome.weights.insert(format!("{criterion} {name}"), curve.theta.clone());
            }
        }
        // Nine tenths of the way down from the largest first value to the lowest last one.
        let first = curves.iter().filter_map(|c| c.objective.first()).map(|p| p[1]).fold(f64::NAN, f64::max);
        let last = curves.iter().map(GraphCurve::final_objective).fold(f64::NAN, f64::min);
        for (name, curve) in METHODS.iter().zip(&curves) {
            let passes = curve.passes_to(last + 0.1 * (first - last));
            outcome.show(format!("{criterion} {name}: passes to nine tenths of the decrease"), "", passes);
        }
        type Points = fn(&GraphCurve) -> &[[f64; 2]];
        let parts: [(&str, &str, Points); 2] =
            [("objective", "training objective", |c| &c.objective), ("error", "test error, %", |c| &c.error)];
        for (part, y, points) in parts {
            outcome.charts.push(Chart {
                name: format!("{}-{part}", criterion.to_lowercase()),
                title: format!("{criterion}: {y}"),
                x: "passes".into(),
                y: y.into(),
                log_x: true,
                lines: METHODS
                    .iter()
                    .zip(&curves)
                    .map(|(name, c)| GraphCurve::line(name, points(c)))
                    .collect(),
                ..Chart::default()
            });
        }
    }
    let errors = METHODS.map(|m| outcome.number(&format!("LBP {m}: test error")).unwrap_or(f64::NAN));
    let [smd, sgd, bfgs, _] = errors;
    let spread = smd.max(sgd).max(bfgs) - smd.min(sgd).min(bfgs);
    let similar = if photographs { 1.5 } else { 0.5 };
    let all_there = errors[..3].iter().all(|error| error.is_finite());
    outcome.claim(
        format!("LBP: SMD, SGD and BFGS end within {similar} points of each other"),
        all_there && spread <= similar,
    );
    if photographs {
        (context.say)("marginal loss");
        let engine = LoopyBp { tolerance: 1e-10, ..LBP };
        let curve = task.learn(Marginal(engine), &method("BFGS", 1, batch, form), start.clone(), &error)?;
        outcome.show("beyond the paper: marginal loss by LBP, BFGS: test error", "", curve.final_error());
    } else {
        near_bfgs(&mut outcome);
    }
    let alone = outcome.number("logistic regression: test error")?;
    let better = errors[..3].iter().all(|&error| error < alone);
    outcome.claim("LBP: SMD, SGD and BFGS are better than logistic regression", better);
    Ok(outcome)
}

/// How far the objectives of SMD and SGD with LBP are from that of BFGS.
pub(super) fn near_bfgs(outcome: &mut Outcome) {
    let objective = |name: &str| outcome.number(&format!("LBP {name}: objective")).unwrap_or(f64::NAN);
    let least = objective("BFGS");
    let above = ["SMD", "SGD"].map(|name| 100.0 * (objective(name) / least - 1.0));
    outcome.show("LBP SMD: objective above that of BFGS, in per cent", "", above[0]);
    outcome.show("LBP SGD: objective above that of BFGS, in per cent", "", above[1]);
    let near = above.iter().all(|above| *above <= 1.0);
    outcome.claim("LBP: after 100 passes SMD and SGD are within 1 % of the objective of BFGS", near);
}

/// The curves of several methods, computed in parallel: online methods use one thread each.
pub(super) fn at_once(
    names: &[&str],
    learn: &(dyn Fn(&str) -> Result<GraphCurve> + Sync),
) -> Result<Vec<GraphCurve>> {
    std::thread::scope(|scope| {
        let runs: Vec<_> = names.iter().map(|name| scope.spawn(move || learn(name))).collect();
        runs.into_iter().map(|run| run.join().expect("a run does not panic")).collect()
    })
}

fn figure_3(context: &Context) -> Result<Outcome> {
    let found = context.result("smd-fig4")?.outcome;
    let grids = load(context, false)?;
    let GridTask { task, test, .. } = &grids;
    let image = &test[0];
    let mut outcome = Outcome::default();
    let width = image.size[1];
    outcome.pictures.push(GridImage::new("noisy", width, image.nodes.iter().map(|h| h[1])));
    let mut results = vec![("logistic regression".to_owned(), grids.logistic())];
    for criterion in &CRITERIA[..2] {
        for name in ["BFGS", "SGD", "SMD"] {
            match found.weights.get(&format!("{criterion} {name}")) {
                Some(theta) => results.push((format!("{name}, {criterion}"), theta.clone())),
                None => outcome.note(format!("{name}, {criterion} diverged.")),
            }
        }
    }
    let mut errors = Vec::new();
    for (name, theta) in &results {
        let labels = &task.labels(&task.test, theta, &LBP)[0];
        let wrong = labels.iter().zip(&image.labels).filter(|(a, b)| a != b).count();
        let error = 100.0 * wrong as f64 / labels.len() as f64;
        outcome.show(format!("{name}: error of this image"), "", error);
        outcome.pictures.push(GridImage::new(name, width, labels.iter().map(|&y| f64::from(y))));
        errors.push((name.clone(), error));
    }
    let worst = |part: &str| errors.iter().filter(|e| e.0.ends_with(part)).map(|e| e.1).fold(0.0, f64::max);
    outcome.claim(
        "every CRF that was trained is better than logistic regression",
        worst("LBP").max(worst("MF")) < errors[0].1,
    );
    Ok(outcome)
}

/// Shows only the predicted labels: we may not publish the photograph and its gold labels.
fn figure_5(context: &Context) -> Result<Outcome> {
    let found = context.result("smd-fig6")?.outcome;
    let grids = load(context, true)?;
    let GridTask { task, test, .. } = &grids;
    let mut outcome = Outcome::default();
    let width = test[0].size[1];
    let mut all = Vec::new();
    for criterion in ["LBP", "PL"] {
        for name in ["BFGS", "SMD"] {
            let Some(theta) = found.weights.get(&format!("{criterion} {name}")) else {
                outcome.note(format!("{name}, {criterion} diverged."));
                continue;
            };
            let labels = task.labels(&task.test, theta, &LBP);
            outcome.pictures.push(GridImage::new(
                format!("{name}, {criterion}"),
                width,
                labels[0].iter().map(|&y| f64::from(y)),
            ));
            all.push(labels.concat());
        }
    }
    let sites = all.first().map_or(0, Vec::len);
    let agree = (0..sites).filter(|&i| all.iter().all(|labels| labels[i] == all[0][i])).count();
    let share = 100.0 * agree as f64 / sites.max(1) as f64;
    outcome.show("sites on which all four agree, in per cent", "", share);
    outcome.claim("the four agree on 90 % of the test sites", share >= 90.0);
    Ok(outcome)
}
