//! Rules on labels, as `--constraint` gives them.

use crfkit::settings::Constraint;
use std::path::Path;

/// A value of `--constraint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules<'a> {
    /// A notation of chunks, or nothing.
    Notation(Constraint),
    /// A file of rules.
    File(&'a Path),
}

impl<'a> Rules<'a> {
    /// The rules that a value stands for.
    pub fn of(value: &'a Path) -> Self {
        match value.to_str() {
            Some("none") => Rules::Notation(Constraint::None),
            Some("iob2") => Rules::Notation(Constraint::Iob2),
            Some("iobes") => Rules::Notation(Constraint::Iobes),
            _ => Rules::File(value),
        }
    }

    /// The notation for the settings of a model, which has the rules of a file itself.
    pub fn constraint(self) -> Constraint {
        match self {
            Rules::Notation(constraint) => constraint,
            Rules::File(_) => Constraint::None,
        }
    }

    /// The text of a file of rules, and its name.
    pub fn read(file: &Path) -> crfkit::Result<(String, String)> {
        let name = crate::io::name(file);
        Ok((crate::io::read_text(file)?, name))
    }
}
