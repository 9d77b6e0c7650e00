//! What an experiment is, and what it finds.

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
    /// All of it: what is published.
    Full,
    /// A small part of the data and of the passes: shows that it runs, proves nothing.
    Quick,
}

impl Form {
    /// One of two, by form.
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
    /// Its name on the command line and of its files.
    pub id: &'static str,
    /// Its row in the checklist of the papers' results.
    pub row: u32,
    /// Where in which paper, and what.
    pub title: &'static str,
    /// Raised when a change of the code changes the result.
    pub version: u32,
    /// The data it needs.
    pub data: &'static [DataSet],
    /// Experiments whose results it looks at.
    pub needs: &'static [&'static str],
    /// What counts as reproduced, in words; the numbers stand beside the figures in the result.
    pub tolerance: &'static str,
    /// If the paper contradicts itself or a theorem here: what is wrong, under its letter in the list of the papers' errors.
    pub inconsistent: Option<char>,
    /// All that shapes the result besides the code.
    pub settings: fn(Form) -> Value,
    /// Runs it.
    pub run: fn(&Context) -> Result<Outcome>,
}

/// What an experiment is given.
pub struct Context<'a> {
    /// How much to run.
    pub form: Form,
    /// The corpora.
    pub corpora: Corpora,
    /// Results of the experiments that it needs.
    pub results: &'a dyn Fn(&str) -> Result<Record>,
    /// Hears of the progress.
    pub say: &'a dyn Fn(&str),
}

impl Context<'_> {
    /// The result of an experiment that this one needs.
    pub fn result(&self, id: &str) -> Result<Record> {
        (self.results)(id)
    }
}

/// A number of ours, beside the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// What it measures.
    pub what: String,
    /// As the paper prints it; `None` where it has none.
    pub paper: Option<String>,
    /// Ours; `None` where it is no number: of a method that diverged, or a score that was never reached.
    pub ours: Option<f64>,
    /// How far ours may lie from the paper's; `None` if it is only shown (seconds of another machine, say).
    pub tolerance: Option<f64>,
    /// Is it within the tolerance?
    pub within: Option<bool>,
}

/// An ordering or a trend that the text claims, or that shows an error of the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// What is claimed.
    pub text: String,
    /// Does it hold here?
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

/// What an experiment found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The numbers.
    pub numbers: Vec<Number>,
    /// The claims.
    pub claims: Vec<Claim>,
    /// The figures.
    pub charts: Vec<Chart>,
    /// Pictures, shown together.
    #[serde(default)]
    pub pictures: Vec<Picture>,
    /// Weights that other experiments start from, by name.
    #[serde(default)]
    pub weights: BTreeMap<String, Vec<f64>>,
    /// What a reader should know: substitutes for data, why a number differs.
    pub notes: Vec<String>,
    /// Why this or another experiment differs, as the numbers here show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<Reason>,
    /// Why it cannot be tested, if so.
    pub not_testable: Option<String>,
}

impl Outcome {
    /// Adds a number that the paper has as well, with what is tolerated.
    pub fn compare(&mut self, what: impl Into<String>, paper: f64, ours: f64, tolerance: f64) {
        self.numbers.push(Number {
            what: what.into(),
            paper: Some(paper.to_string()),
            ours: Some(ours).filter(|x| x.is_finite()),
            tolerance: Some(tolerance),
            within: Some((ours - paper).abs() <= tolerance + 1e-12),
        });
    }

    /// Adds a number that is only shown; `paper` is as printed, empty for none.
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

    /// Says why the experiment `of` differs; the page shows it there.
    pub fn because(&mut self, of: &str, text: impl Into<String>) {
        self.why.push(Reason { of: of.into(), text: text.into() });
    }

    /// The number called `what`, of a result that is looked at.
    pub fn number(&self, what: &str) -> Result<f64> {
        let found = self.numbers.iter().find(|number| number.what == what);
        found
            .and_then(|number| number.ours)
            .ok_or_else(|| Error::Setting(format!("no number `{what}` in the result")))
    }

    /// What follows from numbers and claims. `inconsistent` is the letter of the experiment: then the claims are those that
    /// show the error.
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
    /// All claims hold (the ordering or trend that the text states), but not all numbers agree or there are none.
    ReproducedInShape,
    /// The paper contradicts itself or a theorem; the letter is that of the list of the papers' errors.
    PaperInconsistent(char),
    /// Something else comes out here.
    Differs,
    /// The data are not to be had.
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
    /// Of which experiment.
    pub id: String,
    /// Its row.
    pub row: u32,
    /// Its title.
    pub title: String,
    /// Full or quick.
    pub form: Form,
    /// Hash of version and settings, of this experiment and of those it needs.
    pub hash: String,
    /// The settings.
    pub settings: Value,
    /// What counts as reproduced.
    pub tolerance: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Seconds it took.
    pub seconds: f64,
    /// What it found.
    pub outcome: Outcome,
}
