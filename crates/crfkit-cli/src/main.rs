//! The program `crfkit`.
fn main() {}
