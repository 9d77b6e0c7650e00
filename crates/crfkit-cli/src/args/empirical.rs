//! The arguments of empirical training.

use super::stored;
use crfkit::empirical::{EmpiricalMethod, PairKind};
use std::path::PathBuf;

/// The flags of `crfkit train --method`.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Empirical training")]
pub struct EmpiricalArgs {
    /// Build the model from counts, in one pass, instead of minimising an objective. Unknown words are treated by averaging over
    /// their spelling features (ep1), or by functions fitted to these features (ep2)
    #[arg(long, value_name = "METHOD", value_parser = stored::<EmpiricalMethod>(&["ep1", "ep2"]))]
    pub method: Option<EmpiricalMethod>,

    /// Labelled sequences for choosing how unknown words are treated
    #[arg(long, value_name = "FILE", requires = "method")]
    pub heldout: Option<PathBuf>,

    /// Co-occurrence rates of neighbours: of their labels, or of their labels and words [default: tags]
    #[arg(long, value_name = "WHICH", requires = "method", value_parser = stored::<PairKind>(&["tags", "lexical"]))]
    pub pairs: Option<PairKind>,

    /// Weight of the spelling of known words, in occurrences; with 0, they get only labels that they had in training [default: 0]
    #[arg(long, value_name = "X", requires = "method")]
    pub smoothing: Option<f64>,

    /// Smallest logarithm of a co-occurrence rate, used for unseen pairs [default: -12]
    #[arg(long, value_name = "X", requires = "method")]
    pub floor: Option<f64>,
}
