//! Why PSA's first pass ends further below L-BFGS here than in ctjpgis-psa-2007: the rule of its gains and one setting after
//! another are changed. This experiment was designed after psa-claims had been run, and keeps its bound.

use super::psa_claims::CLAIMS;
use super::psa_text::{psa, with};
use super::text_tasks::TextTask;
use crate::experiment::{Context, Experiment, Form, Outcome, Part};
use crfkit::Result;
use crfkit::optim::Adaptation;
use crfkit::train::{Method, Parameters, Settings};
use serde_json::json;

/// ctjpgis-psa-2007 section 4: a first pass with other settings and other methods.
pub const FIRST_PASS: Experiment = Experiment {
    id: "psa-first-pass",
    part: Part::Study,
    title: "psa section 4: what a first pass can reach on NLPBA and BioCreative II",
    needs: &["psa-fig1-nlpba", "psa-fig1-bc2"],
    tolerance: "that of psa-claims: within 1 point of L-BFGS's end",
    settings: |form| json!(runs(form)),
    run: first_pass,
    ..CLAIMS
};

/// One pass of each: PSA with other constants, PSA with the printed rule within several bounds, and other methods.
fn runs(form: Form) -> Vec<(&'static str, Settings)> {
    let psa = |change: fn(&mut Parameters)| {
        let mut settings = Settings { passes: Some(1), ..psa(form) };
        change(&mut settings.parameters);
        settings
    };
    // The paper does not give the bounds of the printed factor.
    let printed = |gain_factor: [f64; 2], gain_ceiling: f64| {
        let mut settings = psa(|p| p.psa_rule = Some(Adaptation::Printed));
        settings.parameters.gain_factor = Some(gain_factor);
        settings.parameters.gain_ceiling = Some(gain_ceiling);
        settings
    };
    vec![
        ("PSA", psa(|_| {})),
        ("PSA, η₀ = 0.05", psa(|p| p.eta0 = Some(0.05))),
        ("PSA, η₀ = 0.2", psa(|p| p.eta0 = Some(0.2))),
        ("PSA, period 5", psa(|p| p.period = Some(5))),
        ("PSA, period 20", psa(|p| p.period = Some(20))),
        ("PSA, α = 0.999", psa(|p| p.alpha = Some(0.999))),
        ("PSA, β = 0.999", psa(|p| p.beta = Some(0.999))),
        ("PSA, κ = 0.5", psa(|p| p.kappa = Some(0.5))),
        ("printed PSA, factor 0.9 to 1.1, gains to 10 η₀", printed([0.9, 1.1], 10.0)),
        ("printed PSA, factor 0.99 to 1.01, gains to 10 η₀", printed([0.99, 1.01], 10.0)),
        ("printed PSA, factor 0.5 to 2, gains to 10 η₀", printed([0.5, 2.0], 10.0)),
        ("printed PSA, factor 0.9 to 1.1, gains to 3 η₀", printed([0.9, 1.1], 3.0)),
        ("printed PSA, factor 0.9 to 1.1, gains to η₀", printed([0.9, 1.1], 1.0)),
        ("printed PSA, factor 0.9 to 1.1, gains to 100 η₀", printed([0.9, 1.1], 100.0)),
        ("AdaGrad", with(Method::Adagrad, Parameters::default(), Some(1))),
        (
            "SAGA",
            with(Method::Saga, Parameters { memory_limit: Some(8 << 30), ..Parameters::default() }, Some(1)),
        ),
    ]
}

fn first_pass(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (mut parts, mut ruled_out) = (Vec::new(), [true; 3]);
    for (task, name, id) in
        [(TextTask::Nlpba, "NLPBA", "psa-fig1-nlpba"), (TextTask::Bc2, "BioCreative II", "psa-fig1-bc2")]
    {
        let figure = context.result(id)?.outcome;
        let end = figure.number("L-BFGS: final exact-match F")?;
        outcome.show(format!("{name}: L-BFGS at its end, from {id}"), "", end);
        let data = task.load(context)?;
        let mut scores = Vec::new();
        for (method, settings) in runs(context.form) {
            (context.say)(&format!("{name}, {method}"));
            let f = data.learn(&settings, &[], None)?.final_f1();
            outcome.show(format!("{name}: {method}, one pass"), "", f);
            scores.push((method, f));
        }
        let best = |of: &[&str]| {
            let of = scores.iter().filter(|(method, _)| of.iter().any(|name| method.starts_with(name)));
            of.map(|(_, f)| *f).fold(0.0, f64::max)
        };
        let [first, psa, printed, others] =
            [scores[0].1, best(&["PSA"]), best(&["printed"]), best(&["AdaGrad", "SAGA"])];
        outcome.claim(format!("{name}: no constant brings PSA to within 1 point of L-BFGS"), psa < end - 1.0);
        outcome.claim(
            format!("{name}: the printed rule does not bring PSA to within 1 point of L-BFGS"),
            printed < end - 1.0,
        );
        for (out, best) in ruled_out.iter_mut().zip([psa, printed, others]) {
            *out &= best < end - 1.0;
        }
        let chart = figure.charts.first();
        let smd = chart.and_then(|chart| chart.lines.iter().find(|line| line.name == "SMD"));
        let there = smd.and_then(|line| line.points.iter().find(|[_, f]| *f >= first));
        let passes = there.map_or(f64::INFINITY, |[passes, _]| *passes);
        outcome.show(format!("{name}: passes of SMD to the F of PSA's first"), "never in figure 1", passes);
        outcome.claim(
            format!("{name}: SMD needs at least 3 times the passes of PSA to get there"),
            passes >= 3.0,
        );
        let smd = if passes.is_finite() { format!("after {passes:.1} passes") } else { "never".into() };
        parts.push(format!(
            "On {name} L-BFGS ends at {end:.1}; with eight choices of constants PSA's first pass ends at {psa:.1} at best, with the printed rule and six \
             choices of its bounds at {printed:.1}, the better of AdaGrad and SAGA at {others:.1}, and SMD gets to what PSA has ({first:.1}) {smd}.",
        ));
    }
    let suspects =
        ["PSA's constants", "the rule of its gains", "PSA alone: AdaGrad and SAGA are not there either"];
    let out: Vec<&str> =
        suspects.into_iter().zip(ruled_out).filter(|(_, out)| *out).map(|(name, _)| name).collect();
    let out = if out.is_empty() {
        "something that was tried here".into()
    } else {
        format!("not {}", out.join(", not "))
    };
    outcome.looked(CLAIMS.id, format!(
        "{out}. The paper's features are not listed, and parts of speech and stems are not in our data. {} That SMD never gets to PSA's first pass is \
         the paper's finding on both tasks; the bound of psa-claims asks for 0.3 points below L-BFGS.",
        parts.join(" ")
    ));
    Ok(outcome)
}
