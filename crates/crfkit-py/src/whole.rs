//! Whole labellings of graphs: the best ones, and their probabilities.

use crfkit::answers::{Answers, GraphAnswers};
use crfkit::decode::Decode;
use crfkit::graph::Label;
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;

/// A labelling and its probability.
pub(crate) type Ranked = (Vec<Label>, f64);

/// A number of labellings, as Python gives it.
pub(crate) fn positive(n: isize) -> PyResult<usize> {
    usize::try_from(n)
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| PyValueError::new_err(format!("n is {n}: ask for at least 1 labelling")))
}

/// The best labellings of the graph that was loaded, best first.
pub(crate) fn nbest(answers: &mut GraphAnswers, n: usize) -> crfkit::Result<Vec<Ranked>> {
    let mut all = Vec::new();
    for found in answers.nbest(n)? {
        let probability = answers.probability(&found.labels)?;
        all.push((found.labels, probability));
    }
    Ok(all)
}

/// The log-probability of a labelling of the graph that was loaded, by default of the best one.
pub(crate) fn log_probability(answers: &mut GraphAnswers, labels: Option<&[Label]>) -> crfkit::Result<f64> {
    match labels {
        Some(labels) => answers.log_probability(labels),
        None => {
            let best = answers.labels(Decode::Best)?.to_vec();
            answers.log_probability(&best)
        }
    }
}
