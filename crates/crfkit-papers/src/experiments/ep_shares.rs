//! empirical-training-2013 tables 2–7: the share of unknown words that follows from each column. It belongs to the split, not to the method,
//! so the columns of a table must have one in common.

use super::ep_text::{DUTCH, ROWS, SPLITS, TABLE_2};
use crate::experiment::{Context, Experiment, Form, Outcome};
use crfkit::Result;
use serde_json::{Value, json};

/// empirical-training-2013 tables 2–7: shares of unknown words.
pub const SHARES: Experiment = Experiment {
    id: "ep-unknown-shares",
    title: "ep tables 2-7: the share of unknown words, from the accuracy overall, on known and on unknown words of each method",
    version: 1,
    data: &[],
    needs: &[],
    tolerance: "the printed numbers are rounded; columns of a table contradict each other if no share fits all of them within the rounding",
    inconsistent: Some('v'),
    review: |_| (),
    settings,
    run: shares,
    ..TABLE_2
};

/// The methods of the tables' columns, as the paper names them.
const METHODS: [&str; 4] = ["EP1", "EP2", "CRF++", "PW"];

fn settings(_: Form) -> Value {
    json!({"share": "(known − overall) / (known − unknown)", "rows": &ROWS[..3], "rounding": "half of the last printed digit"})
}

/// The smallest and the largest share of unknown words, in per cent, that fits the accuracy overall, on known and on unknown words; each is
/// rounded by at most half a digit.
pub(super) fn range([overall, known, unknown]: [f64; 3]) -> [f64; 2] {
    let half = |x: f64| if (10.0 * x - (10.0 * x).round()).abs() > 1e-6 { 0.005 } else { 0.05 };
    let share = |overall: f64, known: f64, unknown: f64| 100.0 * (known - overall) / (known - unknown);
    let mut range = [f64::INFINITY, f64::NEG_INFINITY];
    for signs in 0..8 {
        let off = |x: f64, bit: usize| if signs >> bit & 1 == 1 { x + half(x) } else { x - half(x) };
        let share = share(off(overall, 0), off(known, 1), off(unknown, 2));
        range = [range[0].min(share), range[1].max(share)];
    }
    range
}

fn shares(_: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let tables = SPLITS.iter().map(|split| split.paper).chain([DUTCH]);
    for (number, table) in (2..).zip(tables) {
        let ranges: Vec<[f64; 2]> =
            (0..METHODS.len()).map(|k| range([table[0][k], table[1][k], table[2][k]])).collect();
        for (method, [low, high]) in METHODS.iter().zip(&ranges) {
            let what = format!("table {number}, {method}: share of unknown words in per cent");
            outcome.show(format!("{what}, at least"), "", *low);
            outcome.show(format!("{what}, at most"), "", *high);
        }
        // Whether the columns without the k-th have a share in common.
        let agree = |without: Option<usize>| {
            let rest =
                || ranges.iter().enumerate().filter(|(k, _)| Some(*k) != without).map(|(_, range)| range);
            let low = rest().map(|range| range[0]).fold(f64::NEG_INFINITY, f64::max);
            low <= rest().map(|range| range[1]).fold(f64::INFINITY, f64::min)
        };
        if number == 6 {
            outcome.claim("table 6: no share of unknown words fits all four columns", !agree(None));
            outcome.claim("table 6: one fits all but that of CRF++", agree(Some(2)));
        } else {
            outcome.claim(
                format!("table {number}: one share of unknown words fits all four columns"),
                agree(None),
            );
        }
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn a_share_is_found_within_the_rounding() {
        // 10 % unknown words: 0.9 · 95 + 0.1 · 65 = 92.
        let [low, high] = range([92.0, 95.0, 65.0]);
        assert!(low < 10.0 && 10.0 < high && high - low < 1.0, "{low} {high}");
        // A number with two decimals is rounded less.
        let [finer_low, finer_high] = range([92.01, 95.01, 65.01]);
        assert!(finer_high - finer_low < 0.2 * (high - low), "{finer_low} {finer_high}");
    }
}
