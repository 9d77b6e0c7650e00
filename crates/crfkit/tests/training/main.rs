//! From data to a model and back to labels, for every kind of model.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/corpora.rs"]
mod corpora;
#[path = "../common/models.rs"]
mod models;

mod chains;
mod checkpoint;
mod conll2000;
mod graph_models;
mod grid_corpus;
mod grids;
mod linked;
mod linked_corpora;
mod model_file;
mod piecewise_estimates;
mod settings;
mod stream;
mod typed;
mod versions;
