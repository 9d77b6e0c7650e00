//! Whether the sentences and the features explain the accuracies of pwpl-2007 table 1 on parts of speech: the paper tests on other sections than it
//! trains on, and names no features. Designed after the table had been run.

use super::pwpl_text::{NAMES, POS, RUNS, add, name};
use crate::corpora::WSJ;
use crate::experiment::{Context, Experiment, Outcome, Part, none};
use crfkit::Result;
use crfkit::data::columns::Columns;
use crfkit::data::presets::preset;
use crfkit::data::template::{Dialect, Templates};
use crfkit::math::random::Random;
use serde_json::json;

/// pwpl-2007 table 1: parts of speech, with other articles in the test data, and with fewer features.
pub const ARTICLES: Experiment = Experiment {
    id: "pwpl-table1-pos-articles",
    part: Part::Study,
    title: "pwpl table 1: parts of speech (WSJ) with other articles for test than for training, and with fewer features",
    version: 1,
    needs: &["pwpl-table1-pos"],
    review: none,
    tolerance: "the paper's accuracy lies between ours with more and with fewer features, other articles for test",
    settings: |form| json!({"sentences": form.pick(1911, 60), "orders": ORDERS, "fewer features": FEW, "sigma^2": 10, "optimizer": "lbfgs", "pieces": "edge", "seed": 0}),
    run: articles,
    ..POS
};

/// The order of the sentences, of which the first are for training: shuffled, or that of the corpus, so that articles are not divided.
const ORDERS: [&str; 2] = ["shuffled", "in order"];

/// Words, label pairs and the spelling features of Lafferty et al. (2001).
const FEW: &str = "U:w=%x[0,0]\nU:digit=%t[0,0,\"^\\d\"]\nU:capital=%t[0,0,\"^\\u\"]\nU:hyphen=%t[0,0,\"-\"]\nU:ing=%t[0,0,\"ing$\"]\nU:ogy=%t[0,0,\"ogy$\"]\n\
    U:ed=%t[0,0,\"ed$\"]\nU:s=%t[0,0,\"s$\"]\nU:ly=%t[0,0,\"ly$\"]\nU:ion=%t[0,0,\"ion$\"]\nU:tion=%t[0,0,\"tion$\"]\nU:ity=%t[0,0,\"ity$\"]\nU:ies=%t[0,0,\"ies$\"]\nB\n";

fn articles(context: &Context) -> Result<Outcome> {
    let all = context.corpora.sentences(WSJ.files[0])?;
    let (train, test) = (context.form.pick(1911, 60), context.form.pick(usize::MAX, 60));
    let ordered = |order: &str| -> Vec<Columns> {
        let mut all = all.clone();
        if order == ORDERS[0] {
            Random::new(0).shuffle(&mut all);
        }
        all
    };
    let few = || Templates::compile(FEW, Dialect::Crfpp, "spelling");
    let mut outcome = Outcome::default();
    // By run: the accuracies in order with the preset, and with fewer features.
    let mut found = [[f64::NAN; 2]; NAMES.len()];
    for (order, features) in
        [(ORDERS[1], "preset pos"), (ORDERS[0], "fewer features"), (ORDERS[1], "fewer features")]
    {
        (context.say)(&format!("{order}, {features}"));
        let all = ordered(order);
        let (train, rest) = all.split_at(train.min(all.len()));
        let templates = if features == "preset pos" { preset("pos")?.compile(1)? } else { few()? };
        let mut sums = [[0.0; 2]; NAMES.len()];
        add(context, train, &rest[..test.min(rest.len())], templates, &mut sums)?;
        for (k, [accuracy, _]) in sums.into_iter().enumerate() {
            outcome.show(format!("{order}, {features}: {}: accuracy", name(k, RUNS[k])), "", accuracy);
            if order == ORDERS[1] {
                found[k][usize::from(features == "fewer features")] = accuracy;
            }
        }
    }
    let stored = context.result(POS.id)?.outcome;
    let (mut parts, mut explained) = (Vec::new(), Vec::new());
    for ((name, paper), [more, fewer]) in NAMES.iter().zip([94.4, 94.4, 94.2, 94.4]).zip(found) {
        let number = format!("{name}: accuracy");
        parts.push(format!("{name} {more:.2} and {fewer:.2} instead of {:.2}", stored.number(&number)?));
        let between = more.min(fewer) <= paper && paper <= more.max(fewer);
        outcome.claim(
            format!("{name}: the paper's accuracy lies between those with more and with fewer features"),
            between,
        );
        if between {
            explained.push(number);
        }
    }
    let text = format!(
        "With articles for test that are not in training, and with the preset's features or only those of Lafferty et al. (2001), {}.",
        parts.join(", ")
    );
    let explained: Vec<&str> = explained.iter().map(String::as_str).collect();
    match explained.is_empty() {
        false => outcome.because(
            POS.id,
            &explained,
            format!("the sentences and the features. The paper tests on other sections, and does not name its features. {text}"),
        ),
        true => outcome.looked(POS.id, format!("not the choice of sentences and features alone. {text}")),
    }
    Ok(outcome)
}
