//! Exact inference on graphs with a variable that all others touch: as many bags as leaves, and the answers of belief propagation.

use crate::graphs::{Problem, difference};
use crfkit::decode::{Decoder, ExactArgmax, MaxProduct};
use crfkit::graph::{FactorGraph, FactorGraphBuilder, Psi};
use crfkit::infer::{Exact, JunctionTree, Tree};
use crfkit::math::random::Random;

/// A star, its centre first or last.
fn star(leaves: usize, centre_first: bool) -> FactorGraph {
    let mut builder = FactorGraphBuilder::new(vec![2; leaves + 1]).unwrap();
    for leaf in 0..leaves {
        let vars = if centre_first { [0, leaf + 1] } else { [leaf, leaves] };
        builder.add_own(leaf, &vars).unwrap();
    }
    builder.build().unwrap()
}

/// With 20,000 leaves, work that is quadratic in them would take minutes here, and cubic work years.
#[test]
fn a_star_is_a_tree_however_many_leaves_it_has() {
    for (leaves, centre_first) in [(50, true), (50, false), (20_000, true), (20_000, false)] {
        let graph = star(leaves, centre_first);
        let tree = graph.clique_tree().unwrap();
        assert_eq!((tree.width, tree.entries, tree.bags.len()), (2, 4 * leaves, leaves));
        let problem = Problem::random(&mut Random::new(1), &graph, 1.0);
        JunctionTree::default().check(&graph).unwrap();
        let [a, b, c] = [
            problem.infer::<f64, _>(&JunctionTree::default(), None, 0.0).outcome.log_z,
            problem.infer::<f64, _>(&Tree, None, 0.0).outcome.log_z,
            problem.infer::<f64, _>(&Exact::default(), None, 0.0).outcome.log_z,
        ];
        assert!(difference(a, b) < 1e-10 && difference(a, c) < 1e-10, "{a}, {b}, {c}");
        let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
        let psi = Psi { shared: &shared, own: &own };
        let mut labels = Vec::new();
        let exact = ExactArgmax::default().argmax(&graph, psi, &mut labels, &mut Default::default());
        let passed = MaxProduct::default().argmax(&graph, psi, &mut labels, &mut Default::default());
        assert!(difference(exact, passed) < 1e-10, "{exact}, {passed}");
    }
}

/// The limit that a rejection names is the one that was given, also where no machine could hold the tables.
#[test]
fn a_rejection_names_the_given_limit() {
    for vars in [20, 60] {
        let mut builder = FactorGraphBuilder::new(vec![2; vars]).unwrap();
        for j in 1..vars {
            (0..j).for_each(|i| assert!(builder.add_own(0, &[i, j]).is_ok()));
        }
        let graph = builder.build().unwrap();
        for max_bytes in [1000, 1 << 22] {
            let limit = format!("more than the {max_bytes} allowed");
            for error in [JunctionTree { max_bytes }.check(&graph), ExactArgmax { max_bytes }.check(&graph)] {
                let message = error.unwrap_err().to_string();
                assert!(message.contains(&limit), "{message}");
            }
        }
    }
}
