//! Why results of empirical-training-2013 tables 2–6 differ here: the suspected cause is removed, and the table is counted or trained
//! again. These experiments were designed after the tables had been run, and keep their tolerances.

use super::ep_days::plain;
use super::ep_text::{ROWS, SPLITS, Split, TABLE_2, Tag, brown_sentences, count, fit};
use crate::corpora::BROWN;
use crate::experiment::{Context, Experiment, Outcome, Part, none};
use crfkit::Result;
use crfkit::data::columns::Columns;
use crfkit::empirical::EmpiricalMethod;
use crfkit::eval::Scores;
use crfkit::loss::Pieces;
use crfkit::math::random::Random;
use crfkit::train::{Criterion, Method};
use serde_json::json;
use std::collections::HashSet;

/// empirical-training-2013 tables 2–6: other choices of sentences and tags.
pub const SENTENCES: Experiment = Experiment {
    id: "ep-sentences",
    part: Part::Study,
    title: "ep tables 2-6: EP1 with sentences in the order of the corpus, and with fewer tags",
    version: 1,
    review: none,
    tolerance: "those of the tables: overall and known words 1.5 points, unknown words 4",
    settings: |form| json!({"sentences": 34623, "of each table": form.pick("all", "100"), "orders": ORDERS, "tags": TAGS, "block": BLOCK, "shuffle seed": 1}),
    run: other_sentences,
    ..TABLE_2
};
/// empirical-training-2013 tables 2–6, last column: other pieces.
pub const PIECES: Experiment = Experiment {
    id: "ep-pw-pieces",
    title: "ep tables 2-6: piecewise training with every factor as a piece, and without a choice of σ",
    tolerance: "those of the tables: PW 5 points",
    settings: |form| json!({"tables": form.pick(TABLES, 1), "pieces": ["factor", "edge"], "sigma": SIGMA, "optimizer": "lbfgs"}),
    run: other_pieces,
    ..SENTENCES
};

const ORDERS: [&str; 2] = ["shuffled", "in order"];
const TAGS: [&str; 2] = ["all tags", "plain tags"];
/// The number of test sentences of table 6.
const BLOCK: usize = 1000;
/// How many of the tables 2–6 are trained with other pieces; with edge pieces, minutes for each table, the first alone.
const TABLES: usize = 5;
/// The σ of crfkit and of CRF++ where nobody chooses one.
const SIGMA: f64 = 1.0;

/// The percentages of a table's first rows.
fn rows(scores: &Scores) -> [f64; 3] {
    [Some(scores.accuracy), scores.known_accuracy, scores.unknown_accuracy].map(|x| x.unwrap_or(f64::NAN))
}

/// The share of test tokens whose word is not in the training sentences, in per cent.
fn unknown_share(train: &[Columns], test: &[Columns]) -> f64 {
    let known: HashSet<&str> = train.iter().flat_map(tokens).collect();
    let all = test.iter().flat_map(tokens).count();
    100.0 * test.iter().flat_map(tokens).filter(|word| !known.contains(word)).count() as f64
        / all.max(1) as f64
}

fn tokens(sentence: &Columns) -> impl Iterator<Item = &str> {
    (0..sentence.len()).map(|row| sentence.field(row, 0))
}

/// As many sentences as the paper had, shuffled or in the order of the corpus; the first thousand are held out.
fn corpus(context: &Context, in_order: bool, tag: Tag) -> Result<Vec<Columns>> {
    let text = context.corpora.text(BROWN.files[0])?;
    let line = |line: &str| match line.rsplit_once('\t') {
        Some((word, label)) => format!("{word}\t{}\n", tag(label)),
        None => format!("{line}\n"),
    };
    let text: String = text.lines().map(line).collect();
    let mut all = crate::corpora::sentences(&text, BROWN.files[0])?;
    all.retain(|sentence| sentence.len() > 1);
    let mut places: Vec<usize> = (0..all.len()).collect();
    Random::new(1).shuffle(&mut places);
    places.truncate(34623);
    if in_order {
        places.sort_unstable();
    }
    Ok(places.into_iter().map(|place| all[place].clone()).collect())
}

fn other_sentences(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let tags: [Tag; 2] = [|tag| tag, plain];
    let mut unknown_of_table_6 = Vec::new();
    let mut last = Vec::new();
    for (order, in_order) in ORDERS.iter().zip([false, true]) {
        for (name, tag) in TAGS.iter().zip(tags) {
            (context.say)(&format!("{order}, {name}"));
            let all = corpus(context, in_order, tag)?;
            let rest = &all[BLOCK..];
            for (k, Split { train, test, paper }) in SPLITS.iter().enumerate() {
                let (train, test) = (context.form.pick(*train, 100), context.form.pick(*test, 100));
                let (train, test) = (&rest[..train], &rest[train..train + test]);
                let ours = rows(&count(train, test, EmpiricalMethod::Ep1, &[])?.0);
                let what = format!("table {}, {order}, {name}", k + 2);
                outcome.show(
                    format!("{what}: unknown words, per cent of the tokens"),
                    "",
                    unknown_share(train, test),
                );
                for (row, ours) in ours.into_iter().enumerate() {
                    outcome.show(format!("{what}: EP1, {}", ROWS[row]), &paper[row][0].to_string(), ours);
                }
                if k + 1 == SPLITS.len() {
                    unknown_of_table_6.push(ours[2]);
                }
            }
            last = all;
        }
    }
    (context.say)("blocks");
    let rest = &last[BLOCK..];
    let blocks = context.form.pick(rest.len() / BLOCK, 2);
    let mut range = [f64::INFINITY, f64::NEG_INFINITY];
    for block in 0..blocks {
        let (before, from) = rest.split_at(block * BLOCK);
        let (test, after) = from.split_at(BLOCK);
        let train = [before, after].concat();
        let unknown = rows(&count(&train, test, EmpiricalMethod::Ep1, &[])?.0)[2];
        range = [range[0].min(unknown), range[1].max(unknown)];
    }
    let of = "EP1, unknown words, of all blocks of 1000 test sentences in order, plain tags";
    outcome.show(format!("{of}: lowest"), "", range[0]);
    outcome.show(format!("{of}: highest"), "70.1", range[1]);
    let paper = SPLITS[4].paper[2][0];
    outcome
        .claim("table 6: with some order and tags EP1 is within 4 points of the paper on unknown words", {
            unknown_of_table_6.iter().any(|ours| (ours - paper).abs() <= 4.0)
        });
    outcome.claim("or with some block of test sentences", range[1] >= paper - 4.0);
    if outcome.claims.iter().all(|claim| !claim.holds) {
        let ours: Vec<String> = unknown_of_table_6.iter().map(|x| format!("{x:.1}")).collect();
        outcome.looked("ep-table6", format!(
            "not the order of the sentences, not the tags, and not the choice of the test sentences alone. The paper's EP1, EP2, CRF and PW all rise by 9 to 10 points on \
             unknown words from table 5 to table 6, so its test sentences are easier. EP1's accuracy on unknown words is {} with sentences shuffled or in order, with \
             all tags or without the endings -TL, -HL and -NC; with other blocks of 1000 consecutive test sentences it is between {:.1} and {:.1}.",
            ours.join(", "), range[0], range[1]
        ));
    }
    Ok(outcome)
}

fn other_pieces(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let all = brown_sentences(context)?;
    let (tune, rest) = all.split_at(1000);
    let tables = context.form.pick(TABLES, 1);
    for (k, Split { train, test, paper }) in SPLITS.iter().enumerate().take(tables) {
        let (train, test) = (context.form.pick(*train, 100), context.form.pick(*test, 100));
        let parts = (&rest[..train], [&rest[train..train + test], &tune[..1]]);
        let mut within = [true; 3];
        let mut accuracies = Vec::new();
        for (name, pieces) in [("factor", Pieces::Factor), ("edge", Pieces::Edge)] {
            // Edge pieces show what the pieces alone change; the first table is enough for that.
            if pieces == Pieces::Edge && k > 0 {
                continue;
            }
            (context.say)(&format!("table {}, pieces {name}", k + 2));
            let criterion = (Criterion::Piecewise, Some(pieces));
            let ([scores, _], seconds) = fit(parts.0, parts.1, criterion, Method::Lbfgs, SIGMA)?;
            for (row, ours) in rows(&scores).into_iter().enumerate() {
                let what = format!("table {}, pieces {name}, σ = 1: PW, {}", k + 2, ROWS[row]);
                outcome.show(what, &paper[row][3].to_string(), ours);
                if pieces == Pieces::Factor {
                    within[row] = (ours - paper[row][3]).abs() <= 5.0;
                    accuracies.push(ours);
                }
            }
            outcome.show(format!("table {}, pieces {name}, σ = 1: seconds", k + 2), "", seconds);
        }
        outcome.claim(
            format!("table {}: with every factor as a piece and σ = 1 PW is within 5 points of the paper overall and on known words", k + 2),
            within[0] && within[1],
        );
        let id = ["ep-table2", "ep-table3", "ep-table4", "ep-table5", "ep-table6"][k];
        let text = format!(
            "the pieces and σ. Where every factor is a piece of its own, the word and each spelling feature of a token apart from its neighbour's tag, and σ = 1 is not chosen, \
             PW has {:.1} overall, {:.1} on known and {:.1} on unknown words; the paper has {}, {} and {}.",
            accuracies[0], accuracies[1], accuracies[2], paper[0][3], paper[1][3], paper[2][3]
        );
        let explained: Vec<String> =
            (0..3).filter(|&row| within[row]).map(|row| format!("PW, {}", ROWS[row])).collect();
        let explained: Vec<&str> = explained.iter().map(String::as_str).collect();
        match explained.is_empty() {
            false => outcome.because(id, &explained, text),
            true => outcome.looked(id, format!("with other pieces and another σ it differs too: {text}")),
        }
    }
    Ok(outcome)
}
