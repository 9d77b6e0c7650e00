//! Sets of labels as arrays of 0 and 1.

use super::numpy::NumberArray;
use crate::graph::LabelBits;
use std::ops::Range;

/// Which labels each of many variables may have, such as the pixels of an image: truth values, `[variables][labels]`. In
/// training data the label of a variable is one of those that it may have; otherwise answers are restricted to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelMask {
    shape: Vec<usize>,
    values: Vec<bool>,
}

impl LabelMask {
    /// A mask of this shape: the last axis is that of the labels, and the others are those of the variables, such as
    /// (height, width, labels). The last index runs fastest in `values`. The error says what is wrong: a number of values
    /// that is not that of the shape, fewer than two labels, or a variable that may have no label.
    pub fn new(shape: &[usize], values: Vec<bool>) -> Result<Self, String> {
        let Some((&labels, of_variables)) =
            shape.split_last().filter(|(labels, rest)| **labels > 1 && !rest.is_empty())
        else {
            return Err(format!("its shape is {shape:?}, but its last axis must have two or more labels"));
        };
        let count = shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
        if count != Some(values.len()) {
            return Err(format!("its shape is {shape:?}, but it has {} values", values.len()));
        }
        match values.chunks_exact(labels).position(|of| !of.contains(&true)) {
            None => Ok(LabelMask { shape: shape.to_vec(), values }),
            Some(variable) => {
                let place = coordinates(variable, of_variables);
                Err(format!("no label is possible at {place:?}: where nothing is known, all are"))
            }
        }
    }

    /// The mask of an array of 0 and 1.
    pub(crate) fn from_array(NumberArray { shape, values, .. }: NumberArray) -> Result<Self, String> {
        match values.iter().position(|value| *value != 0.0 && *value != 1.0) {
            Some(at) => {
                let (value, place) = (values[at], coordinates(at, &shape));
                Err(format!("it has {value} at {place:?}: 1 is a possible label, and 0 one that is not"))
            }
            None => LabelMask::new(&shape, values.into_iter().map(|value| value == 1.0).collect()),
        }
    }

    /// The shape: axes of variables, and that of labels.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.shape[self.shape.len() - 1]
    }

    /// Number of variables.
    pub(crate) fn variables(&self) -> usize {
        self.values.len() / self.labels()
    }

    /// The labels that each variable may have.
    pub fn sets(&self) -> impl Iterator<Item = LabelBits> {
        self.sets_of(0..self.variables())
    }

    fn sets_of(&self, variables: Range<usize>) -> impl Iterator<Item = LabelBits> {
        let labels = self.labels();
        self.values[variables.start * labels..variables.end * labels].chunks_exact(labels).map(move |of| {
            let mut set = LabelBits::none(labels);
            (0..labels).filter(|&label| of[label]).for_each(|label| set.insert(label));
            set
        })
    }

    /// Those of `variables` that may not have all labels, counted from the first of them, and the labels that they may have.
    pub(crate) fn restrictions(&self, variables: Range<usize>) -> Vec<(usize, LabelBits)> {
        let all = LabelBits::all(self.labels());
        self.sets_of(variables).enumerate().filter(|(_, set)| *set != all).collect()
    }

    /// Says why an array called `name` does not fit variables of this shape and this number of labels.
    pub(crate) fn check(&self, name: &str, variables: &[usize], labels: usize) -> Result<(), String> {
        let expected = [variables, &[labels]].concat();
        match self.shape == expected {
            true => Ok(()),
            false => Err(format!("`{name}` has the shape {:?}, but {expected:?} is needed here", self.shape)),
        }
    }
}

/// The indices of an entry of an array of this shape.
fn coordinates(mut entry: usize, shape: &[usize]) -> Vec<usize> {
    let mut place = vec![0; shape.len()];
    for (index, &length) in place.iter_mut().zip(shape).rev() {
        (*index, entry) = (entry % length.max(1), entry / length.max(1));
    }
    place
}
