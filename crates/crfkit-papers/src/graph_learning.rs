//! Learning curves on general graphs.

use crate::chart::Line;
use crfkit::data::dataset::Dataset;
use crfkit::decode::max_node_marginal;
use crfkit::graph::{FactorGraph, Gradient, Label, Psi, SharedSum, UNLABELLED};
use crfkit::infer::NodeMarginals;
use crfkit::loss::Loss;
use crfkit::math::Array;
use crfkit::model::Features;
use crfkit::optim::{Control, Minimum, Prior, Problem, Progress, State, Watch};
use crfkit::risk::{Risk, potentials};
use crfkit::train::Settings;
use crfkit::{Error, Result};
use std::sync::Arc;

/// Training and test graphs, with one map from weights to tables.
pub struct GraphTask {
    /// The training data.
    pub data: Dataset<FactorGraph>,
    /// The test data, with gold labels.
    pub test: Dataset<FactorGraph>,
    /// The weights.
    pub features: Arc<Features>,
}

/// A run.
#[derive(Clone, Debug, Default)]
pub struct GraphCurve {
    /// Passes and objective. While an online method runs, the objective is its estimate from batches; the last one is
    /// exact.
    pub objective: Vec<[f64; 2]>,
    /// Passes and the share of wrong labels in the test data, in per cent.
    pub error: Vec<[f64; 2]>,
    /// The final weights; empty if the run diverged.
    pub theta: Vec<f64>,
}

impl GraphCurve {
    /// The last error; NaN if the run diverged.
    pub fn final_error(&self) -> f64 {
        if self.theta.is_empty() { f64::NAN } else { self.error.last().map_or(f64::NAN, |point| point[1]) }
    }

    /// The last objective; NaN if the run diverged.
    pub fn final_objective(&self) -> f64 {
        if self.theta.is_empty() {
            f64::NAN
        } else {
            self.objective.last().map_or(f64::NAN, |point| point[1])
        }
    }

    /// The error or objective by passes, as a line of a chart.
    pub fn line(name: &str, points: &[[f64; 2]]) -> Line {
        Line { name: name.into(), points: points.to_vec() }
    }

    /// The passes until the objective is at most `value`; ∞ if it never is.
    pub fn passes_to(&self, value: f64) -> f64 {
        self.objective.iter().find(|point| point[1] <= value).map_or(f64::INFINITY, |point| point[0])
    }
}

impl GraphTask {
    /// Trains from `start` by the settings' method, σ, passes and seed; `error` measures weights.
    pub fn learn<L: Loss<Graph = FactorGraph> + 'static>(
        &self,
        loss: L,
        settings: &Settings,
        start: Vec<f64>,
        error: &(dyn Fn(&[f64]) -> f64 + Sync),
    ) -> Result<GraphCurve> {
        let risk = Risk::new(loss, self.features.clone(), self.data.clone(), 0)?;
        let problem = Problem { objective: &risk, prior: Prior::gaussian(settings.sigma), l1: 0.0 };
        let mut watch = Points { curve: GraphCurve::default(), error };
        match settings.optimizer.optimizer(settings).minimize(&problem, State::start(start), &mut watch) {
            Ok(Minimum { theta, passes, .. }) => {
                let mut curve = watch.curve;
                if curve.error.last().is_none_or(|point| point[0] < passes) {
                    curve.error.push([passes, error(&theta)]);
                }
                let value = problem.smooth(&theta, &mut vec![0.0; theta.len()]);
                curve.objective.push([passes, value]);
                Ok(GraphCurve { theta, ..curve })
            }
            Err(Error::Diverged { .. }) => Ok(watch.curve),
            Err(error) => Err(error),
        }
    }

    /// The label with the largest marginal, for every variable of every graph in `data`.
    pub fn labels<I: NodeMarginals>(
        &self,
        data: &Dataset<FactorGraph>,
        theta: &[f64],
        engine: &I,
    ) -> Vec<Vec<Label>> {
        let mut shared = self.features.empty_tables();
        self.features.fill_tables(&[theta], &mut shared);
        let (mut own, mut work) = (Array::default(), Default::default());
        let mut all = Vec::with_capacity(data.len());
        for example in 0..data.len() {
            let graph = data.graph(example);
            potentials(&self.features, data, example, theta, &mut own);
            let (mut marginals, mut sum) = (Array::zeros(own.len()), SharedSum::new(&shared));
            let range = 0..own.len();
            let mut out = Gradient { own: marginals.slice_mut(range), shared: &mut sum };
            engine.log_z(graph, Psi { shared: &shared, own: &own }, 1.0, &mut out, &mut work);
            let mut labels = Vec::new();
            max_node_marginal(graph, engine.node_marginals::<f64>(&work).plane(0), &mut labels);
            all.push(labels);
        }
        all
    }

    /// The share of wrong labels in the test data, in per cent of the known labels.
    pub fn error<I: NodeMarginals>(&self, theta: &[f64], engine: &I) -> f64 {
        let [wrong, all] =
            self.wrong(theta, engine).into_iter().fold([0, 0], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
        100.0 * wrong as f64 / all.max(1) as f64
    }

    /// The share of wrong labels in each graph of the test data, in per cent of its known labels.
    pub fn errors<I: NodeMarginals>(&self, theta: &[f64], engine: &I) -> Vec<f64> {
        let share = |[wrong, all]: [usize; 2]| 100.0 * wrong as f64 / all.max(1) as f64;
        self.wrong(theta, engine).into_iter().map(share).collect()
    }

    /// The numbers of wrong and of known labels in each graph of the test data.
    fn wrong<I: NodeMarginals>(&self, theta: &[f64], engine: &I) -> Vec<[usize; 2]> {
        let count = |(example, labels): (usize, &Vec<Label>)| {
            let known =
                || labels.iter().zip(self.test.gold(example)).filter(|(_, gold)| **gold != UNLABELLED);
            [known().filter(|(found, gold)| found != gold).count(), known().count()]
        };
        self.labels(&self.test, theta, engine).iter().enumerate().map(count).collect()
    }
}

/// The mean of the differences a − b, and its standard error.
pub fn paired(a: &[f64], b: &[f64]) -> [f64; 2] {
    let n = a.len().min(b.len()) as f64;
    let differences = || a.iter().zip(b).map(|(a, b)| a - b);
    let mean = differences().sum::<f64>() / n;
    let variance = differences().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    [mean, (variance / n).sqrt()]
}

/// Collects points while a method runs.
struct Points<'a> {
    curve: GraphCurve,
    error: &'a (dyn Fn(&[f64]) -> f64 + Sync),
}

impl Watch for Points<'_> {
    fn step(&mut self, progress: &Progress, _: &dyn Fn() -> State) -> Result<Control> {
        let &Progress { passes, objective, theta, .. } = progress;
        self.curve.objective.extend(objective.map(|value| [passes, value]));
        // Labelling takes as long as training, so one evaluation per tenth of the passes so far is enough.
        let due = self.curve.error.last().is_none_or(|point| passes >= 1.1 * point[0]);
        self.curve.error.extend(theta.filter(|_| due).map(|theta| [passes, (self.error)(theta)]));
        Ok(Control::Continue)
    }
}

#[cfg(test)]
mod tests {
    use super::paired;

    #[test]
    fn differences_are_paired() {
        let [mean, error] = paired(&[3.0, 5.0, 7.0], &[2.0, 3.0, 4.0]);
        assert_eq!(mean, 2.0);
        assert!((error - (1.0f64 / 3.0).sqrt()).abs() < 1e-12, "{error}");
    }
}
