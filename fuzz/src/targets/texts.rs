//! Texts: data, templates, rules, graphs, logs.

use crate::{Target, mutate};
use crfkit::Place;
use crfkit::chain::CorpusBuilder;
use crfkit::data::attributes::{AttributeReader, Attributes};
use crfkit::data::columns::Columns;
use crfkit::data::label_rules;
use crfkit::data::lexicon::{Case, LexiconFile, WordList, WordMap};
use crfkit::data::observer::Source as Observations;
use crfkit::data::rows::{RowFormat, RowReader};
use crfkit::data::rule::LinkRule;
use crfkit::data::template::{Dialect, Templates};
use crfkit::data::text::{Encoding, Lines};
use crfkit::data::tokens::{sentences, tokens};
use crfkit::domain::Domain;
use crfkit::loss::Pieces;
use crfkit::train::{self, Criterion, Kind, Method, Settings, TrainOptions};
use crfkit::typed::{TypedBuilder, TypedCorpus};

const WORDS: &str = "two NUM B-AMOUNT\ncups NOUN I-AMOUNT\nsugar NOUN B-FOOD\n\nred ADJ B-FOOD\n, , O\n";

pub const COLUMNS: Target = Target {
    name: "columns",
    promise: "columns are rejected, or written and read again they are the same",
    run: |data| {
        for sequence in read(data, &RowFormat::Columns, Encoding::Latin1)
            .into_iter()
            .chain(read_utf8(data, &RowFormat::Columns))
        {
            // A byte-order mark at the beginning of a text is no part of its first field.
            let rows: String = (0..sequence.len()).map(|row| line(&sequence, row)).collect();
            let text = format!("\u{FEFF}{rows}");
            let again = read_utf8(text.as_bytes(), &RowFormat::Columns);
            assert_eq!(again.len(), 1, "one sequence of {text:?}");
            assert_eq!(again[0].len(), sequence.len(), "its rows");
            for row in 0..sequence.len() {
                assert!(again[0].row(row).eq(sequence.row(row).chain([END])), "row {row}");
            }
        }
    },
    seeds: || vec![WORDS.into(), "a\tb c\n\r\n\nd  e\tf".into(), b"\xEF\xBB\xBFa b\n".to_vec()],
    mutate: mutate::bytes,
};

/// A last field: without it, a field that ends in \r would end the line with \r\n, which is a line end of its own.
const END: &str = "end";

fn line(sequence: &Columns, row: usize) -> String {
    sequence.row(row).chain([END]).collect::<Vec<_>>().join("\t") + "\n"
}

fn read_utf8(data: &[u8], format: &RowFormat) -> Vec<Columns> {
    read(data, format, Encoding::Utf8)
}

/// The sequences before the first mistake.
fn read(data: &[u8], format: &RowFormat, encoding: Encoding) -> Vec<Columns> {
    let mut reader = RowReader::new(Lines::new(data, "fuzz", encoding), format);
    let mut all = Vec::new();
    loop {
        let mut sequence = Columns::default();
        match reader.read(&mut sequence) {
            Ok(true) => {
                assert!(!sequence.is_empty() && sequence.columns() > 0, "a sequence has rows and columns");
                all.push(sequence);
            }
            Ok(false) | Err(_) => return all,
        }
    }
}

pub const ATTRIBUTES: Target = Target {
    name: "attributes",
    promise: "attribute lines are rejected, or make a corpus",
    run: |data| {
        let mut reader = AttributeReader::new(Lines::new(data, "fuzz", Encoding::Utf8));
        let mut builder = CorpusBuilder::new(Observations::Attributes);
        let mut instance = Attributes::default();
        while let Ok(true) = reader.read(&mut instance) {
            for row in 0..instance.len() {
                assert!(
                    instance.items(row).all(|(name, value)| !name.is_empty() && value.is_finite()),
                    "row {row}"
                );
            }
            builder.add_attributes(&instance).expect("attributes without vectors");
        }
        let _ = builder.finish(1);
    },
    seeds: || vec!["B\tw=two\tlength:0.3\nI\tw=\\:\tw:2\n\nO\tx\n".into(), "@weight:2\nA\tb:1e5\n".into()],
    mutate: mutate::bytes,
};

/// What every format of rows goes through: a corpus by the default template.
fn to_corpus(data: &[u8], format: &RowFormat) {
    let templates =
        Templates::compile("U:%x[0,0]\nU:%x[-1,0]\nB\n", Dialect::Crfpp, "fuzz").expect("a template");
    let mut builder = CorpusBuilder::new(Observations::Templates(templates));
    for sequence in read_utf8(data, format) {
        let _ = builder.add(&sequence.into());
    }
    let _ = builder.finish(1);
}

pub const JSON: Target = Target {
    name: "json",
    promise: "JSON lines are rejected, or make a corpus",
    run: |data| to_corpus(data, &RowFormat::Json),
    seeds: || {
        vec![
            br#"{"tokens": ["a", "b\u00e9"], "labels": ["X", "Y"], "weight": 2}"#.to_vec(),
            br#"{"tokens": [["a", "N"], ["b", "V"]], "labels": ["X", "X|Y"]}"#.to_vec(),
            br#"{"tokens": ["a", "b"], "labels": ["X", "Y"], "weights": [0.5, 1e300], "weight": 0}"#.to_vec(),
        ]
    },
    mutate: mutate::bytes,
};

pub const CONLLU: Target = Target {
    name: "conllu",
    promise: "CoNLL-U is rejected, or makes a corpus",
    run: |data| to_corpus(data, &RowFormat::Conllu(Default::default())),
    seeds: || {
        vec![
            b"# text = a\n1\ta\tb\tNOUN\tN\t_\t0\troot\t_\t_\n2-3\tab\t_\t_\t_\t_\t_\t_\t_\t_\n2\ta\tb\tX\tN\t_\t1\tx\t_\t_\n\n".to_vec(),
        ]
    },
    mutate: mutate::bytes,
};

pub const TEXT: Target = Target {
    name: "text",
    promise: "tokens and sentences of a text are in order, within it, and not empty",
    run: |data| {
        let text = String::from_utf8_lossy(data);
        for ranges in [tokens(&text).collect::<Vec<_>>(), sentences(&text).collect()] {
            let mut end = 0;
            for range in ranges {
                assert!(range.start >= end && range.start < range.end, "{range:?} after {end}");
                assert!(!text[range.clone()].trim().is_empty(), "a blank piece at {range:?}");
                end = range.end;
            }
        }
        to_corpus(data, &RowFormat::Sentences);
    },
    seeds: || vec!["2 cups of flour, sifted. Dr. Smith's 3.5% «don't» – ok?! Yes\n".into()],
    mutate: mutate::bytes,
};

pub const TEMPLATE: Target = Target {
    name: "template",
    promise: "a template is rejected, or observes any columns",
    run: |data| {
        let (template, columns) = halves(data);
        for dialect in [Dialect::Crfpp, Dialect::Wapiti] {
            let Ok(templates) = Templates::compile(&template, dialect, "fuzz") else { continue };
            let mut builder = CorpusBuilder::new(Observations::Templates(templates));
            for sequence in read_utf8(columns, &RowFormat::Columns) {
                let _ = builder.add(&sequence.into());
            }
            let Ok(corpus) = builder.finish(1) else { continue };
            let names = corpus.features(&Settings::default());
            assert!(names.dim() < 1 << 24, "more weights than could be written down");
        }
    },
    seeds: || {
        let with = |template: &str| [template.as_bytes(), &[0], WORDS.as_bytes()].concat();
        let mut all: Vec<_> =
            crfkit::data::presets::PRESETS.iter().map(|preset| with(&preset.text(3))).collect();
        all.push(with("U:%x[0,0]/%x[1,1]\nU:%t[0,0,\"^\\u\\l+$\"]\nU:%m[-1,0,\"(a|b)+c*\"]\nU:%M[0,0,\"\\d\"]\nB:%x[0,1]\nB\n"));
        all.push(with("U:%seen[0,0]\nU:%seen[-1,1]/%x[0,0]\nB:%seen[1,0]\n"));
        all.push(with("*:%X[0,0]\nu:%x[0,0]\nb:%x[-1,1]\n"));
        all
    },
    mutate: mutate::bytes,
};

/// What is before the first 0, as text, and what is after it.
fn halves(data: &[u8]) -> (String, &[u8]) {
    let at = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
    (String::from_utf8_lossy(&data[..at]).into_owned(), data.get(at + 1..).unwrap_or_default())
}

pub const LEXICON: Target = Target {
    name: "lexicon",
    promise: "word lists and maps are rejected, or hold what they say",
    run: |data| {
        let file = LexiconFile { name: "fuzz".into(), text: String::from_utf8_lossy(data).into_owned() };
        for case in [Case::Exact, Case::Folded] {
            if let Ok(list) = WordList::new(&file, case) {
                assert!(list.len() <= file.text.lines().count(), "more entries than lines");
            }
            if let Ok(map) = WordMap::new(&file, case) {
                assert!(map.len() <= file.text.lines().count(), "more entries than lines");
            }
        }
    },
    seeds: || vec!["New York\nRome\n# a comment\n\n".into(), "dog\t0101\ncat\t011\n".into()],
    mutate: mutate::bytes,
};

pub const LINKS: Target = Target {
    name: "links",
    promise: "a rule of skip chains is rejected, or links tokens forwards, few of them, and reads back from its text",
    run: |data| {
        let (rule, columns) = halves(data);
        let Ok(rule) = rule.parse::<LinkRule>() else { return };
        let again: LinkRule = rule.text().parse().expect("the text of a rule is a rule");
        assert_eq!(again, rule);
        for sequence in read_utf8(columns, &RowFormat::Columns) {
            if rule.columns().iter().all(|&column| column < sequence.columns()) {
                let pairs = rule.pairs(&sequence);
                assert!(pairs.iter().all(|&(s, t)| s < t && t < sequence.len()), "{pairs:?}");
                assert!(pairs.len() <= 16 * sequence.len(), "{} links", pairs.len());
            }
        }
    },
    seeds: || {
        let rule = r#"same(0) and capitalised(0) or not (equals(1, "a\"b") and matches(0, "^\u\l+"))"#;
        vec![[rule.as_bytes(), &[0], WORDS.as_bytes()].concat()]
    },
    mutate: mutate::bytes,
};

pub const RULES: Target = Target {
    name: "rules",
    promise: "a file of label rules is rejected, or says of every pair whether it is allowed",
    run: |data| {
        let labels = ["O", "B-X", "I-X", "B-Y"].map(String::from);
        if let Ok(rules) = label_rules::parse(&String::from_utf8_lossy(data), "fuzz", &labels) {
            let any = |label: usize| (label < labels.len()).then_some(label);
            let allowed = (0..=4)
                .flat_map(|i| (0..=4).map(move |j| (i, j)))
                .filter(|&(i, j)| rules.allows(any(i), any(j)));
            assert!(allowed.count() <= 25);
        }
    },
    seeds: || vec!["forbid O I-*\nforbid begin I-X\nforbid B-Y end\n# x\nonly B-X -> I-X end\n".into()],
    mutate: mutate::bytes,
};

pub const GRAPHS: Target = Target {
    name: "graphs",
    promise: "lines of graphs are rejected, or make a corpus; and what training takes, a model of it takes",
    run: |data| {
        let text = String::from_utf8_lossy(data);
        let mut builder = TypedBuilder::default();
        let mut taken = Vec::new();
        for (number, line) in text.lines().enumerate() {
            match builder.add(line, &Place::new("fuzz", number as u64 + 1)) {
                Ok(()) => taken.push(line),
                Err(_) => break,
            }
        }
        let Ok(corpus) = builder.finish(1) else { return };
        for line in taken {
            let read = corpus.domain.read_line(line, &Place::new("fuzz", 1));
            assert!(read.is_ok(), "training takes {line:?}, its model does not: {:?}", read.err());
        }
        assert!(
            corpus.domain.label_sets().iter().all(|set| !set.labels.is_empty()),
            "a type of nodes without labels"
        );
        learn_pieces(corpus);
    },
    seeds: || {
        const TYPES: &str = r#"{"types": {"word": {"labels": ["N", "V"], "dense": 1}, "next": {"over": ["word", "word"]}, "same": {"over": ["word", "word"], "table": "potts"}}}"#;
        const GRAPH: &str = r#"{"nodes": [{"type": "word", "label": "N", "dense": [0.5], "features": ["the"]}, {"type": "word", "label": null, "dense": [-1], "features": {"dog": 2}}], "factors": [{"type": "next", "nodes": [0, 1]}, {"type": "same", "nodes": [1, 0], "features": ["far"]}]}"#;
        vec![format!("{TYPES}\n{GRAPH}\n").into()]
    },
    mutate: mutate::bytes,
};

/// Trains on small graphs by Bethe's pieces, whose loss may be below 0: it ends, or says what is wrong.
fn learn_pieces(corpus: TypedCorpus) {
    if corpus.data.variables() > 50 {
        return;
    }
    let settings = Settings {
        objective: Criterion::Piecewise,
        pieces: Some(Pieces::Bethe),
        optimizer: Method::Lbfgs,
        passes: Some(2),
        ..Settings::for_kind(Kind::Graph)
    };
    let features = train::features(&corpus, &settings);
    if features.dim() < 10_000 {
        let _ = train::train(
            corpus,
            features,
            &settings,
            TrainOptions { threads: 1, ..TrainOptions::default() },
            &mut (),
        );
    }
}

pub const LOG: Target = Target {
    name: "log",
    promise: "a log is rejected, or makes a page from which nothing escapes",
    run: |data| {
        let Ok(run) = crfkit_report::Run::read(data, "a <b> & \"name\"") else { return };
        let report = crfkit_report::Page { runs: vec![run], ..Default::default() };
        let mut page = Vec::new();
        report.write_html(&mut page).expect("a page can be written");
        let page = String::from_utf8(page).expect("a page is text");
        let empty = page_without_runs();
        assert_eq!(
            page.matches("</script").count(),
            empty.matches("</script").count(),
            "a log ends a script"
        );
        let mut answer = Vec::new();
        crfkit_report::Page { live: true, ..report }.write_data(&mut answer).expect("data can be written");
        serde_json::from_slice::<serde_json::Value>(&answer).expect("the data of a page is JSON");
    },
    seeds: || {
        vec![
            concat!(
                r#"{"event":"settings","format":1,"settings":{"sigma":1.0,"optimizer":"auto"},"threads":2}"#, "\n",
                r#"{"event":"progress","passes":1.0,"seconds":0.5,"objective":12.5,"gradient_norm":1.0}"#, "\n",
                r#"{"event":"eval","data":"</script>","passes":1.0,"seconds":0.5,"f1":50.0,"accuracy":90.0,"best":true}"#, "\n",
                r#"{"event":"stop","reason":"converged","passes":2.0,"seconds":1.0,"objective":11.0}"#, "\n",
            )
            .into(),
        ]
    },
    mutate: mutate::bytes,
};

fn page_without_runs() -> String {
    let mut page = Vec::new();
    crfkit_report::Page::default().write_html(&mut page).expect("a page can be written");
    String::from_utf8(page).expect("a page is text")
}
