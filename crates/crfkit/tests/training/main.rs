//! From data to a model and back to labels, for every kind of model.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/corpora.rs"]
mod corpora;

mod arrays;
mod chains;
mod checkpoint;
mod choose;
mod compute;
mod conll2000;
mod corruption;
mod crew;
mod explain;
mod foreign;
mod forged;
mod front;
mod go_on;
mod graph_models;
mod grid_corpus;
mod grid_known;
mod grids;
mod hashed;
mod linked;
mod linked_corpora;
mod linked_partial;
mod linked_vectors;
mod model_file;
mod objective;
mod piecewise_estimates;
mod robust;
mod second_order;
mod segments;
mod segments_open;
mod settings;
mod stream;
mod temperature;
mod transfer;
mod typed;
mod typed_known;
mod vectors;
mod versions;
mod weights;

use corpora::models;
