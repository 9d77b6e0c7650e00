//! `crfkit list`: lists the choices of objectives, methods and presets.

use crate::args::Listed;
use crate::error::stdout_failed;
use anyhow::Result;
use crfkit::data::presets::PRESETS;
use crfkit::train::{Criterion, Method};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

/// Prints the list.
pub fn run(what: Listed) -> Result<ExitCode> {
    let text = match what {
        Listed::Optimizers => optimizers(),
        Listed::Objectives => objectives(),
        Listed::Presets => {
            PRESETS.iter().map(|preset| entry(preset.name, preset.description)).collect::<String>()
        }
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(stdout_failed)?;
    Ok(ExitCode::SUCCESS)
}

fn optimizers() -> String {
    let mut text = String::new();
    for method in Method::ALL {
        let declared = method.declaration();
        text += &entry(declared.name, declared.about);
        let parameters: Vec<String> = declared.parameters.iter().map(|name| format!("--{name}")).collect();
        text += &detail("parameters", &parameters.join(" "));
        let objectives = Criterion::ALL.into_iter().filter(|c| method.fits(*c)).map(Criterion::name);
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
        text += &entry(criterion.name(), criterion.about());
        let methods = Method::ALL.into_iter().filter(|m| m.fits(criterion)).map(Method::name);
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
