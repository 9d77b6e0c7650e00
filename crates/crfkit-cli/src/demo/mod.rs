//! `crfkit demo`: a small task of our own making, trained and shown in a few seconds.
#![allow(dead_code)] // the command that reads the corpus is a piece of its own

pub mod corpus;
mod grammar;
mod words;
