//! How a graph is cut into pieces, and the graph in which the pieces are separate.

use super::forest::Components;
use super::{FactorGraph, Scopes};
use crate::error::GraphError;
use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// How the factors of a graph are grouped into pieces.
///
/// On a factor graph, the *pairs* below are its cliques, whatever their number of variables. The right node is the
/// last variable of a clique, and a node table is the sum of the factors over one variable. A variable in no clique
/// is a piece of its own. On a chain, the tables of the first and the last label belong to the node tables of the
/// first and the last node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Pieces {
    /// Each factor alone, exactly as in pwpl-2007 eq. 4 and 6. The tables of the first and the last label are pieces
    /// too, and the shared and the own table of a pair are separate pieces.
    Factor,
    /// The factors of a label pair and the node table of its right node; the first pair also takes the node table of
    /// its left node. This is the papers' ψ_t(y_{t−1}, y_t, x_t). In general a node table goes with the first pair in
    /// which the node is the right one. If there is none, it goes with the first pair that contains the node. So
    /// every factor is in exactly one piece.
    #[default]
    Edge,
    /// The factors of a label pair and the node tables of both nodes. A node table is then in as many pieces as its
    /// node has pairs (Sutton and Minka's shared-unary pieces).
    SharedUnary,
    /// The pieces of [`Pieces::SharedUnary`], with the loss of a node by itself subtracted for each surplus copy of its table in
    /// them ([`crate::loss::BethePieces`]): log Z of Bethe before any message. For piecewise training only.
    Bethe,
    /// The largest possible trees. Each pair, in order, goes to the first forest in which it closes no loop, and a
    /// piece is a tree of such a forest. A node table goes with the first tree of its node. A graph without loops has
    /// one piece per connected component, and piecewise training is then the likelihood. On a skip chain the pieces
    /// are the chain and trees of skips. On a factorial chain the first piece has all chains, connected by the pairs
    /// of the first token; the pairs of each later token make up the others. On a grid the pieces are a comb and the
    /// remaining rows.
    Trees,
    /// This many consecutive pairs; fewer at the end, and where the next pair would close a loop. Node tables go with
    /// the pairs as in [`Pieces::Edge`], which is the window of one pair.
    Window(NonZeroUsize),
    /// The straight lines of a grid, each a chain: rows, columns and, if present, diagonals. Node tables go with the
    /// rows.
    Rows,
    /// The same lines as [`Pieces::Rows`], but node tables go with the columns.
    Columns,
    /// The pieces that the creator of the graph has named ([`PieceHint::Named`]). A node table without a name goes with
    /// the first factor that is over its node and others. Any other factor without a name is a piece of its own.
    /// These pieces may have loops.
    File,
}

/// What the creator of a graph knows about its pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PieceHint {
    /// Nothing.
    #[default]
    Unknown,
    /// The variables form a grid of this width, row by row, and pairs connect neighbours.
    Grid(NonZeroUsize),
    /// The piece of each factor, in the order in which the factors were added.
    Named(Vec<Option<usize>>),
}

impl Pieces {
    /// The ways to cut that every graph has. Windows exist on every graph too, but take a length.
    pub const ALL: [Pieces; 4] = [Pieces::Factor, Pieces::Edge, Pieces::SharedUnary, Pieces::Trees];

    /// All names on the command line.
    pub const NAMES: &str = "factor|edge|shared-unary|bethe|trees|window:N|rows|columns|file";

    /// The factors of every piece of a graph. Returns an error for rows and columns of a graph that is not a grid,
    /// and for named pieces without names.
    pub fn factors(self, graph: &FactorGraph) -> Result<Vec<Vec<usize>>, GraphError> {
        let cliques = graph.cliques();
        let unknown = |needs| GraphError::NoSuchPieces { pieces: self.to_string(), needs };
        let home: Vec<usize> = match (self, graph.piece_hint()) {
            (Pieces::Factor, _) => return Ok((0..graph.factors()).map(|f| vec![f]).collect()),
            (Pieces::Edge | Pieces::SharedUnary | Pieces::Bethe, _) => (0..cliques.len()).collect(),
            (Pieces::Trees, _) => trees(graph),
            (Pieces::Window(pairs), _) => windows(graph, pairs.get()),
            (Pieces::Rows | Pieces::Columns, PieceHint::Grid(width)) => lines(graph, width.get()),
            (Pieces::Rows | Pieces::Columns, _) => return Err(unknown("a grid")),
            (Pieces::File, PieceHint::Named(names)) => return Ok(named(graph, names)),
            (Pieces::File, _) => return Err(unknown("graphs whose file names them")),
        };
        let mut pieces = vec![Vec::new(); home.iter().max().map_or(0, |last| last + 1)];
        for (c, &piece) in home.iter().enumerate() {
            pieces[piece].extend(cliques.factors(c).iter().map(|&f| f as usize));
        }
        for v in 0..graph.cards().len() {
            let unary = cliques.unary(v).iter().map(|&f| f as usize);
            let around = || cliques.incident(v).iter().map(|&slot| cliques.slot_clique(slot as usize));
            let vars = |c: usize| cliques.scopes().vars(c);
            // Neighbours in a row have consecutive numbers; a grid of width 1 has only columns.
            let along = |c: usize| match graph.piece_hint() {
                PieceHint::Grid(width) => step(vars(c), width.get()),
                _ => (0, 0),
            };
            let first = match self {
                Pieces::Trees => around().min_by_key(|&c| home[c]),
                Pieces::Rows => around().find(|&c| along(c) == (0, 1)),
                Pieces::Columns => around().find(|&c| along(c) == (1, 0)),
                _ => around().find(|&c| vars(c).last() == Some(&v)),
            };
            match first.or(around().next()) {
                None => pieces.push(unary.collect()),
                Some(_) if matches!(self, Pieces::SharedUnary | Pieces::Bethe) => {
                    around().for_each(|c| pieces[c].extend(unary.clone()));
                }
                Some(c) => pieces[home[c]].extend(unary),
            }
        }
        Ok(pieces)
    }
}

impl fmt::Display for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pieces::Factor => f.write_str("factor"),
            Pieces::Edge => f.write_str("edge"),
            Pieces::SharedUnary => f.write_str("shared-unary"),
            Pieces::Bethe => f.write_str("bethe"),
            Pieces::Trees => f.write_str("trees"),
            Pieces::Window(pairs) => write!(f, "window:{pairs}"),
            Pieces::Rows => f.write_str("rows"),
            Pieces::Columns => f.write_str("columns"),
            Pieces::File => f.write_str("file"),
        }
    }
}

impl FromStr for Pieces {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let fixed =
            Pieces::ALL.into_iter().chain([Pieces::Bethe, Pieces::Rows, Pieces::Columns, Pieces::File]);
        let window = || name.strip_prefix("window:")?.parse().ok().map(Pieces::Window);
        let mut named = fixed.filter(|pieces| pieces.to_string() == name);
        named.next().or_else(window).ok_or_else(|| {
            format!("unknown pieces `{name}`: choose {}, where N is a number of pairs from 1", Pieces::NAMES)
        })
    }
}

impl TryFrom<String> for Pieces {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

impl From<Pieces> for String {
    fn from(pieces: Pieces) -> String {
        pieces.to_string()
    }
}

/// The number of each clique's window.
fn windows(graph: &FactorGraph, pairs: usize) -> Vec<usize> {
    let scopes = graph.cliques().scopes();
    let mut components = Components::new(graph.cards().len());
    let (mut first, mut window) = (0, 0);
    let mut home = Vec::with_capacity(scopes.len());
    for c in 0..scopes.len() {
        if c - first == pairs || !components.join(scopes.vars(c)) {
            (first..c).for_each(|c| components.part(scopes.vars(c)));
            components.join(scopes.vars(c));
            (first, window) = (c, window + 1);
        }
        home.push(window);
    }
    home
}

/// How far a grid pair goes down and across. It never goes up, and goes left only when it also goes down. (0, 0) if
/// it is not a pair.
fn step(vars: &[usize], width: usize) -> (usize, isize) {
    match *vars {
        [a, b] => {
            let (from, to) = (a.min(b), a.max(b));
            (to / width - from / width, (to % width) as isize - (from % width) as isize)
        }
        _ => (0, 0),
    }
}

/// The number of each clique's straight line: rows, then columns, then diagonals.
fn lines(graph: &FactorGraph, width: usize) -> Vec<usize> {
    let scopes = graph.cliques().scopes();
    let key = |c: usize| {
        let vars = scopes.vars(c);
        let (row, column) = ((vars[0] / width) as isize, (vars[0] % width) as isize);
        let (down, across) = step(vars, width);
        // These values are constant along a line.
        (down, across, if down == 0 { row } else { column - across * row })
    };
    let mut keys: Vec<_> = (0..scopes.len()).map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    (0..scopes.len()).map(|c| keys.partition_point(|other| *other < key(c))).collect()
}

/// The named pieces, in the order of their first factors, then the remaining factors.
fn named(graph: &FactorGraph, names: &[Option<usize>]) -> Vec<Vec<usize>> {
    let (mut pieces, mut numbers) = (Vec::<Vec<usize>>::new(), HashMap::new());
    let mut home = vec![None; graph.factors()];
    let many = |f: usize| graph.factor(f).vars.len() > 1;
    let new = |pieces: &mut Vec<Vec<usize>>| {
        pieces.push(Vec::new());
        pieces.len() - 1
    };
    for (f, name) in names.iter().enumerate().take(graph.factors()) {
        home[f] = match name {
            Some(name) => Some(*numbers.entry(*name).or_insert_with(|| new(&mut pieces))),
            None if many(f) => Some(new(&mut pieces)),
            None => None,
        };
    }
    // For each variable, the first factor that is over it and others.
    let mut first = vec![None; graph.cards().len()];
    for f in (0..graph.factors()).filter(|&f| many(f)).rev() {
        graph.factor(f).vars.iter().for_each(|&v| first[v] = home[f]);
    }
    for f in 0..graph.factors() {
        let v = graph.factor(f).vars[0];
        let piece = home[f].or(first[v]).unwrap_or_else(|| new(&mut pieces));
        // Further tables of an isolated variable stay with it.
        first[v] = first[v].or(Some(piece));
        pieces[piece].push(f);
    }
    pieces
}

/// The number of each clique's tree, forest by forest.
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

/// The node-split graph (pwpl-2007 section 2.2): every piece of a graph has its own copies of its variables. Its
/// likelihood is the piecewise objective of the original graph, and its pseudolikelihood the piecewise
/// pseudolikelihood. Tables keep their places, so ψ is the same array for both graphs.
#[derive(Clone, Debug)]
pub struct NodeSplit {
    /// The graph of the pieces. A factor in several pieces appears several times; all copies read the same table.
    pub graph: FactorGraph,
    /// For each variable of the new graph, the variable that it copies.
    pub copy_of: Vec<usize>,
}

impl NodeSplit {
    /// Splits a graph into these pieces, given as lists of factors. A factor in no piece is left out; one in several
    /// pieces counts in each.
    pub fn new(graph: &FactorGraph, pieces: &[Vec<usize>]) -> Result<Self, GraphError> {
        let (mut copy_of, mut cards) = (Vec::new(), Vec::new());
        let (mut scopes, mut tables) = (Scopes::new(), Vec::new());
        // The newest copy of each variable; it may belong to an earlier piece.
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

    /// Overwrites `copies` with what the copies of variables have: their labels, or their weights.
    pub fn copy<T: Copy>(&self, of: &[T], copies: &mut Vec<T>) {
        copies.clear();
        copies.extend(self.copy_of.iter().map(|&v| of[v]));
    }
}
