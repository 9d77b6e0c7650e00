//! Rules on labels from a text: which labels may follow each other.
//!
//! One rule a line:
//!
//! ```text
//! # No label that starts with I- comes right after O, and none is the first label.
//! forbid O I-*
//! forbid begin I-*
//! # B-UNIT is not the last label.
//! forbid B-UNIT end
//! # After B-QTY comes I-QTY or B-UNIT, and the sequence does not end.
//! only B-QTY -> I-QTY B-UNIT
//! ```
//!
//! `begin` and `end` are the beginning and the end of a sequence. A `*` at the end of a name stands for all labels that start with it; `*`
//! alone stands for all labels. All rules hold together.

use crate::graph::LabelRules;
use crate::{Error, Place, Result};

/// Reads rules on these labels. `name` is the name of the text in error messages.
///
/// ```
/// let labels = ["B-X", "I-X", "O"].map(String::from);
/// let rules = crfkit::data::label_rules::parse("forbid O I-*\nforbid begin I-*", "rules", &labels)?;
/// assert!(rules.is_satisfied_by(&[0, 1, 2]) && !rules.is_satisfied_by(&[2, 1]));
/// # Ok::<(), crfkit::Error>(())
/// ```
pub fn parse(text: &str, name: &str, labels: &[String]) -> Result<LabelRules> {
    let mut rules = LabelRules::new(labels.len());
    for (number, line) in text.lines().enumerate() {
        let refuse = |message: String| Error::input(Place::new(name, number as u64 + 1), message);
        let words: Vec<&str> = line.split_whitespace().collect();
        let find = |word: &str, edge: &str| match word {
            word if word == edge => Ok(vec![None]),
            word => find(labels, word).map_err(refuse),
        };
        match words[..] {
            [] => {}
            [first, ..] if first.starts_with('#') => {}
            ["forbid", before, after] => {
                let after = find(after, "end")?;
                for i in find(before, "begin")? {
                    after.iter().for_each(|j| rules.forbid(i, *j));
                }
            }
            ["only", before, "->", ref after @ ..] if !after.is_empty() => {
                let mut kept = Vec::new();
                for word in after {
                    kept.extend(find(word, "end")?);
                }
                for i in find(before, "begin")? {
                    let all = (0..labels.len()).map(Some).chain([None]);
                    all.filter(|j| !kept.contains(j)).for_each(|j| rules.forbid(i, j));
                }
            }
            _ => {
                return Err(refuse(format!(
                    "`{}` is not a rule: write `forbid LABEL LABEL` or `only LABEL -> LABEL ...`, with `begin` and `end` for the ends \
                     of a sequence",
                    line.trim()
                )));
            }
        }
    }
    Ok(rules)
}

/// The labels that a word of a rule stands for.
fn find(labels: &[String], word: &str) -> std::result::Result<Vec<Option<usize>>, String> {
    let found: Vec<Option<usize>> = match word.strip_suffix('*') {
        _ if labels.iter().any(|label| label == word) => {
            labels.iter().position(|label| label == word).into_iter().map(Some).collect()
        }
        Some(start) => {
            (0..labels.len()).filter(|&label| labels[label].starts_with(start)).map(Some).collect()
        }
        None => Vec::new(),
    };
    match found.is_empty() {
        true => Err(format!("the model has no label `{word}`: its labels are {}", labels.join(", "))),
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Vec<String> {
        ["A", "B-X", "B-Y", "I-X"].map(String::from).to_vec()
    }

    #[test]
    fn rules_are_read() {
        let text = "# none\n\nforbid begin B-*\nonly A -> B-Y end\nforbid * I-X\n";
        let rules = parse(text, "rules", &labels()).unwrap();
        let expected = LabelRules::from_fn(4, |i, j| match (i, j) {
            (None, Some(j)) => j != 1 && j != 2,
            (Some(0), j) => matches!(j, Some(2) | None),
            (Some(_), j) => j != Some(3),
            (None, None) => true,
        });
        assert_eq!(rules, expected);
        assert_eq!(parse("", "rules", &labels()).unwrap(), LabelRules::new(4));
    }

    #[test]
    fn wrong_rules_are_named_with_their_line() {
        for (text, what) in [
            ("\nforbid A Z", "rules:2: the model has no label `Z`"),
            ("forbid end A", "rules:1: the model has no label `end`"),
            ("only A ->", "rules:1: `only A ->` is not a rule"),
            ("require A B", "rules:1: `require A B` is not a rule"),
            ("forbid Z* A", "rules:1: the model has no label `Z*`"),
        ] {
            let error = parse(text, "rules", &labels()).unwrap_err().to_string();
            assert!(error.starts_with(what), "{error}");
        }
    }
}
