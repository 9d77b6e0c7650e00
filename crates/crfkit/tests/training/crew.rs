//! A corpus built on several threads is that of one builder, to the bit.

use crate::corpora::models::{attributes, columns, templates, wapiti_templates};
use crate::corpora::{made_up_attributes, made_up_columns};
use crfkit::chain::{ChainCorpus, CorpusBuilder, CorpusCrew, Sequence};
use crfkit::checkpoint::fingerprint;
use crfkit::data::observer::Source;
use crfkit::data::presets::preset;
use crfkit::train::{Settings, TrainOptions};
use crfkit::{Error, Result};

/// Enough for several batches, with strings that are new in each of them.
fn text(of: impl Fn(u64, usize) -> String) -> String {
    let mut text = of(3, 2500);
    for (k, line) in of(4, 1500).lines().enumerate() {
        let line = if k % 5 == 0 {
            line.replacen("flour", &format!("flour{}", k * k % 1009), 1)
        } else {
            line.into()
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn build(builder: CorpusBuilder, sequences: &[Sequence], threads: usize) -> Result<ChainCorpus> {
    let mut crew = CorpusCrew::new(builder, threads);
    let read = sequences.iter().try_for_each(|sequence| crew.add(&mut sequence.clone()));
    crew.finish(read, 2)
}

#[test]
fn any_number_of_threads_builds_the_same_corpus() {
    let rows: Vec<Sequence> = columns(&text(made_up_columns)).into_iter().map(Sequence::from).collect();
    let partial: Vec<Sequence> = text(made_up_columns)
        .replace(" B-UNIT", " B-UNIT|O")
        .replace(" I-FOOD", " ?")
        .split_inclusive("\n\n")
        .flat_map(columns)
        .map(Sequence::from)
        .collect();
    let instances: Vec<Sequence> =
        attributes(&text(made_up_attributes)).into_iter().map(Sequence::from).collect();
    let weights = [("B-UNIT".to_owned(), 2.0), ("O".to_owned(), 0.0)];
    type Make<'a> = &'a dyn Fn() -> CorpusBuilder;
    let cases: [(Make, &[Sequence]); 5] = [
        (&|| CorpusBuilder::new(templates()), &rows),
        (&|| CorpusBuilder::new(wapiti_templates()), &rows),
        (&|| CorpusBuilder::new(templates()).with_partial_labels(), &partial),
        (&|| CorpusBuilder::new(templates()).with_label_weights(weights.clone()).unwrap(), &rows),
        (&|| CorpusBuilder::new(Source::Attributes), &instances),
    ];
    for (case, (make, sequences)) in cases.into_iter().enumerate() {
        let mut alone = make();
        sequences.iter().for_each(|sequence| alone.add(sequence).unwrap());
        let alone = alone.finish(2).unwrap();
        let mark = |corpus: &ChainCorpus| fingerprint(corpus, &Settings::default(), &TrainOptions::default());
        for threads in [1, 2, 3, 7] {
            let corpus = build(make(), sequences, threads).unwrap();
            assert_eq!(mark(&corpus), mark(&alone), "case {case}, {threads} threads");
            assert_eq!(corpus.domain.words, alone.domain.words);
            assert_eq!(corpus.domain.labels, alone.domain.labels);
            assert_eq!(corpus.data.sets(), alone.data.sets());
        }
    }
}

/// Whatever is wrong is reported for the first sequence that has it, as one thread does.
#[test]
fn the_first_error_is_reported() {
    let mut rows: Vec<Sequence> =
        columns(&made_up_columns(5, 4000)).into_iter().map(Sequence::from).collect();
    let source = || Source::Templates(preset("default").unwrap().compile_with(2, &[1]).unwrap());
    for wrong in [3900, 2100, 900] {
        rows[wrong] =
            Sequence::from_rows([["cups".to_owned(), format!("number {wrong}"), "O".to_owned()]]).unwrap();
    }
    for threads in [1, 2, 5] {
        let error = build(CorpusBuilder::new(source()), &rows, threads).unwrap_err().to_string();
        assert!(error.contains("number 900"), "{threads} threads: {error}");
        // What the reader finds wrong later does not hide it.
        let mut crew = CorpusCrew::new(CorpusBuilder::new(source()), threads);
        let added: Result<()> = rows[..1000].iter().try_for_each(|sequence| crew.add(&mut sequence.clone()));
        let read = added.and(Err(Error::Setting("cannot be read".into())));
        let error = crew.finish(read, 1).unwrap_err().to_string();
        assert!(error.contains("number 900"), "{threads} threads: {error}");
    }
}

#[test]
fn a_crew_without_sequences_builds_nothing() {
    for threads in [1, 3] {
        let message = build(CorpusBuilder::new(templates()), &[], threads).unwrap_err().to_string();
        assert!(message.contains("no sequence"), "{message}");
    }
}
