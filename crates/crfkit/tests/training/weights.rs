//! Weights of sequences and of labels: a weight of 2 is the sequence twice, and a weight of 0 none.

use crate::corpora;

use corpora::models::columns;
use crfkit::chain::{CorpusBuilder, Sequence};
use crfkit::data::columns::Columns;
use crfkit::data::images::{Image, Mask};
use crfkit::data::observer::Source;
use crfkit::data::rows::RowFormat;
use crfkit::data::sites::{PairFeatures, Sites};
use crfkit::data::template::{Dialect, Templates};
use crfkit::domain::{Corpus, Domain};
use crfkit::grid::{GridBuilder, GridDomain, GridImage, SiteFeatures};
use crfkit::linked::{LinkedBuilder, Links};
use crfkit::train::{Criterion, Kind, Method, Settings, TrainOptions, Trained, train};
use crfkit::typed::{Declaration, FeatureValues, TypedBuilder, TypedGraphBuilder, Types};
use crfkit::{Sequences, Trainer};

const TEXT: &str = "a\tX\nb\tY\n\nb\tX\na\tY\nc\tX\n\nc\tZ\n\n";

fn templates() -> Templates {
    Templates::compile("U:%x[0,0]\nU:%x[-1,0]\nB\n", Dialect::Crfpp, "words").unwrap()
}

fn weighted(weights: &[f64]) -> Vec<Columns> {
    let mut all = columns(TEXT);
    all.iter_mut().zip(weights).for_each(|(sequence, weight)| sequence.set_weight(*weight).unwrap());
    all
}

fn chain(sequences: &[Columns]) -> Corpus<crfkit::chain::ChainDomain> {
    let mut builder = CorpusBuilder::new(Source::Templates(templates()));
    sequences.iter().for_each(|sequence| builder.add(&Sequence::from(sequence.clone())).unwrap());
    builder.finish(1).unwrap()
}

fn linked(sequences: &[Columns]) -> Corpus<crfkit::linked::LinkedDomain> {
    let skip = Links::SkipChain { rule: "same(0)".parse().unwrap(), observed: false };
    let mut builder = LinkedBuilder::new(skip, templates(), 2, vec![1]).unwrap();
    sequences.iter().for_each(|sequence| builder.add(sequence).unwrap());
    builder.finish(1).unwrap()
}

fn trained<D: Domain>(corpus: Corpus<D>, objective: Criterion, kind: Kind) -> Trained<D> {
    let settings = Settings { objective, optimizer: Method::Lbfgs, ..Settings::for_kind(kind) };
    let features = corpus.features(&settings);
    train(corpus, features, &settings, TrainOptions { threads: 1, ..TrainOptions::default() }, &mut ())
        .unwrap()
}

/// The model of weights 2, 1 and 0 is the model of two copies of the first sequence and one of the second.
fn same<D: Domain>(build: fn(&[Columns]) -> Corpus<D>, objective: Criterion, kind: Kind) {
    let all = weighted(&[]);
    let once = trained(build(&weighted(&[2.0, 1.0, 0.0])), objective, kind);
    let twice = trained(build(&[all[0].clone(), all[0].clone(), all[1].clone()]), objective, kind);
    assert_eq!(once.model.weights.len(), twice.model.weights.len(), "what is left out has no features");
    let close = |a: f64, b: f64| (a - b).abs() < 1e-6 * (1.0 + a.abs());
    assert!(
        close(once.objective, twice.objective),
        "{objective:?}: {} is not {}",
        once.objective,
        twice.objective
    );
    for (a, b) in once.model.weights.iter().zip(twice.model.weights.iter()) {
        assert!((a - b).abs() < 1e-2, "{objective:?}: {a} is not {b}");
    }
    let plain = trained(build(&all[..2]), objective, kind);
    assert!(!close(once.objective, plain.objective), "the weight has done something");
}

#[test]
fn a_weight_of_two_is_the_sequence_twice() {
    use Criterion::{Likelihood, Marginal, Memm, MemmBackward, Piecewise, PiecewisePseudo, Pseudolikelihood};
    for objective in [Likelihood, Marginal, Pseudolikelihood, Piecewise, PiecewisePseudo, Memm, MemmBackward]
    {
        same(chain, objective, Kind::Chain);
    }
    same(linked, Likelihood, Kind::Linked);
}

#[test]
fn labels_have_weights_too() {
    let build = |weights: &[(&str, f64)]| {
        let weights = weights.iter().map(|(label, weight)| (label.to_string(), *weight));
        let mut builder = CorpusBuilder::new(Source::Templates(templates())).with_label_weights(weights)?;
        columns(TEXT).iter().for_each(|sequence| builder.add(&Sequence::from(sequence.clone())).unwrap());
        builder.finish(1)
    };
    // The first two sequences have Y and get its weight; the last one has none but Z.
    let corpus = build(&[("Y", 2.0), ("Z", 0.0)]).unwrap();
    assert_eq!((corpus.data.len(), corpus.data.weight(0), corpus.data.weight(1)), (2, 2.0, 2.0));
    // The largest counts: X has 1.
    let corpus = build(&[("Y", 0.5)]).unwrap();
    assert_eq!((0..3).map(|k| corpus.data.weight(k)).collect::<Vec<_>>(), [1.0, 1.0, 1.0]);
    for (weights, message) in [
        (&[("W", 2.0)][..], "nothing has this label"),
        (&[("X", -1.0)], "must be a finite number of at least 0"),
        (&[("X", f64::NAN)], "must be a finite number of at least 0"),
        (&[("X", 1.0), ("X", 2.0)], "two weights"),
        (&[("X", 0.0), ("Y", 0.0), ("Z", 0.0)], "no sequence whose weight is above 0"),
    ] {
        let found = build(weights).unwrap_err().to_string();
        assert!(found.contains(message), "{found}");
    }
}

/// In JSON lines the weight is a member; in columns, a column that is taken out.
#[test]
fn weights_are_read() {
    let json = |weight: &str| format!("{{\"tokens\": [\"a\"], \"labels\": [\"X\"], \"weight\": {weight}}}\n");
    let read = |text: String| {
        let sequences = Sequences::read_rows(std::io::Cursor::new(text), "j", &RowFormat::Json).unwrap();
        sequences.collect::<crfkit::Result<Vec<Sequence>>>()
    };
    let two = read(json("2.5") + &json("0").replace("\"weight\": 0", "\"other\": 1")).unwrap();
    let weight = |sequence: &Sequence| match sequence {
        Sequence::Columns { rows, .. } => rows.weight(),
        Sequence::Attributes(_) => unreachable!("they are rows"),
    };
    assert_eq!(two.iter().map(weight).collect::<Vec<_>>(), [2.5, 1.0]);
    assert!(
        read(json("-1")).unwrap_err().to_string().contains("j:1: the weight `-1` is not a finite number")
    );
    assert!(read(json("\"x\"")).is_err() && read(json("1, \"weight\": 2")).is_err());
    let mut rows = Columns::from_rows([["a", "2", "X"], ["b", "2", "Y"]], "c").unwrap();
    rows.take_weight(1).unwrap();
    assert_eq!((rows.weight(), rows.columns(), rows.field(1, 1)), (2.0, 2, "Y"));
    rows.take_weight(-3).unwrap_err();
    let mut rows = Columns::from_rows([["a", "2"], ["b", "3"]], "c").unwrap();
    assert!(rows.take_weight(-1).unwrap_err().to_string().contains("c:2: the weight is `3`, but `2`"));
    for wrong in ["-1", "nan", "inf", "x"] {
        let mut rows = Columns::from_rows([["a", wrong]], "c").unwrap();
        assert!(rows.take_weight(1).unwrap_err().to_string().contains("not a finite number"), "{wrong}");
    }
    assert!(Trainer::new().train(read(json("0")).unwrap().into_iter().map(Ok)).is_err(), "nothing is left");
}

/// Weights of the tokens of the first sequence; the others have none.
fn with_token_weights(weights: &[f64]) -> Vec<Columns> {
    let mut all = columns(TEXT);
    all[0].set_token_weights(weights).unwrap();
    all
}

/// Tokens that all weigh 2 are the sequence of weight 2, in every objective that is a sum over tokens; on linked chains too.
#[test]
fn tokens_of_weight_two_are_the_sequence_twice() {
    use Criterion::{Marginal, Memm, MemmBackward, PiecewisePseudo, Pseudolikelihood};
    fn check<D: Domain>(build: fn(&[Columns]) -> Corpus<D>, objective: Criterion, kind: Kind) {
        let tokens = trained(build(&with_token_weights(&[2.0, 2.0])), objective, kind);
        let sequence = trained(build(&weighted(&[2.0, 1.0, 1.0])), objective, kind);
        let other = trained(build(&with_token_weights(&[2.0, 0.5])), objective, kind);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6 * (1.0 + a.abs());
        let values = (tokens.objective, sequence.objective, other.objective);
        assert!(close(values.0, values.1) && !close(values.0, values.2), "{objective:?}: {values:?}");
        for (a, b) in tokens.model.weights.iter().zip(sequence.model.weights.iter()) {
            assert!((a - b).abs() < 1e-2, "{objective:?}: {a} is not {b}");
        }
    }
    for objective in [Marginal, Pseudolikelihood, PiecewisePseudo, Memm, MemmBackward] {
        check(chain, objective, Kind::Chain);
    }
    check(linked, Marginal, Kind::Linked);
    check(linked, Pseudolikelihood, Kind::Linked);
}

/// Objectives that are about all labels together have no place for weights of tokens; neither have counts, nor streams.
#[test]
fn weights_of_tokens_that_nothing_can_use_are_refused() {
    use crfkit::empirical::{Counts, PairKind};
    use crfkit::train::StreamTrainer;
    for objective in [Criterion::Likelihood, Criterion::Piecewise, Criterion::Perceptron] {
        let corpus = chain(&with_token_weights(&[2.0, 0.0]));
        let optimizer = if objective == Criterion::Perceptron { Method::Sgd } else { Method::Lbfgs };
        let settings = Settings { objective, optimizer, ..Settings::for_kind(Kind::Chain) };
        let features = corpus.features(&settings);
        let run = train(corpus, features, &settings, TrainOptions::default(), &mut ());
        let message = run.err().unwrap().to_string();
        assert!(message.contains("single tokens and nodes cannot have weights: use one of"), "{message}");
    }
    let sequences = with_token_weights(&[2.0, 1.0]);
    let counted = Counts::new(PairKind::default()).add_columns(&sequences[0], 1);
    assert!(counted.unwrap_err().to_string().contains("a token of weight 2"));
    let settings = Settings { optimizer: Method::Psa, ..Settings::for_kind(Kind::Chain) };
    let mut stream = StreamTrainer::new(Source::Templates(templates()), &settings, None).unwrap();
    stream.add_columns(&sequences[1], 1).unwrap();
    let message = stream.add_columns(&sequences[0], 1).unwrap_err().to_string();
    assert!(message.contains("cannot have weights"), "{message}");
}

/// In JSON lines the weights of tokens are a list; in columns, a column that is taken out. Both columns of weights are counted with all
/// columns there.
#[test]
fn weights_of_tokens_are_read() {
    let json = |weights: &str| {
        format!("{{\"tokens\": [\"a\", \"b\"], \"labels\": [\"X\", \"Y\"], \"weights\": {weights}}}\n")
    };
    let read = |text: String| {
        let mut sequences = Sequences::read_rows(std::io::Cursor::new(text), "j", &RowFormat::Json).unwrap();
        sequences.next().unwrap().map(|sequence| match sequence {
            Sequence::Columns { rows, .. } => rows.token_weights().to_vec(),
            Sequence::Attributes(_) => unreachable!("they are rows"),
        })
    };
    assert_eq!(read(json("[2.5, 0]")).unwrap(), [2.5, 0.0]);
    assert!(read(json("null")).unwrap().is_empty());
    for (weights, message) in [
        ("[1]", "j:1: 2 tokens, but 1 weight:"),
        ("[1, -2]", "the weight `-2` is not a finite number"),
        ("2", "expected a sequence"),
        ("[1, 2], \"weights\": [1, 2]", "duplicate field"),
    ] {
        let found = read(json(weights)).unwrap_err().to_string();
        assert!(found.contains(message), "{found}");
    }
    let rows = || Columns::from_rows([["a", "3", "0.5", "X"], ["b", "3", "2", "Y"]], "c").unwrap();
    for (sequence, tokens) in [(1, 2), (-3, -2), (1, -2), (-3, 2)] {
        let mut rows = rows();
        rows.take_weights(Some(sequence), Some(tokens)).unwrap();
        assert_eq!((rows.weight(), rows.token_weights(), rows.columns()), (3.0, &[0.5, 2.0][..], 2));
        assert_eq!((rows.field(1, 0), rows.field(1, 1)), ("b", "Y"));
    }
    let refused = |sequence, tokens| rows().take_weights(sequence, tokens).unwrap_err().to_string();
    assert!(
        refused(Some(1), Some(1))
            .contains("cannot hold both the weight of the sequence and those of its tokens")
    );
    assert!(refused(None, Some(4)).contains("the weight of a token should be in column 4"));
    assert!(refused(None, Some(3)).contains("c:1: the weight `X` is not a finite number"));
    let mut again = rows();
    again.take_token_weights(2).unwrap();
    again.clear();
    assert!(again.token_weights().is_empty(), "the next sequence has weights of its own");
}

/// The same weights beside rows and beside features of one's own are the same model; the front door takes both.
#[test]
fn weights_of_tokens_from_memory() {
    let objective = |sequences: Vec<Sequence>| {
        let trainer = Trainer::new().objective(Criterion::Marginal).optimizer(Method::Lbfgs);
        trainer.template("U:%x[0,0]\nB\n", Dialect::Crfpp).run(Sequences::new(sequences)).unwrap().objective
    };
    let all = columns(TEXT);
    let rows = |weights: &[f64]| {
        let mut sequences: Vec<Sequence> = all.iter().cloned().map(Sequence::from).collect();
        sequences[1] = sequences[1].clone().with_token_weights(weights).unwrap();
        sequences
    };
    let features = |weights: &[f64]| {
        let of = |one: &Columns| {
            let tokens = (0..one.len()).map(|t| (one.field(t, 1), [(one.field(t, 0), 1.0)]));
            Sequence::from_features(tokens).unwrap()
        };
        let mut sequences: Vec<Sequence> = all.iter().map(of).collect();
        sequences[1] = sequences[1].clone().with_token_weights(weights).unwrap();
        sequences
    };
    let (a, b) = (objective(rows(&[0.5, 0.0, 3.0])), objective(features(&[0.5, 0.0, 3.0])));
    assert!((a - b).abs() < 1e-6 * a, "{a} {b}");
    assert!((a - objective(rows(&[1.0, 1.0, 1.0]))).abs() > 1e-3, "the weights have done something");
    for wrong in [&[1.0, 2.0][..], &[1.0, -1.0, 0.0], &[1.0, f64::NAN, 0.0]] {
        for sequence in [&rows(&[1.0; 3])[1], &features(&[1.0; 3])[1]] {
            assert!(sequence.clone().with_token_weights(wrong).is_err(), "{wrong:?}");
        }
    }
}

/// The weights of the examples of a corpus.
fn weights_in<D: Domain>(corpus: &Corpus<D>) -> Vec<f64> {
    (0..corpus.data.len()).map(|k| corpus.data.weight(k)).collect()
}

#[test]
fn weights_of_graphs_from_memory() {
    let types = Types::declare([("page".to_owned(), Declaration::nodes(["a", "b"]))]).unwrap();
    let graph = |name: &str| {
        let mut graph = TypedGraphBuilder::new(&types, "graph");
        let named =
            |name: &str| FeatureValues { named: vec![(name.to_owned(), 1.0)], ..FeatureValues::default() };
        graph.node(0, Some(0), named(name)).unwrap();
        graph.node(0, Some(1), named("y")).unwrap();
        graph.finish().unwrap()
    };
    let mut builder = TypedBuilder::new(types.clone());
    let weighed = graph("x").with_node_weights(&[0.5, 2.0]).unwrap().with_weight(3.0).unwrap();
    builder.add_graph(weighed).unwrap();
    builder.add_graph(graph("left out").with_weight(0.0).unwrap()).unwrap();
    let corpus = builder.finish(1).unwrap();
    assert_eq!((weights_in(&corpus), corpus.data.variable_weights(0)), (vec![3.0], &[0.5, 2.0][..]));
    assert_eq!(corpus.domain.names[0].len(), 2, "what is left out has no features");
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        let found = graph("x").with_weight(wrong).unwrap_err().to_string();
        assert!(found.starts_with("graph: the weight") && found.contains("at least 0"), "{found}");
        let found = graph("x").with_node_weights(&[1.0, wrong]).unwrap_err().to_string();
        assert!(found.contains("node 1: the weight"), "{found}");
    }
    assert!(graph("x").with_node_weights(&[1.0]).unwrap_err().to_string().contains("2 nodes, but 1 weights"));
    let mut nothing = TypedBuilder::new(types.clone());
    nothing.add_graph(graph("x").with_weight(0.0).unwrap()).unwrap();
    assert!(nothing.finish(1).unwrap_err().to_string().contains("whose weight is above 0"));
}

#[test]
fn weights_of_images() {
    let image = Image { height: 1, width: 2, channels: 1, values: vec![0.0, 1.0] };
    let sites = Sites { nodes: image, pairs: PairFeatures::Differences };
    let mask = Some(Mask { height: 1, width: 2, values: vec![0, 1] });
    let picture = |weights: Option<Vec<f64>>| GridImage {
        mask: mask.clone(),
        weights,
        ..GridImage::new(sites.clone(), "image")
    };
    let domain = GridDomain::new(vec![0, 1], SiteFeatures::default(), &sites, "image").unwrap();
    let mut builder = GridBuilder::new(domain.clone()).unwrap();
    builder.add_weighted(&picture(None), 2.0).unwrap();
    builder.add_weighted(&picture(None), 0.0).unwrap();
    builder.add_weighted(&picture(Some(vec![1.0, 3.0])), 0.5).unwrap();
    for wrong in [-1.0, f64::NAN] {
        let found = builder.add_weighted(&picture(None), wrong).unwrap_err().to_string();
        assert!(found.starts_with("image: the weight"), "{found}");
    }
    assert!(builder.add_weighted(&picture(Some(vec![1.0])), 0.0).is_err(), "wrong weights of sites");
    let corpus = builder.finish().unwrap();
    assert_eq!((weights_in(&corpus), corpus.data.variable_weights(1)), (vec![2.0, 0.5], &[1.0, 3.0][..]));
    let mut nothing = GridBuilder::new(domain).unwrap();
    nothing.add_weighted(&picture(None), 0.0).unwrap();
    assert!(nothing.finish().unwrap_err().to_string().contains("whose weight is above 0"));
}
