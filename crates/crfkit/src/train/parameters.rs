//! The parameters of the methods, under the papers' names.

use super::Method;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// What is not given has the method's own default. A parameter that the chosen method does not use is refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    /// b: examples in an online step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// η₀: first gain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta0: Option<f64>,
    /// Pairs of vectors that L-BFGS keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<usize>,
    /// Stop when the objective changes by less than this share over ten iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
}

impl Parameters {
    /// Names of those that are given, as on the command line.
    fn given(&self) -> Vec<String> {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(map)) => map.keys().map(|name| name.replace('_', "-")).collect(),
            _ => Vec::new(),
        }
    }

    /// Refuses values that make no sense, and parameters that `method` does not use.
    pub(super) fn check(&self, method: Method) -> Result<()> {
        let own = method.declaration();
        for name in self.given() {
            if !own.parameters.contains(&name.as_str()) {
                let users = Method::ALL.into_iter().map(Method::declaration);
                let users = users.filter(|d| d.parameters.contains(&name.as_str())).map(|d| d.name);
                return Err(Error::Setting(format!(
                    "--{name} is not a parameter of --optimizer {}, which has: {}; it is one of: {}",
                    own.name,
                    list(own.parameters.iter().map(|name| format!("--{name}"))),
                    list(users.map(str::to_owned)),
                )));
            }
        }
        let whole = |x: Option<usize>| x.map(|x| x as f64);
        let rules: [(&str, Option<f64>, Need); 4] = [
            ("batch", whole(self.batch), AT_LEAST_ONE),
            ("memory", whole(self.memory), AT_LEAST_ONE),
            ("eta0", self.eta0, POSITIVE),
            ("tolerance", self.tolerance, (|x| (0.0..1.0).contains(&x), "at least 0 and below 1")),
        ];
        for (name, value, (good, need)) in rules {
            if let Some(value) = value.filter(|value| !good(*value)) {
                return Err(Error::Setting(format!("--{name} is {value}, but it must be {need}")));
            }
        }
        Ok(())
    }
}

/// What a number must be, and how that is said.
type Need = (fn(f64) -> bool, &'static str);
const AT_LEAST_ONE: Need = (|x| x >= 1.0, "at least 1");
const POSITIVE: Need = (|x| x > 0.0 && x.is_finite(), "a positive number");

/// Names side by side; "nothing" for none.
fn list(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}
