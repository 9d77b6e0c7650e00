//! From the expanded name of an observation back to its template's text and values.
//!
//! CRF++ and Wapiti store observations as strings such as `U02:ate/VBD`; crfkit keeps the template's literal text and the values apart. One
//! string may be cut in several ways (`U02:a/b/c`). Each way is an observation here, and all of them have the weights of the string, so
//! the scores are the same.

/// In how many ways one string may be cut. More are not met in practice; this keeps a hostile file from asking for all memory.
pub(super) const MOST: usize = 256;

/// All values that fill the gaps between `literals` and make `text`; `None` if there are more than [`MOST`] ways.
pub(super) fn values<'a>(text: &'a str, literals: &[String]) -> Option<Vec<Vec<&'a str>>> {
    let mut found = Vec::new();
    if let Some((first, rest)) = literals.split_first()
        && let Some(text) = text.strip_prefix(first.as_str())
    {
        fill(text, rest, &mut Vec::new(), &mut found)?;
    }
    Some(found)
}

/// Fills the gaps in front of each of `literals`.
fn fill<'a>(
    text: &'a str,
    literals: &[String],
    values: &mut Vec<&'a str>,
    found: &mut Vec<Vec<&'a str>>,
) -> Option<()> {
    let mut keep = |values: Vec<&'a str>| {
        found.push(values);
        (found.len() <= MOST).then_some(())
    };
    match literals {
        [] if text.is_empty() => keep(values.clone()),
        [] => Some(()),
        [last] => match text.strip_suffix(last.as_str()) {
            Some(value) => keep([&values[..], &[value]].concat()),
            None => Some(()),
        },
        [next, rest @ ..] => {
            for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
                if let Some(after) = text[at..].strip_prefix(next.as_str()) {
                    values.push(&text[..at]);
                    fill(after, rest, values, found)?;
                    values.pop();
                }
            }
            Some(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_cut_in_every_way() {
        let cut = |text: &'static str, literals: &[&str]| {
            values(text, &literals.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(cut("U:a/b", &["U:", "/", ""]).unwrap(), [["a", "b"]]);
        assert_eq!(cut("U:a/b/c", &["U:", "/", ""]).unwrap(), [["a", "b/c"], ["a/b", "c"]]);
        assert_eq!(cut("U:é", &["U:", "", ""]).unwrap(), [["", "é"], ["é", ""]]);
        assert_eq!(cut("U:x.", &["U:", "."]).unwrap(), [["x"]]);
        assert_eq!(cut("*", &["*"]).unwrap(), [[""; 0]]);
        assert!(cut("U1:a", &["U:", ""]).unwrap().is_empty() && cut("U:ab", &["U:a"]).unwrap().is_empty());
        let long: &'static str = "U://////////////////////////////////////////";
        assert!(cut(long, &["U:", "/", "/", ""]).is_none());
    }
}
