//! How sequences of chains are read, as the package's estimators say it.

use crate::Form;
use crate::labels::{DEV_NAMES, Given, NAMES, Partial};
use crate::settings::Rules;
use crfkit::Trainer;
use crfkit::data::template::Dialect;
use pyo3::prelude::*;

/// How sequences are read, as the package's estimators of chains say it.
#[derive(FromPyObject, Default)]
#[pyo3(from_item_all)]
pub(crate) struct Reading {
    template: Option<String>,
    /// The weight of each sequence.
    weights: Option<Vec<f64>>,
    /// The weights of the tokens of each sequence.
    token_weights: Option<Vec<Vec<f64>>>,
    /// The weights of labels.
    label_weights: Option<Vec<(String, f64)>>,
    partial_labels: bool,
    constraint: Option<String>,
    standardise: bool,
}

impl Reading {
    /// How labels and weights are given with sequences of this form.
    pub(crate) fn given(&self, form: Form) -> Given<'_> {
        Given {
            names: NAMES,
            form,
            partial: Partial::of(self.partial_labels),
            weights: self.weights.as_deref(),
            token_weights: self.token_weights.as_deref(),
        }
    }

    /// The same for development data, which has no weights.
    pub(crate) fn development(&self, form: Form) -> Given<'_> {
        Given { names: DEV_NAMES, weights: None, token_weights: None, ..self.given(form) }
    }

    /// Whether a template is given.
    pub(crate) fn has_template(&self) -> bool {
        self.template.is_some()
    }

    /// The form of sequences that the template reads, or of those without one.
    pub(crate) fn form(&self) -> Form {
        if self.template.is_some() { Form::Rows } else { Form::Features }
    }

    /// What this asks of a trainer.
    pub(crate) fn choices(&self, py: Python<'_>) -> PyResult<Choices> {
        Ok(Choices {
            template: self.template.clone(),
            label_weights: self.label_weights.clone().unwrap_or_default(),
            partial: self.partial_labels,
            rules: self.constraint.as_deref().map(|given| Rules::of(py, given)).transpose()?,
            standardise: self.standardise,
        })
    }
}

/// What a reading asks of a trainer.
pub(crate) struct Choices {
    template: Option<String>,
    label_weights: Vec<(String, f64)>,
    partial: bool,
    rules: Option<Rules>,
    standardise: bool,
}

impl Choices {
    /// The trainer that obeys them.
    pub(crate) fn of<'a>(&self, trainer: Trainer<'a>) -> Trainer<'a> {
        let trainer = with_template(trainer, self.template.as_deref());
        let trainer = trainer.label_weights(self.label_weights.iter().cloned());
        let trainer = if self.partial { trainer.partial_labels() } else { trainer };
        let trainer = if self.standardise { trainer.standardise() } else { trainer };
        match &self.rules {
            None => trainer,
            Some(Rules::Notation(constraint)) => trainer.constraint(*constraint),
            Some(Rules::Text(text)) => trainer.rules(text, "constraint"),
        }
    }
}

/// The trainer, with the template that Python names or gives.
pub(crate) fn with_template<'a>(trainer: Trainer<'a>, template: Option<&str>) -> Trainer<'a> {
    match template {
        None => trainer,
        Some(text) if text.contains(['\n', '%']) => trainer.template(text, Dialect::Crfpp),
        Some(preset) => trainer.preset(preset),
    }
}
