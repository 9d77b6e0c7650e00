//! What the weights of linked chains are called.

use super::{LinkedCorpus, LinkedModel, Links};
use crate::Result;
use crate::model::{Features, LabelSet, Names, Part};

/// What is known of a model before it has weights.
struct Shape<'a> {
    links: &'a Links,
    label_columns: &'a [usize],
    labels: &'a [Vec<String>],
    features: &'a Features,
}

impl<'a> Shape<'a> {
    /// Its names; `observation` gives that of an observation, `true` for those of bigram templates.
    fn names(self, observation: impl Fn(bool, u32) -> String + Copy + 'a, weights: &'a [f64]) -> Names<'a> {
        let Shape { links, label_columns, labels, features } = self;
        let set = |(column, labels): (&usize, &'a Vec<String>)| LabelSet {
            name: Some(format!("column {column}")),
            labels: labels.into(),
        };
        let columns = 0..labels.len();
        // Parts in the order of kinds (crate::graph::build): name and variables.
        let nodes = columns.clone().map(|c| (format!("column {}", label_columns[c]), vec![c]));
        let within =
            columns.clone().map(|c| (format!("transition of column {}", label_columns[c]), vec![c, c]));
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
        let tables: Vec<Part> =
            tables.map(|((name, over), table)| Part::table(name, over.clone(), table)).collect();
        let observed = all.into_iter().zip(&features.rows).enumerate();
        let observed = observed.map(|(kind, ((name, over), rows))| {
            let bigram = !links.sees_nodes(kind, labels.len());
            Part::observed(name, over, rows, move |row| observation(bigram, row))
        });
        Names {
            sets: label_columns.iter().zip(labels).map(set).collect(),
            parts: observed.chain(tables).collect(),
            weights,
        }
    }
}

impl LinkedModel {
    /// Its weights by name.
    pub fn names(&self) -> Names<'_> {
        let Self { links, label_columns, labels, features, .. } = self;
        let observation = |bigram, id| self.alphabet.expand(&self.templates, bigram, id);
        Shape { links, label_columns, labels, features }.names(observation, &self.weights)
    }

    /// This model's weights, arranged for `features` of `corpus`; what it does not know gets 0.
    pub fn weights_for(&self, corpus: &LinkedCorpus, features: &Features) -> Result<Vec<f64>> {
        let LinkedCorpus { links, label_columns, labels, alphabet, templates, .. } = corpus;
        let observation = |bigram, id| alphabet.expand(templates, bigram, id);
        let new = Shape { links, label_columns, labels, features }.names(observation, &[]);
        self.names().weights_for(&new, features.dim())
    }
}
