//! Trains on sequences that are in memory, watches the progress, and asks for several labellings.
//!
//! `cargo run -p crfkit --example train_from_memory`

use crfkit::chain::Sequence;
use crfkit::{Sequences, Trainer};

fn main() -> crfkit::Result<()> {
    let sentences = [
        vec![["the", "D"], ["dog", "N"], ["barks", "V"]],
        vec![["a", "D"], ["cat", "N"], ["sleeps", "V"]],
        vec![["dogs", "N"], ["bark", "V"]],
    ];
    let sequences = sentences.map(Sequence::from_rows).into_iter().collect::<crfkit::Result<Vec<_>>>()?;

    let mut steps = 0;
    let model = Trainer::new()
        .sigma(2.0)
        .on_progress(|state| {
            steps += 1;
            state.passes < 50.0 // false would stop here, with the weights so far
        })
        .train(Sequences::new(sequences))?;
    println!("labels {:?}", model.labels());

    let mut tagger = model.tagger()?;
    for (labels, probability) in tagger.nbest(&Sequence::from_rows([["the"], ["cat"], ["barks"]])?, 3)? {
        println!("{probability:.3}  {}", labels.join(" "));
    }
    Ok(())
}
