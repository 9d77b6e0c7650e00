//! Which labellings the corpus is for: second-order chains, segments, constraints.

use super::super::lattice::TrainingRules;
use super::CorpusBuilder;
use crate::model::Keep;
use crate::settings::{Constraint, Settings};

impl CorpusBuilder {
    /// The same builder, for second-order chains (Sha and Pereira 2003). With [`Keep::Observed`], only label pairs that occur in the training
    /// data are possible (a label without a successor there may have any).
    pub fn with_second_order(mut self, pairs: Keep) -> Self {
        self.plan.second_order = Some(pairs);
        self
    }

    /// The same builder, for chains in which whole segments of up to `longest` tokens have weights (Sarawagi and Cohen 2004). The labels must
    /// be those of chunks, in the notation IOB2 or IOBES, and only such labellings are possible. Lines of templates that begin with `S` make
    /// observations of segments; those are kept that a segment of the training data has. A longer segment, or a label that breaks the
    /// notation, is an error of [`CorpusBuilder::finish`].
    pub fn with_segments(mut self, longest: usize) -> Self {
        self.plan.segments = Some(longest);
        self
    }

    /// The same builder, for the kind of chains that the settings ask for.
    pub(crate) fn of_settings(mut self, settings: &Settings) -> Self {
        self.plan.segments = settings.segments;
        let second = settings.order == 2;
        if second { self.with_second_order(settings.transitions.unwrap_or(settings.features)) } else { self }
    }

    /// The same builder, for training in which only labellings that obey a notation of chunks are possible, and for the model afterwards. A
    /// sequence that breaks the notation is an error of [`CorpusBuilder::finish`].
    pub fn with_constraint(mut self, constraint: Constraint) -> Self {
        self.plan.constraint = constraint.scheme().map(TrainingRules::Scheme);
        self
    }

    /// The same with rules from a text called `name` ([`crate::data::label_rules`]).
    pub fn with_rules(mut self, text: impl Into<String>, name: impl Into<String>) -> Self {
        self.plan.constraint = Some(TrainingRules::Text(text.into(), name.into()));
        self
    }
}
