//! Which F-score is 85.8 on NLPBA in smd-crf-2006: the F-scores of the same runs by other measures. Designed after smd-fig2 had been run.

use super::smd_text::FIGURE_2;
use crate::experiment::{Context, Experiment, Outcome, Part, none};
use crfkit::Result;
use serde_json::json;

/// smd-crf-2006 section 4.2: other measures of the F-score.
pub const MEASURES: Experiment = Experiment {
    id: "smd-nlpba-measures",
    row: 109,
    part: Part::Study,
    title: "smd section 4.2: F-scores on NLPBA by entities, by tokens, and by tokens whatever the type of entity",
    version: 1,
    needs: &["smd-fig2", "smd-fig2-steps"],
    review: none,
    tolerance: "that of smd-nlpba-f: with one measure F is within 1.4 points of the paper's, for BFGS and for the perceptron",
    settings: |_| json!({"runs": RUNS.map(|(method, _, id, run)| [method, id, run]), "measures": MEASURE_NAMES}),
    run: measures,
    ..FIGURE_2
};

/// The paper's method and its F, the experiment that has our run of it and the run's name there. The runs of SMD and SGD are those with a
/// smaller η₀ (see smd-fig2-steps).
const RUNS: [(&str, f64, &str, &str); 5] = [
    ("BFGS", 85.8, "smd-fig2", "BFGS"),
    ("CP", 83.0, "smd-fig2", "CP"),
    ("SGD, small η₀", 85.8, "smd-fig2", "SGD, small η₀"),
    ("SMD", 85.8, "smd-fig2-steps", "SMD, η₀ = 0.01"),
    ("SGD", 85.2, "smd-fig2-steps", "SGD, η₀ = 0.001"),
];

/// The names of the measures: of whole entities, of tokens by their labels, and of tokens by whether they are part of an entity.
const MEASURE_NAMES: [&str; 3] = ["final F", "token-level F", "token-level F, entity or not"];

/// How far a measure may be from the paper's F.
const NEAR: f64 = 1.4;

fn measures(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut parts = Vec::new();
    // Which methods are near the paper, by measure.
    let mut near: [Vec<&str>; 3] = Default::default();
    for (method, paper, id, run) in RUNS {
        let found = context.result(id)?.outcome;
        let mut all = Vec::new();
        for (measure, near) in MEASURE_NAMES.iter().zip(&mut near) {
            // A run that diverged has no labels.
            let Ok(ours) = found.number(&format!("{run}: {measure}")) else { continue };
            outcome.show(format!("{run}: {measure}"), &paper.to_string(), ours);
            all.push(format!("{ours:.1}"));
            if (ours - paper).abs() <= NEAR {
                near.push(method);
            }
        }
        parts.push(format!("{run} has {} (paper: {paper})", all.join(", ")));
    }
    let both = |near: &[&str]| ["BFGS", "CP"].iter().all(|method| near.contains(method));
    let found = (0..MEASURE_NAMES.len()).find(|&k| both(&near[k]));
    outcome.claim("by one measure BFGS and the perceptron have the paper's F", found.is_some());
    let text = format!(
        "by entities, by tokens, and by tokens that are part of an entity, of whatever type: {}. The paper does not say how it counts.",
        parts.join("; ")
    );
    match found.filter(|&k| k > 0) {
        Some(k) => {
            let mut explained: Vec<String> =
                near[k].iter().map(|method| format!("{method}: final F")).collect();
            explained.extend(["exact-match F of L-BFGS".into(), "token-level F of SMD".into()]);
            let explained: Vec<&str> = explained.iter().map(String::as_str).collect();
            let text =
                format!("the measure. The paper's numbers are near those of `{}`; {text}", MEASURE_NAMES[k]);
            outcome.because("smd-fig2", &explained, text);
        }
        None => outcome.looked("smd-fig2", format!("none of three measures. F {text}")),
    }
    Ok(outcome)
}
