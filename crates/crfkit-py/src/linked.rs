//! Training of factorial and skip chains: sequences of words, with or without further fields.

use crate::Threads;
use crate::errors::{data_error, raise};
use crate::features::Converter;
use crate::labels::{DEV_NAMES, NAMES};
use crate::lists::each_sequence;
use crate::model::PyModel;
use crate::paths::FilePath;
use crate::reading::with_template;
use crate::settings::read_settings;
use crate::train::{Begin, train_corpus};
use crate::vectors::split;
use crate::walk::Name;
use crfkit::Trainer;
use crfkit::data::columns::Columns;
use crfkit::domain::Dev;
use crfkit::linked::{LinkedBuilder, Links};
use crfkit::settings::{Kind, Scaling};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The labels of each token of each sequence.
pub(crate) type Labels = Vec<Vec<Vec<String>>>;

/// How linked chains are read, as the package's estimators say it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct LinkedReading {
    template: Option<String>,
    /// The weight of each sequence.
    weights: Option<Vec<f64>>,
    /// The weights of the tokens of each sequence.
    token_weights: Option<Vec<Vec<f64>>>,
    /// Whether labels may be missing, or be one of several.
    partial_labels: bool,
    standardise: bool,
    /// The rule of a skip chain, and whether its links have the features of both ends.
    skip: Option<(String, bool)>,
}

impl LinkedReading {
    fn links(&self) -> crfkit::Result<Links> {
        let Some((rule, observed)) = &self.skip else { return Ok(Links::Factorial) };
        Ok(Links::SkipChain { rule: rule.parse()?, observed: *observed })
    }
}

/// Sequences of rows, with the labels of each token behind its fields. Either all have words or none has.
fn rows(
    x: &Bound<'_, PyAny>,
    y: &[Vec<Vec<String>>],
    words: bool,
    reading: Option<&LinkedReading>,
) -> PyResult<Vec<Columns>> {
    let (mut converter, mut all) = (Converter::default(), Vec::with_capacity(y.len()));
    // Development data has no weights.
    let names = if reading.is_some() { NAMES } else { DEV_NAMES };
    for (k, (x, labels)) in each_sequence(x)?.zip(y).enumerate() {
        let x = x?;
        let [name, of_labels] = names.map(|of| Name { of, number: Some(k) });
        if has_words(&x, name)? != words {
            let why = match words {
                true => {
                    "is an array: with a template, or where other sequences have words, give a tuple of words and an array"
                }
                false => {
                    "has words, but the first sequence is an array: give arrays alone, or words everywhere"
                }
            };
            return Err(data_error(x.py(), format!("{name} {why}")));
        }
        let mut rows = converter.columns(&x, Some((&labels[..], of_labels)), name)?;
        if let Some(reading) = reading {
            let weigh = |rows: &mut Columns| -> crfkit::Result<()> {
                if let Some(weights) = &reading.weights {
                    rows.set_weight(weights[k])?;
                }
                if let Some(weights) = &reading.token_weights {
                    rows.set_token_weights(&weights[k])?;
                }
                Ok(())
            };
            weigh(&mut rows).map_err(|error| raise(x.py(), error))?;
        }
        if rows.is_empty() {
            continue;
        }
        let columns = all.first().map_or(rows.columns(), Columns::columns);
        if rows.columns() != columns {
            let labels = labels[0].len();
            let (found, expected) = (count_of(rows.columns() - labels), count_of(columns - labels));
            let message = format!("{name} has tokens of {found}, but those before it have {expected}");
            return Err(data_error(x.py(), message));
        }
        all.push(rows);
    }
    Ok(all)
}

/// A number of fields, in a message.
pub(crate) fn count_of(fields: usize) -> String {
    if fields == 1 { "1 field".into() } else { format!("{fields} fields") }
}

/// Train a model of factorial chains, which have several labels at each token, or of skip chains, which link distant tokens. The package's
/// estimators call this function.
#[pyfunction]
#[pyo3(signature = (x, y, settings, reading, *, dev=None, start=None, checkpoint=None, threads=None, callback=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn train_linked<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    y: Labels,
    settings: &str,
    reading: LinkedReading,
    dev: Option<(Bound<'py, PyAny>, Labels)>,
    start: Option<&Bound<'py, PyModel>>,
    checkpoint: Option<FilePath>,
    threads: Option<Threads>,
    callback: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = read_settings(py, settings, Kind::Linked)?;
    // Arrays alone have nothing that a template could read.
    let words = match x.try_iter()?.next() {
        Some(first) if reading.template.is_none() && reading.skip.is_none() => {
            has_words(&first?, Name::x(0))?
        }
        _ => true,
    };
    let sequences = rows(x, &y, words, Some(&reading))?;
    let dev = dev.map(|(x, y)| rows(&x, &y, words, None)).transpose()?;
    let Some(labels) = y.iter().flatten().map(Vec::len).next().filter(|_| !sequences.is_empty()) else {
        return Err(data_error(py, "X has no token: there is nothing to learn from".into()));
    };
    let columns = sequences[0].columns();
    let template = if words { reading.template.as_deref() } else { Some(PAIRS_OF_LABELS) };
    let templates = with_template(Trainer::new(), template).templates(columns - labels);
    let build = || {
        let mut builder =
            LinkedBuilder::new(reading.links()?, templates?, columns, (columns - labels..columns).collect())?;
        builder = match settings.scaling {
            _ if reading.standardise => builder.standardise(),
            Scaling::None => builder.without_centring(),
            _ => builder,
        };
        if reading.partial_labels {
            builder = builder.with_partial_labels();
        }
        sequences.iter().try_for_each(|sequence| builder.add(sequence))?;
        let corpus = builder.finish(settings.min_count)?;
        let Some(inputs) = &dev else { return Ok((corpus, None)) };
        let dev = Dev::new(&corpus.domain);
        let mut dev = if reading.partial_labels { dev.with_partial_labels() } else { dev };
        inputs.iter().try_for_each(|input| dev.add(&corpus.domain, input))?;
        Ok((corpus, Some(dev)))
    };
    let (corpus, dev) = py.detach(build).map_err(|error| raise(py, error))?;
    let start = start.map(|model| model.get().0.clone());
    let begin = Begin {
        settings,
        start,
        checkpoint: checkpoint.map(|path| path.0),
        threads: Threads::count(threads),
    };
    train_corpus(py, corpus, dev, begin, callback)
}

/// The template that makes no observations of fields.
const PAIRS_OF_LABELS: &str = "B\n";

/// Whether a sequence has words, beside an array or alone.
pub(crate) fn has_words(x: &Bound<'_, PyAny>, name: Name<'_>) -> PyResult<bool> {
    Ok(split(x, &name.to_string())?.0.is_some())
}
