//! smd-crf-2006 section 5, figures 3–6: stochastic methods on grids, with three approximations of the likelihood.

use super::grids::{GridTask, manmade, shapes};
use crate::chart::Chart;
use crate::corpora::MANMADE;
use crate::experiment::{Context, Experiment, Form, Outcome};
use crate::graph_learning::GraphCurve;
use crate::picture::Picture;
use crfkit::Result;
use crfkit::infer::{LoopyBp, MeanField, Schedule};
use crfkit::loss::{Likelihood, Marginal, Pseudolikelihood};
use crfkit::optim::Updates;
use crfkit::train::{Method, Parameters, Settings};
use serde_json::{Value, json};

/// Row 96.
pub const FIGURE_4: Experiment = Experiment {
    id: "smd-fig4",
    row: 96,
    title: "smd figure 4: objective and test error on noisy shapes, by LBP, MF and PL",
    version: 2,
    data: &[],
    needs: &[],
    tolerance: "the order of criteria and methods; `the same` error is 0.5 points (our own shapes, whose errors the paper cannot have)",
    inconsistent: None,
    settings: |form| settings("shapes", form),
    run: |context| figure(context, false),
};
/// Row 95.
pub const FIGURE_3: Experiment = Experiment {
    id: "smd-fig3",
    row: 95,
    title: "smd figure 3: a noisy image, denoised by logistic regression and by {BFGS, SGD, SMD} × {LBP, MF}",
    needs: &["smd-fig4"],
    tolerance: "CRFs are better than logistic regression; LBP at least as good as MF, within 0.1 points",
    settings: |_| json!({"image": 0}),
    run: figure_3,
    ..FIGURE_4
};
/// Row 98.
pub const FIGURE_6: Experiment = Experiment {
    id: "smd-fig6",
    row: 98,
    title: "smd figure 6: objective and test error on man-made structure, by LBP, MF and PL",
    version: 4,
    data: &[MANMADE],
    tolerance: "the order of criteria and methods; errors within 1.5 points of each other are similar",
    settings: |form| settings("man-made structure", form),
    run: |context| figure(context, true),
    ..FIGURE_4
};
/// Row 97.
pub const FIGURE_5: Experiment = Experiment {
    id: "smd-fig5",
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
/// Row 110.
pub const CLAIMS_SHAPES: Experiment = Experiment {
    id: "smd-claims-shapes",
    row: 110,
    title: "smd section 5.1: what the text says of figure 4",
    version: 3,
    needs: &["smd-fig4"],
    tolerance: "the claims of the text; `the same` is 0.5 points, of the objective 1 %",
    settings: |_| Value::Null,
    run: claims_shapes,
    ..FIGURE_4
};
/// Row 111.
pub const CLAIMS_MANMADE: Experiment = Experiment {
    id: "smd-claims-manmade",
    row: 111,
    title: "smd section 5.2: what the text says of figure 6",
    version: 3,
    data: &[MANMADE],
    needs: &["smd-fig6"],
    tolerance: "the claims of the text; `similar` is 1.5 points",
    settings: |_| Value::Null,
    run: claims_manmade,
    ..FIGURE_4
};

const CRITERIA: [&str; 3] = ["LBP", "MF", "PL"];
const METHODS: [&str; 4] = ["SMD", "SGD", "BFGS", "ASG"];

/// Where inference stops while training.
const TOLERANCE: f64 = 1e-5;
/// The engine of LBP.
pub(super) const LBP: LoopyBp =
    LoopyBp { schedule: Schedule::Parallel, damping: 0.1, max_iterations: 200, tolerance: TOLERANCE };
/// The engine of MF.
pub(super) const MF: MeanField =
    MeanField { max_iterations: 200, tolerance: TOLERANCE, restarts: 0, seed: 1 };

/// Noise of the shapes.
const SD: f64 = 0.5;

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
    // What is said after 100 passes is said of LBP.
    let passes = form.pick([100, 30, 30][criterion], 2);
    Settings { optimizer, parameters, passes: Some(passes), ..Settings::default() }
}

/// Images for training and test, and the side of a shape's image.
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

/// How far the objectives of SMD and SGD by LBP are from that of BFGS.
pub(super) fn near_bfgs(outcome: &mut Outcome) {
    let objective = |name: &str| outcome.number(&format!("LBP {name}: objective")).unwrap_or(f64::NAN);
    let least = objective("BFGS");
    let above = ["SMD", "SGD"].map(|name| 100.0 * (objective(name) / least - 1.0));
    outcome.show("LBP SMD: objective above that of BFGS, in per cent", "", above[0]);
    outcome.show("LBP SGD: objective above that of BFGS, in per cent", "", above[1]);
    let near = above.iter().all(|above| *above <= 1.0);
    outcome.claim("LBP: after 100 passes SMD and SGD are within 1 % of the objective of BFGS", near);
}

/// The curves of several methods, found side by side: online methods have one thread each.
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
    outcome.pictures.push(Picture::new("noisy", width, image.nodes.iter().map(|h| h[1])));
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
        outcome.pictures.push(Picture::new(name, width, labels.iter().map(|&y| f64::from(y))));
        errors.push((name.clone(), error));
    }
    let worst = |part: &str| errors.iter().filter(|e| e.0.ends_with(part)).map(|e| e.1).fold(0.0, f64::max);
    let best =
        |part: &str| errors.iter().filter(|e| e.0.ends_with(part)).map(|e| e.1).fold(f64::INFINITY, f64::min);
    outcome.claim(
        "every CRF that was trained is better than logistic regression",
        worst("LBP").max(worst("MF")) < errors[0].1,
    );
    outcome.claim("LBP is at least as good as MF, within 0.1 points", best("LBP") <= best("MF") + 0.1);
    Ok(outcome)
}

/// Labels that were found alone: the photograph and its own labels are not ours to show.
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
            outcome.pictures.push(Picture::new(
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

/// What the claims ask of a figure.
struct Found(Outcome);

impl Found {
    fn error(&self, criterion: &str, method: &str) -> f64 {
        self.0.number(&format!("{criterion} {method}: test error")).unwrap_or(f64::NAN)
    }

    fn objective(&self, criterion: &str, method: &str) -> f64 {
        self.0.number(&format!("{criterion} {method}: objective")).unwrap_or(f64::NAN)
    }

    /// ∞ if it never got there.
    fn passes(&self, criterion: &str, method: &str) -> f64 {
        let what = format!("{criterion} {method}: passes to nine tenths of the decrease");
        self.0.number(&what).unwrap_or(f64::INFINITY)
    }

    /// From the lowest to the highest of the methods' numbers; NaN if one of them diverged.
    fn range(&self, criterion: &str, of: fn(&Found, &str, &str) -> f64) -> [f64; 2] {
        let all = METHODS.map(|method| of(self, criterion, method));
        if all.iter().any(|x| x.is_nan()) {
            return [f64::NAN; 2];
        }
        [all.into_iter().fold(f64::INFINITY, f64::min), all.into_iter().fold(f64::NEG_INFINITY, f64::max)]
    }

    /// The points of a method's curve, of the objective or of the error.
    fn curve(&self, criterion: &str, method: &str, of: &str) -> &[[f64; 2]] {
        let name = format!("{}-{of}", criterion.to_lowercase());
        let chart = self.0.charts.iter().find(|chart| chart.name == name);
        let line = chart.and_then(|chart| chart.lines.iter().find(|line| line.name == method));
        line.map_or(&[], |line| &line.points)
    }

    /// The lowest error of a criterion.
    fn best(&self, criterion: &str) -> f64 {
        METHODS.map(|method| self.error(criterion, method)).into_iter().fold(f64::INFINITY, f64::min)
    }
}

fn claims_shapes(context: &Context) -> Result<Outcome> {
    let found = Found(context.result("smd-fig4")?.outcome);
    let mut outcome = Outcome::default();
    let fast = found.passes("LBP", "SMD").max(found.passes("LBP", "SGD"));
    outcome.claim("LBP: SMD and SGD are faster than BFGS", fast < found.passes("LBP", "BFGS"));
    outcome.claim("LBP: ASG is slower than SMD and SGD", found.passes("LBP", "ASG") > fast);
    let same = (found.error("LBP", "SMD") - found.error("LBP", "BFGS")).abs() <= 0.5;
    outcome.claim("LBP: SMD and BFGS end at the same error", same);
    same_performance(&found, &mut outcome);
    outcome.claim("MF is not better than LBP", found.best("MF") >= found.best("LBP") - 0.05);
    for method in METHODS {
        outcome.show(format!("PL {method}: test error"), ">50", found.error("PL", method));
    }
    outcome.claim(
        "PL with the paper's η₀ = 0.04 breaks down: SGD errs on more sites than have the label 1",
        {
            let error = found.error("PL", "SGD");
            error.is_nan() || error >= found.0.number("share of the label 1")? - 0.5
        },
    );
    outcome.note("The paper's `above 50 %` and `oversmoothed to black` cannot both be: an all-black image errs on the share of white pixels, which is below one half where most are black.");
    Ok(outcome)
}

/// `Eventually all achieve the same performance, both in training objective and test error`: all four, after the passes of figure 4.
fn same_performance(found: &Found, outcome: &mut Outcome) {
    for method in METHODS {
        outcome.show(format!("LBP {method}: objective"), "", found.objective("LBP", method));
        outcome.show(format!("LBP {method}: test error"), "", found.error("LBP", method));
    }
    let [least, most] = found.range("LBP", Found::objective);
    let all_objectives = most <= 1.01 * least;
    outcome.claim("LBP: all four end at the same objective", all_objectives);
    let [least, most] = found.range("LBP", Found::error);
    let all_errors = most - least <= 0.5;
    outcome.claim("LBP: all four end at the same error", all_errors);
    let curve = found.curve("LBP", "ASG", "objective");
    let after =
        |passes: f64| curve.iter().rfind(|point| point[0] <= passes).map_or(f64::NAN, |point| point[1]);
    let Some(&[passes, end]) = curve.last().filter(|_| !(all_objectives && all_errors)) else { return };
    // The first step of the curve is part of a pass.
    let steps = (passes / curve[0][0]).round();
    let gains: f64 = (1..=steps as usize).map(|t| 1.0 / t as f64).sum();
    outcome.because(CLAIMS_SHAPES.id, format!(
        "as to ASG, its gains η₀/t are used up. The gains of all its {steps:.0} steps in {passes:.0} passes sum up to {gains:.1} η₀, \
         as much as those of SGD in {gains:.0} steps, and the sum grows with the logarithm of the steps. In smd-fig4 its objective is \
         {:.0} after 10 passes and {end:.0} after {passes:.0}, where BFGS ends at {:.0}. The text's `eventually` may be many more passes.",
        after(10.0),
        found.objective("LBP", "BFGS"),
    ));
}

/// `All optimizers achieve similar final generalization performance here`.
fn similar_generalisation(found: &Found, outcome: &mut Outcome) {
    let mut spread = [0.0; 3];
    for (criterion, spread) in CRITERIA.iter().zip(&mut spread) {
        for method in METHODS {
            outcome.show(format!("{criterion} {method}: test error"), "", found.error(criterion, method));
        }
        let [least, most] = found.range(criterion, Found::error);
        *spread = most - least;
        outcome.claim(format!("{criterion}: all four end at similar errors"), *spread <= 1.5);
    }
    let mut parts = Vec::new();
    let objective = |criterion: &str, method: &str| found.objective(criterion, method);
    if objective("LBP", "BFGS") > 1.01 * objective("LBP", "SMD") {
        parts.push(
            "that BFGS does not catch up by LBP is the jumps of the objective, at which its line search stops (smd-fig6-jumps)".to_owned(),
        );
    }
    let passes = found.curve("MF", "BFGS", "objective").last().map_or(f64::NAN, |point| point[0]);
    if spread[1].is_nan() || spread[1] > 1.5 {
        parts.push(format!(
            "by MF the methods have not come to the same objective in the passes of smd-fig6: BFGS has {:.0} after {passes:.0}, SMD \
             {:.0}, ASG {:.0} and SGD {:.0}, with errors of {:.1}, {:.1}, {:.1} and {:.1} %; why the errors are not in the order of \
             the objectives is not found",
            objective("MF", "BFGS"),
            objective("MF", "SMD"),
            objective("MF", "ASG"),
            objective("MF", "SGD"),
            found.error("MF", "BFGS"),
            found.error("MF", "SMD"),
            found.error("MF", "ASG"),
            found.error("MF", "SGD"),
        ));
    }
    if spread[2].is_nan() || spread[2] > 1.5 {
        parts.push(format!(
            "by PL the gain η₀ = 0.04 is too long a step for SGD: its objective is {:.0} where BFGS has {:.0}, and it errs on {:.1} % \
             of the sites; smd-pl-collapse shows on shapes that smaller gains keep SGD from it",
            objective("PL", "SGD"),
            objective("PL", "BFGS"),
            found.error("PL", "SGD"),
        ));
    }
    if !parts.is_empty() {
        outcome.because(CLAIMS_MANMADE.id, format!("{}.", parts.join("; ")));
    }
}

fn claims_manmade(context: &Context) -> Result<Outcome> {
    let found = Found(context.result("smd-fig6")?.outcome);
    let mut outcome = Outcome::default();
    let fast = found.passes("LBP", "SMD").min(found.passes("LBP", "SGD"));
    outcome
        .claim("LBP: the faster of SGD and SMD is ahead of BFGS early", fast < found.passes("LBP", "BFGS"));
    let caught = found.objective("LBP", "BFGS") <= found.objective("LBP", "SMD") * 1.01;
    outcome.claim("LBP: BFGS catches up in the end", caught);
    outcome.claim("ASG is the slowest", found.passes("LBP", "ASG") >= fast);
    let blocked = found.objective("PL", "SGD");
    outcome.claim(
        "PL: a fixed gain keeps SGD from the optimum",
        blocked.is_nan() || blocked > found.objective("PL", "BFGS"),
    );
    let likelihoods = found.best("LBP").min(found.best("MF"));
    outcome.show("lowest error of LBP and MF", "", likelihoods);
    outcome.show("lowest error of PL", "", found.best("PL"));
    outcome.claim("LBP and MF are not worse than PL", likelihoods <= found.best("PL") + 0.05);
    similar_generalisation(&found, &mut outcome);
    outcome.note("Features are Kumar and Hebert's moments and orientations as far as they are published, 21 of a site and 15 of a pair; the authors' files have 108 photographs for training, as the slides say, not 129.");
    Ok(outcome)
}
