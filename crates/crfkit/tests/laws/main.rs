//! The three laws, and what stands on them: engines equal enumeration, gradients are slopes, Hessian-vector products are slopes of gradients.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/eigen.rs"]
mod eigen;
#[path = "../common/graphs.rs"]
mod graphs;

mod bethe_pieces;
mod confidences;
mod constraints;
mod costs;
mod curvature;
mod decoders;
mod dense;
mod derivatives;
mod engines;
mod fixed_points;
mod graph_answers;
mod graph_derivatives;
mod graph_losses;
mod local_losses;
mod node_split;
mod once;
mod oracle;
mod overflow;
mod partial;
mod risk;
mod second_order;
mod segments;
mod single;
mod sparse;
mod stars;
mod structures;
mod ties;
