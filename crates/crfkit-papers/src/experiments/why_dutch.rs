//! Whether σ explains the accuracies of EP2 and PW in empirical-training-2013 table 7. Designed after the table had been run, and keeps its
//! tolerances.

use super::ep_text::{DUTCH, ROWS, TABLE_7, fit};
use crate::corpora::CONLL2002;
use crate::experiment::{Context, Experiment, Outcome, Part, none};
use crfkit::Result;
use crfkit::data::columns::Columns;
use crfkit::empirical::{self, Counts, EmpiricalMethod, EmpiricalSettings, EmpiricalTagger, HeldOut};
use crfkit::train::{Criterion, Method};
use serde_json::json;
use std::sync::Arc;

/// empirical-training-2013 table 7: EP2 and PW with other σ.
pub const EP2: Experiment = Experiment {
    id: "ep-table7-sigma",
    part: Part::Study,
    title: "ep table 7: EP2 and PW with other σ",
    version: 2,
    needs: &["ep-table7"],
    review: none,
    tolerance: "those of ep-table7",
    settings: |form| json!({"of the training data": form.pick("all", "200"), "sigma": SIGMAS, "sigma of PW": OF_PW}),
    run: sigmas,
    ..TABLE_7
};

/// σ of the weights of u and v; the tables have 1.
const SIGMAS: [f64; 6] = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0];
/// σ of PW.
const OF_PW: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

fn sigmas(context: &Context) -> Result<Outcome> {
    let part = |k: usize| -> Result<Vec<Columns>> {
        let mut all = context.corpora.sentences(CONLL2002.files[k])?;
        all.retain(|sentence| sentence.len() > 1);
        all.truncate(context.form.pick(usize::MAX, 200));
        Ok(all)
    };
    let (train, test) = (part(0)?, part(2)?);
    let mut held_out = HeldOut::default();
    for sentence in &test {
        held_out.add_columns(sentence, sentence.columns() - 1)?;
    }
    let table = context.result(TABLE_7.id)?.outcome;
    let tolerance = |name: &str| table.numbers.iter().find(|n| n.what == name).and_then(|n| n.tolerance);
    let mut outcome = Outcome::default();
    let (mut parts, mut all_near) = (Vec::new(), None);
    for sigma in SIGMAS {
        let settings =
            EmpiricalSettings { method: EmpiricalMethod::Ep2, sigma, ..EmpiricalSettings::default() };
        let mut counts = Counts::new(settings.pairs);
        for sentence in &train {
            counts.add_columns(sentence, sentence.columns() - 1)?;
        }
        let model = empirical::train(&counts, &settings, None)?.model;
        let scores = held_out.evaluate(&mut EmpiricalTagger::new(Arc::new(model))).scores();
        let ours = [Some(scores.accuracy), scores.known_accuracy, scores.unknown_accuracy]
            .map(Option::unwrap_or_default);
        let mut near = true;
        for (row, ours) in ours.into_iter().enumerate() {
            let (number, paper) = (format!("EP2, {}", ROWS[row]), DUTCH[row][1]);
            outcome.show(format!("σ = {sigma}: {number}"), &paper.to_string(), ours);
            near &= tolerance(&number).is_some_and(|tolerance| (ours - paper).abs() <= tolerance);
        }
        parts.push(format!("{:.2} and {:.2} (σ = {sigma})", ours[0], ours[2]));
        if near {
            all_near = all_near.or(Some(sigma));
        }
    }
    outcome.claim("with one σ all accuracies of EP2 are within tolerance", all_near.is_some());
    let text = format!("EP2 has {} overall and on unknown words.", parts.join(", "));
    match all_near {
        Some(_) => outcome.because(
            TABLE_7.id,
            &["EP2, "],
            format!("σ of EP2, which the paper does not give. {text}"),
        ),
        None => outcome.looked(TABLE_7.id, format!("not σ of EP2: {text}")),
    }
    piecewise(&mut outcome, &train, &test, &tolerance)?;
    Ok(outcome)
}

/// The accuracies of PW with each σ.
fn piecewise(
    outcome: &mut Outcome,
    train: &[Columns],
    test: &[Columns],
    tolerance: &dyn Fn(&str) -> Option<f64>,
) -> Result<()> {
    let (mut parts, mut all_near) = (Vec::new(), false);
    for sigma in OF_PW {
        let ([scores, _], _) = fit(train, [test, test], (Criterion::Piecewise, None), Method::Lbfgs, sigma)?;
        let ours = [Some(scores.accuracy), scores.known_accuracy, scores.unknown_accuracy]
            .map(Option::unwrap_or_default);
        let mut near = true;
        for (row, ours) in ours.into_iter().enumerate() {
            let (number, paper) = (format!("PW, {}", ROWS[row]), DUTCH[row][3]);
            outcome.show(format!("σ = {sigma}: {number}"), &paper.to_string(), ours);
            near &= tolerance(&number).is_some_and(|tolerance| (ours - paper).abs() <= tolerance);
        }
        parts.push(format!("{:.2}, {:.2} and {:.2} (σ = {sigma})", ours[0], ours[1], ours[2]));
        all_near |= near;
    }
    outcome.claim("with one σ all accuracies of PW are within tolerance", all_near);
    let text = format!("PW has {} overall, on known and on unknown words.", parts.join(", "));
    match all_near {
        true => outcome.because(
            TABLE_7.id,
            &["PW, "],
            format!("σ of PW, which the paper does not give; it is chosen on held-out data here. {text}"),
        ),
        false => outcome.looked(TABLE_7.id, format!("not σ of PW: {text}")),
    }
    Ok(())
}
