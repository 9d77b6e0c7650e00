//! Settings, from Python's JSON to the library's struct.

use crate::errors::setting_error;
use crfkit::settings::{Constraint, Kind, Method, Settings};
use pyo3::prelude::*;

/// Settings that `params` may have besides the parameters of methods.
const OTHERS: [&str; 16] = [
    "choose",
    "constraint",
    "transitions",
    "order",
    "segments",
    "sigma_pairs",
    "sigma_of",
    "prior_mean",
    "scaling",
    "boundaries",
    "pieces",
    "batch_of",
    "inference",
    "precision",
    "shrink",
    "init",
];

/// Reads the settings, which come as a JSON object; those of this kind of model are the default. An unknown key is an error, so that no
/// typing error goes unseen.
pub(crate) fn read_settings(py: Python<'_>, text: &str, kind: Kind) -> PyResult<Settings> {
    let wrong = |error: serde_json::Error| setting_error(py, error.to_string());
    let given: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).map_err(wrong)?;
    let usual = serde_json::to_value(Settings::default()).map_err(wrong)?;
    let parameters = || Method::ALL.iter().flat_map(|method| method.declaration().parameters);
    let known = |key: &str| {
        usual.get(key).is_some()
            || OTHERS.contains(&key)
            || parameters().any(|name| name.replace('-', "_") == key)
    };
    if let Some(key) = given.keys().find(|key| !known(key)) {
        let mut names: Vec<String> = parameters().map(|name| name.replace('-', "_")).collect();
        names.extend(OTHERS.map(String::from));
        names.sort();
        names.dedup();
        return Err(setting_error(py, format!("params has no {key:?}; it may have {}", names.join(", "))));
    }
    let first = given.contains_key("init");
    let settings: Settings = serde_json::from_value(given.into()).map_err(wrong)?;
    let init = if first { settings.init } else { Settings::of(kind).init };
    Ok(Settings { init, ..settings })
}

/// The rules that labellings obey.
pub(crate) enum Rules {
    /// A notation of chunks, or no rules.
    Notation(Constraint),
    /// The text of rules of one's own.
    Text(String),
}

impl Rules {
    /// The rules that Python names or gives.
    pub(crate) fn of(py: Python<'_>, given: &str) -> PyResult<Self> {
        Ok(match given {
            "none" => Rules::Notation(Constraint::None),
            "iob2" => Rules::Notation(Constraint::Iob2),
            "iobes" => Rules::Notation(Constraint::Iobes),
            text if text.trim().contains([' ', '\t', '\n']) => Rules::Text(text.to_owned()),
            other => {
                return Err(setting_error(
                    py,
                    format!(
                        "constraint is {other:?}: choose none, iob2 or iobes, or give rules such as \"forbid A B\""
                    ),
                ));
            }
        })
    }
}
