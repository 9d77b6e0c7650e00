//! Empirical training on real text: tables 2–4 and 7 of empirical-training-2013.

use crate::corpora;

use corpora::{models::columns, real_text};
use crfkit::data::columns::Columns;
use crfkit::empirical::{Counts, EmpiricalMethod, EmpiricalSettings, EmpiricalTagger, HeldOut, train};
use crfkit::eval::Scores;
use crfkit::math::random::Random;
use std::sync::Arc;

/// Sentences of two tokens or more: the paper's Dutch counts are those.
fn sentences(text: &str) -> Vec<Columns> {
    let mut all = columns(text);
    all.retain(|sentence| sentence.len() > 1);
    all
}

fn held_out(sentences: &[Columns]) -> HeldOut {
    let mut held_out = HeldOut::default();
    for sentence in sentences {
        held_out.add_columns(sentence, sentence.columns() - 1).unwrap();
    }
    held_out
}

/// Trains on some sentences, tunes on others if there are any, and labels the rest.
fn scores(data: &[Columns], tune: &[Columns], test: &[Columns], method: EmpiricalMethod) -> Scores {
    let settings = EmpiricalSettings { method, ..EmpiricalSettings::default() };
    let mut counts = Counts::new(settings.pairs);
    for sentence in data {
        counts.add_columns(sentence, sentence.columns() - 1).unwrap();
    }
    let tune = (!tune.is_empty()).then(|| held_out(tune));
    let model = train(&counts, &settings, tune.as_ref()).unwrap().model;
    let scores = held_out(test).evaluate(&mut EmpiricalTagger::new(Arc::new(model))).scores();
    let [known, unknown] = [scores.known_accuracy, scores.unknown_accuracy].map(Option::unwrap_or_default);
    println!("{method:?} {}: {:.2} known {known:.2} unknown {unknown:.2}", data.len(), scores.accuracy);
    scores
}

/// The paper does not say which 5000 sentences it uses, so these are others, with all suffixes of their tags. Sentences are
/// shuffled, because in the order of the files training and test would have different text types.
#[test]
fn brown_is_tagged_as_well_as_in_tables_2_to_4() {
    let Some(text) = real_text("brown_is_tagged_as_well_as_in_tables_2_to_4", "brown/brown.tsv.gz") else {
        return;
    };
    let mut all = sentences(&text);
    Random::new(1).shuffle(&mut all);
    let (held_out, rest) = all[..6000].split_at(1000);
    for (size, paper) in [(1000, 86.7), (2500, 90.0), (4000, 91.7)] {
        let (data, test) = rest.split_at(size);
        let ep1 = scores(data, &[], test, EmpiricalMethod::Ep1).accuracy;
        assert!((ep1 - paper).abs() < 1.0, "{size}: {ep1}");
    }
    let (data, test) = rest.split_at(1000);
    let ep1 = scores(data, &[], test, EmpiricalMethod::Ep1);
    let ep2 = scores(data, &[], test, EmpiricalMethod::Ep2);
    assert!(ep2.accuracy > ep1.accuracy - 0.2 && ep2.accuracy > 86.8 - 1.0, "{ep2:?}");
    let tuned = scores(data, held_out, test, EmpiricalMethod::Ep1);
    assert!(tuned.unknown_accuracy > ep1.unknown_accuracy, "{tuned:?}");
}

#[test]
fn dutch_names_are_found_as_well_as_in_table_7() {
    let test = "dutch_names_are_found_as_well_as_in_table_7";
    let [Some(data), Some(tune), Some(test)] =
        ["train", "testa", "testb"].map(|part| real_text(test, &format!("conll2002/ned.{part}")))
    else {
        return;
    };
    let [data, tune, test] = [data, tune, test].map(|text| sentences(&text));
    assert_eq!([data.len(), tune.len(), test.len()], [13_221, 2306, 4211]);
    for (method, paper) in [(EmpiricalMethod::Ep1, 96.11), (EmpiricalMethod::Ep2, 96.14)] {
        for tune in [&[], &tune[..]] {
            let accuracy = scores(&data, tune, &test, method).accuracy;
            assert!((accuracy - paper).abs() < 1.0, "{method:?}: {accuracy}");
        }
    }
}
