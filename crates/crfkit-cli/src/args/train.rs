//! The arguments of `crfkit train`.

use super::{EmpiricalArgs, GridArgs, InputArgs, ParameterArgs, label_column, named, stored};
use crate::error::usage;
use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use crfkit::data::presets::PRESETS;
use crfkit::data::rule::Rule;
use crfkit::data::template::Dialect;
use crfkit::loss::Pieces;
use crfkit::model::{Keep, Precision};
use crfkit::train::{BatchOf, Criterion, Method, Parameters, Settings};
use std::convert::Infallible;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;

const NOTES: &str = "\
Examples:
  crfkit train train.tsv -m model
  crfkit train train.tsv --dev dev.tsv --preset ner -m model
  crfkit train train.tsv --template template.txt --features all --sigma 2 -m model
  crfkit train train.tsv --method ep1 --heldout dev.tsv -m model
  zcat corpus.gz | crfkit train - --optimizer psa --stream -m model
  crfkit train train.tsv --graph factorial --label-column 1,2 -m model
  crfkit train train.tsv --graph skip-chain --skip 'same(0) and capitalised(0)' -m model
  crfkit train --format attributes train.iwa.gz --optimizer lbfgs --log run.jsonl -m model
  crfkit train --graph grid --images DIR --masks DIR --init logistic -m model
  crfkit train --graph file graphs.jsonl -m model

What is minimised: the sum over the sequences of -log p(labels | observations), plus the sum over the weights of
w²/(2σ²), plus L1 times the sum of |w|. Coming from another program:

  program    its setting                   here
  CRFsuite   c2 (adds c2·w²)               --sigma S with S = 1/sqrt(2·c2)   (c2=1: 0.7071; c2=0.5: 1)
  CRFsuite   c1 (adds c1·|w|)              --l1 c1
  CRF++      -c C (adds w²/(2·C))          --sigma S with S = sqrt(C)        (-c 1: 1; -c 4: 2)
  CRF++      -a CRF-L1 -c C (adds |w|/C)   --l1 1/C --sigma inf
  CRF++      -f N                          --min-count N; its features are --features all
  Wapiti     -2 R (adds R·w²/2)            --sigma S with S = 1/sqrt(R)      (-2 0.00001: 316.2)
  Wapiti     -1 R (adds R·|w|)             --l1 R

With --method there is nothing to minimise: the model is made of counts, in one pass.

Only with --l1 are weights exactly 0; where the other program has no Gaussian prior, say --sigma inf.

Ctrl-C finishes the step and saves the model so far; a second one ends at once.";

/// `crfkit train`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct TrainArgs {
    /// Labelled sequences; `-` for standard input
    #[arg(value_name = "TRAIN", required_unless_present = "images")]
    pub train: Vec<PathBuf>,

    /// Where to write the model
    #[arg(short, long, value_name = "MODEL")]
    pub model: PathBuf,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub grid: GridArgs,

    /// Feature templates, in CRF++'s or Wapiti's syntax
    #[arg(long, value_name = "FILE", conflicts_with = "preset", help_heading = "Features")]
    pub template: Option<PathBuf>,

    /// Ready-made templates
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = presets(), help_heading = "Features")]
    pub preset: String,

    /// Whose template syntax is followed to the letter
    #[arg(long, value_name = "NAME", default_value = "crfpp", value_parser = named::<Dialect>(&["crfpp", "wapiti"]), help_heading = "Features")]
    pub template_dialect: Dialect,

    /// Column of the label, from 0; -1 is the last; several with --graph factorial, as in 1,2
    #[arg(long, value_name = "N", default_value = "-1", value_delimiter = ',', allow_hyphen_values = true, value_parser = label_column, help_heading = "Features")]
    pub label_column: Vec<i32>,

    /// Which tokens a skip chain links, such as 'same(0) and capitalised(0)'
    #[arg(long, value_name = "RULE", value_parser = str::parse::<Rule>, help_heading = "Graphs")]
    pub skip: Option<Rule>,

    /// Give these links the observations of both tokens, not only one tied table
    #[arg(long, requires = "skip", help_heading = "Graphs")]
    pub skip_observations: bool,

    /// Ignore observations that occur more rarely
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Features")]
    pub min_count: u32,

    /// Which get a weight: those seen in training, or all labels of every observation
    #[arg(long, value_name = "WHICH", default_value = "observed", value_parser = stored::<Keep>(&["observed", "all"]), help_heading = "Features")]
    pub features: Keep,

    /// Weights for the first and the last label of a sequence
    #[arg(long, help_heading = "Features")]
    pub boundaries: bool,

    /// Standard deviation of the Gaussian prior; inf for none [default: 1]
    #[arg(long, value_name = "S", allow_negative_numbers = true, help_heading = "Objective")]
    pub sigma: Option<f64>,

    /// The same for the weights of label pairs [default: --sigma]
    #[arg(long, value_name = "S", allow_negative_numbers = true, help_heading = "Objective")]
    pub sigma_pairs: Option<f64>,

    /// The same for the weights of one type of --graph file; may be repeated
    #[arg(long, value_name = "TYPE=S", value_parser = sigma_of, help_heading = "Objective")]
    pub sigma_of: Vec<(String, f64)>,

    /// Mean of the prior: a number, or a model whose weights it is
    #[arg(
        long,
        value_name = "X|MODEL",
        default_value = "0",
        allow_negative_numbers = true,
        help_heading = "Objective"
    )]
    pub prior_mean: PriorMean,

    /// Weight of the L1 penalty
    #[arg(
        long,
        value_name = "X",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        help_heading = "Objective"
    )]
    pub l1: f64,

    /// What is minimised, besides the penalties; `crfkit list objectives` describes them [default: likelihood, for
    /// pictures marginal]
    #[arg(long, value_name = "OBJECTIVE", value_parser = objectives(), help_heading = "Objective")]
    pub objective: Option<Criterion>,

    /// What a piece is, for the piecewise objectives (factor|edge|shared-unary|trees|window:N|rows|columns|file): each factor
    /// alone, each label pair with its right node's or with both nodes' observations, trees as large as they come, N pairs in a
    /// row, the lines of a grid, or as the file of graphs says [default: edge]
    #[arg(long, value_name = "WHICH", help_heading = "Objective")]
    pub pieces: Option<Pieces>,

    /// What a batch of an online method consists of, with the piecewise objectives: whole graphs, or pieces of them
    #[arg(long, value_name = "WHAT", default_value = "graphs", value_parser = stored::<BatchOf>(&["graphs", "pieces"]), help_heading = "Objective")]
    pub batch_of: BatchOf,

    /// How the objective is minimised; `crfkit list optimizers` describes them
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = methods(), help_heading = "Optimisation")]
    pub optimizer: Chosen,

    /// Passes over the data at most [default: until it has converged; online methods have a number of their own]
    #[arg(long, value_name = "N", help_heading = "Optimisation")]
    pub passes: Option<NonZeroUsize>,

    /// Stop after so many seconds of training; the result then depends on the machine
    #[arg(long, value_name = "X", allow_negative_numbers = true, help_heading = "Optimisation")]
    pub seconds: Option<f64>,

    /// One pass with psa, in which every sequence is read, used once and forgotten; what stays in memory depends on the number
    /// of different features alone
    #[arg(long, help_heading = "Optimisation")]
    pub stream: bool,

    /// Sequences in the whole stream, by which the prior is shared out [default: those so far, rounded up to a power of 2,
    /// at least 1024]
    #[arg(long, value_name = "N", requires = "stream", help_heading = "Optimisation")]
    pub examples: Option<NonZeroU64>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub parameters: ParameterArgs,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = Settings::default().seed, help_heading = "Optimisation")]
    pub seed: u64,

    /// Weights to start from: zeros, small random ones, co-occurrence rates, or those of a model; for pictures also
    /// logistic regression [default: zero, for pictures logistic]
    #[arg(long, value_name = "zero|random|empirical|logistic|FILE", help_heading = "Optimisation")]
    pub init: Option<Init>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub empirical: EmpiricalArgs,

    /// Labelled sequences to evaluate on after each pass; the best model is kept
    #[arg(long, value_name = "FILE", help_heading = "Development data")]
    pub dev: Option<PathBuf>,

    /// Stop after so many evaluations without a better one; 0 for never
    #[arg(long, value_name = "N", default_value_t = Settings::default().patience, help_heading = "Development data")]
    pub patience: usize,

    /// Number format of the weights in the model file
    #[arg(long, value_name = "FORMAT", default_value = "f64", value_parser = named::<Precision>(&["f64", "f32", "f16"]), help_heading = "Model file")]
    pub precision: Precision,

    /// Leave out weights of at most this absolute value
    #[arg(long, value_name = "THRESHOLD", allow_negative_numbers = true, help_heading = "Model file")]
    pub shrink: Option<f64>,

    /// Write what happens to this file, one JSON object a line
    #[arg(long, value_name = "RUN.jsonl", help_heading = "Running")]
    pub log: Option<PathBuf>,

    /// Write a page with learning curves, what was learned and mistakes on the development data
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub report: Option<PathBuf>,

    /// Keep the whole state of the run in this file, and go on from it if it is there
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub checkpoint: Option<PathBuf>,

    /// Print nothing but errors
    #[arg(long, help_heading = "Running")]
    pub quiet: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArgs,
}

/// Mean of the prior.
#[derive(Clone, Debug, PartialEq)]
pub enum PriorMean {
    /// One number for all weights.
    Value(f64),
    /// The weights of the model in this file.
    Model(PathBuf),
}

impl FromStr for PriorMean {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.parse().map_or_else(|_| PriorMean::Model(text.into()), PriorMean::Value))
    }
}

/// Weights to start from.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// All 0.
    Zero,
    /// Small random numbers.
    Random,
    /// Co-occurrence rates of words and labels.
    Empirical,
    /// Those of logistic regression, and 0.5 for equal neighbours: for pictures.
    Logistic,
    /// The weights of the model in this file.
    Model(PathBuf),
}

impl FromStr for Init {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "zero" => Init::Zero,
            "random" => Init::Random,
            "empirical" => Init::Empirical,
            "logistic" => Init::Logistic,
            path => Init::Model(path.into()),
        })
    }
}

/// A method, or the preset that is called like one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Chosen {
    /// A method.
    Method(Method),
    /// Collins' perceptron: `--objective perceptron --optimizer sgd --eta0 1 --batch 1`, no prior.
    Perceptron,
}

fn methods() -> impl TypedValueParser<Value = Chosen> {
    let preset = PossibleValue::new("perceptron")
        .help("Collins' perceptron: its objective, sgd, --eta0 1, --batch 1, no prior");
    let value = |method: Method| PossibleValue::new(method.name()).help(method.declaration().about);
    PossibleValuesParser::new(Method::ALL.into_iter().map(value).chain([preset])).map(|name| {
        Method::ALL
            .into_iter()
            .find(|method| method.name() == name)
            .map_or(Chosen::Perceptron, Chosen::Method)
    })
}

fn objectives() -> impl TypedValueParser<Value = Criterion> {
    let value = |criterion: Criterion| PossibleValue::new(criterion.name()).help(criterion.about());
    PossibleValuesParser::new(Criterion::ALL.map(value))
        .try_map(|name| serde_json::from_value::<Criterion>(name.into()))
}

/// A type and its σ.
fn sigma_of(text: &str) -> Result<(String, f64), String> {
    let parts = text.rsplit_once('=').and_then(|(name, sigma)| Some((name.to_owned(), sigma.parse().ok()?)));
    parts.ok_or_else(|| "write TYPE=S, a type and a number, such as cites=0.5".into())
}

fn presets() -> PossibleValuesParser {
    PRESETS
        .iter()
        .map(|preset| PossibleValue::new(preset.name).help(preset.description))
        .collect::<Vec<_>>()
        .into()
}

impl TrainArgs {
    /// The part that the library knows.
    pub fn settings(&self) -> Result<Settings> {
        let given = self.parameters.parameters();
        let default = match self.optimizer {
            Chosen::Method(optimizer) => Settings { optimizer, parameters: given, ..Settings::default() },
            Chosen::Perceptron => {
                self.check_perceptron()?;
                let mut preset = Settings::perceptron(given.average == Some(true));
                let Parameters { eta0, batch, .. } = preset.parameters;
                preset.parameters =
                    Parameters { eta0: given.eta0.or(eta0), batch: given.batch.or(batch), ..given };
                preset
            }
        };
        Ok(Settings {
            sigma: self.sigma.unwrap_or(default.sigma),
            sigma_pairs: self.sigma_pairs,
            prior_mean: match self.prior_mean {
                PriorMean::Value(mean) => mean,
                PriorMean::Model(_) => 0.0,
            },
            l1: self.l1,
            min_count: self.min_count,
            features: self.features,
            boundaries: self.boundaries,
            objective: self.objective.unwrap_or(default.objective),
            pieces: self.pieces,
            batch_of: self.batch_of,
            passes: self.passes.map(NonZeroUsize::get),
            seed: self.seed,
            patience: self.patience,
            ..default
        })
    }

    /// What the preset `perceptron` has no use for.
    fn check_perceptron(&self) -> Result<()> {
        let refused = [
            ("sigma", self.sigma.is_some()),
            ("sigma-pairs", self.sigma_pairs.is_some()),
            ("sigma-of", !self.sigma_of.is_empty()),
            ("prior-mean", self.prior_mean != PriorMean::Value(0.0)),
            ("l1", self.l1 != 0.0),
            ("objective", self.objective.is_some_and(|objective| objective != Criterion::Perceptron)),
        ];
        match refused.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(usage(format!(
                "--{name} is not for --optimizer perceptron, which has an objective of its own and no penalty; for other \
                 mixtures say --objective perceptron --optimizer sgd"
            ))),
            None => Ok(()),
        }
    }
}
