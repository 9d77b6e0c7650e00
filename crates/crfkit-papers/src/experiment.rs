//! The definition of an experiment, and its result.

use crate::chart::Chart;
use crate::code::Code;
use crate::corpora::{Corpora, DataSet};
use crate::picture::GridImage;
use crfkit::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

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

/// What an experiment is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A table, a figure or a claim of a paper. Its verdict is counted among the paper's.
    Paper,
    /// A question of our own: why a result differs, what happens elsewhere, or how methods of today compare. It is shown in a section of
    /// its own and not counted among the papers' verdicts.
    Study,
}

/// The review of an experiment whose claims and comparisons are all made while it runs.
pub fn none(_: &mut Outcome) {}

/// One experiment of a paper.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// The name on the command line and of its files.
    pub id: &'static str,
    /// A number that experiments on the same result of a paper share. The page shows it in its first column.
    pub row: u32,
    /// Whether it is a paper's result or a question of our own.
    pub part: Part,
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
    /// Adds the paper's numbers and the claims that follow from the measured numbers alone. It is called each time a result is read, so
    /// a stricter comparison needs no second run.
    pub review: fn(&mut Outcome),
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
    /// How far our number may be from the paper's; `None` if it is not compared.
    pub tolerance: Option<f64>,
    /// Whether it is within the tolerance.
    pub within: Option<bool>,
    /// Why it is not compared although the paper has a number, such as seconds on another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<String>,
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
    /// Which numbers and claims of that experiment it explains: parts of their names.
    #[serde(default)]
    pub explains: Vec<String>,
    /// Whether the cause was found. If not, the text says where it was looked for.
    #[serde(default = "found")]
    pub found: bool,
}

fn found() -> bool {
    true
}

impl Reason {
    /// Whether it is the cause of what a number or claim called `name` shows.
    pub fn covers(&self, name: &str) -> bool {
        self.found && self.explains.iter().any(|part| name.contains(part.as_str()))
    }
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
    pub pictures: Vec<GridImage>,
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
        let what = what.into();
        self.show(what.clone(), "", ours);
        self.against(&what, &paper.to_string(), tolerance);
    }

    /// Compares the number called `what` with the paper's, if there is such a number. The paper's may be a bound
    /// or a range, such as `>50` or `2 to 3`: then the number must lie there, or short of it by no more than the tolerance.
    pub fn against(&mut self, what: &str, paper: &str, tolerance: f64) {
        let Some(number) = self.numbers.iter_mut().find(|number| number.what == what) else { return };
        number.paper = Some(paper.into());
        number.tolerance = Some(tolerance);
        number.within = Some(number.ours.is_some_and(|ours| beyond(paper, ours) <= tolerance + 1e-12));
        number.apart = None;
    }

    /// Adds a number of ours that the paper does not have; if it has one, see [`Outcome::apart`].
    pub fn show(&mut self, what: impl Into<String>, paper: &str, ours: f64) {
        let paper = (!paper.is_empty()).then(|| paper.to_owned());
        let ours = Some(ours).filter(|x| x.is_finite());
        let what = what.into();
        self.numbers.push(Number { what, paper, ours, tolerance: None, within: None, apart: None });
    }

    /// Puts the paper's number beside the one called `what`, and says why the two cannot be compared.
    pub fn apart(&mut self, what: &str, paper: &str, why: &str) {
        if let Some(number) = self.numbers.iter_mut().find(|number| number.what == what) {
            number.paper = (!paper.is_empty()).then(|| paper.to_owned()).or(number.paper.take());
            number.apart = Some(why.into());
        }
    }

    /// Adds a claim.
    pub fn claim(&mut self, text: impl Into<String>, holds: bool) {
        self.claims.push(Claim { text: text.into(), holds });
    }

    /// Adds a note.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Says why numbers and claims of the experiment `of` differ, those that have one of `explains` in their names; the page shows the
    /// reason there. It replaces a reason for the same.
    pub fn because(&mut self, of: &str, explains: &[&str], text: impl Into<String>) {
        let explains: Vec<String> = explains.iter().map(|&part| part.to_owned()).collect();
        self.why.retain(|reason| reason.of != of || reason.explains != explains);
        self.why.push(Reason { of: of.into(), text: text.into(), explains, found: true });
    }

    /// Says where the cause of the differences of the experiment `of` was looked for and not found.
    pub fn looked(&mut self, of: &str, text: impl Into<String>) {
        self.why.push(Reason { of: of.into(), text: text.into(), explains: Vec::new(), found: false });
    }

    /// The number called `what`, of a result that another experiment uses.
    pub fn number(&self, what: &str) -> Result<f64> {
        let found = self.numbers.iter().find(|number| number.what == what);
        found
            .and_then(|number| number.ours)
            .ok_or_else(|| Error::Setting(format!("no number `{what}` in the result")))
    }
}

impl Number {
    /// The paper's number, or the bound, or the lower end of the range that it prints.
    pub fn value(&self) -> Option<f64> {
        let text = self.paper.as_ref()?.trim_start_matches(['<', '>']);
        text.split(" to ").next()?.parse().ok()
    }
}

/// How far `ours` is from the paper's number; if that is a bound or a range, how far it is on the wrong side. No number at all is ∞ away.
fn beyond(paper: &str, ours: f64) -> f64 {
    let value = |text: &str| text.trim().parse().unwrap_or(f64::NAN);
    let off = match paper.split_at_checked(1) {
        Some((">", bound)) => (value(bound) - ours).max(0.0),
        Some(("<", bound)) => (ours - value(bound)).max(0.0),
        _ => {
            let (low, high) = paper.split_once(" to ").unwrap_or((paper, paper));
            (value(low) - ours).max(ours - value(high)).max(0.0)
        }
    };
    if off.is_nan() || paper.chars().all(|c| !c.is_ascii_digit()) { f64::INFINITY } else { off }
}

/// When a tolerance was fixed, and when the number that it is for was first there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fixed {
    /// The tolerance.
    pub tolerance: f64,
    /// When it was fixed, in UTC.
    pub fixed: String,
    /// When the first full result with this number was stored, in UTC.
    pub first: String,
}

impl Fixed {
    /// Whether the tolerance was fixed when the first result was there already.
    pub fn late(&self) -> bool {
        self.fixed >= self.first
    }
}

/// When a claim was first made, and when the first result was there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stated {
    /// When the claim was first made in these words, in UTC.
    pub stated: String,
    /// When the first full result of the experiment was stored, in UTC.
    pub first: String,
}

impl Stated {
    /// Whether the claim was made when a result was there already.
    pub fn late(&self) -> bool {
        self.stated >= self.first
    }
}

/// Later sources of the library that change nothing in the quick form of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confirmed {
    /// The hash of the rooms of the library that the experiment can reach.
    pub library: String,
    /// When this was found, in UTC.
    pub when: String,
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
    /// A hash of the sources that made it; `None` if it was made before these were recorded.
    #[serde(default)]
    pub code: Option<Code>,
    /// When it was stored, in UTC.
    #[serde(default)]
    pub made: String,
    /// When the tolerance of each compared number was fixed.
    #[serde(default)]
    pub fixed: BTreeMap<String, Fixed>,
    /// When each claim was first made.
    #[serde(default)]
    pub stated: BTreeMap<String, Stated>,
    /// The settings.
    pub settings: Value,
    /// What counts as reproduced.
    pub tolerance: String,
    /// The number of seconds it took.
    pub seconds: f64,
    /// The cores that it could use; `None` if it was made before these were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<usize>,
    /// The numbers of the quick form by the same sources, without those that differ from run to run; none until `confirm` has run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quick: BTreeMap<String, Option<f64>>,
    /// Later sources that give the same quick numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Confirmed>,
    /// The result.
    pub outcome: Outcome,
}
