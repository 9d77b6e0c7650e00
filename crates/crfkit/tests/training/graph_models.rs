//! Models of graphs of every kind: their weights by name, carried over to other data, and left out.

use crate::corpora;

use corpora::{Record, models::columns};
use crfkit::Place;
use crfkit::answers::Answers;
use crfkit::data::dataset::Dataset;
use crfkit::data::images::{Image, Mask};
use crfkit::data::strings::Strings;
use crfkit::data::template::{Dialect, Templates};
use crfkit::decode::Decode;
use crfkit::domain::{Corpus, Domain};
use crfkit::graph::Neighbours;
use crfkit::grid::{GridBuilder, GridCorpus, GridDomain, GridModel, SiteFeatures};
use crfkit::linked::{LinkedBuilder, LinkedCorpus, LinkedModel, LinkedTagger, Links};
use crfkit::math::random::Random;
use crfkit::model::dump::{dump, read_dump};
use crfkit::model::{Features, Keep, Names, Precision, Tables, WeightKind};
use crfkit::train::{self, Init, Kind, Method, Parameters, Settings, TrainOptions, Trained};
use crfkit::typed::{Engine, TypedBuilder, TypedCorpus, TypedModel};
use std::collections::HashMap;
use std::sync::Arc;

/// Word and two labels.
const TEXT: &str = "a X p\nb Y q\n\nb Y p\nc Z q\na X r\nb Y q\n";
const MORE: &str = "d W p\nc Z s\nb X q\n\nb Y s\na X p\nb Y q\n";

fn random_weights(dim: usize) -> Vec<f64> {
    let mut random = Random::new(7);
    (0..dim).map(|_| 2.0 * random.uniform() - 1.0).collect()
}

fn skip() -> Links {
    Links::SkipChain { rule: "same(0)".parse().unwrap(), observed: true }
}

fn linked_corpus(text: &str, links: &Links) -> LinkedCorpus {
    let templates = Templates::compile("U0:%x[0,0]\nU1:%x[-1,0]\nB\nB0:%x[0,0]\n", Dialect::Crfpp, "t");
    let labels = if *links == Links::Factorial { vec![1, 2] } else { vec![1] };
    let mut builder = LinkedBuilder::new(links.clone(), templates.unwrap(), 3, labels).unwrap();
    columns(text).iter().for_each(|sequence| builder.add(sequence).unwrap());
    builder.finish(1).unwrap()
}

fn linked_model(corpus: LinkedCorpus, keep: Keep) -> LinkedModel {
    let features = linked_features(&corpus, keep);
    LinkedModel {
        domain: corpus.domain,
        weights: random_weights(features.dim()).into(),
        features: features.into(),
        settings: Settings { inference: Some(Engine::LoopyBp), ..Settings::default() },
    }
}

fn linked_features(corpus: &LinkedCorpus, keep: Keep) -> Features {
    train::features(corpus, &Settings { features: keep, ..Settings::default() })
}

/// Types, labels and features with all the names that a dump must hide.
const TYPES: &str = r#"{"types": {"a\tb": {"labels": ["\n", "\\n"], "dense": 2}, "label": {"labels": ["", "\u0000", "l"]},
    "f": {"over": ["label", "label"], "table": "potts"}, "g": {"over": ["a\tb", "a\tb"], "table": "ising"},
    "t": {"over": ["a\tb", "label", "a\tb"], "dense": 1}}}"#;
const GRAPH: &str = r#"{"nodes": [{"type": "a\tb", "dense": [1, 2], "features": ["\r\n", "0"]}, {"type": "label", "label": "l"},
    {"type": "a\tb", "dense": [0, 1], "features": ["\\", "x y"]}, {"type": "label", "features": [""]}],
    "factors": [{"type": "f", "nodes": [1, 3], "features": ["near"]}, {"type": "g", "nodes": [0, 2]},
    {"type": "t", "nodes": [0, 1, 2], "dense": [2], "features": ["\t"]}]}"#;

fn typed_corpus(types: &str, graph: &str) -> TypedCorpus {
    let mut builder = TypedBuilder::default();
    builder.add(&types.replace('\n', " "), &Place::new("graphs", 1)).unwrap();
    builder.add(&graph.replace('\n', " "), &Place::new("graphs", 2)).unwrap();
    builder.finish(1).unwrap()
}

fn typed_model(corpus: TypedCorpus) -> TypedModel {
    let settings = Settings { inference: Some(Engine::Exact), ..Settings::default() };
    let features = train::features(&corpus, &settings);
    let weights = random_weights(features.dim()).into();
    TypedModel { domain: corpus.domain, weights, features: features.into(), settings }
}

fn layout(labels: &[u16], tables: Tables) -> GridDomain {
    let image = Image { height: 1, width: 1, channels: 3, values: vec![0.5; 3] };
    let layout = GridDomain::new(labels.to_vec(), SiteFeatures::default(), &image.into(), "image").unwrap();
    GridDomain { tables, neighbours: Neighbours::Four, ..layout }
}

fn grid_model(domain: GridDomain) -> GridModel {
    let features = domain.all_features();
    let weights = random_weights(features.dim()).into();
    GridModel { domain, features: features.into(), weights, settings: Settings::for_kind(Kind::Grid) }
}

/// A corpus of no images: enough to carry weights over to.
fn no_images(domain: &GridDomain) -> GridCorpus {
    GridCorpus { domain: domain.clone(), data: Dataset::new() }
}

/// The weights of a model for images of another kind.
fn grid_weights(model: &GridModel, domain: &GridDomain) -> crfkit::Result<Vec<f64>> {
    model.weights_for(&no_images(domain), &domain.all_features())
}

/// A dump says what [`Names::each`] says, in the order of θ.
fn check_dump(names: &Names) {
    let mut text = Vec::new();
    dump(names, &mut text).unwrap();
    let read = read_dump(&text[..], "dump").unwrap();
    assert_eq!(read.weights, names.iter().collect::<Vec<_>>());
    assert_eq!(read.weights.iter().map(|line| line.weight).collect::<Vec<_>>(), *names.weights);
    let labels =
        names.sets.iter().flat_map(|set| set.labels.iter().map(|label| (set.name.clone(), label.clone())));
    assert_eq!(read.labels, labels.collect::<Vec<_>>());
    for part in &names.parts {
        let declared = read.parts.iter().find(|declared| declared.name == part.name).unwrap();
        let over = part.over.iter().map(|&set| names.sets[set].name.clone().unwrap());
        assert_eq!((declared.tables, &declared.over), (part.tables, &over.collect()));
    }
    assert_eq!(by_name(names).len(), names.weights.len(), "no two weights have one name");
}

#[test]
fn dumps_read_back_whatever_the_model() {
    for keep in [Keep::Observed, Keep::All] {
        check_dump(&linked_model(linked_corpus(TEXT, &Links::Factorial), keep).names());
        check_dump(&linked_model(linked_corpus(TEXT, &skip()), keep).names());
    }
    check_dump(&typed_model(typed_corpus(TYPES, GRAPH)).names());
    for tables in [Tables::Potts, Tables::Ising, Tables::Full] {
        check_dump(&grid_model(layout(&[0, 255], tables)).names());
    }
}

/// Labels stand in the order of the variables, in tables of three as well.
#[test]
fn weights_have_the_labels_of_their_entries() {
    let model = typed_model(typed_corpus(TYPES, GRAPH));
    let types = &model.domain.types;
    let (a, label, t) =
        (types.index_of("a\tb").unwrap(), types.index_of("label").unwrap(), types.index_of("t").unwrap());
    let (a, label) = (&types.all()[a].labels, &types.all()[label].labels);
    let first = model.features.rows[t].base;
    let all: Vec<_> = model.names().iter().collect();
    for (k, weight) in all[first..first + 12].iter().enumerate() {
        assert_eq!(
            (&*weight.part, weight.kind, weight.weight),
            ("t", WeightKind::Table, model.weights[first + k])
        );
        assert_eq!(weight.labels, [&a[k / 6], &label[k / 2 % 3], &a[k % 2]].map(String::clone));
    }
    assert_eq!(
        (all[first + 12].kind, all[first + 12].observation.as_deref()),
        (WeightKind::Dense, Some("0"))
    );
    assert_eq!(
        (all[first + 24].kind, all[first + 24].observation.as_deref()),
        (WeightKind::Feature, Some("\t"))
    );

    let model = linked_model(linked_corpus(TEXT, &Links::Factorial), Keep::All);
    let table = model.features.tables.last().unwrap();
    let weight = model.names().iter().nth(table.base + 4).unwrap();
    assert_eq!((&*weight.part, weight.kind), ("columns 1 and 2", WeightKind::Table));
    assert_eq!(weight.labels, ["Y", "q"]);
    let names = model.names();
    let heaviest = names.top(1, |part| part.name == weight.part && part.is_table(), &[(1, 1)], None);
    let of_q = names.iter().filter(|w| w.part == weight.part && w.kind == weight.kind && w.labels[1] == "q");
    assert_eq!(heaviest[0].weight.abs(), of_q.map(|w| w.weight.abs()).fold(0.0, f64::max));
}

/// Everything that is said of a weight, and the weight.
fn by_name(names: &Names) -> HashMap<String, f64> {
    names.iter().map(|w| (format!("{:?}", (w.part, w.kind, w.observation, w.labels)), w.weight)).collect()
}

/// What `new` got is what `old` has under the same name, or 0; and some of it is not 0.
fn check_carried(old: &Names, new: &Names) {
    let (old, new) = (by_name(old), by_name(new));
    assert!(new.values().filter(|w| **w != 0.0).count() > 5);
    for (name, weight) in new {
        assert_eq!(weight, old.get(&name).copied().unwrap_or(0.0), "{name}");
    }
}

#[test]
fn weights_follow_their_names() {
    for (links, keep) in
        [(Links::Factorial, Keep::All), (Links::Factorial, Keep::Observed), (skip(), Keep::All)]
    {
        let old = linked_model(linked_corpus(TEXT, &links), keep);
        let corpus = linked_corpus(MORE, &links);
        let weights = old.weights_for(&corpus, &linked_features(&corpus, keep)).unwrap();
        check_carried(
            &old.names(),
            &LinkedModel { weights: weights.into(), ..linked_model(corpus, keep) }.names(),
        );
        let same = linked_corpus(TEXT, &links);
        assert_eq!(old.weights_for(&same, &old.features).unwrap(), old.weights[..], "onto itself");
    }
    // Another order of labels, one of them new; another order of features.
    let old = typed_model(typed_corpus(TYPES, GRAPH));
    let types = TYPES.replace(r#"["", "\u0000", "l"]"#, r#"["l", "new", ""]"#);
    let graph = GRAPH.replace(r#""\r\n", "0""#, r#""0", "\r\n", "\\""#);
    let corpus = typed_corpus(&types, &graph);
    let weights = old.weights_for(&corpus, &train::features(&corpus, &Settings::default())).unwrap();
    check_carried(&old.names(), &TypedModel { weights: weights.into(), ..typed_model(corpus) }.names());
    for tables in [Tables::Potts, Tables::Full] {
        let (old, new) = (grid_model(layout(&[0, 128, 255], tables)), layout(&[0, 7, 255], tables));
        let weights = grid_weights(&old, &new).unwrap();
        check_carried(&old.names(), &GridModel { weights: weights.into(), ..grid_model(new) }.names());
    }
}

#[test]
fn weights_that_mean_something_else_are_refused() {
    let old = typed_model(typed_corpus(TYPES, GRAPH));
    let refusal = |types: &str, graph: &str| {
        let corpus = typed_corpus(types, graph);
        old.weights_for(&corpus, &train::features(&corpus, &Settings::default())).unwrap_err().to_string()
    };
    let message = refusal(&TYPES.replace("potts", "full"), GRAPH);
    assert!(message.contains("other tables for `f` (potts, not full)"), "{message}");
    let [types, graph] =
        [(TYPES, r#"["a\tb", "label", "#, r#"["label", "a\tb", "#), (GRAPH, "[0, 1, 2]", "[1, 0, 2]")]
            .map(|(text, from, to)| text.replace(from, to));
    let message = refusal(&types, &graph);
    assert!(message.contains("`t`") && message.contains("over other variables"), "{message}");
    let factorial = linked_model(linked_corpus(TEXT, &Links::Factorial), Keep::All);
    let mut elsewhere = linked_corpus(TEXT, &Links::Factorial);
    elsewhere.domain.label_columns = vec![4, 5];
    let message = factorial.weights_for(&elsewhere, &factorial.features).unwrap_err().to_string();
    assert!(message.contains("nothing in common") && message.contains("column 4"), "{message}");
    let old = grid_model(layout(&[0, 255], Tables::Potts));
    let other = GridDomain {
        sites: SiteFeatures { quadratic: true, ..SiteFeatures::default() },
        ..old.domain.clone()
    };
    assert!(grid_weights(&old, &other).unwrap_err().to_string().contains("give the same features"));
    assert!(
        grid_weights(&old, &layout(&[0, 255], Tables::Ising)).unwrap_err().to_string().contains("`site`")
    );
}

/// Training that starts at the optimum stays there at once; with a narrow prior around it too, whatever the data say.
#[test]
fn weights_are_where_training_starts_and_what_the_prior_is_around() {
    let parameters = Parameters { tolerance: Some(1e-6), ..Parameters::default() };
    let training = Settings { optimizer: Method::Lbfgs, parameters, ..Settings::default() };
    let narrow = Settings { sigma: 1e-3, inference: Some(Engine::Exact), ..training.clone() };
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3);

    let exact = Settings { inference: Some(Engine::Exact), ..training.clone() };
    let run = |settings: &Settings, theta: &[f64], prior_mean: &[f64]| {
        run(linked_corpus(TEXT, &Links::Factorial), settings, theta, prior_mean).unwrap()
    };
    let first = run(&exact, &[], &[]);
    let corpus = linked_corpus(TEXT, &Links::Factorial);
    let theta = first.model.weights_for(&corpus, &linked_features(&corpus, training.features)).unwrap();
    let again = run(&exact, &theta, &[]);
    assert!(first.passes > 8.0 && again.passes <= 2.0, "{} {}", first.passes, again.passes);
    assert!(close(&run(&narrow, &[], &theta).model.weights, &theta));
    assert!(!close(&run(&narrow, &[], &[]).model.weights, &theta));

    // Types with a σ of their own have weights in other units while they are trained.
    let run = |training: &Settings, sigma: f64, theta: &[f64], prior_mean: &[f64]| {
        let sigma_of = [("label".to_owned(), sigma)].into();
        let settings = Settings { sigma_of, ..training.clone() };
        self::run(typed_corpus(TYPES, GRAPH), &settings, theta, prior_mean)
    };
    let first = run(&exact, 3.0, &[], &[]).unwrap();
    let theta = &first.model.weights;
    let again = run(&exact, 3.0, theta, &[]).unwrap();
    assert!(first.passes > 4.0 && again.passes <= 2.0, "{} {}", first.passes, again.passes);
    assert!(close(&run(&narrow, 2e-3, &[], theta).unwrap().model.weights, theta));

    let picture = |value: f64| Image { height: 2, width: 3, channels: 3, values: vec![value; 18] };
    let run = |init: Init, settings: &Settings, theta: &[f64], prior_mean: &[f64]| {
        let mut builder = GridBuilder::new(layout(&[0, 255], Tables::Potts)).unwrap();
        for (value, label) in [(0.2, 0), (0.7, 255), (0.4, 255)] {
            let mask = Mask { height: 2, width: 3, values: vec![label; 6] };
            builder.add(&picture(value).into(), &mask, "picture").unwrap();
        }
        let settings = Settings { init, ..settings.clone() };
        self::run(builder.finish().unwrap(), &settings, theta, prior_mean)
    };
    let first = run(Init::Zero, &exact, &[], &[]).unwrap();
    let theta = grid_weights(&first.model, &first.model.domain).unwrap();
    let again = run(Init::Model, &exact, &theta, &[]).unwrap();
    assert!(first.passes > 4.0 && again.passes <= 2.0, "{} {}", first.passes, again.passes);
    assert!(close(&run(Init::Zero, &narrow, &[], &theta).unwrap().model.weights, &theta));
    let missing = run(Init::Model, &exact, &[], &[]).unwrap_err();
    assert!(missing.to_string().contains("not given"), "{missing}");
    let wrong = run(Init::Model, &exact, &theta, &[0.0]).unwrap_err();
    assert!(wrong.to_string().contains("1 weights"), "{wrong}");
}

/// Trains with one thread, from these weights, with a prior around those.
fn run<D: Domain>(
    corpus: Corpus<D>,
    settings: &Settings,
    theta: &[f64],
    prior_mean: &[f64],
) -> crfkit::Result<Trained<D>> {
    let features = train::features(&corpus, settings);
    let (theta, prior_mean) = (theta.to_vec(), prior_mean.to_vec());
    let start = TrainOptions { theta, prior_mean, threads: 1, ..TrainOptions::default() };
    train::train(corpus, features, settings, start, &mut Record::default())
}

/// The labels and the first marginals that a model gives.
fn linked_answers(model: &LinkedModel) -> (Vec<u32>, Vec<f64>) {
    let mut tagger = LinkedTagger::new(Arc::new(model.clone()));
    let columns_of = model.domain.labels.len();
    let mut answers = (Vec::new(), Vec::new());
    for sequence in columns(MORE) {
        tagger.load(&sequence).unwrap();
        answers.0.extend_from_slice(tagger.labels(Decode::Best).unwrap());
        let marginal = |t: usize| tagger.answers().probability_of(t * columns_of, 0).unwrap();
        answers.1.extend((0..sequence.len()).map(marginal));
    }
    answers
}

/// The weights that are at most 0.5 are those that are gone, with the observations that had no others; what is left keeps its name.
#[test]
fn smaller_models_have_the_heavy_weights() {
    let heavy = |names: &Names| -> HashMap<String, f64> {
        by_name(names).into_iter().filter(|(_, w)| w.abs() > 0.9).collect()
    };
    for (links, keep) in
        [(Links::Factorial, Keep::All), (Links::Factorial, Keep::Observed), (skip(), Keep::All)]
    {
        let full = linked_model(linked_corpus(TEXT, &links), keep);
        let small = full.shrink(0.9);
        assert_eq!(by_name(&small.names()), heavy(&full.names()));
        assert!(small.domain.alphabet.node.len() < full.domain.alphabet.node.len());
        // The same as the full model with zeros, which a file leaves out too.
        let zeros: Vec<f64> = full.weights.iter().map(|w| if w.abs() > 0.9 { *w } else { 0.0 }).collect();
        let zeros = LinkedModel { weights: zeros.into(), settings: small.settings.clone(), ..full.clone() };
        assert_eq!(linked_answers(&small), linked_answers(&zeros));
        let bytes = small.to_bytes(Precision::F64).unwrap();
        assert_eq!(zeros.to_bytes(Precision::F64).unwrap(), bytes);
        assert!(bytes.len() < full.to_bytes(Precision::F64).unwrap().len());
        for precision in [Precision::F32, Precision::F16] {
            let short = full.to_bytes(precision).unwrap();
            assert!(short.len() < full.to_bytes(Precision::F64).unwrap().len());
            let read = LinkedModel::from_bytes(&short).unwrap();
            assert!(read.weights.iter().zip(&full.weights[..]).all(|(a, b)| (a - b).abs() < 1e-3));
            assert_eq!(read.to_bytes(precision).unwrap(), short);
        }
    }

    let full = typed_model(typed_corpus(TYPES, GRAPH));
    let small = full.shrink(0.9);
    // Potts' and Ising's rows are kept or not as a whole, and so are constants and numbers.
    let nonzero = |names: &Names| -> HashMap<String, f64> {
        by_name(names).into_iter().filter(|(_, w)| *w != 0.0).collect()
    };
    assert_eq!(nonzero(&small.names()), heavy(&full.names()));
    let names = |model: &TypedModel| model.domain.names.iter().map(Strings::len).sum::<usize>();
    assert!(names(&small) < names(&full));
    for precision in [Precision::F64, Precision::F32, Precision::F16] {
        for model in [&small, &full] {
            let bytes = model.to_bytes(precision).unwrap();
            let read = TypedModel::from_bytes(&bytes).unwrap();
            assert_eq!(read.to_bytes(precision).unwrap(), bytes);
            assert!(read.weights.iter().zip(&model.weights[..]).all(|(a, b)| (a - b).abs() < 1e-3));
            if precision == Precision::F64 {
                assert_eq!(by_name(&read.names()), by_name(&model.names()));
                for at in (0..bytes.len()).step_by(5) {
                    let mut damaged = bytes.clone();
                    damaged[at] ^= 1;
                    assert!(TypedModel::from_bytes(&damaged).is_err(), "byte {at}");
                }
            }
        }
    }

    let full = grid_model(layout(&[0, 128, 255], Tables::Full));
    let small = full.shrink(0.9);
    assert_eq!(nonzero(&small.names()), heavy(&full.names()));
    let bytes = small.to_bytes(Precision::F16).unwrap();
    assert!(bytes.len() < full.to_bytes(Precision::F64).unwrap().len());
    assert!(
        GridModel::from_bytes(&bytes)
            .unwrap()
            .weights
            .iter()
            .zip(&small.weights[..])
            .all(|(a, b)| (a - b).abs() < 1e-3)
    );
    let huge = GridModel { weights: vec![1e6; full.weights.len()].into(), ..full };
    assert!(huge.to_bytes(Precision::F16).unwrap_err().to_string().contains("higher `precision`"));
}
