//! The pieces of graphs as separate examples. Even one large graph is then a finite sum, for methods that take a few
//! examples at a time.

use super::dataset::Dataset;
use crate::error::GraphError;
use crate::graph::{Factor, FactorGraph, FactorGraphBuilder, Graph, Pieces, TableRef, UNLABELLED};
use std::collections::HashMap;

/// The shape of a piece: the number of labels of each variable, and the table and variables of each factor. A table
/// belongs to a kind or is shared.
type Shape = (Vec<usize>, Vec<(TableRef, Vec<usize>)>);

impl Dataset<FactorGraph> {
    /// Makes a separate graph of every piece of every graph, with the observations, gold labels and weight that it has
    /// there. The sum of a loss over them equals that of [`crate::graph::NodeSplit`] over the graphs. Variables of whose label nothing
    /// is known, and factors over them, are left out.
    pub fn split(&self, pieces: Pieces) -> Result<Self, GraphError> {
        let mut split = Dataset::new();
        split.set_sets(self.sets().to_vec());
        split.set_dense_like(self);
        // Most pieces of a large graph have the same shape.
        let mut graphs: HashMap<Shape, FactorGraph> = HashMap::new();
        for example in 0..self.len() {
            let graph = self.graph(example);
            let mut place = vec![None; graph.vars()];
            let dense = self.dense_places(example);
            for piece in pieces.factors(graph)?.iter().filter(|piece| !piece.is_empty()) {
                let (mut vars, mut shape) = (Vec::new(), (Vec::new(), Vec::new()));
                let labelled =
                    |factor: &Factor| factor.vars.iter().all(|&v| self.gold(example)[v] != UNLABELLED);
                for factor in piece.iter().map(|&f| graph.factor(f)).filter(labelled) {
                    let mut local = |v: usize| {
                        *place[v].get_or_insert_with(|| {
                            vars.push(v);
                            shape.0.push(graph.card(v));
                            vars.len() - 1
                        })
                    };
                    let local = factor.vars.iter().map(|&v| local(v)).collect();
                    let table = match factor.table {
                        TableRef::Shared(id) => TableRef::Shared(id),
                        TableRef::Own(offset) => {
                            let f = own_table(graph, offset);
                            let (ids, values) = self.observations(self.tables(example).start + f);
                            for (k, &id) in ids.iter().enumerate() {
                                split.push_observation(id, values.get(k).copied().unwrap_or(1.0));
                            }
                            split.finish_table();
                            split.push_dense_of(self, example, f, &dense);
                            TableRef::Own(graph.own_kind(f))
                        }
                    };
                    shape.1.push((table, local));
                }
                if vars.is_empty() {
                    continue;
                }
                let weights: Vec<f64> = match self.variable_weights(example) {
                    [] => Vec::new(),
                    of => vars.iter().map(|&v| of[v]).collect(),
                };
                let gold: Vec<_> = vars.iter().map(|&v| self.gold(example)[v]).collect();
                vars.iter().for_each(|&v| place[v] = None);
                let graph = match graphs.get(&shape) {
                    Some(graph) => graph.clone(),
                    None => graphs.entry(shape.clone()).or_insert(build(shape)?).clone(),
                };
                split.finish_example(graph, gold, self.weight(example));
                if self.uses_variable_weights() {
                    split.set_variable_weights(&weights);
                }
            }
        }
        Ok(split)
    }
}

/// The number of the own table at this offset.
fn own_table(graph: &FactorGraph, offset: usize) -> usize {
    let (mut low, mut high) = (0, graph.own_tables());
    while low + 1 < high {
        let middle = (low + high) / 2;
        if graph.own_offset(middle) <= offset {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn build((cards, factors): Shape) -> Result<FactorGraph, GraphError> {
    let mut builder = FactorGraphBuilder::new(cards)?;
    for (table, vars) in factors {
        match table {
            TableRef::Shared(id) => builder.add_shared(id, &vars)?,
            TableRef::Own(kind) => {
                builder.add_own(kind, &vars)?;
            }
        }
    }
    builder.build()
}
