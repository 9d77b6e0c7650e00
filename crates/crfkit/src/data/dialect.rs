//! The two dialects of template files: comments and padding strings.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// The dialect of a template file: CRF++ or Wapiti.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// The syntax of CRF++, with Wapiti's commands added.
    #[default]
    Crfpp,
    /// The syntax of Wapiti.
    Wapiti,
}

impl Dialect {
    /// The value of a cell `distance` rows before the first. All are equal from a certain distance on (8 in CRF++, 5 in
    /// Wapiti).
    #[doc(hidden)]
    pub fn left(self, distance: usize) -> &'static str {
        farthest(self.left_padding(), distance)
    }

    /// The value of a cell `distance` rows after the last.
    #[doc(hidden)]
    pub fn right(self, distance: usize) -> &'static str {
        farthest(self.right_padding(), distance)
    }

    /// All values of [`left`](Dialect::left), from distance 1 on.
    #[doc(hidden)]
    pub fn left_padding(self) -> &'static [&'static str] {
        match self {
            Dialect::Crfpp => &["_B-1", "_B-2", "_B-3", "_B-4", "_B-5", "_B-6", "_B-7", "_B-8"],
            Dialect::Wapiti => &["_x-1", "_x-2", "_x-3", "_x-4", "_x-#"],
        }
    }

    /// All values of [`right`](Dialect::right), from distance 1 on.
    #[doc(hidden)]
    pub fn right_padding(self) -> &'static [&'static str] {
        match self {
            Dialect::Crfpp => &["_B+1", "_B+2", "_B+3", "_B+4", "_B+5", "_B+6", "_B+7", "_B+8"],
            Dialect::Wapiti => &["_x+1", "_x+2", "_x+3", "_x+4", "_x+#"],
        }
    }

    /// The line without its comment; `None` if only blanks are left.
    pub(super) fn without_comment(self, line: &str) -> Option<&str> {
        let text = match self {
            Dialect::Crfpp if line.starts_with('#') => "",
            Dialect::Crfpp => line,
            Dialect::Wapiti => line.split('#').next().unwrap_or("").trim_ascii_end(),
        };
        (!text.trim_ascii().is_empty()).then_some(text)
    }
}

fn farthest(padding: &'static [&'static str], distance: usize) -> &'static str {
    padding[distance.clamp(1, padding.len()) - 1]
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dialect::Crfpp => "crfpp",
            Dialect::Wapiti => "wapiti",
        })
    }
}

impl FromStr for Dialect {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "crfpp" => Ok(Dialect::Crfpp),
            "wapiti" => Ok(Dialect::Wapiti),
            _ => Err(Error::Setting(format!("unknown template dialect `{name}`; choose crfpp or wapiti"))),
        }
    }
}
