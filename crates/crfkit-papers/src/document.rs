//! Writes the page of results, and the machine-readable list.

mod deviations;
mod headlines;

use crate::book::{Book, Entry, is_confirmed};
use crate::cells::{cell, decimals, grouped, settings, shown};
use crate::code;
use crate::experiment::{Form, Number, Part, Record};
use crate::picture::gallery;
use crate::store::{Store, json, write};
use crate::verdict::{Verdict, late, late_claims, unexplained};
use crfkit::Result;
use deviations::DEVIATIONS;
use headlines::headlines;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Writes `reproduction.json`, `REPRODUCTION.md` and the figures from the stored results.
pub fn generate(store: &Store) -> Result<()> {
    for experiment in crate::experiments() {
        store.date(experiment.id)?;
    }
    let book = Book::read(store)?;
    for entry in &book.entries {
        let (record, images) = (&entry.record, store.directory.join("images"));
        for chart in &record.outcome.charts {
            write(&images.join(image(record, &chart.name)), &chart.svg())?;
        }
        if !record.outcome.pictures.is_empty() {
            write(&images.join(image(record, "pictures")), &gallery(&record.outcome.pictures))?;
        }
    }
    let list: Vec<Value> = book.entries.iter().map(listed).collect();
    write(&store.directory.join("reproduction.json"), &json(&list)?)?;
    write(&store.directory.join("REPRODUCTION.md"), &page(&book, store.form))
}

/// The page.
fn page(book: &Book, form: Form) -> String {
    let warning = match form {
        Form::Full => "",
        Form::Quick => "**These are results of `--quick`: small parts of the data. They prove nothing.**\n\n",
    };
    let records: Vec<&Record> = book.entries.iter().map(|entry| &entry.record).collect();
    let mut text = format!(
        "# The papers, run again\n\n\
         Written by `cargo run --release -p crfkit-papers -- document`; every number comes from `reproduction/ID.json`. \
         `cargo run --release -p crfkit-papers -- audit` checks this page, and [CHECKLIST.md](CHECKLIST.md) lists all that the papers \
         describe.\n\n{warning}{}{}{}",
        papers(),
        headlines(&records),
        verdicts(book),
    );
    text += &sources(book);
    text += DEVIATIONS;
    for (part, heading, introduction) in PARTS {
        let entries: Vec<&Entry> =
            book.entries.iter().filter(|entry| entry.experiment.part == part).collect();
        text += &format!("## {heading}\n\n{introduction}\n\n{}\n", summary(book, part, &entries));
    }
    text += DIAGRAMS;
    for entry in &book.entries {
        section(entry, book, &mut text);
    }
    text
}

/// The papers' diagrams, drawn by us.
const DIAGRAMS: &str = "\
## Diagrams

The figures of the papers that show no data, redrawn.

pwpl figure 1: a graph, and the graph split into the pieces of its factors, on which the likelihood is piecewise training \
(`NodeSplit`, tested in `crates/crfkit/tests/laws/node_split.rs`).

![Node splitting](images/pwpl-fig1-diagram.svg)

pwpl figure 2: pseudolikelihood conditions a label on all its neighbours, piecewise pseudolikelihood on those within one factor.

![Local terms of pseudolikelihood and piecewise pseudolikelihood](images/pwpl-fig2-diagram.svg)

ep figure 1: a linear chain.

![A linear-chain CRF](images/ep-fig1-diagram.svg)

";

/// The parts of the page.
const PARTS: [(Part, &str, &str); 2] = [
    (Part::Paper, "Results of the papers", "Tables, figures and claims; their verdicts are counted above."),
    (
        Part::Study,
        "Follow-ups, further studies, current methods",
        "Experiments that look for the cause of a difference, try other settings, or compare with current methods. They are not counted \
         above. A study *holds* if all its claims hold and all its compared numbers are within tolerance.",
    ),
];

/// The papers, by the prefix of their experiments' names.
const PAPERS: &[(&str, &str)] = &[
    (
        "smd",
        "S.V.N. Vishwanathan, Nicol N. Schraudolph, Mark W. Schmidt, Kevin P. Murphy: Accelerated Training of Conditional \
         Random Fields with Stochastic Gradient Methods (2006)",
    ),
    ("slides", "the slides of the same (2006)"),
    (
        "psa",
        "Chun-Nan Hsu, Han-Shen Huang, Yu-Ming Chang: Efficient Off-line and On-line Algorithms for Training Conditional Random \
         Fields by Approximating Jacobians (2007)",
    ),
    (
        "pwpl",
        "Charles Sutton, Andrew McCallum: Piecewise Pseudolikelihood for Efficient Training of Conditional Random Fields (2007)",
    ),
    (
        "ep",
        "Zhemín Zhu, Djoerd Hiemstra, Peter Apers, Andreas Wombacher: Closed Form Maximum Likelihood Estimator Of Conditional \
         Random Fields (2013)",
    ),
];

/// The list of papers, and the notes that apply to all tables.
fn papers() -> String {
    let mut table = String::from("| name | paper |\n|---|---|\n");
    for (name, paper) in PAPERS {
        table += &format!("| {name} | {} |\n", cell(paper));
    }
    format!(
        "{table}\n\
         Our seconds are those of a current server and vary from run to run. Each section says how many cores the experiment could \
         use; if it was one, another experiment may have been running on the other core. A dash (–) stands for a missing number: the method \
         diverged, never reached the score, or was not evaluated at that point.\n\n\
         A tolerance in a table may be narrower than the one in words above it: after the first results, tolerances wider than half the \
         range of the paper's column, or than half its value, were narrowed to that half.\n\n"
    )
}

/// The table of verdicts on the papers' results: how many have each, and what it means.
fn verdicts(book: &Book) -> String {
    let mut table = String::from("| verdict | experiments | meaning |\n|---|---:|---|\n");
    let of_papers = || book.entries.iter().filter(|entry| entry.experiment.part == Part::Paper);
    for (verdict, meaning) in Verdict::PAPERS {
        let count = of_papers().filter(|entry| entry.verdict.class() == verdict).count();
        let _ = writeln!(table, "| {verdict} | {count} | {meaning} |"); // to a string
    }
    let missing = book.missing.iter().filter(|experiment| experiment.part == Part::Paper).count();
    if missing > 0 {
        let _ = writeln!(table, "| not run yet | {missing} | |");
    }
    table + "\n"
}

/// Of which sources the results are.
fn sources(book: &Book) -> String {
    let stale = book.entries.iter().filter(|entry| entry.stale.is_some()).count();
    let confirmed = book.entries.iter().filter(|entry| entry.stale.is_none() && is_confirmed(&entry.record));
    format!(
        "{stale} of {} results are *stale*: the code that made them has changed since, so a rerun may give other numbers. {} are *confirmed*: the \
         library has changed since, but the quick form of the experiment, a small part of it, gives the same numbers to the last digit. This page was \
         written with the library `{}`; each section names the code that made its result.\n\n",
        book.entries.len(),
        confirmed.count(),
        code::library()
    )
}

/// The list of the experiments of a part.
fn summary(book: &Book, part: Part, entries: &[&Entry]) -> String {
    let mut table = String::from("| row | experiment | verdict | seconds |\n|---|---|---|---:|\n");
    for Entry { record, verdict, why, stale, .. } in entries {
        let shown_by: BTreeSet<&str> = why.iter().map(|(id, _)| id.as_str()).collect();
        let links: String = shown_by.iter().map(|id| format!(" ([why](#{id}))")).collect();
        let links = if differs(record, *verdict) { links } else { String::new() };
        let stale = match stale {
            Some(_) => ", stale",
            None if is_confirmed(record) => ", confirmed",
            None => "",
        };
        table += &format!(
            "| {} | [`{1}`](#{1}) {2} | {verdict}{links}{stale} | {3:.1} |\n",
            record.row,
            record.id,
            cell(&record.title),
            record.seconds
        );
    }
    for experiment in book.missing.iter().filter(|experiment| experiment.part == part) {
        table += &format!(
            "| {} | `{}` {} | not run yet | |\n",
            experiment.row,
            experiment.id,
            cell(experiment.title)
        );
    }
    table
}

/// Whether there is a difference that needs a reason.
fn differs(record: &Record, verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Differs | Verdict::CauseNotFound | Verdict::DoesNotHold)
        || record.outcome.numbers.iter().any(|number| number.within == Some(false))
}

/// The file name of a figure.
fn image(record: &Record, chart: &str) -> String {
    format!("{}-{chart}.svg", record.id)
}

/// One entry of `reproduction.json`.
pub fn listed(entry: &Entry) -> Value {
    let record = &entry.record;
    let map = |of: &dyn Fn(&Number) -> Value| -> Map<String, Value> {
        record.outcome.numbers.iter().map(|n| (n.what.clone(), of(n))).filter(|(_, v)| !v.is_null()).collect()
    };
    let mut tolerance = map(&|n| n.tolerance.into());
    tolerance.insert("rule".into(), record.tolerance.clone().into());
    let mut ours = map(&|n| n.ours.into());
    for claim in &record.outcome.claims {
        ours.insert(claim.text.clone(), claim.holds.into());
    }
    let part = match entry.experiment.part {
        Part::Paper => "paper",
        Part::Study => "study",
    };
    let mut listed = json!({
        "id": record.id,
        "row": record.row,
        "part": part,
        "paper": map(&|n| n.paper.clone().into()),
        "ours": ours,
        "tolerance": tolerance,
        "verdict": entry.verdict.to_string(),
        "made": record.made,
    });
    if differs(record, entry.verdict) && !entry.why.is_empty() {
        let why = entry
            .why
            .iter()
            .map(|(id, reason)| json!({"shown by": id, "text": reason.text, "found": reason.found}));
        listed["why"] = why.collect();
    }
    listed
}

/// The table of numbers of a section.
fn numbers(record: &Record) -> String {
    let late = late(record);
    let mut table =
        String::from("| number | paper | here | tolerance | within |\n|---|---:|---:|---:|---|\n");
    for n in &record.outcome.numbers {
        let paper = n.paper.as_deref().unwrap_or("");
        // As precise as the number that it is compared with.
        let exact = n.tolerance.map_or(0, |t| decimals(&t.to_string())).max(decimals(paper));
        let ours = n.ours.map_or("–".into(), |x| shown(x, exact));
        let tolerance = match (&n.apart, n.tolerance) {
            (Some(why), _) => format!("not compared: {}", cell(why)),
            (None, tolerance) => tolerance.map(|t| format!("±{}", shown(t, 0))).unwrap_or_default(),
        };
        let mark = n.within.map_or("", |within| if within { "✓" } else { "✗" });
        let when = if late.contains(&n.what.as_str()) { " (late)" } else { "" };
        let (what, paper) = (cell(&n.what), cell(&grouped(paper)));
        let _ = writeln!(table, "| {what} | {paper} | {ours} | {tolerance} | {mark}{when} |"); // to a string
    }
    table
}

/// When tolerances were fixed and results were made, by which sources.
fn dates(entry: &Entry) -> String {
    let record = &entry.record;
    let day = |time: &str| time.get(..16).unwrap_or(time).replace('T', " ");
    let made = match &record.code {
        Some(code) => format!(
            "Made {} by library `{}`, experiment `{}`.",
            day(&record.made),
            code.library,
            code.experiment
        ),
        None => format!("Stored {}.", day(&record.made)),
    };
    let cores = match record.cores {
        Some(1) => " One core.".into(),
        Some(cores) => format!(" {cores} cores."),
        None => String::from(" Two cores."),
    };
    let mut text = match (entry.stale, &record.confirmed) {
        (Some(why), _) => format!("{made}{cores} **Stale**: {why}."),
        (None, Some(confirmed)) if is_confirmed(record) => format!(
            "{made}{cores} **Confirmed** {}: the quick form gives the same numbers with library `{}`.",
            day(&confirmed.when),
            confirmed.library
        ),
        (None, _) => made + &cores,
    };
    let fixed = record.fixed.values().map(|fixed| fixed.fixed.as_str()).max();
    let first = record.fixed.values().map(|fixed| fixed.first.as_str()).min();
    if let (Some(fixed), Some(first)) = (fixed, first) {
        let _ = write!(
            text,
            " Tolerances were fixed by {}; the first result is from {}.",
            day(fixed),
            day(first)
        ); // to a string
    }
    if !late(record).is_empty() || !late_claims(record).is_empty() {
        text += " A tolerance or claim marked *late* was made after the first result, so it cannot count as reproduced.";
    }
    text
}

/// The section of one experiment.
fn section(entry: &Entry, book: &Book, out: &mut String) {
    let record = &entry.record;
    let outcome = &record.outcome;
    let mut add = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    add(format!("<a id=\"{}\"></a>\n\n## {}\n", record.id, record.title));
    add(format!(
        "`{}`, row {}: **{}**. Tolerance: {}.\n\n{}\n",
        record.id,
        record.row,
        entry.verdict,
        record.tolerance,
        dates(entry)
    ));
    if !outcome.numbers.is_empty() {
        add(numbers(record));
    }
    let late = late_claims(record);
    for claim in &outcome.claims {
        let when = if late.contains(&claim.text.as_str()) { " (late)" } else { "" };
        add(format!("- {} {}{when}", if claim.holds { "✓" } else { "✗" }, claim.text));
    }
    if !outcome.claims.is_empty() {
        add(String::new());
    }
    for note in outcome.notes.iter().chain(&outcome.not_testable) {
        add(format!("{note}\n"));
    }
    if differs(record, entry.verdict) {
        for (id, reason) in &entry.why {
            let head = if reason.found { "Why" } else { "Cause not found" };
            let fails = book.entry(id).is_some_and(|study| study.verdict == Verdict::DoesNotHold);
            let note = if fails { ", a study of which not every claim holds" } else { "" };
            add(format!("**{head}** ([`{id}`](#{id}){note}): {}\n", reason.text));
        }
        let unexplained = unexplained(record, &entry.why);
        if !unexplained.is_empty() {
            add(format!("**Cause not found** of: {}.\n", unexplained.join("; ")));
        }
    }
    if !record.settings.is_null() {
        let settings = settings(&record.settings);
        add(format!(
            "<details><summary>settings and seeds</summary>\n\n```json\n{settings}\n```\n\n</details>\n"
        ));
    }
    for chart in &outcome.charts {
        add(format!("![{}](images/{})\n", chart.title, image(record, &chart.name)));
    }
    if !outcome.pictures.is_empty() {
        add(format!("![{}](images/{})\n", record.title, image(record, "pictures")));
    }
}
