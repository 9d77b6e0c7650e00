//! The objective of a criterion on chains.

use crate::Result;
use crate::data::dataset::Dataset;
use crate::graph::Chain;
use crate::loss::{Loss, Pieces};
use crate::model::Features;
use crate::optim::Objective;
use crate::risk::{Derivative, Risk};
use crate::settings::{Criterion, WithLoss};
use std::sync::Arc;

impl Criterion {
    /// The sum of this criterion's losses over a data set. `derivative` is for Hessian-vector products.
    pub fn objective(
        self,
        pieces: Pieces,
        derivative: Derivative,
        features: Arc<Features>,
        data: Dataset<Chain>,
        threads: usize,
    ) -> Result<Box<dyn Objective>> {
        struct Sum(Derivative, Arc<Features>, Dataset<Chain>, usize);
        impl WithLoss for Sum {
            type Out = Result<Box<dyn Objective>>;
            fn with<L: Loss<Graph = Chain> + 'static>(self, loss: L) -> Self::Out {
                let Sum(derivative, features, data, threads) = self;
                Ok(Box::new(Risk::with_derivative(loss, derivative, features, data, threads)?))
            }
        }
        Criterion::check_pieces(pieces)?;
        self.loss(pieces, Sum(derivative, features, data, threads))
    }
}
