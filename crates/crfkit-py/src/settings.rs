//! Settings, from Python's JSON to the library's struct.

use crate::errors::setting_error;
use crfkit::settings::{Constraint, Kind, Method, Settings};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

/// Settings that `params` may have besides the parameters of methods.
const OTHERS: [&str; 17] = [
    "propagation",
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

type Map = serde_json::Map<String, serde_json::Value>;

/// Reads settings that come as a JSON object. The error names the setting that is wrong, in Python's terms.
pub(crate) fn parse<T: DeserializeOwned>(py: Python<'_>, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| {
        let given: Map = serde_json::from_str(text).unwrap_or_default();
        let wrong = |(name, value): (&String, &serde_json::Value)| {
            let alone: Map = [(name.clone(), value.clone())].into_iter().collect();
            let error = serde_json::from_value::<T>(alone.into()).err()?.to_string();
            (!error.starts_with("missing"))
                .then(|| format!("{name} is {}: {}", in_python(value), advice(&error)))
        };
        setting_error(py, given.iter().find_map(wrong).unwrap_or_else(|| error.to_string()))
    })
}

/// A value as Python writes it.
fn in_python(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "None".into(),
        serde_json::Value::Bool(true) => "True".into(),
        serde_json::Value::Bool(false) => "False".into(),
        other => other.to_string(),
    }
}

/// What to give instead, by the parser's message.
fn advice(error: &str) -> String {
    let expected = error.rsplit_once("expected ").map_or(error, |(_, expected)| expected);
    match expected {
        "usize" | "u64" | "u32" | "u16" | "u8" => "give a whole number of at least 0".into(),
        "f64" => "give a number".into(),
        "a boolean" => "give True or False".into(),
        "string or map" | "a string" => "give a string".into(),
        _ if error.starts_with("unknown variant") => format!("choose {}", expected.replace('`', "")),
        _ => format!("give {expected}"),
    }
}

/// Reads the settings, which come as a JSON object; those of this kind of model are the default. An unknown key is an error, so that no
/// typing error goes unseen.
pub(crate) fn read_settings(py: Python<'_>, text: &str, kind: Kind) -> PyResult<Settings> {
    let given: Map = parse(py, text)?;
    let usual = serde_json::to_value(Settings::default()).unwrap_or_default();
    let parameters = || Method::ALL.iter().flat_map(|method| method.declaration().parameters);
    let known = |key: &str| {
        usual.get(key).is_some()
            || OTHERS.contains(&key)
            || parameters().any(|name| name.replace('-', "_") == key)
    };
    if let Some(key) = given.keys().find(|key| !known(key)) {
        let mut names: Vec<String> = parameters().map(|name| name.replace('-', "_")).collect();
        names.extend(usual.as_object().into_iter().flat_map(Map::keys).cloned());
        names.extend(OTHERS.map(String::from));
        names.sort();
        names.dedup();
        return Err(setting_error(py, format!("params has no {key:?}; it may have {}", names.join(", "))));
    }
    let first = given.contains_key("init");
    let settings: Settings = parse(py, text)?;
    let init = if first { settings.init } else { Settings::for_kind(kind).init };
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
