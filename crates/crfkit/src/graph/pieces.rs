//! How a graph is cut into pieces, and the graph in which the pieces no longer touch each other.

use super::forest::Components;
use super::{FactorGraph, Label, Scopes};
use crate::error::GraphError;
use std::collections::HashMap;

/// What a piece is.
///
/// On a factor graph the *pairs* below are its cliques, whatever the number of their variables; the right node is the last variable
/// of a clique, and a node table is the sum of the factors over one variable. A variable in no clique is a piece of its own. On a chain the
/// tables of first and last labels belong to the node tables of the first and the last node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pieces {
    /// Each factor alone, to the letter of pwpl-2007 eq. 4 and 6: also the tables of first and last labels, and shared and own
    /// table of a pair apart.
    Factor,
    /// The factors of a label pair with the node table of its right node, in the first pair of both nodes: the papers'
    /// ψ_t(y_{t−1}, y_t, x_t). In other words, a node table goes with the first pair in which the node is the right one; if there is
    /// none, with the first pair that has the node. So every factor is in exactly one piece.
    #[default]
    Edge,
    /// The factors of a label pair with the node tables of both: a node table is in as many pieces as its node has pairs (Sutton and
    /// Minka's shared-unary pieces).
    SharedUnary,
    /// Trees as large as they come: the pairs, in their order, go to the first forest in which they close no loop, and a piece is a tree of
    /// such a forest. A node table goes with the first of its node's trees. A graph without loops is one piece (for each part that
    /// hangs together), and piecewise training is then the likelihood. Of a skip chain the pieces are the chain and trees of skips;
    /// of a factorial chain all its chains, held together by the first token's pairs, and every later token's pairs; of a grid a comb,
    /// and the rest of its rows.
    Trees,
}

impl Pieces {
    /// All of them.
    pub const ALL: [Pieces; 4] = [Pieces::Factor, Pieces::Edge, Pieces::SharedUnary, Pieces::Trees];

    /// Their name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Pieces::Factor => "factor",
            Pieces::Edge => "edge",
            Pieces::SharedUnary => "shared-unary",
            Pieces::Trees => "trees",
        }
    }

    /// The factors of every piece of a graph.
    pub fn of(self, graph: &FactorGraph) -> Vec<Vec<usize>> {
        let cliques = graph.cliques();
        let home: Vec<usize> = match self {
            Pieces::Factor => return (0..graph.factors()).map(|f| vec![f]).collect(),
            Pieces::Edge | Pieces::SharedUnary => (0..cliques.len()).collect(),
            Pieces::Trees => trees(graph),
        };
        let mut pieces = vec![Vec::new(); home.iter().max().map_or(0, |last| last + 1)];
        for (c, &piece) in home.iter().enumerate() {
            pieces[piece].extend(cliques.factors(c).iter().map(|&f| f as usize));
        }
        for v in 0..graph.cards().len() {
            let unary = cliques.unary(v).iter().map(|&f| f as usize);
            let around = || cliques.incident(v).iter().map(|&slot| cliques.slot_clique(slot as usize));
            let is_right = |c: &usize| cliques.scopes().vars(*c).last() == Some(&v);
            let first = match self {
                Pieces::Trees => around().map(|c| home[c]).min(),
                _ => around().find(is_right).or(around().next()),
            };
            match first {
                None => pieces.push(unary.collect()),
                Some(_) if self == Pieces::SharedUnary => {
                    around().for_each(|c| pieces[c].extend(unary.clone()));
                }
                Some(piece) => pieces[piece].extend(unary),
            }
        }
        pieces
    }
}

/// The tree of each clique, numbered forest by forest.
fn trees(graph: &FactorGraph) -> Vec<usize> {
    let scopes = graph.cliques().scopes();
    let mut tree = vec![0; scopes.len()];
    let mut trees = 0;
    let mut waiting: Vec<usize> = (0..scopes.len()).collect();
    while !waiting.is_empty() {
        let mut components = Components::new(graph.cards().len());
        let (forest, later): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|&c| components.join(scopes.vars(c)));
        let mut numbers = HashMap::new();
        for c in forest {
            tree[c] = *numbers.entry(components.root(scopes.vars(c)[0])).or_insert_with(|| {
                trees += 1;
                trees - 1
            });
        }
        waiting = later;
    }
    tree
}

/// The node-split graph (pwpl-2007 section 2.2): every piece of a graph has copies of its variables for itself. The likelihood there is
/// piecewise training here, and the pseudolikelihood there piecewise pseudolikelihood. Tables keep their places, so that ψ is
/// the same array for both graphs.
#[derive(Clone, Debug)]
pub struct NodeSplit {
    /// The graph of the pieces. A factor of several pieces is there several times, and all read the one table.
    pub graph: FactorGraph,
    /// For each of its variables, the variable that it is a copy of.
    pub copy_of: Vec<usize>,
}

impl NodeSplit {
    /// Splits a graph into these pieces, lists of factors. A factor in no piece is left out; one in several counts in each.
    pub fn new(graph: &FactorGraph, pieces: &[Vec<usize>]) -> Result<Self, GraphError> {
        let (mut copy_of, mut cards) = (Vec::new(), Vec::new());
        let (mut scopes, mut tables) = (Scopes::new(), Vec::new());
        // The newest copy of each variable; it may be that of an earlier piece.
        let mut copy = vec![None; graph.cards().len()];
        for piece in pieces {
            let earlier = copy_of.len();
            for &f in piece {
                if f >= graph.factors() {
                    return Err(GraphError::NoSuchFactor { factor: f, factors: graph.factors() });
                }
                let factor = graph.factor(f);
                for &v in factor.vars {
                    if copy[v] < Some(earlier) {
                        copy[v] = Some(copy_of.len());
                        copy_of.push(v);
                        cards.push(graph.cards()[v]);
                    }
                }
                let vars: Vec<usize> = factor.vars.iter().filter_map(|&v| copy[v]).collect();
                scopes.push(&vars, &cards)?;
                tables.push(factor.table);
            }
        }
        Ok(NodeSplit { graph: graph.with_factors(cards, scopes, tables)?, copy_of })
    }

    /// Overwrites `copies` with the labels of the copies.
    pub fn labels(&self, labels: &[Label], copies: &mut Vec<Label>) {
        copies.clear();
        copies.extend(self.copy_of.iter().map(|&v| labels[v]));
    }
}
