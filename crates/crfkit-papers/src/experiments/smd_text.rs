//! smd-crf-2006 section 4, figures 1 and 2: stochastic methods compared with BFGS on text.

use super::reviews;
use super::text_tasks::{ENTITY, TextTask, WHOLE, passes, token_f1};
use crate::chart::Chart;
use crate::experiment::{Context, Experiment, Form, Outcome, Part};
use crate::learning::{Curve, EARLY, Task};
use crfkit::Result;
use crfkit::optim::BatchGradient;
use crfkit::train::{Method, Parameters, Settings};
use serde_json::{Value, json};

/// smd-crf-2006 figure 1: base NP.
pub const FIGURE_1: Experiment = Experiment {
    id: "smd-fig1",
    row: 93,
    title: "smd figure 1: F-scores on base NP by passes, for SMD, SGD, BFGS and the perceptron",
    version: 1,
    data: TextTask::BaseNp.data(),
    needs: &[],
    tolerance: "final F-scores 0.6 points: another template than the paper's 330,731 features",
    part: Part::Paper,
    review: reviews::narrowed,
    inconsistent: None,
    settings: |form| settings(TextTask::BaseNp, form),
    run: figure_1,
};
/// smd-crf-2006 figure 2: NLPBA.
pub const FIGURE_2: Experiment = Experiment {
    id: "smd-fig2",
    review: reviews::smd_nlpba,
    row: 94,
    title: "smd figure 2: F-scores on NLPBA by passes, for SMD, SGD, BFGS and the perceptron",
    data: TextTask::Nlpba.data(),
    tolerance: "the order of the methods: the paper's F-scores are no exact-match F-scores (see smd-nlpba-f)",
    settings: |form| settings(TextTask::Nlpba, form),
    run: figure_2,
    ..FIGURE_1
};
/// smd-crf-2006 section 4.1: what the text says about figure 1.
pub const CLAIMS_1: Experiment = Experiment {
    id: "smd-claims1",
    row: 108,
    title: "smd section 4.1: what the text says of figure 1",
    needs: &["smd-fig1"],
    tolerance: "F-scores 0.6 points, `the same` 0.3; SMD needs at most a third of the passes of BFGS",
    settings: |_| Value::Null,
    run: claims_1,
    ..FIGURE_1
};
/// smd-crf-2006 section 4.2: what the text says about figure 2.
pub const CLAIMS_2: Experiment = Experiment {
    id: "smd-claims2",
    review: reviews::smd_nlpba,
    row: 109,
    title: "smd section 4.2: what the text says of figure 2",
    data: TextTask::Nlpba.data(),
    needs: &["smd-fig2"],
    tolerance: "the order of the methods; `the same` is 0.7 points",
    settings: |_| Value::Null,
    run: claims_2,
    ..FIGURE_1
};
/// smd-crf-2006 section 4.2: the scale of the F-scores on NLPBA.
pub const SCALE: Experiment = Experiment {
    id: "smd-nlpba-f",
    row: 109,
    title: "smd section 4.2: an F-score of 85.8 on NLPBA",
    data: TextTask::Nlpba.data(),
    needs: &["smd-fig2"],
    review: |outcome| {
        outcome.against("exact-match F of L-BFGS", "85.8", 1.4);
        outcome.against("token-level F of SMD", "85.8", 1.4);
    },
    tolerance: "an F-score within 1.4 points of 85.8, by entities or by tokens; exact match is near psa's 70.3 (3 points)",
    settings: |_| Value::Null,
    run: scale,
    ..FIGURE_1
};
/// smd-crf-2006 eq. 17–21, read literally.
pub const LITERAL: Experiment = Experiment {
    id: "smd-literal",
    row: 108,
    title: "smd eq. 17-21 to the letter: gains without an upper bound on their growth",
    version: 2,
    tolerance: "with one reading of the gradient of a batch, its sum or its mean, the literal form ends within 2 points of the guarded one",
    settings: |form| json!({"passes": passes(form, 3), "mu": 0.1, "lambda": LAMBDAS, "batch": 8, "eta0": 0.1, "gradients": ["sum", "mean"]}),
    run: literal,
    ..FIGURE_1
};
/// smd-crf-2006 section 4: random permutations of the data.
pub const PERMUTATIONS: Experiment = Experiment {
    id: "smd-permutations",
    row: 112,
    title: "smd section 4: the results are the same under random permutations of the data",
    tolerance: "F-scores of five seeds after 6 passes differ by at most 0.3",
    settings: |form| json!({"passes": passes(form, 6), "seeds": [1, 2, 3, 4, 5], "smd": smd(0.1, 8, 1)}),
    run: permutations,
    ..FIGURE_1
};

/// The number of passes of the online methods.
pub(super) const PASSES: usize = 50;

pub(super) fn smd(mu: f64, batch: usize, seed: u64) -> Settings {
    let parameters = Parameters {
        batch: Some(batch),
        eta0: Some(0.1),
        mu: Some(mu),
        lambda: Some(1.0),
        ..Parameters::default()
    };
    Settings { optimizer: Method::Smd, parameters, seed, ..Settings::default() }
}

pub(super) fn sgd(eta0: f64, batch: usize) -> Settings {
    let parameters = Parameters { batch: Some(batch), eta0: Some(eta0), ..Parameters::default() };
    Settings { optimizer: Method::Sgd, parameters, ..Settings::default() }
}

/// The methods of a figure with the paper's settings: σ = 1, η₀ = 0.1, λ = 1; b and μ depend on the task.
pub(super) fn methods(task: TextTask, form: Form) -> Vec<(&'static str, Settings)> {
    let (batch, mu) = if task == TextTask::Nlpba { (6, 0.02) } else { (8, 0.1) };
    let mut methods = vec![
        ("SMD", smd(mu, batch, 1)),
        ("SGD", sgd(0.1, batch)),
        ("BFGS", Settings { optimizer: Method::Lbfgs, ..Settings::default() }),
        ("CP", Settings::perceptron(false)),
    ];
    if task == TextTask::Nlpba {
        methods.push(("SGD, small η₀", sgd(0.01, batch)));
    }
    for (name, settings) in &mut methods {
        settings.passes = Some(if *name == "BFGS" { form.pick(500, 5) } else { passes(form, PASSES) });
    }
    methods
}

fn settings(task: TextTask, form: Form) -> Value {
    json!({"template": task.preset(), "features": "those seen in training", "early": EARLY, "methods": methods(task, form)})
}

/// Runs all methods, draws their curves, and returns the curves too.
pub(super) fn figure(
    context: &Context,
    data: &Task,
    methods: Vec<(&'static str, Settings)>,
    level: (&str, f64),
) -> Result<(Outcome, Vec<(&'static str, Curve)>)> {
    let mut outcome = Outcome::default();
    let mut curves = Vec::new();
    for (name, settings) in methods {
        (context.say)(name);
        let early: &[f64] = if name == "BFGS" { &[] } else { &EARLY };
        let curve = data.learn(&settings, early, None)?;
        outcome.show(format!("{name}: best F"), "", curve.best_f1());
        outcome.show(format!("{name}: passes"), "", curve.last().map_or(f64::NAN, |point| point.passes));
        outcome.show(format!("{name}: seconds"), "", curve.last().map_or(f64::NAN, |point| point.seconds));
        curves.push((name, curve));
    }
    let finals = |name: &str| curves.iter().find(|c| c.0 == name).map_or(f64::NAN, |c| c.1.final_f1());
    let target = finals("BFGS") - 0.3;
    for (name, curve) in &curves {
        outcome.show(format!("{name}: passes to the F of BFGS less 0.3"), "", curve.passes_to(target));
    }
    let lowest = context.form.pick(target - 4.0, 0.0);
    for (part, range) in [("all", None), ("end", Some([lowest, target + 1.3]))] {
        outcome.charts.push(Chart {
            name: part.into(),
            title: format!("F-score on the test set ({part})"),
            x: "passes".into(),
            y: "F1, %".into(),
            log_x: true,
            log_y: false,
            lines: curves.iter().map(|(name, curve)| curve.line(name)).collect(),
            levels: vec![(level.0.into(), level.1)],
            range,
        });
    }
    Ok((outcome, curves))
}

fn figure_1(context: &Context) -> Result<Outcome> {
    let data = TextTask::BaseNp.load(context)?;
    let methods = methods(TextTask::BaseNp, context.form);
    let (mut outcome, curves) = figure(context, &data, methods, ("Sha & Pereira", 94.2))?;
    for ((name, curve), paper) in curves.iter().zip([93.6, 93.4, 93.6, 92.7]) {
        outcome.compare(format!("{name}: final F"), paper, curve.final_f1(), 0.6);
    }
    outcome.note("BFGS is L-BFGS here, as in CRF++, which the paper has used. SMD has an upper bound on the growth of its gains: see smd-literal.");
    Ok(outcome)
}

fn figure_2(context: &Context) -> Result<Outcome> {
    let (data, methods) = (TextTask::Nlpba.load(context)?, methods(TextTask::Nlpba, context.form));
    let (mut outcome, curves) = figure(context, &data, methods.clone(), ("psa's L-BFGS", 70.33))?;
    for ((name, settings), (_, curve)) in methods.iter().zip(&curves) {
        token_level(&mut outcome, &data, name, settings, curve)?;
    }
    let papers = ["85.8", "85.2", "85.8", "83", "85.8, slower"];
    let mut finals = Vec::new();
    for ((name, curve), paper) in curves.iter().zip(papers) {
        outcome.show(format!("{name}: final F"), paper, curve.final_f1());
        finals.push(curve.final_f1());
    }
    outcome.claim("SMD ends above SGD", finals[0] > finals[1]);
    outcome.claim("SMD and SGD end above the perceptron", finals[0] > finals[3] && finals[1] > finals[3]);
    Ok(outcome)
}

/// The F-scores of tokens at the end of a run, by label and by whether a token is part of an entity.
pub(super) fn token_level(
    outcome: &mut Outcome,
    data: &Task,
    name: &str,
    settings: &Settings,
    curve: &Curve,
) -> Result<()> {
    if curve.stop.is_none() {
        return Ok(());
    }
    let mut taggers = [data.tagger(&curve.theta, settings)];
    let labels = data.label(&mut taggers)?;
    outcome.show(format!("{name}: token-level F"), "", token_f1(data, &labels, WHOLE));
    outcome.show(format!("{name}: token-level F, entity or not"), "", token_f1(data, &labels, ENTITY));
    Ok(())
}

fn claims_1(context: &Context) -> Result<Outcome> {
    let found = context.result("smd-fig1")?.outcome;
    let f = |name: &str| found.number(&format!("{name}: final F"));
    let passes = |name: &str| {
        found.number(&format!("{name}: passes to the F of BFGS less 0.3")).unwrap_or(f64::INFINITY)
    };
    let mut outcome = Outcome::default();
    for (name, paper) in [("SMD", 93.6), ("BFGS", 93.6), ("SGD", 93.4), ("CP", 92.7)] {
        outcome.compare(format!("{name}: final F"), paper, f(name)?, 0.6);
    }
    outcome.compare("CP: best F", 92.9, found.number("CP: best F")?, 0.6);
    outcome.show(
        "passes of BFGS over passes of SMD, to the F of BFGS less 0.3",
        "almost 10",
        passes("BFGS") / passes("SMD"),
    );
    outcome.claim("SMD and BFGS end at the same F", (f("SMD")? - f("BFGS")?).abs() < 0.3);
    outcome.claim("SGD ends below SMD", f("SGD")? < f("SMD")?);
    outcome.claim(
        "the perceptron ends lowest, below its own peak",
        f("CP")? < f("SGD")? && f("CP")? < found.number("CP: best F")?,
    );
    outcome.claim("SMD needs at most a third of the passes of BFGS", 3.0 * passes("SMD") <= passes("BFGS"));
    Ok(outcome)
}

fn claims_2(context: &Context) -> Result<Outcome> {
    let found = context.result("smd-fig2")?.outcome;
    let f = |name: &str| found.number(&format!("{name}: final F"));
    let passes = |name: &str| {
        found.number(&format!("{name}: passes to the F of BFGS less 0.3")).unwrap_or(f64::INFINITY)
    };
    let mut outcome = Outcome::default();
    for (name, paper) in
        [("SMD", "85.8"), ("BFGS", "85.8"), ("SGD", "85.2"), ("CP", "83"), ("SGD, small η₀", "85.8")]
    {
        outcome.show(format!("{name}: final F"), paper, f(name)?);
    }
    outcome.claim("SMD and BFGS end at the same F", (f("SMD")? - f("BFGS")?).abs() < 0.7);
    outcome
        .claim("SMD ends above SGD, SGD above the perceptron", f("SMD")? > f("SGD")? && f("SGD")? > f("CP")?);
    outcome.claim("SMD gets there in fewer passes than BFGS", passes("SMD") < passes("BFGS"));
    let small = "SGD, small η₀";
    outcome.claim("SGD with a small η₀ ends where SMD does", (f(small)? - f("SMD")?).abs() < 0.7);
    outcome.claim("but later", passes(small) > passes("SMD"));
    Ok(outcome)
}

fn scale(context: &Context) -> Result<Outcome> {
    let found = context.result("smd-fig2")?.outcome;
    let mut outcome = Outcome::default();
    let exact = found.number("BFGS: final F")?;
    outcome.show("exact-match F of L-BFGS", "", exact);
    outcome.show("token-level F of SMD", "", found.number("SMD: token-level F")?);
    outcome
        .claim("exact match is near psa's 70.3, far below 85.8", (exact - 70.3).abs() < 3.0 && exact < 75.8);
    Ok(outcome)
}

const LAMBDAS: [f64; 3] = [0.9, 0.99, 1.0];

fn literal(context: &Context) -> Result<Outcome> {
    let task = TextTask::BaseNp.load(context)?;
    let mut outcome = Outcome::default();
    let run = |lambda: f64, largest: f64, gradient: BatchGradient| -> Result<f64> {
        let mut settings = smd(0.1, 8, 1);
        settings.parameters.gradient = Some(gradient);
        settings.passes = Some(passes(context.form, 3));
        settings.parameters.lambda = Some(lambda);
        settings.parameters.gain_factor = Some([0.5, largest]);
        settings.parameters.gain_floor = Some(0.0);
        Ok(task.learn(&settings, &[], None)?.final_f1())
    };
    let guarded = run(1.0, 1.1, BatchGradient::Sum)?;
    outcome.show("F with factors of at most 1.1, λ = 1", "", guarded);
    let mut works = false;
    for (name, gradient) in [("sum", BatchGradient::Sum), ("mean", BatchGradient::Mean)] {
        for lambda in LAMBDAS {
            let f = run(lambda, f64::MAX, gradient)?;
            outcome.show(format!("F without a bound, {name} of the gradients, λ = {lambda}"), "", f);
            works |= f >= guarded - 2.0;
        }
    }
    outcome.claim("the literal form works with one reading of the gradient of a batch", works);
    Ok(outcome)
}

fn permutations(context: &Context) -> Result<Outcome> {
    let task = TextTask::BaseNp.load(context)?;
    let mut outcome = Outcome::default();
    let mut range = [f64::INFINITY, f64::NEG_INFINITY];
    for seed in 1..=5 {
        let settings = Settings { passes: Some(passes(context.form, 6)), ..smd(0.1, 8, seed) };
        let f = task.learn(&settings, &[], None)?.final_f1();
        outcome.show(format!("F of SMD, seed {seed}"), "", f);
        range = [range[0].min(f), range[1].max(f)];
    }
    outcome.claim("the F-scores differ by at most 0.3", range[1] - range[0] <= 0.3);
    Ok(outcome)
}
