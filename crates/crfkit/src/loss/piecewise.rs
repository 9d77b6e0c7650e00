//! Piecewise training: the likelihood of each factor by itself.

use super::rows::Rows;
use super::{Gold, Loss};
use crate::ability::Ability;
use crate::graph::{Factor, Gradient, Graph, Psi, TableRef};
use crate::math::Scalar;
use std::marker::PhantomData;

/// ℓ = Σ_a (log Σ_y exp ψ_a(y) − ψ_a(gold labels)), each factor a by itself (pwpl-2007 eq. 4), on any graph. It is an
/// upper bound on the negative log-likelihood. Factors over a variable whose label is not known are left out; if it is in a known set, training
/// takes the [`PartialLikelihood`](super::PartialLikelihood) of the factors as graphs of their own.
///
/// An own table costs its size; a shared table costs O(labels) per example, however many factors read it.
#[derive(Clone, Copy, Debug)]
pub struct Piecewise<G>(PhantomData<fn() -> G>);

impl<G> Default for Piecewise<G> {
    fn default() -> Self {
        Piecewise(PhantomData)
    }
}

/// Scratch for [`Piecewise`].
#[derive(Debug)]
pub struct Work<S> {
    /// The table of one factor.
    rows: Rows<S>,
    /// The number of factors that read each shared table.
    readers: Vec<usize>,
    /// A labelling of a factor's variables.
    labels: Vec<usize>,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        Work { rows: Rows::default(), readers: Vec::new(), labels: Vec::new() }
    }
}

impl<G: Graph> Loss for Piecewise<G> {
    type Graph = G;
    type Work<S: Scalar> = Work<S>;

    fn provides(&self) -> &'static [Ability] {
        &[Ability::Smooth, Ability::HessVec]
    }

    fn loss<S: Scalar>(
        &self,
        graph: &G,
        psi: Psi<S>,
        gold: Gold,
        out: &mut Gradient<S>,
        work: &mut Work<S>,
    ) -> S {
        let Work { rows, readers, labels } = work;
        out.own.fill(0.0);
        readers.clear();
        readers.resize(psi.shared.len(), 0);
        let mut log_z = S::lift(0.0);
        let (complete, mut score) = (gold.is_complete(), S::lift(0.0));
        graph.for_each_factor(|factor| {
            if !complete && !gold.is_labelled(&factor) {
                return;
            }
            score += psi.value(&factor, gold.labels);
            match factor.table {
                TableRef::Shared(id) => readers[id] += 1,
                TableRef::Own(offset) => {
                    log_z += own_table(graph, &factor, offset, psi, gold, out, rows, labels);
                }
            }
            out.add_entry(&factor, gold.labels, -gold.weight);
        });
        // Z is the same for all readers of a shared table: the sum of its column sums.
        for (id, &readers) in readers.iter().enumerate().filter(|(_, readers)| **readers > 0) {
            let table = &psi.shared[id];
            rows.resize(1, table.labels);
            rows.clear(0, table.labels);
            rows.add(0, table.columns.slice(0..table.labels));
            rows.exp(1, table.labels);
            log_z += rows.log_sum(0..1, gold.weight * readers as f64) * S::lift(readers as f64);
            rows.add_to(0, out.shared.0[id].columns(table).slice_mut(0..table.labels));
        }
        (log_z - score) * S::lift(gold.weight)
    }
}

/// log Σ exp of an own table. Adds its weighted probabilities to `out`. The table is read in rows along its last
/// variable.
#[allow(clippy::too_many_arguments)] // what one factor needs
fn own_table<G: Graph, S: Scalar>(
    graph: &G,
    factor: &Factor,
    offset: usize,
    psi: Psi<S>,
    gold: Gold,
    out: &mut Gradient<S>,
    rows: &mut Rows<S>,
    labels: &mut Vec<usize>,
) -> S {
    let Some((&last, others)) = factor.vars.split_last() else { return psi.own.get(offset) };
    let (card, step) = (graph.card(last), factor.strides[others.len()]);
    let count = others.iter().map(|&v| graph.card(v)).product();
    rows.resize(count, card);
    // Calls `visit(row, entry of the row's first label)` for all labellings of the other variables.
    let mut each_row = |visit: &mut dyn FnMut(usize, usize)| {
        labels.clear();
        labels.resize(others.len(), 0);
        for row in 0..count {
            visit(row, offset + labels.iter().zip(factor.strides).map(|(y, s)| y * s).sum::<usize>());
            // Counts up like a number whose last digit changes fastest.
            for k in (0..others.len()).rev() {
                labels[k] += 1;
                if labels[k] < graph.card(others[k]) {
                    break;
                }
                labels[k] = 0;
            }
        }
    };
    each_row(&mut |row, entry| {
        rows.clear(row, card);
        if step == 1 {
            rows.add(row, psi.own.slice(entry..entry + card));
        } else {
            let mut x = rows.row(row);
            (0..card).for_each(|j| x.set(j, psi.own.get(entry + j * step)));
        }
    });
    rows.exp(count, card);
    let log_z = rows.log_sum(0..count, gold.weight);
    each_row(&mut |row, entry| {
        if step == 1 {
            rows.add_to(row, out.own.part(entry..entry + card));
        } else {
            (0..card).for_each(|j| out.own.add(entry + j * step, rows.gradient(row, j)));
        }
    });
    log_z
}
