//! The rule of verdicts.

use crate::experiment::{Experiment, Outcome, Part, Reason, Record};
use std::collections::BTreeMap;
use std::fmt;

/// How an experiment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All numbers are within tolerances that were fixed before the first result, and all claims hold and were made before it.
    Reproduced,
    /// All claims hold, and every number that is out of tolerance has a cause that a stored experiment shows.
    ReproducedInShape,
    /// The paper contradicts itself or a theorem; the letter is that of the error in `docs/REFERENCES.md`.
    PaperInconsistent(char),
    /// The result is different here, and stored experiments show the cause of each difference.
    Differs,
    /// The result is different here, and the cause of some difference is not known.
    CauseNotFound,
    /// The data are not available.
    NotTestable,
    /// A study of our own: all that it claims holds.
    Holds,
    /// A study of our own: something that it claims does not hold.
    DoesNotHold,
}

impl Verdict {
    /// The verdicts on the papers, as they are printed, with their meaning.
    pub const PAPERS: [(&str, &str); 6] = [
        (
            "reproduced",
            "all compared numbers are within tolerances that were fixed before the first result, and all claims hold and were made before it",
        ),
        (
            "reproduced in shape",
            "all claims hold, that is, the orders and trends that the text states. A number may be out of tolerance if a stored experiment \
             shows why. Also where no number is compared, and where a tolerance or a claim is younger than the first result",
        ),
        (
            "paper inconsistent",
            "the paper contradicts itself or a theorem, and the experiment shows it; each error has a letter",
        ),
        (
            "differs",
            "the result is different here; *why* links to the stored experiments that show the cause of each difference",
        ),
        (
            "differs, cause not found",
            "the result is different here, and the cause of at least one difference is not known",
        ),
        ("not testable", "the data are not available"),
    ];

    /// The verdict without the letter of an error, as [`Verdict::PAPERS`] lists it.
    pub fn class(self) -> String {
        match self {
            Verdict::PaperInconsistent(_) => "paper inconsistent".into(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Reproduced => f.write_str("reproduced"),
            Verdict::ReproducedInShape => f.write_str("reproduced in shape"),
            Verdict::PaperInconsistent(letter) => write!(f, "paper inconsistent ({letter})"),
            Verdict::Differs => f.write_str("differs"),
            Verdict::CauseNotFound => f.write_str("differs, cause not found"),
            Verdict::NotTestable => f.write_str("not testable"),
            Verdict::Holds => f.write_str("holds"),
            Verdict::DoesNotHold => f.write_str("does not hold"),
        }
    }
}

/// The numbers out of tolerance and the claims that do not hold.
pub fn off(record: &Record) -> (Vec<&str>, Vec<&str>) {
    let outcome = &record.outcome;
    let numbers = outcome.numbers.iter().filter(|n| n.within == Some(false)).map(|n| n.what.as_str());
    let claims = outcome.claims.iter().filter(|claim| !claim.holds).map(|claim| claim.text.as_str());
    (numbers.collect(), claims.collect())
}

/// The compared numbers whose tolerance was not fixed before the first result that has them.
pub fn late(record: &Record) -> Vec<&str> {
    let compared = record.outcome.numbers.iter().filter(|number| number.tolerance.is_some());
    let late = |what: &&str| record.fixed.get(*what).is_none_or(|fixed| fixed.late());
    compared.map(|number| number.what.as_str()).filter(late).collect()
}

/// The claims that were not made before the first result.
pub fn late_claims(record: &Record) -> Vec<&str> {
    let claims = record.outcome.claims.iter().map(|claim| claim.text.as_str());
    claims.filter(|text| record.stated.get(*text).is_none_or(|stated| stated.late())).collect()
}

/// The differences of a result without a known cause.
pub fn unexplained<'a>(record: &'a Record, why: &[(String, Reason)]) -> Vec<&'a str> {
    let (mut all, claims) = off(record);
    all.extend(claims);
    all.retain(|name| !why.iter().any(|(_, reason)| reason.covers(name)));
    all
}

/// The verdict on a result, given the reasons that stored experiments give for it.
pub fn judge(experiment: &Experiment, record: &Record, why: &[(String, Reason)]) -> Verdict {
    let (numbers, claims) = off(record);
    let agrees = numbers.is_empty() && claims.is_empty();
    let compared = record.outcome.numbers.iter().any(|number| number.tolerance.is_some());
    let explained = unexplained(record, why).is_empty();
    match experiment.inconsistent {
        _ if record.outcome.not_testable.is_some() => Verdict::NotTestable,
        _ if experiment.part == Part::Study && agrees => Verdict::Holds,
        _ if experiment.part == Part::Study => Verdict::DoesNotHold,
        Some(letter) if agrees => Verdict::PaperInconsistent(letter),
        None if agrees && compared && late(record).is_empty() && late_claims(record).is_empty() => {
            Verdict::Reproduced
        }
        None if claims.is_empty() && explained && (compared || !record.outcome.claims.is_empty()) => {
            Verdict::ReproducedInShape
        }
        _ if explained && !agrees => Verdict::Differs,
        _ => Verdict::CauseNotFound,
    }
}

/// The name of the column of a number: what is behind the name of the method, without numerals.
fn column(what: &str) -> String {
    let split = what.rsplit_once(": ").or_else(|| what.rsplit_once(", "));
    split.map_or("", |(_, rest)| rest).chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect()
}

/// For each number, the range of the paper's values in its column, if it is compared.
pub fn ranges(outcome: &Outcome) -> Vec<Option<f64>> {
    let compared = || outcome.numbers.iter().filter(|number| number.tolerance.is_some());
    let mut columns: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for (number, value) in compared().filter_map(|number| Some((number, number.value()?))) {
        let range = columns.entry(column(&number.what)).or_insert([value; 2]);
        *range = [range[0].min(value), range[1].max(value)];
    }
    let range = |what: &str| columns.get(&column(what)).map(|[low, high]| high - low);
    outcome.numbers.iter().map(|n| n.tolerance.and(range(&n.what))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_named_after_its_numbers() {
        assert_eq!(column("PSA: F after 1.01 passes"), column("PSA: F after 50 passes"));
        assert_eq!([column("EP1, overall"), column("EP1")], ["overall", ""]);
        assert_eq!(column("10 labels: additions of eq. 22"), column("50 labels: additions of eq. 22"));
    }
}
