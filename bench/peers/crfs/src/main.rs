//! `crfs-peer MODEL ATTRIBUTES REPEAT`: how many tokens a second the crate crfs tags with a model of CRFsuite. The attributes
//! are read and put into its own form beforehand. Prints one JSON object.

use crfs::{Attribute, Model};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, model, attributes, repeat] = &arguments[..] else {
        return Err("usage: crfs-peer MODEL ATTRIBUTES REPEAT".into());
    };
    let bytes = std::fs::read(model)?;
    let model = Model::new(&bytes)?;
    let tagger = model.tagger()?;
    let sequences = read(&std::fs::read_to_string(attributes)?);
    let tokens: usize = sequences.iter().map(Vec::len).sum();
    let mut speeds = Vec::new();
    for _ in 0..repeat.parse()? {
        let begun = Instant::now();
        let mut labels = 0;
        for sequence in &sequences {
            labels += tagger.tag(sequence)?.len();
        }
        speeds.push((labels.min(tokens) as f64 / begun.elapsed().as_secs_f64()).to_string());
    }
    println!("{{\"tokens_per_second\": [{}]}}", speeds.join(", "));
    Ok(())
}

/// Tokens by sequence; the first field of a line is the label. Names are unescaped as CRFsuite does it.
fn read(text: &str) -> Vec<Vec<Vec<Attribute>>> {
    let token = |line: &str| {
        let names = line.split('\t').skip(1).map(|name| name.replace("\\:", ":").replace("\\\\", "\\"));
        names.map(|name| Attribute::new(name, 1.0)).collect()
    };
    let sequence = |lines: &str| lines.lines().filter(|line| !line.is_empty()).map(token).collect();
    text.split("\n\n").map(sequence).filter(|sequence: &Vec<_>| !sequence.is_empty()).collect()
}
