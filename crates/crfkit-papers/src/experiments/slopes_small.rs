//! Why the powers of `pwpl-slopes` are too large: its tables outgrow the cache of a core.

use super::slopes::{LABELS, MEASURED, Measured, OBSERVED, PASS, RUNS, objective, pass_seconds, walk};
use crate::clock::power;
use crate::experiment::{Context, Experiment, Outcome, Part};
use crfkit::Result;
use crfkit::train::Settings;
use serde_json::json;

/// pwpl-2007 section 3.1: the seconds of a pass with fewer labels.
pub const SMALL: Experiment = Experiment {
    id: "pwpl-slopes-small",
    part: Part::Study,
    title: "pwpl section 3.1: time of a pass against the number of labels, where tables of label pairs fit into a core's cache",
    needs: &["pwpl-slopes"],
    tolerance: "that of pwpl-slopes: PL and PWPL at most power 1.1 of the number of labels, PW with observed pairs 2 (0.2)",
    settings: |form| json!({"labels": form.pick(&FEW[..], &FEW[..2]), "runs": RUNS}),
    run,
    ..PASS
};

/// Numbers of labels for which a pair table and its gradient take at most 0.7 MB.
const FEW: [usize; 5] = [70, 92, 121, 159, 208];
/// The criteria whose power is too large in `pwpl-slopes`.
const NAMES: [&str; 3] = ["PL", "PWPL", OBSERVED];

fn run(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let before = context.result("pwpl-slopes")?.outcome;
    let mut text = String::from(
        "memory. The powers hold where a table of label pairs and its gradient fit into a core's cache, and grow beyond:",
    );
    for Measured { name, criterion, keep, observed, tokens, bounds } in
        MEASURED.into_iter().filter(|of| NAMES.contains(&of.name))
    {
        let tokens = context.form.pick(tokens, tokens / 50);
        let mut points = Vec::new();
        for &labels in context.form.pick(&FEW[..], &FEW[..2]) {
            (context.say)(&format!("{name}, {labels} labels"));
            let (corpus, _) = walk(labels, tokens, observed)?;
            let settings = Settings { objective: criterion, features: keep, ..Settings::default() };
            let seconds = pass_seconds(objective(&corpus, &settings)?.as_ref(), RUNS);
            let micros = 1e6 * seconds / tokens.max(labels) as f64;
            outcome.show(format!("{name}, {labels} labels: microseconds a token"), "", micros);
            points.push([labels as f64, micros]);
        }
        // The powers in pwpl-slopes below and above 224 labels.
        let old = |labels: usize| -> Result<[f64; 2]> {
            Ok([labels as f64, before.number(&format!("{name}, {labels} labels: microseconds a token"))?])
        };
        let all: Vec<[f64; 2]> =
            context.form.pick(&LABELS[..], &LABELS[..2]).iter().map(|&m| old(m)).collect::<Result<_>>()?;
        let middle = all.len() / 2;
        let [small, below, above] = [power(&points), power(&all[..=middle]), power(&all[middle..])];
        outcome.show(format!("{name}, {} to {} labels: power", FEW[0], FEW[4]), "", small);
        outcome.show(
            format!("{name}, {} to {} labels, from pwpl-slopes: power", LABELS[0], LABELS[2]),
            "",
            below,
        );
        outcome.show(
            format!("{name}, {} to {} labels, from pwpl-slopes: power", LABELS[2], LABELS[4]),
            "",
            above,
        );
        outcome.claim(
            format!("{name}: the power of the number of labels is between {} and {}", bounds[0], bounds[1]),
            (bounds[0]..=bounds[1]).contains(&small),
        );
        text += &format!(
            " {name} {small:.2} from {} to {} labels; in pwpl-slopes {below:.2} from {} to {}, {above:.2} from {} to {};",
            FEW[0], FEW[4], LABELS[0], LABELS[2], LABELS[2], LABELS[4]
        );
    }
    let text = text.trim_end_matches(';').to_owned() + ".";
    match outcome.claims.iter().all(|claim| claim.holds) {
        true => outcome.because("pwpl-slopes", &["power"], text),
        false => outcome.looked("pwpl-slopes", format!("not {text}")),
    }
    outcome.note("One thread, its CPU time, the least of several runs. Designed after pwpl-slopes had been run; its bounds are kept.");
    Ok(outcome)
}
