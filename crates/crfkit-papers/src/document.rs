//! The page of results, and the list for programs.

use crate::experiment::{Form, Number, Record};
use crate::picture::gallery;
use crate::store::{Store, json, records, write};
use crfkit::Result;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Writes `reproduction.json`, `REPRODUCTION.md` and the figures from the stored results.
pub fn generate(store: &Store) -> Result<()> {
    let mut list = Vec::new();
    let mut body = String::new();
    let mut summary = String::from("| row | experiment | verdict | seconds |\n|---|---|---|---|\n");
    for (experiment, record) in records(store) {
        let Some(record) = record else {
            summary += &format!(
                "| {} | `{}` {} | not run yet | |\n",
                experiment.row, experiment.id, experiment.title
            );
            continue;
        };
        summary += &format!(
            "| {} | [`{1}`](#{1}) {2} | {3} | {4:.1} |\n",
            record.row, record.id, record.title, record.verdict, record.seconds
        );
        for chart in &record.outcome.charts {
            write(&store.directory.join("images").join(image(&record, &chart.name)), &chart.svg())?;
        }
        if !record.outcome.pictures.is_empty() {
            let path = store.directory.join("images").join(image(&record, "pictures"));
            write(&path, &gallery(&record.outcome.pictures))?;
        }
        list.push(entry(&record));
        section(&record, &mut body);
    }
    let form = match store.form {
        Form::Full => "",
        Form::Quick => "**These are results of `--quick`: small parts of the data. They prove nothing.**\n\n",
    };
    let page = format!(
        "# The papers, run again\n\n\
         Written by `cargo run --release -p crfkit-papers -- run all`; every number comes from `reproduction/ID.json`.\n\n\
         {form}{summary}\n{body}"
    );
    write(&store.directory.join("reproduction.json"), &json(&list)?)?;
    write(&store.directory.join("REPRODUCTION.md"), &page)
}

/// File name of a figure.
fn image(record: &Record, chart: &str) -> String {
    format!("{}-{chart}.svg", record.id)
}

/// One entry of `reproduction.json`.
fn entry(record: &Record) -> Value {
    let map = |of: &dyn Fn(&Number) -> Value| -> Map<String, Value> {
        record.outcome.numbers.iter().map(|n| (n.what.clone(), of(n))).filter(|(_, v)| !v.is_null()).collect()
    };
    let mut tolerance = map(&|n| n.tolerance.into());
    tolerance.insert("rule".into(), record.tolerance.clone().into());
    let mut ours = map(&|n| n.ours.into());
    for claim in &record.outcome.claims {
        ours.insert(claim.text.clone(), claim.holds.into());
    }
    json!({
        "id": record.id,
        "row": record.row,
        "paper": map(&|n| n.paper.clone().into()),
        "ours": ours,
        "tolerance": tolerance,
        "verdict": record.verdict.to_string(),
    })
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
fn section(record: &Record, out: &mut String) {
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
    for chart in &outcome.charts {
        add(format!("![{}](images/{})\n", chart.title, image(record, &chart.name)));
    }
    if !outcome.pictures.is_empty() {
        add(format!("![{}](images/{})\n", record.title, image(record, "pictures")));
    }
}
