//! `docs/CHECKLIST.md`: everything that the papers describe, row by row, held to the code.

use crate::book::Book;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The columns of the table.
const HEAD: [&str; 6] = ["row", "the papers describe", "file", "test", "verdict", "not the paper's, and why"];
/// What a row without an experiment may be.
const METHODS: [&str; 4] = ["works", "partly", "absent", "not testable"];

/// The numbers of all rows: 1 to 124, and four more after 29.
pub fn rows() -> Vec<String> {
    let more = ["29a", "29b", "29c", "29d"].map(String::from);
    let mut all: Vec<String> = (1..=124).map(|row| row.to_string()).collect();
    all.splice(29..29, more);
    all
}

/// What is wrong with the table in `text`: rows that are missing, files and tests that are gone, verdicts that are not those of the
/// experiments, and shortcomings without a reason. Paths are relative to `root`.
pub fn check(text: &str, root: &Path, book: &Book) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut table = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells = cells(line);
        if cells.len() == HEAD.len() {
            table.push(cells);
        } else {
            wrong.push(format!("a row has {} columns instead of {}: {line}", cells.len(), HEAD.len()));
        }
    }
    if table.first().is_none_or(|head| head[..] != HEAD) {
        wrong.push(format!("the table must begin with the columns {}", HEAD.join(", ")));
    }
    let found: Vec<&str> = table.iter().skip(1).map(|cells| cells[0].as_str()).collect();
    let expected = rows();
    for row in &expected {
        match found.iter().filter(|name| *name == row).count() {
            1 => {}
            count => wrong.push(format!("row {row} is there {count} times")),
        }
    }
    wrong.extend(
        found
            .iter()
            .filter(|name| !expected.iter().any(|row| row == *name))
            .map(|name| format!("no row is called {name}")),
    );
    for cells in table.iter().skip(1) {
        wrong.extend(row(cells, root, book).into_iter().map(|text| format!("row {}: {text}", cells[0])));
    }
    wrong
}

/// The cells of a line; `\|` is no border.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\u{1}");
    line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// The texts between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// What is wrong with one row.
fn row(cells: &[String], root: &Path, book: &Book) -> Vec<String> {
    let [_, what, files, tests, verdict, reason] = cells else { return vec!["too few columns".into()] };
    let mut wrong = Vec::new();
    if what.is_empty() {
        wrong.push("nothing is described".into());
    }
    let works = verdict == "works" || verdict.split(", ").all(|part| part == "reproduced");
    if !works && reason.is_empty() {
        wrong.push(format!("`{verdict}` needs a reason in the last column"));
    }
    if files.is_empty() && !["absent", "not testable"].contains(&verdict.as_str()) {
        wrong.push("no file is named".into());
    }
    wrong.extend(
        quoted(files).filter(|file| !root.join(file).exists()).map(|file| format!("the file {file} is gone")),
    );
    let mut verdicts = BTreeSet::new();
    for test in quoted(tests) {
        match (test.split_once("::"), book.entry(test)) {
            (Some((file, name)), _) => {
                let source = fs::read_to_string(root.join(file)).unwrap_or_default();
                if !source.contains(&format!("fn {name}(")) {
                    wrong.push(format!("the test {test} is gone"));
                }
            }
            (None, Some(entry)) => {
                verdicts.insert(entry.verdict.class());
            }
            (None, None) => wrong.push(format!("no experiment called {test} has a stored result")),
        }
    }
    if quoted(tests).next().is_none() && !["absent", "not testable"].contains(&verdict.as_str()) {
        wrong.push("no test is named".into());
    }
    let said: BTreeSet<String> = verdict.split("; ").map(String::from).collect();
    let method = METHODS.contains(&verdict.as_str());
    if verdicts.is_empty() && !method {
        wrong.push(format!("`{verdict}` is none of {}", METHODS.join(", ")));
    } else if !verdicts.is_empty() && !method && said != verdicts {
        let true_ones: Vec<String> = verdicts.into_iter().collect();
        wrong.push(format!("the verdict is `{verdict}`, but its experiments say `{}`", true_ones.join("; ")));
    }
    wrong
}
