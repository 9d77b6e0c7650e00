//! Run logs → one self-contained HTML page.
//!
//! ```text
//! RUN.jsonl ─Run::read→ Run ┐
//! Model ─ModelPart::new→    ├ Page ─write_html→ HTML (data as JSON, drawn by the page's own script)
//! Evaluation, Samples →     ┘     └ write_data → JSON (what a live page asks for)
//! ```
//!
//! The page needs no network and cannot reach one: its content security policy forbids every request. Charts are SVG drawn by a
//! small script of our own rather than by a chart library: they then follow the theme, print sharply, can be read by keyboard
//! and screen reader, and the whole page without data is smaller than such a library.
//!
//! Everything that comes from data travels as JSON in one element and is put on the page as text, never as markup.
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
mod images;
mod model;
mod run;

pub use evaluation::{Confusion, EvaluationPart, Row, Sample, Samples, Token};
pub use images::{GridSample, Png};
pub use model::{Feature, Heaviest, ModelPart, Transition};
pub use run::{Eval, FORMAT, Progress, Run, Start, Stop};

use serde::Serialize;

/// All that a page shows. Parts that are missing are left out, or the page says how to get them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// The runs, in the order of their colours.
    pub runs: Vec<Run>,
    /// What a model has learned.
    pub model: Option<ModelPart>,
    /// How good it is on labelled data: one for each label column or type of nodes.
    pub evaluations: Vec<EvaluationPart>,
    /// Grids that it has labelled.
    pub images: Vec<GridSample>,
    /// Does the page ask its server again and again for newer data?
    pub live: bool,
}
