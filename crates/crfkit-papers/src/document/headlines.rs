//! The tables at the top of the page.

use crate::cells::{cell, decimals, grouped, shown, tenths};
use crate::experiment::{Number, Record};

/// The three text tasks of the page's first table.
const RACES: [(&str, &str); 3] =
    [("psa-fig1-conll", "base NP"), ("psa-fig1-nlpba", "NLPBA"), ("psa-fig1-bc2", "BioCreative II")];

/// The numbers that follow on the page: experiment, name of the number, and what it says.
const HEADLINES: &[(&str, &str, &str)] = &[
    (
        "smd-claims1",
        "passes of BFGS over passes of SMD, to the F of BFGS less 0.3",
        "base NP: passes of BFGS over those of SMD, to 0.3 points below the last F of BFGS",
    ),
    ("psa-claims", "CoNLL-2000: PSA after 1.12 passes", "base NP: F of PSA after 1.12 passes"),
    ("psa-claims", "NLPBA: PSA after 1.01 passes", "NLPBA: F of PSA after 1.01 passes"),
    (
        "psa-claims",
        "BioCreative II: PSA after 1.12 passes, with the alternatives",
        "BioCreative II: F of PSA after 1.12 passes, counting alternative mentions",
    ),
    (
        "pwpl-claims",
        "pwpl-table1-pos: time of ML over that of PWPL",
        "parts of speech: speed-up of PWPL over ML",
    ),
    ("pwpl-claims", "pwpl-table1-ner: time of ML over that of PWPL", "names: speed-up of PWPL over ML"),
    (
        "pwpl-claims",
        "pwpl-table1-chunk: time of ML over that of PWPL",
        "noun phrases and parts of speech (factorial chain): speed-up of PWPL over ML",
    ),
    ("ep-table6", "EP1, seconds", "Brown, 32623 sentences: seconds of EP1"),
    ("ep-table6", "EP2, seconds", "Brown, 32623 sentences: seconds of EP2"),
    (
        "ep-53-days",
        "all tags…: seconds to 95.4 %",
        "Brown, 32623 sentences, all tags: seconds until the exact likelihood first has 95.4 % of the test tokens right, σ given (the paper: 53 days)",
    ),
    ("ep-53-days", "plain tags…: seconds to 95.4 %", "the same without the endings -TL, -HL and -NC of tags"),
];

/// A number of a stored result; `…` in its name stands for anything.
fn number<'a>(records: &[&'a Record], id: &str, what: &str) -> Option<&'a Number> {
    let record = records.iter().find(|record| record.id == id)?;
    let (start, end) = what.split_once('…').unwrap_or((what, ""));
    let is =
        |name: &str| name == what || (what.contains('…') && name.starts_with(start) && name.ends_with(end));
    record.outcome.numbers.iter().find(|number| is(&number.what))
}

/// The points of a method's line in the charts of a result; empty if there is none.
fn curve<'a>(record: &'a Record, method: &str) -> &'a [[f64; 2]] {
    let mut lines = record.outcome.charts.iter().flat_map(|chart| &chart.lines);
    lines.find(|line| line.name == method).map_or(&[], |line| &line.points)
}

/// The tables at the top of the page, for the experiments that have been run.
pub(super) fn headlines(records: &[&Record]) -> String {
    let mut races = String::new();
    for (id, task) in RACES {
        // The methods of the figure, then current ones: all that have an F after one pass.
        for id in [id.to_owned(), format!("{id}-others")] {
            let Some(record) = records.iter().find(|record| record.id == id) else { continue };
            let found = |method: &str, what: &str| {
                number(records, &id, &format!("{method}: {what}")).and_then(|number| number.ours)
            };
            for first in &record.outcome.numbers {
                let Some(method) = first.what.strip_suffix(": exact-match F after 1 pass") else { continue };
                let curve = curve(record, method);
                let f = match (first.ours, curve.first()) {
                    (Some(f), _) => format!("{f:.2}"),
                    (None, Some([passes, f])) => format!("{f:.2} after {}", tenths(*passes)),
                    (None, None) => "–".into(),
                };
                let passes = match (found(method, "passes to within 0.3 points of L-BFGS"), curve.last()) {
                    (Some(passes), _) => tenths(passes),
                    (None, Some([passes, f])) => format!("> {} (F {f:.2})", tenths(*passes)),
                    (None, None) => "–".into(),
                };
                let seconds = found(method, "seconds to within 0.3 points of L-BFGS");
                let seconds = seconds.map_or("–".into(), |seconds| format!("{seconds:.1}"));
                races += &format!("| {task} | {} | {f} | {passes} | {seconds} |\n", cell(method));
            }
        }
    }
    let mut table = String::new();
    for (id, what, text) in HEADLINES {
        if let Some(Number { paper, ours: Some(ours), .. }) = number(records, id, what) {
            let paper = paper.as_deref().unwrap_or("");
            table += &format!(
                "| {} | {} | {} |\n",
                cell(text),
                cell(&grouped(paper)),
                shown(*ours, decimals(paper))
            );
        }
    }
    if races.contains("(F ") {
        races += "\nWhere the level was not reached, the passes made stand behind `>`, with the last F.\n";
    }
    let under = |head: &str, rows: String| if rows.is_empty() { rows } else { format!("{head}\n{rows}\n") };
    under(
        "| task | method | F after one pass | passes to 0.3 points below L-BFGS's end | seconds |\n|---|---|---|---|---:|",
        races,
    ) + &under("| number | paper | here |\n|---|---:|---:|", table)
}
