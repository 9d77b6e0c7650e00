//! What objectives can give and methods may need: the one declaration behind every refusal and every table of pairs.

/// Something beyond the (sub)gradient of a batch, which every objective gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ability {
    /// A value whose slope the gradient is: what line searches and triple jumps compare.
    Smooth,
    /// The exact derivative of the gradient in a direction, H·v.
    HessVec,
    /// Observed and expected counts of features apart, and a bound on their number: what iterative scaling needs.
    Counts,
    /// Marginals of one example and their entropy: the dual problem.
    Dual,
}

impl Ability {
    /// All of them.
    pub const ALL: [Ability; 4] = [Ability::Smooth, Ability::HessVec, Ability::Counts, Ability::Dual];

    /// In words that follow "needs".
    pub fn name(self) -> &'static str {
        match self {
            Ability::Smooth => "a smooth value",
            Ability::HessVec => "Hessian-vector products",
            Ability::Counts => "feature counts",
            Ability::Dual => "marginals of single examples",
        }
    }
}
