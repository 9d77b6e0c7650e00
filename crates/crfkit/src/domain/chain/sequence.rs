//! A sequence of columns or of attributes.

use crate::data::attributes::Attributes;
use crate::data::columns::Columns;
use crate::data::conllu::Fields;
use crate::data::template::{Template, Templates};
use crate::error::only_columns;
use crate::{Error, Place, Result};

/// Name, in error messages, of a sequence that was not read from a file.
const IN_MEMORY: &str = "a sequence in memory";

/// A sequence, as it is read. Its memory can be reused for the next sequence.
#[derive(Clone, Debug)]
pub enum Sequence {
    /// A sequence of CoNLL columns.
    Columns {
        /// The rows, one per token.
        rows: Columns,
        /// The label's column, if it was given; otherwise the column that the model was trained with.
        label_column: Option<i32>,
    },
    /// A sequence of CRFsuite attributes.
    Attributes(Attributes),
}

impl From<Columns> for Sequence {
    fn from(rows: Columns) -> Self {
        Sequence::Columns { rows, label_column: None }
    }
}

impl From<Attributes> for Sequence {
    fn from(attributes: Attributes) -> Self {
        Sequence::Attributes(attributes)
    }
}

impl Sequence {
    /// Makes a sequence from rows of fields, one row per token. For training and evaluation the last field is the
    /// label.
    ///
    /// ```
    /// # use crfkit::chain::Sequence;
    /// let sequence = Sequence::from_rows([["2", "B-QTY"], ["cups", "B-UNIT"], ["flour", "B-NAME"]])?;
    /// assert_eq!(sequence.len(), 3);
    /// # Ok::<(), crfkit::Error>(())
    /// ```
    pub fn from_rows<R>(rows: R) -> Result<Self>
    where
        R: IntoIterator<Item: IntoIterator<Item: AsRef<str>>>,
    {
        Ok(Columns::from_rows(rows, IN_MEMORY)?.into())
    }

    /// Makes a sequence from features of your own. Each token has a label (any word if it is not known), and names of
    /// features with their values.
    ///
    /// ```
    /// # use crfkit::chain::Sequence;
    /// let sequence = Sequence::from_features([("B-QTY", vec![("digits", 1.0), ("length", 0.2)]), ("B-UNIT", vec![("word=cups", 1.0)])])?;
    /// assert_eq!(sequence.len(), 2);
    /// # Ok::<(), crfkit::Error>(())
    /// ```
    pub fn from_features<L, N, F>(tokens: impl IntoIterator<Item = (L, F)>) -> Result<Self>
    where
        L: AsRef<str>,
        N: AsRef<str>,
        F: IntoIterator<Item = (N, f64)>,
    {
        let mut attributes = Attributes::new(IN_MEMORY, 1.0)?;
        tokens.into_iter().try_for_each(|(label, features)| attributes.add(label.as_ref(), features))?;
        Ok(attributes.into())
    }

    /// The same sequence with a weight for each token, for objectives that are sums over tokens
    /// ([`Criterion::uses_variable_weights`](crate::settings::Criterion::uses_variable_weights)).
    ///
    /// ```
    /// # use crfkit::chain::Sequence;
    /// let sequence = Sequence::from_rows([["2", "B-QTY"], ["cups", "B-UNIT"]])?.with_token_weights(&[1.0, 0.5])?;
    /// # Ok::<(), crfkit::Error>(())
    /// ```
    pub fn with_token_weights(mut self, weights: &[f64]) -> Result<Self> {
        match &mut self {
            Sequence::Columns { rows, .. } => rows.set_token_weights(weights)?,
            Sequence::Attributes(attributes) => attributes.set_token_weights(weights)?,
        }
        Ok(self)
    }

    /// A sequence of the same format without tokens.
    pub(super) fn empty(&self) -> Self {
        match self {
            Sequence::Columns { label_column, .. } => {
                Sequence::Columns { rows: Columns::default(), label_column: *label_column }
            }
            Sequence::Attributes(_) => Sequence::Attributes(Attributes::default()),
        }
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        match self {
            Sequence::Columns { rows, .. } => rows.len(),
            Sequence::Attributes(attributes) => attributes.len(),
        }
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The label of a token. With columns, it is the field in column `label`.
    pub fn label(&self, token: usize, label: usize) -> &str {
        match self {
            Sequence::Columns { rows, .. } => rows.field(token, label),
            Sequence::Attributes(attributes) => attributes.label(token),
        }
    }

    /// The text shown for a token: the field in column `word`, or the first attribute.
    pub fn word(&self, token: usize, word: usize) -> &str {
        match self {
            Sequence::Columns { rows, .. } => rows.field(token, word),
            Sequence::Attributes(attributes) => attributes.items(token).next().map_or("", |(name, _)| name),
        }
    }

    /// Number of columns; 0 with attributes.
    pub fn columns(&self) -> usize {
        match self {
            Sequence::Columns { rows, .. } => rows.columns(),
            Sequence::Attributes(_) => 0,
        }
    }

    /// The place where a token was read.
    pub fn place(&self, token: usize) -> Place {
        match self {
            _ if self.is_empty() => Place::new("input", 0),
            Sequence::Columns { rows, .. } => rows.place(token),
            Sequence::Attributes(attributes) => attributes.place(token),
        }
    }
}

/// The column layout of a chain's training data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnLayout {
    /// Number of columns, including the label's.
    pub columns: usize,
    /// The label's column.
    pub label: usize,
    /// The fields of CoNLL-U that the columns are, if the data was in this format and they are not the default ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Fields>,
}

impl ColumnLayout {
    /// Whether its columns exist.
    pub(super) fn is_sound(&self) -> bool {
        self.label < self.columns && self.fields.is_none_or(|fields| fields.count() == self.columns)
    }

    /// Whether the label is the last column.
    pub fn label_is_last(&self) -> bool {
        self.label + 1 == self.columns
    }

    /// Rejects rows of other fields of CoNLL-U than those of the training data.
    pub(super) fn check_fields(trained: Option<Self>, rows: &Columns) -> Result<()> {
        Fields::check(trained.and_then(|layout| layout.fields), rows)
    }

    /// The word's column: the first one that is not the label's.
    pub fn word(&self) -> usize {
        usize::from(self.label == 0 && self.columns > 1)
    }

    /// Rejects templates that read missing columns, or the label: such templates would see the answer in training and
    /// have nothing to read afterwards.
    pub fn check_templates(&self, templates: &Templates) -> Result<()> {
        // Templates count the columns of the file. If the label is the last one, it is out of their range.
        templates.check_columns(if self.label_is_last() { self.columns - 1 } else { self.columns })?;
        let label = self.label;
        let reads_label = |template: &&Template| {
            template.macros.iter().any(|part| templates.extractors[part.extractor].reads() == Some(label))
        };
        let Some(template) = templates.unigram.iter().chain(&templates.bigram).find(reads_label) else {
            return Ok(());
        };
        let message = format!(
            "column {label} is the label: a template must not read it; presets read the word in column \
             0 and the columns behind it"
        );
        Err(Error::input(Place::new(&templates.name, template.line), message))
    }

    /// Rejects columns of numbers that do not exist, or that are the label.
    pub fn check_dense_columns(&self, columns: &[usize]) -> Result<()> {
        let ColumnLayout { columns: all, label, .. } = *self;
        match columns.iter().find(|&&column| column >= all || column == label) {
            None => Ok(()),
            Some(column) if *column == label => Err(Error::Setting(format!(
                "column {column} is the label: it cannot be one of the columns of numbers"
            ))),
            Some(column) => Err(Error::Setting(format!(
                "column {column} is used for numbers (columns count from 0), but the data has {} besides the label",
                all - 1
            ))),
        }
    }

    /// The layout of data that may have more or fewer columns. A label that was in the last column is still in the last
    /// one.
    pub(crate) fn in_data(&self, columns: usize) -> Self {
        ColumnLayout {
            columns,
            label: if self.label_is_last() { columns.saturating_sub(1) } else { self.label },
            fields: self.fields,
        }
    }

    /// The layout of the training data to which these rows belong.
    #[doc(hidden)]
    pub fn of(label: i32, rows: &Columns) -> Result<Self> {
        let layout = ColumnLayout::new(label, rows.columns(), || rows.place(0))?;
        Ok(ColumnLayout { fields: Fields::stored(rows.fields()), ..layout })
    }

    /// The layout of rows with `columns` columns, whose label is in column `label`; negative numbers count from the
    /// end. `place` is the place of the rows.
    pub fn new(label: i32, columns: usize, place: impl Fn() -> Place) -> Result<Self> {
        let index = if label < 0 { columns as i64 + i64::from(label) } else { label.into() };
        match usize::try_from(index).ok().filter(|index| *index < columns) {
            Some(label) => Ok(ColumnLayout { columns, label, fields: None }),
            None => {
                let message = format!(
                    "the label should be in column {label}, but there {}: 0 is the first, -1 the last",
                    only_columns(columns)
                );
                Err(Error::input(place(), message))
            }
        }
    }
}
