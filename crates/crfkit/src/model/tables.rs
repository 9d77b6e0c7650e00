//! The forms of tables: Potts, Ising and full.

use crate::math::simd;
use serde::{Deserialize, Serialize};

/// The form of a table: log ψ(y) = Σ_k c_k(y)·θ_kᵀh, where h is the feature vector of the factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Tables {
    /// One weight for each feature, used if the labels are equal: c = `[all labels are equal]`.
    #[default]
    Potts,
    /// One weight for each feature; the two labels are y = ±1 and c = Π y (smd-crf-2006 section 5).
    Ising,
    /// One weight for each feature and labelling.
    Full,
}

impl Tables {
    /// All forms.
    pub const ALL: [Tables; 3] = [Tables::Potts, Tables::Ising, Tables::Full];

    /// Name of the form.
    pub fn name(self) -> &'static str {
        match self {
            Tables::Potts => "potts",
            Tables::Ising => "ising",
            Tables::Full => "full",
        }
    }

    /// The form with this name.
    pub(crate) fn called(name: &str) -> Option<Tables> {
        Tables::ALL.into_iter().find(|tables| tables.name() == name)
    }

    /// The functions c_k over the entries of a table, in the layout of [`crate::graph::Shape`], padding (0) included.
    /// `cards` has the number of labels of each variable. Full tables have no functions, because each of their entries
    /// has its own weight.
    pub(crate) fn basis(self, cards: &[usize]) -> Vec<Vec<f64>> {
        let c = match self {
            Tables::Full => return Vec::new(),
            Tables::Potts => |labels: &[usize]| f64::from(u8::from(labels.iter().all(|y| *y == labels[0]))),
            Tables::Ising => |labels: &[usize]| labels.iter().map(|&y| 2.0 * y as f64 - 1.0).product(),
        };
        let Some((&columns, others)) = cards.split_last() else { return Vec::new() };
        let (rows, stride) = (others.iter().product::<usize>(), simd::padded(columns));
        let (mut table, mut labels) = (vec![0.0; rows * stride], vec![0; cards.len()]);
        for row in 0..rows {
            let mut rest = row;
            for (label, card) in labels.iter_mut().zip(others).rev() {
                (*label, rest) = (rest % card, rest / card);
            }
            for column in 0..columns {
                labels[others.len()] = column;
                table[row * stride + column] = c(&labels);
            }
        }
        vec![table]
    }
}
