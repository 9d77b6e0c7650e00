//! The dense observations of tokens: numbers in columns, and vectors beside the text.

use super::Sequence;
use crate::data::attributes::Attributes;
use crate::data::columns::Columns;
use crate::data::dataset::Dataset;
use crate::data::dense::{FAR_WITHOUT_CONSTANT, are_far_from_zero};
use crate::data::observer::Sink;
use crate::data::template::read_finite;
use crate::data::text::excerpt;
use crate::data::vectors::{MAX_WIDTH, Vectors};
use crate::domain::FORMAT;
use crate::graph::{Chain, Graph, NODES};
use crate::model::sections::{Reader, Writer};
use crate::{Error, Place, Result};
use serde::{Deserialize, Serialize};

/// Which numbers every token has: those of some columns, then those of its vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VectorLayout {
    /// The columns that hold numbers, ascending.
    pub columns: Vec<usize>,
    /// Numbers in the vector of a token; 0 if there are no vectors.
    pub width: usize,
    /// How the numbers are standardised; `None` if they are taken as they are.
    pub standard: Option<Standard>,
}

/// What is done to the numbers of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::domain) enum Numbers {
    /// Those far from 0 get mean 0. Others stay as they are.
    #[default]
    Centred,
    /// All get mean 0 and standard deviation 1.
    Standardised,
    AsTheyAre,
}

/// The standardisation of the training data: x is replaced by (x − mean)·factor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standard {
    /// The mean of each number.
    pub mean: Vec<f64>,
    /// One over the standard deviation of each number; 1 where all are equal, and where numbers are only centred.
    pub factor: Vec<f64>,
}

impl Standard {
    /// Whether numbers keep their size.
    pub fn only_centres(&self) -> bool {
        self.factor.iter().all(|factor| *factor == 1.0)
    }

    fn apply(&self, d: usize, x: f64) -> f64 {
        (x - self.mean[d]) * self.factor[d]
    }

    /// The standardisation of the numbers of `data`, which is applied to them; none if they stay as they are. All kinds of table have the
    /// same numbers.
    pub(in crate::domain) fn fit<G: Graph>(data: &mut Dataset<G>, numbers: Numbers) -> Option<Self> {
        if numbers == Numbers::AsTheyAre {
            return None;
        }
        let dense = data.dense().first()?;
        let width = dense.width();
        let rows = || dense.values().chunks_exact(width);
        let count = rows().len().max(1) as f64;
        let mut mean = vec![0.0; width];
        rows().for_each(|row| mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += f64::from(*x) / count));
        let mut factor = vec![0.0; width];
        for row in rows() {
            for ((square, mean), x) in factor.iter_mut().zip(&mean).zip(row) {
                *square += (f64::from(*x) - mean).powi(2) / count;
            }
        }
        // Numbers that are all equal say nothing, and differ from their mean by rounding.
        for (factor, mean) in factor.iter_mut().zip(&mut mean) {
            let deviation = factor.sqrt();
            *factor = match numbers {
                Numbers::Standardised if deviation > 1e-7 * mean.abs() && deviation > 1e-30 => {
                    1.0 / deviation
                }
                _ => 1.0,
            };
            if numbers == Numbers::Centred && !are_far_from_zero(*mean, deviation, FAR_WITHOUT_CONSTANT) {
                *mean = 0.0;
            }
        }
        if numbers == Numbers::Centred && mean.iter().all(|mean| *mean == 0.0) {
            return None;
        }
        let standard = Standard { mean, factor };
        data.change_matrices(&|_, d, x| standard.apply(d as usize, x));
        Some(standard)
    }
}

impl VectorLayout {
    /// Adds the sections of the model file.
    pub(in crate::domain) fn write(&self, file: &mut Writer) {
        if let Some(Standard { mean, factor }) = &self.standard {
            for (name, numbers) in STANDARD.into_iter().zip([mean, factor]) {
                file.numbers(name, numbers.iter().map(|x| x.to_le_bytes()));
            }
        }
    }

    /// Numbers of every token.
    pub fn dims(&self) -> usize {
        self.columns.len() + self.width
    }

    /// The name of a number.
    pub fn name(&self, d: usize) -> String {
        match self.columns.get(d) {
            Some(column) => format!("column[{column}]"),
            None => format!("vector[{}]", d - self.columns.len()),
        }
    }

    /// Rejects numbers that a stored model cannot have.
    pub(in crate::domain) fn check(&self) -> std::result::Result<(), &'static str> {
        let fits = |numbers: &[f64]| numbers.len() == self.dims() && numbers.iter().all(|x| x.is_finite());
        if self.width > MAX_WIDTH
            || self.columns.len() > MAX_WIDTH
            || !self.columns.is_sorted_by(|a, b| a < b)
        {
            return Err("its vectors are too long, or its columns of numbers do not ascend");
        }
        match &self.standard {
            Some(standard) if !fits(&standard.mean) || !fits(&standard.factor) => {
                Err("the standardisation does not fit its vectors")
            }
            _ => Ok(()),
        }
    }

    /// Rejects vectors of another width.
    pub(super) fn check_width(&self, found: usize, place: impl Fn() -> Place) -> Result<()> {
        let message = match (found, self.width) {
            (found, width) if found == width => return Ok(()),
            (0, width) => {
                format!("tokens without vectors: give every token one of {width} numbers, as in training")
            }
            (_, 0) => "tokens with vectors, but there were none in training: leave them out".into(),
            (found, width) => {
                format!(
                    "vectors of {found} numbers, but of {width} in training: give vectors of the same length"
                )
            }
        };
        Err(Error::input(place(), message))
    }

    /// Checks the numbers of a sequence, and overwrites `out` with them, token by token, standardised.
    pub(in crate::domain) fn read(&self, from: &NumbersOf, out: &mut Vec<f32>) -> Result<()> {
        let NumbersOf { rows, vectors, len, place } = from;
        out.clear();
        if *len == 0 {
            return Ok(());
        }
        self.check_width(vectors.width(), || place(0))?;
        for token in 0..*len {
            for &column in &self.columns {
                out.push(rows.map_or(Ok(0.0), |rows| number(rows, token, column))?);
            }
            out.extend_from_slice(if self.width > 0 { vectors.row(token) } else { &[] });
        }
        if let Some(standard) = &self.standard {
            for (token, row) in out.chunks_exact_mut(self.dims()).enumerate() {
                row.iter_mut().enumerate().for_each(|(d, x)| *x = standard.apply(d, (*x).into()) as f32);
                if let Some(d) = row.iter().position(|x| !x.is_finite()) {
                    let message = format!(
                        "{} is so far from its mean in training that it cannot be standardised: give numbers in the same units",
                        self.name(d)
                    );
                    return Err(Error::input(place(token), message));
                }
            }
        }
        Ok(())
    }
}

/// The numbers of a sequence, as they were read.
pub(in crate::domain) struct NumbersOf<'a> {
    pub rows: Option<&'a Columns>,
    pub vectors: &'a Vectors,
    pub len: usize,
    /// The place of a token.
    pub place: &'a dyn Fn(usize) -> Place,
}

/// The number in a column.
fn number(rows: &Columns, token: usize, column: usize) -> Result<f32> {
    let refuse = |why: String| Err(Error::input(rows.place(token), why));
    if column >= rows.columns() {
        let columns = rows.columns();
        return refuse(format!(
            "{columns} columns, but column {column} (from 0) should hold a number: give all columns"
        ));
    }
    let field = rows.field(token, column);
    match read_finite(field).map(|x| x as f32) {
        Some(x) if x.is_finite() => Ok(x),
        Some(_) => {
            refuse(format!("`{}` in column {column} is too large: numbers are below 3.4e38", excerpt(field)))
        }
        None => refuse(format!(
            "`{}` in column {column} is not a number, but the column holds numbers: write a number, or 0 if there is none",
            excerpt(field)
        )),
    }
}

impl Sequence {
    /// Makes a sequence of vectors alone: the label of each token (any word if it is not known), and its numbers.
    ///
    /// ```
    /// # use crfkit::chain::Sequence;
    /// # use crfkit::data::vectors::Vectors;
    /// let sequence = Sequence::from_vectors(["a", "b"], Vectors::new(3, vec![0.1, 0.2, 0.3, 1.0, 0.0, -1.0])?)?;
    /// assert_eq!(sequence.len(), 2);
    /// # Ok::<(), crfkit::Error>(())
    /// ```
    pub fn from_vectors<L: AsRef<str>>(
        labels: impl IntoIterator<Item = L>,
        vectors: Vectors,
    ) -> Result<Self> {
        let none = || std::iter::empty::<(&str, f64)>();
        Sequence::from_features(labels.into_iter().map(|label| (label, none())))?.with_vectors(vectors)
    }

    /// The same sequence with a vector for each token, beside its other features.
    pub fn with_vectors(mut self, vectors: Vectors) -> Result<Self> {
        self.set_vectors(vectors)?;
        Ok(self)
    }

    /// Gives every token a vector, beside its other features. It is an error if there is not one for each token.
    pub fn set_vectors(&mut self, vectors: Vectors) -> Result<()> {
        vectors.check_rows(self.len(), || self.place(0))?;
        match self {
            Sequence::Columns { rows, .. } => rows.vectors = vectors,
            Sequence::Attributes(attributes) => attributes.vectors = vectors,
        }
        Ok(())
    }

    /// Takes the vectors out, to use their memory again.
    pub fn take_vectors(&mut self) -> Vectors {
        match self {
            Sequence::Columns { rows, .. } => std::mem::take(&mut rows.vectors),
            Sequence::Attributes(attributes) => std::mem::take(&mut attributes.vectors),
        }
    }
}

/// The numbers of columns.
pub(in crate::domain) fn numbers_of_rows<T>(rows: &Columns, then: impl FnOnce(&NumbersOf) -> T) -> T {
    let place = |token| rows.place(token);
    then(&NumbersOf { rows: Some(rows), vectors: &rows.vectors, len: rows.len(), place: &place })
}

/// The numbers of attributes.
pub(super) fn numbers_of_attributes<T>(attributes: &Attributes, then: impl FnOnce(&NumbersOf) -> T) -> T {
    let place = |token| attributes.place(token);
    then(&NumbersOf { rows: None, vectors: &attributes.vectors, len: attributes.len(), place: &place })
}

/// The numbers of a sequence.
pub(super) fn numbers_of<T>(sequence: &Sequence, then: impl FnOnce(&NumbersOf) -> T) -> T {
    match sequence {
        Sequence::Columns { rows, .. } => numbers_of_rows(rows, then),
        Sequence::Attributes(attributes) => numbers_of_attributes(attributes, then),
    }
}

/// A [`VectorLayout`] as it is stored. Means and factors have sections of their own.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::domain) struct StoredVectors {
    columns: Vec<usize>,
    width: usize,
    standardised: bool,
}

impl StoredVectors {
    pub(in crate::domain) fn of(layout: &VectorLayout) -> Self {
        let VectorLayout { columns, width, standard } = layout;
        StoredVectors { columns: columns.clone(), width: *width, standardised: standard.is_some() }
    }

    /// Reads the sections.
    pub(in crate::domain) fn read(self, file: &mut Reader) -> Result<VectorLayout> {
        let StoredVectors { columns, width, standardised } = self;
        let mut read = |name| file.numbers(name, f64::from_le_bytes);
        let standard = match standardised {
            true => Some(Standard { mean: read(STANDARD[0])?, factor: read(STANDARD[1])? }),
            false => None,
        };
        let layout = VectorLayout { columns, width, standard };
        layout.check().map_err(|why| FORMAT.damaged(why))?;
        Ok(layout)
    }
}

/// The sections of a [`Standard`].
const STANDARD: [&str; 2] = ["vectors.mean", "vectors.factor"];

/// A data set that receives the named observations of a chain after the dense ones.
pub(super) struct Behind<'a> {
    data: &'a mut Dataset<Chain>,
    dims: u32,
    chain: Chain,
    /// The number of the next table.
    table: usize,
}

impl<'a> Behind<'a> {
    pub(super) fn new(data: &'a mut Dataset<Chain>, dims: usize, chain: Chain) -> Self {
        Behind { data, dims: dims as u32, chain, table: 0 }
    }
}

impl Sink for Behind<'_> {
    fn table(&mut self, ids: &[u32], values: &[f64]) {
        let dims = if self.chain.own_kind(self.table) == NODES { self.dims } else { 0 };
        self.table += 1;
        for (k, &id) in ids.iter().enumerate() {
            self.data.push_observation(id + dims, values.get(k).copied().unwrap_or(1.0));
        }
        self.data.finish_table();
    }
}
