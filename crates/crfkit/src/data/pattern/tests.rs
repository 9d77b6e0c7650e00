//! Tests of patterns.

use super::*;

fn find<'a>(pattern: &str, text: &'a str) -> Option<&'a str> {
    let pattern: Pattern = pattern.parse().unwrap();
    pattern.find(text).map(|(start, end)| &text[start..end])
}

#[test]
fn every_class_and_its_complement() {
    // One character of each kind, with the classes it belongs to.
    for (c, classes) in [
        ("a", "awl"),
        ("É", "awu"),
        ("7", "dw"),
        (" ", "s"),
        ("-", "p"),
        ("€", "p"),
        ("\u{1}", ""),
        ("中", "aw"),
    ] {
        for class in "adwlusp".chars() {
            let inside = classes.contains(class);
            assert_eq!(find(&format!("^\\{class}$"), c).is_some(), inside, "\\{class} on {c:?}");
            let complement = class.to_ascii_uppercase();
            assert_eq!(find(&format!("^\\{complement}$"), c).is_some(), !inside, "\\{complement} on {c:?}");
        }
    }
}

#[test]
fn escapes_are_literal() {
    for c in [".", "*", "?", "^", "$", "\\", "\"", "x"] {
        assert_eq!(find(&format!("\\{c}"), &format!("ab{c}")), Some(c));
    }
    assert_eq!(find("\\.", "abc"), None);
}

#[test]
fn star_takes_as_few_as_will_do() {
    assert_eq!(find("a*", "aaa"), Some(""));
    assert_eq!(find("a.*c", "abcbc"), Some("abc"));
    assert_eq!(find("a.*c$", "abcbc"), Some("abcbc"));
    assert_eq!(find("^\\u\\u*$", "NATO"), Some("NATO"));
    assert_eq!(find("^\\u\\u*$", "NaTO"), None);
    assert_eq!(find("b*c", "abbc"), Some("bbc"));
}

#[test]
fn optional_takes_one_first_and_gives_it_back() {
    assert_eq!(find("^.?.?.?", "abcd"), Some("abc"));
    assert_eq!(find("^.?.?.?", "ab"), Some("ab"));
    assert_eq!(find(".?.?.?$", "abcd"), Some("bcd"));
    assert_eq!(find(".?.?.?$", "ab"), Some("ab"));
    assert_eq!(find(".?ab", "ab"), Some("ab"));
    assert_eq!(find("a?a?aa", "aa"), Some("aa"));
}

#[test]
fn anchors_only_at_the_ends() {
    assert_eq!(find("^b", "ab"), None);
    assert_eq!(find("a$", "ab"), None);
    assert_eq!(find("a^b", "a^b"), Some("a^b"));
    assert_eq!(find("a$b", "a$b"), Some("a$b"));
    assert_eq!(find("^a$*b", "a$$b"), Some("a$$b"));
    assert_eq!(find("$", "ab"), Some(""));
    assert_eq!(find("^$", ""), Some(""));
    assert_eq!(find("^$", "a"), None);
    assert_eq!(find("", "ab"), Some(""));
    assert_eq!(find("\\$", "a$"), Some("$"));
}

#[test]
fn fixed_suffixes_count_characters() {
    assert_eq!(find("...$", "naïveté"), Some("eté"));
    assert_eq!(find("...$", "té"), None);
    assert_eq!(find("\\a\\d$", "x9y1"), Some("y1"));
    assert_eq!(find("ab$", "abb"), None);
}

#[test]
fn refused_patterns_say_why() {
    for (pattern, why) in [
        ("*a", "nothing to repeat"),
        ("^?", "nothing to repeat"),
        ("a**", "nothing to repeat"),
        ("a\\", "lone"),
    ] {
        let message = pattern.parse::<Pattern>().unwrap_err().to_string();
        assert!(message.contains(why), "{pattern}: {message}");
    }
    assert!("a".repeat(MAX_ITEMS).parse::<Pattern>().is_ok());
    assert!("a".repeat(MAX_ITEMS + 1).parse::<Pattern>().is_err());
}

#[test]
fn hostile_patterns_stay_cheap() {
    let long = "a".repeat(50_000);
    assert_eq!(find("a*a*a*a*a*a*b", &long), None);
    assert_eq!(find(&format!("{}b", "a*".repeat(63)), &long[..5_000]), None);
    assert_eq!(find(&format!("^{}{}", "a?".repeat(32), "a".repeat(32)), &long[..32]), Some(&long[..32]));
    assert_eq!(find(&format!("{}b", "a?".repeat(63)), &long), None);
    assert_eq!(find(".*.*.*.*$", &long), Some(&long[..]));
}

fn group<'a>(pattern: &str, text: &'a str) -> Option<&'a str> {
    let pattern: Pattern = pattern.parse().unwrap();
    pattern.find_group(text).map(|(start, end)| &text[start..end])
}

#[test]
fn groups_are_the_value() {
    for (pattern, text, value) in [
        ("(\\d\\d\\d\\d)-\\d\\d", "on 1998-07", Some("1998")),
        ("^\\p*(\\P.*)\\p*$", "(\"Proc.,\"", Some("Proc")),
        ("^\\p*(\\P.*)\\p*$", "--", None),
        ("\\P(\\p+)$", "1998).", Some(").")),
        ("a(b*)c", "abbc", Some("bb")),
        ("a()b", "ab", Some("")),
        ("(.)$", "ab", Some("b")),
        ("ab", "xab", Some("ab")),
        ("(a|ab)c", "xabc", Some("ab")),
        ("^(Mr|Mrs|Dr)\\.?$", "Mrs.", Some("Mrs")),
        ("^(Mr|Mrs|Dr)\\.?$", "Mrss", None),
        ("(\\d+)kg|(\\d+)lb", "12lb", Some("12")),
    ] {
        assert_eq!(group(pattern, text), value, "{pattern} on {text}");
    }
}

#[test]
fn alternatives_sets_and_plus() {
    assert_eq!(find("cat|at", "a cat"), Some("cat"));
    assert_eq!(find("at|cat", "a cat"), Some("cat"), "the leftmost start wins");
    assert_eq!(find("a|ab", "ab"), Some("a"), "then the first alternative");
    assert_eq!(find("^a|b$", "ab"), Some("a"));
    assert_eq!(find("[a-c]+$", "xabcb"), Some("abcb"));
    assert_eq!(find("[^a-c,]", "a,bd"), Some("d"));
    assert_eq!(find("[\\d_-]+x", "a1_-x"), Some("1_-x"));
    assert_eq!(find("[\\]|(]", "x|"), Some("|"));
    assert_eq!(find("[é-ü]", "aöb"), Some("ö"));
    assert_eq!(find("a+", "baaa"), Some("a"), "as few as possible");
    assert_eq!(find("ba+$", "baaa"), Some("baaa"));
    assert_eq!(find("ba+$", "b"), None);
    assert_eq!(find("\\(\\|\\+\\[", "(|+["), Some("(|+["));
}

#[test]
fn wapiti_knows_none_of_it() {
    let wapiti = |source: &str, text: &str| {
        Pattern::compile(source, Grammar::Wapiti)
            .unwrap()
            .find(text)
            .map(|(start, end)| text[start..end].to_owned())
    };
    assert_eq!(wapiti("(a|b)+[c-d]", "x(a|b)+[c-d]").as_deref(), Some("(a|b)+[c-d]"));
    assert_eq!(wapiti(")", "a)").as_deref(), Some(")"));
    assert_eq!(wapiti("a|b", "b"), None);
}

#[test]
fn refused_additions_say_why() {
    for (pattern, why) in [
        ("(a", "without its `)`"),
        ("a)", "without its `(`"),
        ("(a)(b)", "several groups"),
        ("((a))", "several groups"),
        ("(a)*", "cannot be repeated"),
        ("(^|b)a", "outside the group"),
        ("a(b|$)", "outside the group"),
        ("+a", "nothing to repeat"),
        ("a++", "nothing to repeat"),
        ("[a", "without its `]`"),
        ("[]", "empty set"),
        ("[z-a]", "turn it round"),
        ("[a\\", "without its `]`"),
    ] {
        let message = pattern.parse::<Pattern>().unwrap_err().to_string();
        assert!(message.contains(why), "{pattern}: {message}");
    }
    assert!(["a"; MAX_ALTERNATIVES].join("|").parse::<Pattern>().is_ok());
    assert!(["a"; MAX_ALTERNATIVES + 1].join("|").parse::<Pattern>().is_err());
    assert!("a+".repeat(MAX_ITEMS / 2).parse::<Pattern>().is_ok());
    assert!("a+".repeat(MAX_ITEMS / 2 + 1).parse::<Pattern>().is_err());
}

#[test]
fn hostile_additions_stay_cheap() {
    let long = "a".repeat(20_000);
    assert_eq!(find("(a+a+a+a+)b|[a-z]+[a-z]+1", &long), None);
    assert_eq!(group("^(a*)a*$", &long), Some(""));
}
