//! Why the powers of `pwpl-slopes` are too large: what a pass costs whatever its length, and tables that outgrow the cache.

use super::slopes::{LABELS, MEASURED, Measured, OBSERVED, PASS, RUNS, objective, pass_seconds, walk};
use crate::clock::power;
use crate::experiment::{Context, Experiment, Outcome};
use crfkit::Result;
use crfkit::train::Settings;
use serde_json::json;

/// Row 120: seconds without what a pass costs whatever its length, and without the caches' share.
pub const MARGINAL: Experiment = Experiment {
    id: "pwpl-slopes-marginal",
    title: "pwpl section 3.1: time of a further token against the number of labels",
    tolerance: "that of pwpl-slopes: PL and PWPL at most power 1.1 of the number of labels, PW with observed pairs 2 (0.2)",
    settings: |form| json!({"labels": form.pick(&LABELS[..], &LABELS[..2]), "longer": LONGER, "small": form.pick(&SMALL[..], &SMALL[..2]), "runs": RUNS}),
    run: marginal,
    ..PASS
};

/// How many times longer the second corpus is, by which the time of a further token is found.
const LONGER: usize = 3;
/// Numbers of labels with whose pairs a table and its gradient take at most 0.7 MB, which a core's cache holds.
const SMALL: [usize; 5] = [70, 92, 121, 159, 208];

fn marginal(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut fixed_share: f64 = 0.0;
    for &Measured { name, criterion, keep, observed, tokens, bounds } in
        MEASURED.iter().filter(|of| ["PL", "PWPL", OBSERVED].contains(&of.name))
    {
        // Observed tables are not shared by tokens: nothing of a pass is the same at any length.
        let (sizes, longer) = if observed { (&SMALL, None) } else { (&LABELS, Some(LONGER)) };
        let tokens = context.form.pick(tokens, tokens / 50);
        let settings = Settings { objective: criterion, features: keep, ..Settings::default() };
        let micros = |labels: usize, tokens: usize| -> Result<f64> {
            let (corpus, _) = walk(labels, tokens, observed)?;
            Ok(1e6 * pass_seconds(objective(&corpus, &settings)?.as_ref(), RUNS))
        };
        let (mut points, mut fixed) = (Vec::new(), Vec::new());
        for &labels in context.form.pick(&sizes[..], &sizes[..2]) {
            (context.say)(&format!("{name}, {labels} labels"));
            let tokens = tokens.max(labels);
            let short = micros(labels, tokens)?;
            let token = match longer {
                None => short / tokens as f64,
                Some(times) => {
                    let token = (micros(labels, times * tokens)? - short) / ((times - 1) * tokens) as f64;
                    let once = short - token * tokens as f64;
                    outcome.show(
                        format!("{name}, {labels} labels: milliseconds a pass besides its tokens"),
                        "",
                        1e-3 * once,
                    );
                    fixed.push(once / short);
                    token
                }
            };
            outcome.show(format!("{name}, {labels} labels: microseconds a further token"), "", token);
            points.push([labels as f64, token]);
        }
        fixed_share = fixed.last().map_or(fixed_share, |&share| fixed_share.max(share));
        let power = power(&points);
        outcome.show(format!("{name}: power of the number of labels"), "", power);
        outcome.claim(
            format!("{name}: the power of the number of labels is between {} and {}", bounds[0], bounds[1]),
            (bounds[0]..=bounds[1]).contains(&power),
        );
    }
    let power = |name: &str| outcome.number(&format!("{name}: power of the number of labels"));
    let text = format!(
        "a pass has a part that does not depend on its length, the tables of all label pairs, filled and added up: up to {:.0} % of a pass over {} tokens \
         with the most labels. A further token takes a time that grows with power {:.2} of the number of labels (PL) and {:.2} (PWPL). The tables of \
         PW with observed pairs outgrow the cache of a core between 224 and 336 labels: with at most {} the power is {:.2}.",
        100.0 * fixed_share,
        MEASURED[4].tokens,
        power("PL")?,
        power("PWPL")?,
        SMALL[4],
        power(OBSERVED)?
    );
    outcome.because("pwpl-slopes", text);
    outcome.note("One thread, its CPU time, the least of several runs. Thought of after pwpl-slopes was run; the bounds are its own.");
    Ok(outcome)
}
