//! Factor graphs: layout, refusals, familiar shapes, node splitting.

use crfkit::GraphError;
use crfkit::graph::build::{self, PairTables};
use crfkit::graph::{
    Chain, FactorGraph, FactorGraphBuilder, Graph, Grid, Label, NODES, Neighbours, NodeSplit, PAIRS, Pieces,
    Psi, Shape, TableRef,
};
use crfkit::math::{Array, simd};

#[test]
fn mistakes_are_named() {
    assert_eq!(FactorGraphBuilder::new(vec![2, 0]).unwrap_err(), GraphError::NoLabels { var: 1 });
    let mut builder = FactorGraphBuilder::new(vec![2, 3, 2]).unwrap();
    assert_eq!(builder.add_own(0, &[]).unwrap_err(), GraphError::NoVariables);
    assert_eq!(builder.add_own(0, &[1, 3]).unwrap_err(), GraphError::NoSuchVariable { var: 3, vars: 3 });
    assert_eq!(builder.add_shared(0, &[1, 2, 1]).unwrap_err(), GraphError::RepeatedVariable { var: 1 });
    builder.add_own(0, &[0, 1]).unwrap();
    let wrong = builder.add_own(0, &[0, 2]).unwrap_err();
    assert!(matches!(wrong, GraphError::WrongShape { expected: (2, 3), found: (2, 2), .. }));
    builder.add_shared(4, &[0]).unwrap();
    assert!(builder.add_shared(4, &[1]).is_err());
    let graph = builder.build().unwrap();
    assert_eq!(graph.factors(), 2, "what was refused left nothing behind");
    let (shared, own) = (Vec::new(), Array::<f64>::zeros(graph.own_len() - 1));
    assert!(matches!(
        graph.check(Psi { shared: &shared, own: &own }).unwrap_err(),
        GraphError::WrongLength { expected: 16, found: 15 }
    ));
    let own = Array::<f64>::zeros(graph.own_len());
    assert!(matches!(
        graph.check(Psi { shared: &shared, own: &own }).unwrap_err(),
        GraphError::WrongShape { .. }
    ));
    let mut huge = FactorGraphBuilder::new(vec![1 << 20; 3]).unwrap();
    assert!(matches!(huge.add_own(0, &[0, 1, 2]).unwrap_err(), GraphError::TableTooLarge { .. }));
}

/// Every entry of a factor has a place of its own in its table, and none of them is padding.
fn check_layout(graph: &FactorGraph) {
    let mut own = vec![1.0; graph.own_len()];
    graph.clear_own(&mut own);
    let mut seen = vec![false; own.len()];
    let mut labels = vec![0 as Label; graph.vars()];
    for f in 0..graph.factors() {
        let factor = graph.factor(f);
        let entries: usize = factor.vars.iter().map(|&v| graph.card(v)).product();
        for e in 0..entries {
            let mut rest = e;
            for &v in factor.vars {
                labels[v] = (rest % graph.card(v)) as Label;
                rest /= graph.card(v);
            }
            match factor.table {
                TableRef::Own(at) => {
                    let i = at + factor.entry(&labels);
                    assert!(own[i] == 0.0 && !seen[i]);
                    seen[i] = true;
                }
                TableRef::Shared(id) => {
                    let shape = graph.shared_shapes()[id];
                    let i = factor.entry(&labels);
                    assert!(i < shape.size() && i % shape.stride() < shape.columns);
                }
            }
        }
    }
    assert!(seen.iter().zip(&own).all(|(seen, &x)| *seen == (x == 0.0) && (x == 0.0 || x == simd::PAD)));
    let mut end = 0;
    for f in 0..graph.own_tables() {
        assert_eq!(graph.own_offset(f), end);
        assert_eq!(graph.own_size(f), graph.own_shape(f).size());
        end += graph.own_size(f);
    }
    assert_eq!(end, graph.own_len());
}

fn shapes() -> Vec<FactorGraph> {
    let grid = |neighbours, pairs, directions_tied| {
        Grid { height: 3, width: 4, labels: 3, neighbours, pairs, directions_tied }.build().unwrap()
    };
    let mut mixed = FactorGraphBuilder::new(vec![2, 9, 3, 1]).unwrap();
    mixed.add_own(0, &[1, 2, 0]).unwrap();
    mixed.add_own(1, &[3]).unwrap();
    mixed.add_shared(0, &[2, 3]).unwrap();
    mixed.add_own(2, &[0, 3, 1, 2]).unwrap();
    vec![
        grid(Neighbours::Four, PairTables::Own, true),
        grid(Neighbours::Eight, PairTables::Both, false),
        build::factorial_chain(4, &[5, 2, 9], PairTables::Both).unwrap(),
        build::skip_chain(6, 2, &[(0, 3), (2, 5)], [PairTables::Shared; 2]).unwrap(),
        build::tree(3, &[None, Some(0), Some(0), Some(2), None], PairTables::Own).unwrap(),
        mixed.build().unwrap(),
    ]
}

#[test]
fn tables_do_not_overlap() {
    shapes().iter().for_each(check_layout);
}

#[test]
fn familiar_shapes_have_their_edges_and_kinds() {
    let count = |graph: &FactorGraph, kind: usize| {
        (0..graph.own_tables()).filter(|&f| graph.own_kind(f) == kind).count()
    };
    let graphs = shapes();
    assert_eq!([0, 1, 2].map(|k| count(&graphs[0], k)), [12, 9 + 8, 0]);
    // → 3·3, ↓ 2·4, ↘ and ↙ 2·3 each.
    assert_eq!([0, 1, 2, 3, 4].map(|k| count(&graphs[1], k)), [12, 9, 8, 6, 6]);
    // Variable 0 has three pairs, variable 1 four; each reads two tables.
    let diagonal = graphs[1].factor(12 + 2 * 7 - 1);
    assert_eq!(diagonal.vars, [1, 4], "↙ of variable 1");
    // Three columns: nodes, within-chain pairs, then cotemporal pairs (0,1), (0,2), (1,2).
    let factorial = &graphs[2];
    assert_eq!((0..9).map(|k| count(factorial, k)).collect::<Vec<_>>(), [4, 4, 4, 3, 3, 3, 4, 4, 4]);
    let shape = |rows, columns| Shape { rows, columns };
    assert_eq!(
        factorial.shared_shapes(),
        [shape(5, 5), shape(2, 2), shape(9, 9), shape(5, 2), shape(5, 9), shape(2, 9)]
    );
    assert_eq!(graphs[3].cliques().len(), 5 + 2);
    assert_eq!(graphs[4].cliques().len(), 3);
    assert_eq!(graphs[5].cliques().len(), 3);
    assert!(graphs[0].cliques().pairwise() && !graphs[5].cliques().pairwise());
}

#[test]
fn a_chain_keeps_its_tables() {
    for own_pairs in [false, true] {
        let chain = Chain { len: 4, labels: 3, own_pairs, triples: false, segments: None };
        let graph = build::chain(&chain).unwrap();
        check_layout(&graph);
        assert_eq!(graph.own_len(), chain.own_len());
        assert_eq!(graph.own_tables(), chain.own_tables());
        for f in 0..chain.own_tables() {
            assert_eq!(graph.own_offset(f), chain.own_offset(f));
            assert_eq!(graph.own_kind(f), chain.own_kind(f));
            assert_eq!(graph.own_size(f), chain.own_size(f));
        }
        let sort = |graph: &dyn Fn(&mut Vec<String>)| {
            let mut all = Vec::new();
            graph(&mut all);
            all.sort();
            all
        };
        let a = sort(&|all| chain.for_each_factor(|factor| all.push(format!("{factor:?}"))));
        let b = sort(&|all| graph.for_each_factor(|factor| all.push(format!("{factor:?}"))));
        assert_eq!(a, b);
    }
    assert_eq!((NODES, PAIRS), (0, 1));
}

/// Each factor alone with its copies, its table where it was: a labelling of the copies of one labelling has the same score.
#[test]
fn node_splitting_keeps_tables_and_scores() {
    for graph in shapes() {
        let NodeSplit { graph: split, copy_of } = &*graph.node_split(Pieces::Factor).unwrap();
        check_layout(split);
        assert_eq!(split.own_len(), graph.own_len());
        assert_eq!(split.factors(), graph.factors());
        let mut seen = vec![0; split.vars()];
        split.for_each_factor(|factor| factor.vars.iter().for_each(|&v| seen[v] += 1));
        assert!(seen.iter().all(|&n| n == 1), "every copy belongs to one factor");
        let gold: Vec<Label> = (0..graph.vars()).map(|v| ((v * 7 + 1) % graph.card(v)) as Label).collect();
        let copies: Vec<Label> = copy_of.iter().map(|&v| gold[v]).collect();
        for f in 0..graph.factors() {
            assert_eq!(graph.factor(f).table, split.factor(f).table);
            assert_eq!(graph.factor(f).entry(&gold), split.factor(f).entry(&copies));
        }
    }
}

#[test]
fn factors_over_the_same_variables_are_one_clique() {
    let mut builder = FactorGraphBuilder::new(vec![2, 3, 2]).unwrap();
    builder.add_own(0, &[0, 1]).unwrap();
    builder.add_shared(0, &[1, 0]).unwrap();
    builder.add_own(1, &[1, 2]).unwrap();
    let graph = builder.build().unwrap();
    let cliques = graph.cliques();
    assert_eq!(cliques.len(), 2);
    assert_eq!(cliques.factors(0), [0, 1]);
    assert_eq!(cliques.incident(1).len(), 2);
    let clone = graph.clone();
    assert!(std::ptr::eq(clone.cliques(), cliques), "a clone shares the structure");
}
