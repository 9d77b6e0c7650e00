//! How a chain is cut into pieces.

/// What a piece of a chain is. The tables of first and last labels belong to the node tables of the first and the last node; a
/// chain of one node is one piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pieces {
    /// Each factor alone, to the letter of pwpl-2007 eq. 4 and 6: also the tables of first and last labels, and shared and own
    /// table of a pair apart.
    Factor,
    /// The factors of a label pair with the node table of its right node, in the first pair of both nodes: the papers'
    /// ψ_t(y_{t−1}, y_t, x_t).
    #[default]
    Edge,
    /// The factors of a label pair with the node tables of both: every inner node table is in two pieces (Sutton and Minka's
    /// shared-unary pieces).
    SharedUnary,
}
