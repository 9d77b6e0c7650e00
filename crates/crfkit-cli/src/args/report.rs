//! The arguments of `crfkit report` and `crfkit watch`.

use super::{InputArgs, label_column};
use crate::flags::Given;
use std::path::PathBuf;

const REPORT_EXAMPLES: &str = "\
Examples:
  crfkit train train.tsv --dev dev.tsv --log a.jsonl -m a
  crfkit train train.tsv --dev dev.tsv --log b.jsonl -m b --sigma 0.5
  crfkit report a.jsonl b.jsonl -o report.html            two runs side by side
  crfkit report a.jsonl -m a --test test.tsv -o a.html    with the model's weights and mistakes";

/// `crfkit report`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = REPORT_EXAMPLES)]
pub struct ReportArgs {
    /// Logs of training runs (crfkit train --log)
    #[arg(value_name = "RUN.jsonl", required_unless_present = "model")]
    pub runs: Vec<PathBuf>,

    /// Where to write the page
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Model of any kind: adds its heaviest weights
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<PathBuf>,

    /// Labelled sequences or graphs: adds scores, confusion matrix and the model's worst mistakes
    #[arg(long, value_name = "FILE", requires = "model")]
    pub test: Option<PathBuf>,

    /// Directory of images, for a model of images: adds scores and the images with the most mistakes
    #[arg(long, value_name = "DIR", requires_all = ["model", "masks"], conflicts_with = "test")]
    pub images: Option<PathBuf>,

    /// Gold labels of the images: for each image a grey image (or .npy) of the same name
    #[arg(long, value_name = "DIR", requires = "images")]
    pub masks: Option<PathBuf>,

    /// Column of the gold label, from 0; -1 is the last [default: as in training]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = label_column, requires = "test")]
    pub label_column: Option<i32>,

    /// Labels may be missing: tokens with ? or with one of several labels (B-PER|B-ORG) are not compared
    #[arg(long, requires = "test")]
    pub partial_labels: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArgs,

    /// The flags that were given on the command line.
    #[arg(skip)]
    pub given: Given,
}

const WATCH_NOTES: &str = "\
Example:
  crfkit train train.tsv --dev dev.tsv --log run.jsonl -m model &
  crfkit watch run.jsonl

Open the printed address in a browser on this computer. Other computers cannot reach the server:
it listens on 127.0.0.1 only and answers only to 127.0.0.1 and localhost. Ctrl-C ends it.";

/// `crfkit watch`.
#[derive(Debug, clap::Args)]
#[command(after_help = WATCH_NOTES)]
pub struct WatchArgs {
    /// Logs of training runs; they need not exist yet
    #[arg(value_name = "RUN.jsonl", required = true)]
    pub runs: Vec<PathBuf>,

    /// Port to listen on; 0 for any free port
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub port: u16,
}
