//! Graphs that are chains of slices: factorial chains.

use super::{Cliques, FactorGraph};

/// A graph that is a chain of *slices*, each with the same *columns*: variable t·C + c is column c of slice t. Its cliques are pairs of
/// one column in neighbouring slices, of which none is missing, and any pairs within a slice. The factorial chain is one,
/// with a slice for each token, and so is the plain chain, with one column.
#[derive(Clone, Debug)]
pub struct Slices {
    /// The number of labels of each column.
    pub cards: Vec<usize>,
    /// T, the number of slices.
    pub len: usize,
    /// The clique of column c in slices t − 1 and t, at (t − 1)·C + c.
    pub across: Vec<usize>,
    /// The cliques within each slice, and the columns of their two variables.
    pub inside: Vec<Vec<(usize, [usize; 2])>>,
}

impl Slices {
    /// The slices of a graph, if it has some.
    pub(super) fn new(graph: &FactorGraph) -> Option<Self> {
        let (cliques, cards) = (graph.cliques(), graph.cards());
        if cards.is_empty() || !cliques.pairwise() {
            return None;
        }
        let pair = |c: usize| pair(cliques, c);
        // The pairs between slices are those that reach furthest.
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
