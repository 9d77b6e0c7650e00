//! Logistic regression: the nodes of graphs by themselves, as a start for graphs whose inference is approximate.

use super::{Corpus, Domain, Fit};
use crate::Result;
use crate::data::dataset::Dataset;
use crate::graph::{FactorGraph, FactorGraphBuilder, Graph, TableRef};
use crate::infer::Engine;
use crate::settings::{Criterion, Method, Parameters, Settings};
use std::collections::HashSet;

/// The tolerance of logistic regression. Its weights are only a start.
const TOLERANCE: f64 = 1e-4;

/// The weights of nodes by logistic regression, which sees one node at a time; all other weights are 0. The features
/// must not depend on the data.
///
/// From zero, the likelihood under approximate inference may learn strong pairs before it has learned what nodes look
/// like. Inference then settles on one label for whole regions, whatever is observed, and training cannot leave
/// that state. From logistic regression it starts where inference is easy.
pub(super) fn logistic<D: Domain<Graph = FactorGraph>>(
    domain: &D,
    data: &Dataset<FactorGraph>,
    settings: &Settings,
    fit: Fit<'_, D>,
) -> Result<Vec<f64>> {
    let alone = Settings {
        inference: Some(Engine::LoopyBp), // exact where there are no pairs
        sigma: settings.sigma,
        sigma_of: settings.sigma_of.clone(),
        scaling: settings.scaling,
        // Without pairs they are the same, but only the pseudolikelihood takes weights of nodes.
        objective: match data.uses_variable_weights() {
            true => Criterion::Pseudolikelihood,
            false => Criterion::Likelihood,
        },
        optimizer: Method::Lbfgs,
        parameters: Parameters { tolerance: Some(TOLERANCE), ..Parameters::default() },
        ..Settings::default()
    };
    fit(Corpus { domain: domain.clone(), data: nodes_alone(data)? }, &alone)
}

/// The nodes of a graph: their numbers of labels, and the kind and the node of each table over one node.
#[derive(PartialEq)]
struct Nodes {
    cards: Vec<usize>,
    kept: Vec<(usize, usize)>,
}

/// The same examples with the tables of single nodes only.
fn nodes_alone(data: &Dataset<FactorGraph>) -> Result<Dataset<FactorGraph>> {
    let mut alone = Dataset::new();
    let mut kinds = HashSet::new();
    // The nodes of the last graph, and the graph without pairs that was made of it.
    let mut last: Option<(Nodes, FactorGraph)> = None;
    for example in 0..data.len() {
        let graph = data.graph(example);
        let mut tables = data.tables(example).enumerate();
        let mut kept = Vec::new();
        for factor in (0..graph.factors()).map(|f| graph.factor(f)) {
            let own = if matches!(factor.table, TableRef::Own(_)) { tables.next() } else { None };
            let (Some((f, table)), &[node]) = (own, factor.vars) else { continue };
            kept.push((graph.own_kind(f), node));
            kinds.insert(graph.own_kind(f));
            let (ids, values) = data.observations(table);
            for (k, &id) in ids.iter().enumerate() {
                alone.push_observation(id, values.get(k).copied().unwrap_or(1.0));
            }
            alone.finish_table();
        }
        let nodes = Nodes { cards: graph.cards().to_vec(), kept };
        let structure = match &last {
            Some((same, structure)) if *same == nodes => structure.clone(),
            _ => {
                let mut builder = FactorGraphBuilder::new(nodes.cards.clone())?;
                nodes.kept.iter().try_for_each(|&(kind, node)| builder.add_own(kind, &[node]).map(|_| ()))?;
                last.insert((nodes, builder.build()?)).1.clone()
            }
        };
        alone.finish_example(structure, data.gold(example).to_vec(), data.weight(example));
        if data.uses_variable_weights() {
            alone.set_variable_weights(data.variable_weights(example));
        }
    }
    alone.set_sets(data.sets().to_vec());
    alone.share_dense(data, |kind| kinds.contains(&kind));
    Ok(alone)
}
