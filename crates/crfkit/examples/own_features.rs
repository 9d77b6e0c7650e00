//! Trains on your own features, with values, instead of columns and templates.
//!
//! `cargo run -p crfkit --example own_features`

use crfkit::chain::Sequence;
use crfkit::{Sequences, Trainer};

/// The features of a word.
fn features(word: &str) -> Vec<(String, f64)> {
    let digits = word.chars().filter(char::is_ascii_digit).count() as f64 / word.len() as f64;
    let mut features = vec![(format!("word={}", word.to_lowercase()), 1.0), ("digits".to_owned(), digits)];
    if word.starts_with(char::is_uppercase) {
        features.push(("capitalised".to_owned(), 1.0));
    }
    features
}

fn main() -> crfkit::Result<()> {
    let addresses = [
        [("12", "NUMBER"), ("Mill", "STREET"), ("Lane", "STREET"), ("Bath", "CITY")],
        [("7", "NUMBER"), ("High", "STREET"), ("Street", "STREET"), ("York", "CITY")],
        [("103", "NUMBER"), ("Park", "STREET"), ("Lane", "STREET"), ("Leeds", "CITY")],
    ];
    let sequence = |tokens: [(&'static str, &'static str); 4]| {
        Sequence::from_features(tokens.map(|(word, label)| (label, features(word))))
    };
    let training = addresses.map(sequence).into_iter().collect::<crfkit::Result<Vec<_>>>()?;
    let model = Trainer::new().train(Sequences::new(training))?;

    let new = ["9", "Church", "Street", "Durham"];
    let sequence = Sequence::from_features(new.map(|word| ("?", features(word))))?;
    for (word, token) in new.iter().zip(model.tagger()?.tag_sequence(&sequence)?) {
        println!("{word:<8} {:<8} {:.3}", token.label, token.probability);
    }
    Ok(())
}
