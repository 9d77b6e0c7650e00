//! Explanations: contributions add up to the difference of scores, and rivals are the best of the enumeration.

use crate::corpora;

use corpora::models::columns;
use crfkit::answers::Answers;
use crfkit::any::{AnyModel, Ensemble, Member};
use crfkit::chain::{ChainModel, Sequence};
use crfkit::data::template::{Dialect, Templates};
use crfkit::domain::{Domain, WeightedModel};
use crfkit::empirical::{Counts, EmpiricalSettings, PairKind};
use crfkit::explain::{Explain, Explanation, Question};
use crfkit::graph::{Graph, Label};
use crfkit::linked::{LinkedBuilder, Links};
use crfkit::math::random::Random;
use crfkit::tag::Tagger;
use crfkit::train::Criterion;
use crfkit::{Sequences, Trainer};
use std::sync::Arc;

const TEXT: &str = "a\tO\nb\tB-X\nc\tI-X\n\nb\tB-Y\nc\tI-Y\na\tO\nd\tO\n\nd\tB-X\na\tO\n\n";
const TEMPLATE: &str = "U:%x[0,0]\nU:%x[-1,0]\nU:%x[1,0]\nB:%x[0,0]\nB\n";

fn chain_model(trainer: Trainer) -> ChainModel {
    let model = trainer.train(Sequences::read_columns(TEXT.as_bytes(), "text").unwrap()).unwrap();
    let AnyModel::Chain(model) = model.any().clone() else { unreachable!("it is a chain") };
    shaken((*model).clone())
}

/// The same model with random weights, so that many labellings are close.
fn shaken<D: Domain>(mut model: WeightedModel<D>) -> WeightedModel<D> {
    let mut rng = Random::new(5);
    let weights: Vec<f64> = model.weights.iter().map(|_| rng.uniform() * 4.0 - 2.0).collect();
    model.weights = weights.into();
    model
}

/// Explains everything about an input, and compares with all labellings that are possible.
fn check<M: Explain>(model: M, input: &M::Input) -> Vec<Explanation> {
    let mut tagger = Tagger::new(Arc::new(model));
    let graph = tagger.load(input).unwrap().graph().clone();
    let variables: Vec<usize> = (0..graph.vars()).collect();
    let found = tagger.explain(input, Question { variables: &variables, removals: 100 }).unwrap();
    let answers = tagger.answers();
    let mut all: Vec<Vec<Label>> = vec![Vec::new()];
    for v in &variables {
        let longer = |labels: &Vec<Label>| {
            let labels = labels.clone();
            (0..graph.card(*v) as Label).map(move |label| [&labels[..], &[label]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    let mut scored: Vec<(f64, Vec<Label>)> = all
        .into_iter()
        .map(|labels| (answers.score(&labels), labels))
        .filter(|(score, _)| *score > -1e9)
        .collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    assert_eq!(found.len(), variables.len());
    for explanation in &found {
        let v = explanation.variable;
        let best = scored.iter().take_while(|(score, _)| scored[0].0 - score < 1e-9);
        assert!(best.into_iter().any(|(_, labels)| labels[v] == explanation.label));
        let rival = scored.iter().find(|(_, labels)| labels[v] != explanation.label);
        let (Some((score, _)), Some(rival)) = (rival, &explanation.rival) else {
            assert!(rival.is_none() && explanation.rival.is_none(), "{explanation:?}");
            continue;
        };
        // There may be several of the same score.
        assert!((answers.score(&rival.labels) - score).abs() < 1e-9 && rival.labels[v] != explanation.label);
        assert_eq!(rival.label, rival.labels[v]);
        assert!((rival.difference - (scored[0].0 - score)).abs() < 1e-9, "{explanation:?}");
        let sum: f64 = rival.contributions.iter().map(|part| part.amount).sum();
        assert!((rival.difference - sum).abs() < 1e-9, "{sum} is not {}", rival.difference);
        assert!(rival.contributions.is_sorted_by(|a, b| a.amount.abs() >= b.amount.abs()));
    }
    found
}

#[test]
fn chains_add_up() {
    let template = || Trainer::new().template(TEMPLATE, Dialect::Crfpp).passes(3);
    for trainer in [
        template(),
        template().configure(|settings| settings.boundaries = true),
        Trainer::new().passes(2),
        template().objective(Criterion::Memm),
        template().objective(Criterion::MemmBackward),
    ] {
        let model = chain_model(trainer);
        for rows in [&["a", "b", "c", "d"][..], &["b"], &["x", "c"], &["c", "c", "c"]] {
            let sequence = Sequence::from_rows(rows.iter().map(|word| [*word])).unwrap();
            let found = check(model.clone(), &sequence);
            assert_eq!(found.len(), rows.len());
            check(crfkit::any::Ensemble::from(Member::Weighted(Arc::new(model.clone()))), &sequence);
        }
    }
}

/// One label has no rival, and neither has a label without alternatives.
#[test]
fn a_label_may_have_no_rival() {
    let sequences = Sequences::read_columns(&b"a\tX\nb\tX\n"[..], "text").unwrap();
    let AnyModel::Chain(model) = Trainer::new().train(sequences).unwrap().any().clone() else {
        unreachable!()
    };
    let found = check((*model).clone(), &Sequence::from_rows([["a"], ["b"]]).unwrap());
    assert!(found.iter().all(|explanation| explanation.rival.is_none()));
    let mut tagger = Tagger::new(model);
    let asked = Question { variables: &[2], removals: 0 };
    let message =
        tagger.explain(&Sequence::from_rows([["a"], ["b"]]).unwrap(), asked).unwrap_err().to_string();
    assert!(message.contains("there is no token 2: the sequence has 2 tokens"), "{message}");
}

/// Without an attribute, the label is that of the sequence without it.
#[test]
fn removals_are_removals() {
    let tokens = |labels: [&'static str; 3]| {
        let values = [[("p", 1.0), ("q", 0.5)], [("q", 2.0), ("r", 1.0)], [("p", -1.0), ("s", 0.25)]];
        labels.into_iter().zip(values.map(|values| values.to_vec())).collect::<Vec<_>>()
    };
    let data = [tokens(["A", "B", "C"]), tokens(["B", "C", "A"])]
        .map(|tokens| Sequence::from_features(tokens).unwrap());
    let AnyModel::Chain(model) =
        Trainer::new().features(crfkit::model::Keep::All).train(Sequences::new(data)).unwrap().any().clone()
    else {
        unreachable!()
    };
    let model = shaken((*model).clone());
    let (mut removed, mut changed) = (0, 0);
    for explanation in check(model.clone(), &Sequence::from_features(tokens(["?"; 3])).unwrap()) {
        for part in explanation.rival.expect("there are three labels").contributions {
            let (Some(name), Some(without)) = (part.observation, part.without) else { continue };
            let mut left = tokens(["?"; 3]);
            left[part.variables[0]].1.retain(|(other, _)| *other != name);
            let mut tagger = Tagger::new(Arc::new(model.clone()));
            tagger.load(&Sequence::from_features(left).unwrap()).unwrap();
            assert_eq!(tagger.viterbi()[explanation.variable], without);
            removed += 1;
            changed += usize::from(without != explanation.label);
        }
    }
    assert!(removed > 5 && changed > 0, "{removed} removed, {changed} changed");
}

#[test]
fn counts_and_factorial_chains_add_up() {
    for pairs in [PairKind::Tags, PairKind::Lexical] {
        let mut counts = Counts::new(pairs);
        columns(TEXT).iter().for_each(|sequence| counts.add_columns(sequence, 1).unwrap());
        let settings = EmpiricalSettings { pairs, smoothing: 0.5, ..EmpiricalSettings::default() };
        let model = crfkit::empirical::train(&counts, &settings, None).unwrap().model;
        check(model, &Sequence::from_rows([["a"], ["b"], ["new"]]).unwrap());
    }
    let text = "a\tO\tn\nb\tX\tv\nc\tY\tn\n\nb\tY\tn\nc\tX\tv\n\n";
    let templates = Templates::compile("U:%x[0,0]\nU:%x[-1,0]\nB\n", Dialect::Crfpp, "words").unwrap();
    let sequences = columns(text);
    let mut builder = LinkedBuilder::new(Links::Factorial, templates, 3, vec![1, 2]).unwrap();
    sequences.iter().for_each(|sequence| builder.add(sequence).unwrap());
    let trained = Trainer::for_kind(crfkit::train::Kind::Linked)
        .passes(3)
        .train_corpus(builder.finish(1).unwrap(), None)
        .unwrap();
    for sequence in &sequences {
        check(shaken(trained.model.clone()), sequence);
    }
}

/// Under `at_most_once`, the rival is the best labelling that obeys it too.
#[test]
fn what_occurs_at_most_once_has_rivals() {
    let (words, once) = (["b", "d", "c", "b"], ["X".to_owned(), "O".to_owned()]);
    for trainer in [
        Trainer::new().template(TEMPLATE, Dialect::Crfpp),
        Trainer::new().template(TEMPLATE, Dialect::Crfpp).order(2),
        Trainer::new().template(TEMPLATE, Dialect::Crfpp).segments(3),
    ] {
        let model = chain_model(trainer);
        let names = model.domain.labels.clone();
        let ensemble = Ensemble::from(Member::Weighted(Arc::new(model))).with_at_most_once(&once).unwrap();
        let input = Sequence::from_rows(words.map(|word| [word])).unwrap();
        let mut tagger = Tagger::new(Arc::new(ensemble));
        let found = tagger.explain(&input, Question { variables: &[0, 1, 2, 3], removals: 9 }).unwrap();
        let answers = tagger.answers();
        // Chunks of X, and tokens outside of chunks.
        let obeys = |labels: &[Label]| {
            let count = |name: &str| labels.iter().filter(|label| names[**label as usize] == name).count();
            count("B-X") <= 1 && count("O") <= 1
        };
        let mut scored: Vec<(f64, Vec<Label>)> = (0..names.len().pow(4))
            .map(|number| (0..4).map(|t| (number / names.len().pow(t) % names.len()) as Label).collect())
            .map(|labels: Vec<Label>| (answers.score(&labels), labels))
            .filter(|(score, labels)| *score > -1e9 && obeys(labels))
            .collect();
        scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        for explanation in found {
            let (v, rival) = (explanation.variable, explanation.rival.unwrap());
            assert_eq!(explanation.label, scored[0].1[v]);
            let (score, _) = scored.iter().find(|(_, labels)| labels[v] != explanation.label).unwrap();
            assert!((rival.difference - (scored[0].0 - score)).abs() < 1e-9, "{rival:?}");
            assert!(obeys(&rival.labels));
            let sum: f64 = rival.contributions.iter().map(|part| part.amount).sum();
            assert!((rival.difference - sum).abs() < 1e-9);
        }
    }
}
