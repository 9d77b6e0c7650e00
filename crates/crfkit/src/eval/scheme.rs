//! Conversion between notations of chunks: IOB1, IOB2 and IOBES.

use std::fmt;
use std::str::FromStr;

use super::chunks::{Side, chunks, kind};
use crate::error::{Error, Result};

/// A notation of chunks in labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `I-X` inside a chunk; `B-X` only where a chunk follows another one of the same type.
    Iob1,
    /// `B-X` at the start of a chunk, `I-X` in the rest of it.
    Iob2,
    /// As IOB2, with `E-X` at the end of a chunk and `S-X` for a chunk of one token.
    Iobes,
}

impl Scheme {
    /// All schemes by their names.
    pub const NAMES: [&'static str; 3] = ["iob1", "iob2", "iobes"];

    /// Whether this notation permits `after` right after `before`; `None` is the beginning, or the end, of a sequence. Labels outside
    /// chunks may be anything.
    ///
    /// ```
    /// use crfkit::eval::Scheme;
    ///
    /// assert!(Scheme::Iob2.permits(Some("B-NP"), Some("I-NP")));
    /// assert!(!Scheme::Iob2.permits(Some("O"), Some("I-NP")));
    /// assert!(!Scheme::Iobes.permits(Some("B-NP"), None));
    /// ```
    pub fn permits(self, before: Option<&str>, after: Option<&str>) -> bool {
        let side = |label: Option<&str>| label.map_or(Side::OUTSIDE, Side::of);
        let (left, right) = (side(before), side(after));
        let same = left.inside && right.inside && before.map(kind) == after.map(kind);
        let (open, inner) = (left.inside && !left.closes, right.inside && !right.opens);
        match self {
            Scheme::Iob1 => !right.opens || same,
            Scheme::Iob2 => !inner || (open && same),
            Scheme::Iobes => open == inner && (!open || same),
        }
    }

    /// The labels of the same chunks in this notation. Labels outside chunks stay as they are.
    ///
    /// ```
    /// use crfkit::eval::Scheme;
    ///
    /// let labels = ["B-NP", "I-NP", "O", "B-VP"];
    /// assert_eq!(Scheme::Iobes.labels(&labels), ["B-NP", "E-NP", "O", "S-VP"]);
    /// ```
    pub fn labels(self, labels: &[&str]) -> Vec<String> {
        let mut converted: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        let (mut end, mut before) = (usize::MAX, "");
        for (tokens, kind) in chunks(labels) {
            let touches = tokens.start == end && kind == before;
            let (first, last) = (tokens.start, tokens.end - 1);
            for token in tokens.clone() {
                let prefix = match self {
                    Scheme::Iob1 if token == first && touches => "B",
                    Scheme::Iob2 | Scheme::Iobes
                        if token == first && (token < last || self == Scheme::Iob2) =>
                    {
                        "B"
                    }
                    Scheme::Iobes if token == first => "S",
                    Scheme::Iobes if token == last => "E",
                    _ => "I",
                };
                converted[token] =
                    if kind.is_empty() { prefix.to_owned() } else { format!("{prefix}-{kind}") };
            }
            (end, before) = (tokens.end, kind);
        }
        converted
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scheme::Iob1 => "iob1",
            Scheme::Iob2 => "iob2",
            Scheme::Iobes => "iobes",
        })
    }
}

impl FromStr for Scheme {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "iob1" => Ok(Scheme::Iob1),
            "iob2" => Ok(Scheme::Iob2),
            "iobes" => Ok(Scheme::Iobes),
            _ => Err(Error::Setting(format!("unknown scheme `{name}`: choose {}", Scheme::NAMES.join("|")))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sequence that is converted to a notation is permitted by it.
    #[test]
    fn a_notation_permits_its_own_labels() {
        let labels = ["I-A", "B-A", "I-A", "I-B", "O", "S-A", "E-B", "x", "B-A"];
        for scheme in [Scheme::Iob1, Scheme::Iob2, Scheme::Iobes] {
            let converted = scheme.labels(&labels);
            let places = || converted.iter().map(|label| Some(label.as_str()));
            let pairs = std::iter::once(None).chain(places()).zip(places().chain([None]));
            pairs.for_each(|(before, after)| {
                assert!(scheme.permits(before, after), "{scheme}: {before:?} {after:?}");
            });
        }
        for (before, after) in [
            (None, Some("I-A")),
            (Some("O"), Some("I-A")),
            (Some("B-A"), Some("I-B")),
            (Some("B-A"), Some("O")),
        ] {
            assert!(!Scheme::Iobes.permits(before, after));
            assert_eq!(Scheme::Iob2.permits(before, after), after == Some("O"));
        }
        assert!(!Scheme::Iob1.permits(Some("O"), Some("B-A")));
    }

    #[test]
    fn every_notation_has_the_same_chunks() {
        let iob2 = ["B-A", "I-A", "B-A", "B-B", "O", "B-A", "I-A", "I-A", ".", "B-B"];
        let expected = [
            (Scheme::Iob1, ["I-A", "I-A", "B-A", "I-B", "O", "I-A", "I-A", "I-A", ".", "I-B"]),
            (Scheme::Iob2, iob2),
            (Scheme::Iobes, ["B-A", "E-A", "S-A", "S-B", "O", "B-A", "I-A", "E-A", ".", "S-B"]),
        ];
        for (from, labels) in &expected {
            assert_eq!(chunks(labels), chunks(&iob2), "{from}");
            for (to, wanted) in &expected {
                assert_eq!(to.labels(labels), wanted, "{from} to {to}");
            }
            assert_eq!(from.to_string().parse::<Scheme>().unwrap(), *from);
        }
        assert_eq!(Scheme::Iobes.labels(&["B", "I", "O", "B"]), ["B", "E", "O", "S"]);
        assert_eq!(Scheme::Iobes.labels(&[]), [""; 0]);
        assert!("bio".parse::<Scheme>().is_err());
    }
}
