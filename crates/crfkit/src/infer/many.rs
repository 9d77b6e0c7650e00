//! Inference in single precision on many examples at once.

use crate::graph::{SharedSum, Table};

/// An example whose own tables lie in an array with those of others.
#[derive(Debug)]
pub struct Member<'a, G> {
    /// Its graph.
    pub graph: &'a G,
    /// Where its own tables begin.
    pub start: usize,
    /// Its weight.
    pub weight: f64,
}

/// An engine that computes in single precision, and the sums over examples in double precision. It knows the examples for which that is safe.
pub trait Many<G>: Send {
    /// Takes over the shared tables; call it whenever they have changed.
    fn prepare(&mut self, shared: &[Table<f64>]);

    /// Writes log Z of every member, and overwrites its part of `own`, which holds its log-potentials, with weight × its
    /// marginals. Adds those of the shared tables to `sum`. A member that single precision does not suit gets NaN, and its part stays.
    fn log_z(&mut self, members: &[Member<G>], own: &mut [f32], sum: &mut SharedSum<f64>, log_z: &mut [f64]);
}
