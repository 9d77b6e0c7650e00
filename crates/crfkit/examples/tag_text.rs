//! Trains a tagger on a column file, saves it, opens it again and labels new text.
//!
//! `cargo run -p crfkit --example tag_text`

use crfkit::{Model, Trainer};

fn main() -> crfkit::Result<()> {
    let directory = std::env::temp_dir().join(format!("crfkit-tag-text-{}", std::process::id()));
    std::fs::create_dir_all(&directory).map_err(|error| crfkit::Error::io("temporary directory", error))?;
    let (data, file) = (directory.join("train.tsv"), directory.join("model"));
    // One token per line, the label in the last column, a blank line between sequences.
    let lines = "2\tB-QTY\ncups\tB-UNIT\nflour\tB-NAME\n\n1\tB-QTY\nred\tB-NAME\nonion\tI-NAME\n\n3\tB-QTY\neggs\tB-NAME\n";
    std::fs::write(&data, lines).map_err(|error| crfkit::Error::io("train.tsv", error))?;

    let model = Trainer::new().train(crfkit::columns(&data)?)?;
    model.save(&file)?;

    let model = Model::open(&file)?;
    for token in model.tagger()?.tag([["1"], ["cup"], ["flour"]])? {
        println!("{:<8} {:.3}", token.label, token.probability);
    }
    println!("\non its own training data:\n{}", model.evaluate(crfkit::columns(&data)?)?);
    std::fs::remove_dir_all(&directory).map_err(|error| crfkit::Error::io("temporary directory", error))
}
