//! Whether probabilities mean what they say: of all answers with a probability of 80 %, about 80 % should be right.

use serde::Serialize;
use std::io::{self, Write};

/// The number of bins of equal width from 0 to 1.
const BINS: usize = 10;
const BILLION: f64 = 1e9;

/// The answers whose probability is in one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// How many answers there are.
    pub count: u64,
    /// The sum of their probabilities, in units of 10⁻⁹: integers have the same sum in every order.
    pub billionths: u64,
    /// How many of them are right.
    pub right: u64,
}

/// A reliability table: answers by their probability, and how many of them are right (Guo et al. 2017).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    bins: [Bin; BINS],
}

/// One row of a reliability table, as JSON has it.
#[derive(Serialize)]
struct Row {
    from: f64,
    to: f64,
    count: u64,
    probability: f64,
    accuracy: f64,
}

impl Calibration {
    /// Adds an answer that has this probability.
    pub fn add(&mut self, probability: f64, right: bool) {
        let bin = &mut self.bins[((probability * BINS as f64) as usize).min(BINS - 1)];
        bin.count += 1;
        bin.billionths += (probability * BILLION).round() as u64;
        bin.right += u64::from(right);
    }

    /// Adds the answers of another table.
    pub fn merge(&mut self, other: &Calibration) {
        for (mine, theirs) in self.bins.iter_mut().zip(&other.bins) {
            mine.count += theirs.count;
            mine.billionths += theirs.billionths;
            mine.right += theirs.right;
        }
    }

    /// The bins, from low to high probabilities.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// Number of answers.
    pub fn count(&self) -> u64 {
        self.bins.iter().map(|bin| bin.count).sum()
    }

    /// The expected calibration error: how far probability and accuracy are apart, on average over all answers; 0 if there are none.
    pub fn error(&self) -> f64 {
        let gap = |bin: &Bin| (bin.billionths as f64 / BILLION - bin.right as f64).abs();
        self.bins.iter().map(gap).sum::<f64>() / self.count().max(1) as f64
    }

    /// The table as text; `what` names the answers.
    pub fn write_text(&self, what: &str, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "calibration of {what}: expected calibration error {:.2}%", 100.0 * self.error())?;
        writeln!(out, "  probability      count  mean probability  accuracy")?;
        for row in self.rows() {
            writeln!(
                out,
                "  {:3.0} - {:3.0}% {:10} {:16.2}% {:8.2}%",
                100.0 * row.from,
                100.0 * row.to,
                row.count,
                100.0 * row.probability,
                100.0 * row.accuracy
            )?;
        }
        Ok(())
    }

    /// The rows of bins with answers.
    fn rows(&self) -> impl Iterator<Item = Row> {
        let filled = self.bins.iter().enumerate().filter(|(_, bin)| bin.count > 0);
        filled.map(|(index, bin)| Row {
            from: index as f64 / BINS as f64,
            to: (index + 1) as f64 / BINS as f64,
            count: bin.count,
            probability: bin.billionths as f64 / BILLION / bin.count as f64,
            accuracy: bin.right as f64 / bin.count as f64,
        })
    }
}

impl Serialize for Calibration {
    /// `{"error":…,"bins":[{"from":0.9,"to":1.0,"count":…,"probability":…,"accuracy":…}]}`; bins without answers are left out.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Table {
            error: f64,
            bins: Vec<Row>,
        }
        Table { error: self.error(), bins: self.rows().collect() }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_the_mean_gap() {
        let mut table = Calibration::default();
        assert_eq!(table.error(), 0.0);
        // Two answers at 0.95, one right; two at 0.25, one right; one certain and right.
        for (probability, right) in [(0.95, true), (0.95, false), (0.25, true), (0.25, false), (1.0, true)] {
            let mut one = Calibration::default();
            one.add(probability, right);
            table.merge(&one);
        }
        assert_eq!(table.count(), 5);
        assert_eq!(table.bins()[9].count, 3, "1 is in the last bin");
        let expected = ((2.9f64 - 2.0).abs() + (0.5f64 - 1.0).abs()) / 5.0;
        assert!((table.error() - expected).abs() < 1e-12);
        let mut text = Vec::new();
        table.write_text("labels", &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), 4, "two bins have answers: {text}");
        assert!(
            text.contains("error 28.00%")
                && text.contains("20 -  30%          2            25.00%    50.00%"),
            "{text}"
        );
    }
}
