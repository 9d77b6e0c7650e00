//! Training that continues from a model with more data.

use super::Trainer;
use crate::domain::chain::{ChainCorpus, ChainDev, ChainDomain, ChainModel};
use crate::settings::{Constraint, Init, PriorMean};
use crate::train::{TrainOptions, Trained};
use crate::{Error, Result};
use std::sync::Arc;

impl Trainer<'_> {
    /// The model that training continues from, if there is one.
    pub(super) fn known(&self) -> Result<Option<Arc<ChainModel>>> {
        let Some(model) = self.start.as_ref().filter(|_| self.going_on) else { return Ok(None) };
        if self.settings.order != 1 || self.settings.segments.is_some() {
            return Err(Error::Setting(
                "training cannot continue with chains of second order or with segments: leave `order` and `segments` out, or train \
                 a new model on all data"
                    .into(),
            ));
        }
        let other = || Error::Setting("training can only continue from a model of chains".into());
        model.any().weighted::<ChainDomain>().ok_or_else(other).map(Some)
    }

    /// Trains on a corpus whose builder knew the model.
    pub(super) fn continued(
        mut self,
        corpus: ChainCorpus,
        dev: Option<ChainDev>,
        known: &ChainModel,
    ) -> Result<Trained<ChainDomain>> {
        let choose = self.settings.choose;
        for (wrong, what) in [
            (choose.any(), "choose no penalties"),
            // It would take from weights of which the new data says nothing, once for each time that training goes on.
            (self.settings.l1 > 0.0, "use no `l1`"),
        ] {
            if wrong {
                return Err(Error::Setting(format!(
                    "to continue from a model, {what}: give a number for `sigma` alone"
                )));
            }
        }
        (self.settings.init, self.settings.prior_mean) = (Init::Model, PriorMean::Model);
        // Earlier data may have broken what the new one obeys.
        if known.settings.constraint.is_none_or(|constraint| constraint == Constraint::None) {
            self.settings.constraint.get_or_insert(Constraint::None);
        }
        let (features, theta) = corpus.merge_features(&corpus.features(&self.settings), known);
        let start = TrainOptions {
            prior_mean: theta.clone(),
            theta,
            dev,
            threads: self.threads,
            ..TrainOptions::default()
        };
        self.fit_from(corpus, features, start)
    }
}
