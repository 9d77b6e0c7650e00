//! The closed form of empirical-training-2013 as a starting point for the likelihood: how many passes it saves.

use super::method_costs::reach;
use super::pwpl_text::wsj;
use super::text_tasks::TextTask;
use crate::corpora::{CONLL2000, CONLL2002, WSJ};
use crate::experiment::{Context, Experiment, Outcome, Part, none};
use crate::learning::Task;
use crfkit::Result;
use crfkit::chain::initial_weights;
use crfkit::data::template::{Dialect, Templates};
use crfkit::optim::{Prior, Problem};
use crfkit::train::{Method, Settings};
use serde_json::json;

/// This experiment is not in the paper, which stops at its estimate.
pub const START: Experiment = Experiment {
    id: "ep-start",
    part: Part::Study,
    row: 21,
    title: "ep as a start: passes of the likelihood that `--init empirical` saves",
    version: 1,
    data: &[CONLL2002, WSJ, CONLL2000],
    needs: &[],
    tolerance: "where words are all that is observed L-BFGS needs fewer passes to 1 % and to 0.1 % above the optimum; with more templates nothing is claimed",
    review: none,
    inconsistent: None,
    settings: |_| json!({"sigma": 1, "optimizer": "lbfgs", "levels": LEVELS, "words alone": WORDS, "threads": 2}),
    run,
};

/// Relative distances above the optimum.
const LEVELS: [f64; 3] = [0.01, 0.001, 0.0001];

/// The templates if only words are observed.
const WORDS: &str = "U:word=%x[0,0]\nB\n";

fn run(context: &Context) -> Result<Outcome> {
    let words = |file: &str| -> Result<Task> {
        let mut all = context.corpora.sentences(file)?;
        all.truncate(context.form.pick(all.len(), 60));
        Task::new(&all, &[], Templates::compile(WORDS, Dialect::Crfpp, "words")?, 1)
    };
    let tasks = [
        ("Dutch names, words alone", words(CONLL2002.files[0])?),
        ("parts of speech, words alone", words(WSJ.files[0])?),
        ("parts of speech, all templates", wsj(context, 0)?),
        ("base NP, all templates", TextTask::BaseNp.load(context)?),
    ];
    let mut outcome = Outcome::default();
    for (name, task) in &tasks {
        (context.say)(name);
        let settings = Settings::default();
        let estimates =
            initial_weights(&task.corpus.data, task.corpus.domain.labels.len(), &task.features(&settings));
        let objective = task.losses(&settings, 2)?;
        let problem =
            Problem { objective: objective.as_ref(), prior: Prior::gaussian(settings.sigma), l1: 0.0 };
        let zero = vec![0.0; estimates.len()];
        let (_, optimum) = reach(&problem, &zero, Method::Lbfgs, f64::NEG_INFINITY)?;
        let above = |theta: &[f64]| problem.smooth(theta, &mut zero.clone()) / optimum;
        outcome.show(format!("{name}: objective at 0, in optima"), "", above(&zero));
        outcome.show(format!("{name}: objective at the estimates, in optima"), "", above(&estimates));
        for level in LEVELS {
            let passes = |start: &[f64]| -> Result<f64> {
                let (reached, _) = reach(&problem, start, Method::Lbfgs, optimum * (1.0 + level))?;
                Ok(reached.map_or(f64::NAN, |[passes, _]| passes))
            };
            let (from_zero, from_estimates) = (passes(&zero)?, passes(&estimates)?);
            let at = format!("{name}: passes to {} % above the optimum", 100.0 * level);
            outcome.show(format!("{at}, from 0"), "", from_zero);
            outcome.show(format!("{at}, from the estimates"), "", from_estimates);
            if name.ends_with("words alone") && level >= 0.001 {
                outcome.claim(format!("{at}: fewer from the estimates"), from_estimates < from_zero);
            }
        }
    }
    outcome.note(
        "The estimates become weights of label pairs and of observations, of which each of a token's k has the k-th part (`crfkit train --init \
         empirical`). With many templates they begin lower than 0 does, but L-BFGS then needs some more passes, not fewer.",
    );
    Ok(outcome)
}
