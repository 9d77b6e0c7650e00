//! The front door: what the crate page promises.

use crfkit::chain::Sequence;
use crfkit::data::rows::RowFormat;
use crfkit::model::{Keep, Precision};
use crfkit::settings::Constraint;
use crfkit::train::{Criterion, Method, StopReason};
use crfkit::{Model, Sequences, Trainer};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const TRAINING: &str = "2\tB-QTY\ncups\tB-UNIT\nflour\tB-NAME\n\n1\tB-QTY\nred\tB-NAME\nonion\tI-NAME\n\n3\tB-QTY\neggs\tB-NAME\n";

fn text() -> Sequences {
    Sequences::read_columns(TRAINING.as_bytes(), "training").unwrap()
}

fn in_memory() -> Vec<Sequence> {
    let sentence = |text: &str| {
        let rows = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        Sequence::from_rows(rows).unwrap()
    };
    TRAINING.split("\n\n").map(sentence).collect()
}

/// Text and memory are two doors to one model, byte for byte; so are a file, its bytes, and any number of threads.
#[test]
fn every_door_leads_to_the_same_model() {
    let model = Trainer::new().train(text()).unwrap();
    let bytes = model.to_bytes().unwrap();
    assert!(Trainer::new().train(Sequences::new(in_memory())).unwrap().to_bytes().unwrap() == bytes);
    assert!(Trainer::new().threads(3).train(text()).unwrap().to_bytes().unwrap() == bytes);
    assert!(Model::from_bytes(&bytes).unwrap().to_bytes().unwrap() == bytes);
    let path = std::env::temp_dir().join(format!("crfkit-front-{}", std::process::id()));
    model.save(&path).unwrap();
    let opened = Model::open(&path).unwrap();
    assert!(opened.to_bytes().unwrap() == bytes);
    std::fs::remove_file(&path).unwrap();
    let missing = Model::open(&path).unwrap_err().to_string();
    assert!(missing.contains("crfkit-front-"), "{missing}");
}

/// Labels come as names with probabilities that agree with the marginals; the n best add up with the rest to one.
#[test]
fn a_tagger_answers_by_name() {
    let model = Trainer::new().sigma(2.0).train(text()).unwrap();
    assert_eq!(model.labels(), ["B-NAME", "B-QTY", "B-UNIT", "I-NAME"]);
    let mut tagger = model.tagger().unwrap();
    let tokens = tagger.tag([["2"], ["cups"], ["flour"]]).unwrap();
    let labels: Vec<&str> = tokens.iter().map(|token| token.label.as_str()).collect();
    assert_eq!(labels, ["B-QTY", "B-UNIT", "B-NAME"]);
    let sequence = Sequence::from_rows([["2"], ["cups"], ["flour"]]).unwrap();
    let marginals = tagger.marginals(&sequence).unwrap();
    for (row, token) in marginals.iter().zip(&tokens) {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let place = model.labels().iter().position(|label| *label == token.label).unwrap();
        assert_eq!(row[place], token.probability);
    }
    let best = tagger.nbest(&sequence, 64).unwrap();
    assert_eq!(best.len(), 34, "four labels at three tokens, those in IOB2");
    assert!((best.iter().map(|(_, p)| p).sum::<f64>() - 1.0).abs() < 1e-9);
    assert_eq!(best[0].0, labels);
    let log = tagger.log_probability(&sequence, &labels).unwrap();
    assert!((log.exp() - best[0].1).abs() < 1e-12);
    assert!(tagger.log_probability(&sequence, &["O", "O", "O"]).unwrap_err().to_string().contains("`O`"));
    assert!(tagger.log_probability(&sequence, &["B-QTY"]).is_err());
    let second = tagger.fork().tag_sequence(&sequence).unwrap();
    assert_eq!(second, tokens);
}

/// Features of one's own have values and need no template; the model wants the same again.
#[test]
fn own_features_have_values() {
    let sequence = |x: f64| {
        Sequence::from_features([("A", vec![("x", x)]), ("B", vec![("x", -x), ("bias", 1.0)])]).unwrap()
    };
    let model = Trainer::new().train(Sequences::new([sequence(1.0), sequence(0.5)])).unwrap();
    let mut tagger = model.tagger().unwrap();
    let labels = tagger.tag_sequence(&sequence(0.8)).unwrap();
    assert_eq!([&*labels[0].label, &*labels[1].label], ["A", "B"]);
    let message = tagger.tag([["word"]]).unwrap_err().to_string();
    assert!(message.contains("trained on attributes"), "{message}");
    for (value, part) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        let message = Sequence::from_features([("A", [("x", value)])]).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains("`x`"), "{message}");
    }
    assert!(Sequence::from_features([("", [("x", 1.0)])]).unwrap_err().to_string().contains("empty label"));
    let ragged = Sequence::from_rows([vec!["a", "b"], vec!["c"]]).unwrap_err().to_string();
    assert!(ragged.contains("token 2 has 1 field,"), "{ragged}");
}

/// Progress is heard of, and may stop the run; development data keeps the best; a start may be another model.
#[test]
fn training_can_be_watched_and_stopped() {
    let mut heard = 0;
    let stopped = Trainer::new().optimizer(Method::Lbfgs).on_progress(|_| {
        heard += 1;
        heard < 2
    });
    let model = stopped.train(text()).unwrap();
    assert_eq!(heard, 2);
    let more = Trainer::new().optimizer(Method::Lbfgs).train(text()).unwrap();
    assert!(model.to_bytes().unwrap() != more.to_bytes().unwrap(), "it stopped early");
    let mut scores = Vec::new();
    let judged = Trainer::new()
        .optimizer(Method::Lbfgs)
        .passes(5)
        .dev(text())
        .unwrap()
        .on_progress(|state| {
            scores.extend(state.dev_score);
            true
        })
        .train(text())
        .unwrap();
    assert!(scores.last().is_some_and(|score| *score > 99.0), "{scores:?}");
    assert!(judged.evaluate(text()).unwrap().scores().f1 > 99.0);
    assert!(judged.evaluate(text()).unwrap().to_string().starts_with("processed 8 tokens with 7 phrases"));
    let again = Trainer::new().optimizer(Method::Lbfgs).passes(1).start_from(&more).train(text()).unwrap();
    assert_eq!(again.labels(), more.labels());
}

/// Whatever is wrong is said before anything is read, by the settings' own names; failing iterators end the run.
#[test]
fn mistakes_are_errors_with_a_remedy() {
    let refused = |trainer: Trainer| trainer.train(text()).unwrap_err().to_string();
    assert!(refused(Trainer::new().sigma(-1.0)).contains("`sigma` is -1"));
    assert!(refused(Trainer::new().preset("nope")).contains("nope"));
    assert!(
        refused(Trainer::new().configure(|s| s.inference = Some(crfkit::infer::Engine::Trw)))
            .contains("`inference`")
    );
    assert!(
        refused(Trainer::new().objective(Criterion::Memm).optimizer(Method::Saga))
            .contains("`optimizer` saga")
    );
    let corpus = || {
        let mut builder = crfkit::typed::TypedBuilder::default();
        let place = crfkit::Place::new("graphs", 1);
        builder.add(r#"{"types": {"n": {"labels": ["a", "b"]}}}"#, &place).unwrap();
        builder.add(r#"{"nodes": [{"type": "n", "label": "a"}]}"#, &place).unwrap();
        builder.finish(1).unwrap()
    };
    let ignored = Trainer::new().preset("ner").train_corpus(corpus(), None).unwrap_err().to_string();
    assert!(ignored.contains("templates"), "{ignored}");
    assert!(Trainer::new().dev(text()).unwrap().train_corpus(corpus(), None).is_err());
    assert!(Trainer::new().train_corpus(corpus(), None).is_ok());
    let broken = Sequences::try_new([Err(crfkit::Error::Setting("the source broke".into()))]);
    assert!(Trainer::new().train(broken).unwrap_err().to_string().contains("the source broke"));
    let nothing = Trainer::new().train(Sequences::new(Vec::new())).unwrap_err().to_string();
    assert!(nothing.contains("no sequence"), "{nothing}");
}

/// The label may be anywhere, and the model remembers where: evaluation reads the right column (it read the last one before).
#[test]
fn a_label_column_elsewhere_is_remembered() {
    let swapped: String = TRAINING
        .lines()
        .map(|line| line.split_once('\t').map_or("\n".into(), |(word, label)| format!("{label}\t{word}\n")))
        .collect();
    let sequences = || Sequences::read_columns(std::io::Cursor::new(swapped.clone()), "swapped").unwrap();
    let template = "U0:%x[0,1]\nB\n";
    let model = Trainer::new()
        .template(template, crfkit::data::template::Dialect::Crfpp)
        .train(sequences().label_column(0))
        .unwrap();
    let model = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert!(model.evaluate(sequences()).unwrap().scores().accuracy > 99.0);
}

/// The number format is a setting: the file is smaller, and says so.
#[test]
fn precision_is_a_setting() {
    let size = |precision| {
        let model = Trainer::new().precision(precision).train(text()).unwrap();
        let bytes = model.to_bytes().unwrap();
        assert_eq!(Model::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
        bytes.len()
    };
    assert!(size(Precision::F16) < size(Precision::F64));
}

/// JSON lines, CoNLL-U and columns are three doors to one model.
#[test]
fn every_format_leads_to_the_same_model() {
    let (mut json, mut conllu) = (String::new(), String::new());
    for sentence in TRAINING.split("\n\n") {
        let (words, labels): (Vec<&str>, Vec<&str>) =
            sentence.lines().map(|line| line.split_once('\t').unwrap()).unzip();
        json += &format!("{{\"tokens\": {words:?}, \"labels\": {labels:?}}}\n");
        for (word, label) in words.iter().zip(&labels) {
            conllu += &format!("1\t{word}\t_\t{label}\t_\t_\t_\t_\t_\t_\n");
        }
        conllu += "\n";
    }
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let bytes = |sequences| Trainer::new().train(sequences).unwrap().to_bytes().unwrap();
    let expected = bytes(text());
    assert!(bytes(crfkit::json(path("a.jsonl", &json)).unwrap()) == expected);
    assert!(bytes(crfkit::conllu(path("a.conllu", &conllu)).unwrap()) == expected);
}

/// A model knows which fields of CoNLL-U it was trained on, and rejects rows of others, which would be read as if they were the same.
#[test]
fn rows_of_other_fields_are_rejected() {
    let mut conllu = String::new();
    for sentence in TRAINING.split("\n\n") {
        for line in sentence.lines() {
            let (word, label) = line.split_once('\t').unwrap();
            conllu += &format!("1\t{word}\t_\tX\t{label}\t_\t_\t_\t_\t_\n");
        }
        conllu += "\n";
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.conllu");
    std::fs::write(&path, &conllu).unwrap();
    let read = |fields: &str| {
        let format = RowFormat::Conllu(fields.parse().unwrap());
        Sequences::read_rows(std::io::Cursor::new(conllu.clone()), "a.conllu", &format).unwrap()
    };
    let model = Trainer::new().train(read("form,xpos")).unwrap();
    let model = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(model.evaluate(model.conllu(&path).unwrap()).unwrap().scores().accuracy, 100.0);
    let message = model.evaluate(crfkit::conllu(&path).unwrap()).unwrap_err().to_string();
    assert!(message.contains("a.conllu:1") && message.contains("trained on form,xpos"), "{message}");
    let upos = crfkit::conllu(&path).unwrap().next().unwrap().unwrap();
    assert!(model.tagger().unwrap().tag_sequence(&upos).is_err());
    // Rows from elsewhere have no fields; nothing is stored of the default ones.
    model.tagger().unwrap().tag([["onion"]]).unwrap();
    let usual = Trainer::new().train(read("form,upos")).unwrap();
    assert!(!String::from_utf8_lossy(&usual.to_bytes().unwrap()).contains("upos"));
}

/// Running text is cut into tokens, and the chunks are found in it; a sentence given as one row is rejected.
#[test]
fn running_text_has_labelled_spans() {
    let mut tagger = Trainer::new().train(text()).unwrap().tagger().unwrap();
    let line = "1 red onion, 3 eggs";
    let spans = tagger.tag_text(line).unwrap();
    let found: Vec<(&str, &str)> =
        spans.iter().map(|span| (&line[span.range.clone()], &*span.label)).collect();
    assert!(found.contains(&("1", "QTY")) && found.contains(&("red onion", "NAME")), "{found:?}");
    assert!(tagger.tag_text("").unwrap().is_empty());
    let rows = Sequence::from_rows([["a", "N", "X"], ["b", "V", "Y"]]).unwrap();
    let more = Trainer::new().train(Sequences::new([rows])).unwrap();
    let message = more.tagger().unwrap().tag_text("a b").unwrap_err().to_string();
    assert!(message.contains("trained on 3 columns, the label included, and reads column 1"), "{message}");
    let message = tagger.tag([["1", "red", "onion"]]).unwrap_err().to_string();
    assert!(message.contains("3 columns, but the model was trained on 2"), "{message}");
    assert_eq!(tagger.tag([["1", "B-QTY"]]).unwrap()[0].label, "B-QTY");
}

/// A run tells how it ended; a flag that another thread has set ends it at once, with a model all the same.
#[test]
fn a_run_tells_how_it_ended() {
    let run = Trainer::new().optimizer(Method::Lbfgs).run(text()).unwrap();
    assert!(run.passes > 1.0 && run.objective.is_finite(), "{run:?}");
    assert!(!matches!(run.stop, StopReason::Listener), "{:?}", run.stop);
    let flag = Arc::new(AtomicBool::new(true));
    let stopped = Trainer::new().optimizer(Method::Lbfgs).stop_when(flag).run(text()).unwrap();
    assert_eq!(stopped.stop, StopReason::Listener);
    assert!(stopped.passes < run.passes);
    assert_eq!(stopped.model.labels(), run.model.labels());
}

/// Pairs of labels can all have a weight while observations have only those that were seen, and the other way round.
#[test]
fn transitions_are_chosen_apart_from_features() {
    let counts = |features: Keep, transitions: Option<Keep>| {
        let model =
            Trainer::new().features(features).configure(|settings| settings.transitions = transitions);
        let model = model.train(text()).unwrap();
        let names = model.any().names().unwrap();
        let of = |part: &str| names.iter_where(|found| found.name == part).count();
        [of("node"), of("transition")]
    };
    let [seen, seen_pairs] = counts(Keep::Observed, None);
    let [all, all_pairs] = counts(Keep::All, None);
    assert!(seen < all && seen_pairs < all_pairs && all_pairs == 16);
    assert_eq!(counts(Keep::Observed, Some(Keep::All)), [seen, all_pairs]);
    assert_eq!(counts(Keep::All, Some(Keep::Observed)), [all, seen_pairs]);
}

#[test]
fn known_labels_and_confidences() {
    let model = Trainer::new().sigma(2.0).train(text()).unwrap();
    let mut tagger = model.tagger().unwrap();
    let sequence = Sequence::from_rows([["2"], ["cups"], ["flour"]]).unwrap();
    let free = tagger.confidence(&sequence).unwrap();
    assert_eq!(free.tokens, tagger.tag_sequence(&sequence).unwrap());
    let best = tagger.nbest(&sequence, 64).unwrap();
    assert!((free.probability - best[0].1).abs() < 1e-12);
    let entropy: f64 = best.iter().map(|(_, p)| -p * p.ln()).sum();
    assert!((free.entropy - entropy).abs() < 1e-9, "{} is not {entropy}", free.entropy);
    // Exactly the chunk: B-UNIT at the second token, whatever the others are.
    assert_eq!(free.chunks.len(), 3);
    assert!((free.chunks[1].probability - free.tokens[1].probability).abs() < 1e-9);
    // P(labels | known labels) is their share of the labellings that have them.
    let fixed =
        tagger.tag_constrained(&sequence, [(1, vec!["B-NAME", "I-NAME"]), (2, vec!["I-NAME"])]).unwrap();
    let labels: Vec<&str> = fixed.iter().map(|token| token.label.as_str()).collect();
    assert!(labels[1].ends_with("-NAME") && labels[2] == "I-NAME", "{labels:?}");
    let kept = |labels: &[String]| labels[1].ends_with("-NAME") && labels[2] == "I-NAME";
    let all: f64 = best.iter().filter(|(labels, _)| kept(labels)).map(|(_, p)| p).sum();
    let first: f64 = best.iter().filter(|(of, _)| kept(of) && of[0] == labels[0]).map(|(_, p)| p).sum();
    assert!((fixed[0].probability - first / all).abs() < 1e-9);
    // The next sequence is free again.
    assert_eq!(tagger.tag_sequence(&sequence).unwrap(), free.tokens);
    let refused = tagger.tag_constrained(&sequence, [(0, vec!["I-NAME"])]).unwrap_err().to_string();
    assert!(refused.contains("no labelling of this sequence obeys the constraint"), "{refused}");
    assert!(tagger.tag_constrained(&sequence, [(3, vec!["B-QTY"])]).is_err());
    assert!(tagger.tag_constrained(&sequence, [(0, vec!["B-ELSE"])]).is_err());
}

/// What is known of a label is learned: sets and missing labels lead to the labels that the other data has.
#[test]
fn missing_labels_are_summed_out() {
    let rows = |text: &str| -> Vec<Vec<String>> {
        text.split(' ').map(|token| token.split('/').map(str::to_owned).collect()).collect()
    };
    let sequences = |texts: &[&str]| {
        let all: Vec<Sequence> = texts.iter().map(|text| Sequence::from_rows(rows(text)).unwrap()).collect();
        Sequences::new(all.into_iter().cycle().take(20))
    };
    let trainer = || Trainer::new().sigma(5.0).partial_labels();
    // `b` is X or Y, and it is X or Z.
    let data = ["a/X b/X|Y c/Y", "a/X b/X|Z c/Y", "a/X d/? c/Y"];
    let model = trainer().train(sequences(&data)).unwrap();
    assert_eq!(model.labels(), ["X", "Y", "Z"], "no set is a label");
    let tokens = model.tagger().unwrap().tag([["a"], ["b"], ["c"]]).unwrap();
    let labels: Vec<&str> = tokens.iter().map(|token| token.label.as_str()).collect();
    assert_eq!(labels, ["X", "X", "Y"], "{tokens:?}");
    assert!(tokens[1].probability > 0.9, "{tokens:?}");
    // Only tokens with one gold label are compared.
    let scores = model.evaluate_partial(sequences(&data)).unwrap().scores();
    assert_eq!((scores.tokens, scores.accuracy), (40, 100.0));
    assert!(model.evaluate(sequences(&data)).unwrap().scores().accuracy < 70.0);
    let message = model.evaluate_partial(sequences(&["a/?"])).unwrap_err().to_string();
    assert!(message.contains("no label to compare with"), "{message}");
    // Complete labels give the same model as before.
    let plain = ["a/X b/Y c/Y"];
    let complete = Trainer::new().sigma(5.0).train(sequences(&plain)).unwrap();
    let partial = trainer().train(sequences(&plain)).unwrap();
    assert_eq!(complete.to_bytes().unwrap(), partial.to_bytes().unwrap());
    // Methods that need the marginals of gold labels, and other objectives, are rejected.
    for optimizer in [Method::Saga, Method::Sdca] {
        let error = trainer().configure(|s| s.optimizer = optimizer).train(sequences(&data)).unwrap_err();
        assert!(error.to_string().contains("it works with `optimizer` auto"), "{error}");
    }
    for optimizer in [Method::Lbfgs, Method::Newton, Method::Sgd, Method::Adagrad, Method::Psa] {
        trainer().configure(|s| s.optimizer = optimizer).train(sequences(&data)).unwrap();
    }
    let pseudo = trainer().configure(|s| s.objective = Criterion::Pseudolikelihood);
    let error = pseudo.train(sequences(&data)).unwrap_err();
    assert!(error.to_string().contains("where some are missing, use likelihood"), "{error}");
    assert!(trainer().train(sequences(&["a/? b/?"])).is_err(), "no label at all");
}

/// The rules of a trainer hold in training and afterwards: the builder of a corpus that is told them makes the same model.
#[test]
fn what_a_trainer_is_told_of_labels() {
    let onion = Sequence::from_rows([["onion"]]).unwrap();
    let inside = |trainer: Trainer| {
        trainer.train(text()).unwrap().tagger().unwrap().log_probability(&onion, &["I-NAME"]).unwrap()
    };
    assert!(inside(Trainer::new().constraint(Constraint::None)) > f64::NEG_INFINITY);
    assert_eq!(inside(Trainer::new().constraint(Constraint::Iob2)), f64::NEG_INFINITY);
    assert_eq!(inside(Trainer::new().rules("forbid begin I-*", "mine")), f64::NEG_INFINITY);
    let broken = Trainer::new().rules("forbid B-UNIT B-NAME", "mine").train(text()).unwrap_err().to_string();
    assert!(broken.contains("the constraint forbids"), "{broken}");
    let unknown = Trainer::new().rules("forbid Z end", "mine").train(text()).unwrap_err().to_string();
    assert!(unknown.starts_with("mine:1"), "{unknown}");
    // The sequences with I-NAME twice are its weight of 2.
    let run = |trainer: Trainer, sequences: Vec<Sequence>| {
        let trainer = trainer.optimizer(Method::Lbfgs).constraint(Constraint::None);
        trainer.run(Sequences::new(sequences)).unwrap().objective
    };
    let mut twice = in_memory();
    twice.push(twice[1].clone());
    let (a, b) =
        (run(Trainer::new().label_weights([("I-NAME", 2.0)]), in_memory()), run(Trainer::new(), twice));
    assert!((a - b).abs() < 1e-6 * a, "{a} {b}");
    let nobody = Trainer::new().label_weights([("Z", 2.0)]).train(text()).unwrap_err().to_string();
    assert!(nobody.contains("nothing has this label"), "{nobody}");
}

/// A run that its listener stops leaves a file, from which the same training goes on to the model of an uninterrupted run.
#[test]
fn an_interrupted_run_resumes_from_its_file() {
    let path = std::env::temp_dir().join(format!("crfkit-front-checkpoint-{}", std::process::id()));
    let trainer = || Trainer::new().optimizer(Method::Lbfgs).checkpoint(&path, |error| panic!("{error}"));
    let whole = Trainer::new().optimizer(Method::Lbfgs).train(text()).unwrap().to_bytes().unwrap();
    let mut steps = 0;
    let stopping = trainer().on_progress(|_| {
        steps += 1;
        steps < 3
    });
    let run = stopping.run(text()).unwrap();
    assert_eq!(run.stop, StopReason::Listener);
    assert!(path.exists());
    let other = trainer().sigma(3.0).run(text()).unwrap_err().to_string();
    assert!(other.contains("other data or settings") && other.contains("crfkit-front-checkpoint"), "{other}");
    let mut first = None;
    let resumed = trainer().on_progress(|state| {
        first.get_or_insert(state.passes);
        true
    });
    assert!(resumed.train(text()).unwrap().to_bytes().unwrap() == whole);
    assert!(first.unwrap() >= run.passes && !path.exists());
}
