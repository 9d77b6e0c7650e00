//! Graphs that are chains of slices, such as factorial chains.

use super::{Cliques, FactorGraph};

/// A graph that is a chain of *slices*, each with the same *columns*: variable t·C + c is column c of slice t. It has
/// a clique between neighbouring slices for every column, and any pairs within a slice. The factorial chain is an
/// example, with one slice per token; so is the plain chain, with one column.
#[derive(Clone, Debug)]
pub struct Slices {
    /// The number of labels of each column.
    pub cards: Vec<usize>,
    /// T, the number of slices.
    pub len: usize,
    /// The clique between slices t − 1 and t in column c, at index (t − 1)·C + c.
    pub(crate) across: Vec<usize>,
    /// The cliques within each slice, with the columns of their two variables.
    pub(crate) inside: Vec<Vec<(usize, [usize; 2])>>,
}

impl Slices {
    /// The slices of a graph, if it is such a chain.
    pub(super) fn new(graph: &FactorGraph) -> Option<Self> {
        let (cliques, cards) = (graph.cliques(), graph.cards());
        if cards.is_empty() || !cliques.pairwise() {
            return None;
        }
        let pair = |c: usize| pair(cliques, c);
        // The pairs between slices span the largest distance.
        let columns = (0..cliques.len()).map(|c| pair(c)[1].abs_diff(pair(c)[0])).max().unwrap_or(1);
        let len = cards.len() / columns;
        let repeated = (columns..cards.len()).all(|v| cards[v] == cards[v - columns]);
        if len * columns != cards.len() || !repeated {
            return None;
        }
        let mut across = vec![None; (len - 1) * columns];
        let mut inside = vec![Vec::new(); len];
        for c in 0..cliques.len() {
            let [v, w] = pair(c);
            if w == v + columns {
                across[v] = Some(c);
            } else if v / columns == w / columns {
                inside[v / columns].push((c, [v % columns, w % columns]));
            } else {
                return None;
            }
        }
        let across = across.into_iter().collect::<Option<_>>()?;
        Some(Slices { cards: cards[..columns].to_vec(), len, across, inside })
    }
}

/// The variables of a pair.
fn pair(cliques: &Cliques, c: usize) -> [usize; 2] {
    let vars = cliques.scopes().vars(c);
    [vars[0], vars[1]]
}
