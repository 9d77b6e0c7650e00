//! Seconds of one parallel sweep of loopy belief propagation on a square grid, for the benchmark: `loopy_sweep SIDE LABELS
//! dense|potts ROUNDS` prints `{"seconds_per_sweep": [...]}`, one number a round. A round is a call with many sweeps minus one with few,
//! so that what is done once a call cancels out.

use crfkit::graph::build::PairTables;
use crfkit::graph::{Gradient, Graph, Grid, Neighbours, Psi, SharedSum};
use crfkit::infer::{Inference, LoopyBp};
use crfkit::math::random::Random;
use crfkit::math::{Array, simd};
use std::error::Error;
use std::time::Instant;

const FEW: usize = 2;
const MANY: usize = 102;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [side, labels, tables, rounds] = &arguments[..] else {
        return Err("usage: loopy_sweep SIDE LABELS dense|potts ROUNDS".into());
    };
    let (side, labels, rounds) = (side.parse()?, labels.parse::<usize>()?, rounds.parse()?);
    let dense = match tables.as_str() {
        "dense" => true,
        "potts" => false,
        other => return Err(format!("{other}: neither dense nor potts").into()),
    };
    let graph = Grid {
        height: side,
        width: side,
        labels,
        neighbours: Neighbours::Four,
        pairs: PairTables::Own,
        directions_tied: true,
    }
    .build()?;
    let mut random = Random::new(1);
    let mut own = Array::zeros(graph.own_len());
    graph.clear_own(own.plane_mut(0));
    for table in 0..graph.own_tables() {
        let at = graph.own_offset(table);
        let rows = if table < side * side { 1 } else { labels };
        for entry in 0..rows * labels {
            let (row, column) = (entry / labels, entry % labels);
            let value = match rows > 1 && !dense {
                true => f64::from(u8::from(row == column)),
                false => random.uniform(),
            };
            own.set(at + row * simd::padded(labels) + column, value);
        }
    }
    let (mut marginals, mut sum) = (Array::zeros(own.len()), SharedSum::new(&[]));
    let mut work = Default::default();
    let mut seconds = |sweeps: usize| {
        let engine = LoopyBp { max_iterations: sweeps, tolerance: -1.0, ..LoopyBp::default() };
        let mut out = Gradient { own: marginals.slice_mut(0..own.len()), shared: &mut sum };
        let begun = Instant::now();
        let outcome = engine.log_z(&graph, Psi { shared: &[], own: &own }, 1.0, &mut out, &mut work);
        assert_eq!(outcome.iterations, sweeps, "no sweep is saved");
        begun.elapsed().as_secs_f64()
    };
    seconds(MANY); // the first call makes room
    let samples: Vec<String> = (0..rounds)
        .map(|_| {
            let few = seconds(FEW);
            format!("{:e}", (seconds(MANY) - few) / (MANY - FEW) as f64)
        })
        .collect();
    println!("{{\"seconds_per_sweep\": [{}]}}", samples.join(", "));
    Ok(())
}
