//! Comparisons that follow from stored numbers, for experiments of several files.

use crate::experiment::Outcome;
use crate::verdict::ranges;

/// Halves what would let anything pass: a tolerance as wide as the range of the paper's column becomes half of that range, and one as
/// wide as the paper's value half of that value.
pub(super) fn narrowed(outcome: &mut Outcome) {
    let ranges = ranges(outcome);
    let compared = outcome.numbers.iter().zip(ranges);
    let narrow: Vec<(String, String, f64)> = compared
        .filter_map(|(number, range)| {
            let (paper, tolerance) = (number.paper.clone()?, number.tolerance?);
            let limits = [number.value()?.abs(), range?];
            let limit = limits.into_iter().filter(|&limit| limit > 0.0).fold(f64::INFINITY, f64::min);
            (tolerance >= limit).then(|| (number.what.clone(), paper, round(limit / 2.0)))
        })
        .collect();
    for (what, paper, tolerance) in narrow {
        outcome.against(&what, &paper, tolerance);
    }
}

/// Four decimals: differences of printed numbers are not exact.
fn round(x: f64) -> f64 {
    (1e4 * x).round() / 1e4
}

/// ctjpgis-psa-2007 section 4: the numbers of the text.
pub(super) fn psa_claims(outcome: &mut Outcome) {
    for (what, paper, tolerance) in [
        ("CoNLL-2000: PSA after 1.12 passes", "93.6", 0.5),
        ("CoNLL-2000: PSA after 8 passes", "94.05", 0.5),
        ("CoNLL-2000: passes of PSA to 93.6", "<1.12", 0.0),
        ("CoNLL-2000: passes of SMD to 93.6", "7.7", 2.0),
        ("NLPBA: PSA after 1.01 passes", "70", 1.0),
        ("NLPBA: passes of PSA to 70", "<1.01", 0.0),
        ("NLPBA: PSA at its end", "71.4", 1.0),
        ("NLPBA: SMD after 13 passes", "67", 1.0),
        ("NLPBA: highest F of SMD", "<70", 0.0),
        ("BioCreative II: PSA after 1.12 passes, with the alternatives", "85", 1.0),
        ("BioCreative II: PSA at its end, with the alternatives", "86.46", 1.0),
    ] {
        outcome.against(what, paper, tolerance);
    }
}

/// ctjpgis-psa-2007 section 5: the ensemble is said to be above 87 %.
pub(super) fn psa_ensemble(outcome: &mut Outcome) {
    outcome.against("both: F with the alternatives", ">87", 0.0);
}

/// An iteration costs O(n): the power of n is 1, at most 1.3.
pub(super) fn psa_linear(outcome: &mut Outcome) {
    outcome.against("power of n", "1", 0.3);
    outcome.against("power of n from the fourth n on", "1", 0.3);
}

/// pwpl-2007 section 4.3: times of PWPL over those of PW, and `5 to 10 times` faster than ML.
pub(super) fn pwpl_claims(outcome: &mut Outcome) {
    for (id, share) in [("ner", "0.75"), ("pos", "0.16"), ("chunk", "0.13")] {
        outcome.against(&format!("pwpl-table1-{id}: time of PWPL over that of PW"), share, 0.1);
        outcome.against(&format!("pwpl-table1-{id}: time of ML over that of PWPL"), "5 to 10", 0.0);
    }
    // The aim has been at most 0.3 points since the first run; a tolerance around a difference of 0 would be wider than its value.
    let less: Vec<String> =
        outcome.numbers.iter().filter(|n| n.what.contains("(aim 0.3)")).map(|n| n.what.clone()).collect();
    less.iter().for_each(|what| outcome.apart(what, "", "the claims ask for at most 0.3"));
}

/// smd-crf-2006 section 3.2: 2 to 3 gradients.
pub(super) fn hess_vec(outcome: &mut Outcome) {
    let all: Vec<String> =
        outcome.numbers.iter().filter(|n| n.what.ends_with("in gradients")).map(|n| n.what.clone()).collect();
    all.iter().for_each(|what| outcome.against(what, "2 to 3", 0.2));
}

/// smd-crf-2006 section 4.2 and figure 2: the final F-scores on NLPBA, to half their range.
pub(super) fn smd_nlpba(outcome: &mut Outcome) {
    for (method, paper) in
        [("SMD", "85.8"), ("SGD", "85.2"), ("BFGS", "85.8"), ("CP", "83"), ("SGD, small η₀", "85.8")]
    {
        outcome.against(&format!("{method}: final F"), paper, 1.4);
    }
}

/// smd-crf-2006 section 5.1: pseudolikelihood errs on more than half of the sites.
pub(super) fn smd_shapes(outcome: &mut Outcome) {
    for method in ["SMD", "SGD", "BFGS", "ASG"] {
        outcome.against(&format!("PL {method}: test error"), ">50", 0.0);
    }
}
