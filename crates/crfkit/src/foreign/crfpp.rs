//! CRF++'s models as text (`crf_learn -t` writes one beside the binary file).
//!
//! ```text
//! version: 100        cost-factor: 1        maxid: 123        xsize: 2        (a line each)
//!
//! labels, one a line, then an empty line
//! templates, one a line, then an empty line
//! for each observation the position of its first weight and its name, then an empty line
//! the weights, one a line
//! ```
//!
//! The name of an observation says whether it has a weight for each label (`U`) or for each pair of labels (`B`).

use super::Toolkit;
use super::assembly::Assembly;
use crate::data::observer::Source;
use crate::data::template::{Dialect, Templates};
use crate::domain::chain::ChainModel;
use crate::{Error, Result};

/// The first bytes of a file.
pub(crate) const MAGIC: &[u8] = b"version: ";

fn damaged(why: impl std::fmt::Display) -> Error {
    Toolkit::Crfpp.damaged(why)
}

/// The number in a line of the head.
fn head<T: std::str::FromStr>(line: Option<&str>, name: &str) -> Result<T> {
    let value = line.and_then(|line| line.strip_prefix(name)).and_then(|rest| rest.trim().parse().ok());
    value.ok_or_else(|| damaged(format!("its header has no line `{name}` with a number")))
}

/// Reads a model of CRF++ in its text form.
pub fn read(bytes: &[u8]) -> Result<ChainModel> {
    let text = std::str::from_utf8(bytes).map_err(|_| damaged("it is not UTF-8 text"))?;
    if !text.ends_with('\n') {
        return Err(damaged("its last line is cut off"));
    }
    let mut lines = text.lines();
    let _version: u32 = head(lines.next(), "version:")?;
    let factor: f64 = head(lines.next(), "cost-factor:")?;
    let count: usize = head(lines.next(), "maxid:")?;
    let _columns: usize = head(lines.next(), "xsize:")?;
    if lines.next() != Some("") {
        return Err(damaged("there is no empty line after its header"));
    }
    let labels = lines.by_ref().take_while(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let templates = lines.by_ref().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    let observations: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let number = |line: &str| line.trim().parse::<f64>().ok().filter(|w| w.is_finite());
    let weights = lines.map(number).collect::<Option<Vec<f64>>>();
    let weights = weights.ok_or_else(|| damaged("a weight is not a number"))?;
    if weights.len() != count {
        return Err(damaged(format!("it has {} weights, but announces {count}", weights.len())));
    }
    let templates =
        Templates::compile(&templates, Dialect::Crfpp, "templates of the model").map_err(damaged)?;
    let mut model = Assembly::new(Toolkit::Crfpp, labels, Source::Templates(templates))?;
    let mut left = count;
    for line in observations {
        let wrong = || damaged(format!("`{}` is not an observation", line.escape_debug()));
        let (first, name) = line.split_once(' ').ok_or_else(wrong)?;
        let pair = name.starts_with('B');
        let size = if pair { model.labels.len().pow(2) } else { model.labels.len() };
        // Every observation has weights of its own.
        left =
            left.checked_sub(size).ok_or_else(|| damaged("it has too few weights for its observations"))?;
        let first: usize = first.parse().map_err(|_| wrong())?;
        let own = first.checked_add(size).and_then(|end| weights.get(first..end)).ok_or_else(wrong)?;
        let own: Vec<f64> = own.iter().map(|w| factor * w).collect();
        match pair {
            true => model.pair_observation(name, &own)?,
            false => model.observation(name, &own)?,
        }
    }
    model.finish()
}
