//! Minimises crfkit's objective with your own optimiser: value and gradient of the penalised likelihood, and a Hessian-vector product.
//!
//! `cargo run -p crfkit --example own_optimizer`

use crfkit::chain::{CorpusBuilder, Sequence, Source};
use crfkit::data::presets::preset;
use crfkit::domain::Domain;
use crfkit::settings::Settings;
use std::sync::Arc;

fn main() -> crfkit::Result<()> {
    let mut builder = CorpusBuilder::new(Source::Templates(preset("default")?.compile(1)?));
    builder.add(&Sequence::from_rows([["the", "D"], ["dog", "N"], ["barks", "V"]])?)?;
    builder.add(&Sequence::from_rows([["dogs", "N"], ["bark", "V"]])?)?;
    let corpus = builder.finish(1)?;
    let settings = Settings::default();
    let features = Arc::new(corpus.features(&settings));
    let objective = corpus.domain.objective(&settings, features, corpus.data, 1)?;

    // Gradient descent with a fixed step on  Σ −log p(labels | words) + |θ|²/(2σ²).
    let (mut theta, mut gradient) = (vec![0.0; objective.dim()], vec![0.0; objective.dim()]);
    let precision = 1.0 / (settings.sigma * settings.sigma);
    for step in 0..=60 {
        gradient.fill(0.0); // the objective adds to it
        let loss = objective.value_grad(&theta, &mut gradient);
        let penalty = 0.5 * precision * theta.iter().map(|w| w * w).sum::<f64>();
        if step % 20 == 0 {
            println!("step {step:>2}: {:.4}", loss + penalty);
        }
        theta.iter_mut().zip(&gradient).for_each(|(w, g)| *w -= 0.1 * (g + precision * *w));
    }

    // The curvature of the loss along the gradient, exact to the last digits.
    let direction = gradient.clone();
    let mut product = vec![0.0; objective.dim()];
    objective.hess_vec(&theta, &direction, &mut gradient, &mut product);
    let curvature: f64 = direction.iter().zip(&product).map(|(v, hv)| v * hv).sum();
    println!("curvature along the gradient: {curvature:.4}");
    Ok(())
}
