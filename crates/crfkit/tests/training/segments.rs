//! Chains with segments in training, from data to a model and back: probabilities against weights that are added up by hand.

use crfkit::any::AnyModel;
use crfkit::chain::{ChainModel, CorpusBuilder, Sequence};
use crfkit::data::attributes::AttributeReader;
use crfkit::data::observer::Source;
use crfkit::data::template::{Dialect, Templates};
use crfkit::data::text::{Encoding, Lines};
use crfkit::optim::Compute;
use crfkit::settings::Settings;
use crfkit::tag::Tagger;
use crfkit::train::{Criterion, Method};
use crfkit::{Model, Sequences, Trainer};
use std::collections::HashMap;
use std::sync::Arc;

const TEXT: &str = "a\tO\nb\tB-X\nc\tI-X\nd\tO\n\nb\tB-Y\nc\tI-Y\na\tO\nd\tO\n\nd\tB-X\na\tO\nb\tB-X\nb\tI-X\nb\tI-X\n\na\tO\n\nc\tB-Y\nd\tO\n\n";
const TEMPLATE: &str = "U:%x[0,0]\nB:%x[0,0]\nB\nS:t=%x[0,0]\nS:n=%length[0]/%x[@1,0]\nS:l=%x[@-1,0]\nS:p=%x[-1,0],%x[1,0]\nS:2=%x[@2,0]\n";

fn trainer(longest: usize) -> Trainer<'static> {
    Trainer::new()
        .template(TEMPLATE, Dialect::Crfpp)
        .sigma(1.5)
        .configure(|settings| settings.boundaries = true)
        .segments(longest)
}

fn text() -> Sequences {
    Sequences::read_columns(TEXT.as_bytes(), "text").unwrap()
}

/// The same chunks in IOBES.
fn iobes() -> Sequences {
    let mut text = String::new();
    for sentence in TEXT.split("\n\n").filter(|sentence| !sentence.is_empty()) {
        let rows: Vec<Vec<&str>> = sentence.lines().map(|line| line.split('\t').collect()).collect();
        let labels: Vec<&str> = rows.iter().map(|row| row[1]).collect();
        let labels = crfkit::eval::Scheme::Iobes.labels(&labels);
        rows.iter().zip(labels).for_each(|(row, label)| text += &format!("{}\t{label}\n", row[0]));
        text += "\n";
    }
    Sequences::read_columns(std::io::Cursor::new(text), "text").unwrap()
}

fn chain(model: &Model) -> Arc<ChainModel> {
    let AnyModel::Chain(model) = model.any().clone() else { unreachable!("it is a chain") };
    model
}

/// The segments of a labelling; `None` if it is in neither notation.
fn segments(labels: &[&str]) -> Option<Vec<std::ops::Range<usize>>> {
    let closing = labels.iter().any(|label| label.starts_with(['E', 'S']));
    let kind = |t: usize| labels[t].split_once('-').map(|(_, kind)| kind);
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for (t, label) in labels.iter().enumerate() {
        let open = t > 0 && !labels[t - 1].starts_with(['E', 'S', 'O']);
        match label.starts_with(['I', 'E']) {
            true if open && kind(t - 1) == kind(t) => found.last_mut()?.end = t + 1,
            true => return None,
            false => found.push(t..t + 1),
        }
    }
    let ends = |tokens: &std::ops::Range<usize>| !labels[tokens.end - 1].starts_with(['B', 'I']);
    (!closing || found.iter().all(ends)).then_some(found)
}

/// Compares all probabilities of a sequence with sums of named weights, over the labellings into segments of at most `longest` tokens.
fn check(model: &Arc<ChainModel>, words: &[&str], longest: usize, iobes: bool) {
    let weights: HashMap<(String, Option<String>, Vec<String>), f64> =
        model.names().iter().map(|w| ((w.part, w.observation, w.labels), w.weight)).collect();
    let weight = |part: &str, observation: Option<String>, labels: &[&str]| {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        weights.get(&(part.to_owned(), observation, labels)).copied().unwrap_or(0.0)
    };
    let word = |t: isize| match t {
        -1 => "_B-1",
        t if t as usize == words.len() => "_B+1",
        t => words[t as usize],
    };
    let score = |labels: &[&str]| {
        let cut = segments(labels)?;
        if cut.iter().any(|tokens| tokens.len() > longest) {
            return None;
        }
        if iobes && cut.iter().any(|tokens| labels[tokens.end - 1].starts_with(['B', 'I'])) {
            return None;
        }
        let mut sum = weight("begin", None, &labels[..1]) + weight("end", None, &labels[labels.len() - 1..]);
        for (t, word) in words.iter().enumerate() {
            sum += weight("node", Some(format!("U:{word}")), &labels[t..=t]);
            if t > 0 {
                sum += weight("pair", Some(format!("B:{word}")), &labels[t - 1..=t]);
                sum += weight("transition", None, &labels[t - 1..=t]);
            }
        }
        for tokens in cut {
            let (first, length) = (&labels[tokens.start..=tokens.start], tokens.len());
            let [a, b] = [tokens.start as isize, tokens.end as isize];
            sum += weight("length", Some(length.to_string()), first);
            let mut observe = |name: String| sum += weight("node", Some(name), first);
            observe(format!("S:t={}", words[tokens.clone()].join(" ")));
            observe(format!("S:n={length}/{}", word(a)));
            observe(format!("S:l={}", word(b - 1)));
            observe(format!("S:p={},{}", word(a - 1), word(b)));
            if length > 1 {
                observe(format!("S:2={}", word(a + 1)));
            }
        }
        Some(sum)
    };
    let names = &model.domain.labels;
    let mut all: Vec<Vec<&str>> = vec![Vec::new()];
    for _ in words {
        let longer = |labels: &Vec<_>| {
            names.iter().map(|name| [&labels[..], &[name.as_str()]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    let scores: Vec<f64> = all.iter().map(|labels| score(labels).map_or(0.0, f64::exp)).collect();
    let z: f64 = scores.iter().sum();
    let mut tagger = Tagger::new(model.clone());
    let answers = tagger.load(&Sequence::from_rows(words.iter().map(|word| [*word])).unwrap()).unwrap();
    for (labels, score) in all.iter().zip(&scores) {
        let numbers: Vec<u32> =
            labels.iter().map(|label| names.iter().position(|name| name == label).unwrap() as u32).collect();
        let found = answers.probability(&numbers);
        assert!((found - score / z).abs() < 1e-11, "{labels:?}: {found}, not {}", score / z);
    }
    assert!((answers.log_z() - z.ln()).abs() < 1e-10);
}

#[test]
fn probabilities_are_those_of_the_named_weights() {
    for longest in [3, 4] {
        let model = chain(&trainer(longest).train(text()).unwrap());
        let closed = chain(&trainer(longest).train(iobes()).unwrap());
        for words in [&["a"][..], &["b", "c"], &["b", "b", "d"], &["a", "b", "c", "b", "b"]] {
            check(&model, words, longest, false);
            check(&closed, &words[..words.len().min(4)], longest, true);
        }
    }
}

#[test]
fn every_door_and_any_number_of_threads_give_the_same_model() {
    let model = trainer(3).train(text()).unwrap();
    let bytes = model.to_bytes().unwrap();
    assert!(trainer(3).threads(3).train(text()).unwrap().to_bytes().unwrap() == bytes);
    let templates = Templates::compile(TEMPLATE, Dialect::Crfpp, "template").unwrap();
    let mut builder = CorpusBuilder::new(Source::Templates(templates)).with_segments(3);
    for sequence in text() {
        builder.add(&sequence.unwrap()).unwrap();
    }
    let corpus = builder.finish(1).unwrap();
    let names = |names: &crfkit::data::strings::Strings| names.len();
    assert_eq!(names(&corpus.domain.alphabet.node), names(&chain(&model).domain.alphabet.node));
    let read = Model::from_bytes(&bytes).unwrap();
    assert!(read.to_bytes().unwrap() == bytes);
    check(&chain(&read), &["b", "c", "a"], 3, false);
    for end in (0..bytes.len()).step_by(7) {
        assert!(Model::from_bytes(&bytes[..end]).is_err());
    }
}

#[test]
fn every_objective_and_method_trains() {
    for objective in [
        Criterion::Likelihood,
        Criterion::Marginal,
        Criterion::SoftmaxMargin,
        Criterion::MaxMargin,
        Criterion::Perceptron,
    ] {
        let model = trainer(3).configure(|settings| settings.objective = objective).train(text()).unwrap();
        let scores = model.evaluate(text()).unwrap();
        // Without a margin, weights of 0 are as good as any.
        let least = if objective == Criterion::Perceptron { 0.0 } else { 90.0 };
        assert!(scores.scores().accuracy > least, "{objective:?}: {scores}");
    }
    let passes = |method: Method| {
        let trainer = trainer(3).configure(|settings| {
            (settings.optimizer, settings.passes) = (method, Some(60));
        });
        chain(&trainer.train(text()).unwrap()).weights.iter().copied().collect::<Vec<f64>>()
    };
    let right = passes(Method::Lbfgs);
    for method in [Method::Cg, Method::NewtonCg, Method::Saga, Method::Auto] {
        let found = passes(method);
        let far = found.iter().zip(&right).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 0.1, "{method:?} ends {far} away");
    }
}

#[test]
fn attributes_have_lengths_alone() {
    let text = "O\tw=a\nB-X\tw=b\nI-X\tw=b\nI-X\tw=b\n\nB-X\tw=c\nO\tw=a\nB-X\tw=b\n\n";
    let sequences = || {
        let mut reader = AttributeReader::new(Lines::new(text.as_bytes(), "text", Encoding::Utf8));
        let mut all = Vec::new();
        loop {
            let mut instance = Default::default();
            if !reader.read(&mut instance).unwrap() {
                return Sequences::new(all);
            }
            all.push(Sequence::Attributes(instance));
        }
    };
    let model = chain(&Trainer::new().segments(3).train(sequences()).unwrap());
    let names: Vec<_> =
        model.names().iter().filter(|w| w.part == "length").map(|w| (w.observation, w.labels)).collect();
    let named = |length: &str, label: &str| (Some(length.to_owned()), vec![label.to_owned()]);
    assert_eq!(names, [named("1", "B-X"), named("1", "O"), named("3", "B-X")]);
}

#[test]
fn mistakes_are_errors() {
    let error = |trainer: Trainer, text: &str| {
        let read = Sequences::read_columns(std::io::Cursor::new(text.to_owned()), "file").unwrap();
        trainer.train(read).unwrap_err().to_string()
    };
    let long = error(trainer(2), TEXT);
    assert!(
        long.starts_with("file:11")
            && long.contains("`X` from token 3")
            && long.contains("segments of up to 3"),
        "{long}"
    );
    let plain = error(trainer(2), "a\tNOUN\nb\tVERB\n\n");
    assert!(plain.contains("no label begins one") && plain.contains("NOUN, VERB"), "{plain}");
    let broken = error(trainer(2), "a\tB-X\nb\tI-Y\n\n");
    assert!(broken.starts_with("file:1") && broken.contains("iob2"), "{broken}");
    let lines = error(Trainer::new().template(TEMPLATE, Dialect::Crfpp), TEXT);
    assert!(lines.starts_with("template:4: a line of segments"), "{lines}");
    for (settings, part) in [
        (Settings { order: 2, ..Settings::default() }, "order 1"),
        (
            Settings { objective: Criterion::Pseudolikelihood, ..Settings::default() },
            "pseudolikelihood does not support segments",
        ),
        (Settings { objective: Criterion::Memm, ..Settings::default() }, "does not support segments"),
        (Settings { optimizer: Method::Sdca, ..Settings::default() }, "sdca does not support segments"),
        (Settings { optimizer: Method::Gis, ..Settings::default() }, "gis does not support segments"),
        (Settings { compute: Compute::F32, ..Settings::default() }, "f32 does not support segments"),
    ] {
        let refused = error(
            trainer(3).configure(|mine| *mine = Settings { segments: Some(3), ..settings.clone() }),
            TEXT,
        );
        assert!(refused.contains(part), "{refused}");
    }
    let none = error(trainer(0), TEXT);
    assert!(none.contains("`segments` is 0"), "{none}");
    for (line, why) in [
        ("S:%ngrams[0,0,2]", "not in a line of segments"),
        ("S:%edge[0]", "not in a line of segments"),
        ("S:%length[1]", "not in a line of segments"),
        ("U:%length[0]", "only a line of segments"),
        ("S:%x[0,9]", "column 9 is used"),
    ] {
        let refused = error(Trainer::new().segments(3).template(line, Dialect::Crfpp), TEXT);
        assert!(refused.contains(why), "{refused}");
    }
}
