//! Losses in single precision, on many examples at once.

use crate::graph::{Graph, Label, SharedSum, Table, TableRef};
use crate::infer::{Many, Member};

/// A loss that computes in single precision, and the sums over examples in double precision.
pub trait ManyLosses<G>: Send {
    /// Takes over the shared tables; call it whenever they have changed.
    fn prepare(&mut self, shared: &[Table<f64>]);

    /// Writes weight × loss of every example, and overwrites its part of `own`, which holds its log-potentials, with the gradient.
    /// Adds the gradient of the shared tables to `sum`. An example that single precision does not suit gets NaN, and its part stays.
    fn losses(
        &mut self,
        shared: &[Table<f64>],
        examples: (&[Member<G>], &[&[Label]]),
        own: &mut [f32],
        sum: &mut SharedSum<f64>,
        values: &mut [f64],
    );
}

/// [`super::Likelihood`] of many examples.
pub(super) struct Likelihoods<G>(pub Box<dyn Many<G>>);

impl<G: Graph> ManyLosses<G> for Likelihoods<G> {
    fn prepare(&mut self, shared: &[Table<f64>]) {
        self.0.prepare(shared);
    }

    fn losses(
        &mut self,
        shared: &[Table<f64>],
        (members, gold): (&[Member<G>], &[&[Label]]),
        own: &mut [f32],
        sum: &mut SharedSum<f64>,
        values: &mut [f64],
    ) {
        let scores: Vec<f64> = members
            .iter()
            .zip(gold)
            .map(|(member, gold)| {
                let mut score = 0.0;
                member.graph.for_each_factor(|factor| {
                    score += match factor.table {
                        TableRef::Shared(id) => shared[id].log.get(factor.entry(gold)),
                        TableRef::Own(at) => f64::from(own[member.start + at + factor.entry(gold)]),
                    };
                });
                score
            })
            .collect();
        self.0.log_z(members, own, sum, values);
        for (((member, gold), score), value) in members.iter().zip(gold).zip(scores).zip(values) {
            if value.is_nan() {
                continue;
            }
            *value = (*value - score) * member.weight;
            member.graph.for_each_factor(|factor| match factor.table {
                TableRef::Shared(id) => sum.0[id].direct.add(factor.entry(gold), -member.weight),
                TableRef::Own(at) => {
                    own[member.start + at + factor.entry(gold)] -= member.weight as f32;
                }
            });
        }
    }
}
