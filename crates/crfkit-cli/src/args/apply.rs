//! The arguments of `crfkit tag` and `crfkit eval`.

use super::{InputArgs, PictureArgs, label_column};
use crate::flags::Given;
use clap::{Args as ClapArgs, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;

const TAG_EXAMPLES: &str = "\
Examples:
  crfkit tag -m model new.tsv                   all columns of the input, and the label
  crfkit tag -m model --marginals new.tsv       and the label's probability
  echo \"2 cups of flour\" | crfkit tag -m model --text --output brackets
  crfkit tag -m model --output json < new.tsv   one JSON object per sequence
  crfkit tag -m model --nbest 3 new.tsv         the three best labellings of every sequence
  crfkit tag -m model --allowed 1 new.tsv       column 1 has the labels that a token may have
  crfkit tag -m one -m two new.tsv              two models together
  crfkit tag -m model --images DIR --output-dir OUT   label images for a directory of images
  crfkit tag -m model graphs.jsonl              one JSON object per graph, for a model of graphs
  crfkit tag -m model graphs.npz -o labels.npy  labels as an array, for graphs in arrays";

/// `crfkit tag`.
#[derive(Debug, ClapArgs)]
#[command(after_long_help = TAG_EXAMPLES)]
pub struct TagArgs {
    /// The model; several models of plain chains label together, by the mean of their marginals
    #[arg(short, long, value_name = "MODEL", required = true)]
    pub model: Vec<PathBuf>,

    /// Sequences or graphs to label, with or without labels; `-` for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub grid: PictureArgs,

    /// Directory for the label images and, with --marginals, the probability images
    #[arg(long, value_name = "DIR", requires = "images")]
    pub output_dir: Option<PathBuf>,

    /// Write arrays (NAME.npz with `labels` and, with --marginals, `marginals`) instead of label images
    #[arg(long, requires = "images")]
    pub arrays: bool,

    /// Write the labels of all graphs, and with --marginals their probabilities, as arrays to this file, .npy or .npz
    #[arg(short, long, value_name = "FILE", conflicts_with = "images")]
    pub output_file: Option<PathBuf>,

    /// Add the probability of each chosen label, or of all labels
    #[arg(long, value_name = "chosen|all", num_args = 0..=1, require_equals = true, default_missing_value = "chosen", hide_possible_values = true)]
    pub marginals: Option<Marginals>,

    /// Print the N best labellings of each sequence
    #[arg(long, value_name = "N")]
    pub nbest: Option<NonZeroUsize>,

    /// Add the probability of the whole labelling
    #[arg(long)]
    pub probability: bool,

    /// Add the probability of each chunk and of the whole labelling, and the entropy
    #[arg(long, conflicts_with = "nbest")]
    pub confidence: bool,

    /// Layout of the output
    #[arg(long, value_enum, default_value_t = Output::Columns)]
    pub output: Output,

    /// Rules on labels: none, a chunk notation, or a file of rules [default: those stored in the model]
    #[arg(long, value_name = "none|iob2|iobes|FILE")]
    pub constraint: Option<PathBuf>,

    /// Labels or chunk types that occur at most once in a sequence, separated by commas; exact, with probabilities, as long as
    /// labels × 2^N is at most 4096 for N names (label pairs × 2^N with --order 2)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub at_most_once: Vec<String>,

    /// Column of the input with the labels that each token may have: `?` for any, a label, or several joined by `|`. For a factorial
    /// chain, one for each of its label columns, such as 1,2
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', allow_hyphen_values = true, value_parser = label_column, conflicts_with = "text")]
    pub allowed: Vec<i32>,

    /// Read running text, one sequence per line, and split it into tokens
    #[arg(long, conflicts_with_all = ["format", "fields", "images"])]
    pub text: bool,

    /// Split the lines of --text into sentences
    #[arg(long, requires = "text", conflicts_with_all = ["format", "fields", "images", "allowed"])]
    pub sentences: bool,

    /// What to do with rows that have more columns than the training data had
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = ExtraColumns::Reject)]
    pub extra_columns: ExtraColumns,

    /// Write the answer to each sequence before reading the next one, even if the input is a file
    #[arg(long)]
    pub line_buffered: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArgs,

    /// The flags that were given on the command line.
    #[arg(skip)]
    pub given: Given,
}

/// The labels whose probabilities `crfkit tag` adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Marginals {
    /// Those of the labels that were chosen
    Chosen,
    /// Those of all labels
    All,
}

/// What to do with rows that have more columns than the training data had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExtraColumns {
    /// End with an error
    #[default]
    Reject,
    /// Accept them; tag copies them to the output
    Ignore,
}

/// Layout of the output of `crfkit tag`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// All input columns, then the label, separated by tabs
    Columns,
    /// As crf_test prints it; --marginals is its `-v1`, --marginals all its `-v2`, --nbest its `-n`
    Crfpp,
    /// One JSON object per sequence
    Json,
    /// The text with labels in brackets: [QTY 2] [UNIT cups] of [NAME flour]
    Brackets,
}

const EVAL_EXAMPLES: &str = "\
Examples:
  crfkit eval -m model test.tsv                 tag, compare, print scores as conlleval does
  crfkit eval -m model --json test.tsv          the scores as one JSON object
  crfkit eval --predicted tagged.tsv            the last two columns are gold and predicted labels
  crfkit eval --predicted one.tsv --against two.tsv   is one better than the other, or is it chance?
  crfkit eval -m model --images DIR --masks DIR   the share of wrong pixels";

/// `crfkit eval`.
#[derive(Debug, ClapArgs)]
#[command(after_long_help = EVAL_EXAMPLES)]
pub struct EvalArgs {
    /// The model; several models of plain chains label together, by the mean of their marginals
    #[arg(short, long, value_name = "MODEL")]
    pub model: Vec<PathBuf>,

    /// Labelled sequences or graphs; `-` for standard input
    #[arg(value_name = "TEST", required_unless_present_any = ["predicted", "images"], requires = "model")]
    pub test: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub grid: PictureArgs,

    /// Gold labels of the images: for each image a grey image (or .npy) of the same name
    #[arg(long, value_name = "DIR", requires_all = ["images", "model"], conflicts_with_all = ["test", "predicted", "label_column", "format"])]
    pub masks: Option<PathBuf>,

    /// Compare the last two columns of this file, gold and predicted, instead of tagging
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "test", "label_column", "format", "fields", "extra_columns", "inference", "decode", "constraint", "partial_labels", "calibration"])]
    pub predicted: Option<PathBuf>,

    /// Compare with other predictions of the same data, in this file: the difference of the scores with its 95 % interval and p-value, by
    /// a paired bootstrap of 10,000 resamples
    #[arg(long, value_name = "FILE", requires = "predicted", conflicts_with_all = ["model", "test"])]
    pub against: Option<PathBuf>,

    /// Seed of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 1, requires = "against", conflicts_with_all = ["model", "test"])]
    pub seed: u64,

    /// Column of the gold label, from 0; -1 is the last [default: as in training]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = label_column)]
    pub label_column: Option<i32>,

    /// What to do with rows that have more columns than the training data had; --label-column accepts them
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = ExtraColumns::Reject)]
    pub extra_columns: ExtraColumns,

    /// Rules on labels: none, a chunk notation, or a file of rules [default: those stored in the model]
    #[arg(long, value_name = "none|iob2|iobes|FILE")]
    pub constraint: Option<PathBuf>,

    /// Labels may be missing: tokens with ? or with one of several labels (B-PER|B-ORG) are not compared
    #[arg(long)]
    pub partial_labels: bool,

    /// Show how well probabilities agree with accuracies: a reliability table and the expected calibration error
    #[arg(long)]
    pub calibration: bool,

    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArgs,

    /// The flags that were given on the command line.
    #[arg(skip)]
    pub given: Given,
}
