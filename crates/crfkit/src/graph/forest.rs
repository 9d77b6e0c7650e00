//! Sets of cliques without loops, in an order for passing messages, and the spanning forests of a graph.

use super::FactorGraph;
use crate::error::GraphError;

/// A set of cliques without loops: any two variables are connected by at most one path of cliques.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    /// The cliques from the roots outwards. With each comes the position, among its variables, of the variable
    /// nearest the root.
    pub(crate) outwards: Vec<(usize, usize)>,
    /// One variable of each component. A variable without a clique is a component of its own.
    pub(crate) roots: Vec<usize>,
}

impl Forest {
    /// The forest of the cliques for which `wanted` is true.
    pub(super) fn new(graph: &FactorGraph, wanted: impl Fn(usize) -> bool) -> Result<Self, GraphError> {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        let mut forest = Forest::default();
        let mut reached = vec![false; graph.cards().len()];
        let mut used = vec![false; cliques.len()];
        let mut waiting = Vec::new();
        for root in 0..reached.len() {
            if reached[root] {
                continue;
            }
            forest.roots.push(root);
            reached[root] = true;
            waiting.push(root);
            while let Some(v) = waiting.pop() {
                for &slot in cliques.incident(v) {
                    let c = cliques.slot_clique(slot as usize);
                    if used[c] || !wanted(c) {
                        continue;
                    }
                    used[c] = true;
                    forest.outwards.push((c, slot as usize - scopes.slots(c).start));
                    for &w in scopes.vars(c).iter().filter(|&&w| w != v) {
                        if reached[w] {
                            return Err(GraphError::Loop { vars: scopes.vars(c).to_vec() });
                        }
                        reached[w] = true;
                        waiting.push(w);
                    }
                }
            }
        }
        Ok(forest)
    }
}

/// Forests of equal weight that together contain every clique.
#[derive(Clone, Debug)]
pub(crate) struct SpanningForests {
    /// The forests.
    pub(crate) forests: Vec<Forest>,
    /// ρ of each clique: the share of forests that contain it.
    pub(crate) rho: Vec<f64>,
}

/// The smallest number of forests, unless one forest holds all cliques. More forests spread ρ more evenly, which
/// tightens bounds.
const FORESTS: usize = 8;

impl SpanningForests {
    /// Builds one forest after another. Each takes the cliques that were used least so far, as long as they close no
    /// loop.
    pub(super) fn new(graph: &FactorGraph) -> Self {
        let cliques = graph.cliques();
        let mut count = vec![0usize; cliques.len()];
        let mut order: Vec<usize> = (0..cliques.len()).collect();
        let mut forests = Vec::new();
        loop {
            order.sort_by_key(|&c| count[c]);
            let mut components = Components::new(graph.cards().len());
            let mut wanted = vec![false; cliques.len()];
            for &c in &order {
                if components.join(cliques.scopes().vars(c)) {
                    wanted[c] = true;
                    count[c] += 1;
                }
            }
            forests.push(Forest::new(graph, |c| wanted[c]).expect("only cliques that close no loop"));
            let covered = count.iter().all(|&count| count > 0);
            if covered && (forests.len() >= FORESTS || count.iter().all(|&c| c == forests.len())) {
                break;
            }
        }
        let rho = count.iter().map(|&count| count as f64 / forests.len() as f64).collect();
        SpanningForests { forests, rho }
    }
}

/// Connected components of variables (union-find).
pub(super) struct Components {
    parent: Vec<usize>,
}

impl Components {
    pub(crate) fn new(n: usize) -> Self {
        Components { parent: (0..n).collect() }
    }

    /// The representative of the component of `v`.
    pub(crate) fn root(&mut self, mut v: usize) -> usize {
        while self.parent[v] != v {
            self.parent[v] = self.parent[self.parent[v]];
            v = self.parent[v];
        }
        v
    }

    /// Makes each of `vars` a component of its own again. All other members of their components must be separated in
    /// the same way.
    pub(crate) fn part(&mut self, vars: &[usize]) {
        vars.iter().for_each(|&v| self.parent[v] = v);
    }

    /// If the components of `vars` are all different, joins them and returns true; otherwise does nothing.
    pub(crate) fn join(&mut self, vars: &[usize]) -> bool {
        let mut roots: Vec<usize> = vars.iter().map(|&v| self.root(v)).collect();
        roots.sort_unstable();
        roots.dedup();
        if roots.len() < vars.len() {
            return false;
        }
        for &root in &roots[1..] {
            self.parent[root] = roots[0];
        }
        true
    }
}
