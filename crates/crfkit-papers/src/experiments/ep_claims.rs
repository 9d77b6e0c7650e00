//! empirical-training-2013 sections 4.5 and 4.6: what the text says of tables 2–7.

use super::ep_text::{CHOSEN, ROWS, TABLE_2, competitive};
use crate::corpora::{BROWN, CONLL2002};
use crate::experiment::{Claim, Context, Experiment, Outcome};
use crfkit::Result;
use serde_json::Value;

/// empirical-training-2013 sections 4.5 and 4.6: counting compared with the likelihood.
pub const CLAIMS: Experiment = Experiment {
    id: "ep-claims",
    row: 124,
    title: "ep sections 4.5-4.6: counting against the likelihood",
    data: &[BROWN, CONLL2002],
    needs: &["ep-table2", "ep-table3", "ep-table4", "ep-table5", "ep-table6", "ep-table7"],
    review: |_| (),
    tolerance: "the claims of the text; `competitive` is at most 0.3 points worse than a CRF whose σ is chosen on held-out data",
    settings: |_| Value::Null,
    run: claims,
    ..TABLE_2
};

fn claims(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut gaps = Vec::new();
    for id in CLAIMS.needs {
        let found = context.result(id)?.outcome;
        let at = |column: &str, row: usize| found.number(&format!("{column}, {}", ROWS[row]));
        if found.number(&format!("CRF: {CHOSEN}")).is_ok() {
            for (row, name) in ROWS.iter().enumerate().take(2) {
                outcome.show(format!("{id}: EP1 minus CRF, {name}"), "", at("EP1", row)? - at("CRF", row)?);
                let (text, holds) = competitive(&found, row)?;
                outcome.claim(format!("{id}: {text}"), holds);
            }
            gaps.push(at("EP1", 0)? - at("CRF", 0)?);
        } else {
            outcome.note(format!("{id} has no σ that was chosen, so EP1 is not compared with CRF there."));
        }
        outcome.claim(
            format!("{id}: EP1 is faster by two orders of magnitude"),
            at("EP1", 3)? * 100.0 < at("CRF", 3)?,
        );
        if *id == "ep-table7" {
            outcome.claim("CRF is better on unknown words of names", at("CRF", 2)? > at("EP1", 2)?);
        }
    }
    if gaps.len() == CLAIMS.needs.len() {
        let (fewest, more) = (gaps[0], &gaps[1..5]);
        outcome.claim(
            "on Brown EP1 gains most on CRF with the fewest sentences",
            more.iter().all(|&gap| gap < fewest),
        );
    }
    let lost = |claim: &Claim| !claim.holds && claim.text.contains("or competitive");
    if outcome.claims.iter().any(lost) {
        let text = format!(
            "σ. The paper does not say how its CRF was regularised. Where σ is chosen on held-out data, the accuracy of EP1 less that of the CRF is {}, \
             in the order of the tables.",
            gaps.iter().map(|gap| format!("{gap:.2}")).collect::<Vec<_>>().join(", ")
        );
        outcome.because(CLAIMS.id, &["or competitive"], text);
    }
    Ok(outcome)
}
