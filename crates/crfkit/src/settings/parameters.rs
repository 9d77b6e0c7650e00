//! The parameters of the methods, under the names that the papers use.

use super::Method;
use crate::loss::Margin;
use crate::optim::{Adaptation, BatchGradient, Inner, Slack, Updates};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// How Hessian-vector products are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HessVec {
    /// With dual numbers: exact (smd-crf-2006 eq. 11).
    #[default]
    Dual,
    /// With a complex step: exact too (smd-crf-2006 eq. 12).
    Complex,
    /// With central differences of the gradient.
    Differences,
}

/// The parameters of the methods. One that is not given takes the method's own default. One that the chosen method does
/// not use is rejected with an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    /// b: the number of examples in an online step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// η₀: the first gain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta0: Option<f64>,
    /// Whether an online step uses the sum or the mean of the gradients in its batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gradient: Option<BatchGradient>,
    /// Whether an online step moves only the weights of its batch, or all weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updates: Option<Updates>,
    /// Whether the result is the mean of the iterates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average: Option<bool>,
    /// μ of SMD: the step size for adapting the gains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mu: Option<f64>,
    /// λ of SMD: the memory of past steps, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// Bounds on the factor by which a step of SMD, or a period of PSA with the printed rule, may change a gain; ∞ is stored as
    /// null.
    #[serde(skip_serializing_if = "Option::is_none", with = "bounds")]
    pub gain_factor: Option<[f64; 2]>,
    /// The smallest gain of SMD, and of PSA with the printed rule, as a multiple of η₀.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain_floor: Option<f64>,
    /// The largest gain of PSA with the printed rule, as a multiple of η₀.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain_ceiling: Option<f64>,
    /// How the gains of PSA follow the rates of their weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub psa_rule: Option<Adaptation>,
    /// κ of PSA: the bound on rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kappa: Option<f64>,
    /// α of PSA: the factor for the gain of a weight that moves in one direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// β of PSA: the factor for the gain of a weight that oscillates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// N of PSA: half a period, in steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<usize>,
    /// β₁ of Adam.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta1: Option<f64>,
    /// β₂ of Adam.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta2: Option<f64>,
    /// ε of Adam.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// How many pairs of vectors L-BFGS keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<usize>,
    /// Batch methods stop when the objective changes by less than this fraction over ten iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Batch methods stop when ‖g‖ is at most this times max(1, ‖θ‖).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gradient_tolerance: Option<f64>,
    /// Batch methods stop when three iterations in a row have each changed the objective by less than this fraction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<f64>,
    /// SDCA stops when its duality gap is at most this fraction of the objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_tolerance: Option<f64>,
    /// ν of CG: it restarts when |gᵀg'| ≥ ν gᵀg for two successive gradients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nu: Option<f64>,
    /// The largest number of products H·v in one iteration of Newton-CG.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub products: Option<usize>,
    /// How Hessian-vector products are computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hess_vec: Option<HessVec>,
    /// How iterative scaling solves the equation for one weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner: Option<Inner>,
    /// Upper bound on γ of triple jumps; ∞ is stored as null.
    #[serde(skip_serializing_if = "Option::is_none", with = "super::infinite_option")]
    pub gamma_max: Option<f64>,
    /// C of passive-aggressive steps, which bounds their length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggressiveness: Option<f64>,
    /// How C bounds passive-aggressive steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slack: Option<Slack>,
    /// The margin of passive-aggressive steps between the gold labels and others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<Margin>,
    /// The variance of AROW at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variance: Option<f64>,
    /// γ of AROW: the larger, the smaller the steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// How many bytes a method may store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<u64>,
}

impl Parameters {
    /// Whether a parameter of online steps was given. [`Method::Auto`] then begins with an online method that uses it.
    pub(crate) fn wants_online_steps(&self) -> bool {
        self.batch.is_some() || self.eta0.is_some()
    }

    /// Names of the parameters that were given, as on the command line.
    fn given(&self) -> Vec<String> {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(map)) => map.keys().map(|name| name.replace('_', "-")).collect(),
            _ => Vec::new(),
        }
    }

    /// Rejects values that make no sense, and parameters that `method` does not use.
    pub(super) fn check(&self, method: Method) -> Result<()> {
        let own = method.declaration();
        for name in self.given() {
            if !own.parameters.contains(&name.as_str()) {
                let users = Method::ALL.into_iter().map(Method::declaration);
                let users = users.filter(|d| d.parameters.contains(&name.as_str())).map(|d| d.name);
                let name = field(&name);
                return Err(Error::Setting(format!(
                    "`{name}` is not a parameter of `optimizer` {}, which has: {}; it is one of: {}",
                    own.name,
                    list(own.parameters.iter().map(|name| format!("`{}`", field(name)))),
                    list(users.map(str::to_owned)),
                )));
            }
        }
        if method == Method::Psa {
            self.check_psa_rule()?;
        }
        let whole = |x: Option<usize>| x.map(|x| x as f64);
        let rules: [(&str, Option<f64>, Need); 8] = [
            ("batch", whole(self.batch), AT_LEAST_ONE),
            ("memory", whole(self.memory), AT_LEAST_ONE),
            ("products", whole(self.products), AT_LEAST_ONE),
            ("tolerance", self.tolerance, (|x| (0.0..1.0).contains(&x), "at least 0 and below 1")),
            ("gradient-tolerance", self.gradient_tolerance, NOT_NEGATIVE),
            ("change", self.change, NOT_NEGATIVE),
            ("gap-tolerance", self.gap_tolerance, POSITIVE),
            ("nu", self.nu, POSITIVE),
        ];
        for (name, value, (good, need)) in rules {
            if let Some(value) = value.filter(|value| !good(*value)) {
                return Err(Error::Setting(format!("`{}` is {value}, but it must be {need}", field(name))));
            }
        }
        Ok(())
    }

    /// Rejects parameters of PSA that the chosen rule does not use.
    fn check_psa_rule(&self) -> Result<()> {
        let (rule, foreign, own): (_, &[&str], _) = match self.psa_rule.unwrap_or_default() {
            Adaptation::Shrinking => ("shrinking", &["gain-factor", "gain-floor", "gain-ceiling"], "printed"),
            Adaptation::Printed => ("printed", &["kappa", "alpha", "beta"], "shrinking"),
        };
        match self.given().iter().find(|name| foreign.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(Error::Setting(format!(
                "`{}` has no effect with `psa_rule` {rule}: drop it, or use `psa_rule` {own}",
                field(name)
            ))),
        }
    }
}

/// A condition on a number, and its wording in the error message.
type Need = (fn(f64) -> bool, &'static str);
const AT_LEAST_ONE: Need = (|x| x >= 1.0, "at least 1");
const POSITIVE: Need = (|x| x > 0.0 && x.is_finite(), "a positive number");
const NOT_NEGATIVE: Need = (|x| x >= 0.0 && x.is_finite(), "0 or a positive number");

/// The field name of a parameter; everywhere else its name is written with hyphens.
fn field(name: &str) -> String {
    name.replace('-', "_")
}

/// The names joined into a list, or "nothing" if there are none.
fn list(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}

/// Stores two bounds, with ∞ as null, because JSON has no infinity.
mod bounds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(bounds: &Option<[f64; 2]>, s: S) -> Result<S::Ok, S::Error> {
        bounds.map(|bounds| bounds.map(|bound| bound.is_finite().then_some(bound))).serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<[f64; 2]>, D::Error> {
        let bounds = Option::<[Option<f64>; 2]>::deserialize(d)?;
        Ok(bounds.map(|bounds| bounds.map(|bound| bound.unwrap_or(f64::INFINITY))))
    }
}
