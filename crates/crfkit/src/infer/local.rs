//! One clique in log space: its message to each of its variables, given their messages to it.

use super::chain::log_sum_exp;
use crate::graph::{FactorGraph, for_each_row_label};
use crate::math::{Array, Scalar, Slice};

/// Scratch for one clique at a time.
#[derive(Debug)]
pub(super) struct Local<S> {
    /// Log messages from the variables, one row each.
    incoming: Array<S>,
    /// Log-potentials plus incoming messages `[rows][stride]`.
    terms: Array<S>,
    /// One message.
    message: Array<S>,
}

impl<S> Default for Local<S> {
    fn default() -> Self {
        Local { incoming: Array::default(), terms: Array::default(), message: Array::default() }
    }
}

impl<S: Scalar> Local<S> {
    /// Loads clique `c`: its table times `scale`, and the log messages from its variables, `incoming(slot, label)`.
    pub(super) fn load(
        &mut self,
        graph: &FactorGraph,
        c: usize,
        table: Slice<S>,
        scale: f64,
        incoming: impl Fn(usize, usize) -> S,
    ) {
        let (scopes, cliques) = (graph.cliques().scopes(), graph.cliques());
        let (vars, slots, shape) = (scopes.vars(c), scopes.slots(c), scopes.shape(c));
        let first = cliques.message(slots.start).start;
        self.incoming.reserve(cliques.message(slots.end - 1).end - first);
        for (&v, slot) in vars.iter().zip(slots.clone()) {
            let at = cliques.message(slot).start - first;
            for label in 0..graph.cards()[v] {
                self.incoming.set(at + label, incoming(slot, label));
            }
        }
        self.terms.reserve(shape.size());
        let last = cliques.message(slots.end - 1).start - first;
        for row in 0..shape.rows {
            let mut sum = S::lift(0.0);
            for_each_row_label(row, vars, graph.cards(), |k, label| {
                sum += self.incoming.get(cliques.message(slots.start + k).start - first + label);
            });
            for j in 0..shape.columns {
                let at = row * shape.stride() + j;
                self.terms.set(at, table.at(at) * S::lift(scale) + sum + self.incoming.get(last + j));
            }
        }
    }

    /// The log message to the k-th variable of the loaded clique: log Σ over the labels of the other variables,
    /// without the variable's own incoming message.
    pub(super) fn message(&mut self, graph: &FactorGraph, c: usize, k: usize) -> Slice<'_, S> {
        let (scopes, cliques) = (graph.cliques().scopes(), graph.cliques());
        let (shape, slots) = (scopes.shape(c), scopes.slots(c));
        let card = graph.cards()[scopes.vars(c)[k]];
        let own = cliques.message(slots.start + k).start - cliques.message(slots.start).start;
        self.message.reserve(card);
        let terms = &self.terms;
        for label in 0..card {
            let sum = if k + 1 == slots.len() {
                log_sum_exp(shape.rows, |row| terms.get(row * shape.stride() + label))
            } else {
                // Rows with this label come in runs of length `run`, every `run`·card rows.
                let run = scopes.strides(c)[k] / shape.stride();
                log_sum_exp(shape.rows / card * shape.columns, |i| {
                    let (r, j) = (i / shape.columns, i % shape.columns);
                    let row = (r / run * card + label) * run + r % run;
                    terms.get(row * shape.stride() + j)
                })
            };
            self.message.set(label, sum - self.incoming.get(own + label));
        }
        self.message.slice(0..card)
    }

    /// log Σ over all entries.
    pub(super) fn log_z(&self, graph: &FactorGraph, c: usize) -> S {
        let shape = graph.cliques().scopes().shape(c);
        log_sum_exp(shape.rows * shape.columns, |i| {
            self.terms.get(i / shape.columns * shape.stride() + i % shape.columns)
        })
    }

    /// The marginals of the loaded clique, given its [`Local::log_z`]. Overwrites the loaded values.
    pub(super) fn marginals(&mut self, graph: &FactorGraph, c: usize, log_z: S) -> Slice<'_, S> {
        let shape = graph.cliques().scopes().shape(c);
        for row in 0..shape.rows {
            for j in 0..shape.columns {
                let at = row * shape.stride() + j;
                self.terms.set(at, (self.terms.get(at) - log_z).exp());
            }
        }
        self.terms.slice(0..shape.size())
    }
}
