//! The slides of smd-crf-2006, and its section 2.6: three formulas that are wrong as printed.

use super::grids::grid;
use crate::experiment::{Context, Experiment, Outcome, Part, none};
use crfkit::Result;
use crfkit::graph::{FactorGraph, FactorGraphBuilder, Gradient, Graph, Label, NODES, Psi, SharedSum};
use crfkit::infer::enumerate::enumerate;
use crfkit::infer::{Inference, LoopyBp, MeanField};
use crfkit::loss::{Gold, Loss, Pseudolikelihood};
use crfkit::math::random::Random;
use crfkit::math::{Array, simd};
use serde_json::json;

/// smd-crf-2006 section 2.6 and slides: the mean-field free energy.
pub const MEAN_FIELD: Experiment = Experiment {
    id: "slides-mf",
    row: 99,
    title: "smd section 2.6 and slides: the free energy of mean field as a bound on the log-likelihood",
    version: 1,
    data: &[],
    needs: &[],
    tolerance: "the paper errs if MF's log-likelihood is never below the true one: then it is no lower bound",
    part: Part::Paper,
    review: none,
    inconsistent: Some('a'),
    settings: |form| json!({"graphs": form.pick(200, 20), "grid": [3, 3], "potentials": "uniform in ±2", "seed": 1}),
    run: mean_field,
};
/// Slides of smd-crf-2006: the Bethe free energy.
pub const BETHE: Experiment = Experiment {
    id: "slides-bethe",
    row: 99,
    title: "slides: Bethe's free energy with ψ_ij in the edge term, or with ψ_ij ψ_i ψ_j",
    tolerance: "1e-9 on two variables: the right form is exact there",
    inconsistent: Some('b'),
    settings: |form| json!({"graphs": form.pick(200, 20), "potentials": "uniform in ±2", "seed": 2}),
    run: bethe,
    ..MEAN_FIELD
};
/// Slides of smd-crf-2006: the loss of pseudolikelihood.
pub const SLIDES_PL: Experiment = Experiment {
    id: "slides-pl",
    row: 99,
    title: "slides: the loss of pseudolikelihood, log(1 + exp(a)) or log(1 + exp(-2 y a))",
    tolerance: "1e-9",
    inconsistent: Some('c'),
    settings: |form| json!({"graphs": form.pick(200, 20), "grid": [3, 3], "potentials": "uniform in ±2", "seed": 3}),
    run: slides_pl,
    ..MEAN_FIELD
};

/// Runs an engine on random log-potentials.
fn log_z(engine: &impl Inference<Graph = FactorGraph>, graph: &FactorGraph, own: &Array<f64>) -> f64 {
    let (mut marginals, mut sum) = (Array::zeros(own.len()), SharedSum::new(&[]));
    let range = 0..own.len();
    let mut out = Gradient { own: marginals.slice_mut(range), shared: &mut sum };
    engine.log_z(graph, Psi { shared: &[], own }, 1.0, &mut out, &mut Default::default()).log_z
}

/// Log-potentials uniform in ±2.
fn potentials(random: &mut Random, graph: &FactorGraph) -> Array<f64> {
    let mut own = Array::zeros(graph.own_len());
    graph.clear_own(own.plane_mut(0));
    for x in own.plane_mut(0).iter_mut().filter(|x| **x == 0.0) {
        *x = 4.0 * random.uniform() - 2.0;
    }
    own
}

fn exact(graph: &FactorGraph, own: &Array<f64>) -> f64 {
    enumerate(graph, &[], own).log_z
}

fn mean_field(context: &Context) -> Result<Outcome> {
    let graph = grid([3, 3]).build()?;
    let mut random = Random::new(1);
    let (mut above, mut below, mut largest) = (0, 0, 0.0f64);
    for _ in 0..context.form.pick(200, 20) {
        let own = potentials(&mut random, &graph);
        // The log-likelihood by MF minus the true one: the scores of the gold labels cancel.
        let excess = exact(&graph, &own) - log_z(&MeanField::default(), &graph, &own);
        above += usize::from(excess > 1e-9);
        below += usize::from(excess < -1e-9);
        largest = largest.max(excess);
    }
    let mut outcome = Outcome::default();
    outcome.show("graphs whose log-likelihood MF puts too high", "0", above as f64);
    outcome.show("graphs whose log-likelihood MF puts too low", "all", below as f64);
    outcome.show("largest excess", "", largest);
    outcome.claim("MF overestimates the log-likelihood: log Z ≥ −F", below == 0 && above > 0);
    Ok(outcome)
}

fn bethe(context: &Context) -> Result<Outcome> {
    let mut builder = FactorGraphBuilder::new(vec![2; 2])?;
    builder.add_own(NODES, &[0])?;
    builder.add_own(NODES, &[1])?;
    builder.add_own(NODES + 1, &[0, 1])?;
    let graph = builder.build()?;
    let mut random = Random::new(2);
    let (mut right, mut wrong) = (0.0f64, 0.0f64);
    for _ in 0..context.form.pick(200, 20) {
        let own = potentials(&mut random, &graph);
        let truth = exact(&graph, &own);
        right = right.max((log_z(&LoopyBp::default(), &graph, &own) - truth).abs());
        // With ψ_ij alone in the edge term and (d − 1) log ψ_i in the node term, d = 1 removes the nodes from the
        // energy.
        let (at, stride) = (graph.own_offset(2), simd::padded(2));
        let node = |v: usize, y: usize| own.get(graph.own_offset(v) + y);
        let pair = |i: usize, j: usize| own.get(at + i * stride + j);
        let score = |i: usize, j: usize| node(0, i) + node(1, j) + pair(i, j);
        let states = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let slides: f64 = states
            .iter()
            .map(|&(i, j)| {
                let p = (score(i, j) - truth).exp();
                p * (pair(i, j) - p.ln())
            })
            .sum();
        wrong = wrong.max((slides - truth).abs());
    }
    let mut outcome = Outcome::default();
    outcome.show("largest error of log Z with ψ_ij ψ_i ψ_j", "", right);
    outcome.show("largest error of log Z with ψ_ij, as on the slide", "0", wrong);
    outcome.claim("only the form with ψ_ij ψ_i ψ_j is exact on a tree", right < 1e-9 && wrong > 0.1);
    Ok(outcome)
}

fn slides_pl(context: &Context) -> Result<Outcome> {
    let graph = grid([3, 3]).build()?;
    let mut random = Random::new(3);
    let (mut right, mut wrong) = (0.0f64, 0.0f64);
    for _ in 0..context.form.pick(200, 20) {
        // Ising tables: ±a for the nodes, ±J for equal and unequal neighbours.
        let mut own = potentials(&mut random, &graph);
        let stride = simd::padded(2);
        let mut fields = [0.0; 9];
        let labels: Vec<Label> = (0..9).map(|_| random.below(2) as Label).collect();
        let spin = |v: usize| 2.0 * f64::from(labels[v]) - 1.0;
        for f in 0..graph.own_tables() {
            let (at, w) = (graph.own_offset(f), 4.0 * random.uniform() - 2.0);
            let factor = graph.factor(f);
            match factor.vars {
                [v] => {
                    own.set(at, -w);
                    own.set(at + 1, w);
                    fields[*v] += w;
                }
                [i, j] => {
                    for (k, x) in [(0, w), (1, -w), (stride, -w), (stride + 1, w)] {
                        own.set(at + k, x);
                    }
                    fields[*i] += w * spin(*j);
                    fields[*j] += w * spin(*i);
                }
                _ => {}
            }
        }
        let (mut gradient, mut sum) = (Array::zeros(own.len()), SharedSum::new(&[]));
        let range = 0..own.len();
        let loss: f64 = Pseudolikelihood::<FactorGraph>::default().loss(
            &graph,
            Psi { shared: &[], own: &own },
            Gold::new(&labels, 1.0),
            &mut Gradient { own: gradient.slice_mut(range), shared: &mut sum },
            &mut Default::default(),
        );
        let ours: f64 = (0..9).map(|v| (-2.0 * spin(v) * fields[v]).exp().ln_1p()).sum();
        let slides: f64 = fields.iter().map(|a| a.exp().ln_1p()).sum();
        right = right.max((ours - loss).abs());
        wrong = wrong.max((slides - loss).abs());
    }
    let mut outcome = Outcome::default();
    outcome.show("largest distance of Σ log(1 + exp(−2 y a)) from −Σ log p(y_i | neighbours)", "", right);
    outcome.show("largest distance of Σ log(1 + exp(a)), as on the slide", "0", wrong);
    outcome.claim("the slide drops the label and the factor 2", right < 1e-9 && wrong > 0.1);
    Ok(outcome)
}
