//! The scorer against a brute-force reference, printed blocks worked out by hand, and a real corpus.

use crate::corpora;

use std::collections::BTreeSet;

use corpora::real_text;
use crfkit::eval::{ChunkCounts, Confusion, Evaluation, PairedBootstrap, Scores};
use proptest::prelude::*;

fn add(evaluation: &mut Evaluation, gold: &str, predicted: &str) {
    let gold: Vec<&str> = gold.split_whitespace().collect();
    let predicted: Vec<&str> = predicted.split_whitespace().collect();
    evaluation.add_sequence(&gold, &predicted, None);
}

fn evaluate(sequences: &[(&str, &str)]) -> Evaluation {
    let mut evaluation = Evaluation::default();
    for (gold, predicted) in sequences {
        add(&mut evaluation, gold, predicted);
    }
    evaluation
}

fn conlleval(evaluation: &Evaluation) -> String {
    let mut out = Vec::new();
    evaluation.write_conlleval(&mut out).expect("a vector takes all");
    String::from_utf8(out).expect("labels are UTF-8")
}

fn confusion(evaluation: &Evaluation) -> String {
    let mut out = Vec::new();
    evaluation.write_confusion(&mut out).expect("a vector takes all");
    String::from_utf8(out).expect("labels are UTF-8")
}

#[test]
fn the_printed_block() {
    // Nine tokens, six gold phrases (2 VP, 3 NP, 1 ADVP), five found (4 NP, 1 VP), four right (3 NP, 1 VP).
    let evaluation = evaluate(&[
        ("B-NP I-NP B-VP B-NP O", "B-NP I-NP B-VP B-NP O"),
        ("B-NP B-VP B-ADVP O", "B-NP B-NP O O"),
    ]);
    let expected = "\
processed 9 tokens with 6 phrases; found: 5 phrases; correct: 4.
accuracy:  77.78%; precision:  80.00%; recall:  66.67%; FB1:  72.73
             ADVP: precision:   0.00%; recall:   0.00%; FB1:   0.00  0
               NP: precision:  75.00%; recall: 100.00%; FB1:  85.71  4
               VP: precision: 100.00%; recall:  50.00%; FB1:  66.67  1
";
    assert_eq!(conlleval(&evaluation), expected);
}

#[test]
fn nothing_to_count() {
    let evaluation = Evaluation::default();
    assert_eq!(evaluation.scores(), Scores { chunked: true, ..Default::default() });
    assert_eq!(conlleval(&evaluation), "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0.\n");
    assert_eq!(confusion(&evaluation), "no wrong labels\n");
    let outside = evaluate(&[("O O", "O O")]).scores();
    assert_eq!((outside.f1, outside.precision, outside.recall, outside.accuracy), (0.0, 0.0, 0.0, 100.0));
}

#[test]
fn chunks_by_hand() {
    let counts = |gold, predicted, correct| ChunkCounts { gold, predicted, correct };
    for (gold, predicted, expected, why) in [
        ("B-X I-X", "B-X O", counts(1, 1, 0), "too short"),
        ("B-X O", "B-X I-X", counts(1, 1, 0), "too long"),
        ("O B-X", "B-X I-X", counts(1, 1, 0), "same end, other start"),
        ("B-X I-X", "B-Y I-Y", counts(1, 1, 0), "other type"),
        ("B-X I-X I-X", "B-X B-X I-X", counts(1, 2, 0), "split"),
        ("B-X I-X B-X", "I-X I-X B-X", counts(2, 2, 2), "IOB2 against IOB1"),
        ("B-X I-X", "B-X I-Y", counts(1, 2, 0), "type change without B"),
        ("B-X I-Y", "B-X I-Y", counts(2, 2, 2), "type change without B in both"),
        ("B-X E-X S-X", "B-X I-X B-X", counts(2, 2, 2), "IOBES against IOB2"),
        ("S-X S-X", "B-X I-X", counts(2, 1, 0), "two singles are two chunks"),
        ("B-X I-X O", "B-X I-X I-X", counts(1, 1, 0), "one ends, the other goes on"),
        ("NN VB", "NN NN", counts(0, 0, 0), "no chunks at all"),
    ] {
        assert_eq!(evaluate(&[(gold, predicted)]).chunks(), expected, "{why}");
    }
}

#[test]
fn a_chunk_ends_with_its_sequence() {
    // Joined, the I-X after the boundary would continue the first chunk.
    let evaluation = evaluate(&[("O B-X", "O B-X"), ("I-X O", "I-X O")]);
    assert_eq!(evaluation.chunks(), ChunkCounts { gold: 2, predicted: 2, correct: 2 });
    let joined = evaluate(&[("O B-X I-X O", "O B-X I-X O")]);
    assert_eq!(joined.chunks(), ChunkCounts { gold: 1, predicted: 1, correct: 1 });
}

#[test]
fn accuracies() {
    let mut evaluation = Evaluation::default();
    evaluation.add_sequence(&["a", "b", "a", "a"], &["a", "a", "a", "b"], Some(&[true, true, false, true]));
    evaluation.add_sequence(&["a"], &["a"], None);
    let scores = evaluation.scores();
    assert_eq!((scores.tokens, scores.sequences), (5, 2));
    assert_eq!(scores.accuracy, 60.0);
    assert_eq!(scores.sequence_accuracy, 50.0);
    assert_eq!(scores.known_accuracy, Some(100.0 / 3.0));
    assert_eq!(scores.unknown_accuracy, Some(100.0));
    let labels = evaluation.labels();
    assert_eq!(labels[0], ("a", ChunkCounts { gold: 4, predicted: 4, correct: 3 }));
    assert_eq!(labels[1], ("b", ChunkCounts { gold: 1, predicted: 1, correct: 0 }));
    let cell = |gold, predicted, tokens| Confusion { gold, predicted, tokens };
    assert_eq!(evaluation.confusion(), [cell("a", "a", 3), cell("a", "b", 1), cell("b", "a", 1)]);
}

#[test]
fn json_keys_are_a_contract() {
    let json = serde_json::to_string(&evaluate(&[("B-X O", "B-X O")]).scores()).expect("numbers only");
    assert_eq!(
        json,
        r#"{"f1":100.0,"precision":100.0,"recall":100.0,"accuracy":100.0,"known_accuracy":null,"unknown_accuracy":null,"sequence_accuracy":100.0,"tokens":2,"sequences":1}"#
    );
}

#[test]
fn the_confusion_table() {
    let evaluation = evaluate(&[("a a a b cc", "a b d a cc"), ("a a a a", "e f g b")]);
    let expected = "\
gold     tokens      wrong  taken for
a             7          6  b 2, d 1, e 1, f 1, others 1
b             1          1  a 1
";
    assert_eq!(confusion(&evaluation), expected);
}

#[test]
fn the_confusion_table_stays_short() {
    let mut evaluation = Evaluation::default();
    for i in 0..25 {
        add(&mut evaluation, &format!("label{i}"), "x");
    }
    let table = confusion(&evaluation);
    assert_eq!(table.lines().count(), 1 + 20 + 1);
    assert!(table.ends_with("the 20 labels with the most errors; 5 more labels have 5 errors\n"), "{table}");
}

/// The chunks of an IOB2 sequence as (type, start, end): each B takes the I of its type that follow; an I
/// that follows nothing of its type counts as a B.
fn spans(labels: &[String]) -> BTreeSet<(String, usize, usize)> {
    let mut spans = BTreeSet::new();
    let mut t = 0;
    while t < labels.len() {
        let start = t;
        t += 1;
        if labels[start] != "O" {
            let kind = &labels[start][2..];
            while t < labels.len() && labels[t] == format!("I-{kind}") {
                t += 1;
            }
            spans.insert((kind.to_owned(), start, t));
        }
    }
    spans
}

fn iob2_label() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["O", "B-X", "I-X", "B-Y", "I-Y"]).prop_map(str::to_owned)
}

/// Pairs of label sequences that agree more often than not, so that long chunks match too.
fn labelled_sequences() -> impl Strategy<Value = Vec<(Vec<String>, Vec<String>)>> {
    let token = (iob2_label(), prop::option::weighted(0.2, iob2_label()));
    let sequence = prop::collection::vec(token, 0..12);
    let pair = sequence.prop_map(|tokens| {
        tokens.into_iter().map(|(gold, other)| (gold.clone(), other.unwrap_or(gold))).unzip()
    });
    prop::collection::vec(pair, 0..6)
}

fn add_owned(evaluation: &mut Evaluation, gold: &[String], predicted: &[String]) {
    add(evaluation, &gold.join(" "), &predicted.join(" "));
}

proptest! {
    #[test]
    fn chunks_are_those_of_the_reference(sequences in labelled_sequences()) {
        let mut evaluation = Evaluation::default();
        let mut expected = ChunkCounts::default();
        for (gold, predicted) in &sequences {
            add_owned(&mut evaluation, gold, predicted);
            let (gold, predicted) = (spans(gold), spans(predicted));
            expected.gold += gold.len() as u64;
            expected.predicted += predicted.len() as u64;
            expected.correct += gold.intersection(&predicted).count() as u64;
        }
        prop_assert_eq!(evaluation.chunks(), expected);
    }

    #[test]
    fn merged_parts_are_the_whole(sequences in labelled_sequences(), cut in 0usize..6) {
        let mut whole = Evaluation::default();
        let mut parts = [Evaluation::default(), Evaluation::default()];
        for (i, (gold, predicted)) in sequences.iter().enumerate() {
            add_owned(&mut whole, gold, predicted);
            add_owned(&mut parts[usize::from(i >= cut)], gold, predicted);
        }
        // The second part first: its labels get other ids than in the whole.
        let [first, mut merged] = parts;
        merged.merge(&first);
        prop_assert_eq!(merged.scores(), whole.scores());
        prop_assert_eq!(merged.chunk_types(), whole.chunk_types());
        prop_assert_eq!(merged.labels(), whole.labels());
        prop_assert_eq!(merged.confusion(), whole.confusion());
    }
}

#[test]
fn conll_2000_against_itself() {
    let Some(text) = real_text("conll_2000_against_itself", "conll2000/test.txt") else { return };
    let mut evaluation = Evaluation::default();
    for sentence in text.split("\n\n") {
        let labels: Vec<&str> = sentence.lines().filter_map(|line| line.split_whitespace().last()).collect();
        if !labels.is_empty() {
            evaluation.add_sequence(&labels, &labels, None);
        }
    }
    let scores = evaluation.scores();
    assert_eq!((scores.tokens, scores.sequences), (47_377, 2_012));
    assert_eq!((scores.f1, scores.accuracy), (100.0, 100.0));
    assert_eq!(evaluation.chunks().gold, 23_852);
    let types = evaluation.chunk_types();
    let noun_phrases = types.iter().find(|(name, _)| *name == "NP").expect("noun phrases");
    assert_eq!(noun_phrases.1, ChunkCounts { gold: 12_422, predicted: 12_422, correct: 12_422 });
}

/// A token counts for its field, whether it begins a chunk or not.
#[test]
fn fields_are_counted_by_tokens() {
    let mut evaluation = Evaluation::default();
    evaluation.add_sequence(&["B-A", "I-A", "O", "B-B"], &["B-A", "B-A", "B-B", "O"], None);
    evaluation.add_sequence(&["B-A", "O"], &["I-B", "O"], None);
    let counts = |gold, predicted, correct| ChunkCounts { gold, predicted, correct };
    assert_eq!(evaluation.fields(), [("A", counts(3, 2, 2)), ("B", counts(1, 2, 0))]);
}

/// The paired bootstrap has the scores of the evaluation, sees no difference where there is none, and is fair to both sides.
#[test]
fn the_paired_bootstrap_compares() {
    let gold = ["B-X I-X O", "O B-Y O B-X", "B-Y B-X", "O O"];
    let good = ["B-X I-X O", "O B-Y O B-X", "B-Y O", "O O"];
    let bad = ["B-X O O", "O B-X O B-X", "O O", "O B-X"];
    let paired = |first: [&str; 4], second: [&str; 4], times: usize| {
        let mut paired = PairedBootstrap::default();
        for _ in 0..times {
            for ((gold, first), second) in gold.iter().zip(first).zip(second) {
                let [gold, first, second] =
                    [gold, first, second].map(|text| text.split(' ').collect::<Vec<_>>());
                paired.add(&gold, &first, &second);
            }
        }
        paired.compare(1000, 3)
    };
    let (accuracy, f1) = paired(good, bad, 20);
    let f1 = f1.expect("the labels are those of chunks");
    let alone = |labels: [&str; 4]| {
        let pairs: Vec<(&str, &str)> = gold.into_iter().zip(labels).collect();
        evaluate(&pairs).scores()
    };
    assert_eq!(f1.scores, [alone(good).f1, alone(bad).f1]);
    assert_eq!(accuracy.scores, [alone(good).accuracy, alone(bad).accuracy]);
    assert!(f1.interval[0] > 0.0 && f1.interval[0] < f1.difference && f1.difference < f1.interval[1]);
    assert!(f1.p < 0.01, "{f1:?}");
    let (_, back) = paired(bad, good, 20);
    let back = back.expect("the labels are those of chunks");
    assert_eq!(back.difference, -f1.difference);
    assert_eq!((back.p, back.interval), (f1.p, [-f1.interval[1], -f1.interval[0]]));
    let (same, _) = paired(good, good, 1);
    assert_eq!((same.difference, same.interval, same.p), (0.0, [0.0, 0.0], 1.0));
    // One sequence says nothing about chance.
    let mut one = PairedBootstrap::default();
    one.add(&["A"], &["A"], &["B"]);
    let (accuracy, f1) = one.compare(100, 1);
    assert!(f1.is_none() && accuracy.difference == 100.0 && accuracy.interval == [100.0, 100.0]);
}
