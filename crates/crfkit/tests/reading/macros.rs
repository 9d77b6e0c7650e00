//! The macros that CRF++ and Wapiti do not have: what they make of sequences, and the files that they name.

use crfkit::any::AnyModel;
use crfkit::chain::{ChainDomain, CorpusBuilder, Sequence};
use crfkit::data::observer::Source;
use crfkit::data::template::{Dialect, Templates};
use crfkit::settings::Method;
use crfkit::{Error, Model, Trainer};
use std::fs;

const FILES: [(&str, &str); 3] = [
    ("cities", "New York\nYork\nNew York City Hall\nSt. John's\n\n"),
    ("clusters", "york\t0110\ncity\t01\n"),
    ("paths", "0110 york 12\n01 city 3\n"),
];

fn open(name: &str) -> crfkit::Result<String> {
    let file = FILES.iter().find(|file| file.0 == name);
    file.map(|file| file.1.to_owned()).ok_or_else(|| Error::Setting(format!("no file {name}")))
}

fn compile(source: &str) -> crfkit::Result<Templates> {
    Templates::compile_with(source, Dialect::Crfpp, "t.tpl", &mut open)
}

/// The observations of each token of a sequence, by their names.
fn observations(source: &str, words: &[&str]) -> Vec<Vec<String>> {
    let mut builder = CorpusBuilder::new(Source::Templates(compile(source).unwrap()));
    let rows = words.iter().map(|word| [*word, "L"]);
    builder.add(&Sequence::from_rows(rows).unwrap()).unwrap();
    let corpus = builder.finish(1).unwrap();
    let ChainDomain { source, alphabet, .. } = &corpus.domain;
    let names = |table| {
        let ids = corpus.data.observations(table).0.iter();
        let mut names: Vec<String> = ids.map(|&id| alphabet.name(source, false, id)).collect();
        names.sort();
        names
    };
    corpus.data.tables(0).take(words.len()).map(names).collect()
}

/// The observations of the tokens as one text: blanks between those of a token, `|` between tokens.
fn line(source: &str, words: &str) -> String {
    let words: Vec<&str> = words.split(' ').collect();
    observations(source, &words).iter().map(|names| names.join(" ")).collect::<Vec<_>>().join("|")
}

#[test]
fn functions_of_one_word() {
    for (macro_, words, expected) in [
        ("%prefix[0,0,2]", "né a", "né|"),
        ("%suffix[0,0,1]", "né a", "é|a"),
        ("%prefix[0,0,1-3]", "Ana b", "A An Ana|b"),
        ("%Suffix[0,0,2-3]", "ANA b", "ana na|"),
        ("%prefix[-1,0,1-3]", "ab c", "|a ab"),
        ("%ngrams[0,0,2]", "banana a", "an ba na|"),
        ("%ngrams[1,0,2-3]", "x aba", "ab aba ba|"),
        ("%Ngrams[0,0,1]", "Aa", "a"),
        ("%ngrams[0,0,2]/%x[0,0]", "abc", "ab/abc bc/abc"),
        ("%x[-1,0]/%ngrams[0,0,1]", "ab b", "_B-1/a _B-1/b|ab/b"),
        ("%shape[0,0]", "McDonald's 1998", "AaAa'a|0"),
        ("%shape[0,0,2]", "McDonald's 1998", "AaAaa'a|00"),
        ("%shape[-1,0]", "Ab c", "_B-1|Aa"),
        ("%strip[0,0]", "(A). --", "A|--"),
        ("%Strip[1,0]", "(A). (B)", "b|_B+1"),
        ("%head[0,0]", "(A). b", "(|"),
        ("%tail[0,0]", "(A). b", ").|"),
        ("%m[0,0,\"([12]\\d\\d\\d)\"]", "(1998).", "1998"),
        ("%M[0,0,\"^\\p*(\\P.*)\\p*$\"]", "\"Proc.\"", "proc"),
    ] {
        assert_eq!(line(&format!("U{macro_}\nB"), words).replace('U', ""), expected, "{macro_} of {words}");
    }
}

#[test]
fn positions() {
    assert_eq!(line("U%edge[0]", "a"), "Uonly");
    assert_eq!(line("U%edge[0]", "a b c"), "Ufirst|Uinner|Ulast");
    assert_eq!(line("U%edge[1]", "a b"), "Ulast|U_B+1");
    assert_eq!(line("U%index[0]/%index[0,last]", "a b c"), "U0/2|U1/1|U2/0");
    assert_eq!(line("U%part[0,2]", "a b c"), "U1/2|U1/2|U2/2");
    assert_eq!(line("U%part[0,4]", "a b"), "U1/4|U3/4");
    assert_eq!(line("U%index[@-1]", "a b c"), "U2|U2|U2");
    // Earlier tokens of the sequence, not the token itself; nothing before the first token.
    assert_eq!(line("U%seen[0,0]", "a b A a b a"), "Ufalse|Ufalse|Ufalse|Utrue|Utrue|Utrue");
    assert_eq!(line("U%Seen[0,0]", "a b A a"), "Ufalse|Ufalse|Utrue|Utrue");
    assert_eq!(line("U%seen[-1,0]/%x[0,0]", "a a b"), "|Ufalse/a|Utrue/b");
    let long = vec!["a"; 120];
    let all = observations("U%index[0]\n", &long);
    assert_eq!(
        [&all[4][0], &all[6][0], &all[14][0], &all[99][0], &all[119][0]],
        ["U4", "U5-6", "U10-14", "U50-99", "U100+"]
    );
    // Positions read no column, not even a label in column 0.
    let templates = compile("U%edge[0]\nU%part[0,3]\n").unwrap();
    assert_eq!(templates.columns_needed, 0);
}

#[test]
fn lists_have_the_longest_match() {
    let list = |words| line("U%list[0,0,\"cities\"]\nU", words).replace("U U", "");
    assert_eq!(list("in New York City Hall").replace('U', ""), "|B|I|I|I");
    assert_eq!(list("in New York City Park").replace('U', ""), "|B|I||");
    assert_eq!(list("York New New York").replace('U', ""), "B||B|I");
    assert_eq!(list("new york").replace('U', ""), "|");
    // As blanks divide an entry, and as the tokeniser does.
    assert_eq!(list("St. John's").replace('U', ""), "B|I");
    assert_eq!(list("St . John's").replace('U', ""), "B|I|I");
    let folded = |words| line("U%List[0,0,\"cities\"]\nU", words).replace("U U", "");
    assert_eq!(folded("in new YORK").replace('U', ""), "|B|I");
    // The rows of a macro are those of the token that it reads.
    assert_eq!(line("Ua%list[1,0,\"cities\"]", "in York"), "UaB|");
}

#[test]
fn maps_have_values_and_their_beginnings() {
    for file in ["clusters", "paths"] {
        let map = |rest: &str, words| line(&format!("U%{rest}\n").replace("FILE", file), words);
        assert_eq!(map("map[0,0,\"FILE\"]", "york city hall"), "U0110|U01|");
        assert_eq!(map("map[0,0,\"FILE\",1-3]", "york city"), "U0 U01 U011|U0 U01");
        assert_eq!(map("map[0,0,\"FILE\",4]", "york city"), "U0110|");
        assert_eq!(map("map[0,0,\"FILE\"]", "York city"), "|U01");
        assert_eq!(map("Map[0,0,\"FILE\"]", "YORK city"), "U0110|U01");
    }
}

#[test]
fn errors_name_place_and_remedy() {
    for (macro_, parts) in [
        ("%prefix[0,0]", "a length is a number"),
        ("%prefix[0,0,0]", "a length is a number"),
        ("%suffix[0,0,101]", "a length is a number"),
        ("%ngrams[0,0,3-2]", "a length is a number"),
        ("%ngrams[0,0,1-99999999999]", "a length is a number"),
        ("%shape[0,0,a]", "a length is a number"),
        ("%Shape[0,0]", "this macro does not support"),
        ("%Edge[0]", "this macro does not support"),
        ("%edge[0,0]", "`]` is missing"),
        ("%index[0,first]", "`]` is missing"),
        ("%part[0]", "number of parts"),
        ("%part[0,0]", "number of parts"),
        ("%list[0,0]", "quoted file name is missing"),
        ("%list[0,0,\"cities]", "no closing"),
        ("%prefix[0,0,1-2]%suffix[0,0,1-2]", "a line of its own"),
        ("%ngrams[0,0,2]%ngrams[0,0,2]", "a line of its own"),
        ("%PREFIX[0,0,1]", "cannot be literal"),
        ("%prefi[0,0,1]", "cannot be literal"),
        ("%map[0,0,\"clusters\",0]", "a length is a number"),
    ] {
        let message = compile(&format!("U\nU{macro_}\n")).unwrap_err().to_string();
        assert!(message.starts_with("t.tpl:2: ") && message.contains(parts), "{macro_}: {message}");
    }
    let message = Templates::compile("U%list[0,0,\"x\"]", Dialect::Crfpp, "t").unwrap_err().to_string();
    assert!(message.contains("compile_with"), "{message}");
}

#[test]
fn bad_files_name_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |macro_: &str, bytes: &[u8]| {
        fs::write(folder.path().join("file"), bytes).unwrap();
        let source = format!("U%{macro_}[0,0,\"file\"]\n");
        let error =
            Templates::compile_in(&source, Dialect::Crfpp, "t.tpl", folder.path()).unwrap_err().to_string();
        error.replace(&format!("{}/", folder.path().display()), "")
    };
    for (macro_, bytes, start, remedy) in [
        ("list", &b""[..], "file: it has no entries", "one entry on each line"),
        ("list", b"a\n\nb\tc\n", "file:3: a tab", "use %map"),
        ("list", b"a\nb\xff\n", "file:2: this is not UTF-8", "convert"),
        ("map", b"\n \n", "file: it has no entries", "a word and its value"),
        ("map", b"a\t1\nb\n", "file:2: `b`", "a word and its value"),
        ("map", b"a\t1\nb\t1\t2\t3\n", "file:2: `b", "a word and its value"),
        ("map", b"a\t1\n01\tb\t7\n", "file:2: 3 fields, but 2", "the same"),
        ("map", b"a\t1\nb\t2\na\t3\n", "file:3: `a` has the value `1`", "keep one"),
    ] {
        let message = refused(macro_, bytes);
        assert!(message.starts_with(start) && message.contains(remedy), "{macro_}: {message}");
    }
    let long = vec!["w"; 40].join(" ");
    assert!(refused("list", long.as_bytes()).starts_with("file:1: an entry of more than 32 words"));
    let missing = Templates::compile_in("U\nU%list[0,0,\"no\"]", Dialect::Crfpp, "t.tpl", folder.path());
    let missing = missing.unwrap_err().to_string();
    assert!(
        missing.starts_with("t.tpl:2: `%list[") && missing.contains("folder of the template"),
        "{missing}"
    );
    // Words that differ only in case may have different values, also if case is folded: the first counts.
    fs::write(folder.path().join("map"), "Apple\t1\napple\t2\n").unwrap();
    for macro_ in ["map", "Map"] {
        let source = format!("U%{macro_}[0,0,\"map\"]\n");
        Templates::compile_in(&source, Dialect::Crfpp, "t.tpl", folder.path()).unwrap();
    }
}

/// A model holds its lists and maps: it labels without the files, and as before.
#[test]
fn models_hold_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("units");
    fs::write(&list, "cups\nfl oz\n").unwrap();
    let template = format!("U%x[0,0]\nUunit=%list[0,0,\"{}\"]\nUgram=%ngrams[0,0,2-3]\nB\n", list.display());
    let data = [
        [["2", "Q"], ["cups", "U"], ["flour", "N"]],
        [["1", "Q"], ["fl", "U"], ["oz", "U"]],
        [["3", "Q"], ["red", "N"], ["figs", "N"]],
    ];
    let sequences = || data.iter().map(Sequence::from_rows);
    let model = Trainer::new().template(&template, Dialect::Crfpp).train(sequences()).unwrap();
    let labels = |model: &Model| {
        let mut tagger = model.tagger().unwrap();
        let tagged = tagger.tag([["3"], ["cups"], ["figs"], ["fl"], ["oz"]]).unwrap();
        tagged.into_iter().map(|token| (token.label, token.probability)).collect::<Vec<_>>()
    };
    let file = folder.path().join("model");
    model.save(&file).unwrap();
    fs::remove_file(&list).unwrap();
    let again = Model::open(&file).unwrap();
    assert_eq!(labels(&again), labels(&model));
    let AnyModel::Chain(chain) = again.any() else { panic!("a chain was trained") };
    let Source::Templates(templates) = &chain.domain.source else { panic!("with templates") };
    assert_eq!(templates.files[0].text, "cups\nfl oz\n");
}

/// Sequences of a word and two numbers each.
fn measured() -> Vec<Vec<[String; 4]>> {
    let row = |s: usize, t: usize| {
        let (a, b) = (((s * 7 + t * 3) % 11) as f64 - 5.0, ((s * 5 + t) % 7) as f64 / 3.0);
        let label = if a + b > 0.5 { "X" } else { "Y" };
        [format!("w{}", (s + t) % 4), a.to_string(), b.to_string(), label.to_owned()]
    };
    (0..12).map(|s| (0..5).map(|t| row(s, t)).collect()).collect()
}

/// Numbers in columns are what attributes with the same values are.
#[test]
fn numbers_are_values_of_features() {
    let data = measured();
    let rows = || data.iter().map(Sequence::from_rows);
    let template = "U:w=%x[0,0]\nU:n=%number[0,1-2]\nU:before=%number[-1,1]\nB\n";
    let trainer = || Trainer::new().optimizer(Method::Lbfgs);
    let by_columns = trainer().template(template, Dialect::Crfpp).train(rows()).unwrap();
    let attributes: Vec<Sequence> = data
        .iter()
        .map(|sequence| {
            let number = |text: &String| text.parse::<f64>().unwrap();
            let token = |t: usize| {
                let [word, a, b, label] = &sequence[t];
                let mut features =
                    vec![(format!("w={word}"), 1.0), ("n1".into(), number(a)), ("n2".into(), number(b))];
                features.extend((t > 0).then(|| ("before".into(), number(&sequence[t - 1][1]))));
                features.retain(|(_, value)| *value != 0.0);
                (label.clone(), features)
            };
            Sequence::from_features((0..sequence.len()).map(token)).unwrap()
        })
        .collect();
    let by_attributes = trainer().train(attributes.iter().cloned().map(Ok)).unwrap();
    let (mut first, mut second) = (by_columns.tagger().unwrap(), by_attributes.tagger().unwrap());
    for (rows, attributes) in rows().zip(&attributes) {
        let (a, b) = (first.marginals(&rows.unwrap()).unwrap(), second.marginals(attributes).unwrap());
        for (a, b) in a.iter().flatten().zip(b.iter().flatten()) {
            assert!((a - b).abs() < 1e-4, "{a} and {b}");
        }
    }
    // From a preset, by the columns alone; and from a file.
    let preset = trainer().dense_columns([2, 1]).train(rows()).unwrap();
    let again = Model::from_bytes(&preset.to_bytes().unwrap()).unwrap();
    let sequence = Sequence::from_rows(&data[0]).unwrap();
    let answers = |model: &Model| model.tagger().unwrap().marginals(&sequence).unwrap();
    assert_eq!(answers(&preset), answers(&again));
    let AnyModel::Chain(chain) = again.any() else { panic!("a chain was trained") };
    assert!(chain.domain.alphabet.node.len() < 400, "numbers are no text");
}

#[test]
fn fields_that_are_no_numbers_are_rejected() {
    let train = |field: &str, template: &str| {
        let rows = Sequence::from_rows([["a", "1", "X"], ["b", field, "Y"]]).unwrap();
        Trainer::new().template(template, Dialect::Crfpp).train([Ok(rows)])
    };
    let template = "U:n=%number[0,1]\nU%x[0,0]\nB\n";
    for bad in ["NaN", "inf", "one", "1,5", "0x1", "1e999"] {
        let message = train(bad, template).unwrap_err().to_string();
        assert!(message.contains(":2: ") || message.contains("column 1 is not a number"), "{bad}: {message}");
    }
    for good in ["0", "-1.5", "1e-300", "1e300", ".5"] {
        let rows = Sequence::from_rows([["a", good, "X"], ["b", good, "Y"]]).unwrap();
        let model = Trainer::new().template(template, Dialect::Crfpp).train([Ok(rows)]).unwrap();
        let model = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        let mut tagger = model.tagger().unwrap();
        let message = tagger.tag([["a", "2"], ["b", "x"]]).unwrap_err().to_string();
        assert!(message.contains("`x` in column 1 is not a number"), "{message}");
        assert_eq!(tagger.tag([["a", "2"]]).unwrap().len(), 1);
    }
    for (line, why) in [
        ("U%number[0,2-1]", "last column"),
        ("U%number[0,0-999999]", "last column"),
        ("U%number[0,0]%number[0,0]", "a line of its own"),
        ("U%Number[0,0]", "this macro does not support"),
    ] {
        let message = compile(line).unwrap_err().to_string();
        assert!(message.contains(why), "{line}: {message}");
    }
}
