//! Settings, from Python's JSON to the library's struct.

use crate::errors::setting_error;
use crfkit::data::template::Dialect;
use crfkit::settings::{Kind, Method, Settings};
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

pub(crate) fn dialect_of(py: Python<'_>, name: &str) -> PyResult<Dialect> {
    match name {
        "crfpp" => Ok(Dialect::Crfpp),
        "wapiti" => Ok(Dialect::Wapiti),
        _ => Err(setting_error(py, format!("dialect {name:?} is not known: choose crfpp or wapiti"))),
    }
}
