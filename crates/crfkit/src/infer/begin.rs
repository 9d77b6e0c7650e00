//! Where the messages of belief propagation start, and where its beliefs go.

use crate::graph::{FactorGraph, Fields, Gradient, Label, Psi, for_each_row_label};
use crate::math::Scalar;
use crate::math::random::Random;

/// The first messages.
#[derive(Clone, Copy, Debug)]
pub(super) enum Begin<'a> {
    /// Uniform messages.
    Uniform,
    /// The messages of cliques whose variables all have these labels.
    Labels(&'a [Label]),
    /// The messages of cliques whose variables have labels drawn at random from this seed.
    Random(u64),
}

/// The receiver of beliefs: they are multiplied by the weight and added.
#[derive(Debug)]
pub(super) struct Share<'a, 'b, S> {
    pub weight: f64,
    pub out: &'a mut Gradient<'b, S>,
}

impl Begin<'_> {
    /// Calls `visit(slot, log message)` for every slot. Messages are normalised, and constants even where ψ has ε
    /// parts: the start of an iteration has no derivative.
    pub(super) fn for_each_message<S: Scalar>(
        self,
        graph: &FactorGraph,
        psi: Psi<S>,
        fields: &Fields<S>,
        mut visit: impl FnMut(usize, &[f64]),
    ) {
        let (cliques, cards) = (graph.cliques(), graph.cards());
        let scopes = cliques.scopes();
        let drawn: Vec<Label>;
        let labels = match self {
            Begin::Uniform => {
                let mut message = Vec::new();
                for (slot, &v) in scopes.slot_vars().iter().enumerate() {
                    message.clear();
                    message.resize(cards[v], -(cards[v] as f64).ln());
                    visit(slot, &message);
                }
                return;
            }
            Begin::Labels(labels) => labels,
            Begin::Random(seed) => {
                let mut random = Random::new(seed);
                drawn = cards.iter().map(|&card| random.below(card.max(1)) as Label).collect();
                &drawn
            }
        };
        let mut message = Vec::new();
        for c in 0..cliques.len() {
            let (vars, shape, table) = (scopes.vars(c), scopes.shape(c), fields.table(graph, psi, c));
            let last = vars.len() - 1;
            for (k, slot) in scopes.slots(c).enumerate() {
                message.clear();
                message.resize(cards[vars[k]], 0.0);
                for row in 0..shape.rows {
                    // Does the row have the given labels, apart from that of the k-th variable?
                    let (mut fits, mut own) = (true, 0);
                    for_each_row_label(row, vars, cards, |i, label| match i == k {
                        true => own = label,
                        false => fits &= label == labels[vars[i]] as usize,
                    });
                    if !fits {
                        continue;
                    }
                    let entry = |j: usize| table.at(row * shape.stride() + j).re();
                    match k == last {
                        true => (0..shape.columns).for_each(|j| message[j] = entry(j)),
                        false => message[own] = entry(labels[vars[last]] as usize),
                    }
                }
                let top = message.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let total = message.iter().map(|x| (x - top).exp()).sum::<f64>().ln() + top;
                message.iter_mut().for_each(|x| *x -= total);
                visit(slot, &message);
            }
        }
    }
}
