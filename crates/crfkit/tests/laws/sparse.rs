//! A table of ones plus a few pairs gives the numbers of the same table held densely.

use crate::common;

use common::{Problem, difference};
use crfkit::graph::{Chain, Gradient, Graph, PAIR, Psi, Shared, SharedSum, Sparse, Table};
use crfkit::infer::{ForwardBackward, Inference};
use crfkit::math::random::Random;
use crfkit::math::{Array, Dual, Scalar};

fn infer<S: Scalar>(chain: &Chain, shared: &Shared<S>, own: &Array<S>) -> (S, Array<S>, SharedSum<S>) {
    let (mut marginals, mut sums) = (Array::zeros(own.len()), SharedSum::new(shared));
    let mut out = Gradient { own: marginals.slice_mut(0..own.len()), shared: &mut sums };
    let log_z =
        ForwardBackward.log_z(chain, Psi { shared, own }, 1.5, &mut out, &mut Default::default()).log_z;
    sums.finish(shared);
    (log_z, marginals, sums)
}

/// Most pairs 0, the others as `draw` says.
fn check(labels: usize, draw: impl Fn(&mut Random) -> f64, tolerance: f64) {
    let mut rng = Random::new(labels as u64);
    let chain = Chain { len: 6, labels, own_pairs: false, triples: false, segments: None };
    let mut problem = Problem::random(&mut rng, chain, 2.0);
    let direction = Problem::random(&mut rng, chain, 1.0);
    for w in &mut problem.shared[PAIR] {
        *w = if rng.below(4) == 0 { draw(&mut rng) } else { 0.0 };
    }
    let mut dense = problem.tables::<Dual>(Some(&direction), 1.0);
    let entries: Vec<u32> = (0..dense[PAIR].log.len() as u32)
        .filter(|&e| (e as usize % chain.stride()) < labels && dense[PAIR].log.get(e as usize).re() != 0.0)
        .collect();
    // Pairs without a weight have no derivative either.
    for e in (0..dense[PAIR].log.len() as u32).filter(|e| !entries.contains(e)) {
        let w = dense[PAIR].log.get(e as usize).re();
        dense[PAIR].log.set(e as usize, Dual::lift(w));
    }
    dense[PAIR].update();
    let mut sparse = dense.clone();
    sparse[PAIR].sparse = Some(Sparse::new(&entries, chain.stride()));
    sparse[PAIR].update();
    let own = problem.own_array::<Dual>(Some(&direction), 1.0);
    let (a, own_a, sum_a) = infer(&chain, &dense, &own);
    let (b, own_b, sum_b) = infer(&chain, &sparse, &own);
    assert!(difference(a.re, b.re) < tolerance && difference(a.eps, b.eps) < tolerance);
    for i in 0..chain.own_len() {
        let d = own_a.get(i) - own_b.get(i);
        assert!(d.re.abs() < tolerance && d.eps.abs() < tolerance, "marginal {i}");
    }
    for &e in &entries {
        let d = sum_a.0[PAIR].direct.get(e as usize) - sum_b.0[PAIR].direct.get(e as usize);
        assert!(d.re.abs() < tolerance && d.eps.abs() < tolerance, "pair {e}");
    }
}

#[test]
fn sparse_equals_dense() {
    for labels in [1, 3, 8, 20, 75] {
        check(labels, |rng| rng.uniform() * 6.0 - 3.0, 1e-12);
        check(labels, |rng| rng.uniform() * 24.0 - 12.0, 1e-9); // the largest cancellation that is allowed
        check(labels, |rng| rng.uniform() * 100.0 - 60.0, 1e-9); // some lines are dense
        check(labels, |rng| rng.uniform() * 1400.0 - 700.0, 1e-9); // log space
    }
}

/// Online steps set one table again and again: what it was before must not show, not in the last bit.
#[test]
fn an_old_table_is_like_a_new_one() {
    let (labels, mut rng) = (20, Random::new(5));
    let mut new = Table::<Dual>::new(labels, labels);
    let stride = new.stride;
    let entries: Vec<u32> = (0..(labels * stride) as u32)
        .filter(|&e| (e as usize % stride) < labels && rng.below(4) == 0)
        .collect();
    new.sparse = Some(Sparse::new(&entries, stride));
    let mut old = new.clone();
    for scale in [1.0, 1.2, 20.0, 3.0, 900.0, 1.0] {
        let mut fresh = new.clone();
        for &e in &entries {
            let w = Dual::new(scale * (2.0 * rng.uniform() - 1.0), rng.uniform());
            old.log.set(e as usize, w);
            fresh.log.set(e as usize, w);
        }
        let mut dense = fresh.clone();
        dense.sparse = None;
        [&mut old, &mut fresh, &mut dense].into_iter().for_each(Table::update);
        assert_eq!((old.shift, old.spread), (fresh.shift, fresh.spread), "{scale}");
        assert!(old.shift >= dense.shift);
        let arrays = |table: &Table<Dual>| {
            [&table.log_t, &table.columns, &table.exp, &table.exp_t]
                .map(|x| (x.plane(0).to_vec(), x.plane(1).to_vec()))
        };
        assert_eq!(arrays(&old), arrays(&fresh), "{scale}");
        assert_eq!(arrays(&fresh)[0], arrays(&dense)[0], "log_t, {scale}");
        for j in 0..labels {
            let d = fresh.columns.get(j) - dense.columns.get(j);
            assert!(d.re.abs() < 1e-12 * scale.max(1.0) && d.eps.abs() < 1e-12, "column {j}, {scale}: {d:?}");
        }
    }
}
