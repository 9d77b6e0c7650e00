//! Rows with several labels, as arrays.

use super::arrays::{Checked, Matrix, check_matrix, known, mask, matrix, other_types, restrictions};
use super::{FeatureValues, TypedGraph, Types};
use crate::Place;
use crate::data::label_masks::LabelMask;
use crate::data::numpy::ArrayArchive;
use crate::graph::{Label, UNLABELLED};

/// Rows of numbers, each of which has or has not each of some labels: a multi-label problem. A row is a full graph over its
/// labels, with a node of two labels, 0 and 1, for each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelTable {
    /// The features of each row, which all its nodes share.
    pub x: Matrix,
    /// Number of labels of a row.
    pub labels: usize,
    /// Whether each row has each label, `[rows][labels]`: 0, 1 or [`UNLABELLED`]; empty if none is known.
    pub y: Vec<Label>,
    /// Which of 0 and 1 each label of each row may be when the rows are labelled: (rows, labels, 2). `None` if both are possible.
    pub allowed: Option<LabelMask>,
}

impl LabelTable {
    pub(super) fn parse(archive: &ArrayArchive) -> Checked<Self> {
        let x = matrix(archive, "X")?.ok_or("it has no array `X` of the shape (rows, numbers)")?;
        let allowed = archive.array("allowed")?.map(|array| mask(array, "allowed")).transpose()?;
        let Some(y) = archive.array("Y")? else {
            return Ok(LabelTable { x, allowed, ..LabelTable::default() });
        };
        let [_, labels] = y.shape[..] else {
            return Err(format!("`Y` has the shape {:?}, but must have (rows, labels)", y.shape));
        };
        Ok(LabelTable { x, labels, y: known(&y, "Y")?, allowed })
    }

    pub(super) fn check(&self) -> Checked<()> {
        check_matrix("X", &self.x)?;
        let (rows, labels, known) = (self.x.rows, self.labels, self.y.len());
        if known != 0 && known != rows * labels {
            return Err(format!(
                "`X` has {rows} rows, but `Y` has {}: they must be the same",
                known / labels.max(1)
            ));
        }
        match self.y.iter().find(|label| **label > 1 && **label != UNLABELLED) {
            Some(label) => {
                Err(format!("`Y` has the value {label}: 1 for a label, 0 for none, -1 for unknown"))
            }
            None => Ok(()),
        }
    }

    pub(super) fn into_graphs(
        self,
        types: &Types,
        name: &str,
    ) -> Checked<impl Iterator<Item = TypedGraph> + Send + use<>> {
        let Some(labels) = types.label_table() else { return Err(other_types()) };
        let dense = types.nodes()[0].dense;
        if self.x.columns != dense {
            return Err(format!("`X` has {} columns, but those of other files have {dense}", self.x.columns));
        }
        if !self.y.is_empty() && self.labels != labels {
            return Err(format!("`Y` has {} columns, but those of other files have {labels}", self.labels));
        }
        self.allowed.iter().try_for_each(|mask| mask.check("allowed", &[self.x.rows, labels], 2))?;
        let pairs = (0..labels).flat_map(|i| (i + 1..labels).map(move |j| vec![i, j]));
        let factors: Vec<(usize, Vec<usize>)> = (labels..).zip(pairs).collect();
        let (name, rows) = (name.to_owned(), self.x.rows);
        let graph = move |row: usize| {
            let nodes = [FeatureValues { named: Vec::new(), dense: self.x.row(row).into() }];
            TypedGraph {
                place: Place::new(&name, row as u64 + 1),
                nodes: (0..labels).collect(),
                gold: match self.y.is_empty() {
                    true => vec![UNLABELLED; labels],
                    false => self.y[row * labels..][..labels].to_vec(),
                },
                sets: Vec::new(),
                allowed: restrictions(&self.allowed, row * labels..(row + 1) * labels),
                weights: vec![1.0; labels],
                weight: 1.0,
                pieces: vec![None; factors.len()],
                features: nodes.into_iter().chain(factors.iter().map(|_| FeatureValues::default())).collect(),
                factors: factors.clone(),
                shared: true,
            }
        };
        Ok((0..rows).map(graph))
    }
}
