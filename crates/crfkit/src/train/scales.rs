//! The sizes of features in training: factors that multiply the features, and are undone in the weights.

use crate::Result;
use crate::data::dataset::Dataset;
use crate::domain::Domain;
use crate::graph::Graph;
use crate::model::Features;
use crate::settings::{Scaling, Settings};

/// The factor of each row of weights, by kind of table. θᵀh = (θ/s)ᵀ(s·h): a model trained on features s·h becomes one
/// for features h when its weights are multiplied by s. The prior acts on θ/s.
pub(super) struct Scales(Vec<Vec<f64>>);

/// The largest factor. Weights are multiplied by it, and the file of a model holds none above 1e100.
const LARGEST: f64 = 1e80;

/// The values of one feature that are not 0.
#[derive(Clone, Copy, Default)]
struct Values {
    count: f64,
    largest: f64,
    /// Σ (x/largest)², which cannot overflow.
    squares: f64,
}

impl Values {
    /// The factor that brings their root mean square to 1.
    fn factor(&self) -> f64 {
        let factor = 1.0 / (self.largest * (self.squares / self.count).sqrt());
        // Without values, or for ones so small that a model could not hold the weight, there is nothing to gain.
        if factor < LARGEST { factor } else { 1.0 }
    }
}

impl Scales {
    /// The factors for these data; `None` if all are 1. A factor is that of the domain for the kind of table, times
    /// that of [`Scaling::Unit`] for the feature.
    pub fn new<D: Domain>(
        domain: &D,
        data: &Dataset<D::Graph>,
        features: &Features,
        settings: &Settings,
    ) -> Result<Option<Scales>> {
        let kinds = domain.scales(settings)?;
        let mut factors: Vec<Vec<f64>> = match settings.scaling {
            Scaling::Unit => units(data, features),
            Scaling::None => features.rows.iter().map(|rows| vec![1.0; rows.len]).collect(),
        };
        for (factors, of_kind) in factors.iter_mut().zip(kinds.iter().flatten()) {
            factors.iter_mut().for_each(|factor| *factor *= of_kind);
        }
        let some = factors.iter().flatten().any(|factor| *factor != 1.0);
        Ok(some.then_some(Scales(factors)))
    }

    /// Multiplies the features of the training examples.
    pub fn scale<G: Graph>(&self, data: &mut Dataset<G>) {
        data.scale_values(|kind, id| self.0[kind].get(id as usize).copied().unwrap_or(1.0));
    }

    /// Weights for features as they are, from weights for scaled features.
    pub(crate) fn undo(&self, theta: &mut [f64], features: &Features) {
        self.each(theta, features, |weight, factor| *weight *= factor);
    }

    /// Weights for scaled features, from weights for features as they are. Does nothing where there are no weights.
    pub fn apply(&self, theta: &mut [f64], features: &Features) {
        self.each(theta, features, |weight, factor| *weight /= factor);
    }

    fn each(&self, theta: &mut [f64], features: &Features, change: impl Fn(&mut f64, f64)) {
        if theta.is_empty() {
            return;
        }
        for (rows, factors) in features.rows.iter().zip(&self.0) {
            for (row, &factor) in factors.iter().enumerate().filter(|(_, factor)| **factor != 1.0) {
                theta[rows.range(row as u32)].iter_mut().for_each(|weight| change(weight, factor));
            }
        }
    }
}

/// The factors that bring the root mean square of each feature to 1.
fn units<G: Graph>(data: &Dataset<G>, features: &Features) -> Vec<Vec<f64>> {
    let mut values: Vec<Vec<Values>> =
        features.rows.iter().map(|rows| vec![Values::default(); rows.len]).collect();
    each_value(data, |kind, id, x| {
        if let Some(of) = values[kind].get_mut(id) {
            of.largest = of.largest.max(x.abs());
        }
    });
    each_value(data, |kind, id, x| {
        if let Some(of) = values[kind].get_mut(id) {
            of.count += 1.0;
            of.squares += (x / of.largest).powi(2);
        }
    });
    values.iter().map(|values| values.iter().map(Values::factor).collect()).collect()
}

/// Calls `visit` with kind, number and value of every observation whose value is stored and not 0.
fn each_value<G: Graph>(data: &Dataset<G>, mut visit: impl FnMut(usize, usize, f64)) {
    for example in 0..data.len() {
        let graph = data.graph(example);
        for (f, table) in data.tables(example).enumerate() {
            let (ids, values) = data.observations(table);
            let known = ids.iter().zip(values).filter(|(_, x)| **x != 0.0);
            known.for_each(|(&id, &x)| visit(graph.own_kind(f), id as usize, x));
        }
    }
    for dense in data.dense() {
        for row in dense.values().chunks_exact(dense.width()) {
            let known = row.iter().enumerate().filter(|(_, x)| **x != 0.0);
            known.for_each(|(id, &x)| visit(dense.kind(), id, x.into()));
        }
    }
}
