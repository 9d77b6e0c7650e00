//! Arguments of `crfkit convert`.

use clap::{Args as ClapArgs, ValueEnum};
use std::path::{Path, PathBuf};

/// `crfkit convert`.
#[derive(Debug, ClapArgs)]
pub struct ConvertArgs {
    /// The model to read; its format is recognised by its content
    #[arg(value_name = "IN")]
    pub input: PathBuf,

    /// The file to write
    #[arg(value_name = "OUT")]
    pub output: PathBuf,

    /// Format to write [default: crfsuite if OUT ends in .crfsuite, else crfkit]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub to: Option<ModelFormat>,

    /// Write the model without its constraint on labels, which other formats cannot hold
    #[arg(long, value_name = "NAME", value_enum)]
    pub constraint: Option<NoConstraint>,
}

/// The constraint of a converted model, instead of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NoConstraint {
    /// No constraint: every labelling is possible
    None,
}

impl ConvertArgs {
    /// The format to write.
    pub fn format(&self) -> ModelFormat {
        let crfsuite = |path: &Path| path.extension().is_some_and(|extension| extension == "crfsuite");
        let by_name = || if crfsuite(&self.output) { ModelFormat::Crfsuite } else { ModelFormat::Crfkit };
        self.to.unwrap_or_else(by_name)
    }
}

/// A format of model files that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelFormat {
    /// crfkit's own format, for every kind of model
    Crfkit,
    /// CRFsuite's format, for chains trained on attributes
    Crfsuite,
}
