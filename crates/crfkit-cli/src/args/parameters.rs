//! The parameters of the methods.

use crfkit::train::Parameters;

/// What is not given has the method's own default; what the method does not use is refused.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Parameters of methods (`crfkit list optimizers` tells which has which)")]
pub struct ParameterArgs {
    /// Sequences in an online step
    #[arg(long, value_name = "N")]
    pub batch: Option<usize>,

    /// First gain of online methods
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub eta0: Option<f64>,

    /// Pairs of vectors that L-BFGS keeps [default: 5]
    #[arg(long, value_name = "N")]
    pub memory: Option<usize>,

    /// Stop when the objective changes by less than this share over ten iterations [default: 1e-4]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
}

impl ParameterArgs {
    /// As the library knows them.
    pub fn parameters(&self) -> Parameters {
        Parameters { batch: self.batch, eta0: self.eta0, memory: self.memory, tolerance: self.tolerance }
    }
}
