//! Writes the page of results, and the machine-readable list.

use crate::cells::{cell, decimals, grouped, settings, shown, tenths};
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
    let mut summary = String::from("| row | experiment | verdict | seconds |\n|---|---|---|---:|\n");
    for (experiment, record) in &all {
        let Some(record) = record else {
            summary += &format!(
                "| {} | `{}` {} | not run yet | |\n",
                experiment.row,
                experiment.id,
                cell(experiment.title)
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
            record.row,
            record.id,
            cell(&record.title),
            record.verdict,
            record.seconds
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
         {form}{}{}{}{summary}\n{body}",
        papers(),
        headlines(&stored),
        verdicts(&stored, all.len())
    );
    write(&store.directory.join("reproduction.json"), &json(&list)?)?;
    write(&store.directory.join("REPRODUCTION.md"), &page)
}

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
         Seconds of ours are of two cores of a current server, unless the settings of an experiment tell the number of its threads; \
         they vary from run to run. – is no number: a method diverged, never reached the score, or was not evaluated there.\n\n"
    )
}

/// The meaning of each verdict.
const VERDICTS: [(&str, &str); 5] = [
    ("reproduced", "all numbers are within their tolerances, and all claims hold"),
    (
        "reproduced in shape",
        "all claims hold, the order or the trend that the text states; not all numbers agree, or none is compared",
    ),
    (
        "paper inconsistent",
        "the paper contradicts itself or a theorem, and the experiment shows it; each error has a letter",
    ),
    ("differs", "something else comes out here; *why* leads to the experiment that shows the cause"),
    ("not testable", "the data are not to be had"),
];

/// The table of verdicts: how many experiments have each, and what it means. `all` is the number of experiments.
fn verdicts(records: &[&Record], all: usize) -> String {
    let mut table = String::from("| verdict | experiments | meaning |\n|---|---:|---|\n");
    for (verdict, meaning) in VERDICTS {
        let is = |record: &&&Record| match record.verdict {
            Verdict::PaperInconsistent(_) => verdict == "paper inconsistent",
            other => other.to_string() == verdict,
        };
        table += &format!("| {verdict} | {} | {meaning} |\n", records.iter().filter(is).count());
    }
    if records.len() < all {
        table += &format!("| not run yet | {} | |\n", all - records.len());
    }
    table + "\n"
}

/// Why an experiment differs: its own reasons, or, if there are none, those of the experiments whose results it uses.
/// An experiment that explains another one does not itself differ for the reason that it gives.
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

/// The numbers that follow on the page: experiment, name of the number, and what it says.
const HEADLINES: &[(&str, &str, &str)] = &[
    (
        "smd-claims1",
        "passes of BFGS over passes of SMD, to the F of BFGS less 0.3",
        "base NP: how many times fewer passes SMD needs than BFGS",
    ),
    ("psa-claims", "CoNLL-2000: PSA after 1.12 passes", "base NP: F of PSA after 1.12 passes"),
    ("psa-claims", "NLPBA: PSA after 1.01 passes", "NLPBA: F of PSA after 1.01 passes"),
    (
        "psa-claims",
        "BioCreative II: PSA after 1.12 passes, with the alternatives",
        "BioCreative II: F of PSA after 1.12 passes, with the alternatives",
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

/// The points of a method's line in the charts of a result; empty if there is none.
fn curve<'a>(record: &'a Record, method: &str) -> &'a [[f64; 2]] {
    let mut lines = record.outcome.charts.iter().flat_map(|chart| &chart.lines);
    lines.find(|line| line.name == method).map_or(&[], |line| &line.points)
}

/// The tables at the top of the page, for the experiments that have been run.
fn headlines(records: &[&Record]) -> String {
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
        races += "\nA level that was not reached has the number of passes made, `>` before it, and the F at their end.\n";
    }
    let under = |head: &str, rows: String| if rows.is_empty() { rows } else { format!("{head}\n{rows}\n") };
    under(
        "| task | method | F after one pass | passes to 0.3 points below L-BFGS's end | seconds |\n|---|---|---|---|---:|",
        races,
    ) + &under("| number | paper | here |\n|---|---:|---:|", table)
}

/// The file name of a figure.
fn image(record: &Record, chart: &str) -> String {
    format!("{}-{chart}.svg", record.id)
}

/// One entry of `reproduction.json`; `why` holds the experiments that explain it and their reasons.
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
        let mut table =
            String::from("| number | paper | here | tolerance | within |\n|---|---:|---:|---:|---|\n");
        for n in &outcome.numbers {
            let paper = n.paper.as_deref().unwrap_or("");
            // As precise as the number that it is compared with.
            let exact = n.tolerance.map_or(0, |t| decimals(&t.to_string())).max(decimals(paper));
            let ours = n.ours.map_or("–".into(), |x| shown(x, exact));
            let tolerance = n.tolerance.map(|t| format!("±{}", shown(t, 0))).unwrap_or_default();
            let mark = n.within.map_or("", |within| if within { "✓" } else { "✗" });
            let (what, paper) = (cell(&n.what), cell(&grouped(paper)));
            let _ = writeln!(table, "| {what} | {paper} | {ours} | {tolerance} | {mark} |"); // to a string
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
