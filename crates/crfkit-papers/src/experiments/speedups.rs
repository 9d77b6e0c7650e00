//! pwpl-2007 section 4.3: how much faster the local criteria are than the likelihood, depending on the number of
//! labels.

use super::pwpl_text::{NAMES, RUNS, name, settings};
use super::reviews;
use super::slopes::{objective, pass_seconds};
use super::text_tasks::base_np;
use crate::chart::{Chart, Line};
use crate::clock::seconds;
use crate::corpora::{BROWN, CONLL2000, CONLL2003, WSJ, sentences};
use crate::experiment::{Context, Experiment, Outcome, Part};
use crfkit::chain::{ChainCorpus, CorpusBuilder};
use crfkit::data::columns::Columns;
use crfkit::data::observer::Source;
use crfkit::data::presets::preset;
use crfkit::graph::{Chain, Gradient, Psi};
use crfkit::loss::{Gold, Loss};
use crfkit::math::Scalar;
use crfkit::math::random::Random;
use crfkit::model::Keep;
use crfkit::optim::Ability;
use crfkit::optim::{Control, Objective, Prior, Problem, Progress, State, Watch};
use crfkit::risk::Risk;
use crfkit::train::{self, Settings};
use crfkit::{Error, Result};
use serde_json::json;
use std::collections::HashSet;

/// pwpl-2007 section 4.3: speed-ups over the likelihood.
pub const PWPL: Experiment = Experiment {
    id: "pwpl-speedup",
    row: 119,
    title: "pwpl section 4.3: speed-up of PL, PW and PWPL over the likelihood, by the number of labels",
    version: 2,
    data: &[CONLL2000, CONLL2003, WSJ, BROWN],
    needs: &[],
    tolerance: "per pass against the dense likelihood PWPL gains with labels, and at least 4 at 472 of them",
    part: Part::Paper,
    review: reviews::pwpl_speedup,
    inconsistent: None,
    settings: |form| {
        json!({"sentences": form.pick(SENTENCES, 30), "template": "pos", "sigma^2": 10, "optimizer": "lbfgs", "pieces": "edge; then shared-unary and factor",
        "threads": 1, "seed": 1, "runs": TIMES})
    },
    run,
};

pub const SENTENCES: usize = 400;
/// The number of runs, of which the fastest counts.
const TIMES: usize = 3;

/// The word and label of every line. `label` computes the label from the fields and the previous label.
fn relabel(text: &str, label: impl Fn(&[&str], &str) -> String) -> String {
    let mut before = String::new();
    let mut out = String::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split([' ', '\t']).filter(|field| !field.is_empty()).collect();
        before = match fields.first() {
            None => String::new(),
            Some(word) => {
                let label = label(&fields, &before);
                out += &format!("{word}\t{label}");
                label
            }
        };
        out.push('\n');
    }
    out
}

fn last(fields: &[&str]) -> String {
    fields.last().map_or_else(String::new, |&label| label.into())
}

/// The first label of a name begins with B, whatever precedes it (IOB2).
fn iob2(fields: &[&str], before: &str) -> String {
    let label = last(fields);
    match label.strip_prefix("I-") {
        Some(kind) if before.strip_prefix("B-").or(before.strip_prefix("I-")) != Some(kind) => {
            format!("B-{kind}")
        }
        _ => label,
    }
}

/// The texts (word and label), each with its number of labels.
fn texts(context: &Context) -> Result<Vec<(usize, &'static str, String)>> {
    let corpora = &context.corpora;
    let chunks = corpora.text(CONLL2000.files[0])?;
    let joint =
        |fields: &[&str], _: &str| format!("{}|{}", fields[1..fields.len() - 1].join("|"), last(fields));
    let brown = relabel(&corpora.text(BROWN.files[0])?, |fields, _| last(fields));
    Ok(vec![
        (3, "CoNLL-2000, noun phrases", relabel(&base_np(&chunks), |fields, _| last(fields))),
        (9, "CoNLL-2003", relabel(&corpora.text(CONLL2003.files[0])?, iob2)),
        (22, "CoNLL-2000", relabel(&chunks, |fields, _| last(fields))),
        (45, "WSJ", relabel(&corpora.text(WSJ.files[0])?, |fields, _| last(fields))),
        (135, "CoNLL-2000, chunk and part of speech in one", relabel(&chunks, joint)),
        (252, "Brown", brown.clone()),
        (472, "Brown", brown),
    ])
}

/// `count` sentences with `labels` labels, or as many as there are: first sentences that add a new label, then
/// sentences that add none.
fn part(all: &[Columns], labels: usize, count: usize) -> Vec<&Columns> {
    let names = |sentence: &Columns| -> Vec<String> {
        (0..sentence.len()).map(|t| sentence.field(t, 1).to_owned()).collect()
    };
    let (mut seen, mut chosen) = (HashSet::new(), HashSet::new());
    for (k, sentence) in all.iter().enumerate() {
        let new: HashSet<String> = names(sentence).into_iter().filter(|name| !seen.contains(name)).collect();
        if !new.is_empty() && seen.len() + new.len() <= labels {
            seen.extend(new);
            chosen.insert(k);
        }
    }
    for (k, sentence) in all.iter().enumerate() {
        if chosen.len() >= count {
            break;
        }
        if names(sentence).iter().all(|name| seen.contains(name)) {
            chosen.insert(k);
        }
    }
    (0..all.len()).filter(|k| chosen.contains(k)).map(|k| &all[k]).collect()
}

/// [`SENTENCES`] sentences for each number of labels, with the preset `pos`, and what they are.
pub fn corpora(context: &Context) -> Result<impl Iterator<Item = Result<(String, ChainCorpus)>>> {
    Ok(texts(context)?.into_iter().map(|(labels, name, text)| {
        let mut all = sentences(&text, name)?;
        Random::new(1).shuffle(&mut all);
        let mut builder = CorpusBuilder::new(Source::Templates(preset("pos")?.compile(1)?));
        for sentence in part(&all, labels, context.form.pick(SENTENCES, 30)) {
            builder.add_columns(sentence, 1)?;
        }
        let corpus = builder.finish(1)?;
        let at = format!("{name}, {} labels", corpus.domain.labels.len());
        (context.say)(&at);
        match corpus.domain.labels.len() > labels {
            true => Err(Error::Setting(format!("{at}: more labels than the {labels} expected"))),
            false => Ok((at, corpus)),
        }
    }))
}

/// The passes and seconds on one thread until the method stops.
fn converge(objective: &dyn Objective, settings: &Settings) -> Result<[f64; 2]> {
    struct Patient;
    impl Watch for Patient {
        fn step(&mut self, _: &Progress, _: &dyn Fn() -> State) -> Result<Control> {
            Ok(Control::Continue)
        }
    }
    let start = State::start(vec![0.0; objective.dim()]);
    let problem = Problem { objective, prior: Prior::gaussian(settings.sigma), l1: 0.0 };
    let minimize = || settings.optimizer.optimizer(settings).minimize(&problem, start, &mut Patient);
    let (minimum, seconds) = seconds(minimize);
    Ok([minimum?.passes, seconds])
}

/// A loss that computes nothing: what remains of a pass are the steps from weights to ψ and from dψ to the gradient,
/// common to all criteria.
struct Free;

impl Loss for Free {
    type Graph = Chain;
    type Work<S: Scalar> = ();

    fn provides(&self) -> &'static [Ability] {
        &[]
    }

    fn loss<S: Scalar>(&self, _: &Chain, _: Psi<S>, _: Gold, out: &mut Gradient<S>, _: &mut ()) -> S {
        out.own.fill(0.0);
        S::lift(0.0)
    }
}

fn run(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let names = [NAMES[1], NAMES[2], NAMES[3], "PWPL over dense ML"];
    let mut lines = names.map(|name| Line { name: name.into(), points: Vec::new() });
    for corpus in corpora(context)? {
        let (at, corpus) = corpus?;
        let tokens: usize = (0..corpus.data.len()).map(|example| corpus.data.gold(example).len()).sum();
        outcome.show(format!("{at}: tokens"), "", tokens as f64);
        // Dense: a weight for every label pair, so that no sum is sparse.
        let all_pairs = Settings { features: Keep::All, ..settings() };
        let dense = pass_seconds(objective(&corpus, &all_pairs)?.as_ref(), TIMES);
        let free = Risk::new(Free, train::features(&corpus, &settings()), corpus.data.clone(), 1)?;
        let free = pass_seconds(&free, TIMES);
        let (mut pass, mut whole) = ([0.0; RUNS.len()], [[0.0; 2]; RUNS.len()]);
        for (k, run) in RUNS.into_iter().enumerate() {
            let passes = context.form.pick(None, Some(5));
            let settings = Settings { objective: run.0, pieces: run.1, passes, ..settings() };
            let objective = objective(&corpus, &settings)?;
            pass[k] = pass_seconds(objective.as_ref(), TIMES);
            whole[k] = converge(objective.as_ref(), &settings)?;
            let name = name(k, run);
            outcome.show(format!("{at}: {name}, milliseconds of a pass"), "", 1e3 * pass[k]);
            outcome.show(format!("{at}: {name}, passes to convergence"), "", whole[k][0]);
            outcome.show(format!("{at}: {name}, seconds to convergence"), "", whole[k][1]);
        }
        outcome.show(format!("{at}: ML, dense, milliseconds of a pass"), "", 1e3 * dense);
        outcome.show(format!("{at}: no loss at all, milliseconds of a pass"), "", 1e3 * free);
        for (k, run) in RUNS.into_iter().enumerate().skip(1) {
            let name = name(k, run);
            outcome.show(format!("{at}: {name}, speed-up per pass"), "", pass[0] / pass[k]);
            outcome.show(format!("{at}: {name}, speed-up to convergence"), "", whole[0][1] / whole[k][1]);
            if k < NAMES.len() {
                lines[k - 1].points.push([corpus.domain.labels.len() as f64, pass[0] / pass[k]]);
            }
        }
        outcome.show(format!("{at}: PWPL, speed-up per pass over dense ML"), "", dense / pass[3]);
        lines[3].points.push([corpus.domain.labels.len() as f64, dense / pass[3]]);
    }
    let dense: Vec<f64> = lines[3].points.iter().map(|point| point[1]).collect();
    outcome.claim(
        "per pass PWPL gains on dense ML from 45 labels on, the more the more labels",
        dense.windows(2).skip(3).all(|pair| pair[0] < pair[1]),
    );
    outcome.claim("it gains at least 4 at the largest number", dense.last().is_some_and(|&gain| gain >= 4.0));
    outcome.charts.push(Chart {
        name: "speed-up".into(),
        title: "Speed-up of a pass over the likelihood".into(),
        x: "labels".into(),
        y: "times faster".into(),
        log_x: true,
        log_y: true,
        lines: lines.to_vec(),
        levels: vec![("none".into(), 1.0)],
        ..Chart::default()
    });
    outcome.note(
        "`No loss at all` is the way from weights to tables and back, which every criterion pays: where labels are few it is most of the \
         pass, and no criterion can gain much. ML is the likelihood as crfkit does it: ones plus a sparse table of seen label pairs where that pays; `dense` has \
         a weight for every label of each observation and for every pair of labels. The paper's 11.0 (names), 31.7 (factorial chain) and 8.7 (parts of speech) are of another implementation.",
    );
    Ok(outcome)
}
