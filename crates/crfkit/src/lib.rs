//! Conditional random fields: training and inference.
//!
//! ```text
//! file ─columns→ tokens ─templates→ observations ─alphabet→ examples → data set
//!  θ ─features A→ ψ ─inference→ (log Z, μ) ─loss→ (value, dψ) ─features Aᵀ→ gradient ─optimiser→ θ → model
//! text ─same templates, frozen alphabet→ observations → ψ ─argmax / marginals→ labels
//! ```
//!
//! Each arrow is a module: [`data`] reads files and makes observations, [`model`] maps weights θ to log-potentials ψ and back,
//! [`graph`] says which tables an example has, [`infer`] computes log Z and marginals, [`decode`] finds labellings, [`loss`]
//! says what is minimised, [`optim`] how, [`risk`] joins the two over many examples and threads, [`train`] runs it, [`tag`]
//! applies the result and [`eval`] scores it. [`empirical`] gets by with counting; [`linked`] goes the same road with several label columns or far links,
//! [`grid`] with pictures, [`typed`] with graphs from a file. [`math`] has the numbers and the vector kernels below all of them.
//!
//! From text to labels:
//!
//! ```
//! use crfkit::data::columns::{ColumnReader, Columns};
//! use crfkit::data::corpus::CorpusBuilder;
//! use crfkit::data::observer::Source;
//! use crfkit::data::presets::preset;
//! use crfkit::data::text::{Encoding, Lines};
//! use crfkit::optim::Control;
//! use crfkit::tag::Tagger;
//! use crfkit::train::{self, Event, Listener, Settings, Start};
//! use std::sync::Arc;
//!
//! /// Hears of every step of the training, and could stop it.
//! struct Show;
//!
//! impl Listener for Show {
//!     fn event(&mut self, event: &Event) -> crfkit::Result<Control> {
//!         if let Event::Progress { passes, objective: Some(objective), .. } = event {
//!             eprintln!("pass {passes:.2}: {objective:.3}");
//!         }
//!         Ok(Control::Continue)
//!     }
//! }
//!
//! fn main() -> crfkit::Result<()> {
//!     // One token a line, its label in the last column, an empty line after each sequence.
//!     let text = "2 B-QTY\ncups B-UNIT\nflour B-NAME\n\n1 B-QTY\nred B-NAME\nonion I-NAME\n";
//!     let templates = preset("default")?.compile(1)?; // one column besides the label
//!     let mut builder = CorpusBuilder::new(Source::Templates(templates));
//!     let mut reader = ColumnReader::new(Lines::new(text.as_bytes(), "example", Encoding::Utf8));
//!     let mut sequence = Columns::default();
//!     while reader.read(&mut sequence)? {
//!         builder.add_columns(&sequence, 1)?;
//!     }
//!     let settings = Settings::default();
//!     let corpus = builder.finish(settings.min_count)?;
//!     let features = train::features(&corpus, &settings);
//!     let trained = train::train(corpus, features, &settings, Start::default(), &mut Show)?;
//!
//!     // A model never changes and is shared; a tagger is one thread's worker with its own memory.
//!     let model = Arc::new(trained.model);
//!     let mut tagger = Tagger::new(model.clone());
//!     let mut reader = ColumnReader::new(Lines::new("1\ncup\nflour\n".as_bytes(), "new", Encoding::Utf8));
//!     reader.read(&mut sequence)?;
//!     tagger.columns(&sequence)?;
//!     let labels = tagger.viterbi().to_vec();
//!     for (t, &label) in labels.iter().enumerate() {
//!         let (name, p) = (&model.labels[label as usize], tagger.marginal(t, label));
//!         println!("{} {name} {p:.3}", sequence.field(t, 0));
//!     }
//!     assert_eq!(model.labels[labels[0] as usize], "B-QTY");
//!     Ok(())
//! }
//! ```

pub mod ability;
pub mod answers;
pub mod checkpoint;
pub mod data;
pub mod decode;
pub mod empirical;
pub mod error;
pub mod eval;
pub mod files;
pub mod graph;
pub mod grid;
pub mod infer;
pub mod linked;
pub mod loss;
pub mod math;
pub mod model;
pub mod optim;
pub mod risk;
pub mod tag;
pub mod train;
pub mod typed;

pub use error::{Error, GraphError, Place, Result};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
