//! `crfkit demo`: small tasks made for this program. Each is trained and shown in a few seconds.

pub mod corpus;
mod grammar;
pub mod shapes;
mod words;
