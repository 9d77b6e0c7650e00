//! The command line: its arguments and their help texts.

mod apply;
mod choices;
mod constraint;
mod convert;
mod empirical;
mod explore;
mod grid;
mod parameters;
mod report;
mod search;
mod train;

pub use apply::{EvalArgs, ExtraColumns, Marginals, Output, TagArgs};
pub use choices::{Init, Penalty, PriorMean};
pub use constraint::Rules;
pub use convert::{ConvertArgs, ModelFormat, NoConstraint};
pub use empirical::EmpiricalArgs;
pub use explore::{CalibrateArgs, DiffArgs, EditArgs, ExplainArgs, RankArgs, RankBy, RankOutput, Shown};
pub use grid::{Decode, GridArgs, PictureArgs};
pub use parameters::ParameterArgs;
pub use report::{ReportArgs, WatchArgs};
pub use search::{CvArgs, Folds, SearchArgs, TrainingPart};
pub use train::TrainArgs;

use crate::error::end;
use crate::flags::{self, Given};
use crate::help;
use crate::io::Reading;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use crfkit::data::conllu::Fields;
use crfkit::data::text::Encoding;
use crfkit::eval::Scheme;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::OnceLock;

const EXAMPLES: &str = "\
Examples:
  crfkit demo                                   see it work, in a few seconds
  crfkit train train.tsv -m model               train on CoNLL columns; the last column is the label
  crfkit tag -m model new.tsv > tagged.tsv      label new text
  crfkit eval -m model test.tsv                 precision, recall, F1
  crfkit inspect model                          what the model has learned
  crfkit report run.jsonl -o report.html        learning curves and more on one HTML page

`-` is standard input; .gz and .zst files are decompressed.
Exit status: 0 success, 1 failure, 2 wrong usage, 130 interrupted.";

/// Train, apply and inspect conditional random fields
#[derive(Debug, Parser)]
#[command(name = "crfkit", version = version(), after_help = EXAMPLES, max_term_width = 100, disable_help_subcommand = true)]
pub struct Args {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

impl Args {
    /// Parses the command line; ends the program if it makes no sense, or if help is asked for.
    pub fn from_command_line() -> Self {
        let arguments = joined(std::env::args_os());
        let command = help::shaped(flags::annotate(with_negative_numbers(Args::command())), &arguments);
        let matches = command.clone().try_get_matches_from(arguments).unwrap_or_else(|said| end(&said));
        let mut args = Args::from_arg_matches(&matches).unwrap_or_else(|said| end(&said));
        if let Some((name, matches)) = matches.subcommand()
            && let Some(verb) = command.find_subcommand(name)
        {
            let given = Given::of(verb, matches);
            match &mut args.command {
                Command::Train(args) => args.given = given,
                Command::Cv(args) => args.given = given,
                Command::Search(args) => args.given = given,
                Command::Tag(args) => args.given = given,
                Command::Eval(args) => args.given = given,
                Command::Report(args) => args.given = given,
                Command::Explain(args) => args.given = given,
                Command::Diff(args) => args.given = given,
                Command::Rank(args) => args.given = given,
                _ => {}
            }
        }
        args
    }
}

/// Lets the value of every flag be a negative number: if it must not be, the flag's own error says so.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    command.mut_subcommands(|verb| {
        verb.mut_args(|argument| {
            match argument.get_long().is_some() && argument.get_action().takes_values() {
                true => argument.allow_negative_numbers(true),
                false => argument,
            }
        })
    })
}

/// The arguments, with `--marginals all` as `--marginals=all`: clap cannot tell a value that may be left out from the file behind it.
fn joined(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = Vec::new();
    for argument in arguments {
        match all.last_mut() {
            Some(last) if last == "--marginals" && (argument == "all" || argument == "chosen") => {
                last.push("=");
                last.push(argument);
            }
            _ => all.push(argument),
        }
    }
    all
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train a model on labelled sequences, images or graphs
    Train(Box<TrainArgs>),
    /// Cross-validate: train and test on parts of the data in turn
    Cv(Box<CvArgs>),
    /// Try a grid of settings and keep the best model
    Search(Box<SearchArgs>),
    /// Label new data with a model
    Tag(TagArgs),
    /// Compare labels with gold labels: precision, recall, F1, accuracy
    Eval(EvalArgs),
    /// Show what a model has learned
    Inspect(InspectArgs),
    /// Convert a model between the formats of crfkit and of other toolkits
    Convert(ConvertArgs),
    /// Explain why a label beat the runner-up, observation by observation
    Explain(ExplainArgs),
    /// Fit a temperature, so that probabilities agree with labelled data
    Calibrate(CalibrateArgs),
    /// Rank unlabelled sequences by the model's uncertainty, to choose what to label next
    Rank(RankArgs),
    /// Show how two models differ, and what they label differently
    Diff(DiffArgs),
    /// Set, delete or forbid weights of a model by name
    Edit(EditArgs),
    /// Turn run logs into one HTML page: learning curves, settings, scores, weights
    Report(ReportArgs),
    /// Show the report in a browser while training runs, and keep it up to date
    Watch(WatchArgs),
    /// Train, evaluate and apply a model on a small task that comes with the program
    Demo(DemoArgs),
    /// List the optimisers with their parameters, the objectives, or the presets
    List {
        /// The list to show
        #[arg(value_enum)]
        what: Listed,
        /// Show only this entry; for a preset, its template
        name: Option<String>,
    },
    /// Print the help of a command or topic, such as templates, formats or images
    Help {
        /// The command or topic; without it, all of them are listed
        topic: Option<String>,
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

/// The lists that `crfkit list` can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// Methods, their parameters, and the objectives they minimise
    Optimizers,
    /// Objectives, and the methods that minimise them
    Objectives,
    /// Ready-made templates
    Presets,
}

/// The flags that `train`, `tag`, `eval` and `report` have in common.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Input")]
pub struct InputArgs {
    /// Format of the data [default: json for .jsonl, conllu for .conllu; otherwise columns, or the format that the model was trained on]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,

    /// CoNLL-U fields that become the columns of a token [default: the model's, in training form,upos]
    #[arg(long, value_name = "NAMES")]
    pub fields: Option<Fields>,

    /// Convert chunk labels to this notation: those of the data in training and evaluation, the predicted ones in tag
    #[arg(long, value_name = "NAME", value_parser = named::<Scheme>(&Scheme::NAMES))]
    pub scheme: Option<Scheme>,

    /// Character encoding; there is no Unicode normalisation
    #[arg(long, value_name = "NAME", default_value = "utf-8", value_parser = named::<Encoding>(&["utf-8", "latin-1"]))]
    pub encoding: Encoding,

    /// Column with the weight of each sequence in training; it is not a feature, and other columns are counted without it
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = label_column)]
    pub weight_column: Option<i32>,

    /// Column with the weight of each token in training; not for the objectives likelihood, piecewise and perceptron
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = label_column)]
    pub token_weight_column: Option<i32>,

    /// Vectors of the tokens: a NumPy matrix (.npy) with one row per token, in order. With several training files, one matrix for each
    #[arg(long, value_name = "FILE.npy")]
    pub vectors: Vec<PathBuf>,

    /// Number of threads, at most 1024; the results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

impl InputArgs {
    /// How files are read.
    pub fn reading(&self, label_column: Option<i32>) -> Reading {
        let (format, fields, encoding, scheme) = (self.format, self.fields, self.encoding, self.scheme);
        let (weight_column, vectors) = (self.weight_column, self.vectors.first().cloned());
        Reading {
            format,
            fields,
            encoding,
            scheme,
            label_column,
            weight_column,
            token_weight_column: self.token_weight_column,
            vectors,
            ..Reading::default()
        }
    }

    /// The number of threads to use.
    pub fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(all, usize::from)
    }
}

/// Format of data files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// CoNLL columns: one token per line, fields separated by spaces or tabs, blank line between sequences
    Columns,
    /// CRFsuite's attribute lists: label, then attributes, separated by tabs
    Attributes,
    /// JSON lines: {"tokens": [...], "labels": [...]}; a token is a string or a list of the values of its columns
    Json,
    /// CoNLL-U: ten fields per token, of which --fields are used
    Conllu,
}

/// `crfkit inspect`.
#[derive(Debug, ClapArgs)]
pub struct InspectArgs {
    /// The model
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,

    /// Number of weights of each kind to show, the heaviest first
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// Show only weights of this label
    #[arg(long, value_name = "L")]
    pub label: Option<String>,

    /// Show only weights of this observation
    #[arg(long, value_name = "O")]
    pub observation: Option<String>,

    /// Print the whole model as tab-separated text
    #[arg(long, conflicts_with_all = ["top", "label", "observation"])]
    pub dump: bool,
}

/// `crfkit demo`.
#[derive(Debug, ClapArgs)]
pub struct DemoArgs {
    /// A task other than ingredient lines
    #[arg(value_enum)]
    pub task: Option<DemoTask>,

    /// Where `grid` writes its image [default: crfkit-demo-grid.png]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write the demo's data and model to this directory, as train.tsv, test.tsv and model
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
}

/// A task that `crfkit demo` can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DemoTask {
    /// Removing noise from images: logistic regression, mean field, loopy belief propagation
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

/// One of `names`, which are the stored forms of the type.
fn stored<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| serde_json::from_value::<T>(name.into()))
}

/// Columns from the first to the last, both included.
pub type ColumnRange = (usize, usize);

/// Columns of one range; a model with more would not fit anywhere.
const MAX_COLUMNS: usize = 1 << 16;

fn column_range(text: &str) -> Result<ColumnRange, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse::<usize>().ok().filter(|column| *column < MAX_COLUMNS);
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok((first, last)),
        _ => Err("a column such as 3, or columns such as 3-52; 0 is the first".into()),
    }
}

impl TrainArgs {
    /// The columns of numbers, ascending.
    pub fn dense_columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = self.dense.iter().flat_map(|&(first, last)| first..=last).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

/// A label column, counted from 0, or from the end if negative.
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
            .flat_map(|argument| argument.get_long_and_visible_aliases().unwrap_or_default())
            .map(str::to_owned)
            .collect();
        assert_eq!(documented, real);
        for command in command.get_subcommands() {
            assert!(page.contains(&format!("crfkit {}", command.get_name())), "{}", command.get_name());
        }
    }
}
