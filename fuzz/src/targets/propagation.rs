//! Belief propagation on variables with two labels, against the same messages in other forms.

use crate::source::Source;
use crate::{Target, mutate};
use crfkit::graph::{FactorGraph, FactorGraphBuilder, Gradient, Graph, Psi, Shared, SharedSum, Table};
use crfkit::infer::{Exact, LoopyBp, NodeMarginals, Outcome};
use crfkit::math::{Array, Dual, Scalar, simd};

pub const PAIRS: Target = Target {
    name: "pairs",
    promise: "belief propagation on two labels is the one in log space, exact on forests, its derivative too, with strong pairs",
    run: |data| {
        let mut source = Source(data);
        let problem = Problem::new(&mut source);
        let sweeps = 1 + source.below(5);
        let bp = LoopyBp { damping: 0.0, max_iterations: sweeps, ..LoopyBp::default() };
        // Another form of the same messages: a clique that says nothing puts them in log space, a variable with three labels that
        // is alone, in rows.
        let plain = problem.infer::<f64, _>(&bp, Form::Plain);
        for form in [Form::Clique, Form::Row] {
            let other = problem.infer::<f64, _>(&bp, form);
            let close =
                |a: f64, b: f64, size: f64| assert!((a - b).abs() <= 1e-7 * size, "{form:?}: {a}, {b}");
            close(plain.0.log_z, other.0.log_z - form.more(), plain.0.log_z.abs().max(1.0));
            plain.1.iter().zip(&other.1).for_each(|(&a, &b)| close(a, b, 1.0));
        }
        if problem.graph(Form::Plain).is_forest() {
            // As many sweeps as the longest path, and one to notice that nothing moves.
            let bp = LoopyBp { damping: 0.0, max_iterations: problem.vars + 2, ..LoopyBp::default() };
            let (found, nodes) = problem.infer::<Dual, _>(&bp, Form::Plain);
            let (truth, expected) = problem.infer::<Dual, _>(&Exact::default(), Form::Plain);
            let close = |a: f64, b: f64, what: &str| {
                assert!((a - b).abs() <= 1e-7 * b.abs().max(1.0), "{what} of a forest: {a}, not {b}");
            };
            assert!(found.converged, "a forest needs {} sweeps", found.iterations);
            close(found.log_z.re(), truth.log_z.re(), "log Z");
            close(found.log_z.eps(), truth.log_z.eps(), "its derivative");
            nodes.iter().zip(&expected).for_each(|(&a, &b)| close(a, b, "a marginal"));
        }
    },
    seeds: || {
        let mut all: Vec<Vec<u8>> =
            (1..9).map(|k: usize| (0..120).map(|i| ((i + 1) * k * 29 % 251) as u8).collect()).collect();
        // A star and a path of strong pairs.
        all.extend([[0, 0], [1, 1]].map(|[kind, strong]| [&[25, kind, strong][..], &[120; 200]].concat()));
        all
    },
    mutate: mutate::bytes,
};

/// How the same messages are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Plain,
    Clique,
    Row,
}

impl Form {
    /// What it adds to log Z: the three labels of a variable without scores.
    fn more(self) -> f64 {
        if self == Form::Row { 3f64.ln() } else { 0.0 }
    }
}

struct Problem {
    vars: usize,
    /// The pairs, and whether they have the shared table instead of their own.
    pairs: Vec<([usize; 2], bool)>,
    /// Scores, in the order of the variables, of the pairs, and of the shared table, used again from the beginning where they end.
    scores: Vec<f64>,
    strength: f64,
}

impl Problem {
    /// Up to 26 variables in a star, a path, a random tree or any graph.
    fn new(source: &mut Source) -> Self {
        let vars = 3 + source.below(24);
        let kind = source.below(4);
        let strength = [1.0, 4.0, 12.0, 0.1][source.below(4)];
        let mut pairs = Vec::new();
        for v in 1..vars {
            let before = match kind {
                0 => 0,
                1 => v - 1,
                _ => source.below(v),
            };
            let turned = source.below(4);
            pairs.push((if turned.is_multiple_of(2) { [before, v] } else { [v, before] }, turned > 2));
        }
        if kind == 3 {
            for _ in 0..source.below(16) {
                let [a, b] = [0; 2].map(|_| source.below(vars));
                if a != b {
                    pairs.push(([a, b], source.below(2) == 0));
                }
            }
        }
        let scores = (0..16 + source.below(64)).map(|_| source.score()).collect();
        Problem { vars, pairs, scores, strength }
    }

    fn graph(&self, form: Form) -> FactorGraph {
        let mut cards = vec![2; self.vars];
        cards.extend((form == Form::Row).then_some(3));
        let mut builder = FactorGraphBuilder::new(cards).expect("a graph");
        for v in 0..self.vars {
            builder.add_own(0, &[v]).expect("two labels");
        }
        for (ends, shared) in &self.pairs {
            match shared {
                true => builder.add_shared(0, ends).expect("two labels each"),
                false => drop(builder.add_own(1, ends).expect("two labels each")),
            }
        }
        if form == Form::Clique {
            builder.add_own(2, &[0, 1, 2]).expect("there are three variables");
        }
        builder.build().expect("a graph")
    }

    /// log Z and the marginals of the variables.
    fn infer<S: Scalar, I: NodeMarginals>(&self, engine: &I, form: Form) -> (Outcome<S>, Vec<f64>) {
        let graph = self.graph(form);
        let mut scores = self.scores.iter().cycle();
        // The direction of a derivative is any function of the scores.
        let mut next = |to: &mut Array<S>, at: usize| {
            let score = scores.next().expect("there are scores") * self.strength;
            to.set(at, S::new(score, score.sin()));
        };
        let mut own = Array::<S>::zeros(graph.own_len());
        graph.clear_own(own.plane_mut(0));
        let entries: Vec<usize> = (0..own.len()).filter(|&i| own.get(i).re() != simd::PAD).collect();
        // The clique of three comes last, and all its scores are 0.
        let entries = &entries[..entries.len() - if form == Form::Clique { 8 } else { 0 }];
        entries.iter().for_each(|&i| next(&mut own, i));
        let shared: Shared<S> = graph
            .shared_shapes()
            .iter()
            .map(|shape| {
                let mut table = Table::new(shape.rows, shape.columns);
                for i in (0..shape.size()).filter(|i| i % shape.stride() < shape.columns) {
                    next(&mut table.log, i);
                }
                table.update();
                table
            })
            .collect();
        let psi = Psi { shared: &shared, own: &own };
        let mut gradient = Array::zeros(own.len());
        let mut sum = SharedSum::new(&shared);
        let mut work = Default::default();
        let range = 0..own.len();
        let mut out = Gradient { own: gradient.slice_mut(range), shared: &mut sum };
        let outcome = engine.log_z(&graph, psi, 1.0, &mut out, &mut work);
        let nodes = engine.node_marginals(&work);
        let marginals = (0..self.vars).map(|v| nodes.get(graph.cliques().node(v).start).re()).collect();
        (outcome, marginals)
    }
}
