//! empirical-training-2013 table 6, third column: the likelihood of 32,623 sentences, which took CRF++ 4,571,807
//! seconds.

use super::ep_text::{CHOSEN, MEMORY_LIMIT, TABLE_2, Tag, attributes, brown_sentences};
use crate::chart::{Chart, Line};
use crate::experiment::{Context, Experiment, Outcome, Part, none};
use crate::learning::{Curve, Task};
use crfkit::Result;
use crfkit::chain::{ChainCorpus, ChainDev, CorpusBuilder, Sequence};
use crfkit::data::columns::Columns;
use crfkit::data::observer::Source;
use crfkit::train::{Method, Parameters, Settings};
use serde_json::json;

/// empirical-training-2013 table 6: the exact likelihood.
pub const DAYS: Experiment = Experiment {
    id: "ep-53-days",
    part: Part::Study,
    review: none,
    version: 2,
    needs: &["ep-table6"],
    title: "ep table 6: the exact likelihood of 32623 sentences of Brown, which took the paper 53 days",
    tolerance: "at least the paper's 95.4 % of the test tokens, within a minute on two cores",
    settings: |form| {
        json!({"train": form.pick(32623, 100), "test": form.pick(1000, 100), "held out": form.pick(1000, 100), "shuffle seed": 1,
            "features": "as in ep-table6", "optimizer": "auto", "memory limit": MEMORY_LIMIT,
            "sigma": "that of ep-table6, chosen on held-out data", "tags": ["all", "without -TL, -HL and -NC"]})
    },
    run: days,
    ..TABLE_2
};

/// The accuracy of CRF++ in the paper.
const PAPER: f64 = 95.4;

/// The tag without suffixes that only say where the word is: in a title, a headline, or a citation.
pub(super) fn plain(tag: &str) -> &str {
    let mut tag = tag;
    while let Some(shorter) = ["-TL", "-HL", "-NC"].iter().find_map(|ending| tag.strip_suffix(ending)) {
        tag = shorter;
    }
    tag
}

fn dev(corpus: &ChainCorpus, sentences: &[Columns], tag: Tag) -> Result<ChainDev> {
    let mut dev = ChainDev::new(&corpus.domain);
    for sentence in sentences {
        dev.add(&corpus.domain, &Sequence::from(attributes(sentence, tag)?))?;
    }
    Ok(dev)
}

/// The first moment at which the accuracy reached the paper's.
fn arrival(curve: &Curve) -> Option<f64> {
    curve.points.iter().find(|point| point.scores.accuracy >= PAPER).map(|point| point.seconds)
}

fn days(context: &Context) -> Result<Outcome> {
    let all = brown_sentences(context)?;
    let sigma = context.result("ep-table6")?.outcome.number(&format!("CRF: {CHOSEN}"))?;
    let size = context.form.pick(1000, 100);
    // Held out, to choose σ.
    let (_, rest) = all.split_at(size);
    let (train, rest) = rest.split_at(context.form.pick(32623, 100));
    let test = &rest[..size];
    let mut outcome = Outcome::default();
    let mut lines = Vec::new();
    let tag_sets: [(&str, Tag); 2] = [("all tags", |tag| tag), ("plain tags", plain)];
    for (name, tag) in tag_sets {
        let mut builder = CorpusBuilder::new(Source::Attributes);
        for sentence in train {
            builder.add_attributes(&attributes(sentence, tag)?)?;
        }
        let corpus = builder.finish(1)?;
        let task = Task { test: dev(&corpus, test, tag)?, corpus, sentences: Vec::new() };
        outcome.show(format!("{name}: how many"), "252", task.corpus.domain.labels.len() as f64);
        (context.say)(&format!("{name}, σ = {sigma}"));
        let parameters = Parameters { memory_limit: Some(MEMORY_LIMIT), ..Parameters::default() };
        let settings = Settings { optimizer: Method::Auto, sigma, parameters, ..Settings::default() };
        let curve = task.learn(&settings, &[], None)?;
        let Some(end) = curve.last() else { continue };
        let arrival = arrival(&curve).unwrap_or(f64::INFINITY);
        outcome.show(format!("{name}: σ, chosen in ep-table6"), "", sigma);
        outcome.show(format!("{name}: accuracy"), "95.4", end.scores.accuracy);
        outcome.show(format!("{name}: passes"), "", end.passes);
        outcome.show(format!("{name}: seconds"), "4571807", end.seconds);
        outcome.show(format!("{name}: seconds to 95.4 %"), "4571807", arrival);
        let points = curve.points.iter().map(|point| [point.seconds, point.scores.accuracy]).collect();
        lines.push(Line { name: format!("{name}, σ = {sigma}"), points });
        outcome.claim(format!("{name}: at least 95.4 %"), end.scores.accuracy >= PAPER);
        outcome.claim(format!("{name}: at 95.4 % within a minute"), arrival <= 60.0);
    }
    outcome.charts.push(Chart {
        name: "accuracy".into(),
        title: "Accuracy on Brown's test sentences".into(),
        x: "seconds".into(),
        y: "accuracy, %".into(),
        log_x: true,
        lines,
        levels: vec![("paper, 53 days".into(), PAPER)],
        ..Chart::default()
    });
    outcome.note(
        "The paper had 252 tags, Brown has 472; without the endings for titles (-TL), headlines (-HL) and citations (-NC) \
         these are 232. Both are run.",
    );
    outcome.note("Seconds do not count the evaluation on the test sentences, nor reading the text.");
    Ok(outcome)
}
