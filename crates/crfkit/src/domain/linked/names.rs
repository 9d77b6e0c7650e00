//! The names of the weights of linked chains.

use super::{LinkedDomain, Links};
use crate::model::{Features, Names, WeightKind, WeightPart};

/// The names of the weights of `features`.
pub(super) fn names<'a>(domain: &'a LinkedDomain, features: &'a Features, weights: &'a [f64]) -> Names<'a> {
    let LinkedDomain { links, label_columns, labels, alphabet, templates, vectors, .. } = domain;
    let columns = 0..labels.len();
    // The parts in the order of kinds (crate::graph::build): name and variables of each.
    let nodes = columns.clone().map(|c| (format!("column {}", label_columns[c]), vec![c]));
    let within = columns.clone().map(|c| (format!("transition of column {}", label_columns[c]), vec![c, c]));
    let linked: Vec<(String, Vec<usize>)> = match links {
        Links::Factorial => columns
            .clone()
            .flat_map(|c| columns.clone().skip(c + 1).map(move |d| [c, d]))
            .map(|[c, d]| (format!("columns {} and {}", label_columns[c], label_columns[d]), vec![c, d]))
            .collect(),
        Links::SkipChain { .. } => vec![("skip".into(), vec![0, 0])],
    };
    let all: Vec<_> = nodes.chain(within).chain(linked).collect();
    let tables = all[labels.len()..].iter().zip(&features.tables);
    let tables: Vec<WeightPart> =
        tables.map(|((name, over), table)| WeightPart::table(name, over.clone(), table)).collect();
    let observed = all.into_iter().zip(&features.rows).enumerate();
    let observed = observed.map(|(kind, ((name, over), rows))| {
        let bigram = !links.sees_nodes(kind, labels.len());
        let dims = if kind < labels.len() { domain.dims() as u32 } else { 0 };
        WeightPart::kinds_of(name, over, rows, move |row| match vectors {
            Some(vectors) if row < dims => (WeightKind::Dense, vectors.name(row as usize)),
            _ => (WeightKind::Feature, alphabet.expand(templates, bigram, row - dims)),
        })
    });
    Names { sets: domain.sets(), parts: observed.chain(tables).collect(), weights }
}
