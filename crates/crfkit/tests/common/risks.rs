//! Small risks of chains, with their features by enumeration.
#![allow(dead_code)] // each test file uses a part of it

use crfkit::data::dataset::Dataset;
use crfkit::graph::{Chain, Graph, Label};
use crfkit::infer::ForwardBackward;
use crfkit::loss::Likelihood;
use crfkit::math::random::Random;
use crfkit::model::{Features, Keep};
use crfkit::optim::Lbfgs;
use crfkit::risk::Risk;

pub type ChainRisk = Risk<Chain>;

const NODES: usize = 6;
const PAIRS: usize = 2;

/// What a random data set looks like.
#[derive(Clone, Copy)]
pub struct Shape {
    pub examples: usize,
    pub labels: usize,
    pub own_pairs: bool,
    /// Values of observations are drawn from here on, over a length of 2; `None` for ones.
    pub values: Option<f64>,
    pub keep: Keep,
}

pub const SMALL: Shape = Shape { examples: 12, labels: 3, own_pairs: true, values: None, keep: Keep::All };

/// Chains of one to four positions with random observations and labels, which depend on each other.
pub fn risk(seed: u64, shape: Shape) -> ChainRisk {
    let Shape { examples, labels, own_pairs, values, keep } = shape;
    let mut rng = Random::new(seed);
    let mut data = Dataset::new();
    for _ in 0..examples {
        let chain = Chain { len: 1 + rng.below(4), labels, own_pairs, triples: false, segments: None };
        let gold: Vec<Label> = (0..chain.len).map(|_| rng.below(labels) as Label).collect();
        for f in 0..chain.own_tables() {
            let observations = if f < chain.len { NODES } else { PAIRS };
            for k in 0..1 + rng.below(3) {
                let noise = rng.below(observations);
                let told = gold.get(f).map_or(noise, |&label| label as usize);
                let id = if k == 0 && rng.below(3) > 0 { told } else { noise };
                data.push_observation(id as u32, values.map_or(1.0, |from| from + 2.0 * rng.uniform()));
            }
            data.finish_table();
        }
        data.finish_example(chain, gold, if values.is_some() { 0.5 + rng.uniform() } else { 1.0 });
    }
    let features = Features::chain(&data, labels, [NODES, PAIRS], keep, true, true);
    Risk::new(Likelihood(ForwardBackward), features, data, 1).unwrap()
}

/// A risk's examples one by one: their weights, and the features φ(x, y) of every labelling y, the gold one first, by the
/// definition of the features.
pub fn labellings(risk: &ChainRisk) -> Vec<(f64, Vec<Vec<f64>>)> {
    let (data, features) = (risk.data(), risk.features());
    (0..data.len())
        .map(|example| {
            let chain = data.graph(example);
            let mut all = vec![data.gold(example).to_vec()];
            all.extend((0..chain.labels.pow(chain.len as u32)).map(|number| {
                (0..chain.len)
                    .map(|t| (number / chain.labels.pow(t as u32) % chain.labels) as Label)
                    .collect()
            }));
            let phi = |labels: Vec<Label>| {
                let mut phi = vec![0.0; features.dim()];
                let stride = chain.stride();
                for (f, table) in data.tables(example).enumerate() {
                    let kind = chain.own_kind(f);
                    let t = if kind == 0 { f } else { f - chain.len + 1 };
                    let entry = match kind {
                        0 => labels[t] as usize,
                        _ => labels[t - 1] as usize * stride + labels[t] as usize,
                    };
                    let (ids, values) = data.observations(table);
                    for (k, &id) in ids.iter().enumerate() {
                        let rows = &features.rows[kind];
                        for (i, at) in rows.range(id).zip(rows.entries_of(id)) {
                            phi[i] += if at == entry { values.get(k).copied().unwrap_or(1.0) } else { 0.0 };
                        }
                    }
                }
                let mut shared = |table: usize, entry: usize| {
                    let weights = &features.tables[table];
                    if let Some(k) = weights.entry.iter().position(|&at| at as usize == entry) {
                        phi[weights.base + k] += 1.0;
                    }
                };
                labels.windows(2).for_each(|pair| shared(0, pair[0] as usize * stride + pair[1] as usize));
                shared(1, labels[0] as usize);
                shared(2, labels[chain.len - 1] as usize);
                phi
            };
            (data.weight(example), all.into_iter().map(phi).collect())
        })
        .collect()
}

/// L-BFGS without early stops.
pub fn exact() -> Lbfgs {
    Lbfgs { gradient_tolerance: 1e-14, tolerance: 0.0, passes: 20000.0, ..Lbfgs::default() }
}
