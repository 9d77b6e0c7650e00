//! `crfkit demo`: a small task of our own making, trained and shown in a few seconds.

pub mod corpus;
mod grammar;
mod words;
