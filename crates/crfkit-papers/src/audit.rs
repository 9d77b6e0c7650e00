//! Checks stored results, the page and the checklist, without corpora and without a rerun.

use crate::book::{Book, Entry, is_confirmed};
use crate::checklist;
use crate::document::listed;
use crate::experiment::{Form, Part, Record};
use crate::store::Store;
use crate::verdict::{Verdict, late, late_claims, ranges, unexplained};
use crfkit::Result;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What an audit found.
#[derive(Debug, Default)]
pub struct Findings {
    /// What breaks a rule.
    pub errors: Vec<String>,
    /// What a reader must know and no rule forbids: stale results, and experiments without one.
    pub warnings: Vec<String>,
    /// How many numbers, claims and rows were checked.
    pub checked: String,
}

/// Audits the results in `store`. Paths in the checklist and the README are relative to `root`.
pub fn audit(store: &Store, root: &Path) -> Result<Findings> {
    let book = Book::read(store)?;
    let mut findings = Findings::default();
    for experiment in &book.missing {
        findings.warnings.push(format!("{}: no stored result", experiment.id));
    }
    for entry in &book.entries {
        let errors = numbers(entry).into_iter().chain(claims(entry));
        let errors = errors.chain(tolerances(entry)).chain(reasons(entry, &book));
        findings.errors.extend(errors.map(|text| format!("{}: {text}", entry.record.id)));
        if let Some(confirmed) = entry.record.confirmed.as_ref().filter(|_| is_confirmed(&entry.record)) {
            let when = &confirmed.when;
            let text = "the library has changed, and the quick form gave the same numbers on";
            findings.warnings.push(format!("{}: confirmed, {text} {when}", entry.record.id));
        }
        if let Some(why) = entry.stale {
            findings.warnings.push(format!("{}: stale, {why}", entry.record.id));
        }
    }
    let read = |name: &str| fs::read_to_string(store.directory.join(name)).unwrap_or_default();
    findings.errors.extend(page(&read("REPRODUCTION.md"), &book));
    findings.errors.extend(list(&read("reproduction.json"), &book));
    findings.errors.extend(figures(store, &book));
    let readme = fs::read_to_string(root.join("README.md")).unwrap_or_default();
    findings.errors.extend(unknown_causes(&readme, &book));
    let rows = checklist::check(&read("CHECKLIST.md"), root, &book);
    findings.errors.extend(rows.into_iter().map(|text| format!("CHECKLIST.md, {text}")));
    let compared =
        |entry: &Entry| entry.record.outcome.numbers.iter().filter(|n| n.tolerance.is_some()).count();
    findings.checked = format!(
        "{} results, {} compared numbers, {} of them with a late tolerance, {} claims, {} of them late, {} rows of the checklist",
        book.entries.len(),
        book.entries.iter().map(compared).sum::<usize>(),
        book.entries.iter().map(|entry| late(&entry.record).len()).sum::<usize>(),
        book.entries.iter().map(|entry| entry.record.outcome.claims.len()).sum::<usize>(),
        book.entries.iter().map(|entry| late_claims(&entry.record).len()).sum::<usize>(),
        checklist::rows().len()
    );
    Ok(findings)
}

/// Every number of a paper is compared, or there is a reason why it cannot be; every comparison is older than the result.
fn numbers(Entry { record, verdict, .. }: &Entry) -> Vec<String> {
    let mut wrong = Vec::new();
    if record.form != Form::Full {
        wrong.push("is a result of --quick".into());
    }
    for number in &record.outcome.numbers {
        let what = &number.what;
        match (&number.paper, number.tolerance) {
            (Some(_), None) if number.apart.is_none() => {
                wrong.push(format!("`{what}` stands beside the paper's number and is not compared"));
            }
            (paper, Some(_)) => match record.fixed.get(what) {
                _ if paper.is_none() => {
                    wrong.push(format!("`{what}` has a tolerance and no number of the paper"))
                }
                None => wrong.push(format!(
                    "`{what}`: it is not recorded when its tolerance was fixed; run `document`"
                )),
                Some(fixed) if number.tolerance.is_some_and(|t| t > fixed.tolerance) => {
                    wrong.push(format!(
                        "`{what}`: the tolerance is wider than the one that was fixed; run `document`"
                    ));
                }
                Some(fixed) if fixed.late() && *verdict == Verdict::Reproduced => {
                    wrong.push(format!("`{what}`: the tolerance is younger than the result"));
                }
                Some(_) => {}
            },
            _ => {}
        }
    }
    wrong
}

/// It is recorded when each claim was made, and no late claim counts as reproduced.
fn claims(Entry { record, verdict, .. }: &Entry) -> Vec<String> {
    let mut wrong = Vec::new();
    for claim in &record.outcome.claims {
        match record.stated.get(&claim.text) {
            None => wrong
                .push(format!("`{}`: it is not recorded when this was claimed; run `document`", claim.text)),
            Some(stated) if stated.late() && *verdict == Verdict::Reproduced => {
                wrong.push(format!("`{}`: the claim is younger than the result", claim.text));
            }
            Some(_) => {}
        }
    }
    wrong
}

/// A tolerance as large as the value, or as the range of the paper's column, would let anything pass.
fn tolerances(Entry { record, .. }: &Entry) -> Vec<String> {
    let mut wrong = Vec::new();
    for (number, range) in record.outcome.numbers.iter().zip(ranges(&record.outcome)) {
        let (Some(tolerance), Some(paper), Some(range)) = (number.tolerance, number.value(), range) else {
            continue;
        };
        if tolerance > 0.0 && tolerance >= paper.abs() {
            wrong.push(format!(
                "`{}`: the tolerance {tolerance} is as large as the paper's {paper}",
                number.what
            ));
        } else if range > 0.0 && tolerance >= range {
            let what = &number.what;
            wrong.push(format!(
                "`{what}`: the tolerance {tolerance} is as large as the range {range:.4} of its column"
            ));
        }
    }
    wrong
}

/// Every number out of tolerance has a reason that a stored experiment gives, with numbers of its own, or the verdict says that the cause
/// is not found; what a reason states with decimals is stored.
fn reasons(entry: &Entry, book: &Book) -> Vec<String> {
    let mut wrong = Vec::new();
    if entry.experiment.part == Part::Paper && entry.verdict != Verdict::CauseNotFound {
        let unexplained = unexplained(&entry.record, &entry.why);
        wrong.extend(
            unexplained.iter().map(|what| format!("`{what}` differs, and no stored experiment says why")),
        );
    }
    for reason in &entry.record.outcome.why {
        if crate::find(&reason.of).is_err() {
            wrong.push(format!("gives a reason for {}, which is no experiment", reason.of));
        }
        if entry.record.outcome.numbers.is_empty() {
            wrong.push(format!("gives a reason for {} and has no number that shows it", reason.of));
        }
        let ids = [entry.record.id.as_str(), reason.of.as_str()]
            .into_iter()
            .chain(entry.experiment.needs.iter().copied());
        let used: Vec<&Record> = ids.filter_map(|id| book.entry(id)).map(|used| &used.record).collect();
        let numbers = || used.iter().flat_map(|record| record.outcome.numbers.iter());
        let known: Vec<f64> = numbers().flat_map(|number| [number.ours, number.value()]).flatten().collect();
        // Settings, what numbers and rules are called, and the ranges that stand for the paper's numbers.
        let texts = numbers().flat_map(|number| [Some(number.what.as_str()), number.paper.as_deref()]);
        let mut words: String = texts.flatten().collect::<Vec<_>>().join(" ");
        used.iter().for_each(|record| words += &format!(" {} {} ", record.settings, record.tolerance));
        for numeral in decimals(&reason.text) {
            if !words.contains(&numeral) && !known.iter().any(|&x| rounds_to(x, &numeral)) {
                wrong.push(format!("the reason for {} states {numeral}, which is not stored", reason.of));
            }
        }
    }
    wrong
}

/// The numerals with a decimal point in a text.
fn decimals(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_ascii_digit() && c != '.').map(|part| part.trim_matches('.'));
    parts.filter(|part| part.contains('.')).map(String::from).collect()
}

/// Whether a number is printed like this with as many decimals.
fn rounds_to(x: f64, numeral: &str) -> bool {
    let places = numeral.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let near = |x: f64| {
        numeral
            .parse()
            .is_ok_and(|said: f64| (said - x.abs()).abs() <= 0.500_001 * 10f64.powi(-(places as i32)))
    };
    near(x)
}

/// The counts and verdicts of the page are those of the results.
fn page(text: &str, book: &Book) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut expect = |line: String| {
        if !text.lines().any(|found| found.starts_with(&line)) {
            wrong.push(format!("REPRODUCTION.md has no line `{line}`; run `document`"));
        }
    };
    for (class, _) in Verdict::PAPERS {
        let is = |entry: &&Entry| entry.experiment.part == Part::Paper && entry.verdict.class() == class;
        expect(format!("| {class} | {} |", book.entries.iter().filter(is).count()));
    }
    for Entry { record, verdict, .. } in &book.entries {
        expect(format!("`{}`, row {}: **{verdict}**", record.id, record.row));
    }
    wrong
}

/// The list in `reproduction.json` is that of the results.
fn list(text: &str, book: &Book) -> Vec<String> {
    let stored: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
    let same = |entry: &Entry| stored.iter().any(|value| *value == listed(entry));
    let wrong = book.entries.iter().filter(|entry| !same(entry));
    let mut wrong: Vec<String> = wrong
        .map(|entry| format!("reproduction.json has another {}; run `document`", entry.record.id))
        .collect();
    if stored.len() != book.entries.len() {
        wrong.push(format!(
            "reproduction.json has {} results instead of {}",
            stored.len(),
            book.entries.len()
        ));
    }
    wrong
}

/// Every figure of a result is there.
fn figures(store: &Store, book: &Book) -> Vec<String> {
    let mut wrong = Vec::new();
    for file in
        ["pwpl-fig1-diagram", "pwpl-fig2-diagram", "ep-fig1-diagram"].map(|name| format!("images/{name}.svg"))
    {
        if !store.directory.join(&file).is_file() {
            wrong.push(format!("the diagram {file} is missing"));
        }
    }
    for Entry { record, .. } in &book.entries {
        for chart in &record.outcome.charts {
            let file = format!("images/{}-{}.svg", record.id, chart.name);
            if !store.directory.join(&file).is_file() {
                wrong.push(format!("{}: the figure {file} is missing; run `document`", record.id));
            }
        }
    }
    wrong
}

/// The README names the experiments that differ for a cause that was not found.
fn unknown_causes(readme: &str, book: &Book) -> Vec<String> {
    let unknown = book.entries.iter().filter(|entry| entry.verdict == Verdict::CauseNotFound);
    let mut wrong: Vec<String> = unknown
        .filter(|entry| !readme.contains(&format!("`{}`", entry.record.id)))
        .map(|entry| {
            format!(
                "README.md does not name `{}`, which differs for a cause that was not found",
                entry.record.id
            )
        })
        .collect();
    if !readme.contains("cause not found") {
        wrong.push("README.md has no words `cause not found`".into());
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numeral_is_a_rounded_number() {
        assert!(rounds_to(93.6145, "93.61") && rounds_to(-0.434, "0.43") && !rounds_to(93.62, "93.61"));
        assert_eq!(decimals("with 1 and 93.61, eq. 22 (0.5)."), ["93.61", "0.5"]);
    }
}
