//! The arguments of `crfkit train`.

use super::{EmpiricalArgs, GridArgs, InputArgs, ParameterArgs, label_column, named, stored};
use crate::error::usage;
use crate::flags::Given;
use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use crfkit::data::presets::PRESETS;
use crfkit::data::rule::Rule;
use crfkit::data::template::Dialect;
use crfkit::loss::Pieces;
use crfkit::model::{Keep, Precision};
use crfkit::train::{self, BatchOf, Criterion, Kind, Method, Parameters, Scaling, Settings};
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

The objective is the sum over the sequences of -log p(labels | observations), plus the sum over the weights of
w²/(2σ²), plus L1 times the sum of |w|. If you come from another program:

  program    its setting                   here
  CRFsuite   c2 (adds c2·w²)               --sigma S with S = 1/sqrt(2·c2)   (c2=1: 0.7071; c2=0.5: 1)
  CRFsuite   c1 (adds c1·|w|)              --l1 c1
  CRF++      -c C (adds w²/(2·C))          --sigma S with S = sqrt(C)        (-c 1: 1; -c 4: 2)
  CRF++      -a CRF-L1 -c C (adds |w|/C)   --l1 1/C --sigma inf
  CRF++      -f N                          --min-count N; its features are --features all
  Wapiti     -2 R (adds R·w²/2)            --sigma S with S = 1/sqrt(R)      (-2 0.00001: 316.2)
  Wapiti     -1 R (adds R·|w|)             --l1 R

With --method nothing is minimised: the model is made of counts, in one pass.

Weights are exactly 0 only with --l1. If the other program has no Gaussian prior, use --sigma inf.

Ctrl-C finishes the step and saves the model trained so far; a second Ctrl-C ends at once.";

/// `crfkit train`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct TrainArgs {
    /// Labelled sequences or graphs; `-` for standard input
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

    /// A ready-made template instead
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = presets(), help_heading = "Features")]
    pub preset: String,

    /// Template dialect: CRF++ or Wapiti
    #[arg(long, value_name = "NAME", default_value = "crfpp", value_parser = named::<Dialect>(&["crfpp", "wapiti"]), help_heading = "Features")]
    pub template_dialect: Dialect,

    /// Column of the label, from 0; -1 is the last. Several columns, as in 1,2, with --graph factorial
    #[arg(long, value_name = "N", default_value = "-1", value_delimiter = ',', allow_hyphen_values = true, value_parser = label_column, help_heading = "Features")]
    pub label_column: Vec<i32>,

    /// Rule that says which tokens a skip chain links, such as 'same(0) and capitalised(0)'
    #[arg(long, value_name = "RULE", value_parser = str::parse::<Rule>, help_heading = "Graphs")]
    pub skip: Option<Rule>,

    /// Give the links of a skip chain weights for the observations of both tokens, not only one tied table
    #[arg(long, requires = "skip", help_heading = "Graphs")]
    pub skip_observations: bool,

    /// Ignore observations that occur fewer than N times
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Features")]
    pub min_count: u32,

    /// Which (observation, label) pairs get a weight: those seen in training, or all
    #[arg(long, value_name = "WHICH", default_value = "observed", value_parser = stored::<Keep>(&["observed", "all"]), help_heading = "Features")]
    pub features: Keep,

    /// Add weights for the first and the last label of a sequence
    #[arg(long, help_heading = "Features")]
    pub boundaries: bool,

    /// Standard deviation of the Gaussian prior; inf for none [default: 1]
    #[arg(long, value_name = "S", allow_negative_numbers = true, help_heading = "Objective")]
    pub sigma: Option<f64>,

    /// Standard deviation of the prior on the weights of label pairs [default: --sigma]
    #[arg(long, value_name = "S", allow_negative_numbers = true, help_heading = "Objective")]
    pub sigma_pairs: Option<f64>,

    /// Standard deviation of the prior on the weights of one type of --graph file; may be repeated
    #[arg(long, value_name = "TYPE=S", value_parser = sigma_of, help_heading = "Objective")]
    pub sigma_of: Vec<(String, f64)>,

    /// Mean of the prior: a number, or the weights of a model
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

    /// The size of features that have values, in training: unit divides each by the root mean square of its values, and
    /// the weights in the model make up for it; none leaves them as they are
    #[arg(long, value_name = "HOW", default_value = "unit", value_parser = stored::<Scaling>(&["unit", "none"]), help_heading = "Objective")]
    pub scaling: Scaling,

    /// What is minimised besides the penalties; `crfkit list objectives` describes the choices [default: likelihood]
    #[arg(long, value_name = "OBJECTIVE", value_parser = objectives(), help_heading = "Objective")]
    pub objective: Option<Criterion>,

    /// The pieces of the piecewise objectives (factor|edge|shared-unary|trees|window:N|rows|columns|file): each factor alone,
    /// each label pair with the observations of its right node or of both nodes, trees as large as possible, N consecutive
    /// pairs, the lines of a grid, or the pieces that the file of graphs names [default: edge]
    #[arg(long, value_name = "WHICH", help_heading = "Objective")]
    pub pieces: Option<Pieces>,

    /// What a batch of an online method consists of, with the piecewise objectives: whole graphs, or pieces of graphs
    #[arg(long, value_name = "WHAT", default_value = "graphs", value_parser = stored::<BatchOf>(&["graphs", "pieces"]), help_heading = "Objective")]
    pub batch_of: BatchOf,

    /// Method that minimises the objective; `crfkit list optimizers` describes the choices
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = methods(), help_heading = "Optimisation")]
    pub optimizer: Chosen,

    /// Make at most N passes over the data [default: until convergence; each online method has its own number]
    #[arg(long, value_name = "N", help_heading = "Optimisation")]
    pub passes: Option<NonZeroUsize>,

    /// Stop after X seconds of training; the result then depends on the machine
    #[arg(long, value_name = "X", allow_negative_numbers = true, help_heading = "Optimisation")]
    pub seconds: Option<f64>,

    /// Train in one pass with psa that reads every sequence, uses it once and forgets it; memory depends only on the number of
    /// different features
    #[arg(long, help_heading = "Optimisation")]
    pub stream: bool,

    /// Number of sequences in the whole stream: each step has 1/N of the prior [default: those so far, rounded up to a power
    /// of 2, at least 1024]
    #[arg(long, value_name = "N", requires = "stream", help_heading = "Optimisation")]
    pub examples: Option<NonZeroU64>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub parameters: ParameterArgs,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = Settings::default().seed, help_heading = "Optimisation")]
    pub seed: u64,

    /// Weights to start from: zeros, small random numbers, co-occurrence rates, those of logistic regression (for images), or
    /// those of a model [default: zero; images: logistic]
    #[arg(long, value_name = "zero|random|empirical|logistic|FILE", help_heading = "Optimisation")]
    pub init: Option<Init>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub empirical: EmpiricalArgs,

    /// Labelled sequences to evaluate on after each pass; the best model is kept
    #[arg(long, value_name = "FILE", help_heading = "Development data")]
    pub dev: Option<PathBuf>,

    /// Stop after N evaluations without a better one; 0 for never
    #[arg(long, value_name = "N", default_value_t = Settings::default().patience, help_heading = "Development data")]
    pub patience: usize,

    /// Number format of the weights in the model file
    #[arg(long, value_name = "FORMAT", default_value = "f64", value_parser = named::<Precision>(&["f64", "f32", "f16"]), help_heading = "Model file")]
    pub precision: Precision,

    /// Leave out weights of at most this absolute value
    #[arg(long, value_name = "THRESHOLD", allow_negative_numbers = true, help_heading = "Model file")]
    pub shrink: Option<f64>,

    /// Record the run in this file, one JSON object per line
    #[arg(long, value_name = "RUN.jsonl", help_heading = "Running")]
    pub log: Option<PathBuf>,

    /// Write an HTML page with learning curves, the heaviest weights, and the mistakes on the development data
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub report: Option<PathBuf>,

    /// Keep the whole state of the run in this file, and resume from it if it exists
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub checkpoint: Option<PathBuf>,

    /// Print nothing but errors
    #[arg(long, help_heading = "Running")]
    pub quiet: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArgs,

    /// The flags that were given on the command line.
    #[arg(skip)]
    pub given: Given,
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
    /// Those of logistic regression, and 0.5 for equal neighbours; for images.
    Logistic,
    /// The weights of the model in this file.
    Model(PathBuf),
}

impl Init {
    /// The corresponding value of the settings.
    fn setting(&self) -> train::Init {
        match self {
            Init::Zero => train::Init::Zero,
            Init::Random => train::Init::Random,
            Init::Empirical => train::Init::Empirical,
            Init::Logistic => train::Init::Logistic,
            Init::Model(_) => train::Init::Model,
        }
    }
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

/// A method, or the preset `perceptron`, which is chosen like a method.
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
    /// The settings for training a model of this kind.
    pub fn settings(&self, kind: Kind) -> Result<Settings> {
        let (given, usual) = (self.parameters.parameters(), Settings::of(kind));
        let preset = match self.optimizer {
            Chosen::Method(optimizer) => Settings { optimizer, parameters: given, ..usual.clone() },
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
            sigma: self.sigma.unwrap_or(preset.sigma),
            sigma_pairs: self.sigma_pairs,
            sigma_of: self.sigma_of.iter().cloned().collect(),
            prior_mean: match self.prior_mean {
                PriorMean::Value(mean) => train::PriorMean::Value(mean),
                PriorMean::Model(_) => train::PriorMean::Model,
            },
            l1: self.l1,
            scaling: self.scaling,
            min_count: self.min_count,
            features: self.features,
            boundaries: self.boundaries,
            objective: self.objective.unwrap_or(preset.objective),
            pieces: self.pieces,
            batch_of: self.batch_of,
            inference: self.grid.inference,
            init: self.init.as_ref().map_or(usual.init, Init::setting),
            passes: self.passes.map(NonZeroUsize::get),
            seed: self.seed,
            patience: self.patience,
            precision: self.precision,
            shrink: self.shrink,
            ..preset
        })
    }

    /// Rejects flags that the preset `perceptron` cannot use.
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
                "--{name} does not go with --optimizer perceptron, which has its own objective and no penalty; for other \
                 combinations use --objective perceptron --optimizer sgd"
            ))),
            None => Ok(()),
        }
    }
}
