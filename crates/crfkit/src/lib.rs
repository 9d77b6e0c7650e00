//! Conditional random fields: training and inference.
//!
//! ```no_run
//! use crfkit::{Model, Trainer};
//!
//! // One token a line, its label in the last column, a blank line after each sequence.
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
//! These types are the [`front`] door: [`Trainer`], [`Model`], [`Sequences`]. The modules behind them are public too.
//!
//! # How it is built
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
//! threads.
//!
//! A [`domain`] holds what differs between kinds of model: [`chain`]s, [`linked`] chains (several label columns, or links
//! between distant tokens), graphs from a file ([`typed`]) and images ([`grid`]). For any domain, [`train`] trains a
//! model, [`tag`] applies it and [`eval`] scores it. [`empirical`] makes models by counting. [`foreign`] reads the models of other
//! toolkits. [`math`] has the numbers and
//! the vector kernels that all of them use.

pub mod ability;
pub mod answers;
pub mod any;
#[doc(hidden)]
pub mod checkpoint;
pub mod data;
pub mod decode;
pub mod domain;
pub mod empirical;
pub mod error;
pub mod eval;
pub mod explain;
#[doc(hidden)] // of use to our own program
pub mod files;
pub mod foreign;
pub mod front;
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
pub use error::{Error, GraphError, Place, Result};
pub use front::{Model, Sequences, Trainer, attributes, columns, conllu, json};

/// Runs the examples in the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
