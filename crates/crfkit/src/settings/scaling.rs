//! Whether the values of features are scaled for training.

use serde::{Deserialize, Serialize};

/// The size that features with values have in training. Features without values are 1 where they occur, and stay so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scaling {
    /// Each feature is divided by the root mean square of its values that are not 0, and its weight in the model makes
    /// up for it. Where there is a constant feature, a feature that all have and whose mean is more than two standard
    /// deviations from 0 is centred first, and the weight of the constant makes up for that. The prior then means the
    /// same for all features, and the result does not depend on the unit in which a feature is measured. The numbers of
    /// tokens are centred by the builders of their corpora.
    #[default]
    Unit,
    /// Values are used as they are. The prior is that of the weights in the model.
    None,
}

impl Scaling {
    pub(super) fn is_unit(&self) -> bool {
        *self == Scaling::Unit
    }
}
