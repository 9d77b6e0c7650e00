//! The page of results, and the list for programs.

use crate::experiment::{Experiment, Form, Number, Reason, Record, Verdict};
use crate::picture::gallery;
use crate::store::{Store, json, records, write};
use crfkit::Result;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Writes `reproduction.json`, `REPRODUCTION.md` and the figures from the stored results.
pub fn generate(store: &Store) -> Result<()> {
    let (mut list, mut stored) = (Vec::new(), Vec::new());
    let all = records(store);
    let reasons: Vec<(&str, &Reason)> = all
        .iter()
        .filter_map(|(_, record)| record.as_ref())
        .flat_map(|record| record.outcome.why.iter().map(|reason| (record.id.as_str(), reason)))
        .collect();
    let mut body = String::new();
    let mut summary = String::from("| row | experiment | verdict | seconds |\n|---|---|---|---|\n");
    for (experiment, record) in &all {
        let Some(record) = record else {
            summary += &format!(
                "| {} | `{}` {} | not run yet | |\n",
                experiment.row, experiment.id, experiment.title
            );
            continue;
        };
        let why = match record.verdict {
            Verdict::Differs => reasons_of(experiment, record, &reasons),
            _ => Vec::new(),
        };
        let shown_by: BTreeSet<&str> = why.iter().map(|(id, _)| *id).collect();
        let links: String = shown_by.iter().map(|id| format!(" ([why](#{id}))")).collect();
        summary += &format!(
            "| {} | [`{1}`](#{1}) {2} | {3}{links} | {4:.1} |\n",
            record.row, record.id, record.title, record.verdict, record.seconds
        );
        for chart in &record.outcome.charts {
            write(&store.directory.join("images").join(image(record, &chart.name)), &chart.svg())?;
        }
        if !record.outcome.pictures.is_empty() {
            let path = store.directory.join("images").join(image(record, "pictures"));
            write(&path, &gallery(&record.outcome.pictures))?;
        }
        list.push(entry(record, &why));
        section(record, &why, &mut body);
        stored.push(record);
    }
    let form = match store.form {
        Form::Full => "",
        Form::Quick => "**These are results of `--quick`: small parts of the data. They prove nothing.**\n\n",
    };
    let page = format!(
        "# The papers, run again\n\n\
         Written by `cargo run --release -p crfkit-papers -- run all`; every number comes from `reproduction/ID.json`.\n\n\
         {form}{}{summary}\n{body}",
        headlines(&stored)
    );
    write(&store.directory.join("reproduction.json"), &json(&list)?)?;
    write(&store.directory.join("REPRODUCTION.md"), &page)
}

/// Why an experiment differs: its reasons, or, if there are none, those of the experiments whose results it looks at; but what explains
/// another does not differ for the reason that it gives.
fn reasons_of<'a>(
    experiment: &Experiment,
    record: &Record,
    all: &[(&'a str, &'a Reason)],
) -> Vec<(&'a str, &'a Reason)> {
    let of = |ids: &[&str]| -> Vec<(&'a str, &'a Reason)> {
        all.iter().filter(|(_, reason)| ids.contains(&reason.of.as_str())).copied().collect()
    };
    let own = of(&[experiment.id]);
    if own.is_empty() && record.outcome.why.is_empty() { of(experiment.needs) } else { own }
}

/// The three text tasks of the page's first table.
const RACES: [(&str, &str); 3] =
    [("psa-fig1-conll", "base NP"), ("psa-fig1-nlpba", "NLPBA"), ("psa-fig1-bc2", "BioCreative II")];

/// What the page goes on with: experiment, number, and what it says.
const HEADLINES: &[(&str, &str, &str)] = &[
    (
        "smd-claims1",
        "passes of BFGS over passes of SMD, to the F of BFGS less 0.3",
        "base NP: how many times fewer passes SMD needs than BFGS",
    ),
    (
        "pwpl-claims",
        "pwpl-table1-pos: time of ML over that of PWPL",
        "parts of speech: speed-up of PWPL over ML",
    ),
    ("ep-table6", "EP1, seconds", "Brown, 32623 sentences: seconds of EP1"),
    (
        "ep-53-days",
        "all tags, σ = 4, chosen on held-out data: seconds to 95.4 %",
        "Brown, 32623 sentences, 424 tags: seconds of the exact likelihood to 95.4 % (the paper: 53 days)",
    ),
    (
        "ep-53-days",
        "plain tags, σ = 4, chosen on held-out data: seconds to 95.4 %",
        "the same with 214 tags (the paper: 252)",
    ),
];

/// A number of a stored result.
fn number<'a>(records: &[&'a Record], id: &str, what: &str) -> Option<&'a Number> {
    let record = records.iter().find(|record| record.id == id)?;
    record.outcome.numbers.iter().find(|number| number.what == what)
}

/// The tables at the top of the page, of what has been run.
fn headlines(records: &[&Record]) -> String {
    let mut races = String::new();
    for (id, task) in RACES {
        // The methods of the figure, then those of today: whoever has an F after one pass.
        for id in [id.to_owned(), format!("{id}-others")] {
            let Some(record) = records.iter().find(|record| record.id == id) else { continue };
            let cell = |method: &str, what: &str, digits: usize| {
                let number = number(records, &id, &format!("{method}: {what}"));
                number.and_then(|number| number.ours).map_or("–".into(), |x| format!("{x:.digits$}"))
            };
            for first in &record.outcome.numbers {
                let Some(method) = first.what.strip_suffix(": exact-match F after 1 pass") else { continue };
                let f = cell(method, "exact-match F after 1 pass", 2);
                let passes = cell(method, "passes to within 0.3 points of L-BFGS", 1);
                let seconds = cell(method, "seconds to within 0.3 points of L-BFGS", 1);
                races += &format!("| {task} | {method} | {f} | {passes} | {seconds} |\n");
            }
        }
    }
    let mut table = String::new();
    for (id, what, text) in HEADLINES {
        if let Some(Number { paper, ours: Some(ours), .. }) = number(records, id, what) {
            table += &format!("| {text} | {} | {} |\n", paper.as_deref().unwrap_or(""), shown(*ours));
        }
    }
    let under = |head: &str, rows: String| if rows.is_empty() { rows } else { format!("{head}\n{rows}\n") };
    under(
        "| | | F after one pass | passes to 0.3 points below L-BFGS's end | seconds |\n|---|---|---|---|---|",
        races,
    ) + &under("| | paper | here |\n|---|---|---|", table)
}

/// File name of a figure.
fn image(record: &Record, chart: &str) -> String {
    format!("{}-{chart}.svg", record.id)
}

/// One entry of `reproduction.json`; `why` has the experiments that explain it and their reasons.
fn entry(record: &Record, why: &[(&str, &Reason)]) -> Value {
    let map = |of: &dyn Fn(&Number) -> Value| -> Map<String, Value> {
        record.outcome.numbers.iter().map(|n| (n.what.clone(), of(n))).filter(|(_, v)| !v.is_null()).collect()
    };
    let mut tolerance = map(&|n| n.tolerance.into());
    tolerance.insert("rule".into(), record.tolerance.clone().into());
    let mut ours = map(&|n| n.ours.into());
    for claim in &record.outcome.claims {
        ours.insert(claim.text.clone(), claim.holds.into());
    }
    let mut entry = json!({
        "id": record.id,
        "row": record.row,
        "paper": map(&|n| n.paper.clone().into()),
        "ours": ours,
        "tolerance": tolerance,
        "verdict": record.verdict.to_string(),
    });
    if !why.is_empty() {
        entry["why"] = why.iter().map(|(id, reason)| json!({"shown by": id, "text": reason.text})).collect();
    }
    entry
}

/// A number for a table.
fn shown(x: f64) -> String {
    let digits = match x.abs() {
        a if a >= 1000.0 => 0,
        a if a >= 10.0 => 2,
        _ => 5,
    };
    let text = format!("{x:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The section of one experiment.
fn section(record: &Record, why: &[(&str, &Reason)], out: &mut String) {
    let outcome = &record.outcome;
    let mut add = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    add(format!("<a id=\"{}\"></a>\n\n## {}\n", record.id, record.title));
    add(format!(
        "`{}`, row {}: **{}**. Tolerance: {}.\n",
        record.id, record.row, record.verdict, record.tolerance
    ));
    if !outcome.numbers.is_empty() {
        let mut table = String::from("| | paper | here | tolerance | |\n|---|---|---|---|---|\n");
        for n in &outcome.numbers {
            let ours = n.ours.map_or("–".into(), shown);
            let tolerance = n.tolerance.map(|t| format!("±{}", shown(t))).unwrap_or_default();
            let mark = n.within.map_or("", |within| if within { "✓" } else { "✗" });
            let paper = n.paper.as_deref().unwrap_or("");
            let _ = writeln!(table, "| {} | {paper} | {ours} | {tolerance} | {mark} |", n.what); // to a string
        }
        add(table);
    }
    for claim in &outcome.claims {
        add(format!("- {} {}", if claim.holds { "✓" } else { "✗" }, claim.text));
    }
    if !outcome.claims.is_empty() {
        add(String::new());
    }
    for note in outcome.notes.iter().chain(&outcome.not_testable) {
        add(format!("{note}\n"));
    }
    for (id, reason) in why {
        add(format!("**Why** ([`{id}`](#{id})): {}\n", reason.text));
    }
    for chart in &outcome.charts {
        add(format!("![{}](images/{})\n", chart.title, image(record, &chart.name)));
    }
    if !outcome.pictures.is_empty() {
        add(format!("![{}](images/{})\n", record.title, image(record, "pictures")));
    }
}
