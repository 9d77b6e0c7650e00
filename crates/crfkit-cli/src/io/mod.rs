//! How the program reads inputs and writes answers: one file for each kind of input.
//!
//! A [`Door`] is all that `tag`, `eval`, `report` and the end of `train` know of a kind of model.

mod arrays;
mod classes;
mod graphs;
mod images;
mod layout;
mod linked;
mod open;
pub mod reasons;
mod repeat;
mod rows;
mod sequences;

pub use graphs::{GraphFile, is_archive, read_arrays};
pub use images::{PictureFile, grid_samples, list_images, picture_pairs, read_mask, read_picture};
pub use layout::Echo;
pub use open::{Feed, is_stdin, name, open_model, open_text, read_text};
pub use rows::{Reading, RowFile, TextCut, Trained, VectorFile};
pub use sequences::{SequenceReader, templates};

use crate::args::{Marginals, Output, RankBy};
use crate::error::usage;
use crate::flags::ModelKind;
use crate::pipeline::Source;
use anyhow::Result;
use crfkit::answers::GraphAnswers;
use crfkit::eval::{Calibration, Scheme};
use crfkit::explain::Explain;
use crfkit::graph::Label;
use crfkit::tag::{Judgement, Labeller, Tagger};
use crfkit_report::{EvaluationPart, Samples};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where inputs come from, and how they are read.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The file or directories.
    pub place: InputPlace,
    /// How a text is read.
    pub reading: Reading,
}

/// A file, or directories of images.
#[derive(Clone, Debug)]
pub enum InputPlace {
    /// Text or graphs; `-` is standard input.
    File(PathBuf),
    /// Images, and masks where there are labels.
    Images {
        /// Directory of the images.
        images: PathBuf,
        /// Directory of the masks.
        masks: Option<PathBuf>,
    },
}

impl Inputs {
    /// The name of the inputs in messages and on pages.
    pub fn name(&self) -> String {
        match &self.place {
            InputPlace::File(path) => name(path),
            InputPlace::Images { images, .. } => images.display().to_string(),
        }
    }

    /// Whether they can be read a second time.
    pub fn again(&self) -> bool {
        !matches!(&self.place, InputPlace::File(path) if is_stdin(path))
    }
}

/// How answers are written.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The layout.
    pub output: Output,
    /// Which probabilities of labels to add.
    pub marginals: Option<Marginals>,
    /// Whether to add the probability of the whole labelling.
    pub probability: bool,
    /// Whether to add the probabilities of chunks and of the whole labelling, and its entropy.
    pub confidence: bool,
    /// How many of the best labellings to give; 0 for the best alone.
    pub nbest: usize,
    /// The notation that chunk labels are converted to.
    pub scheme: Option<Scheme>,
    /// What a JSON object repeats of its input.
    pub echo: Echo,
    /// Directory for label images.
    pub directory: Option<PathBuf>,
    /// Whether the answers become arrays.
    pub arrays: bool,
}

/// How the program reads the inputs of a kind of model and writes its answers.
pub trait Door: Labeller<Input: Clone> + Explain + Sized {
    /// The reader of inputs.
    type Source: Source;

    /// The kind of model, as users choose it.
    fn kind(&self) -> ModelKind;
    /// Opens inputs.
    fn open(&self, inputs: &Inputs) -> Result<Self::Source>;
    /// Makes an input of what was read; `None` if there is nothing in it. Called by the workers.
    fn input<'a>(&self, item: &'a <Self::Source as Source>::Item) -> Result<Option<Cow<'a, Self::Input>>>;
    /// Loads an input, of whose variables some may have only the labels that these columns allow.
    fn load_restricted(
        &self,
        input: &Self::Input,
        _allowed: &[i32],
        tagger: &mut Tagger<Self>,
    ) -> Result<()> {
        tagger.load(input)?;
        Ok(())
    }
    /// Appends the output for an input with its labels, or writes files.
    fn write(
        &self,
        wanted: &Wanted,
        input: &Self::Input,
        labels: &[Label],
        tagger: &mut Tagger<Self>,
        out: &mut Vec<u8>,
    ) -> Result<()>;
    /// The file of arrays for everything that [`Door::write`] has written, if arrays are wanted.
    fn pack(&self, _wanted: &Wanted, _answers: &[u8], _file: &Path) -> Result<Vec<u8>> {
        anyhow::bail!("only graphs have their answers in one file of arrays: leave out --output-file")
    }
    /// Adds an input to the worst mistakes, if it is one of them; there is one list for each set of labels.
    fn sample(
        &self,
        _input: &Self::Input,
        _labels: &[Label],
        _tagger: &mut Tagger<Self>,
        _samples: &mut [Samples],
    ) -> Result<()> {
        Ok(())
    }
    /// Adds an input to reliability tables, of labels and of chunks.
    fn calibrate(
        &self,
        input: &Self::Input,
        labels: &[Label],
        tagger: &mut Tagger<Self>,
        [of_labels, _]: &mut [Calibration; 2],
    ) -> Result<()> {
        Ok(tagger.calibrate(input, labels, of_labels)?)
    }
    /// The same model without its temperature, if it has one.
    fn without_temperature(&self) -> Option<Self> {
        None
    }
    /// The scores as text.
    fn text(&self, judgement: &Judgement, inputs: u64) -> Result<Vec<u8>>;
    /// The scores as one JSON object.
    fn json(&self, judgement: &Judgement, inputs: u64) -> Result<String>;
    /// The name of a set of labels on a page, besides the name of the data.
    fn set_name(&self, _set: usize) -> Option<String> {
        None
    }
    /// The name of a variable: the word of a token.
    fn variable_name(&self, input: &Self::Input, variable: usize) -> String;
    /// The word of the token that a variable belongs to; the same as its name, unless a token has several variables.
    fn word(&self, input: &Self::Input, variable: usize) -> String {
        self.variable_name(input, variable)
    }
    /// How doubtful the labels of the current input are.
    fn doubt(&self, by: RankBy, tagger: &mut Tagger<Self>) -> Result<f64> {
        match by {
            RankBy::TotalTokenEntropy => Ok(tagger.label_entropy()?),
            RankBy::TokenEntropy => Ok(tagger.label_entropy()? / tagger.variables().max(1) as f64),
            RankBy::Entropy | RankBy::Margin => Err(usage(
                "images are too large for exact probabilities of whole labellings: use --by token-entropy",
            )),
        }
    }
    /// Appends what was read, in the format in which it was read, or as columns.
    fn repeat(&self, item: &<Self::Source as Source>::Item, out: &mut Vec<u8>) -> Result<()>;
    /// An observation of a part of the model, as people read it.
    fn describe_tests(&self, part: &str, observation: &str) -> String {
        format!("{part}: {observation}")
    }
    /// The message about inputs that hold nothing to compare.
    const NOTHING: &'static str;

    /// The parts of a page about scores.
    fn parts(&self, judgement: &Judgement, samples: Vec<Samples>, data: &str) -> Vec<EvaluationPart> {
        let part = |(set, (evaluation, samples))| {
            let name = self.set_name(set).map_or_else(|| data.to_owned(), |of| format!("{data}, {of}"));
            EvaluationPart::new(&name, evaluation, samples)
        };
        judgement.sets.iter().zip(samples).enumerate().map(part).collect()
    }
}

/// Something to do with a model of any kind.
pub trait WithModel {
    /// The result.
    type Out;
    /// Does it.
    fn with<M: Door>(self, model: Arc<M>) -> Self::Out;
}

/// How doubtful the labels of the current graph are; what is about whole labellings needs exact inference.
fn doubt_of_graph<M: Door<Answers = GraphAnswers>>(by: RankBy, tagger: &mut Tagger<M>) -> Result<f64> {
    Ok(match by {
        RankBy::Entropy => tagger.answers().entropy()?,
        RankBy::Margin => tagger.answers().margin()?,
        RankBy::TotalTokenEntropy => tagger.label_entropy()?,
        RankBy::TokenEntropy => tagger.label_entropy()? / tagger.variables().max(1) as f64,
    })
}

/// Warns on standard error that the answers about an input are rough.
fn note_rough(place: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(
        std::io::stderr(),
        "crfkit: {place}: inference did not converge: the probabilities are approximate"
    );
}
