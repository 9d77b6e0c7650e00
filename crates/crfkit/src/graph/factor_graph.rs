//! General factor graphs: discrete variables with any number of labels, and factors over any number of variables.

use super::{
    CliqueTree, Cliques, Factor, Forest, Graph, NodeSplit, PieceHint, Pieces, Psi, Scopes, Shape, Slices,
    SpanningForests, TableRef,
};
use crate::error::GraphError;
use crate::math::{Scalar, simd};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// A factor graph, compiled once into flat arrays. Examples with the same structure share it: cloning copies a
/// pointer.
///
/// A factor reads either an own table or a shared table. An own table depends on observations; its *kind* says which
/// weights they use. A shared table is common to all examples and has only tied weights. Several factors may be over
/// the same variables. All tables have the layout of [`Shape`]. Own tables are stored one after another, in the order
/// in which their factors were added.
#[derive(Clone, Debug)]
pub struct FactorGraph(Arc<Structure>);

#[derive(Debug)]
struct Structure {
    cards: Vec<usize>,
    factors: Scopes,
    tables: Vec<TableRef>,
    own: Vec<OwnTable>,
    own_len: usize,
    /// The shape of each shared table; 0 rows if no factor reads it.
    shared: Vec<Shape>,
    cliques: Cliques,
    hint: PieceHint,
    plans: Plans,
}

/// What engines need to know about the structure, computed on first use.
#[derive(Debug, Default)]
struct Plans {
    forest: OnceLock<Result<Forest, GraphError>>,
    spanning: OnceLock<SpanningForests>,
    clique_tree: OnceLock<Result<CliqueTree, GraphError>>,
    slices: OnceLock<Option<Slices>>,
    /// The splits that have been requested, usually one.
    splits: RwLock<Vec<(Pieces, Arc<NodeSplit>)>>,
}

#[derive(Clone, Copy, Debug)]
struct OwnTable {
    offset: usize,
    kind: usize,
    shape: Shape,
}

/// Collects the factors of a [`FactorGraph`] and checks each one.
#[derive(Clone, Debug)]
pub struct FactorGraphBuilder {
    cards: Vec<usize>,
    factors: Scopes,
    tables: Vec<TableRef>,
    own: Vec<OwnTable>,
    own_len: usize,
    /// The shape of the own tables of each kind, and of each shared table; 0 rows if not known yet.
    kinds: Vec<Shape>,
    shared: Vec<Shape>,
    hint: PieceHint,
}

impl FactorGraphBuilder {
    /// A builder for variables with these numbers of labels, without factors.
    pub fn new(cards: Vec<usize>) -> Result<Self, GraphError> {
        if let Some(var) = cards.iter().position(|&card| card == 0) {
            return Err(GraphError::NoLabels { var });
        }
        Ok(FactorGraphBuilder {
            cards,
            factors: Scopes::new(),
            tables: Vec::new(),
            own: Vec::new(),
            own_len: 0,
            kinds: Vec::new(),
            shared: Vec::new(),
            hint: PieceHint::Unknown,
        })
    }

    /// Adds a factor with an own table of kind `kind`. Returns the number of that table.
    pub fn add_own(&mut self, kind: usize, vars: &[usize]) -> Result<usize, GraphError> {
        let shape = self.shape(vars)?;
        same_shape(&mut self.kinds, kind, shape, "the own table of kind")?;
        self.factors.push(vars, &self.cards)?;
        self.tables.push(TableRef::Own(self.own_len));
        self.own.push(OwnTable { offset: self.own_len, kind, shape });
        self.own_len += shape.size();
        Ok(self.own.len() - 1)
    }

    /// Adds a factor that reads the shared table `id`.
    pub fn add_shared(&mut self, id: usize, vars: &[usize]) -> Result<(), GraphError> {
        let shape = self.shape(vars)?;
        same_shape(&mut self.shared, id, shape, "shared table")?;
        self.factors.push(vars, &self.cards)?;
        self.tables.push(TableRef::Shared(id));
        Ok(())
    }

    /// Sets what is known about the pieces of the graph, for the [`Pieces`] that need it.
    pub fn piece_hint(&mut self, hint: PieceHint) {
        self.hint = hint;
    }

    /// The shape of a table over these variables.
    fn shape(&self, vars: &[usize]) -> Result<Shape, GraphError> {
        Scopes::new().push(vars, &self.cards)
    }

    /// Finishes the graph.
    pub fn build(self) -> Result<FactorGraph, GraphError> {
        let cliques = Cliques::new(&self.cards, &self.factors, &self.tables)?;
        let FactorGraphBuilder { cards, factors, tables, own, own_len, shared, hint, .. } = self;
        let plans = Plans::default();
        Ok(FactorGraph(Arc::new(Structure {
            cards,
            factors,
            tables,
            own,
            own_len,
            shared,
            cliques,
            hint,
            plans,
        })))
    }
}

/// Stores the shape of table `id`, or compares it with the stored one.
fn same_shape(known: &mut Vec<Shape>, id: usize, shape: Shape, name: &str) -> Result<(), GraphError> {
    if known.len() <= id {
        known.resize(id + 1, Shape::default());
    }
    if known[id] == Shape::default() {
        known[id] = shape;
    }
    let (expected, found) = ((known[id].rows, known[id].columns), (shape.rows, shape.columns));
    if expected != found {
        return Err(GraphError::WrongShape { table: format!("{name} {id}"), expected, found });
    }
    Ok(())
}

impl FactorGraph {
    /// The number of labels of each variable.
    #[inline]
    #[doc(hidden)]
    pub fn cards(&self) -> &[usize] {
        &self.0.cards
    }

    /// The number of factors.
    #[inline]
    pub fn factors(&self) -> usize {
        self.0.tables.len()
    }

    /// Factor `f`, in the order in which factors were added.
    #[inline]
    pub fn factor(&self, f: usize) -> Factor<'_> {
        let structure = &*self.0;
        Factor {
            table: structure.tables[f],
            vars: structure.factors.vars(f),
            strides: structure.factors.strides(f),
        }
    }

    /// Shape of the table of factor `f`.
    #[inline]
    pub(crate) fn factor_shape(&self, f: usize) -> Shape {
        self.0.factors.shape(f)
    }

    /// Shape of own table `f`.
    #[doc(hidden)]
    pub fn own_shape(&self, f: usize) -> Shape {
        self.0.own[f].shape
    }

    /// The shapes of the shared tables; 0 rows if no factor reads the table.
    #[doc(hidden)]
    pub fn shared_shapes(&self) -> &[Shape] {
        &self.0.shared
    }

    /// The factors, merged by their variables. Engines work on these.
    #[inline]
    #[doc(hidden)]
    pub fn cliques(&self) -> &Cliques {
        &self.0.cliques
    }

    /// The graph as a forest, if it is one.
    #[doc(hidden)]
    pub fn forest(&self) -> Result<&Forest, GraphError> {
        let forest = self.0.plans.forest.get_or_init(|| Forest::new(self, |_| true));
        forest.as_ref().map_err(GraphError::clone)
    }

    /// Whether the graph has no loops.
    pub fn is_forest(&self) -> bool {
        self.0.plans.forest.get_or_init(|| Forest::new(self, |_| true)).is_ok()
    }

    /// The graph as a chain of slices, if it is one.
    #[doc(hidden)]
    pub fn slices(&self) -> Option<&Slices> {
        self.0.plans.slices.get_or_init(|| Slices::new(self)).as_ref()
    }

    /// Forests that together contain every clique.
    pub(crate) fn spanning_forests(&self) -> &SpanningForests {
        self.0.plans.spanning.get_or_init(|| SpanningForests::new(self))
    }

    /// The clique tree, unless it is too large for any machine.
    #[doc(hidden)]
    pub fn clique_tree(&self) -> Result<&CliqueTree, GraphError> {
        let tree = self.0.plans.clique_tree.get_or_init(|| CliqueTree::new(self));
        tree.as_ref().map_err(GraphError::clone)
    }

    /// Returns an error if the tables of exact inference need more than `limit` bytes. The error names that limit, although the search for
    /// a tree ends at one of its own.
    pub(crate) fn check_exact(&self, limit: usize) -> Result<(), GraphError> {
        self.clique_tree().and_then(|tree| tree.check(limit)).map_err(|error| match error {
            GraphError::TooWide { width, bytes, limit: most } => {
                GraphError::TooWide { width, bytes, limit: limit.min(most) }
            }
            other => other,
        })
    }

    /// Returns an error if these log-potentials do not fit the graph.
    pub fn check<S: Scalar>(&self, psi: Psi<S>) -> Result<(), GraphError> {
        let (expected, found) = (self.own_len(), psi.own.len());
        if found < expected {
            return Err(GraphError::WrongLength { expected, found });
        }
        for (id, shape) in self.0.shared.iter().enumerate().filter(|(_, shape)| shape.rows > 0) {
            let found = psi.shared.get(id).map_or((0, 0), |table| (table.rows, table.labels));
            let expected = (shape.rows, shape.columns);
            if expected != found {
                return Err(GraphError::WrongShape { table: format!("shared table {id}"), expected, found });
            }
        }
        Ok(())
    }

    /// What the creator of the graph knows about its pieces.
    pub fn piece_hint(&self) -> &PieceHint {
        &self.0.hint
    }

    /// The node-split graph for these pieces, computed once. Returns an error if the graph does not have such pieces.
    pub fn node_split(&self, pieces: Pieces) -> Result<Arc<NodeSplit>, GraphError> {
        // A panic in another thread leaves the list as it was.
        let splits = &self.0.plans.splits;
        let known = |list: &[(Pieces, Arc<NodeSplit>)]| {
            list.iter().find(|(of, _)| *of == pieces).map(|(_, split)| split.clone())
        };
        if let Some(split) = known(&splits.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(split);
        }
        let mut splits = splits.write().unwrap_or_else(PoisonError::into_inner);
        match known(&splits) {
            // Another thread was faster.
            Some(split) => Ok(split),
            None => {
                let split = Arc::new(NodeSplit::new(self, &pieces.factors(self)?)?);
                splits.push((pieces, split.clone()));
                Ok(split)
            }
        }
    }

    /// The same graph with an additional own table over each of these lists of variables. They come after the others in the own array, and
    /// their kinds are those after the largest.
    pub(crate) fn with_more_own(&self, scopes: &[Vec<usize>]) -> Result<FactorGraph, GraphError> {
        let Structure { cards, factors, tables, own, .. } = &*self.0;
        let first = own.iter().map(|table| table.kind + 1).max().unwrap_or(0);
        let mut builder = self.builder(cards.clone(), factors.clone(), tables.clone());
        for (kind, vars) in (first..).zip(scopes) {
            builder.add_own(kind, vars)?;
        }
        builder.build()
    }

    /// A graph with these variables and factors that reads the tables of this graph. A factor with an own table has
    /// the shape of the factor whose table it takes.
    pub(super) fn with_factors(
        &self,
        cards: Vec<usize>,
        factors: Scopes,
        tables: Vec<TableRef>,
    ) -> Result<FactorGraph, GraphError> {
        self.builder(cards, factors, tables).build()
    }

    /// A builder with these variables and factors, and the tables of this graph.
    fn builder(&self, cards: Vec<usize>, factors: Scopes, tables: Vec<TableRef>) -> FactorGraphBuilder {
        let Structure { own, own_len, shared, .. } = &*self.0;
        let (own, own_len, shared) = (own.clone(), *own_len, shared.clone());
        let (kinds, hint) = (Vec::new(), PieceHint::Unknown);
        FactorGraphBuilder { cards, factors, tables, own, own_len, kinds, shared, hint }
    }
}

impl Graph for FactorGraph {
    fn vars(&self) -> usize {
        self.0.cards.len()
    }

    #[inline]
    fn card(&self, v: usize) -> usize {
        self.0.cards[v]
    }

    #[inline]
    fn for_each_factor(&self, mut visit: impl FnMut(Factor)) {
        for f in 0..self.factors() {
            visit(self.factor(f));
        }
    }

    fn degree(&self, v: usize) -> usize {
        self.cliques().incident(v).len()
    }

    fn own_tables(&self) -> usize {
        self.0.own.len()
    }

    #[inline]
    fn own_offset(&self, f: usize) -> usize {
        self.0.own[f].offset
    }

    #[inline]
    fn own_size(&self, f: usize) -> usize {
        self.0.own[f].shape.size()
    }

    #[inline]
    fn own_kind(&self, f: usize) -> usize {
        self.0.own[f].kind
    }

    fn own_len(&self) -> usize {
        self.0.own_len
    }

    fn clear_own(&self, own: &mut [f64]) {
        for table in &self.0.own {
            let rows = own[table.offset..][..table.shape.size()].chunks_exact_mut(table.shape.stride());
            for row in rows {
                row[..table.shape.columns].fill(0.0);
                row[table.shape.columns..].fill(simd::PAD);
            }
        }
    }
}
