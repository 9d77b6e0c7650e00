//! A trained model with weights, of any kind.

use super::{AnswersOf, Corpus, Domain, MAX_WEIGHT, ModelGraph, ReadyTables};
use crate::answers::Answers;
use crate::data::bytes::Numbers;
use crate::decode::Decode;
use crate::eval::Scores;
use crate::infer::Engine;
use crate::model::edit::{Edit, Others};
use crate::model::{Features, LabelSet, Names, above};
use crate::settings::Settings;
use crate::tag::{Judgement, Labeller, Truth};
use crate::{Error, Place, Result};
use std::sync::Arc;

/// A model with weights. It does not change after training, so one model serves any number of
/// [taggers](crate::tag::Tagger).
#[derive(Clone, Debug)]
pub struct WeightedModel<D: Domain> {
    /// The domain: labels, alphabets and everything else that is known about inputs.
    pub domain: D,
    /// The map from weights to table entries.
    pub features: Arc<Features>,
    /// The weights θ.
    pub weights: Numbers<f64>,
    /// The settings that the weights were trained with.
    pub settings: Settings,
}

impl<D: Domain> WeightedModel<D> {
    /// The inference engine that the model was trained with. Labelling uses it too, unless told otherwise.
    pub fn engine(&self) -> Engine {
        self.settings.inference.unwrap_or_else(|| self.domain.engine())
    }

    /// The weights by name.
    pub fn names(&self) -> Names<'_> {
        self.domain.names(&self.features, &self.weights)
    }

    /// This model's weights, rearranged for the `features` of `corpus`. Observations and labels are matched by name,
    /// and what this model does not know gets 0. It is an error if the weights would mean something else there.
    pub fn weights_for(&self, corpus: &Corpus<D>, features: &Features) -> Result<Vec<f64>> {
        corpus.domain.check_transfer(&self.domain)?;
        self.names().weights_for(&corpus.domain.names(features, &[]), features.dim())
    }

    /// The same model without its zero weights, and without observations that have no weights left. It gives the same
    /// scores and needs less space.
    pub fn compact(&self) -> Self {
        self.compact_at(&self.weights)
    }

    /// The model with all weights of at most `threshold` in absolute value set to zero, compacted.
    pub fn shrink(&self, threshold: f64) -> Self {
        let mut small = self.compact_at(&above(threshold, &self.weights));
        small.settings.shrink = Some(threshold);
        small
    }

    /// The model after edits of its weights. It is an error if an edit names an observation or a label that the model does not know.
    #[doc(hidden)]
    pub fn edited(&self, edits: &[Edit], others: Others) -> Result<Self> {
        if let Some(Edit { place, weight }) = edits.iter().find(|edit| edit.weight.weight.abs() > MAX_WEIGHT)
        {
            let message =
                format!("the weight {:e} is far too large: give one below {MAX_WEIGHT:e}", weight.weight);
            return Err(Error::input(place.clone(), message));
        }
        let (features, weights) = self.features.edited(&self.names(), edits, others)?;
        let (domain, settings) = (self.domain.clone(), self.settings.clone());
        Ok(WeightedModel { domain, features: features.into(), weights: weights.into(), settings })
    }

    /// The compacted model, with other weights in place of its own.
    pub(super) fn compact_at(&self, weights: &[f64]) -> Self {
        let used = (0..self.features.rows.len()).map(|kind| self.features.used_rows(kind, weights));
        match self.domain.without_unused(used.collect()) {
            None => WeightedModel { weights: weights.to_vec().into(), ..self.clone() },
            Some((domain, kept)) => {
                let (features, weights) = self.features.without_zeros(weights, &kept);
                let settings = self.settings.clone();
                WeightedModel { domain, features: features.into(), weights: weights.into(), settings }
            }
        }
    }
}

impl<D: Domain> Labeller for WeightedModel<D> {
    type Input = D::Input;
    type Scratch = D::Scratch;
    type Tables = ReadyTables;
    type Answers = AnswersOf<D>;

    fn decode(&self) -> Decode {
        self.settings.objective.decode(D::DECODE)
    }

    fn ready(&self) -> ReadyTables {
        D::tables(&self.features, &self.weights)
    }

    fn answers(&self, tables: &ReadyTables, engine: Option<Engine>) -> AnswersOf<D> {
        let engine = engine.unwrap_or_else(|| self.engine());
        let mut answers = D::Graph::answers(tables.shared.clone(), &self.settings, engine, D::TOLERANCE);
        if let Some(rules) = self.domain.rules(&self.settings) {
            answers.obey(Some(rules));
        }
        answers
    }

    fn load(
        &self,
        tables: &ReadyTables,
        input: &D::Input,
        scratch: &mut D::Scratch,
        answers: &mut AnswersOf<D>,
    ) -> Result<()> {
        D::load(self, tables, input, scratch, answers)
    }

    fn label_sets(&self) -> Vec<LabelSet<'_>> {
        self.domain.label_sets()
    }

    fn label_set_of(&self, graph: &D::Graph, variable: usize) -> usize {
        self.domain.label_set_of(graph, variable)
    }

    fn group(&self) -> usize {
        self.domain.group()
    }

    fn truth<'a>(&'a self, input: &'a D::Input) -> Result<Truth<'a>> {
        self.domain.truth(input)
    }

    fn place(input: &D::Input) -> Place {
        D::place(input)
    }

    fn scores(&self, judgement: &Judgement) -> Scores {
        self.domain.scores(judgement)
    }
}
