//! Whether the batch, σ or the order of the sentences explains PSA's first pass in ctjpgis-psa-2007 figure 1. The paper gives none of them. Designed
//! after psa-first-pass had been run, and keeps its bound.

use super::psa_text::{FIGURE_1_BC2, FIGURE_1_NLPBA, psa};
use super::text_tasks::TextTask;
use super::why_psa::FIRST_PASS;
use crate::experiment::{Context, Experiment, Form, Outcome};
use crfkit::Result;
use crfkit::optim::BatchGradient;
use crfkit::train::Settings;
use serde_json::json;

/// ctjpgis-psa-2007 section 4: a first pass with other batches, σ and orders.
pub const BATCHES: Experiment = Experiment {
    id: "psa-first-pass-batches",
    title: "psa section 4: PSA's first pass on NLPBA and BioCreative II by batch size, by σ and by the order of the sentences",
    settings: |form| json!(runs(form)),
    run: batches,
    ..FIRST_PASS
};

/// One pass each. The paper gives neither b nor σ.
fn runs(form: Form) -> Vec<(&'static str, Settings)> {
    let run = |batch: usize, gradient: BatchGradient, sigma: f64, seed: u64| {
        let mut settings = Settings { passes: Some(1), sigma, seed, ..psa(form) };
        settings.parameters.batch = Some(batch);
        settings.parameters.gradient = Some(gradient);
        settings
    };
    let (mean, sum) = (BatchGradient::Mean, BatchGradient::Sum);
    vec![
        ("b = 2, mean", run(2, mean, 1.0, 1)),
        ("b = 6, mean", run(6, mean, 1.0, 1)),
        ("b = 6, sum", run(6, sum, 1.0, 1)),
        ("b = 1, σ = 3", run(1, mean, 3.0, 1)),
        ("b = 1, σ = 10", run(1, mean, 10.0, 1)),
        ("b = 1, seed 2", run(1, mean, 1.0, 2)),
        ("b = 1, seed 3", run(1, mean, 1.0, 3)),
    ]
}

fn batches(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for (task, name, figure) in
        [(TextTask::Nlpba, "NLPBA", FIGURE_1_NLPBA), (TextTask::Bc2, "BioCreative II", FIGURE_1_BC2)]
    {
        let end = context.result(figure.id)?.outcome.number("L-BFGS: final exact-match F")?;
        outcome.show(format!("{name}: L-BFGS at its end, from {}", figure.id), "", end);
        let data = task.load(context)?;
        let mut best = ("", 0.0);
        for (what, settings) in runs(context.form) {
            (context.say)(&format!("{name}, {what}"));
            let f = data.learn(&settings, &[], None)?.final_f1();
            outcome.show(format!("{name}: PSA, {what}, one pass"), "", f);
            if f > best.1 {
                best = (what, f);
            }
        }
        let (what, f) = best;
        outcome.claim(
            format!("{name}: neither batch, σ nor order brings PSA to within 1 point of L-BFGS"),
            f < end - 1.0,
        );
        let text = format!("PSA's first pass ends at {f:.1} at best ({what}), L-BFGS at {end:.1}.");
        match f < end - 1.0 {
            true => outcome
                .looked(figure.id, format!("not the batch size, σ or the order of the sentences: {text}")),
            false => outcome.because(
                figure.id,
                &["PSA: F after 1."],
                format!("a constant that the paper does not give: {text}"),
            ),
        }
    }
    Ok(outcome)
}
