//! pwpl-2007 section 5: weights that were trained under local normalisation, decoded with it and without it.

use super::pwpl_text::{NER, POS, names, settings, wsj};
use crate::corpora::{CONLL2003, WSJ};
use crate::experiment::{Context, Experiment, Outcome};
use crate::learning::Task;
use crfkit::Result;
use crfkit::loss::Pieces;
use crfkit::train::{Criterion, Settings};
use serde_json::json;

/// Row 17.
pub const GLOBAL: Experiment = Experiment {
    id: "memm-global",
    row: 17,
    title: "pwpl section 5: weights of a MEMM, normalised at training time but not at test time",
    version: 1,
    data: &[WSJ, CONLL2003],
    needs: &[],
    tolerance: "`very poorly` is at least 1 point below the MEMM's own decoding; PWPL is above the MEMM decoded without normalisation",
    inconsistent: None,
    settings: |form| {
        json!({"as": [(POS.settings)(form), (NER.settings)(form)], "subset": 0, "pieces": Pieces::SharedUnary,
        "criteria": RUNS.map(|run| run.1.name())})
    },
    run,
};

/// PWPL by pieces whose conditionals are those of both MEMMs (eq. 13).
const RUNS: [(&str, Criterion); 4] = [
    ("MEMM", Criterion::Memm),
    ("backward MEMM", Criterion::MemmBackward),
    ("PWPL", Criterion::PiecewisePseudo),
    ("ML", Criterion::Likelihood),
];

fn run(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for (at, names_task, task) in [("WSJ", false, wsj(context, 0)?), ("CoNLL-2003", true, names(context)?)] {
        let measure = if names_task { "F1" } else { "accuracy" };
        // As trained, then without local normalisation; the same where there is none.
        let mut scores = Vec::new();
        for (name, objective) in RUNS {
            (context.say)(&format!("{at}, {name}"));
            scores.push(both(&task, objective, names_task)?);
        }
        for ((name, objective), [own, global]) in RUNS.iter().zip(&scores) {
            if objective.direction().is_some() {
                outcome.show(format!("{at}: {name}, its own decoding: {measure}"), "", *own);
                outcome.show(format!("{at}: {name}, decoded without normalisation: {measure}"), "", *global);
            } else {
                outcome.show(format!("{at}: {name}: {measure}"), "", *own);
            }
        }
        for ((name, _), [own, global]) in RUNS.iter().zip(&scores).take(2) {
            outcome
                .claim(format!("{at}: {name}: without normalisation it is worse than with it"), global < own);
            outcome.claim(format!("{at}: {name}: by at least 1 point"), *global <= own - 1.0);
        }
        let worse = scores[0][1].max(scores[1][1]);
        outcome.claim(
            format!("{at}: PWPL, which adds the terms of the other direction, is better without normalisation than both"),
            scores[2][0] > worse,
        );
    }
    outcome.note(
        "The decoding of a MEMM is the best labelling under its product of conditionals; without normalisation it is the best labelling \
         under the sum of the same weights, as for ML and PWPL. The paper gives no number.",
    );
    Ok(outcome)
}

/// The score of weights under the decoding of their criterion and under that of the likelihood.
fn both(task: &Task, objective: Criterion, names_task: bool) -> Result<[f64; 2]> {
    let pieces = objective.has_pieces().then_some(Pieces::SharedUnary);
    let own = Settings { objective, pieces, ..settings() };
    let theta = task.train(&own)?;
    let score = |settings: &Settings| {
        let scores = task.scores(&task.features(settings), &theta, settings);
        if names_task { scores.f1 } else { scores.accuracy }
    };
    Ok([score(&own), score(&settings())])
}
