//! What objectives provide and what methods need. Both declare it here, and the error messages and tables that pair
//! them are made from it.

/// Something an objective may provide beyond the (sub)gradient of a batch, which every objective provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Ability {
    /// A value whose derivative is the gradient. Line searches and triple jumps compare such values.
    Smooth,
    /// The exact derivative of the gradient in a direction, H·v.
    HessVec,
    /// Observed and expected feature counts, separately, and a bound on the number of features. Iterative scaling
    /// needs them.
    Counts,
    /// The exact marginals of one example: the gradient is their difference to the gold labels. Methods that remember
    /// marginals need them.
    Marginals,
    /// The entropy of the marginals of one example. Methods on the dual problem need it.
    Dual,
    /// A loss that is 0 only if the gold labels are better than all others, by a margin. Passive-aggressive methods need it.
    Margin,
}

impl Ability {
    /// All abilities.
    pub const ALL: [Ability; 6] = [
        Ability::Smooth,
        Ability::HessVec,
        Ability::Counts,
        Ability::Marginals,
        Ability::Dual,
        Ability::Margin,
    ];

    /// A phrase that follows the word "needs".
    pub fn name(self) -> &'static str {
        match self {
            Ability::Smooth => "a smooth value",
            Ability::HessVec => "Hessian-vector products",
            Ability::Counts => "feature counts",
            Ability::Marginals => "exact marginals of single examples",
            Ability::Dual => "the entropy of single examples",
            Ability::Margin => "a margin between labellings",
        }
    }
}
