//! How the objective of [`super::Saga`] falls from round to round.

use super::State;
use super::restored::{Restored, finite};
use crate::Result;

/// The gains of successive rounds shrink at least by this factor, as far as the estimate of what is ahead goes; and by this one while
/// too few rounds are known.
const SLOWEST: f64 = 0.95;
const UNKNOWN: f64 = 0.9;

/// The objective at the ends of the rounds.
pub(super) struct Rounds {
    /// At the end of the last one; the largest number before.
    pub last: f64,
    /// How much it fell in each of the last four, the latest first; 0 before.
    gains: [f64; 4],
}

impl Rounds {
    pub(super) fn new(state: &mut Restored) -> Result<Self> {
        let gains = state.vector("gains", 4, 0.0, finite)?;
        Ok(Rounds { last: state.number("last", f64::MAX, finite)?, gains: std::array::from_fn(|k| gains[k]) })
    }

    /// Adds them to the state of a run.
    pub(super) fn save(&self, state: &mut State) {
        state.numbers.insert("last".into(), self.last);
        state.vectors.insert("gains".into(), self.gains.to_vec());
    }

    /// A round ends at this objective.
    pub(super) fn end(&mut self, objective: f64) {
        let gain = if self.last < f64::MAX { self.last - objective } else { 0.0 };
        self.gains = [gain, self.gains[0], self.gains[1], self.gains[2]];
        self.last = objective;
    }

    /// What the next rounds would gain, if their gains shrink as those of the last two did against the two before.
    pub(super) fn ahead(&self) -> f64 {
        let [first, second, third, fourth] = self.gains.map(f64::abs);
        let ratio = match fourth > 0.0 {
            true => ((first + second) / (third + fourth)).sqrt().min(SLOWEST),
            false => UNKNOWN,
        };
        0.5 * (first + second) * ratio / (1.0 - ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_that_shrink_by_a_factor_end_at_the_limit() {
        let mut rounds = Rounds { last: f64::MAX, gains: [0.0; 4] };
        let after = |k: i32| 100.0 + 64.0 * 0.5f64.powi(k);
        rounds.end(after(0));
        assert_eq!(rounds.ahead(), 0.0);
        rounds.end(after(1));
        assert!((rounds.ahead() - 9.0 * 16.0).abs() < 1e-9, "nothing is known of how gains shrink");
        for k in 2..8 {
            rounds.end(after(k));
        }
        // The mean of the last two gains is one and a half times the last one.
        assert!((rounds.ahead() - 1.5 * (after(7) - 100.0)).abs() < 1e-9, "{}", rounds.ahead());
    }
}
