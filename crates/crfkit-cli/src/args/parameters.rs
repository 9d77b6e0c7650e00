//! The parameters of the methods.

use super::stored;
use crfkit::loss::Margin;
use crfkit::optim::{Adaptation, BatchGradient, Inner, Slack, Updates};
use crfkit::train::{HessVec, Parameters};

/// The parameters of methods. Each has a default that depends on the method; one that the method does not use is rejected.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Parameters of methods (`crfkit list optimizers` lists those of each)")]
pub struct ParameterArgs {
    /// Sequences in a batch of online methods (b) [default: 8; psa: 1]
    #[arg(long, value_name = "N")]
    pub batch: Option<usize>,

    /// Initial gain of online methods (η₀) [default: adagrad 0.3; adam 0.01; asg, smd and psa 0.1; otherwise found on a sample]
    #[arg(long, value_name = "X")]
    pub eta0: Option<f64>,

    /// Whether online steps use the sum or the mean of the gradients of their batch [default: sum; psa: mean]
    #[arg(long, value_name = "WHICH", value_parser = stored::<BatchGradient>(&["sum", "mean"]))]
    pub gradient: Option<BatchGradient>,

    /// Whether online steps move only the weights that their batch touches, or all weights, as in the papers [default: lazy]
    #[arg(long, value_name = "WHICH", value_parser = stored::<Updates>(&["lazy", "dense"]))]
    pub updates: Option<Updates>,

    /// Return the mean of all iterates [default: false; pa: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub average: Option<bool>,

    /// μ of smd: the step size for adapting the gains [default: 0.1]
    #[arg(long, value_name = "X")]
    pub mu: Option<f64>,

    /// λ of smd: the memory of past steps, from 0 to 1 [default: 1]
    #[arg(long, value_name = "X")]
    pub lambda: Option<f64>,

    /// Bounds on the factor by which a step of smd, or a period of psa with the printed rule, changes a gain; smd's paper has 0.5,inf [default: 0.5,1.1; psa: 0.9,1.1]
    #[arg(long, value_name = "LOW,HIGH", value_parser = bounds)]
    pub gain_factor: Option<[f64; 2]>,

    /// Smallest gain of smd, or of psa with the printed rule, in units of η₀; smd's paper has 0 [default: 1e-8; psa: 1e-4]
    #[arg(long, value_name = "X")]
    pub gain_floor: Option<f64>,

    /// Largest gain of psa with the printed rule, over η₀ [default: 1]
    #[arg(long, value_name = "X")]
    pub gain_ceiling: Option<f64>,

    /// How psa adapts its gains to the rates γ: shrinking only lowers them (κ, α, β); printed multiplies them by 1/(1 − γ), as the paper prints it [default: shrinking]
    #[arg(long, value_name = "RULE", value_parser = stored::<Adaptation>(&["shrinking", "printed"]))]
    pub psa_rule: Option<Adaptation>,

    /// κ of psa: bound on the rate [default: 0.9]
    #[arg(long, value_name = "X")]
    pub kappa: Option<f64>,

    /// α of psa: gain factor of a steadily moving weight [default: 0.9999]
    #[arg(long, value_name = "X")]
    pub alpha: Option<f64>,

    /// β of psa: gain factor of an oscillating weight [default: 0.99]
    #[arg(long, value_name = "X")]
    pub beta: Option<f64>,

    /// N of psa: half a period, in steps [default: 10]
    #[arg(long, value_name = "N")]
    pub period: Option<usize>,

    /// β₁ of adam [default: 0.9]
    #[arg(long, value_name = "X")]
    pub beta1: Option<f64>,

    /// β₂ of adam [default: 0.999]
    #[arg(long, value_name = "X")]
    pub beta2: Option<f64>,

    /// ε of adam [default: 1e-8]
    #[arg(long, value_name = "X")]
    pub epsilon: Option<f64>,

    /// Number of vector pairs that L-BFGS keeps [default: 5]
    #[arg(long, value_name = "N")]
    pub memory: Option<usize>,

    /// Stop when the objective changes by less than this share over ten iterations; auto and saga: when less than this share of it is left to gain [default: 1e-4; auto: 0.01]
    #[arg(long, value_name = "X")]
    pub tolerance: Option<f64>,

    /// Batch methods: stop when the norm of the gradient is at most this times the norm of the weights [default: 1e-5]
    #[arg(long, value_name = "X")]
    pub gradient_tolerance: Option<f64>,

    /// Batch methods: stop when three successive iterations have each changed the objective by less than this share, like CRF++'s -e [default: 0, never]
    #[arg(long, value_name = "X")]
    pub change: Option<f64>,

    /// sdca: stop when the duality gap is at most this share of the objective [default: 1e-4]
    #[arg(long, value_name = "X")]
    pub gap_tolerance: Option<f64>,

    /// ν of cg: restart when successive gradients overlap by this share [default: 0.2]
    #[arg(long, value_name = "X")]
    pub nu: Option<f64>,

    /// Largest number of Hessian-vector products in an iteration of newton-cg [default: 100]
    #[arg(long, value_name = "N")]
    pub products: Option<usize>,

    /// How Hessian-vector products are computed: exactly by dual numbers or a complex step, or by differences of gradients [default: dual]
    #[arg(long, value_name = "WAY", value_parser = stored::<HessVec>(&["dual", "complex", "differences"]))]
    pub hess_vec: Option<HessVec>,

    /// How iterative scaling solves for the step of a weight [default: paper]
    #[arg(long, value_name = "WAY", value_parser = stored::<Inner>(&["paper", "exact"]))]
    pub inner: Option<Inner>,

    /// Bound on γ of triple jumps; inf for none, as in the paper [default: 0.999]
    #[arg(long, value_name = "X")]
    pub gamma_max: Option<f64>,

    /// C of pa: the aggressiveness, which bounds the steps [default: 1]
    #[arg(long, value_name = "X")]
    pub aggressiveness: Option<f64>,

    /// Slack of pa: none (PA), linear (PA-I) or squared (PA-II) [default: linear]
    #[arg(long, value_name = "HOW", value_parser = stored::<Slack>(&["none", "linear", "squared"]))]
    pub slack: Option<Slack>,

    /// Margin of pa between the gold labels and a labelling with d errors: 1, √d or d [default: root]
    #[arg(long, value_name = "HOW", value_parser = stored::<Margin>(&["one", "root", "errors"]))]
    pub margin: Option<Margin>,

    /// Initial variance of arow [default: 1]
    #[arg(long, value_name = "X")]
    pub variance: Option<f64>,

    /// γ of arow: the larger, the smaller the steps [default: 1]
    #[arg(long, value_name = "X")]
    pub gamma: Option<f64>,

    /// Bytes that a method may store besides the weights; suffixes k, M and G are allowed [default: 1G; auto and saga: none]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory_limit: Option<u64>,
}

/// Two numbers with a comma between them.
fn bounds(text: &str) -> Result<[f64; 2], String> {
    let numbers = text.split_once(',').and_then(|(low, high)| Some([low.parse().ok()?, high.parse().ok()?]));
    numbers.ok_or_else(|| "two numbers are needed, such as 0.5,1.1 or 0.5,inf".into())
}

/// A number of bytes.
fn bytes(text: &str) -> Result<u64, String> {
    let units = [("k", 10), ("K", 10), ("M", 20), ("G", 30)];
    let (number, shift) = units
        .iter()
        .find_map(|(unit, shift)| text.strip_suffix(unit).map(|number| (number, *shift)))
        .unwrap_or((text, 0));
    let number: Option<u64> = number.parse().ok();
    number
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| "a number of bytes is needed, such as 500M or 2G".into())
}

impl ParameterArgs {
    /// The same as the library's type.
    pub fn parameters(&self) -> Parameters {
        Parameters {
            batch: self.batch,
            eta0: self.eta0,
            gradient: self.gradient,
            updates: self.updates,
            average: self.average,
            mu: self.mu,
            lambda: self.lambda,
            gain_factor: self.gain_factor,
            gain_floor: self.gain_floor,
            gain_ceiling: self.gain_ceiling,
            psa_rule: self.psa_rule,
            kappa: self.kappa,
            alpha: self.alpha,
            beta: self.beta,
            period: self.period,
            beta1: self.beta1,
            beta2: self.beta2,
            epsilon: self.epsilon,
            memory: self.memory,
            tolerance: self.tolerance,
            gradient_tolerance: self.gradient_tolerance,
            change: self.change,
            gap_tolerance: self.gap_tolerance,
            nu: self.nu,
            products: self.products,
            hess_vec: self.hess_vec,
            inner: self.inner,
            gamma_max: self.gamma_max,
            aggressiveness: self.aggressiveness,
            slack: self.slack,
            margin: self.margin,
            variance: self.variance,
            gamma: self.gamma,
            memory_limit: self.memory_limit,
        }
    }
}
