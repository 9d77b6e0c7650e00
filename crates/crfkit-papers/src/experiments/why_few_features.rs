//! Whether fewer features explain the order of the methods in smd-crf-2006 figure 2: the paper has 106,583 and a step that suits them. Designed
//! after the figure had been run, and keeps its tolerances.

use super::smd_text::{CLAIMS_2, FIGURE_2, figure, methods, token_level};
use super::text_tasks::{TextTask, passes};
use crate::experiment::{Context, Experiment, Form, Outcome, Part, none};
use crfkit::Result;
use crfkit::train::Settings;
use serde_json::json;

/// smd-crf-2006 figure 2 with fewer features.
pub const FEW: Experiment = Experiment {
    id: "smd-fig2-features",
    part: Part::Study,
    title: "smd figure 2 with fewer features: the words beside a token and its own orthography",
    version: 1,
    needs: &["smd-fig2"],
    review: none,
    tolerance: "those of smd-fig2 and smd-claims2: the order of the methods; `the same` is 0.7 points",
    settings: |form| json!({"kept": KEPT, "and": "tests of the token's own orthography, label pairs", "methods": shorter(form)}),
    run: few,
    ..FIGURE_2
};

/// Which templates of the preset are kept besides the orthographic tests, whose names are in capitals.
const KEPT: [&str; 3] = ["U:w[-1]=", "U:w[0]=", "U:w[1]="];

fn kept(line: &str) -> bool {
    let test =
        || line.strip_prefix("U:").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
    KEPT.iter().any(|start| line.starts_with(start)) || test() || line == "B"
}

/// The methods of figure 2, with fewer passes.
fn shorter(form: Form) -> Vec<(&'static str, Settings)> {
    let mut methods = methods(TextTask::Nlpba, form);
    for (name, settings) in &mut methods {
        settings.passes = Some(if *name == "BFGS" { form.pick(300, 5) } else { passes(form, 30) });
    }
    methods
}

fn few(context: &Context) -> Result<Outcome> {
    let task = TextTask::Nlpba;
    let data = task.load_with(context, task.preset(), kept)?;
    let methods = shorter(context.form);
    let (mut outcome, curves) = figure(context, &data, methods.clone(), ("psa's L-BFGS", 70.33))?;
    outcome.show("features", "106583", data.features(&Settings::default()).dim() as f64);
    for ((name, settings), (_, curve)) in methods.iter().zip(&curves) {
        outcome.show(format!("{name}: final F"), "", curve.final_f1());
        token_level(&mut outcome, &data, name, settings, curve)?;
    }
    let f = |name: &str| {
        curves.iter().find(|(found, _)| *found == name).map_or(f64::NAN, |(_, curve)| curve.final_f1())
    };
    let passes = |name: &str, target: f64| {
        let found = curves.iter().find(|(found, _)| *found == name);
        found.map_or(f64::INFINITY, |(_, curve)| curve.passes_to(target))
    };
    let [smd, sgd, bfgs, perceptron, small] = ["SMD", "SGD", "BFGS", "CP", "SGD, small η₀"].map(f);
    let near = bfgs - 0.3;
    // The claims of smd-claims2 and smd-fig2, by the name of the experiment.
    let claims = [
        ("smd-claims2", "SMD and BFGS end at the same F", (smd - bfgs).abs() < 0.7),
        ("smd-claims2", "SMD ends above SGD, SGD above the perceptron", smd > sgd && sgd > perceptron),
        (
            "smd-claims2",
            "SMD gets there in fewer passes than BFGS",
            passes("SMD", near) < passes("BFGS", near),
        ),
        ("smd-claims2", "SGD with a small η₀ ends where SMD does", (small - smd).abs() < 0.7),
        ("smd-claims2", "but later", passes("SGD, small η₀", near) > passes("SMD", near)),
        ("smd-fig2", "SMD and SGD end above the perceptron", smd > perceptron && sgd > perceptron),
    ];
    for (_, text, holds) in claims {
        outcome.claim(text, holds);
    }
    let text = format!(
        "With {} features instead of those of smd-fig2, and the paper's settings, SMD ends at {smd:.1}, SGD at {sgd:.1}, BFGS at {bfgs:.1}, the perceptron at {perceptron:.1}, \
         and SGD with a tenth of the gain at {small:.1}.",
        data.features(&Settings::default()).dim()
    );
    for of in [FIGURE_2.id, CLAIMS_2.id] {
        let explained: Vec<&str> =
            claims.iter().filter(|(id, _, holds)| *id == of && *holds).map(|(_, text, _)| *text).collect();
        match explained.is_empty() {
            false => outcome.because(of, &explained, format!("the features. {text}")),
            true => outcome.looked(of, format!("not the number of features alone. {text}")),
        }
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn words_nearby_and_orthography_are_kept() {
        assert!(kept("U:w[-1]=%x[-1,0]") && kept("U:HASDASH=%t[0,0,\"-\"]") && kept("B"));
        assert!(
            !kept("U:w[-2]=%x[-2,0]") && !kept("U:shape[1]=x") && !kept("U:w[-1,0]=x") && !kept("# Words.")
        );
    }
}
