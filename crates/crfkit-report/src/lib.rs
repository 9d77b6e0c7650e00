//! Turns run logs into one self-contained HTML page.
//!
//! ```text
//! RUN.jsonl ─Run::read→ Run ┐
//! Model ─ModelPart::new→    ├ Page ─write_html→ HTML (data as JSON, drawn by the page's own script)
//! Evaluation, Samples →     ┘     └ write_data → JSON (what a live page asks for)
//! ```
//!
//! The page needs no network and cannot reach one: its content security policy forbids every request. A small script
//! of our own draws the charts as SVG, instead of a chart library. The charts follow the theme, print sharply, and
//! can be read by keyboard and screen reader; and the whole page without data is smaller than such a library.
//!
//! All data travels as JSON in one element and is put on the page as text, never as markup.
//!
//! ```
//! use crfkit_report::{Page, Run};
//!
//! let log = r#"{"event":"settings","format":1,"settings":{"sigma":1.0}}
//! {"event":"progress","passes":1,"seconds":0.5,"objective":812.5,"gradient_norm":null}
//! "#;
//! let run = Run::read(log.as_bytes(), "first")?;
//! assert_eq!(run.progress[0].objective, Some(812.5));
//! let mut html = Vec::new();
//! Page { runs: vec![run], ..Page::default() }.write_html(&mut html)?;
//! assert!(html.starts_with(b"<!doctype html>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod evaluation;
mod html;
pub mod http;
mod images;
mod model;
mod reason;
mod run;

pub use evaluation::{Confusion, EvaluationPart, Row, Sample, Samples, Token};
pub use images::{GridSample, Png};
pub use model::{Feature, Heaviest, ModelPart, Transition};
pub use reason::{Reason, ReasonPart};
pub use run::{Eval, FORMAT, Progress, Run, Start, Stop};

use serde::Serialize;

/// The contents of a page. Missing parts are left out, or the page says how to get them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// The runs, in the order of their colours.
    pub runs: Vec<Run>,
    /// The weights of a model.
    pub model: Option<ModelPart>,
    /// Scores on labelled data: one part for each label column or type of nodes.
    pub evaluations: Vec<EvaluationPart>,
    /// Images that the model has labelled.
    pub images: Vec<GridSample>,
    /// Whether the page repeatedly asks its server for newer data.
    pub live: bool,
}
