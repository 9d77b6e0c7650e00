//! Models made of counts: sequences of words.

use crate::Form;
use crate::errors::{raise, setting_error};
use crate::features::Converter;
use crate::labels::Given;
use crate::model::PyModel;
use crate::settings::parse;
use crate::train::{PART, pairs};
use crate::vectors::without;
use crate::walk::Name;
use crfkit::any::AnyModel;
use crfkit::chain::Sequence;
use crfkit::data::columns::Columns;
use crfkit::empirical::{Counts, EmpiricalSettings, HeldOut, train};
use pyo3::prelude::*;

/// Make a model of the counts of words and labels, and those of an earlier model. The package's estimators call this function.
#[pyfunction]
#[pyo3(signature = (x, y, settings, *, held_out=None, start=None))]
pub(crate) fn train_empirical(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    settings: &str,
    held_out: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    start: Option<&Bound<'_, PyModel>>,
) -> PyResult<PyModel> {
    let settings: EmpiricalSettings = parse(py, settings)?;
    settings.check().map_err(|error| raise(py, error))?;
    let mut counts = Counts::new(settings.pairs);
    each_row(x, y, |rows, label| counts.add_columns(rows, label))?;
    let held_out = match held_out {
        None => None,
        Some((x, y)) => {
            let mut held_out = HeldOut::default();
            each_row(&x, &y, |rows, label| held_out.add_columns(rows, label))?;
            Some(held_out)
        }
    };
    if let Some(start) = start {
        match start.get().0.any() {
            AnyModel::Empirical(model) => counts.merge(model.counts()).map_err(|error| raise(py, error))?,
            _ => return Err(setting_error(py, "counts can only be added to a model made of counts".into())),
        }
    }
    let made = py.detach(|| train(&counts, &settings, held_out.as_ref()));
    let model = made.map_err(|error| raise(py, error))?.model;
    Ok(PyModel(AnyModel::from(model).into()))
}

/// Calls `each` with the rows of each sequence and the column of the labels.
fn each_row(
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    mut each: impl FnMut(&Columns, usize) -> crfkit::Result<()> + Send,
) -> PyResult<()> {
    let (mut converter, mut part) = (Converter::default(), Vec::with_capacity(PART));
    // The interpreter's lock is released while many are counted, which would cost more than counting one.
    let mut all = |part: &mut Vec<Columns>| {
        let counted = x.py().detach(|| part.drain(..).try_for_each(|rows| each(&rows, rows.columns() - 1)));
        counted.map_err(|error| raise(x.py(), error))
    };
    for (k, pair) in pairs(x, y)? {
        let (tokens, labels) = pair?;
        let sequence = Given::plain(Form::Rows).labelled(&mut converter, &tokens, &labels, k)?;
        let sequence = without(sequence, x.py(), Name::x(k))?;
        if let Sequence::Columns { rows, .. } = sequence
            && !rows.is_empty()
        {
            part.push(rows);
        }
        if part.len() == PART {
            all(&mut part)?;
            x.py().check_signals()?;
        }
    }
    all(&mut part)
}
