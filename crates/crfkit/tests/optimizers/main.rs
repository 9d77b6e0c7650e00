//! Optimisers: known optima, literal transcriptions of the papers, invariants, resumption.

#[path = "../common/corpora.rs"]
mod corpora;
#[path = "../common/enumerated.rs"]
mod enumerated;
#[path = "../common/literal.rs"]
mod literal;
#[path = "../common/objectives.rs"]
mod objectives;
#[path = "../common/risks.rs"]
mod risks;

mod batch_optimizers;
mod damaged;
mod finite_sum;
mod known_optima;
mod literal_batch;
mod literal_examples;
mod margins;
mod online_crf;
mod online_invariants;
mod online_optimizers;
mod resume;
mod saga;
mod scaling;
mod stopped;
mod wide;
