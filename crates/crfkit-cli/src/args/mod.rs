//! What the user typed.

mod empirical;
mod grid;
mod parameters;
mod report;
mod train;

pub use empirical::EmpiricalArgs;
pub use grid::{Decode, GraphKind, GridArgs, PictureArgs};
pub use parameters::ParameterArgs;
pub use report::{ReportArgs, WatchArgs};
pub use train::{Chosen, Init, PriorMean, TrainArgs};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use crfkit::data::text::Encoding;
use serde::de::DeserializeOwned;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::OnceLock;

const EXAMPLES: &str = "\
Examples:
  crfkit demo                                   see it work, in a few seconds
  crfkit train train.tsv -m model               train on CoNLL columns, the last column is the label
  crfkit tag -m model new.tsv > tagged.tsv      label new text
  crfkit eval -m model test.tsv                 precision, recall, F1
  crfkit inspect model                          what the model has learned
  crfkit report run.jsonl -o report.html        learning curves and more, as a page to look at

`-` is standard input; files in .gz and .zst are read as they are. Exit status: 0 success, 1 failure, 2 wrong
usage, 130 interrupted.";

/// Train, apply and inspect conditional random fields
#[derive(Debug, Parser)]
#[command(name = "crfkit", version = version(), after_help = EXAMPLES, max_term_width = 100)]
pub struct Args {
    /// The verb.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train a model from labelled sequences
    Train(Box<TrainArgs>),
    /// Label sequences with a model
    Tag(TagArgs),
    /// Compare labels with gold labels: precision, recall, F1, accuracy
    Eval(EvalArgs),
    /// Show what a model has learned
    Inspect(InspectArgs),
    /// Make one HTML page of run logs: learning curves, settings, scores, what was learned
    Report(ReportArgs),
    /// Show the same page in a browser while training runs, always up to date
    Watch(WatchArgs),
    /// Train, evaluate and apply a model on a small task that comes with the program
    Demo(DemoArgs),
    /// Show the optimisers with their parameters, the objectives, or the presets
    List {
        /// Which
        #[arg(value_enum)]
        what: Listed,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page (troff)
    Man {
        /// The page of one command, such as `train`
        command: Option<String>,
    },
}

/// What `crfkit list` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// Methods, their parameters, and the objectives they minimise
    Optimizers,
    /// What can be minimised, and by which methods
    Objectives,
    /// Ready-made templates
    Presets,
}

/// What `train`, `tag` and `eval` have in common.
#[derive(Clone, Debug, ClapArgs)]
pub struct InputArgs {
    /// Format of the data [default: the model's; columns when training]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,

    /// How bytes stand for characters; names are never normalised
    #[arg(long, value_name = "NAME", default_value = "utf-8", value_parser = named::<Encoding>(&["utf-8", "latin-1"]))]
    pub encoding: Encoding,

    /// Number of threads; the results do not depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

impl InputArgs {
    /// The number of threads to use.
    pub fn threads(&self) -> usize {
        self.threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
    }
}

/// Format of data files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// CoNLL columns: one token a line, fields split at spaces and tabs, blank line between sequences
    Columns,
    /// CRFsuite's attribute lists: label, then attributes, split at tabs
    Attributes,
}

const TAG_EXAMPLES: &str = "\
Examples:
  crfkit tag -m model new.tsv                   all columns of the input, and the label
  crfkit tag -m model --marginals new.tsv       and the label's probability
  crfkit tag -m model --output json < new.tsv   one JSON object a sequence
  crfkit tag -m model --nbest 3 new.tsv         the three best labellings of every sequence
  crfkit tag -m one -m two new.tsv              two models together
  crfkit tag -m model --images DIR --output-dir OUT   label images for a directory of pictures
  crfkit tag -m model graphs.jsonl              one JSON object a graph, for a model of graphs";

/// `crfkit tag`.
#[derive(Debug, ClapArgs)]
#[command(after_help = TAG_EXAMPLES)]
pub struct TagArgs {
    /// The model; several of plain chains label together, by the mean of their marginals
    #[arg(short, long, value_name = "MODEL", required = true)]
    pub model: Vec<PathBuf>,

    /// Sequences to label, with or without a label column; `-` for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub grid: PictureArgs,

    /// Where label images go, and probability images with --marginals
    #[arg(long, value_name = "DIR", requires = "images")]
    pub output_dir: Option<PathBuf>,

    /// Add the probability of every label
    #[arg(long)]
    pub marginals: bool,

    /// The N best labellings of each sequence
    #[arg(long, value_name = "N")]
    pub nbest: Option<NonZeroUsize>,

    /// Add the probability of the whole labelling
    #[arg(long)]
    pub probability: bool,

    /// Layout of the output
    #[arg(long, value_enum, default_value_t = Output::Columns)]
    pub output: Output,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArgs,
}

/// Layout of what `crfkit tag` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// All input columns, then the label, split at tabs
    Columns,
    /// As crf_test prints it; with --marginals as `-v1`, with --nbest as `-n`
    Crfpp,
    /// One JSON object a sequence
    Json,
}

const EVAL_EXAMPLES: &str = "\
Examples:
  crfkit eval -m model test.tsv                 tag, compare, print scores as conlleval does
  crfkit eval -m model --json test.tsv          the scores as one JSON object
  crfkit eval --predicted tagged.tsv            the last two columns are gold and predicted labels
  crfkit eval -m model --images DIR --masks DIR how many pixels are wrong";

/// `crfkit eval`.
#[derive(Debug, ClapArgs)]
#[command(after_help = EVAL_EXAMPLES)]
pub struct EvalArgs {
    /// The model; several of plain chains label together, by the mean of their marginals
    #[arg(short, long, value_name = "MODEL")]
    pub model: Vec<PathBuf>,

    /// Labelled sequences; `-` for standard input
    #[arg(value_name = "TEST", required_unless_present_any = ["predicted", "images"], requires = "model")]
    pub test: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub grid: PictureArgs,

    /// The gold labels of --images: for each picture a grey one of the same name
    #[arg(long, value_name = "DIR", requires_all = ["images", "model"], conflicts_with_all = ["test", "predicted", "label_column", "format"])]
    pub masks: Option<PathBuf>,

    /// Compare the last two columns of this file, gold and predicted, instead of tagging
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "test", "label_column", "format", "inference", "decode"])]
    pub predicted: Option<PathBuf>,

    /// Column of the gold label, from 0; -1 is the last [default: as in training]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = label_column)]
    pub label_column: Option<i32>,

    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArgs,
}

/// `crfkit inspect`.
#[derive(Debug, ClapArgs)]
pub struct InspectArgs {
    /// The model
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,

    /// How many of the heaviest weights to show of each kind
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// Only weights of this label
    #[arg(long, value_name = "L")]
    pub label: Option<String>,

    /// Only weights of this observation
    #[arg(long, value_name = "O")]
    pub observation: Option<String>,

    /// The whole model as tab-separated text
    #[arg(long, conflicts_with_all = ["top", "label", "observation"])]
    pub dump: bool,
}

/// `crfkit demo`.
#[derive(Debug, ClapArgs)]
pub struct DemoArgs {
    /// Another task than ingredient lines
    #[arg(value_enum)]
    pub task: Option<DemoTask>,

    /// Where `grid` writes its picture [default: crfkit-demo-grid.png]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write the demo's data and model to this directory, as train.tsv, test.tsv and model
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
}

/// A task that `crfkit demo` can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DemoTask {
    /// Noisy pictures made clean: logistic regression, mean field, loopy belief propagation
    Grid,
}

/// The version and the vector unit in use.
fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| format!("{} ({})", env!("CARGO_PKG_VERSION"), crfkit::math::simd::unit()))
}

/// One of `names`, parsed by the type itself.
fn named<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = crfkit::Error> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse::<T>())
}

/// One of `names`, which are how the type is stored.
fn stored<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| serde_json::from_value::<T>(name.into()))
}

/// A label column: from 0, or from the end for negative numbers.
fn label_column(text: &str) -> Result<i32, String> {
    text.parse().map_err(|_| "a column is a whole number: 0 is the first, -1 the last".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    #[test]
    fn the_commands_are_well_formed() {
        Args::command().debug_assert();
    }

    /// docs/CLI.md describes every flag, and no flag that does not exist.
    #[test]
    fn the_page_knows_the_same_flags() {
        let page = include_str!("../../../../docs/CLI.md");
        let mut documented = BTreeSet::new();
        for (at, _) in page.match_indices("--") {
            let name: String =
                page[at + 2..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            if name.starts_with(|c: char| c.is_ascii_lowercase()) && !page[..at].ends_with('-') {
                documented.insert(name);
            }
        }
        let mut command = Args::command();
        command.build();
        let all = std::iter::once(&command).chain(command.get_subcommands());
        let real: BTreeSet<String> = all
            .flat_map(|command| command.get_arguments())
            .filter_map(|argument| argument.get_long().map(str::to_owned))
            .collect();
        assert_eq!(documented, real);
        for command in command.get_subcommands() {
            assert!(page.contains(&format!("crfkit {}", command.get_name())), "{}", command.get_name());
        }
    }
}
