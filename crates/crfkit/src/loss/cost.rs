//! The Hamming cost of labellings, as a change of ψ.

use super::Gold;
use crate::graph::{FIRST_SET, Graph, TableRef};
use crate::math::{Array, Scalar};

/// Adds the cost of each label of each variable to a copy of ψ's own tables: the weight of the variable for all labels but
/// the gold one, and 0 where the gold label is not known. Then score(y) of the copy is score(y) + Σ_v weight_v·[y_v ≠ gold_v].
///
/// A variable may have several tables over it alone; the first one takes the cost. `seen` is scratch.
pub(super) fn add_cost<G: Graph, S: Scalar>(graph: &G, gold: Gold, own: &mut Array<S>, seen: &mut Vec<bool>) {
    seen.clear();
    seen.resize(graph.vars(), false);
    graph.for_each_factor(|factor| {
        if let (TableRef::Own(offset), &[v]) = (factor.table, factor.vars)
            && gold.labels[v] < FIRST_SET
            && !std::mem::replace(&mut seen[v], true)
        {
            let right = gold.labels[v] as usize;
            for label in (0..graph.card(v)).filter(|&label| label != right) {
                own.add(offset + label * factor.strides[0], S::lift(gold.variable_weight(v)));
            }
        }
    });
}

/// Overwrites `copy` with the first `len` numbers of `array`.
pub(super) fn copy_planes<S: Scalar>(array: &Array<S>, len: usize, copy: &mut Array<S>) {
    copy.reserve(len);
    for plane in 0..S::PLANES {
        copy.plane_mut(plane)[..len].copy_from_slice(&array.plane(plane)[..len]);
    }
}
