//! Conditional random fields: training and inference.
//!
//! ```no_run
//! use crfkit::{Model, Trainer};
//!
//! // One token per line, its label in the last column, a blank line after each sequence.
//! let model = Trainer::new().preset("ner").train(crfkit::columns("train.tsv")?)?;
//! model.save("model")?;
//!
//! let model = Model::open("model")?;
//! for token in model.tagger()?.tag([["Ada"], ["Lovelace"]])? {
//!     println!("{} {:.3}", token.label, token.probability);
//! }
//! println!("{}", model.evaluate(crfkit::columns("test.tsv")?)?);
//! # Ok::<(), crfkit::Error>(())
//! ```
//!
//! [`Trainer`] trains a model of sequences from [`Sequences`], [`Model`] stores and opens it, and [`SequenceTagger`] labels
//! with it. Most programs need nothing else.
//!
//! # Further modules
//!
//! | to | use |
//! |---|---|
//! | label images, graphs from a file, or several label columns | [`grid`], [`typed`], [`linked`] |
//! | choose what is minimised, how, and with which penalty | [`settings`] |
//! | watch a training run, stop it, or resume it | [`train`] |
//! | ask for marginals, n-best lists and other decoders | [`tag`], [`answers`] |
//! | see why a label was chosen | [`explain`] |
//! | score labels that you already have | [`eval`] |
//! | build a model from counts, without optimisation | [`empirical`] |
//! | read models of other toolkits | [`foreign`] |
//! | minimise the training objective with your own optimiser, or your own objective with these optimisers | [`train::TrainingObjective`], [`optim`] |
//! | write a loss, an inference engine or a decoder | [`loss`], [`infer`], [`decode`] |
//! | add a kind of model | [`domain`] |
//!
//! # Structure
//!
//! ```text
//! file ─readers→ inputs ─domain→ observations, graph → examples
//!  θ ─features A→ ψ ─inference→ (log Z, μ) ─loss→ (value, dψ) ─features Aᵀ→ gradient ─optimiser→ θ → model
//! input ─same domain→ observations → ψ ─argmax / marginals→ labels
//! ```
//!
//! Each arrow is a module. [`data`] reads files and makes observations. [`model`] maps weights θ to log-potentials ψ and
//! back. [`graph`] says which tables an example has. [`infer`] computes log Z and marginals, and [`decode`] finds
//! labellings. [`loss`] defines the objective and [`optim`] minimises it; [`risk`] sums the loss over many examples and
//! threads. [`math`] has the numbers that all of them use.
//!
//! # Stability
//!
//! The documented interface changes only with a new minor version. Items that are public but hidden (`#[doc(hidden)]`) serve the program
//! and the tests of this project, and may change in any version.

#![warn(unreachable_pub)]

mod ability;
pub mod answers;
pub mod any;
#[doc(hidden)]
pub mod checkpoint;
pub mod data;
pub mod decode;
pub mod domain;
pub mod empirical;
mod error;
pub mod eval;
pub mod explain;
#[doc(hidden)] // of use to our own program
pub mod files;
pub mod foreign;
mod front;
pub mod graph;
pub mod infer;
pub mod loss;
pub mod math;
pub mod model;
pub mod optim;
pub mod risk;
pub mod settings;
pub mod tag;
pub mod train;

pub use domain::{chain, grid, linked, typed};
#[doc(hidden)]
pub use error::counted;
pub use error::{Error, GraphError, Place, Result};
pub use front::{
    Confidence, EvaluationReport, LabelledChunk, LabelledSpan, LabelledToken, Model, SequenceTagger,
    Sequences, Trainer, TrainingPhase, TrainingProgress, TrainingRun, attributes, columns, conllu, json,
};

/// Runs the examples in the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
