//! The arguments of the commands that look into models: `explain`, `diff`, `edit` and `rank`.

use super::grid::engines;
use super::{ExtraColumns, InputArgs, label_column};
use crate::flags::Given;
use clap::{Args as ClapArgs, ValueEnum};
use crfkit::infer::Engine;
use std::path::PathBuf;

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  crfkit explain -m model new.tsv               why every token has its label
  crfkit explain -m model --token 2 new.tsv     only the third token of every sequence
  crfkit explain -m model --only-wrong test.tsv only tokens whose label is not the gold label
  crfkit explain -m model --images DIR --token 40";

/// `crfkit explain`.
#[derive(Debug, ClapArgs)]
#[command(after_long_help = EXPLAIN_EXAMPLES)]
pub struct ExplainArgs {
    /// The model
    #[arg(short, long, value_name = "MODEL")]
    pub model: PathBuf,

    /// Sequences or graphs; `-` for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,

    /// Directory of images, for a model of images
    #[arg(long, value_name = "DIR", conflicts_with = "file")]
    pub images: Option<PathBuf>,

    /// Gold labels of the images: for each image a grey image (or .npy) of the same name
    #[arg(long, value_name = "DIR", requires = "images")]
    pub masks: Option<PathBuf>,

    /// Explain only token N of every sequence, counted from 0; pixels of images are counted row by row
    #[arg(long, value_name = "N")]
    pub token: Option<usize>,

    /// Explain only labels that differ from the gold labels
    #[arg(long)]
    pub only_wrong: bool,

    /// Rules on labels: none, a chunk notation, or a file of rules [default: those stored in the model]
    #[arg(long, value_name = "none|iob2|iobes|FILE")]
    pub constraint: Option<PathBuf>,

    /// Labels or chunk types that occur at most once in a sequence, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub at_most_once: Vec<String>,

    /// Show the K largest contributions, and the label without each of them
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub top: usize,

    /// Layout of the output
    #[arg(long, value_enum, default_value_t = Shown::Text)]
    pub output: Shown,

    /// Column of the gold label, from 0; -1 is the last [default: as in training]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = label_column)]
    pub label_column: Option<i32>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArgs,

    /// The flags that were given on the command line.
    #[arg(skip)]
    pub given: Given,
}

/// Whether an answer is for people or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shown {
    /// Aligned text
    Text,
    /// JSON, one object per line
    Json,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  crfkit diff old new                           settings, labels, weights and observations that differ
  crfkit diff old new --on test.tsv             and the sequences that they label differently";

/// `crfkit diff`.
#[derive(Debug, ClapArgs)]
#[command(after_long_help = DIFF_EXAMPLES)]
pub struct DiffArgs {
    /// The first model
    #[arg(value_name = "A")]
    pub first: PathBuf,

    /// The second model
    #[arg(value_name = "B")]
    pub second: PathBuf,

    /// Sequences or graphs that both models label; those with different labels are shown
    #[arg(long, value_name = "FILE")]
    pub on: Option<PathBuf>,

    /// Directory of images that both models label
    #[arg(long, value_name = "DIR", conflicts_with = "on")]
    pub images: Option<PathBuf>,

    /// Show the K weights that differ most, and the K heaviest observations that only one model has
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub top: usize,

    /// Layout of the output
    #[arg(long, value_enum, default_value_t = Shown::Text)]
    pub output: Shown,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArgs,

    /// The flags that were given on the command line.
    #[arg(skip)]
    pub given: Given,
}

const EDIT_NOTES: &str = "\
WEIGHTS has lines as in a dump (crfkit inspect --dump). The last field is a number, `delete` or `forbid`:
  transition  B-QTY  B-QTY  forbid
  node        U00:cup  B-UNIT  2.5
  node        U00:of   B-NAME  delete
Fields are separated by tabs. Empty lines and lines that begin with # are skipped.";

/// `crfkit edit`.
#[derive(Debug, ClapArgs)]
#[command(after_long_help = EDIT_NOTES)]
pub struct EditArgs {
    /// The model
    #[arg(short, long, value_name = "MODEL")]
    pub model: PathBuf,

    /// The new weights, as lines of a dump; `-` for standard input
    #[arg(value_name = "WEIGHTS")]
    pub weights: PathBuf,

    /// Where to write the new model
    #[arg(short, long, value_name = "MODEL")]
    pub output: PathBuf,

    /// Delete all weights that are not listed
    #[arg(long)]
    pub only: bool,
}

const RANK_EXAMPLES: &str = "\
Examples:
  crfkit rank -m model new.tsv                  where the model is least sure, one line per sequence
  crfkit rank -m model --top 50 --output columns new.tsv > to-label.tsv
  crfkit rank -m model --by margin new.tsv      by the lead of the best labelling";

/// `crfkit rank`.
#[derive(Debug, ClapArgs)]
#[command(after_long_help = RANK_EXAMPLES)]
pub struct RankArgs {
    /// The model
    #[arg(short, long, value_name = "MODEL")]
    pub model: PathBuf,

    /// Sequences or graphs, with or without labels; `-` for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,

    /// Directory of images, for a model of images
    #[arg(long, value_name = "DIR", conflicts_with = "file")]
    pub images: Option<PathBuf>,

    /// Measure of uncertainty [default: entropy; graphs and images: token-entropy]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub by: Option<RankBy>,

    /// Print the first N; 0 for all, in memory that grows with the file
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub top: usize,

    /// Layout of the output
    #[arg(long, value_enum, default_value_t = RankOutput::Text)]
    pub output: RankOutput,

    /// How marginals are computed on graphs with loops [default: as in training]
    #[arg(long, value_name = "ENGINE", value_parser = engines())]
    pub inference: Option<Engine>,

    /// What to do with rows that have more columns than the training data had
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = ExtraColumns::Reject)]
    pub extra_columns: ExtraColumns,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArgs,

    /// The flags that were given on the command line.
    #[arg(skip)]
    pub given: Given,
}

/// The measure of uncertainty that `crfkit rank` orders sequences by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RankBy {
    /// The exact entropy of the labelling: large if many labellings are probable, and larger for longer sequences
    Entropy,
    /// The lead of the best labelling over the second: the difference of their log-probabilities, smallest first
    Margin,
    /// The mean entropy of the labels of single tokens
    TokenEntropy,
    /// The sum of the entropies of the labels of single tokens
    TotalTokenEntropy,
}

impl RankBy {
    /// Its name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Layout of the output of `crfkit rank`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RankOutput {
    /// One line per sequence: score, number of tokens, place, words
    Text,
    /// One JSON object per sequence
    Json,
    /// The sequences themselves as they were read, ready to be labelled
    Columns,
}

/// `crfkit calibrate`.
#[derive(Debug, ClapArgs)]
pub struct CalibrateArgs {
    /// The model: a plain chain with weights
    #[arg(short, long, value_name = "MODEL")]
    pub model: PathBuf,

    /// Labelled sequences that the model was not trained on; `-` for standard input
    #[arg(value_name = "DEV")]
    pub dev: PathBuf,

    /// Where to write the model with its temperature
    #[arg(short, long, value_name = "MODEL")]
    pub output: PathBuf,

    /// Column of the gold label, from 0; -1 is the last [default: as in training]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = label_column)]
    pub label_column: Option<i32>,

    /// Labels may be missing: ? is any label, and B-PER|B-ORG one of the two
    #[arg(long)]
    pub partial_labels: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArgs,
}
