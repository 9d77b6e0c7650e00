//! ctjpgis-psa-2007 table 1 as it is printed, and the comparison with it.

use super::psa_text::limit;
use super::text_tasks::TextTask;
use crate::experiment::{Form, Outcome};

/// The entries of table 1 for a method: seconds, iterations, F.
type Cells = [&'static str; 3];

/// The methods of the table.
pub(super) const METHODS: [&str; 3] = ["L-BFGS", "CTJPGIS", "PGIS"];

/// Table 1 of the paper, by method, and the tolerance of F.
fn paper_table(which: TextTask) -> ([Cells; 3], f64) {
    match which {
        TextTask::BaseNp => {
            ([["583", "427", "93.95"], ["816", "619", "93.94"], [">41463", ">30906", ">93.35"]], 0.5)
        }
        TextTask::Nlpba => {
            ([["63158", "1961", "70.33"], ["38800", "1279", "70.26"], [">162462", ">5161", ">62.13"]], 2.0)
        }
        TextTask::Bc2 => {
            ([["4615", "895", "86.77"], ["3011", "639", "86.49"], [">17656", ">3926", ">69.30"]], 3.0)
        }
    }
}

/// The share of the paper's iterations, and of its ratio of seconds, by which ours may differ.
const SHARE: f64 = 0.25;

/// Whether neither the paper's run nor ours had ended: then their numbers depend on when they were stopped.
fn cut(outcome: &Outcome, name: &str, count: &str) -> bool {
    let ours = outcome.number(&format!("{name}: iterations"));
    count.starts_with('>') && ours.is_ok_and(|ours| ours >= limit(Form::Full) as f64)
}

/// All 27 numbers of table 1: iterations and F as they are, seconds of another machine as multiples of those of L-BFGS.
pub(super) fn review(outcome: &mut Outcome, which: TextTask) {
    let (paper, tolerance) = paper_table(which);
    let first: f64 = paper[0][0].parse().unwrap_or(f64::NAN);
    let seconds = METHODS.map(|name| outcome.number(&format!("{name}: seconds")).unwrap_or(f64::NAN));
    // Without a run that was stopped, only those that have ended are left, and their F are close to each other.
    let all_ended = METHODS.iter().zip(paper).all(|(name, [_, count, _])| !cut(outcome, name, count));
    let between = [paper[0][2], paper[1][2]].map(|f| f.parse().unwrap_or(f64::NAN));
    let half = (5e3 * f64::abs(between[0] - between[1])).round() / 1e4;
    let tolerance = if all_ended { tolerance } else { tolerance.min(half) };
    for (k, (name, [time, count, f])) in METHODS.iter().zip(paper).enumerate() {
        outcome.apart(&format!("{name}: seconds"), time, "another machine");
        let value = |text: &str| text.trim_start_matches('>').parse().unwrap_or(f64::NAN);
        let cut = cut(outcome, name, count);
        let mut against = |what: &str, paper: &str, tolerance: f64| match cut {
            true => outcome.apart(what, paper, "both runs were stopped at a limit"),
            false => outcome.against(what, paper, tolerance),
        };
        against(&format!("{name}: iterations"), count, (SHARE * value(count)).round());
        against(&format!("{name}: F"), f, tolerance);
        if k > 0 {
            let ratio = (100.0 * value(time) / first).round() / 100.0;
            let what = format!("{name}: seconds over those of L-BFGS");
            outcome.show(what.clone(), "", seconds[k] / seconds[0]);
            let bound = if time.starts_with('>') { ">" } else { "" };
            match cut {
                true => outcome.apart(&what, &format!("{bound}{ratio}"), "both runs were stopped at a limit"),
                false => outcome.against(&what, &format!("{bound}{ratio}"), SHARE * ratio),
            }
        }
    }
    if let (Ok(quasi), Ok(jumps)) =
        (outcome.number("L-BFGS: iterations"), outcome.number("CTJPGIS: iterations"))
    {
        let fewer = which != TextTask::BaseNp;
        let text = if fewer {
            "CTJPGIS takes fewer iterations than L-BFGS"
        } else {
            "CTJPGIS takes more iterations than L-BFGS"
        };
        outcome.claim(text, (jumps < quasi) == fewer);
    }
}
