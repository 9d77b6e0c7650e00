//! The arguments of `crfkit train`.

use super::choices::{Chosen, Init, Penalty, PriorMean, methods, objectives, presets, sigma_of};
use super::constraint::Rules;
use super::{
    ColumnRange, EmpiricalArgs, GridArgs, InputArgs, ParameterArgs, TrainingPart, column_range, label_column,
    named, stored,
};
use crate::error::usage;
use crate::flags::Given;
use anyhow::Result;
use crfkit::data::rule::LinkRule;
use crfkit::data::template::Dialect;
use crfkit::loss::Pieces;
use crfkit::model::{Keep, Precision};
use crfkit::optim::Compute;
use crfkit::train::{self, BatchOf, Criterion, Kind, Method, Parameters, Scaling, Settings, Tuning};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

const NOTES: &str = "\
Examples:
  crfkit train train.tsv -m model
  crfkit train train.tsv --dev dev.tsv --preset ner -m model
  crfkit train train.tsv --template template.txt --features all --sigma 2 -m model
  crfkit train train.jsonl --log run.jsonl -m model
  crfkit train --format attributes train.iwa.gz --c2 0.1 -m model
  zcat corpus.gz | crfkit train - --optimizer psa --stream -m model
  crfkit train train.tsv --method ep1 --heldout dev.tsv -m model
  crfkit train train.tsv --graph factorial --label-column 1,2 -m model
  crfkit train train.tsv --graph skip-chain --skip 'same(0) and capitalised(0)' -m model
  crfkit train --graph grid --images DIR --masks DIR -m model
  crfkit train --graph file graphs.jsonl -m model

The objective is the sum over the sequences of -log p(labels | observations), plus the sum over the
weights of w²/(2σ²), plus L1 times the sum of |w|. Weights are exactly 0 only with --l1.

[only: ...] and [not: ...] name the kinds of model that a flag is for, or is not for: the values of
--graph, and `method` and `stream` for training with --method and --stream.

`crfkit help TOPIC` shows one topic: templates, formats, migrating (from CRF++, CRFsuite and
Wapiti), or the flags under one heading above, such as features, optimisation or images.

Ctrl-C finishes the step and saves the model trained so far; a second Ctrl-C ends at once.";

/// `crfkit train`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct TrainArgs {
    /// Labelled sequences or graphs; `-` for standard input
    #[arg(value_name = "TRAIN", required_unless_present = "images")]
    pub train: Vec<PathBuf>,

    /// Where to write the model
    #[arg(short, long, value_name = "MODEL")]
    pub model: PathBuf,

    /// Feature templates, in CRF++'s or Wapiti's syntax
    #[arg(long, value_name = "FILE", conflicts_with = "preset", help_heading = "Features")]
    pub template: Option<PathBuf>,

    /// Ready-made template, instead of --template; `crfkit list presets` describes the choices
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = presets(), hide_possible_values = true, help_heading = "Features")]
    pub preset: String,

    /// Template dialect: CRF++ or Wapiti
    #[arg(long, value_name = "NAME", default_value = "crfpp", value_parser = named::<Dialect>(&["crfpp", "wapiti"]), help_heading = "Features")]
    pub template_dialect: Dialect,

    /// Columns of numbers to use as features, such as 3-52 or 2,4-6; the first column is 0
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', value_parser = column_range, help_heading = "Features")]
    pub dense: Vec<ColumnRange>,

    /// Standardise the numbers of --dense and --vectors: mean 0 and standard deviation 1 in the training data. The model applies the same
    /// transformation to new data
    #[arg(long, help_heading = "Features")]
    pub standardise: bool,

    /// Column of the label, from 0; -1 is the last. With --graph factorial, several columns, such as 1,2
    #[arg(long, value_name = "N", default_value = "-1", value_delimiter = ',', allow_hyphen_values = true, value_parser = label_column, help_heading = "Features")]
    pub label_column: Vec<i32>,

    /// Accept incomplete labels: `?` is any one, `A|B` is A or B
    #[arg(long, conflicts_with = "scheme", help_heading = "Features")]
    pub partial_labels: bool,

    /// Weight of a label, such as B-PER=2; may be repeated. A sequence gets the largest weight of its labels, a node or pixel the weight of
    /// its own label
    #[arg(long, value_name = "LABEL=W", value_parser = label_weight, help_heading = "Features")]
    pub label_weight: Vec<(String, f64)>,

    /// Ignore observations that occur fewer than N times
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Features")]
    pub min_count: u32,

    /// Which (observation, label) pairs get a weight: those seen in training, or all
    #[arg(long, value_name = "WHICH", default_value = "observed", value_parser = stored::<Keep>(&["observed", "all"]), help_heading = "Features")]
    pub features: Keep,

    /// Order of the chain: 2 adds weights for three neighbouring labels, and allows only label pairs seen in training (see --transitions)
    #[arg(long, value_name = "1|2", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=2), help_heading = "Features")]
    pub order: u8,

    /// Semi-Markov chain: give weights to whole chunks of up to N tokens, by their length and by template lines that begin with S. Labels
    /// must be in IOB2 or IOBES
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = "Features")]
    pub segments: Option<u16>,

    /// Which pairs of neighbouring labels get a weight and, with --order 2, are possible [default: --features]
    #[arg(long, value_name = "WHICH", value_parser = stored::<Keep>(&["observed", "all"]), help_heading = "Features")]
    pub transitions: Option<Keep>,

    /// Rules on labels, in training and afterwards: none, a chunk notation, or a file of rules. Labellings that break them have
    /// probability 0; training data that breaks them is an error [default: none in training; iob2 in tagging if the data obeys it]
    #[arg(long, value_name = "none|iob2|iobes|FILE", help_heading = "Features")]
    pub constraint: Option<PathBuf>,

    /// Add weights for the first and the last label of a sequence
    #[arg(long, help_heading = "Features")]
    pub boundaries: bool,

    /// Standard deviation of the Gaussian prior; inf for no prior; auto to choose the best on --dev, or on a held-out tenth of the
    /// data [default: 1]
    #[arg(long, value_name = "S|auto", help_heading = "Objective")]
    pub sigma: Option<Penalty>,

    /// Standard deviation of the prior on the weights of label pairs [default: --sigma]
    #[arg(long, value_name = "S", help_heading = "Objective")]
    pub sigma_pairs: Option<f64>,

    /// Standard deviation of the prior on the weights of one type of --graph file; may be repeated
    #[arg(long, value_name = "TYPE=S", value_parser = sigma_of, help_heading = "Objective")]
    pub sigma_of: Vec<(String, f64)>,

    /// Mean of the prior: a number, or the weights of a model
    #[arg(long, value_name = "X|MODEL", default_value = "0", help_heading = "Objective")]
    pub prior_mean: PriorMean,

    /// Weight of the L1 penalty; auto to choose it as --sigma auto does
    #[arg(long, value_name = "X|auto", default_value = "0", help_heading = "Objective")]
    pub l1: Penalty,

    /// c2 of CRFsuite, which adds c2·w²; instead of --sigma 1/√(2·c2); 0 for no prior
    #[arg(long, value_name = "X", conflicts_with = "sigma", help_heading = "Objective")]
    pub c2: Option<f64>,

    /// c1 of CRFsuite, which adds c1·|w|; the same as --l1
    #[arg(long, value_name = "X", conflicts_with = "l1", help_heading = "Objective")]
    pub c1: Option<f64>,

    /// Scaling of features with values during training: unit divides each by the root mean square of its values, after
    /// centring those far from 0, and the model compensates for it; none leaves the values unchanged
    #[arg(long, value_name = "HOW", default_value = "unit", value_parser = stored::<Scaling>(&["unit", "none"]), help_heading = "Objective")]
    pub scaling: Scaling,

    /// Objective to minimise, besides the penalties; `crfkit list objectives` describes the choices [default: likelihood]
    #[arg(long, value_name = "OBJECTIVE", value_parser = objectives(), hide_possible_values = true, help_heading = "Objective")]
    pub objective: Option<Criterion>,

    /// Pieces of the piecewise objectives (factor|edge|shared-unary|bethe|trees|window:N|rows|columns|file): each factor alone; each label
    /// pair with the observations of its right node; with those of both nodes; the same, with nodes counted once (piecewise only); trees as
    /// large as possible; N consecutive pairs; the rows or columns of a grid; or the pieces named in the file of graphs [default: edge]
    #[arg(long, value_name = "WHICH", help_heading = "Objective")]
    pub pieces: Option<Pieces>,

    /// Unit of the batches of online methods, with the piecewise objectives: whole graphs, or pieces of graphs
    #[arg(long, value_name = "WHAT", default_value = "graphs", value_parser = stored::<BatchOf>(&["graphs", "pieces"]), help_heading = "Objective")]
    pub batch_of: BatchOf,

    /// Method that minimises the objective; `crfkit list optimizers` describes the choices
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = methods(), hide_possible_values = true, help_heading = "Optimisation")]
    pub optimizer: Chosen,

    /// Make at most N passes over the data [default: until convergence; each online method has its own number]
    #[arg(long, value_name = "N", help_heading = "Optimisation")]
    pub passes: Option<NonZeroUsize>,

    /// Stop after X seconds of training; the result then depends on the machine
    #[arg(long, value_name = "X", help_heading = "Optimisation")]
    pub seconds: Option<f64>,

    /// Train in one pass over a stream (with --optimizer psa): each sequence is used once and not stored; memory depends only on the
    /// number of distinct features
    #[arg(long, help_heading = "Optimisation")]
    pub stream: bool,

    /// Number of sequences in the whole stream: each step applies 1/N of the prior [default: the number so far, rounded up to a power
    /// of 2, at least 1024]
    #[arg(long, value_name = "N", requires = "stream", help_heading = "Optimisation")]
    pub examples: Option<NonZeroU64>,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = Settings::default().seed, help_heading = "Optimisation")]
    pub seed: u64,

    /// Initial weights: zeros, small random numbers, co-occurrence rates, those of logistic regression, or those of a model
    /// [default: zero; images and graphs: logistic]
    #[arg(long, value_name = "zero|random|empirical|logistic|FILE", help_heading = "Optimisation")]
    pub init: Option<Init>,

    /// Labelled sequences to evaluate on after each pass; the best model is kept
    #[arg(long, value_name = "FILE", help_heading = "Development data")]
    pub dev: Option<PathBuf>,

    /// Vectors of the tokens of --dev, in the format of --vectors
    #[arg(long, value_name = "FILE.npy", requires = "dev", help_heading = "Development data")]
    pub dev_vectors: Option<PathBuf>,

    /// Fit a temperature at the end, so that probabilities agree with the labels of --dev or, without --dev, of every tenth sequence,
    /// held out from a second model
    #[arg(long, help_heading = "Development data")]
    pub calibrate: bool,

    /// Stop after N evaluations without improvement; 0 for never
    #[arg(long, value_name = "N", default_value_t = Settings::default().patience, help_heading = "Development data")]
    pub patience: usize,

    /// Precision of the passes over chains: single far from the optimum and double near it (auto), or always one of the two
    /// [default: auto]
    #[arg(long, value_name = "NUMBERS", value_parser = stored::<Compute>(&["auto", "f32", "f64"]), help_heading = "Optimisation")]
    pub compute: Option<Compute>,

    /// Number format of the weights in the model file
    #[arg(long, value_name = "FORMAT", default_value = "f64", value_parser = named::<Precision>(&["f64", "f32", "f16"]), help_heading = "Model file")]
    pub precision: Precision,

    /// Drop weights of at most this absolute value
    #[arg(long, value_name = "THRESHOLD", help_heading = "Model file")]
    pub shrink: Option<f64>,

    /// Record the run in this file, one JSON object per line
    #[arg(long, value_name = "RUN.jsonl", help_heading = "Running")]
    pub log: Option<PathBuf>,

    /// Write an HTML page with learning curves, the heaviest weights, and the mistakes on the development data
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub report: Option<PathBuf>,

    /// Save the state of the run to this file, and resume from it if it exists
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub checkpoint: Option<PathBuf>,

    /// Print nothing but errors
    #[arg(long, help_heading = "Running")]
    pub quiet: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArgs,

    /// Rule for the tokens that a skip chain links, such as 'same(0) and capitalised(0)'
    #[arg(long, value_name = "RULE", value_parser = str::parse::<LinkRule>, help_heading = "Graphs")]
    pub skip: Option<LinkRule>,

    /// Give the links of a skip chain weights for the observations of both tokens, besides one shared table
    #[arg(long, requires = "skip", help_heading = "Graphs")]
    pub skip_observations: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub grid: GridArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub empirical: EmpiricalArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub parameters: ParameterArgs,

    /// The part of the data to train on.
    #[arg(skip)]
    pub part: TrainingPart,

    /// The flags that were given on the command line.
    #[arg(skip)]
    pub given: Given,
}

impl TrainArgs {
    /// The settings for training a model of this kind.
    pub fn settings(&self, kind: Kind) -> Result<Settings> {
        let (given, usual) = (self.parameters.parameters(), Settings::for_kind(kind));
        let preset = match self.optimizer {
            Chosen::Method(optimizer @ (Method::Pa | Method::Arow)) => {
                Settings { parameters: given, ..Settings::for_margin_method(optimizer) }
            }
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
            sigma: self.sigma.and_then(Penalty::value).or(c2_as_sigma(self.c2)?).unwrap_or(preset.sigma),
            sigma_pairs: self.sigma_pairs,
            sigma_of: self.sigma_of.iter().cloned().collect(),
            prior_mean: match self.prior_mean {
                PriorMean::Value(mean) => train::PriorMean::Value(mean),
                PriorMean::Model(_) => train::PriorMean::Model,
            },
            l1: self.c1.or(self.l1.value()).unwrap_or(0.0),
            choose: Tuning { sigma: self.sigma == Some(Penalty::Auto), l1: self.l1 == Penalty::Auto },
            scaling: self.scaling,
            min_count: self.min_count,
            features: self.features,
            transitions: self.transitions,
            order: self.order,
            segments: self.segments.map(usize::from),
            constraint: self.constraint.as_deref().map(|path| Rules::of(path).constraint()),
            boundaries: self.boundaries,
            objective: self.objective.unwrap_or(preset.objective),
            pieces: self.pieces,
            batch_of: self.batch_of,
            inference: self.grid.inference,
            propagation: self.grid.propagation.setting(),
            init: self.init.as_ref().map_or(usual.init, Init::setting),
            passes: self.passes.map(NonZeroUsize::get),
            seed: self.seed,
            patience: self.patience,
            compute: self.compute.unwrap_or(preset.compute),
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
            ("l1", self.l1 != Penalty::Value(0.0)),
            ("c1", self.c1.is_some()),
            ("c2", self.c2.is_some()),
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

/// The σ of CRFsuite's c2: w²/(2σ²) = c2·w².
fn c2_as_sigma(c2: Option<f64>) -> Result<Option<f64>> {
    match c2 {
        Some(c2) if c2.is_nan() || c2 < 0.0 => Err(usage(format!("--c2 {c2}: give a number of at least 0"))),
        Some(c2) => Ok(Some(1.0 / (2.0 * c2).sqrt())),
        None => Ok(None),
    }
}

/// A label and its weight.
fn label_weight(text: &str) -> std::result::Result<(String, f64), String> {
    let (label, weight) = text.rsplit_once('=').ok_or("give a label and its weight, as in B-PER=2")?;
    let weight: f64 = weight.parse().map_err(|_| format!("the weight `{weight}` is not a number"))?;
    match weight.is_finite() && weight >= 0.0 {
        true => Ok((label.to_owned(), weight)),
        false => Err(format!("the weight {weight} is not a finite number of at least 0")),
    }
}
