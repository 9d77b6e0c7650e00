//! The cost of a step or a term: ctjpgis-psa-2007 (O(n) per iteration), pwpl-2007 (O(m) per factor).

use super::reviews;
use crate::chart::{Chart, Line};
use crate::clock;
use crate::experiment::{Context, Experiment, Outcome, Part};
use crfkit::Result;
use crfkit::chain::CorpusBuilder;
use crfkit::data::attributes::{AttributeReader, Attributes};
use crfkit::data::observer::Source;
use crfkit::data::text::{Encoding, Lines};
use crfkit::graph::{FactorGraph, FactorGraphBuilder, Gradient, Graph, NODES, Psi, SharedSum};
use crfkit::loss::{Gold, Loss, Piecewise, PiecewisePseudolikelihood};
use crfkit::math::Array;
use crfkit::math::random::Random;
use crfkit::model::Keep;
use crfkit::optim::Updates;
use crfkit::train::{self, Method, Parameters, Settings, TrainOptions};
use serde_json::json;
use std::fmt::Write;
use std::time::Instant;

/// ctjpgis-psa-2007: an iteration of PSA costs O(n).
pub const PSA: Experiment = Experiment {
    id: "psa-linear",
    review: reviews::psa_linear,
    row: 117,
    title: "psa: an iteration of PSA costs O(n), n the number of weights",
    version: 2,
    data: &[],
    needs: &[],
    tolerance: "seconds of an iteration grow with n to a power between 0.5 and 1.3",
    part: Part::Paper,
    inconsistent: None,
    settings: |form| json!({"words": form.pick(&WORDS[..], &WORDS[..2]), "updates": "dense", "labels": 10}),
    run: psa,
};
/// pwpl-2007 section 3.1: a term of PWPL costs O(m).
pub const PWPL: Experiment = Experiment {
    id: "pwpl-cost",
    review: reviews::pwpl_cost,
    row: 120,
    title: "pwpl section 3.1: a term of PWPL costs O(m), one of PW O(m^K), K variables with m labels",
    tolerance: "PW / PWPL grows with m to the power K - 1 (0.3 for K = 2, 0.5 for K = 3), faster for K = 3",
    settings: |form| json!({"labels, K = 2": form.pick(&PAIRS[..], &PAIRS[..2]), "labels, K = 3": form.pick(&TRIPLES[..], &TRIPLES[..2])}),
    run: pwpl,
    ..PSA
};

/// The sizes of the vocabularies.
const WORDS: [usize; 6] = [10_000, 20_000, 40_000, 80_000, 160_000, 320_000];
/// The first this many sizes decide; the others show the effect of the caches.
const DECISIVE: usize = 4;
const PAIRS: [usize; 4] = [16, 48, 128, 384];
const TRIPLES: [usize; 4] = [4, 8, 16, 48];

/// The seconds of one iteration with this many words, each with a weight for each of 10 labels.
fn iteration(words: usize) -> Result<f64> {
    const LABELS: usize = 10;
    const SEQUENCES: usize = 40;
    let mut random = Random::new(1);
    // All words at the ten tokens of one sequence, then a few of them in each of the others.
    let mut text = String::new();
    for label in 0..LABELS {
        let _ = write!(text, "{label}"); // to a string, here and below
        (label..words).step_by(LABELS).for_each(|word| text += &format!("\tw{word}"));
        text.push('\n');
    }
    for _ in 0..SEQUENCES {
        text.push('\n');
        for _ in 0..5 {
            let _ = writeln!(text, "{}\tw{}", random.below(LABELS), random.below(words));
        }
    }
    let mut builder = CorpusBuilder::new(Source::Attributes);
    let mut reader = AttributeReader::new(Lines::new(text.as_bytes(), "costs", Encoding::Utf8));
    let mut sequence = Attributes::default();
    while reader.read(&mut sequence)? {
        builder.add_attributes(&sequence)?;
    }
    // Steps so small that the run ends below its start; how long they are costs no time.
    let parameters = Parameters { updates: Some(Updates::Dense), eta0: Some(1e-3), ..Parameters::default() };
    let settings = Settings {
        optimizer: Method::Psa,
        features: Keep::All,
        parameters,
        passes: Some(2),
        ..Settings::default()
    };
    let corpus = builder.finish(1)?;
    let features = train::features(&corpus, &settings);
    let start = Instant::now();
    train::train(
        corpus,
        features,
        &settings,
        TrainOptions { threads: 1, ..TrainOptions::default() },
        &mut (),
    )?;
    Ok(start.elapsed().as_secs_f64() / (2 * (SEQUENCES + 1)) as f64)
}

/// The power p of y ~ x^p between the first and the last point.
fn power(points: &[[f64; 2]]) -> f64 {
    match (points.first(), points.last()) {
        (Some(a), Some(b)) => (b[1] / a[1]).ln() / (b[0] / a[0]).ln(),
        _ => f64::NAN,
    }
}

fn psa(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    for &words in context.form.pick(&WORDS[..], &WORDS[..2]) {
        let seconds = iteration(words)?.min(iteration(words)?);
        let weights = (10 * words + 100) as f64;
        outcome.show(format!("seconds of an iteration, n = {weights}"), "", seconds);
        points.push([weights, seconds]);
    }
    let all = power(&points[..points.len().min(DECISIVE)]);
    outcome.show("power of n", "1", all);
    outcome.claim("the power of n is between 0.5 and 1.3", (0.5..=1.3).contains(&all));
    if let Some(large) = points.get(DECISIVE - 1..) {
        let large = power(large);
        outcome.show("power of n from the fourth n on", "1", large);
        if (large - 1.0).abs() <= 0.3 {
            outcome.because(PSA.id, &["power of n"], format!("small n. From the fourth n on the power is {large:.2}; with fewer weights an iteration costs less for each, probably because they fit into the caches."));
        }
    }
    outcome.note("With lazy updates, the default, an iteration costs only what its batch touches.");
    outcome.note("The first run had all words in one sequence of as many tokens; its inference, by logarithms where gradients of such a length had blown up the label pairs, was most of what was measured (power 1.7 to 1.85).");
    Ok(outcome)
}

/// The seconds of a loss on one factor over `k` variables with `m` labels, and those of clearing its gradient alone: the smallest of several
/// runs.
fn seconds<L: Loss<Graph = FactorGraph>>(loss: &L, k: usize, m: usize) -> Result<[f64; 2]> {
    let vars: Vec<usize> = (0..k).collect();
    let mut builder = FactorGraphBuilder::new(vec![m; k])?;
    builder.add_own(NODES, &vars)?;
    let graph = builder.build()?;
    let mut random = Random::new(1);
    let mut own = Array::zeros(graph.own_len());
    graph.clear_own(own.plane_mut(0));
    own.plane_mut(0).iter_mut().filter(|x| **x == 0.0).for_each(|x| *x = random.uniform());
    let (mut gradient, mut sum, mut work) =
        (Array::zeros(own.len()), SharedSum::new(&[]), L::Work::<f64>::default());
    let gold = vec![0; k];
    let (mut least, mut clearing) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..7 {
        let clear = || (0..20).for_each(|_| std::hint::black_box(gradient.plane_mut(0)).fill(0.0));
        clearing = clearing.min(clock::seconds(clear).1 / 20.0);
        let mut pass = || {
            let range = 0..own.len();
            let mut out = Gradient { own: gradient.slice_mut(range), shared: &mut sum };
            let gold = Gold::new(&gold, 1.0);
            std::hint::black_box(loss.loss(
                &graph,
                Psi { shared: &[], own: &own },
                gold,
                &mut out,
                &mut work,
            ));
        };
        least = least.min(clock::seconds(|| (0..20).for_each(|_| pass())).1 / 20.0);
    }
    Ok([least, clearing])
}

fn pwpl(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut lines = Vec::new();
    for (k, sizes) in [(2, PAIRS), (3, TRIPLES)] {
        let mut points = Vec::new();
        for &m in context.form.pick(&sizes[..], &sizes[..2]) {
            let [pw, _] = seconds(&Piecewise::default(), k, m)?;
            let [pwpl, clearing] = seconds(&PiecewisePseudolikelihood::default(), k, m)?;
            outcome.show(format!("K = {k}, m = {m}: PW over PWPL"), "", pw / pwpl);
            let share = 100.0 * clearing / pwpl;
            outcome.show(
                format!("clearing the gradient, K = {k}, m = {m}: per cent of the time of PWPL"),
                "",
                share,
            );
            points.push([m as f64, pw / pwpl]);
        }
        lines.push(Line { name: format!("K = {k}"), points });
    }
    outcome.note("Both clear the m^K numbers of the factor's gradient, which bounds the ratio.");
    outcome.charts.push(Chart {
        name: "ratio".into(),
        title: "Time of a factor: PW over PWPL".into(),
        x: "labels".into(),
        y: "ratio".into(),
        log_x: true,
        lines,
        ..Chart::default()
    });
    Ok(outcome)
}
