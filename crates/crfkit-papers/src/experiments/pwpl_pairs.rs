//! pwpl-2007 table 1 on names again, with the paper's own factors ψ_t(y_{t−1}, y_t, x_t): every observation is a
//! feature of a pair of labels, as in McCallum and Li 2003, and none is a feature of a single label.

use super::pwpl_text::{NAMES, NER, RUNS, add, conll_2003, part};
use super::reviews;
use crate::experiment::{Context, Experiment, Outcome, Part};
use crfkit::Result;
use crfkit::data::presets::preset;
use crfkit::data::template::Templates;
use serde_json::json;

/// pwpl-2007 table 1: names, with observations of label pairs.
pub const PAIRS: Experiment = Experiment {
    id: "pwpl-table1-ner-pairs",
    review: reviews::narrowed,
    part: Part::Study,
    title: "pwpl table 1: names (CoNLL-2003) with observations of label pairs",
    version: 1,
    tolerance: "F1 5 points: no word lists and no feature induction; PWPL at most 0.3 below ML, within 1 of PW",
    settings: |form| {
        json!({"sentences": form.pick(14987, 60), "test": "testa", "template": "ner, of label pairs", "sigma^2": 10,
        "optimizer": "lbfgs", "pieces": "edge"})
    },
    run,
    ..NER
};

/// A preset whose observations are features of label pairs.
pub fn of_pairs(name: &str) -> Result<Templates> {
    let preset = preset(name)?;
    // `U` is a template for single labels, `B` one for label pairs.
    let text: String = preset.text(1).lines().map(|line| line.replacen("U:", "B:", 1) + "\n").collect();
    Templates::compile(&text, preset.dialect, "of label pairs")
}

fn run(context: &Context) -> Result<Outcome> {
    let templates = of_pairs("mccallum-li")?;
    let mut ours = [[0.0; 2]; NAMES.len()];
    let [train, test] = conll_2003(context)?;
    add(context, &train, &test, templates, &mut ours)?;
    let runs = &RUNS[..NAMES.len()];
    let mut outcome =
        part(runs, &ours, [90.5, 85.1, 90.5, 90.3], ["52396", "8651", "6311", "4780"], "F1", 5.0);
    outcome.show("ML less PWPL", "0.2", ours[0][0] - ours[3][0]);
    outcome.claim("PWPL is at most 0.3 points below ML", ours[3][0] >= ours[0][0] - 0.3);
    outcome.claim("PWPL is within 1 point of PW", (ours[3][0] - ours[2][0]).abs() <= 1.0);
    outcome.claim("PL is worse than PWPL", ours[1][0] < ours[3][0]);
    outcome.note(
        "A piece of `edge` is then all that is known of a pair of neighbours. With observations of single labels \
         (pwpl-table1-ner) it has those of the right node alone.",
    );
    Ok(outcome)
}
