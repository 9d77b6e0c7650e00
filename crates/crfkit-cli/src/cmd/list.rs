//! `crfkit list`: lists the choices of objectives, methods and presets.

use crate::args::Listed;
use crate::error::{stdout_failed, usage};
use anyhow::Result;
use crfkit::data::presets::{PRESETS, preset};
use crfkit::train::{Criterion, Method};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

/// Columns besides the label for which the text of a preset is printed.
const COLUMNS: usize = 2;

/// Prints the list, or one entry of it.
pub fn run(what: Listed, name: Option<&str>) -> Result<ExitCode> {
    let text = match (what, name) {
        (Listed::Presets, Some(name)) => preset_text(name)?,
        (what, name) => {
            let all = match what {
                Listed::Optimizers => optimizers(),
                Listed::Objectives => objectives(),
                Listed::Presets => {
                    PRESETS.iter().map(|preset| entry(preset.name, preset.description)).collect()
                }
            };
            only(&all, name)?
        }
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(stdout_failed)?;
    Ok(ExitCode::SUCCESS)
}

/// The text of a preset, as a template file: a start for one of one's own.
fn preset_text(name: &str) -> Result<String> {
    let preset = preset(name).map_err(usage)?;
    let (text, one) = (preset.text(COLUMNS), preset.text(1));
    let further = match text == one {
        true => "",
        false => {
            "# As for data with one further column, column 1; every other column has lines of the same kind.\n"
        }
    };
    Ok(format!("# {}\n# After: {}.\n{further}{text}", preset.description, preset.source))
}

/// The entry of a list that has this name, with its details; the whole list without a name.
fn only(list: &str, name: Option<&str>) -> Result<String> {
    let Some(name) = name else { return Ok(list.to_owned()) };
    let named = |line: &&str| !line.starts_with(' ') && line.split(' ').next() == Some(name);
    let from = list.lines().position(|line| named(&line));
    let from = from.ok_or_else(|| {
        usage(format!("there is no `{name}` in this list: leave out the name to see all entries"))
    })?;
    let details = list.lines().skip(from + 1).take_while(|line| line.starts_with(' '));
    Ok(list.lines().skip(from).take(1).chain(details).map(|line| format!("{line}\n")).collect())
}

fn optimizers() -> String {
    let mut text = String::new();
    for method in Method::ALL {
        let declared = method.declaration();
        text += &entry(declared.name, declared.about);
        let parameters: Vec<String> = declared.parameters.iter().map(|name| format!("--{name}")).collect();
        text += &detail("parameters", &parameters.join(" "));
        let objectives = Criterion::ALL.into_iter().filter(|c| method.supports(*c)).map(Criterion::name);
        text += &detail("objectives", &objectives.collect::<Vec<_>>().join(" "));
    }
    text +=
        &entry("perceptron", "a preset: --objective perceptron --optimizer sgd --eta0 1 --batch 1, no prior");
    text += &detail("parameters", "--average --batch --eta0");
    text
}

fn objectives() -> String {
    let mut text = String::new();
    for criterion in Criterion::ALL {
        text += &entry(criterion.name(), criterion.description());
        let methods = Method::ALL.into_iter().filter(|m| m.supports(criterion)).map(Method::name);
        text += &detail("optimizers", &methods.collect::<Vec<_>>().join(" "));
    }
    text
}

/// A name and its description.
fn entry(name: &str, about: &str) -> String {
    format!("{name:<20} {about}\n")
}

/// A line with details below an entry.
fn detail(what: &str, text: &str) -> String {
    let mut line = String::new();
    if !text.is_empty() {
        let _ = writeln!(line, "{:<20} {what}: {text}", "");
    }
    line
}
