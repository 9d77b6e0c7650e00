//! What a page says of models and of their mistakes.

use crfkit::chain::{ChainModel, CorpusBuilder};
use crfkit::data::columns::{ColumnReader, Columns};
use crfkit::data::observer::Source;
use crfkit::data::presets::preset;
use crfkit::data::text::{Encoding, Lines};
use crfkit::eval::Evaluation;
use crfkit::optim::Control;
use crfkit::tag::Tagger;
use crfkit::train::{self, Event, Listener, Settings, TrainOptions};
use crfkit_report::{EvaluationPart, ModelPart, Samples};
use std::fmt::Write;
use std::sync::Arc;

struct Silent;

impl Listener for Silent {
    fn event(&mut self, _: &Event) -> crfkit::Result<Control> {
        Ok(Control::Continue)
    }
}

fn sequences(text: &str) -> Vec<Columns> {
    let mut reader = ColumnReader::new(Lines::new(text.as_bytes(), "text", Encoding::Utf8));
    let mut all = Vec::new();
    let mut sequence = Columns::default();
    while reader.read(&mut sequence).unwrap() {
        all.push(std::mem::take(&mut sequence));
    }
    all
}

fn model(text: &str) -> Arc<ChainModel> {
    let settings = Settings { boundaries: true, ..Settings::default() };
    let mut builder = CorpusBuilder::new(Source::Templates(preset("default").unwrap().compile(1).unwrap()));
    sequences(text).iter().for_each(|sequence| builder.add_columns(sequence, 1).unwrap());
    let corpus = builder.finish(1).unwrap();
    let features = train::features(&corpus, &settings);
    let trained = train::train(corpus, features, &settings, TrainOptions::default(), &mut Silent).unwrap();
    Arc::new(trained.model)
}

/// A word a label, each in a sequence of its own.
fn many_labels(labels: usize) -> String {
    (0..labels).fold(String::new(), |mut text, k| {
        writeln!(text, "w{k:03} L{k:03}\nend O\n").unwrap();
        text
    })
}

#[test]
fn a_model_shows_its_heaviest_features_and_its_transitions() {
    let model = model("two Q\ncups U\nflour N\n\none Q\ncup U\nsalt N\n\none Q\nred N\nonion N\n");
    let part = ModelPart::new("m", &model.names());
    assert_eq!((part.labels.len(), part.all_labels), (3, 3));
    for label in &part.features {
        assert!((1..=10).contains(&label.features.len()), "{}", label.of);
        assert!(label.features.is_sorted_by(|a, b| a.weight.abs() >= b.weight.abs()));
    }
    let weight = |previous: Option<&str>, label: Option<&str>| {
        let mut found = part
            .transitions
            .iter()
            .filter(|t| t.previous.as_deref() == previous && t.label.as_deref() == label);
        found.next().map(|t| t.weight)
    };
    assert!(weight(Some("Q"), Some("U")).unwrap() > 0.0);
    assert!(weight(None, Some("Q")).unwrap() > 0.0, "begin");
    assert!(weight(Some("N"), None).unwrap() > 0.0, "end");
}

#[test]
fn of_many_labels_those_that_matter_are_shown() {
    let text = many_labels(60);
    let model = model(&text);
    let part = ModelPart::new("m", &model.names());
    assert_eq!((part.labels.len(), part.features.len(), part.all_labels), (40, 40, 61));
    assert!(part.labels.is_sorted() && part.labels.contains(&"O".to_owned()), "O has the most weight");
    let shown = |label: &Option<String>| label.as_ref().is_none_or(|label| part.labels.contains(label));
    assert!(part.transitions.iter().all(|t| shown(&t.previous) && shown(&t.label)));

    let mut evaluation = Evaluation::default();
    for k in 0..50 {
        let (gold, predicted) = (format!("L{k:03}"), if k < 45 { "X".into() } else { format!("L{k:03}") });
        for _ in 0..=k {
            evaluation.add_sequence(&[&gold], &[&predicted], None);
        }
    }
    let confusion = EvaluationPart::new("t", &evaluation, Samples::default()).confusion;
    assert_eq!((confusion.labels.len(), confusion.all_labels), (30, 51));
    // X was wrong most often, then L044, L043, …; those without a mistake do not matter.
    assert_eq!(
        (&confusion.labels[0][..], &confusion.labels[28][..], &confusion.labels[29][..]),
        ("L016", "L044", "X")
    );
    assert!(confusion.cells.contains(&(28, 29, 45)) && confusion.cells.len() == 29);
}

#[test]
fn the_worst_mistakes_come_first_however_the_work_is_divided() {
    let model = model("two Q\ncups U\nflour N\n\none Q\ncup U\nsalt N\n\none Q\nred N\nonion N\n");
    // Right; wrong and sure; with a label that the model does not know; without a label; and many that are right.
    let mut text =
        "one Q\ncup U\nsalt N\n\none U\ncup Q\nsalt N\n\none Q\ncup ?\nsalt N\n\none Q\ncup -\nsalt N\n\n"
            .to_owned();
    (0..50).for_each(|_| text += "two Q\ncups U\nflour N\n\n");
    let collect = |sequences: &[Columns]| {
        let mut tagger = Tagger::new(model.clone());
        let mut samples = Samples::default();
        for sequence in sequences {
            tagger.load_columns(sequence).unwrap();
            let gold: Vec<Option<&str>> = (0..sequence.len())
                .map(|row| Some(sequence.field(row, 1)).filter(|gold| *gold != "-"))
                .collect();
            let word = |row| sequence.field(row, 0).to_owned();
            let answers = tagger.answers();
            let predicted: Vec<&str> =
                answers.viterbi().iter().map(|&label| model.domain.labels[label as usize].as_str()).collect();
            let marginal = |t, label| answers.marginal(t, label);
            let _ = samples.add(
                &model.domain.labels,
                (&predicted, &gold),
                marginal,
                || sequence.place(0).to_string(),
                word,
            );
        }
        samples
    };
    let all = sequences(&text);
    let mut divided = collect(&all[..2]);
    divided.merge(&collect(&all[2..]));
    let samples = |samples| EvaluationPart::new("t", &Evaluation::default(), samples).samples;
    let (whole, divided) = (samples(collect(&all)), samples(divided));
    let places =
        |samples: &[crfkit_report::Sample]| samples.iter().map(|s| s.place.clone()).collect::<Vec<_>>();
    assert_eq!(places(&whole), places(&divided));
    assert_eq!(whole.len(), 40);
    assert_eq!(places(&whole)[..2], ["text:5", "text:9"]);
    assert!(whole[0].mistake > whole[1].mistake && whole[1].mistake > 0.0);
    assert!(whole[2..].iter().all(|sample| sample.mistake < 0.0), "those that are right");
    let unknown = &whole[1].tokens[1];
    assert_eq!((unknown.gold.as_deref(), &unknown.predicted[..], unknown.p_gold), (Some("?"), "U", 0.0));
    assert!(unknown.p > 0.5);
    let without = whole.iter().find(|sample| sample.place == "text:13").unwrap();
    assert!(without.tokens[1].gold.is_none() && without.mistakes().is_empty() && without.mistake < 0.0);
}
