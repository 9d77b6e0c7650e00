//! Why PSA's first pass ends further below L-BFGS here than in ctjpgis-psa-2007: one setting after another is
//! changed. This experiment was designed after psa-claims had been run, and keeps its bound.

use super::psa_claims::CLAIMS;
use super::psa_text::{psa, with};
use super::text_tasks::TextTask;
use crate::experiment::{Context, Experiment, Form, Outcome, Part};
use crfkit::Result;
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

/// One pass of each: PSA with other constants, and other methods.
fn runs(form: Form) -> Vec<(&'static str, Settings)> {
    let psa = |change: fn(&mut Parameters)| {
        let mut settings = Settings { passes: Some(1), ..psa(form) };
        change(&mut settings.parameters);
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
        ("AdaGrad", with(Method::Adagrad, Parameters::default(), Some(1))),
        (
            "SAGA",
            with(Method::Saga, Parameters { memory_limit: Some(8 << 30), ..Parameters::default() }, Some(1)),
        ),
    ]
}

fn first_pass(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut parts = Vec::new();
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
            scores.push(f);
        }
        let [psa, others] = [&scores[..8], &scores[8..]].map(|f| f.iter().copied().fold(0.0, f64::max));
        outcome.claim(format!("{name}: no constant brings PSA to within 1 point of L-BFGS"), psa < end - 1.0);
        let chart = figure.charts.first();
        let smd = chart.and_then(|chart| chart.lines.iter().find(|line| line.name == "SMD"));
        let there = smd.and_then(|line| line.points.iter().find(|[_, f]| *f >= scores[0]));
        let passes = there.map_or(f64::INFINITY, |[passes, _]| *passes);
        outcome.show(format!("{name}: passes of SMD to the F of PSA's first"), "never in figure 1", passes);
        outcome.claim(
            format!("{name}: SMD needs at least 3 times the passes of PSA to get there"),
            passes >= 3.0,
        );
        let smd = if passes.is_finite() { format!("after {passes:.1} passes") } else { "never".into() };
        parts.push(format!(
            "On {name} L-BFGS ends at {end:.1}; with eight choices of constants PSA's first pass ends at {psa:.1} at best, the better of AdaGrad and SAGA at \
             {others:.1}, and SMD gets to what PSA has ({:.1}) {smd}.",
            scores[0]
        ));
    }
    outcome.looked(CLAIMS.id, format!(
        "not PSA's constants, which change little, and not PSA alone: no method here is where the paper's PSA was after one pass. What makes \
         the difference is not found; the paper's features are not told, and parts of speech and stems are not in our data. {} That SMD never gets to PSA's first pass is \
         the paper's finding on both tasks; the bound of psa-claims asks for 0.3 points below L-BFGS, where neither of them comes.",
        parts.join(" ")
    ));
    Ok(outcome)
}
