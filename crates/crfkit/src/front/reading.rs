//! How a trainer reads sequences: what their labels mean, and how observations are made of them.

use super::Trainer;
use super::trainer::TemplateText;
use crate::data::observer::Source;
use crate::data::presets::preset;
use crate::data::template::Templates;
use crate::domain::chain::{
    ChainCorpus, ChainDev, ChainDomain, ColumnLayout, CorpusBuilder, CorpusCrew, Sequence,
};
use crate::settings::{Constraint, Scaling};
use crate::{Error, Result};
use std::path::Path;

/// What the labels of the training data mean, and what else is known about them.
#[derive(Default)]
pub(super) struct Labelling {
    partial: bool,
    /// Labels that the model is to have in any case.
    labels: Vec<String>,
    weights: Vec<(String, f64)>,
    rules: Option<Rules>,
}

/// The rules that labellings obey, in training too.
enum Rules {
    Notation(Constraint),
    Text { text: String, name: String },
}

impl Labelling {
    /// Whether nothing is known about labels except from the data.
    pub(super) fn is_plain(&self) -> bool {
        !self.partial && self.labels.is_empty() && self.weights.is_empty() && self.rules.is_none()
    }

    /// Development data whose labels mean the same.
    pub(super) fn dev(&self, domain: &ChainDomain, sequences: &[Sequence]) -> Result<ChainDev> {
        let dev = ChainDev::new(domain);
        let mut dev = if self.partial { dev.with_partial_labels() } else { dev };
        sequences.iter().try_for_each(|sequence| dev.add(domain, sequence))?;
        Ok(dev)
    }

    /// The builder for such data.
    fn of(&self, builder: CorpusBuilder) -> Result<CorpusBuilder> {
        let builder = if self.partial { builder.with_partial_labels() } else { builder };
        let builder = builder.with_labels(self.labels.iter().cloned());
        let builder = builder.with_label_weights(self.weights.iter().cloned())?;
        Ok(match &self.rules {
            None => builder,
            Some(Rules::Notation(constraint)) => builder.with_constraint(*constraint),
            Some(Rules::Text { text, name }) => builder.with_rules(text, name),
        })
    }
}

impl Trainer<'_> {
    /// Labels of the training data may be missing: `?` is any label, and `A|B` is A or B. Training sums over what is not known.
    pub fn partial_labels(mut self) -> Self {
        self.labelling.partial = true;
        self
    }

    /// Adds labels that the model should have, whether or not a sequence has them.
    pub fn labels<L: Into<String>>(mut self, names: impl IntoIterator<Item = L>) -> Self {
        self.labelling.labels.extend(names.into_iter().map(Into::into));
        self
    }

    /// Gives labels weights: the weight of a sequence is multiplied by the largest weight of its labels, where labels that are not named
    /// have weight 1. Training fails if no sequence has a named label.
    pub fn label_weights<L: Into<String>>(mut self, weights: impl IntoIterator<Item = (L, f64)>) -> Self {
        self.labelling.weights.extend(weights.into_iter().map(|(label, weight)| (label.into(), weight)));
        self
    }

    /// Makes only labellings that obey a chunk notation possible, in training and afterwards. Training fails if a sequence breaks it.
    /// [`Constraint::None`] makes every labelling possible; without this call, labels in IOB2 stay in IOB2 when the model is applied.
    ///
    /// ```
    /// use crfkit::Trainer;
    /// use crfkit::chain::Sequence;
    /// use crfkit::settings::Constraint;
    /// let sequences = [Sequence::from_rows([["red", "B-NAME"], ["onion", "I-NAME"]]), Sequence::from_rows([["chopped", "O"]])];
    /// let model = Trainer::new().constraint(Constraint::Iob2).train(sequences)?;
    /// let mut tagger = model.tagger()?;
    /// let wrong = tagger.log_probability(&Sequence::from_rows([["onion"]])?, &["I-NAME"])?;
    /// assert_eq!(wrong, f64::NEG_INFINITY);
    /// # Ok::<(), crfkit::Error>(())
    /// ```
    pub fn constraint(mut self, constraint: Constraint) -> Self {
        self.settings.constraint = Some(constraint);
        self.labelling.rules = Some(Rules::Notation(constraint));
        self
    }

    /// The same with your own rules ([`label_rules`](crate::data::label_rules)), from a text called `name`.
    pub fn rules(mut self, text: impl Into<String>, name: impl Into<String>) -> Self {
        // The model has the rules of a text itself.
        self.settings.constraint = Some(Constraint::None);
        self.labelling.rules = Some(Rules::Text { text: text.into(), name: name.into() });
        self
    }

    /// Reads sequences into a corpus.
    pub(super) fn read(&self, sequences: impl IntoIterator<Item = Result<Sequence>>) -> Result<ChainCorpus> {
        let mut crew: Option<CorpusCrew> = None;
        let read = sequences.into_iter().try_for_each(|sequence| {
            let mut sequence = sequence?;
            let crew = match &mut crew {
                Some(crew) => crew,
                none => {
                    let builder = CorpusBuilder::new(self.source(&sequence)?)
                        .with_dense_columns(self.dense.iter().copied());
                    let builder = match self.settings.scaling {
                        _ if self.standardise => builder.standardise(),
                        Scaling::None => builder.without_centring(),
                        Scaling::Unit => builder,
                    };
                    let builder = self.labelling.of(builder.of_settings(&self.settings))?;
                    let builder = match self.known()? {
                        Some(known) => builder.with_base_model(&known)?,
                        None => builder,
                    };
                    none.insert(CorpusCrew::new(builder, self.threads))
                }
            };
            crew.add(&mut sequence)
        });
        match crew {
            Some(crew) => crew.finish(read, self.settings.min_count),
            None => Err(read
                .err()
                .unwrap_or_else(|| Error::Setting("the training data holds no sequence".into()))),
        }
    }

    /// The source of observations for data whose first sequence is `first`.
    fn source(&self, first: &Sequence) -> Result<Source> {
        let Sequence::Columns { rows, label_column } = first else { return Ok(Source::Attributes) };
        let layout = ColumnLayout::new(label_column.unwrap_or(-1), rows.columns(), || first.place(0))?;
        let (fields, dense) = (layout.columns - 1, &self.dense);
        let segments = self.settings.segments.is_some();
        let templates = match &self.templates {
            None => match self.known()? {
                Some(known) => return Ok(known.domain.source.clone()),
                None => preset("default")?.compile_for(fields, dense, segments)?,
            },
            Some(TemplateText::Preset(name)) => preset(name)?.compile_for(fields, dense, segments)?,
            Some(TemplateText::Text { text, dialect }) => {
                Templates::compile_in(text, *dialect, "template", Path::new(""))?
            }
        };
        layout.check_templates(&templates)?;
        layout.check_dense_columns(&self.dense)?;
        Ok(Source::Templates(templates))
    }
}
