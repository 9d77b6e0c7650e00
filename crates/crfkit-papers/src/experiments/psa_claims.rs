//! ctjpgis-psa-2007 section 4: the statements of the text, checked against the stored results of its table and
//! figure.

use super::psa_text::{TABLE_1_CONLL, limit};
use super::reviews;
use crate::experiment::{Context, Experiment, Outcome};
use crfkit::Result;
use serde_json::Value;

/// ctjpgis-psa-2007 section 4: what the text says about table 1 and figure 1.
pub const CLAIMS: Experiment = Experiment {
    id: "psa-claims",
    review: reviews::psa_claims,
    row: 115,
    title: "psa section 4: what the text says of table 1 and reads off figure 1",
    data: &[crate::corpora::CONLL2000, crate::corpora::BIONLP2004, crate::corpora::BC2GM],
    needs: &[
        "psa-fig1-conll",
        "psa-fig1-nlpba",
        "psa-fig1-bc2",
        "psa-table1-conll",
        "psa-table1-nlpba",
        "psa-table1-bc2",
    ],
    tolerance: "PSA's first pass is within 1 point of L-BFGS's end; SMD needs at least 3 times the passes of PSA to get there; CTJPGIS \
                comes to within 0.3 points of L-BFGS's end before L-BFGS on two of the three tasks",
    settings: |_| Value::Null,
    run: claims,
    ..TABLE_1_CONLL
};

/// The learning curve of a method in a stored result: passes and F.
fn stored<'a>(found: &'a Outcome, name: &str) -> &'a [[f64; 2]] {
    let line = found.charts.first().and_then(|chart| chart.lines.iter().find(|line| line.name == name));
    line.map_or(&[], |line| &line.points)
}

/// F after this many passes; NaN if it was not known by then.
fn f_after(points: &[[f64; 2]], passes: f64) -> f64 {
    points.iter().rfind(|point| point[0] <= passes + 1e-9).map_or(f64::NAN, |point| point[1])
}

/// The passes to reach an F; ∞ if it was never reached.
fn passes_to(points: &[[f64; 2]], f: f64) -> f64 {
    points.iter().find(|point| point[1] >= f).map_or(f64::INFINITY, |point| point[0])
}

/// The lowest and the highest F after more than this many passes.
fn range_after(points: &[[f64; 2]], passes: f64) -> [f64; 2] {
    let late = points.iter().filter(|point| point[0] >= passes).map(|point| point[1]);
    late.fold([f64::NAN; 2], |[low, high], f| [low.min(f), high.max(f)])
}

fn claims(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for (id, ..) in TASKS {
        let found = context.result(id)?.outcome;
        let passes = |name: &str, points: &str| {
            found.number(&format!("{name}: passes to within {points} of L-BFGS")).unwrap_or(f64::INFINITY)
        };
        let first = found.number("PSA: exact-match F after 1 pass")?;
        let end = found.number("L-BFGS: final exact-match F")?;
        outcome.show(format!("{id}: PSA after 1 pass less L-BFGS at its end"), "about 0", first - end);
        outcome.claim(
            format!("{id}: PSA after 1 pass is within 1 point of L-BFGS at its end"),
            first > end - 1.0,
        );
        let ratio = passes("SMD", "0.3 points") / passes("PSA", "0.3 points");
        outcome.show(
            format!("{id}: passes of SMD over passes of PSA, to within 0.3 points"),
            "about 10",
            ratio,
        );
        outcome.claim(format!("{id}: SMD needs at least 3 times the passes of PSA"), ratio >= 3.0);
        let after = |name: &str| found.number(&format!("{name}: exact-match F after 50 passes"));
        outcome.claim(
            format!("{id}: after 50 passes PSA is at least as good as SMD"),
            after("PSA")? >= after("SMD")?,
        );
    }
    figures_of_the_text(context, &mut outcome)?;
    offline(context, &mut outcome)?;
    outcome.note("The paper's `95.6 %` for SMD on CoNLL-2000 must be 93.6: the next sentence says that it is as in smd.");
    Ok(outcome)
}

/// The figure, table and name of each task.
const TASKS: [(&str, &str, &str); 3] = [
    ("psa-fig1-conll", "psa-table1-conll", "CoNLL-2000"),
    ("psa-fig1-nlpba", "psa-table1-nlpba", "NLPBA"),
    ("psa-fig1-bc2", "psa-table1-bc2", "BioCreative II"),
];

/// Every number that the text states, beside ours.
fn figures_of_the_text(context: &Context, outcome: &mut Outcome) -> Result<()> {
    let [conll, nlpba, bc2] = TASKS.map(|(id, ..)| context.result(id).map(|record| record.outcome));
    let (conll, nlpba, bc2) = (conll?, nlpba?, bc2?);
    let (psa, smd) = (stored(&conll, "PSA"), stored(&conll, "SMD"));
    outcome.show("CoNLL-2000: L-BFGS at its end", "about 94", conll.number("L-BFGS: final exact-match F")?);
    outcome.show("CoNLL-2000: PSA after 1.12 passes", "93.6", conll.number("PSA: F after 1.12 passes")?);
    outcome.show("CoNLL-2000: PSA after 8 passes", "94.05", f_after(psa, 8.0));
    outcome.show("CoNLL-2000: passes of PSA to 93.6", "1.12", passes_to(psa, 93.6));
    outcome.show("CoNLL-2000: passes of SMD to 93.6", "7.7", passes_to(smd, 93.6));
    let (psa, smd) = (stored(&nlpba, "PSA"), stored(&nlpba, "SMD"));
    outcome.show("NLPBA: L-BFGS at its end", "about 70", nlpba.number("L-BFGS: final exact-match F")?);
    outcome.show("NLPBA: PSA after 1.01 passes", "70", nlpba.number("PSA: F after 1.01 passes")?);
    outcome.show("NLPBA: passes of PSA to 70", "1.01", passes_to(psa, 70.0));
    outcome.show("NLPBA: PSA at its end", "71.4", f_after(psa, f64::MAX));
    outcome.show("NLPBA: SMD after 13 passes", "67", f_after(smd, 13.0));
    let highest = range_after(smd, 0.0)[1];
    outcome.show("NLPBA: highest F of SMD", "below 70", highest);
    outcome.claim("NLPBA: SMD never reaches 70", highest < 70.0);
    let (psa, smd) = (stored(&bc2, "PSA"), stored(&bc2, "SMD"));
    let end = context.result("psa-table1-bc2")?.outcome.number("L-BFGS: F")?;
    outcome.show("BioCreative II: L-BFGS at its end, with the alternatives", "about 86", end);
    let with = "with the alternatives";
    outcome.show(
        format!("BioCreative II: PSA after 1.12 passes, {with}"),
        "85",
        bc2.number("PSA: F after 1.12 passes")?,
    );
    outcome.show(
        format!("BioCreative II: PSA at its end, {with}"),
        "86.46",
        bc2.number("PSA: F after 50 passes")?,
    );
    let exact = "exact match";
    outcome.show(
        format!("BioCreative II: PSA after 4 passes, {exact}"),
        "86.46 with them",
        f_after(psa, 4.0),
    );
    outcome.show(format!("BioCreative II: PSA at its end, {exact}"), "", f_after(psa, f64::MAX));
    let [low, high] = range_after(smd, 16.0);
    outcome.show(format!("BioCreative II: lowest F of SMD from 16 passes on, {exact}"), "84 with them", low);
    outcome.show(
        format!("BioCreative II: highest F of SMD from 16 passes on, {exact}"),
        "85 with them",
        high,
    );
    outcome.note(
        "Of BioCreative II the curves are of exact match; the paper's F-scores count the alternatives, as ours do where it is said. \
         Methods are looked at after whole passes, so that passes to an F are rounded up.",
    );
    Ok(())
}

/// How soon CTJPGIS and L-BFGS come near the final F of L-BFGS: `winning in two out of three tasks`.
fn offline(context: &Context, outcome: &mut Outcome) -> Result<()> {
    const METHODS: [&str; 2] = ["L-BFGS", "CTJPGIS"];
    let (mut won, mut parts, mut stopped) = ([0; 2], Vec::new(), Vec::new());
    for (_, id, task) in TASKS {
        let record = context.result(id)?;
        let found = &record.outcome;
        let end = f_after(stored(found, METHODS[0]), f64::MAX);
        let limit = limit(context.form) as f64;
        let mut costs = [[f64::NAN; 2]; 2];
        for (name, costs) in METHODS.iter().zip(&mut costs) {
            let made = found.number(&format!("{name}: iterations"))?;
            let pace = found.number(&format!("{name}: seconds"))? / made;
            let needed = passes_to(stored(found, name), end - 0.3);
            *costs = [needed, needed * pace];
            outcome.show(
                format!("{task}: {name}, evaluations to within 0.3 points of L-BFGS's end"),
                "",
                needed,
            );
            outcome.show(format!("{task}: {name}, seconds for them"), "", needed * pace);
            if made >= limit {
                stopped.push(format!("{name} on {task}"));
            }
        }
        (0..2).for_each(|k| won[k] += usize::from(costs[1][k] < costs[0][k]));
        parts.push(format!("{:.0} and {:.0} on {task}", costs[1][0], costs[0][0]));
    }
    outcome.claim("CTJPGIS wins two of three tasks by evaluations", won[0] >= 2);
    outcome.claim("CTJPGIS wins two of three tasks by seconds", won[1] >= 2);
    let limit = limit(context.form);
    outcome.note(format!(
        "Evaluations and seconds of CTJPGIS and L-BFGS are of psa-table1-*; seconds are those evaluations at the run's mean pace. \
         The limit of {limit} evaluations has stopped {}.",
        if stopped.is_empty() { "none of them".into() } else { stopped.join(", ") }
    ));
    if won.iter().any(|&won| won < 2) {
        outcome.because(CLAIMS.id, &["CTJPGIS wins"], format!(
            "as to CTJPGIS and L-BFGS, how their costs compare depends on where a run ends, and the paper does not state its stopping rule. The \
             evaluations that the two need to within 0.3 points of L-BFGS's last F are {}. Where the limit has stopped a run its end says nothing \
             of its rate (see psa-table1-*).",
            parts.join(", ")
        ));
    }
    Ok(())
}
