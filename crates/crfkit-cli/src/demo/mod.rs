//! `crfkit demo`: small tasks of our own making, each trained and shown in a few seconds.

pub mod corpus;
mod grammar;
pub mod shapes;
mod words;
