//! The definition of an experiment, and its result.

use crate::chart::Chart;
use crate::corpora::{Corpora, DataSet};
use crate::picture::Picture;
use crfkit::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// How much of an experiment is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// All of it, for publication.
    Full,
    /// A small part of the data and of the passes. It shows that the experiment runs, and proves nothing.
    Quick,
}

impl Form {
    /// Returns one of two values, depending on the form.
    pub fn pick<T>(self, full: T, quick: T) -> T {
        match self {
            Form::Full => full,
            Form::Quick => quick,
        }
    }
}

/// One experiment of a paper.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// The name on the command line and of its files.
    pub id: &'static str,
    /// A number that experiments on the same result of a paper share. The page shows it in its first column.
    pub row: u32,
    /// The paper, the place in it, and the result that is tested.
    pub title: &'static str,
    /// Increased when a change of the code changes the result.
    pub version: u32,
    /// The data it needs.
    pub data: &'static [DataSet],
    /// Experiments whose results it uses.
    pub needs: &'static [&'static str],
    /// What counts as reproduced, in words. The result has the tolerance of each number.
    pub tolerance: &'static str,
    /// Set if the paper contradicts itself or a theorem here: the letter of the error in `docs/REFERENCES.md`.
    pub inconsistent: Option<char>,
    /// Everything besides the code that shapes the result.
    pub settings: fn(Form) -> Value,
    /// Runs the experiment.
    pub run: fn(&Context) -> Result<Outcome>,
}

/// The input of an experiment.
pub struct Context<'a> {
    /// How much to run.
    pub form: Form,
    /// The corpora.
    pub corpora: Corpora,
    /// The results of the experiments that it needs.
    pub results: &'a dyn Fn(&str) -> Result<Record>,
    /// Receives progress messages.
    pub say: &'a dyn Fn(&str),
}

impl Context<'_> {
    /// The result of an experiment that this one needs.
    pub fn result(&self, id: &str) -> Result<Record> {
        (self.results)(id)
    }
}

/// One of our numbers, beside the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// What it measures.
    pub what: String,
    /// The number as the paper prints it; `None` if the paper has none.
    pub paper: Option<String>,
    /// Our number; `None` if there is none, because a method diverged or a score was never reached.
    pub ours: Option<f64>,
    /// How far our number may be from the paper's; `None` if it is only shown (such as seconds on another machine).
    pub tolerance: Option<f64>,
    /// Whether it is within the tolerance.
    pub within: Option<bool>,
}

/// An ordering or a trend that the paper claims, or a statement that shows an error of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The claim.
    pub text: String,
    /// Whether it holds here.
    pub holds: bool,
}

/// Why a result differs from the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// The experiment that differs.
    pub of: String,
    /// The cause, with the numbers that show it.
    pub text: String,
}

/// The result of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The numbers.
    pub numbers: Vec<Number>,
    /// The claims.
    pub claims: Vec<Claim>,
    /// The figures.
    pub charts: Vec<Chart>,
    /// Images, shown together.
    #[serde(default)]
    pub pictures: Vec<Picture>,
    /// Weights from which other experiments start, by name.
    #[serde(default)]
    pub weights: BTreeMap<String, Vec<f64>>,
    /// What a reader should know: substitutes for data, why a number differs.
    pub notes: Vec<String>,
    /// Why this experiment or another one differs, according to the numbers here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<Reason>,
    /// Why the experiment cannot be tested, if it cannot.
    pub not_testable: Option<String>,
}

impl Outcome {
    /// Adds a number that the paper has as well, with its tolerance.
    pub fn compare(&mut self, what: impl Into<String>, paper: f64, ours: f64, tolerance: f64) {
        self.numbers.push(Number {
            what: what.into(),
            paper: Some(paper.to_string()),
            ours: Some(ours).filter(|x| x.is_finite()),
            tolerance: Some(tolerance),
            within: Some((ours - paper).abs() <= tolerance + 1e-12),
        });
    }

    /// Adds a number that is only shown; `paper` is the printed value, or empty if there is none.
    pub fn show(&mut self, what: impl Into<String>, paper: &str, ours: f64) {
        let paper = (!paper.is_empty()).then(|| paper.to_owned());
        let ours = Some(ours).filter(|x| x.is_finite());
        self.numbers.push(Number { what: what.into(), paper, ours, tolerance: None, within: None });
    }

    /// Adds a claim.
    pub fn claim(&mut self, text: impl Into<String>, holds: bool) {
        self.claims.push(Claim { text: text.into(), holds });
    }

    /// Adds a note.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Says why the experiment `of` differs; the page shows the reason there.
    pub fn because(&mut self, of: &str, text: impl Into<String>) {
        self.why.push(Reason { of: of.into(), text: text.into() });
    }

    /// The number called `what`, of a result that another experiment uses.
    pub fn number(&self, what: &str) -> Result<f64> {
        let found = self.numbers.iter().find(|number| number.what == what);
        found
            .and_then(|number| number.ours)
            .ok_or_else(|| Error::Setting(format!("no number `{what}` in the result")))
    }

    /// The verdict that follows from numbers and claims. If `inconsistent` is set (see [`Experiment::inconsistent`]),
    /// the claims are those that show the error.
    pub fn verdict(&self, inconsistent: Option<char>) -> Verdict {
        let claims = self.claims.iter().all(|claim| claim.holds);
        let checked: Vec<bool> = self.numbers.iter().filter_map(|number| number.within).collect();
        let numbers = checked.iter().all(|&within| within);
        match inconsistent {
            _ if self.not_testable.is_some() => Verdict::NotTestable,
            Some(letter) if claims && numbers => Verdict::PaperInconsistent(letter),
            None if claims && numbers && !checked.is_empty() => Verdict::Reproduced,
            None if claims && !self.claims.is_empty() => Verdict::ReproducedInShape,
            _ => Verdict::Differs,
        }
    }
}

/// How an experiment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All numbers are within their tolerances, and all claims hold.
    Reproduced,
    /// All claims hold (the ordering or trend that the paper states), but not all numbers agree, or there are none.
    ReproducedInShape,
    /// The paper contradicts itself or a theorem; the letter is that of the error in `docs/REFERENCES.md`.
    PaperInconsistent(char),
    /// The result is different here.
    Differs,
    /// The data are not available.
    NotTestable,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Reproduced => f.write_str("reproduced"),
            Verdict::ReproducedInShape => f.write_str("reproduced in shape"),
            Verdict::PaperInconsistent(letter) => write!(f, "paper inconsistent ({letter})"),
            Verdict::Differs => f.write_str("differs"),
            Verdict::NotTestable => f.write_str("not testable"),
        }
    }
}

/// A stored result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The id of the experiment.
    pub id: String,
    /// The row of the experiment.
    pub row: u32,
    /// The title of the experiment.
    pub title: String,
    /// Whether it was run in full or quick form.
    pub form: Form,
    /// A hash of version and settings, for this experiment and those it needs.
    pub hash: String,
    /// The settings.
    pub settings: Value,
    /// What counts as reproduced.
    pub tolerance: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The number of seconds it took.
    pub seconds: f64,
    /// The result.
    pub outcome: Outcome,
}
