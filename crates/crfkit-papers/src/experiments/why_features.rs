//! The features that the papers name and the presets of the other experiments do not have: how many there are, and what they change.
//! Designed after those experiments had been run.

use super::psa_text::psa;
use super::pwpl_graphs::seminars_score;
use super::text_tasks::TextTask;
use crate::corpora::{BC2GM, BIONLP2004, CONLL2000, SEMINARS};
use crate::experiment::{Context, Experiment, Form, Outcome, Part, none};
use crate::learning::Task;
use crfkit::Result;
use crfkit::train::{Method, Parameters, Settings};
use serde_json::json;

/// smd-crf-2006 section 4, ctjpgis-psa-2007 section 4, pwpl-2007 section 4.2: features.
pub const FEATURES: Experiment = Experiment {
    id: "text-features",
    row: 63,
    part: Part::Study,
    title: "features that the papers name: Settles' orthography and conjunctions, first mentions, and how many features there are",
    version: 1,
    data: &[CONLL2000, BIONLP2004, BC2GM, SEMINARS],
    needs: &[],
    tolerance: "none: the papers' counts are shown, and what other features change in F",
    inconsistent: None,
    settings: |form| {
        json!({"presets": PRESETS, "optimum": saga(form), "first pass": first_pass(form), "first mentions": FIRST_MENTION,
        "seminars": "PWPL on skip chains, as pwpl-table2"})
    },
    run,
    review: none,
};

/// The preset of the other experiments, and the features of Settles (2004).
const PRESETS: [&str; 2] = ["bio", "settles"];

/// Whether the word was there before, alone and with its capital (McCallum and Li 2003, Sutton and McCallum 2004).
const FIRST_MENTION: &str = "U:seen=%seen[0,0]\nU:seen-capital=%seen[0,0]/%t[0,0,\"^\\u\"]\nU:seen-next=%seen[1,0]/%t[1,0,\"^\\u\"]\n";

/// SAGA to within a thousandth of the optimum.
fn saga(form: Form) -> Settings {
    let parameters =
        Parameters { tolerance: Some(1e-3), memory_limit: Some(8 << 30), ..Parameters::default() };
    Settings { optimizer: Method::Saga, parameters, passes: Some(form.pick(40, 2)), ..Settings::default() }
}

/// One pass of PSA, as in psa-first-pass.
fn first_pass(form: Form) -> Settings {
    Settings { passes: Some(1), ..psa(form) }
}

fn count(task: &Task) -> f64 {
    task.features(&Settings::default()).dim() as f64
}

fn run(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let base = TextTask::BaseNp.load(context)?;
    outcome.show("base NP, preset chunking: features seen in training", "330731", count(&base));
    let mut changed = Vec::new();
    for (task, name, papers) in [(TextTask::Nlpba, "NLPBA", "106583"), (TextTask::Bc2, "BioCreative II", "")]
    {
        let mut scores = Vec::new();
        for preset in PRESETS {
            (context.say)(&format!("{name}, preset {preset}"));
            let data = task.load_with(context, preset, |_| true)?;
            outcome.show(format!("{name}, preset {preset}: features seen in training"), papers, count(&data));
            let [end, first] = [saga(context.form), first_pass(context.form)]
                .map(|settings| data.learn(&settings, &[], None).map(|curve| curve.final_f1()));
            let [end, first] = [end?, first?];
            outcome.show(format!("{name}, preset {preset}: F near the optimum"), "", end);
            outcome.show(format!("{name}, preset {preset}: F after one pass of PSA"), "", first);
            scores.push([end, first]);
        }
        let text = "with the features of Settles F changes by less than 1 point, near the optimum and after one pass of PSA";
        let near = |k: usize| (scores[1][k] - scores[0][k]).abs() < 1.0;
        outcome.claim(format!("{name}: {text}"), near(0) && near(1));
        changed.push(format!(
            "on {name} F is {:.2} instead of {:.2} near the optimum, and {:.2} instead of {:.2} after one pass of PSA",
            scores[1][0], scores[0][0], scores[1][1], scores[0][1]
        ));
    }
    (context.say)("NLPBA without conjunctions");
    let of_neighbours = |line: &str| line.contains("[-1]=") || line.contains("[1]=");
    let alone = TextTask::Nlpba.load_with(context, PRESETS[1], |line| !of_neighbours(line))?;
    outcome.show(
        "NLPBA, preset settles without conjunctions: features seen in training",
        "106583",
        count(&alone),
    );
    for (name, more) in [("preset seminars", ""), ("preset seminars and first mentions", FIRST_MENTION)] {
        (context.say)(name);
        let mean = seminars_score(context, more)?;
        outcome.show(format!("seminars, {name}: mean F1 of the fields by PWPL"), "", mean);
    }
    outcome.looked(
        "psa-claims",
        format!("not the orthographic features that Settles names: with them {}.", changed.join("; ")),
    );
    outcome.note(
        "Counts are of (observation, label) pairs seen in training and of label pairs. That of smd-crf-2006 for NLPBA is smaller than the number \
         of words in their neighbourhoods alone allows with ours: which of them the paper has is not stated.",
    );
    outcome.note("Word lists are not public; `%list` and `%map` of templates take such files from users.");
    Ok(outcome)
}
