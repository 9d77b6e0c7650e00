//! Where chunks begin and end in a sequence of labels: conlleval's rules, extended to every common chunk notation.
//!
//! A label is split at its first `-` into a prefix and a type: `I-a-b` is `I` and `a-b`; `B` has the empty type.
//!
//! | prefix              | notation                            | inside a chunk | opens | closes |
//! |---------------------|-------------------------------------|----------------|-------|--------|
//! | `O` `.`             | all; brackets                       | no             |       |        |
//! | `B`                 | IOB1, IOB2, IOBES, BILOU, BMES      | yes            | yes   |        |
//! | `I` `M`             | IOB1, IOB2, IOE, IOBES, BILOU; BMES | yes            |       |        |
//! | `E` `L`             | IOE, IOBES, BMES; BILOU             | yes            |       | yes    |
//! | `S` `U` `W` `[` `]` | IOBES, BMES; BILOU; BMEWO; brackets | yes            | yes   | yes    |
//! | other, with `-`     | none: counts as `I`                 | yes            |       |        |
//! | other, without `-`  | not a chunk label                   | no             |       |        |
//!
//! There is a cut between two neighbouring tokens if
//!
//! 1. one of them is outside (so are both ends of the sequence), or
//! 2. the left one closes, or
//! 3. the right one opens, or
//! 4. their types differ (`B-NP I-VP` is two chunks).
//!
//! A token inside a chunk starts one if there is a cut on its left, and ends one if there is a cut on its right. So
//! IOB1 (`I-NP I-NP` is one chunk, `I-NP B-NP` two) needs no rule of its own.
//!
//! On sequences of `B`, `I`, `O` and of `E`, `I`, `O`, in any order, these rules agree with the original conlleval.
//! It does not know `S`, and takes `E-NP B-NP` for one chunk; there, and for `L`, `U`, `M` and `W`, crfkit follows
//! the notation instead. conlleval also opens a nameless chunk at a label without a prefix that follows a chunk;
//! crfkit treats such a label as outside.

use std::ops::Range;

/// What a label says about chunks. The caller assigns an id to each type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    inside: bool,
    opens: bool,
    closes: bool,
    kind: u32,
}

impl Mark {
    /// A label outside every chunk. It also stands before and after a sequence.
    pub(crate) const OUTSIDE: Mark = Mark { inside: false, opens: false, closes: false, kind: 0 };

    /// Parses a label. `kind_of` maps the name of a type to its id; it is called only for labels inside chunks.
    pub(crate) fn new(label: &str, kind_of: impl FnOnce(&str) -> u32) -> Mark {
        let (prefix, kind) = split(label);
        let (opens, closes) = match (known_prefix(prefix), kind) {
            (Some(Prefix::Outside), _) | (None, None) => return Mark::OUTSIDE,
            (Some(Prefix::Inside { opens, closes }), _) => (opens, closes),
            (None, Some(_)) => (false, false),
        };
        Mark { inside: true, opens, closes, kind: kind_of(kind.unwrap_or("")) }
    }

    /// The id of the type, if the label is inside a chunk.
    pub(crate) fn field(self) -> Option<u32> {
        self.inside.then_some(self.kind)
    }

    /// Whether there is a cut between this token and the `next` one.
    fn cut_before(self, next: Mark) -> bool {
        !self.inside || !next.inside || self.closes || next.opens || self.kind != next.kind
    }
}

/// Whether a set of labels looks like chunk labels, so that F1 is the relevant score rather than accuracy. Every
/// label must be `O` (or `.`) or have a known prefix and a `-`, and at least one must have a prefix.
pub fn is_chunked<'a>(labels: impl IntoIterator<Item = &'a str>) -> bool {
    let mut any_prefix = false;
    for label in labels {
        match split(label) {
            (prefix, Some(_)) if matches!(known_prefix(prefix), Some(Prefix::Inside { .. })) => {
                any_prefix = true
            }
            ("O" | ".", None) => {}
            _ => return false,
        }
    }
    any_prefix
}

/// Whether counting chunks makes sense: some label names a chunk (`B-NP`), or all labels are bare prefixes (`B`, `I`,
/// `O`). More lenient than [`is_chunked`]: one mistyped label among chunk labels does not matter.
pub(super) fn can_have_chunks<'a>(mut labels: impl Iterator<Item = &'a str> + Clone) -> bool {
    let named = |label| {
        let (prefix, kind) = split(label);
        kind.is_some() && matches!(known_prefix(prefix), Some(Prefix::Inside { .. }))
    };
    labels.clone().any(named) || labels.all(|label| known_prefix(label).is_some())
}

/// The chunks of a sequence of labels: the tokens of each, and its type.
///
/// ```
/// let chunks = crfkit::eval::chunks(&["B-NP", "I-NP", "O", "B-VP"]);
/// assert_eq!(chunks, [(0..2, "NP"), (3..4, "VP")]);
/// ```
pub fn chunks<'a>(labels: &[&'a str]) -> Vec<(Range<usize>, &'a str)> {
    let mut kinds: Vec<&str> = Vec::new();
    let mut chunks: Vec<(Range<usize>, &'a str)> = Vec::new();
    let mut before = Mark::OUTSIDE;
    for (token, &label) in labels.iter().enumerate() {
        let mark = Mark::new(label, |kind| {
            kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                kinds.push(split(label).1.unwrap_or(""));
                kinds.len() - 1
            }) as u32
        });
        match chunks.last_mut() {
            Some((tokens, _)) if mark.inside && !before.cut_before(mark) => tokens.end = token + 1,
            _ if mark.inside => chunks.push((token..token + 1, kinds[mark.kind as usize])),
            _ => {}
        }
        before = mark;
    }
    chunks
}

/// What each label of a model says about chunks.
#[derive(Clone, Debug)]
pub struct ChunkLabels {
    marks: Vec<Mark>,
    kinds: Vec<String>,
}

impl ChunkLabels {
    /// The labels with these names.
    pub fn new(labels: &[String]) -> Self {
        let mut kinds: Vec<String> = Vec::new();
        let mark = |label: &String| {
            Mark::new(label, |kind| {
                let known = kinds.iter().position(|known| known == kind);
                known.unwrap_or_else(|| {
                    kinds.push(kind.to_owned());
                    kinds.len() - 1
                }) as u32
            })
        };
        let marks = labels.iter().map(mark).collect();
        ChunkLabels { marks, kinds }
    }

    /// Whether a chunk of type `kind` begins at a token with label `after`, right after one with label `before`; `None` is the beginning.
    pub fn begins(&self, kind: &str, before: Option<usize>, after: usize) -> bool {
        let (left, right) = (before.map_or(Mark::OUTSIDE, |label| self.marks[label]), self.marks[after]);
        right.inside && self.kinds[right.kind as usize] == kind && left.cut_before(right)
    }

    /// The types of chunks.
    pub fn kinds(&self) -> &[String] {
        &self.kinds
    }

    /// Whether a chunk of type `kind` that consists of `tokens` continues at token `t` with these labels of the token before it and of
    /// `t` itself, `None` beyond the ends of a sequence. At the first token it begins, and at the token after the last it has ended.
    pub fn fits(
        &self,
        (tokens, kind): (&Range<usize>, &str),
        t: usize,
        before: Option<usize>,
        after: Option<usize>,
    ) -> bool {
        let mark = |label: Option<usize>| label.map_or(Mark::OUTSIDE, |label| self.marks[label]);
        let (left, right) = (mark(before), mark(after));
        let cut = left.cut_before(right);
        let inside = right.inside && self.kinds[right.kind as usize] == kind;
        match t {
            t if t == tokens.end => cut,
            t => inside && cut == (t == tokens.start),
        }
    }
}

/// What a label says about the chunk that its token is in.
pub(crate) struct Side {
    pub(crate) inside: bool,
    pub(crate) opens: bool,
    pub(crate) closes: bool,
}

impl Side {
    /// Outside every chunk.
    pub(super) const OUTSIDE: Side = Side { inside: false, opens: false, closes: false };

    pub(crate) fn of(label: &str) -> Side {
        let Mark { inside, opens, closes, .. } = Mark::new(label, |_| 0);
        Side { inside, opens, closes }
    }
}

/// The type of a label, empty if it has none.
pub(crate) fn kind(label: &str) -> &str {
    split(label).1.unwrap_or("")
}

enum Prefix {
    Outside,
    Inside { opens: bool, closes: bool },
}

/// Looks a prefix up in the table at the top of this file.
fn known_prefix(prefix: &str) -> Option<Prefix> {
    Some(match prefix {
        "O" | "." => Prefix::Outside,
        "B" => Prefix::Inside { opens: true, closes: false },
        "I" | "M" => Prefix::Inside { opens: false, closes: false },
        "E" | "L" => Prefix::Inside { opens: false, closes: true },
        "S" | "U" | "W" | "[" | "]" => Prefix::Inside { opens: true, closes: true },
        _ => return None,
    })
}

/// The prefix and type of a label. Without a `-` there is no type.
fn split(label: &str) -> (&str, Option<&str>) {
    match label.split_once('-') {
        Some((prefix, kind)) => (prefix, Some(kind)),
        None => (label, None),
    }
}

/// What happens between two tokens. The numbers are ids of types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    /// A chunk has ended that is in both sequences, with the same type, start and end.
    pub(crate) correct: Option<u32>,
    /// A gold chunk starts.
    pub(crate) gold: Option<u32>,
    /// A predicted chunk starts.
    pub(crate) predicted: Option<u32>,
}

/// Walks along the gold and predicted labels of one sequence and compares their chunks in a single pass.
#[derive(Debug)]
pub(super) struct Matcher {
    gold: Mark,
    predicted: Mark,
    /// Whether both sequences are in a chunk of the same type that started at the same token.
    agree: bool,
}

impl Matcher {
    /// A matcher before the first token.
    pub(crate) fn new() -> Matcher {
        Matcher { gold: Mark::OUTSIDE, predicted: Mark::OUTSIDE, agree: false }
    }

    /// Moves to the next token. After the last token, one more step goes to [`Mark::OUTSIDE`] in both.
    pub(crate) fn step(&mut self, gold: Mark, predicted: Mark) -> Step {
        let gold_cut = self.gold.cut_before(gold);
        let predicted_cut = self.predicted.cut_before(predicted);
        let step = Step {
            correct: (self.agree && gold_cut && predicted_cut).then_some(self.gold.kind),
            gold: (gold_cut && gold.inside).then_some(gold.kind),
            predicted: (predicted_cut && predicted.inside).then_some(predicted.kind),
        };
        let both_start = step.gold.is_some() && step.gold == step.predicted;
        self.agree = both_start || (self.agree && !gold_cut && !predicted_cut);
        (self.gold, self.predicted) = (gold, predicted);
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chunks of a sequence as `type start..end`, by the cut rule alone. Types are single letters in these tests.
    fn chunks(labels: &str) -> String {
        let marks: Vec<Mark> = labels
            .split_whitespace()
            .map(|label| Mark::new(label, |kind| kind.bytes().next().unwrap_or(b'_').into()))
            .collect();
        let at = |t: usize| marks.get(t).copied().unwrap_or(Mark::OUTSIDE);
        let mut found = Vec::new();
        let mut start = 0;
        for t in 0..marks.len() {
            let left = t.checked_sub(1).map_or(Mark::OUTSIDE, at);
            if left.cut_before(at(t)) {
                start = t;
            }
            if at(t).inside && at(t).cut_before(at(t + 1)) {
                found.push(format!("{}{start}..{}", char::from(marks[t].kind as u8), t + 1));
            }
        }
        found.join(" ")
    }

    #[test]
    fn every_notation_gives_the_same_chunks() {
        let same = "X0..2 X2..3 Y3..6 X7..8";
        for (notation, labels) in [
            ("IOB1", "I-X I-X B-X I-Y I-Y I-Y O I-X"),
            ("IOB2", "B-X I-X B-X B-Y I-Y I-Y O B-X"),
            ("IOE1", "I-X E-X I-X I-Y I-Y I-Y O I-X"),
            ("IOE2", "I-X E-X E-X I-Y I-Y E-Y O E-X"),
            ("IOBES", "B-X E-X S-X B-Y I-Y E-Y O S-X"),
            ("BILOU", "B-X L-X U-X B-Y I-Y L-Y O U-X"),
            ("BMEWO", "B-X E-X W-X B-Y M-Y E-Y O W-X"),
        ] {
            assert_eq!(chunks(labels), same, "{notation}");
        }
    }

    #[test]
    fn labels_that_break_their_notation() {
        for (labels, expected) in [
            ("B-X I-Y", "X0..1 Y1..2"),
            ("O I-X I-X O", "X1..3"),
            ("E-X B-X I-X", "X0..1 X1..3"),
            ("S-X I-X E-X", "X0..1 X1..3"),
            ("B-X B-X E-X I-X", "X0..1 X1..3 X3..4"),
            ("I-X S-X I-X", "X0..1 X1..2 X2..3"),
            ("B-X NN B-X", "X0..1 X2..3"),
            ("NN-X NN-X O", "X0..2"),
            ("NN VB NN", ""),
            ("O-X O-X", ""),
            ("", ""),
        ] {
            assert_eq!(chunks(labels), expected, "{labels}");
        }
    }

    #[test]
    fn labels_without_a_type() {
        assert_eq!(chunks("B I O I B I I"), "_0..2 _3..4 _4..7");
        assert_eq!(chunks("B M E S B E"), "_0..3 _3..4 _4..6");
        assert_eq!(chunks("[ . . [ ["), "_0..1 _3..4 _4..5");
    }

    #[test]
    fn the_type_is_all_after_the_first_hyphen() {
        let mut types = Vec::new();
        for label in ["I-a-b", "B-", "B", "O", "NN"] {
            Mark::new(label, |kind| {
                types.push(kind.to_owned());
                0
            });
        }
        assert_eq!(types, ["a-b", "", ""]);
    }

    #[test]
    fn label_sets() {
        assert!(is_chunked(["O", "B-NP", "I-NP"]));
        assert!(is_chunked(["S-a", "B-a", "E-a", "L-b", "U-b"]));
        assert!(!is_chunked(["O"]));
        assert!(!is_chunked([]));
        assert!(!is_chunked(["NN", "VB"]));
        assert!(!is_chunked(["O", "B-NP", "NN"]));
        assert!(!is_chunked(["O", "B-NP", "NN-TL"]));
        assert!(!is_chunked(["B", "I", "O"]));
        let can = |labels: &[&'static str]| can_have_chunks(labels.iter().copied());
        assert!(can(&["B-NP", "O"]) && can(&["B", "I", "O"]) && can(&["O"]) && can(&["O", "B-NP", "typo"]));
        assert!(!can(&["NN", "VB"]) && !can(&["O", "NN"]) && !can(&["NN-TL", "."]));
    }
}
