//! Factorial and skip chains from columns: that they are the chains they claim to be, that links help, files, refusals.

use crate::corpora;

use corpora::{Record, column_corpus, made_up_columns, models, models::columns};
use crfkit::answers::Answers;
use crfkit::chain::ChainModel;
use crfkit::data::observer::Source;
use crfkit::data::template::{Dialect, Templates};
use crfkit::decode::Decode;
use crfkit::domain::Dev;
use crfkit::graph::{PAIR, PAIRS};
use crfkit::linked::{Engine, LinkedBuilder, LinkedCorpus, LinkedDomain, LinkedModel, LinkedTagger, Links};
use crfkit::loss::Pieces;
use crfkit::math::random::Random;
use crfkit::model::{Keep, NamedWeight, Precision};
use crfkit::tag::{Judgement, Tagger};
use crfkit::train::{Checkpoint, Criterion, Method, Settings, TrainOptions, Trained, features};
use std::fmt::Write;
use std::sync::Arc;

fn templates() -> Templates {
    let Source::Templates(templates) = models::templates() else { unreachable!("they are templates") };
    templates
}

fn words() -> Templates {
    Templates::compile("U:%x[0,0]\nU:%x[-1,0]\nB\n", Dialect::Crfpp, "words").unwrap()
}

fn skip(rule: &str, observed: bool) -> Links {
    Links::SkipChain { rule: rule.parse().unwrap(), observed }
}

fn corpus(text: &str, links: Links, templates: Templates, labels: &[usize]) -> LinkedCorpus {
    let sequences = columns(text);
    let mut builder = LinkedBuilder::new(links, templates, sequences[0].columns(), labels.to_vec()).unwrap();
    sequences.iter().for_each(|sequence| builder.add(sequence).unwrap());
    builder.finish(1).unwrap()
}

fn lbfgs() -> Settings {
    Settings { optimizer: Method::Lbfgs, ..Settings::default() }
}

fn train(corpus: LinkedCorpus, settings: &Settings, engine: Engine) -> crfkit::Result<Trained<LinkedDomain>> {
    train_from(corpus, settings, engine, TrainOptions::default(), &mut Record::default())
}

fn train_from(
    corpus: LinkedCorpus,
    settings: &Settings,
    engine: Engine,
    start: TrainOptions<LinkedDomain>,
    record: &mut Record,
) -> crfkit::Result<Trained<LinkedDomain>> {
    let settings = Settings { inference: Some(engine), ..settings.clone() };
    let features = features(&corpus, &settings);
    crfkit::train::train(corpus, features, &settings, TrainOptions { threads: 1, ..start }, record)
}

/// The names of the labels of one column.
fn named(tagger: &mut LinkedTagger, column: usize) -> Vec<String> {
    let model = tagger.model().clone();
    let columns = model.domain.labels.len();
    let labels = tagger.labels(Decode::Best).unwrap().iter().skip(column).step_by(columns);
    labels.map(|&label| model.domain.labels[column][label as usize].clone()).collect()
}

/// Word, length, label, and whether the word is short: a second label. One sequence has a single token.
fn two_labels(seed: u64, sequences: usize) -> String {
    let mut text = String::from("sugar 5 B-FOOD long\n\n");
    for line in made_up_columns(seed, sequences).lines() {
        let short = line.split(' ').nth(1).map(|length| if length < "4" { " short" } else { " long" });
        writeln!(text, "{line}{}", short.unwrap_or_default()).unwrap();
    }
    text
}

/// With the weights of a chain in one of its columns and zeros elsewhere, a factorial chain says what the chain says; so does a skip
/// chain with the chain's weights and empty skips.
#[test]
fn weights_stand_in_the_tables_of_the_chain() {
    let text = two_labels(3, 12);
    let three: String =
        text.lines().map(|l| l.rsplit_once(' ').map_or("", |l| l.0).to_owned() + "\n").collect();
    let settings = Settings { features: Keep::All, ..Settings::default() };
    let plain = column_corpus(&three, models::templates(), 1);
    let of_chain = features(&plain, &settings);
    let mut random = Random::new(5);
    let weights: Vec<f64> = (0..of_chain.dim()).map(|_| random.uniform() - 0.5).collect();
    let chain = ChainModel {
        domain: plain.domain,
        features: of_chain.into(),
        weights: weights.into(),
        settings: settings.clone(),
    };
    let labels = &chain.domain.labels;
    let cases = [
        (Links::Factorial, vec![2, 3], 0),
        (Links::Factorial, vec![3, 2], 1),
        (skip("same(0)", false), vec![2], 0),
        (skip("same(0)", true), vec![2], 0),
    ];
    for (links, label_columns, column) in cases {
        let corpus = corpus(&text, links, templates(), &label_columns);
        let features = features(&corpus, &settings);
        let mut theta = vec![0.0; features.dim()];
        let mut copy = |to: usize, from: usize, len: usize| {
            theta[to..to + len].copy_from_slice(&chain.weights[from..from + len]);
        };
        let kinds = label_columns.len();
        for (kind, from) in [(column, 0), (kinds + column, PAIRS)] {
            let from = &chain.features.rows[from];
            assert_eq!(features.rows[kind].weights(), from.weights());
            copy(features.rows[kind].base, from.base, from.weights());
        }
        let from = &chain.features.tables[PAIR];
        copy(features.tables[column].base, from.base, from.entry.len());
        let model = Arc::new(LinkedModel {
            domain: corpus.domain,
            features: features.into(),
            weights: theta.into(),
            settings: settings.clone(),
        });
        let mut tagger = Tagger::new(Arc::new(chain.clone()));
        for sequence in columns(&two_labels(4, 6)) {
            tagger.load_columns(&sequence).unwrap();
            for engine in [Engine::Exact, Engine::LoopyBp] {
                let mut linked = LinkedTagger::with_engine(model.clone(), engine);
                linked.load(&sequence).unwrap();
                let viterbi = tagger.viterbi().iter().map(|&l| labels[l as usize].clone());
                assert_eq!(named(&mut linked, column), viterbi.collect::<Vec<_>>());
                for t in 0..sequence.len() {
                    for label in 0..labels.len() as u32 {
                        let variable = t * kinds + column;
                        let found = linked.answers().probability_of(variable, label).unwrap();
                        let (a, b) = (tagger.marginal(t, label), found);
                        assert!((a - b).abs() < 1e-6, "{a} {b}");
                    }
                }
            }
        }
    }
}

/// The same minimum as the chain's, where the rule links nothing.
#[test]
fn a_skip_chain_without_skips_is_a_chain() {
    let text = made_up_columns(1, 30);
    let settings = lbfgs();
    let plain = corpora::train(column_corpus(&text, models::templates(), 1), &settings, Default::default()).0;
    let links = skip("equals(0, \"nothing\")", true);
    let linked = train(corpus(&text, links, templates(), &[2]), &settings, Engine::Exact).unwrap();
    assert!((linked.objective / plain.objective - 1.0).abs() < 1e-6);
}

/// Names whose kind only their first context tells: `by NAME` is a person, `in NAME` a place; later they stand alone.
fn names(seed: u64, sequences: usize, fresh: &str) -> String {
    let mut random = Random::new(seed);
    let mut text = String::new();
    for k in 0..sequences {
        let (before, label) = [("by", "PER"), ("in", "LOC")][random.below(2)];
        let name = format!("{fresh}{k}");
        write!(text, "{before} O\n{name} {label}\n, O\nthen O\n{name} {label}\n. O\n\n").unwrap();
    }
    text
}

#[test]
fn links_carry_what_one_token_knows_to_another() {
    let right = |links: Links, engine: Engine| {
        let rule =
            Templates::compile("U:%x[-1,0]\nU:cap=%t[0,0,\"^\\u\"]\nB\n", Dialect::Crfpp, "t").unwrap();
        let model = train(corpus(&names(1, 40, "N"), links, rule, &[1]), &lbfgs(), engine).unwrap().model;
        let mut tagger = LinkedTagger::new(Arc::new(model));
        let test = columns(&names(2, 40, "M"));
        let all = test.iter().map(|sequence| {
            tagger.load(sequence).unwrap();
            let labels = named(&mut tagger, 0);
            (0..sequence.len()).filter(|&t| labels[t] == sequence.field(t, 1)).count()
        });
        all.sum::<usize>()
    };
    let all = 40 * 6;
    assert!(right(skip("equals(0, \"nothing\")", false), Engine::Exact) < all - 10);
    for observed in [false, true] {
        for engine in [Engine::Exact, Engine::LoopyBp] {
            assert_eq!(right(skip("same(0) and capitalised(0)", observed), engine), all);
        }
    }
}

/// Share of the tokens of a text whose labels are all right.
fn accuracy(model: LinkedModel, text: &str) -> f64 {
    let label_columns = model.domain.label_columns.clone();
    let mut tagger = LinkedTagger::new(Arc::new(model));
    let mut judgement = Judgement::new(label_columns.len());
    let (mut right, mut all) = (0, 0);
    for sequence in columns(text) {
        tagger.judge(&sequence, Decode::Best, &mut judgement).unwrap();
        let found: Vec<_> = (0..label_columns.len()).map(|c| named(&mut tagger, c)).collect();
        let same = |t: usize| (0..found.len()).all(|c| found[c][t] == sequence.field(t, label_columns[c]));
        right += (0..sequence.len()).filter(|&t| same(t)).count();
        all += sequence.len();
    }
    assert_eq!((judgement.joint.correct, judgement.joint.total), (right as u64, all as u64));
    right as f64 / all as f64
}

/// Every criterion with every engine goes down and learns, whatever the links.
#[test]
fn every_criterion_learns_with_every_engine() {
    let text = two_labels(7, 8);
    let criteria = [
        Criterion::Likelihood,
        Criterion::Pseudolikelihood,
        Criterion::Piecewise,
        Criterion::PiecewisePseudo,
        Criterion::Perceptron,
        Criterion::Marginal,
    ];
    for (links, labels) in [(Links::Factorial, vec![2, 3]), (skip("same(0)", true), vec![2])] {
        for objective in criteria {
            for engine in Engine::ALL {
                let settings = match objective {
                    Criterion::Perceptron => Settings { passes: Some(8), ..Settings::perceptron(false) },
                    _ => Settings { objective, passes: Some(8), ..lbfgs() },
                };
                let corpus = corpus(&text, links.clone(), words(), &labels);
                let mut record = Record::default();
                let trained =
                    train_from(corpus, &settings, engine, TrainOptions::default(), &mut record).unwrap();
                if objective != Criterion::Perceptron {
                    assert!(trained.objective < 0.95 * record.progress[0].1, "{objective:?} {engine:?}");
                }
                let accuracy = accuracy(trained.model, &text);
                assert!(accuracy > 0.5, "{accuracy} {objective:?} {engine:?}");
            }
        }
    }
}

/// The piecewise criteria with every kind of pieces.
#[test]
fn every_kind_of_pieces_learns() {
    let text = two_labels(7, 8);
    for (links, labels) in [(Links::Factorial, vec![2, 3]), (skip("same(0)", true), vec![2])] {
        for objective in [Criterion::Piecewise, Criterion::PiecewisePseudo] {
            let mut values = Vec::new();
            for pieces in [&Pieces::ALL[..], &["window:5".parse().unwrap()]].concat() {
                let settings = Settings { objective, pieces: Some(pieces), passes: Some(8), ..lbfgs() };
                let corpus = corpus(&text, links.clone(), words(), &labels);
                let trained = train(corpus, &settings, Engine::Exact).unwrap();
                values.push(trained.objective);
                let accuracy = accuracy(trained.model, &text);
                assert!(accuracy > 0.4, "{accuracy} {objective:?} {pieces:?}");
            }
            assert!((1..values.len()).all(|k| !values[..k].contains(&values[k])), "{values:?}");
        }
    }
}

#[test]
fn a_model_comes_back_from_its_file() {
    let text = two_labels(9, 6);
    let settings = Settings { passes: Some(5), ..lbfgs() };
    for (links, labels) in
        [(Links::Factorial, vec![3, 2]), (skip("same(0) and not capitalised(0)", true), vec![2])]
    {
        for features in [Keep::Observed, Keep::All] {
            let settings = Settings { features, ..settings.clone() };
            let corpus = corpus(&text, links.clone(), templates(), &labels);
            let model = train(corpus, &settings, Engine::LoopyBp).unwrap().model;
            let bytes = model.to_bytes(Precision::F64).unwrap();
            let message = ChainModel::from_bytes(&bytes).unwrap_err().to_string();
            assert!(message.contains("another kind (factorial or skip chain)"), "{message}");
            let again = LinkedModel::from_bytes(&bytes).unwrap();
            assert_eq!(again.to_bytes(Precision::F64).unwrap(), bytes);
            assert_eq!((again.engine(), &again.domain.links), (Engine::LoopyBp, &model.domain.links));
            // Zeros are left out where that is smaller.
            let [after, before] = [&again, &model]
                .map(|model| model.names().iter().filter(|w| w.weight != 0.0).collect::<Vec<NamedWeight>>());
            assert!(after == before && after.len() > 20);
            for at in (0..bytes.len()).step_by(97) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1;
                assert!(LinkedModel::from_bytes(&damaged).is_err(), "byte {at}");
                assert!(LinkedModel::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    let builder = |links, labels: &[usize]| LinkedBuilder::new(links, words(), 4, labels.to_vec());
    for (links, labels, message) in [
        (Links::Factorial, vec![1], "2 to 16 label columns, not 1"),
        (Links::Factorial, vec![1, 1], "named twice"),
        (Links::Factorial, vec![1, 4], "the data has only 4 columns"),
        (Links::Factorial, vec![0, 1], "a template reads column 0"),
        (skip("same(0)", false), vec![1, 2], "one label column"),
        (skip("same(1)", false), vec![1], "the rule of the links reads column 1"),
        (skip("same(7)", false), vec![1], "reads column 7"),
    ] {
        let found = builder(links, &labels).unwrap_err().to_string();
        assert!(found.contains(message), "{found}");
    }
    let text = two_labels(2, 4);
    let refused = |settings: Settings, engine: Engine| {
        let corpus = corpus(&text, Links::Factorial, words(), &[2, 3]);
        train(corpus, &settings, engine).unwrap_err().to_string()
    };
    let memm = Settings { objective: Criterion::Memm, ..lbfgs() };
    assert!(refused(memm, Engine::Exact).contains("for chains only"));
    assert!(refused(Settings { boundaries: true, ..lbfgs() }, Engine::Exact).contains("`boundaries`"));
    let scaling = Settings { optimizer: Method::Pgis, ..Settings::default() };
    assert!(refused(scaling, Engine::LoopyBp).contains("works with `optimizer` auto"));
    // Five columns of many labels: no machine could hold the tables of a junction tree.
    let mut wide = String::new();
    for k in 0..400 {
        writeln!(wide, "w a{k} b{k} c{k} d{k} e{k}").unwrap();
    }
    let wide = corpus(&wide, Links::Factorial, words(), &[1, 2, 3, 4, 5]);
    let message = train(wide, &lbfgs(), Engine::Exact).unwrap_err().to_string();
    assert!(
        message.contains("exact inference needs") && message.contains("`inference` loopy-bp"),
        "{message}"
    );
}

/// A run that goes on from any of its checkpoints ends in the same weights; development data decide which are kept.
#[test]
fn runs_go_on_from_checkpoints_and_keep_the_best_model() {
    let settings = Settings { passes: Some(12), sigma: 30.0, patience: 0, ..lbfgs() };
    let corpus = || corpus(&two_labels(5, 6), Links::Factorial, words(), &[2, 3]);
    let run = |resume: Option<Checkpoint>, dev: Option<Dev<LinkedDomain>>| {
        let start = TrainOptions { resume, dev, ..TrainOptions::default() };
        let mut record = Record { checkpoints: Some(Vec::new()), ..Record::default() };
        (train_from(corpus(), &settings, Engine::Exact, start, &mut record).unwrap(), record)
    };
    let (whole, record) = run(None, None);
    let checkpoints = record.checkpoints.unwrap();
    assert!(checkpoints.len() > 3);
    for checkpoint in &checkpoints {
        let (again, _) = run(Some(checkpoint.clone()), None);
        assert_eq!((again.passes, again.model.weights), (whole.passes, whole.model.weights.clone()));
    }
    // Development data on which more training is worse in the end.
    let dev = Dev::from_inputs(&corpus().domain, &columns(&two_labels(6, 30))).unwrap();
    let (kept, record) = run(None, Some(dev.clone()));
    let scores: Vec<f64> = record.evaluations.iter().map(|(scores, _)| scores.accuracy).collect();
    let best = scores.iter().copied().fold(0.0, f64::max);
    let at = scores.iter().position(|score| *score == best).unwrap();
    assert!(0 < at && *scores.last().unwrap() < best, "{scores:?}");
    assert_eq!(record.evaluations.iter().rposition(|(_, best)| *best), Some(at));
    assert_eq!(kept.model.weights[..], checkpoints[at].state.theta);
    assert_ne!(kept.model.weights, whole.model.weights);
    assert_eq!(corpora::scores(&kept.model, &dev).accuracy, best);
}
