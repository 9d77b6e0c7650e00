//! Templates against the letter of both dialects, and patterns against their definition.

use crfkit::data::pattern::Pattern;
use crfkit::data::presets::PRESETS;
use crfkit::data::template::{Cell, Dialect, Function, Row, Template, Templates};
use proptest::prelude::*;

fn crfpp(source: &str) -> Templates {
    Templates::compile(source, Dialect::Crfpp, "t").unwrap()
}

fn wapiti(source: &str) -> Templates {
    Templates::compile(source, Dialect::Wapiti, "t").unwrap()
}

/// The observation of `template` at `position`, as a string.
fn observe(templates: &Templates, template: &Template, rows: &[&[&str]], position: usize) -> String {
    let values: Vec<String> = template
        .macros
        .iter()
        .map(|part| {
            let extractor = &templates.extractors[part.extractor];
            let mut scratch = String::new();
            let value = match part.row.at(position, rows.len()) {
                Cell::Inside(row) => {
                    extractor.value(rows[row].get(extractor.column).unwrap_or(&""), &mut scratch)
                }
                Cell::Left(distance) => extractor.padding(templates.dialect.left(distance), &mut scratch),
                Cell::Right(distance) => extractor.padding(templates.dialect.right(distance), &mut scratch),
            };
            value.unwrap_or("-").to_owned()
        })
        .collect();
    templates.expand(template.skeleton, &values.iter().map(String::as_str).collect::<Vec<_>>())
}

fn unigrams(templates: &Templates, rows: &[&[&str]], position: usize) -> Vec<String> {
    templates.unigram.iter().map(|template| observe(templates, template, rows, position)).collect()
}

const ROWS: &[&[&str]] = &[&["Ana", "NNP"], &["ate", "VBD"], &["figs", "NNS"]];

#[test]
fn the_crfpp_example() {
    let templates =
        crfpp("# unigram\nU00:%x[-2,0]\nU01:%x[0,0]\r\nU02:%x[0,0]/%x[0,1]\n\n# bigram\nB\nB01:%x[0,1]\n");
    assert_eq!(unigrams(&templates, ROWS, 1), ["U00:_B-1", "U01:ate", "U02:ate/VBD"]);
    assert_eq!(observe(&templates, &templates.bigram[0], ROWS, 1), "B01:VBD");
    assert!(templates.label_bigram);
    assert_eq!((templates.columns_needed, templates.bigram.len(), templates.extractors.len()), (2, 1, 2));
    assert_eq!(templates.unigram[2].line, 4);
}

#[test]
fn the_wapiti_example() {
    let templates = wapiti(concat!(
        "*                          # label bigrams and bias\n",
        "u:w=%x[0,0]\n",
        "u:low=%X[-1,0]             # upper-case command = lower-cased result\n",
        "*:shape=%t[0,0,\"^\\u\"]      # \"true\"/\"false\"\n",
        "u:pre=%m[0,0,\"^.?.?.?\"]    # matched substring (empty if none)\n",
        "u:last=%x[@-1,0]           # absolute: @1 first, @-1 last\n",
        "U:first=%x[@1,0]/%x[ +1,0]\n",
    ));
    assert_eq!(
        unigrams(&templates, ROWS, 1),
        ["*", "u:w=ate", "u:low=ana", "*:shape=false", "u:pre=ate", "u:last=figs", "u:first=Ana/figs"]
    );
    assert_eq!(unigrams(&templates, ROWS, 0)[2..4], ["u:low=_x-1", "*:shape=true"]);
    assert!(templates.label_bigram);
    assert_eq!(templates.bigram.len(), 1);
    assert_eq!(observe(&templates, &templates.bigram[0], ROWS, 0), "*:shape=true");
}

#[test]
fn wapiti_commands_inside_crfpp_keep_its_padding_and_comments() {
    let templates = crfpp("u:%X[-1,0]#%m[-1,0,\"^#?_\"] \n*:%t[0,0,\"#\"]\nU:%x[@-9,0]");
    assert_eq!(unigrams(&templates, ROWS, 0), ["u:_b-1#_ ", "*:false", "U:_B-6"]);
    assert_eq!(templates.bigram.len(), 1);
    assert!(!templates.label_bigram);
}

#[test]
fn comments_of_both_dialects() {
    assert_eq!(crfpp("U:a # b\n").skeletons, [["U:a # b"]]);
    assert_eq!(wapiti("U:a # b\n# c\n   \n").skeletons, [["u:a"]]);
    let cut = Templates::compile("u:%t[0,0,\"a#b\"]", Dialect::Wapiti, "t").unwrap_err().to_string();
    assert!(cut.contains("closing") && cut.contains("`#` cuts"), "{cut}");
}

#[test]
fn lines_without_macros() {
    for (line, unigrams, label_bigram) in [
        ("U", 1, false),
        ("u:bias", 1, false),
        ("B", 0, true),
        ("b", 0, true),
        ("B00:", 0, true),
        ("*", 1, true),
    ] {
        for dialect in [Dialect::Crfpp, Dialect::Wapiti] {
            let templates = Templates::compile(line, dialect, "t").unwrap();
            assert_eq!((templates.unigram.len(), templates.label_bigram), (unigrams, label_bigram), "{line}");
            assert!(templates.bigram.is_empty(), "{line}");
            assert!(templates.check_columns(0).is_ok());
        }
    }
}

#[test]
fn padding_of_both_dialects() {
    let (c, w) = (Dialect::Crfpp, Dialect::Wapiti);
    assert_eq!([c.left(1), c.left(8), c.left(99)], ["_B-1", "_B-8", "_B-8"]);
    assert_eq!([c.right(1), c.right(8), c.right(99)], ["_B+1", "_B+8", "_B+8"]);
    assert_eq!([w.left(1), w.left(4), w.left(5), w.left(99)], ["_x-1", "_x-4", "_x-#", "_x-#"]);
    assert_eq!([w.right(1), w.right(4), w.right(5), w.right(99)], ["_x+1", "_x+4", "_x+#", "_x+#"]);
    assert_eq!((c.left_padding().len(), w.right_padding().len()), (8, 5));
}

#[test]
fn rows_come_to_cells() {
    assert_eq!(Row::Relative(-2).at(1, 3), Cell::Left(1));
    assert_eq!(Row::Relative(-1).at(1, 3), Cell::Inside(0));
    assert_eq!(Row::Relative(2).at(2, 3), Cell::Right(2));
    assert_eq!(Row::FromStart(0).at(2, 3), Cell::Inside(0));
    assert_eq!(Row::FromStart(4).at(0, 3), Cell::Right(2));
    assert_eq!(Row::FromEnd(0).at(0, 3), Cell::Inside(2));
    assert_eq!(Row::FromEnd(4).at(0, 3), Cell::Left(2));
    assert_eq!(Row::Relative(i32::MIN).at(0, 1), Cell::Left(1 << 31));
}

#[test]
fn equal_literal_text_is_one_skeleton() {
    let templates = crfpp("U:%x[-1,0]\nU:%x[1,0]\nU:%x[0,0]/%x[1,0]\nB:%x[0,0]\n*:%x[0,0]\n");
    let ids: Vec<_> = templates.unigram.iter().map(|template| template.skeleton).collect();
    assert_eq!(ids, [0, 0, 1, 3]);
    assert_eq!(templates.bigram.iter().map(|template| template.skeleton).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(templates.skeletons[1], ["U:", "/", ""]);
    assert_eq!(templates.expand(1, &["a", "b"]), "U:a/b");
}

#[test]
fn equal_functions_are_one_extractor() {
    let templates =
        crfpp("U1%t[0,0,\"a\"]\nU2%T[-1,0,\"a\"]\nU3%m[0,0,\"a\"]\nU4%M[0,0,\"a\"]\nU5%x[3,0]%x[1,0]");
    assert_eq!(templates.extractors.len(), 4);
    assert!(matches!(templates.extractors[0].function, Function::Test(_)));
}

#[test]
fn values() {
    let templates = crfpp(
        "U%x[0,0]%X[0,0]%t[0,0,\"\\u$\"]%m[0,0,\"\\u*$\"]%M[0,0,\"\\u.$\"]%m[0,0,\"\\\"\"]%t[0,0,\"\"]",
    );
    let mut scratch = String::new();
    let mut all = |field| -> Vec<String> {
        templates
            .extractors
            .iter()
            .map(|extractor| extractor.value(field, &mut scratch).unwrap().to_owned())
            .collect()
    };
    assert_eq!(all("aÉÉ"), ["aÉÉ", "aéé", "true", "ÉÉ", "éé", "", "true"]);
    assert_eq!(all("say\"b"), ["say\"b", "say\"b", "false", "", "", "\"", "true"]);
    assert_eq!(all(""), ["", "", "false", "", "", "", "true"]);
}

#[test]
fn errors_name_place_and_remedy() {
    for (line, parts) in [
        ("X00:%x[0,0]", "starts with U, B, S or *"),
        (" U00:%x[0,0]", "starts with U, B, S or *"),
        ("éU", "starts with U, B, S or *"),
        ("U100%", "cannot be literal"),
        ("U%y[0,0]", "cannot be literal"),
        ("U%é[0,0]", "cannot be literal"),
        ("U%x0,0]", "`[` is missing"),
        ("U%x[a,0]", "row is not a number"),
        ("U%x[,0]", "row is not a number"),
        ("U%x[+1,0]", "row is not a number"),
        ("U%x[*1,0]", "row is not a number"),
        ("U%x[99999999999,0]", "row is not a number"),
        ("U%x[9,0]", "outside -8 to 8"),
        ("U%x[-9,0]", "outside -8 to 8"),
        ("U%x[@0,0]", "no row @0"),
        ("U%x[0]", "`,` is missing"),
        ("U%x[0,]", "column is not a whole number"),
        ("U%x[0,-1]", "column is not a whole number"),
        ("U%x[0,0", "`]` is missing"),
        ("U%x[0,0,\"a\"]", "`]` is missing"),
        ("U%t[0,0]", "quoted pattern is missing"),
        ("U%m[0,0,a]", "quoted pattern is missing"),
        ("U%t[0,0,\"a]", "no closing"),
        ("U%t[0,0,\"a\\\"]", "no closing"),
        ("U%t[0,0,\"a\"", "`]` is missing"),
        ("U%t[0,0,\"*\"]", "nothing to repeat"),
    ] {
        let message =
            Templates::compile(&format!("U\n{line}\n"), Dialect::Crfpp, "t.tpl").unwrap_err().to_string();
        assert!(message.starts_with("t.tpl:2: ") && message.contains(parts), "{line}: {message}");
    }
    for empty in ["", "\n \n", "# nothing"] {
        let message = Templates::compile(empty, Dialect::Crfpp, "t.tpl").unwrap_err().to_string();
        assert!(message.starts_with("t.tpl: it has no template"), "{message}");
    }
}

#[test]
fn wapiti_rows_have_no_limit() {
    let templates = wapiti("u%x[-9,0]%x[100,0]");
    assert_eq!(unigrams(&templates, ROWS, 0), ["u_x-#_x+#"]);
}

#[test]
fn too_few_columns_name_the_first_line() {
    let templates = crfpp("U%x[0,0]\nB%x[0,2]\nU%x[0,0]%x[0,5]\n");
    assert!(templates.check_columns(6).is_ok());
    let message = |available| templates.check_columns(available).unwrap_err().to_string();
    assert!(message(2).starts_with("t:2: column 2 is used"), "{}", message(2));
    assert!(message(5).starts_with("t:3: column 5 is used"), "{}", message(5));
}

#[test]
fn dialects_have_names() {
    for dialect in [Dialect::Crfpp, Dialect::Wapiti] {
        assert_eq!(dialect.to_string().parse::<Dialect>().unwrap(), dialect);
    }
    assert!("CRF++".parse::<Dialect>().unwrap_err().to_string().contains("crfpp or wapiti"));
}

#[test]
fn preset_observations_are_what_their_names_say() {
    let rows: &[&[&str]] = &[&["IL-2"], &["binds"], &["3.5"]];
    let all = |name: &str, position| {
        let templates = PRESETS.iter().find(|preset| preset.name == name).unwrap().compile(1).unwrap();
        unigrams(&templates, rows, position)
    };
    for (name, position, expected) in [
        ("bio", 0, "U:HASDASH=true"),
        ("bio", 0, "U:ALPHANUMERIC=true/false"),
        ("bio", 0, "U:ALLCAPS=false"),
        ("bio", 2, "U:REALNUMBER=true/false"),
        ("pos", 0, "U:capital[-1,0]=_B-1/true"),
        ("pos", 1, "U:capital[-1,0]=/false"),
        ("pos", 1, "U:suffix2=ds"),
        ("pos", 2, "U:suffix4="),
        ("mccallum-li", 1, "U:shape[-1]=true/false/true/false"),
        ("mccallum-li", 2, "U:digit-mark-digit=true"),
        ("ner", 0, "U:prefix[0]=IL"),
        ("ner", 1, "U:shape[-1,0,1]=A-0/a/0.0"),
        ("default", 1, "U:lower[-1]=il-2"),
        ("default", 0, "U:shape[0]=A-0"),
        ("default", 0, "U:shape2[0]=AA-0"),
        ("default", 1, "U:suffix[0]=nds"),
    ] {
        assert!(all(name, position).iter().any(|observation| observation == expected), "{name}: {expected}");
    }
}

/// The definition of matching: all ends of matches at the start of `text`, the preferred one first.
fn ends(items: &[(char, char)], text: &[char]) -> Vec<usize> {
    let Some((&(class, repeat), rest)) = items.split_first() else { return vec![0] };
    let taken = |items| match text.split_first() {
        Some((&c, tail)) if class == '.' || class == c => {
            ends(items, tail).into_iter().map(|end| end + 1).collect()
        }
        _ => vec![],
    };
    match repeat {
        '*' => [ends(rest, text), taken(items)].concat(),
        '?' => [taken(rest), ends(rest, text)].concat(),
        _ => taken(rest),
    }
}

proptest! {
    #[test]
    fn finding_follows_the_definition(
        items in prop::collection::vec((prop::sample::select(vec!['a', 'é', '.']), prop::sample::select(vec!['1', '?', '*'])), 0..6),
        text in "[aéb]{0,8}",
        at_start: bool,
        at_end: bool,
    ) {
        let mut source = String::from(if at_start { "^" } else { "" });
        for (class, repeat) in &items {
            source.push(*class);
            source.extend(Some(*repeat).filter(|repeat| *repeat != '1'));
        }
        source.push_str(if at_end { "$" } else { "" });

        let chars: Vec<char> = text.chars().collect();
        let last_start = if at_start { 0 } else { chars.len() };
        let expected = (0..=last_start).find_map(|start| {
            let mut ends = ends(&items, &chars[start..]).into_iter().map(|end| start + end);
            ends.find(|end| !at_end || *end == chars.len()).map(|end| (start, end))
        });
        let bytes = |index: usize| chars[..index].iter().map(|c| c.len_utf8()).sum::<usize>();
        let pattern: Pattern = source.parse().unwrap();
        prop_assert_eq!(pattern.find(&text), expected.map(|(start, end)| (bytes(start), bytes(end))), "{}", source);
    }

    #[test]
    fn arbitrary_text_never_panics(source: String, field: String) {
        try_all(&source, &field);
    }

    #[test]
    fn template_like_text_never_panics(
        source in r#"([UBub*#]?(:|%|%[xXtTmM]|\[|-?[0-9]{1,12}|@|,|"|\\|\]|%[xtM]\[-?[0-9],[0-9](,"[^"]{0,4}")?\]|é|\n){0,6}\n?){0,4}"#,
        field: String,
    ) {
        try_all(&source, &field);
    }
}

/// Compiles in both dialects, and where that succeeds uses everything once.
fn try_all(source: &str, field: &str) {
    for dialect in [Dialect::Crfpp, Dialect::Wapiti] {
        let Ok(templates) = Templates::compile(source, dialect, "t") else { continue };
        assert_eq!(templates.check_columns(templates.columns_needed).ok(), Some(()));
        assert_eq!(Templates::compile(&templates.source, templates.dialect, "t").unwrap(), templates);
        let row = vec![field; templates.columns_needed.min(10)];
        if row.len() < templates.columns_needed {
            continue;
        }
        for template in templates.unigram.iter().chain(&templates.bigram) {
            observe(&templates, template, &[&row, &row], 1);
        }
    }
}
