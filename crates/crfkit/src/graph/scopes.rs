//! Lists of variables, each with the layout of a table over them.

use crate::error::GraphError;
use crate::math::simd;
use std::ops::Range;

/// The shape of a table over some variables: `[rows][stride]`. The labels of the last variable run along a row, which
/// is padded to whole vectors. The labels of the other variables count the rows; the first variable varies slowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Product of the numbers of labels of all variables except the last.
    pub rows: usize,
    /// Number of labels of the last variable.
    pub columns: usize,
}

impl Shape {
    /// Row length, padding included.
    #[inline]
    pub fn stride(&self) -> usize {
        simd::padded(self.columns)
    }

    /// Length of the table, padding included.
    #[inline]
    pub fn size(&self) -> usize {
        self.rows * self.stride()
    }
}

/// Flat lists of variables, one list ("scope") for each factor or clique.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scopes {
    /// The start of each scope in `vars`, and the end.
    start: Vec<usize>,
    vars: Vec<usize>,
    strides: Vec<usize>,
    shapes: Vec<Shape>,
}

impl Scopes {
    /// An empty list of scopes.
    pub(super) fn new() -> Self {
        Scopes { start: vec![0], ..Scopes::default() }
    }

    /// Appends a scope over these variables, which have these numbers of labels.
    pub(super) fn push(&mut self, vars: &[usize], cards: &[usize]) -> Result<Shape, GraphError> {
        let (&last, others) = vars.split_last().ok_or(GraphError::NoVariables)?;
        for (k, &var) in vars.iter().enumerate() {
            if var >= cards.len() {
                return Err(GraphError::NoSuchVariable { var, vars: cards.len() });
            }
            if vars[..k].contains(&var) {
                return Err(GraphError::RepeatedVariable { var });
            }
        }
        let columns = cards[last];
        let from = self.strides.len();
        let (mut rows, mut stride) = (1usize, simd::padded(columns));
        self.strides.resize(from + vars.len(), 1);
        for (k, &var) in others.iter().enumerate().rev() {
            self.strides[from + k] = stride;
            let grown = stride.checked_mul(cards[var]).filter(|&entries| entries <= MAX_ENTRIES);
            let Some(grown) = grown else {
                self.strides.truncate(from);
                return Err(GraphError::TableTooLarge { limit: MAX_ENTRIES });
            };
            (rows, stride) = (rows * cards[var], grown);
        }
        let shape = Shape { rows, columns };
        self.vars.extend_from_slice(vars);
        self.start.push(self.vars.len());
        self.shapes.push(shape);
        Ok(shape)
    }

    /// The number of scopes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.shapes.len()
    }

    /// The positions of scope `i` in the flat list of all (scope, variable) pairs.
    #[inline]
    pub(crate) fn slots(&self, i: usize) -> Range<usize> {
        self.start[i]..self.start[i + 1]
    }

    /// The variable of each slot.
    #[inline]
    pub(crate) fn slot_vars(&self) -> &[usize] {
        &self.vars
    }

    /// The variables of scope `i`.
    #[inline]
    pub(crate) fn vars(&self, i: usize) -> &[usize] {
        &self.vars[self.slots(i)]
    }

    /// The distance between the labels of each variable in the table of scope `i`.
    #[inline]
    pub(crate) fn strides(&self, i: usize) -> &[usize] {
        &self.strides[self.slots(i)]
    }

    /// Shape of the table of scope `i`.
    #[inline]
    pub(crate) fn shape(&self, i: usize) -> Shape {
        self.shapes[i]
    }
}

/// The largest number of entries of one table: 2³¹ entries take 16 GiB.
const MAX_ENTRIES: usize = 1 << 31;

/// For row `row` of a table, calls `visit(k, label)` for each variable k except the last.
#[inline]
pub(crate) fn for_each_row_label(
    row: usize,
    vars: &[usize],
    cards: &[usize],
    mut visit: impl FnMut(usize, usize),
) {
    let mut rest = row;
    for k in (0..vars.len() - 1).rev() {
        let card = cards[vars[k]];
        visit(k, rest % card);
        rest /= card;
    }
}
