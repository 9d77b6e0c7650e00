//! Factorial and skip chains on real corpora, as in pwpl-2007 section 4.2 and 4.3. Figures go to standard error.

use crate::corpora;

use corpora::{Record, models::columns, real_text};
use crfkit::data::columns::Columns;
use crfkit::data::presets::preset;
use crfkit::decode::Decode;
use crfkit::eval::Evaluation;
use crfkit::graph::Pieces;
use crfkit::linked::{Engine, LinkedBuilder, LinkedModel, LinkedTagger, Links};
use crfkit::tag::Judgement;
use crfkit::train::{self, Criterion, Method, Settings, TrainOptions};
use std::sync::Arc;
use std::time::Instant;

/// Trains on column data; returns the model and the seconds of a pass.
fn train(sequences: &[Columns], links: Links, labels: &[usize], objective: Criterion) -> (LinkedModel, f64) {
    // So few that nothing has converged: enough to compare.
    let (name, engine, passes) = match links {
        Links::Factorial => ("factorial", Engine::Exact, 40),
        Links::SkipChain { .. } => ("seminars", Engine::LoopyBp, 30),
    };
    let width = sequences[0].columns();
    let templates = preset(name).unwrap().compile(width - labels.len()).unwrap();
    let mut builder = LinkedBuilder::new(links, templates, width, labels.to_vec()).unwrap();
    sequences.iter().for_each(|sequence| builder.add(sequence).unwrap());
    let settings = Settings {
        objective,
        pieces: objective.has_pieces().then_some(Pieces::SharedUnary),
        sigma: 3.0,
        passes: Some(passes),
        optimizer: Method::Lbfgs,
        inference: Some(engine),
        ..Settings::default()
    };
    let corpus = builder.finish(1).unwrap();
    let features = train::features(&corpus, &settings);
    let begun = Instant::now();
    let trained =
        train::train(corpus, features, &settings, TrainOptions::default(), &mut Record::default()).unwrap();
    (trained.model, begun.elapsed().as_secs_f64() / trained.passes)
}

/// Share of tokens with all labels right, in per cent, and the scores of each label column.
fn evaluate(model: LinkedModel, sequences: &[Columns]) -> (f64, Vec<Evaluation>) {
    let mut judgement = Judgement::new(model.domain.labels.len());
    let mut tagger = LinkedTagger::new(Arc::new(model));
    for sequence in sequences {
        tagger.judge(sequence, Decode::Best, &mut judgement).unwrap();
    }
    (judgement.joint.percent(), judgement.sets)
}

/// Labels other than B-NP and I-NP become O: three chunk labels, as in the paper.
fn base_np(text: &str, sentences: usize) -> Vec<Columns> {
    let line = |line: &str| match line.rsplit_once(' ') {
        Some((rest, label)) if !label.ends_with("-NP") => format!("{rest} O\n"),
        _ => format!("{line}\n"),
    };
    let mut all = columns(&text.lines().map(line).collect::<String>());
    all.truncate(sentences);
    all
}

/// Parts of speech and noun phrases together, trained on 223 sentences (pwpl-2007 table 1, second row).
#[test]
fn joint_chunking_on_223_sentences() {
    const NAME: &str = "joint_chunking_on_223_sentences";
    let Some(text) = real_text(NAME, "conll2000/train.txt") else { return };
    let Some(test) = real_text(NAME, "conll2000/test.txt") else { return };
    let (sequences, test) = (base_np(&text, 223), base_np(&test, 300));
    let measure = |objective: Criterion| {
        let (model, seconds) = train(&sequences, Links::Factorial, &[1, 2], objective);
        let (joint, columns) = evaluate(model, &test);
        let [pos, np] = [0, 1].map(|c| columns[c].scores());
        eprintln!(
            "{:<18} joint {joint:.2}, parts of speech {:.2}, noun phrases F1 {:.2}, {seconds:.3} s a pass",
            objective.name(),
            pos.accuracy,
            np.f1
        );
        joint
    };
    let likelihood = measure(Criterion::Likelihood);
    let pseudo = measure(Criterion::Pseudolikelihood);
    let piecewise = measure(Criterion::PiecewisePseudo);
    assert!(likelihood > 55.0 && pseudo > 50.0 && piecewise > 50.0);
}

/// Fields of seminar announcements, a part of the corpus: as in the paper, links between equal capitalised words help to find the
/// speaker.
#[test]
fn fields_of_seminar_announcements() {
    let Some(text) = real_text("fields_of_seminar_announcements", "seminars/seminars.tsv") else { return };
    let all = columns(&text);
    let (sequences, test) = (&all[..60], &all[301..361]);
    let measure = |rule: &str| {
        let links = Links::SkipChain { rule: rule.parse().unwrap(), observed: false };
        let (model, seconds) = train(sequences, links, &[2], Criterion::Likelihood);
        let (_, columns) = evaluate(model, test);
        let fields: Vec<(String, f64)> =
            columns[0].fields().iter().map(|(name, counts)| ((*name).to_owned(), counts.f1())).collect();
        eprintln!("{rule}: token F1 {fields:.1?}, {seconds:.3} s a pass");
        fields
    };
    let plain = measure("equals(0, \"no such word\")");
    let linked = measure("same(0) and capitalised(0)");
    let f1 = |fields: &[(String, f64)], wanted: &str| {
        fields.iter().find(|(name, _)| name == wanted).map_or(0.0, |(_, f1)| *f1)
    };
    assert!(f1(&linked, "stime") > 80.0 && f1(&linked, "etime") > 70.0, "{linked:?}");
    assert!(f1(&linked, "speaker") > f1(&plain, "speaker") + 5.0, "{linked:?}");
}
