//! An objective whose batches touch every weight. With it, any online method runs the dense iteration of its paper.

use super::{Objective, Problem, Touched};
use crate::ability::Ability;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// All weights, as one row for each kind of weight in the prior.
pub(super) struct DenseUpdates<'a> {
    objective: &'a dyn Objective,
    rows: Vec<Range<usize>>,
    memory: Mutex<Memory>,
}

/// A batch as the wrapped objective sees it.
#[derive(Default)]
struct Memory {
    touched: Touched,
    gradient: Vec<f64>,
    hess_vec: Vec<f64>,
}

impl<'a> DenseUpdates<'a> {
    pub(super) fn new(problem: &Problem<'a>) -> Self {
        let dim = problem.objective.dim();
        let split = problem.prior.first_pair.min(dim);
        let rows = [0..split, split..dim].into_iter().filter(|row| !row.is_empty()).collect();
        DenseUpdates { objective: problem.objective, rows, memory: Mutex::default() }
    }

    /// Writes the rows of a batch into a vector of zeros.
    fn spread(&self, touched: &Touched, rows: &[f64], dense: &mut Vec<f64>) {
        dense.clear();
        dense.resize(self.dim(), 0.0);
        touched.scatter(rows, dense);
    }
}

impl Objective for DenseUpdates<'_> {
    fn dim(&self) -> usize {
        self.objective.dim()
    }

    fn examples(&self) -> usize {
        self.objective.examples()
    }

    fn provides(&self) -> &'static [Ability] {
        self.objective.provides()
    }

    fn value_grad(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.objective.value_grad(theta, gradient)
    }

    fn value_grad_checked(&self, theta: &[f64], gradient: &mut [f64]) -> (f64, usize) {
        self.objective.value_grad_checked(theta, gradient)
    }

    fn value_checked(&self, theta: &[f64]) -> (f64, usize) {
        self.objective.value_checked(theta)
    }

    fn hess_vec(&self, theta: &[f64], v: &[f64], gradient: &mut [f64], hess_vec: &mut [f64]) -> f64 {
        self.objective.hess_vec(theta, v, gradient, hess_vec)
    }

    fn touched(&self, _batch: &[u32], touched: &mut Touched) {
        touched.start(self.rows.len());
        for (number, row) in self.rows.iter().enumerate() {
            touched.add(number, || row.clone());
        }
    }

    fn batch_grad(&self, batch: &[u32], theta: &[f64], _: &Touched, gradient: &mut Vec<f64>) -> f64 {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let Memory { touched, gradient: rows, .. } = &mut *memory;
        self.objective.touched(batch, touched);
        let loss = self.objective.batch_grad(batch, theta, touched, rows);
        self.spread(touched, rows, gradient);
        loss
    }

    fn batch_hess_vec(
        &self,
        batch: &[u32],
        point: [&[f64]; 2],
        _: &Touched,
        gradient: &mut Vec<f64>,
        hess_vec: &mut Vec<f64>,
    ) -> f64 {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let Memory { touched, gradient: rows, hess_vec: second } = &mut *memory;
        self.objective.touched(batch, touched);
        let loss = self.objective.batch_hess_vec(batch, point, touched, rows, second);
        self.spread(touched, rows, gradient);
        self.spread(touched, second, hess_vec);
        loss
    }
}
