//! ctjpgis-psa-2007 section 4, table 1 and figure 1, and the ensemble of section 5.

use super::text_tasks::{TextTask, f1_with_alternatives, passes};
use super::{psa_table, reviews};
use crate::chart::Chart;
use crate::experiment::{Context, Experiment, Form, Outcome, Part};
use crate::learning::{Curve, EARLY, Point, Task};
use crfkit::Result;
use crfkit::eval::Scores;
use crfkit::model::Keep;
use crfkit::optim::{Adaptation, BatchGradient, Stop};
use crfkit::train::{Method, Parameters, Settings};
use serde_json::{Value, json};

/// ctjpgis-psa-2007 table 1: base NP.
pub const TABLE_1_CONLL: Experiment = Experiment {
    id: "psa-table1-conll",
    row: 100,
    title: "psa table 1: L-BFGS, CTJPGIS and PGIS on CoNLL-2000 (base NP)",
    version: 1,
    data: TextTask::BaseNp.data(),
    needs: &[],
    tolerance: "final F 0.5 points; iterations, and seconds over those of L-BFGS, a quarter of the paper's",
    part: Part::Paper,
    review: |outcome| psa_table::review(outcome, TextTask::BaseNp),
    inconsistent: None,
    settings: |form| settings(TextTask::BaseNp, form),
    run: |context| table_1(context, TextTask::BaseNp),
};
/// ctjpgis-psa-2007 table 1: NLPBA.
pub const TABLE_1_NLPBA: Experiment = Experiment {
    id: "psa-table1-nlpba",
    title: "psa table 1: L-BFGS, CTJPGIS and PGIS on BioNLP/NLPBA-2004",
    data: TextTask::Nlpba.data(),
    tolerance: "final F 2 points: other features; iterations, and seconds over those of L-BFGS, a quarter of the paper's",
    review: |outcome| psa_table::review(outcome, TextTask::Nlpba),
    settings: |form| settings(TextTask::Nlpba, form),
    run: |context| table_1(context, TextTask::Nlpba),
    ..TABLE_1_CONLL
};
/// ctjpgis-psa-2007 table 1: BioCreative II.
pub const TABLE_1_BC2: Experiment = Experiment {
    id: "psa-table1-bc2",
    title: "psa table 1: L-BFGS, CTJPGIS and PGIS on BioCreative II",
    data: TextTask::Bc2.data(),
    tolerance: "final F with the alternatives 3 points: other features, no stems or parts of speech; iterations, and seconds over \
                those of L-BFGS, a quarter of the paper's",
    review: |outcome| psa_table::review(outcome, TextTask::Bc2),
    settings: |form| settings(TextTask::Bc2, form),
    run: |context| table_1(context, TextTask::Bc2),
    ..TABLE_1_CONLL
};
/// ctjpgis-psa-2007 figure 1, left: base NP.
pub const FIGURE_1_CONLL: Experiment = Experiment {
    id: "psa-fig1-conll",
    review: reviews::narrowed,
    row: 101,
    title: "psa figure 1, left: PSA, SMD and L-BFGS on CoNLL-2000 (base NP), 50 passes",
    version: 3,
    needs: &["psa-table1-conll"],
    tolerance: "the order of the methods after 1 and after 50 passes; F of PSA 0.5 points, with both rules of its gains",
    settings: |form| figure_settings(TextTask::BaseNp, form),
    run: |context| figure_1(context, TextTask::BaseNp, "psa-table1-conll"),
    ..TABLE_1_CONLL
};
/// ctjpgis-psa-2007 figure 1, centre: NLPBA.
pub const FIGURE_1_NLPBA: Experiment = Experiment {
    id: "psa-fig1-nlpba",
    title: "psa figure 1, centre: PSA, SMD and L-BFGS on BioNLP/NLPBA-2004, 50 passes",
    data: TextTask::Nlpba.data(),
    needs: &["psa-table1-nlpba"],
    tolerance: "the order of the methods after 1 and after 50 passes; F of PSA 2.5 points",
    review: |outcome| {
        reviews::narrowed(outcome);
        reviews::psa_above_lbfgs(outcome);
    },
    settings: |form| figure_settings(TextTask::Nlpba, form),
    run: |context| figure_1(context, TextTask::Nlpba, "psa-table1-nlpba"),
    ..FIGURE_1_CONLL
};
/// ctjpgis-psa-2007 figure 1, right: BioCreative II.
pub const FIGURE_1_BC2: Experiment = Experiment {
    id: "psa-fig1-bc2",
    title: "psa figure 1, right: PSA, SMD and L-BFGS on BioCreative II, 50 passes",
    data: TextTask::Bc2.data(),
    needs: &["psa-table1-bc2"],
    tolerance: "the order of the methods after 1 and after 50 passes; F of PSA with the alternatives 3 points",
    review: reviews::narrowed,
    settings: |form| figure_settings(TextTask::Bc2, form),
    run: |context| figure_1(context, TextTask::Bc2, "psa-table1-bc2"),
    ..FIGURE_1_CONLL
};
/// Figure 1, left, with current methods.
pub const OTHERS_CONLL: Experiment = Experiment {
    id: "psa-fig1-conll-others",
    part: Part::Study,
    title: "psa figure 1, left, with methods of today",
    version: 2,
    needs: &["psa-fig1-conll"],
    tolerance: "auto comes to within 0.3 points of L-BFGS in at most a tenth of its passes",
    settings: |form| json!(others(form)),
    run: |context| figure_1_others(context, TextTask::BaseNp, "psa-fig1-conll"),
    ..FIGURE_1_CONLL
};
/// Figure 1, centre, with current methods.
pub const OTHERS_NLPBA: Experiment = Experiment {
    id: "psa-fig1-nlpba-others",
    title: "psa figure 1, centre, with methods of today",
    data: TextTask::Nlpba.data(),
    needs: &["psa-fig1-nlpba"],
    run: |context| figure_1_others(context, TextTask::Nlpba, "psa-fig1-nlpba"),
    ..OTHERS_CONLL
};
/// Figure 1, right, with current methods.
pub const OTHERS_BC2: Experiment = Experiment {
    id: "psa-fig1-bc2-others",
    title: "psa figure 1, right, with methods of today",
    data: TextTask::Bc2.data(),
    needs: &["psa-fig1-bc2"],
    run: |context| figure_1_others(context, TextTask::Bc2, "psa-fig1-bc2"),
    ..OTHERS_CONLL
};
/// ctjpgis-psa-2007 section 5: the ensemble of the models of L-BFGS and CTJPGIS.
pub const ENSEMBLE: Experiment = Experiment {
    id: "psa-ensemble",
    review: reviews::psa_ensemble,
    row: 116,
    title: "psa section 5: mean marginals of the models of L-BFGS and CTJPGIS on BioCreative II",
    version: 2,
    data: TextTask::Bc2.data(),
    needs: &["psa-table1-bc2"],
    tolerance: "the ensemble is at least as good as the better of the two",
    settings: |_| json!({"models": "those of psa-table1-bc2", "decoding": "largest mean marginal of each token"}),
    run: ensemble,
    ..TABLE_1_CONLL
};

/// The settings of CRF++: a weight for every label of every observation; σ = 1.
pub(super) fn with(optimizer: Method, parameters: Parameters, passes: Option<usize>) -> Settings {
    Settings { optimizer, parameters, passes, features: Keep::All, ..Settings::default() }
}

/// The number of evaluations after which a method of table 1 is stopped, whatever its rule says.
pub(super) fn limit(form: Form) -> usize {
    form.pick(5000, 5)
}

/// The methods of table 1, all of which stop by the rule of CRF++: three changes of the objective in a row by less than 1e-4 of it.
fn table_methods(form: Form) -> [Settings; 3] {
    let stop = Parameters { change: Some(1e-4), tolerance: Some(0.0), ..Parameters::default() };
    let limit = Some(limit(form));
    let jumps = Parameters { gamma_max: Some(0.999), ..stop.clone() };
    [
        with(Method::Lbfgs, stop.clone(), limit),
        with(Method::Ctjpgis, jumps, limit),
        with(Method::Pgis, stop, limit),
    ]
}

pub(super) fn psa(form: Form) -> Settings {
    let parameters = Parameters {
        batch: Some(1),
        eta0: Some(0.1),
        gradient: Some(BatchGradient::Mean),
        period: Some(10),
        ..Parameters::default()
    };
    with(Method::Psa, parameters, Some(passes(form, 50)))
}

/// PSA with the rule of eq. 5 as it is printed; the paper does not give the bounds of the factor, so they are those of the library.
fn printed(form: Form) -> Settings {
    let mut settings = psa(form);
    settings.parameters.psa_rule = Some(Adaptation::Printed);
    settings
}

fn smd(task: TextTask, form: Form) -> Settings {
    let (batch, mu) = if task == TextTask::BaseNp { (8, 0.1) } else { (6, 0.02) };
    let parameters = Parameters {
        batch: Some(batch),
        eta0: Some(0.1),
        mu: Some(mu),
        lambda: Some(1.0),
        ..Parameters::default()
    };
    with(Method::Smd, parameters, Some(passes(form, 50)))
}

fn settings(task: TextTask, form: Form) -> Value {
    json!({"template": task.preset(), "methods": table_methods(form)})
}

fn figure_settings(task: TextTask, form: Form) -> Value {
    json!({"template": task.preset(), "early": EARLY, "methods": [psa(form), printed(form), smd(task, form)],
        "L-BFGS": "from table 1"})
}

/// The F-score that the paper reports for a task; for BioCreative II it includes the alternatives.
fn reported_f(
    context: &Context,
    which: TextTask,
    task: &Task,
    theta: &[f64],
    settings: &Settings,
) -> Result<f64> {
    if which != TextTask::Bc2 {
        return Ok(task.scores(&task.features(settings), theta, settings)?.f1);
    }
    let predicted = task.label(&mut [task.tagger(theta, settings)])?;
    f1_with_alternatives(context, task, &predicted)
}

/// What the table's models of L-BFGS and CTJPGIS reach together.
const TOGETHER: &str = "L-BFGS and CTJPGIS, mean marginals: F with the alternatives";

fn table_1(context: &Context, which: TextTask) -> Result<Outcome> {
    let task = which.load(context)?;
    let mut outcome = Outcome::default();
    let (mut finals, mut iterations, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    let mut taggers = Vec::new();
    let methods: Vec<_> = psa_table::METHODS.into_iter().zip(table_methods(context.form)).collect();
    for (name, settings) in &methods {
        (context.say)(name);
        let curve = task.learn(settings, &[], None)?;
        let f = reported_f(context, which, &task, &curve.theta, settings)?;
        let last = curve.last().map_or([f64::NAN; 2], |point| [point.seconds, point.passes]);
        outcome.show(format!("{name}: seconds"), "", last[0]);
        outcome.show(format!("{name}: iterations"), "", last[1]);
        outcome.show(format!("{name}: F"), "", f);
        if which == TextTask::Bc2 && taggers.len() < 2 && curve.stop.is_some() {
            taggers.push(task.tagger(&curve.theta, settings));
        }
        finals.push(curve.final_f1());
        iterations.push(last[1]);
        lines.push(curve);
    }
    if taggers.len() == 2 {
        // For section 5.
        let f = f1_with_alternatives(context, &task, &task.label(&mut taggers)?)?;
        outcome.show(TOGETHER, "", f);
    }
    outcome.claim("CTJPGIS ends within 0.5 points of L-BFGS", (finals[1] - finals[0]).abs() < 0.5);
    let pgis_then = lines[2].points.iter().rfind(|p| p.passes <= iterations[1]).map_or(0.0, |p| p.scores.f1);
    outcome.claim(
        "CTJPGIS accelerates PGIS: after as many evaluations PGIS has a lower F",
        pgis_then < finals[1],
    );
    outcome.charts.push(Chart {
        name: "curves".into(),
        title: "F-score on the test set".into(),
        x: "evaluations of the training set".into(),
        y: "F1, %".into(),
        log_x: true,
        lines: methods.iter().zip(&lines).map(|((name, _), curve)| curve.line(name)).collect(),
        ..Chart::default()
    });
    Ok(outcome)
}

/// F1 of a run after this many passes; NaN if it was not known by then.
fn at(curve: &Curve, passes: f64) -> f64 {
    curve.points.iter().rfind(|p| p.passes <= passes + 1e-9).map_or(f64::NAN, |p| p.scores.f1)
}

/// How soon a method comes near `end`, the last F1 of L-BFGS.
fn race(outcome: &mut Outcome, name: &str, curve: &Curve, end: f64) {
    let mut show = |what: &str, value: f64| outcome.show(format!("{name}: {what}"), "", value);
    show("exact-match F after 1 pass", at(curve, 1.0));
    show("passes to within 1 point of L-BFGS", curve.passes_to(end - 1.0));
    show("passes to within 0.3 points of L-BFGS", curve.passes_to(end - 0.3));
    show("seconds to within 0.3 points of L-BFGS", curve.seconds_to(end - 0.3));
}

/// Current methods, ten passes each unless they stop earlier.
fn others(form: Form) -> [(&'static str, Settings); 5] {
    let ten = Some(passes(form, 10));
    let averaged = Settings { passes: ten, features: Keep::All, ..Settings::perceptron(true) };
    [
        ("auto", with(Method::Auto, Parameters::default(), None)),
        ("AdaGrad", with(Method::Adagrad, Parameters::default(), ten)),
        ("SGD, Bottou's gain", with(Method::Bottou, Parameters::default(), ten)),
        ("averaged SGD", with(Method::Asgd, Parameters::default(), ten)),
        ("averaged perceptron", averaged),
    ]
}

fn figure_1_others(context: &Context, which: TextTask, figure: &str) -> Result<Outcome> {
    let found = context.result(figure)?.outcome;
    let end = found.number("L-BFGS: final exact-match F")?;
    let task = which.load(context)?;
    let mut outcome = Outcome::default();
    let mut lines: Vec<_> = found.charts.first().map_or(Vec::new(), |chart| chart.lines.clone());
    for (name, settings) in others(context.form) {
        (context.say)(name);
        let curve = task.learn(&settings, &[], None)?;
        race(&mut outcome, name, &curve, end);
        outcome.show(format!("{name}: passes made"), "", curve.last().map_or(f64::NAN, |point| point.passes));
        outcome.show(format!("{name}: exact-match F after them"), "", curve.final_f1());
        lines.push(curve.line(name));
    }
    let passes = |found: &Outcome, name: &str| {
        found.number(&format!("{name}: passes to within 0.3 points of L-BFGS")).unwrap_or(f64::INFINITY)
    };
    outcome.claim(
        "auto comes to within 0.3 points of L-BFGS in at most a tenth of its passes",
        10.0 * passes(&outcome, "auto") <= passes(&found, "L-BFGS"),
    );
    if let Some(chart) = found.charts.first() {
        outcome.charts.push(Chart { lines, ..chart.clone() });
    }
    Ok(outcome)
}

/// The run of L-BFGS in the result of a table. The seconds of its points are at the mean pace.
fn stored_lbfgs(found: &Outcome) -> Result<Curve> {
    let pace = found.number("L-BFGS: seconds")? / found.number("L-BFGS: iterations")?;
    let mut lines = found.charts.iter().flat_map(|chart| &chart.lines);
    let points = lines.find(|line| line.name == "L-BFGS").map_or(&[][..], |line| &line.points);
    let point = |&[passes, f1]: &[f64; 2]| Point {
        passes,
        seconds: passes * pace,
        scores: Scores { f1, ..Scores::default() },
    };
    Ok(Curve { points: points.iter().map(point).collect(), theta: Vec::new(), stop: Some(Stop::Change) })
}

fn figure_1(context: &Context, which: TextTask, table: &str) -> Result<Outcome> {
    // PSA's passes and F in the text, its last F, and the tolerance of both.
    let (early, first, last, tolerance) = match which {
        TextTask::BaseNp => (1.12, 93.6, 94.05, 0.5),
        TextTask::Nlpba => (1.01, 70.0, 71.4, 2.5),
        TextTask::Bc2 => (1.12, 85.0, 86.46, 3.0),
    };
    let task = which.load(context)?;
    let mut outcome = Outcome::default();
    let form = context.form;
    let methods = [("PSA", psa(form)), ("PSA as printed", printed(form)), ("SMD", smd(which, form))];
    let mut curves = Vec::new();
    for (name, settings) in &methods {
        (context.say)(name);
        curves.push(task.learn(settings, &EARLY, None)?);
    }
    for ((name, settings), curve) in methods.iter().zip(&curves).take(2) {
        let short = task.learn(settings, &[], Some(early))?;
        for (what, paper, run) in [(format!("{early}"), first, &short), ("50".into(), last, curve)] {
            let f = match run.stop {
                Some(_) => reported_f(context, which, &task, &run.theta, settings)?,
                None => f64::NAN,
            };
            outcome.compare(format!("{name}: F after {what} passes"), paper, f, tolerance);
        }
    }
    curves.push(stored_lbfgs(&context.result(table)?.outcome)?);
    let names = methods.iter().map(|(name, _)| *name).chain(["L-BFGS"]);
    let [psa, _, smd, lbfgs] = &curves[..] else { return Ok(outcome) };
    for (name, curve) in names.clone().zip(&curves) {
        race(&mut outcome, name, curve, lbfgs.final_f1());
        outcome.show(format!("{name}: exact-match F after 50 passes"), "", at(curve, 50.0));
    }
    outcome.show("L-BFGS: final exact-match F", "", lbfgs.final_f1());
    outcome.claim("after 1 pass PSA is ahead of SMD", at(psa, 1.0) > at(smd, 1.0));
    outcome.claim("after 1 pass both are ahead of L-BFGS", at(psa, 1.0).min(at(smd, 1.0)) > at(lbfgs, 1.0));
    outcome.claim(
        "after 50 passes PSA is at least as good as SMD, within 0.15",
        at(psa, 50.0) > at(smd, 50.0) - 0.15,
    );
    outcome.charts.push(Chart {
        name: "curves".into(),
        title: "F-score on the test set (exact match)".into(),
        x: "passes".into(),
        y: "F1, %".into(),
        log_x: true,
        lines: names.zip(&curves).map(|(name, curve)| curve.line(name)).collect(),
        ..Chart::default()
    });
    outcome.note(format!("L-BFGS is the run of {table}, which stops by CRF++'s rule."));
    Ok(outcome)
}

fn ensemble(context: &Context) -> Result<Outcome> {
    let found = context.result("psa-table1-bc2")?.outcome;
    let mut outcome = Outcome::default();
    let singles = [found.number("L-BFGS: F")?, found.number("CTJPGIS: F")?];
    outcome.show("L-BFGS: F with the alternatives", "", singles[0]);
    outcome.show("CTJPGIS: F with the alternatives", "", singles[1]);
    let both = found.number(TOGETHER)?;
    outcome.show("both: F with the alternatives", ">87", both);
    outcome.claim(
        "the ensemble is at least as good as the better of the two",
        both >= singles[0].max(singles[1]),
    );
    Ok(outcome)
}
