//! The arguments about graphs and images.

use super::stored;
use crate::error::usage;
use crate::flags::ModelKind;
use crate::io::Door;
use anyhow::Result;
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use crfkit::graph::Neighbours;
use crfkit::grid::{Directions, SiteFeatures, SiteNumbers, Tables};
use crfkit::infer::{Engine, MessageSchedule, Propagation};
use std::path::PathBuf;

/// The flags of `crfkit train` about graphs and images.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Graphs")]
pub struct GridArgs {
    /// How the labels of an example depend on each other
    #[arg(long, value_enum, default_value_t = ModelKind::Chain)]
    pub graph: ModelKind,

    /// Directory of training images (PNG, JPEG, PGM; NumPy's .npy and .npz), with --graph grid
    #[arg(long, value_name = "DIR", conflicts_with = "train", requires = "masks", help_heading = "Images")]
    pub images: Option<PathBuf>,

    /// Labels of the training images: for each image a grey image (or .npy) of the same name, whose values are the labels
    #[arg(long, value_name = "DIR", requires = "images", help_heading = "Images")]
    pub masks: Option<PathBuf>,

    /// Development images: the model is evaluated on them after each pass, and the best one is kept
    #[arg(long, value_name = "DIR", requires = "dev_masks", requires = "images", help_heading = "Images")]
    pub dev_images: Option<PathBuf>,

    /// Labels of the development images, in the format of --masks
    #[arg(long, value_name = "DIR", requires = "dev_images", help_heading = "Images")]
    pub dev_masks: Option<PathBuf>,

    /// Mask value of pixels without a label (void), which are summed out or skipped in training, and not scored
    #[arg(long, visible_alias = "void", value_name = "VALUE", requires = "images", help_heading = "Images")]
    pub unlabelled: Option<u16>,

    /// Features of a pixel or patch: the numbers in the file, the intensity, or the orientations of edges [default: values]
    #[arg(long, value_name = "WHICH", requires = "images", value_parser = stored::<SiteNumbers>(&["values", "intensity", "orientations"]), help_heading = "Images")]
    pub image_features: Option<SiteNumbers>,

    /// Label patches of N × N pixels [default: 1, that is, pixels; orientations: 16]
    #[arg(long, value_name = "N", requires = "images", help_heading = "Images")]
    pub patch: Option<usize>,

    /// Add the products of any two of these features
    #[arg(long, requires = "images", help_heading = "Images")]
    pub quadratic: bool,

    /// Which neighbouring pixels or patches are paired [default: four]
    #[arg(long, value_name = "WHICH", requires = "images", value_parser = stored::<Neighbours>(&["none", "four", "eight"]), help_heading = "Images")]
    pub neighbours: Option<Neighbours>,

    /// Weights of pairs in images and arrays, for each feature: one for equal labels, the same with labels ±1, or one for each label
    /// pair [default: potts; graphs in arrays: full]
    #[arg(long, value_name = "WHICH", value_parser = stored::<Tables>(&["potts", "ising", "full"]), help_heading = "Images")]
    pub tables: Option<Tables>,

    /// Whether horizontal, vertical and diagonal pairs share their weights, or have their own [default: shared]
    #[arg(long, value_name = "WHICH", requires = "images", value_parser = stored::<Directions>(&["shared", "separate"]), help_heading = "Images")]
    pub directions: Option<Directions>,

    /// How marginals are computed on graphs with loops [default: loopy-bp; factorial chains: exact]
    #[arg(long, value_name = "ENGINE", value_parser = engines())]
    pub inference: Option<Engine>,

    #[command(flatten)]
    pub propagation: PropagationArgs,
}

/// The flags of `train` about messages.
#[derive(Clone, Debug, clap::Args)]
pub struct PropagationArgs {
    /// Largest number of iterations of approximate inference on one graph [default: 200; double-loop: 1000]
    #[arg(long, value_name = "N")]
    pub bp_iterations: Option<usize>,

    /// Share of the old message in the new one, from 0 to 1: more damping makes convergence slower, but more likely [default: 0.1; trw: 0.5]
    #[arg(long, value_name = "X")]
    pub damping: Option<f64>,

    /// Order of the messages: all at once, or always the one that would change most [default: parallel]
    #[arg(long, value_name = "WHICH", value_parser = stored::<MessageSchedule>(&["parallel", "residual"]))]
    pub schedule: Option<MessageSchedule>,

    /// Largest change of a message that counts as converged [default: 1e-8; images: 1e-4]
    #[arg(long, value_name = "X")]
    pub bp_tolerance: Option<f64>,

    /// Additional random starts of approximate inference; the largest log Z wins [default: 0]
    #[arg(long, value_name = "N")]
    pub restarts: Option<usize>,
}

impl PropagationArgs {
    /// The setting that these flags make.
    pub fn setting(&self) -> Propagation {
        Propagation {
            iterations: self.bp_iterations,
            damping: self.damping,
            schedule: self.schedule,
            tolerance: self.bp_tolerance,
            restarts: self.restarts,
        }
    }
}

impl GridArgs {
    /// The features of sites.
    pub fn sites(&self) -> SiteFeatures {
        let numbers = self.image_features.unwrap_or_default();
        let patch = if numbers == SiteNumbers::Orientations { 16 } else { 1 };
        SiteFeatures { numbers, patch: self.patch.unwrap_or(patch), quadratic: self.quadratic }
    }
}

/// An engine by its name.
pub fn engines() -> impl TypedValueParser<Value = Engine> {
    PossibleValuesParser::new(Engine::ALL.map(Engine::name))
        .try_map(|name| serde_json::from_value::<Engine>(name.into()))
}

/// The flags of `tag` and `eval` about images, inference and decoding.
#[derive(Debug, clap::Args)]
pub struct PictureArgs {
    /// Directory of images (PNG, JPEG, PGM; NumPy's .npy and .npz), for a model of images
    #[arg(long, value_name = "DIR")]
    pub images: Option<PathBuf>,

    /// How marginals are computed on graphs with loops [default: as in training]
    #[arg(long, value_name = "ENGINE", value_parser = engines())]
    pub inference: Option<Engine>,

    /// Which labelling to give [default: viterbi; images and graphs: max-marginal]
    #[arg(long, value_enum)]
    pub decode: Option<Decode>,
}

/// The labellings to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Decode {
    /// The most probable labelling as a whole; on graphs other than plain chains, the best that the engine finds
    Viterbi,
    /// The most probable label of each token, pixel or node
    MaxMarginal,
    /// Images and graphs: the best labelling, by a junction tree
    Exact,
    /// Images and graphs: max-product belief propagation
    MaxProduct,
    /// Images and graphs: iterated conditional modes
    Icm,
    /// Images and graphs: a graph cut, which is exact for two labels that attract each other
    GraphCut,
    /// Images and graphs: a series of graph cuts, for any number of labels
    AlphaExpansion,
}

impl PictureArgs {
    /// The labelling that was asked for. Several models have only marginals in common, so `max-marginal` is their default.
    pub fn labelling<M: Door>(&self, model: &M, models: usize) -> Result<crfkit::decode::Decode> {
        use crfkit::decode::Decode as Labelling;
        let chain = matches!(model.kind(), ModelKind::Chain | ModelKind::Counts);
        Ok(match self.decode {
            Some(Decode::Viterbi) if models > 1 => {
                return Err(usage(
                    "--decode viterbi needs a single model: several models have only marginals in common; leave it out",
                ));
            }
            None if models > 1 => Labelling::MaxMarginal,
            None => model.decode(),
            Some(Decode::Viterbi) => Labelling::Best,
            Some(Decode::MaxMarginal) => Labelling::MaxMarginal,
            Some(_) if chain => {
                return Err(usage(
                    "this --decode is for images and graphs: chains have viterbi and max-marginal",
                ));
            }
            Some(Decode::Exact) => Labelling::Exact,
            Some(Decode::MaxProduct) => Labelling::MaxProduct,
            Some(Decode::Icm) => Labelling::Icm,
            Some(Decode::GraphCut) => Labelling::GraphCut,
            Some(Decode::AlphaExpansion) => Labelling::AlphaExpansion,
        })
    }
}
