//! The builder of a training corpus of typed graphs.

use super::{FeatureValues, Line, TypedCorpus, TypedDomain, TypedGraph, Types};
use crate::data::dataset::Dataset;
use crate::data::sorting::by_frequency;
use crate::data::strings::Strings;
use crate::domain::partial::SetNumbers;
use crate::graph::{FIRST_SET, FactorGraph, Graph, Label, UNLABELLED};
use crate::{Error, Place, Result};

/// Builds a corpus, one line after the other.
#[derive(Debug)]
pub struct TypedBuilder {
    types: Option<Types>,
    names: Vec<Strings>,
    data: Dataset<FactorGraph>,
    /// The number of each set of labels that a gold label stands for.
    sets: SetNumbers,
    structures: Structures,
    /// Whether the nodes of every graph share their features, if there is a graph.
    shared: Option<bool>,
}

impl Default for TypedBuilder {
    /// A builder that has read nothing yet.
    fn default() -> Self {
        let (names, data, structures) = (Vec::new(), Dataset::new(), Structures::default());
        TypedBuilder { types: None, names, data, sets: SetNumbers::default(), structures, shared: None }
    }
}

impl TypedBuilder {
    /// A builder of a corpus of graphs with these types.
    pub fn new(types: Types) -> Self {
        let names = vec![Strings::default(); types.all().len()];
        TypedBuilder { types: Some(types), names, ..TypedBuilder::default() }
    }

    /// Adds a line that was read at `place`. The first line declares the types. The same declaration may come again,
    /// for example when files are joined.
    pub fn add(&mut self, text: &str, place: &Place) -> Result<()> {
        match (Line::read(text, place, self.types.as_ref())?, &self.types) {
            (Line::Blank, _) => {}
            (Line::Types(types), None) => {
                *self = TypedBuilder::new(types);
            }
            (Line::Types(types), Some(known)) => check_same(&types, known, place)?,
            (Line::Graph(_), None) => unreachable!("a graph is refused until types are known"),
            (Line::Graph(graph), Some(_)) => self.add_graph(graph)?,
        }
        Ok(())
    }

    /// Adds a graph, which must be made with the builder's types.
    pub fn add_graph(&mut self, graph: TypedGraph) -> Result<()> {
        let Some(types) = &self.types else {
            return Err(Error::input(graph.place, "a graph, but no types yet: declare them first"));
        };
        graph.check_free()?;
        // A weight of 0 means that the graph is left out.
        if graph.weight == 0.0 {
            return Ok(());
        }
        let shared = *self.shared.get_or_insert(graph.shared);
        if shared && !graph.shared {
            let why =
                "the graphs before it are rows of a table `X`, and this is none: train on one form of data";
            return Err(Error::input(graph.place, why));
        }
        let structure = self.structures.of(&graph, types)?;
        let number = |kind: usize, name: &str| Some(self.names[kind].intern(name.as_bytes()));
        // Shared features are stored with the first node, until there is a matrix for all.
        let members = graph.members().enumerate();
        let stored =
            |(k, (kind, features))| (kind, (!shared || k == 0 || k >= graph.nodes.len()).then_some(features));
        observe(members.map(stored), types, number, &mut self.data);
        let mut number = |gold: Label| match gold.checked_sub(FIRST_SET).filter(|_| gold != UNLABELLED) {
            None => gold,
            Some(set) => self.sets.number(&graph.sets[set as usize]),
        };
        let gold: Vec<Label> = graph.gold.iter().map(|&gold| number(gold)).collect();
        self.data.finish_example(structure, gold, graph.weight);
        self.data.set_variable_weights(&graph.weights);
        self.names.iter().try_for_each(|names| names.check_room("the names of features"))
    }

    /// Drops named features that occur fewer than `min_count` times, numbers the others by frequency, and returns the
    /// corpus.
    pub fn finish(self, min_count: u32) -> Result<TypedCorpus> {
        let TypedBuilder { types, names, mut data, sets, shared, .. } = self;
        let (Some(types), false) = (types, data.is_empty()) else {
            return Err(Error::Setting("there is no graph to learn from whose weight is above 0".into()));
        };
        let mut counts: Vec<Vec<u32>> = names.iter().map(|names| vec![0; names.len()]).collect();
        let first: Vec<usize> = (0..names.len()).map(|kind| types.first_named(kind)).collect();
        for example in 0..data.len() {
            for (f, table) in data.tables(example).enumerate() {
                let kind = data.graph(example).own_kind(f);
                for id in data.observations(table).0.iter().filter_map(|&id| named(id, first[kind])) {
                    counts[kind][id] = counts[kind][id].saturating_add(1);
                }
            }
        }
        let sorted = names.iter().zip(&counts).map(|(names, counts)| by_frequency(names, counts, min_count));
        let (names, numbers): (Vec<_>, Vec<_>) = sorted.unzip();
        let renumber = |kind: usize, id: u32| match named(id, first[kind]) {
            None => Some(id),
            Some(name) => numbers[kind][name].map(|new: u32| first[kind] as u32 + new),
        };
        data.renumber(|label| label, renumber, FactorGraph::clone);
        data.set_sets(sets.into_sets());
        if shared == Some(true) {
            data.make_matrices(&[(0..types.nodes().len(), types.first_named(0))]);
        } else {
            let dense = (0..types.all().len()).filter(|kind| types.all()[*kind].dense > 0);
            let dense: Vec<_> = dense.map(|kind| (kind..kind + 1, types.first_named(kind))).collect();
            data.make_matrices(&dense);
        }
        let domain = TypedDomain { types, names };
        domain.types.kinds(&domain.name_counts())?; // not too many weights
        Ok(TypedCorpus { domain, data })
    }
}

/// The number of a named feature among those of its type.
fn named(id: u32, first: usize) -> Option<usize> {
    (id as usize).checked_sub(first)
}

/// Rejects types other than the known ones.
pub(super) fn check_same(types: &Types, known: &Types, place: &Place) -> Result<()> {
    match types == known {
        true => Ok(()),
        false => {
            let message =
                "these types are not those of the model or of the first file: all files need the same";
            Err(Error::input(place.clone(), message))
        }
    }
}

/// Adds the observations of a graph, table by table: the constant 1, the dense features, and the named features that
/// have a number. Values of 0 have no effect and are left out. A table without features gets nothing.
pub(super) fn observe<'a>(
    members: impl Iterator<Item = (usize, Option<&'a FeatureValues>)>,
    types: &Types,
    mut number: impl FnMut(usize, &str) -> Option<u32>,
    data: &mut Dataset<FactorGraph>,
) {
    for (kind, features) in members {
        let Some(features) = features else {
            data.finish_table();
            continue;
        };
        data.push_observation(0, 1.0);
        for (id, &value) in (1..).zip(&features.dense).filter(|(_, value)| **value != 0.0) {
            data.push_observation(id, value);
        }
        for (name, value) in features.named.iter().filter(|(_, value)| *value != 0.0) {
            if let Some(id) = number(kind, name) {
                data.push_observation(types.first_named(kind) as u32 + id, *value);
            }
        }
        data.finish_table();
    }
}

/// Makes the structures of graphs. Consecutive graphs of the same shape share one structure, with everything that
/// engines compute about it.
#[derive(Clone, Debug, Default)]
pub struct Structures {
    last: Option<Structure>,
}

/// A structure, with the types and nodes that it was made from.
#[derive(Clone, Debug)]
struct Structure {
    nodes: Vec<usize>,
    factors: Vec<(usize, Vec<usize>)>,
    pieces: Vec<Option<usize>>,
    graph: FactorGraph,
}

impl Structures {
    /// The structure of a graph.
    pub(super) fn of(&mut self, graph: &TypedGraph, types: &Types) -> Result<FactorGraph> {
        match &self.last {
            Some(Structure { nodes, factors, pieces, graph: last })
                if (nodes, factors, pieces) == (&graph.nodes, &graph.factors, &graph.pieces) =>
            {
                Ok(last.clone())
            }
            _ => {
                let new = graph.structure(types)?;
                let TypedGraph { nodes, factors, pieces, .. } = graph.clone();
                self.last = Some(Structure { nodes, factors, pieces, graph: new.clone() });
                Ok(new)
            }
        }
    }
}
