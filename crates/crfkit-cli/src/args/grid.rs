//! The arguments of models of pictures.

use super::stored;
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use crfkit::graph::Neighbours;
use crfkit::grid::{SiteFeatures, SiteNumbers, Tables};
use crfkit::infer::Engine;
use std::path::PathBuf;

/// What an example looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphKind {
    /// Sequences: each label is joined with the next
    Chain,
    /// Several label columns: each a chain, and the labels of one token with each other
    Factorial,
    /// A chain, and pairs of tokens that a rule links (--skip)
    SkipChain,
    /// Pictures: each pixel is joined with its neighbours
    Grid,
    /// Any graphs, one a line of a JSON file whose first line declares types (docs/GRAPHS.md)
    File,
}

/// What `crfkit train --graph` needs.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Graphs")]
pub struct GridArgs {
    /// What an example looks like
    #[arg(long, value_enum, default_value_t = GraphKind::Chain)]
    pub graph: GraphKind,

    /// Pictures to learn from (PNG, JPEG, PGM; NumPy's .npy and .npz), with --graph grid
    #[arg(long, value_name = "DIR", conflicts_with = "train", requires = "masks")]
    pub images: Option<PathBuf>,

    /// Their labels: for each picture a grey one (or .npy) of the same name, whose values are the labels
    #[arg(long, value_name = "DIR", requires = "images")]
    pub masks: Option<PathBuf>,

    /// Pictures to judge the model by after each pass: the best is kept
    #[arg(long, value_name = "DIR", requires = "dev_masks", requires = "images")]
    pub dev_images: Option<PathBuf>,

    /// Their labels, as those of --masks
    #[arg(long, value_name = "DIR", requires = "dev_images")]
    pub dev_masks: Option<PathBuf>,

    /// Mask value of pixels without a label: they are summed out
    #[arg(long, value_name = "VALUE", requires = "images")]
    pub unlabelled: Option<u8>,

    /// What is told about a pixel or patch: the numbers of the file, the intensity, or the orientations of edges [default: values]
    #[arg(long, value_name = "WHICH", requires = "images", value_parser = stored::<SiteNumbers>(&["values", "intensity", "orientations"]))]
    pub image_features: Option<SiteNumbers>,

    /// Label patches of N × N pixels [default: 1, that is pixels; orientations: 16]
    #[arg(long, value_name = "N", requires = "images")]
    pub patch: Option<usize>,

    /// Take the products of any two of the numbers too
    #[arg(long, requires = "images")]
    pub quadratic: bool,

    /// Which pixels or patches are joined [default: four]
    #[arg(long, value_name = "WHICH", requires = "images", value_parser = stored::<Neighbours>(&["none", "four", "eight"]))]
    pub neighbours: Option<Neighbours>,

    /// What joins them: one weight for equal labels and each feature, the same with labels ±1, or one for each pair of labels
    /// [default: potts]
    #[arg(long, value_name = "WHICH", requires = "images", value_parser = stored::<Tables>(&["potts", "ising", "full"]))]
    pub tables: Option<Tables>,

    /// How marginals are computed on graphs with loops [default: loopy-bp; factorial chains: exact]
    #[arg(long, value_name = "ENGINE", value_parser = engines())]
    pub inference: Option<Engine>,
}

impl GridArgs {
    /// What is told about sites.
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

/// What `tag` and `eval` need for pictures, and which labelling they take.
#[derive(Debug, clap::Args)]
pub struct PictureArgs {
    /// Pictures (PNG, JPEG, PGM; NumPy's .npy and .npz), for a model of pictures
    #[arg(long, value_name = "DIR")]
    pub images: Option<PathBuf>,

    /// How marginals are computed on graphs with loops [default: as in training]
    #[arg(long, value_name = "ENGINE", value_parser = engines())]
    pub inference: Option<Engine>,

    /// Which labelling [default: viterbi; for pictures and graphs max-marginal]
    #[arg(long, value_enum)]
    pub decode: Option<Decode>,
}

/// Which labelling is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Decode {
    /// The most probable sequence of labels
    Viterbi,
    /// The most probable label of each token, pixel or node by itself
    MaxMarginal,
    /// Pictures and graphs: the best labelling, by a junction tree
    Exact,
    /// Pictures and graphs: max-product belief propagation
    MaxProduct,
    /// Pictures and graphs: iterated conditional modes
    Icm,
    /// Pictures and graphs: a graph cut, the best labelling for two labels that attract each other
    GraphCut,
    /// Pictures and graphs: graph cuts in turn, for any number of labels
    AlphaExpansion,
}

impl PictureArgs {
    /// The labelling of sequences; `None` for one that they do not have.
    pub fn of_sequences(&self) -> Option<Decode> {
        match self.decode {
            None => Some(Decode::Viterbi),
            decode @ Some(Decode::Viterbi | Decode::MaxMarginal) => decode,
            Some(_) => None,
        }
    }

    /// The labelling of pictures and graphs; `None` for one that they do not have.
    pub fn of_graphs(&self) -> Option<crfkit::decode::Decode> {
        match self.decode {
            None | Some(Decode::MaxMarginal) => Some(crfkit::decode::Decode::MaxMarginal),
            Some(Decode::Exact) => Some(crfkit::decode::Decode::Exact),
            Some(Decode::MaxProduct) => Some(crfkit::decode::Decode::MaxProduct),
            Some(Decode::Icm) => Some(crfkit::decode::Decode::Icm),
            Some(Decode::GraphCut) => Some(crfkit::decode::Decode::GraphCut),
            Some(Decode::AlphaExpansion) => Some(crfkit::decode::Decode::AlphaExpansion),
            Some(Decode::Viterbi) => None,
        }
    }
}
