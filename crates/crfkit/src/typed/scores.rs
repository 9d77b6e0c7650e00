//! How many nodes and graphs are labelled right.

use super::{TypedGraph, Types};
use crate::graph::{Label, UNLABELLED};

/// How many of some are right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Those that have a gold label.
    pub all: u64,
    /// Those of them that got it.
    pub right: u64,
}

impl Share {
    /// In per cent; 100 where there are none.
    pub fn percent(&self) -> f64 {
        if self.all == 0 { 100.0 } else { 100.0 * self.right as f64 / self.all as f64 }
    }

    fn count(&mut self, right: bool) {
        self.all += 1;
        self.right += u64::from(right);
    }

    fn merge(&mut self, other: &Share) {
        self.all += other.all;
        self.right += other.right;
    }
}

/// Right labels by type of node, and graphs whose labels are all right. Nodes without a gold label do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypedScores {
    /// Nodes of each type.
    pub nodes: Vec<Share>,
    /// Graphs with at least one gold label.
    pub graphs: Share,
}

impl TypedScores {
    /// Adds a graph, and the labels that were found.
    pub fn add(&mut self, types: &Types, graph: &TypedGraph, found: &[Label]) {
        self.nodes.resize(types.nodes().len(), Share::default());
        let mut graph_right = None;
        for ((&kind, &gold), &found) in graph.nodes.iter().zip(&graph.gold).zip(found) {
            if gold != UNLABELLED {
                self.nodes[kind].count(gold == found);
                graph_right = Some(graph_right.unwrap_or(true) && gold == found);
            }
        }
        if let Some(right) = graph_right {
            self.graphs.count(right);
        }
    }

    /// Adds the scores of other graphs.
    pub fn merge(&mut self, other: &TypedScores) {
        self.nodes.resize(self.nodes.len().max(other.nodes.len()), Share::default());
        self.nodes.iter_mut().zip(&other.nodes).for_each(|(all, one)| all.merge(one));
        self.graphs.merge(&other.graphs);
    }

    /// Nodes of all types.
    pub fn all_nodes(&self) -> Share {
        let mut all = Share::default();
        self.nodes.iter().for_each(|share| all.merge(share));
        all
    }
}
