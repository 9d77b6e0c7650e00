//! The rules of skip chains: what they link, and how wrong ones are refused.

use crate::corpora;

use corpora::models::columns;
use crfkit::data::rule::{LinkRule, MAX_DISTANCE, MAX_LINKS};

fn pairs(rule: &str, text: &str) -> Vec<(usize, usize)> {
    rule.parse::<LinkRule>().unwrap().pairs(&columns(text)[0])
}

#[test]
fn rules_link_what_they_say() {
    let text = "Ana NN\nsaw VB\nana NN\nAna NN\n\"x\" Q\nBo NN\nAna VB\nsaw VB\n";
    let cases: &[(&str, &[(usize, usize)])] = &[
        ("same(0)", &[(0, 3), (0, 6), (1, 7), (3, 6)]),
        ("same(0) and capitalised(0)", &[(0, 3), (0, 6), (3, 6)]),
        ("same(0)and not capitalised(0)", &[(1, 7)]),
        ("equals(0, \"saw\")", &[(1, 7)]),
        ("matches(0,\"^[Bb]*o$\") or equals(0,\"saw\")", &[(1, 7)]),
        ("capitalised(0) and same(1)", &[(0, 3), (0, 5), (3, 5)]),
        ("same(0) and same(1) or equals(1, \"VB\")", &[(0, 3), (1, 6), (1, 7)]),
        ("same(0) and (same(1) or equals(1, \"VB\"))", &[(0, 3), (1, 7)]),
        ("not not equals(1, \"VB\")", &[(1, 6), (1, 7)]),
        ("matches(0, \"^\\u\") and same(0)", &[(0, 3), (0, 6), (3, 6)]),
        // Both tokens would have to be this one.
        ("equals(0, \"\\\"x\\\"\")", &[]),
    ];
    for (rule, expected) in cases {
        assert_eq!(pairs(rule, text), *expected, "{rule}");
        assert_eq!(rule.parse::<LinkRule>().unwrap().text(), *rule);
    }
    assert_eq!(
        "same(2) or not (same(0) and matches(2, \"x\"))".parse::<LinkRule>().unwrap().columns(),
        [0, 2]
    );
}

#[test]
fn quotes_inside_a_text() {
    assert_eq!(pairs("equals(0, \"\\\"x\\\"\")", "\"x\"\na\n\"x\"\n"), [(0, 2)]);
}

#[test]
fn links_are_bounded_in_number_and_distance() {
    let same = "x\n".repeat(3 * MAX_LINKS);
    let found = pairs("same(0)", &same);
    assert_eq!(found.iter().filter(|(s, _)| *s == 0).count(), MAX_LINKS);
    assert_eq!(found[0], (0, 2), "the nearest, but not the neighbour");
    assert_eq!(found.last(), Some(&(3 * MAX_LINKS - 3, 3 * MAX_LINKS - 1)));
    let far = |distance: usize| format!("x\n{}x\n", "y\n".repeat(distance - 1));
    assert_eq!(pairs("equals(0, \"x\")", &far(MAX_DISTANCE)), [(0, MAX_DISTANCE)]);
    assert_eq!(pairs("equals(0, \"x\")", &far(MAX_DISTANCE + 1)), []);
}

#[test]
fn wrong_rules_are_refused_at_their_place() {
    let deep = format!("{}same(0)", "not ".repeat(100_000));
    for (rule, at, why) in [
        ("", "at its end", "a test is missing; write same(COLUMN)"),
        ("same", "at its end", "`(` is missing"),
        ("same(x)", "at `x)`", "a column is a whole number"),
        ("same(99999999999999999999)", "at `9", "a column is a whole number"),
        ("same(0", "at its end", "`)` is missing"),
        ("same(0) same(1)", "at `same(1)`", "`and` or `or` is missing"),
        ("same(0))", "at `)`", "a `)` without its `(`"),
        ("(same(0)", "at its end", "`)` is missing"),
        ("same(0) and", "at its end", "a test is missing"),
        ("like(0)", "at `like(0)`", "a test is missing"),
        ("equals(0)", "at `)`", "`,` is missing"),
        ("equals(0, x)", "at `x)`", "`\"` is missing"),
        ("equals(0, \"x)", "at `x)`", "no closing"),
        ("matches(0, \"*\")", "at `)`", "nothing to repeat"),
        (&deep, "at `", "nested brackets"),
    ] {
        let message = rule.parse::<LinkRule>().unwrap_err().to_string();
        assert!(message.contains(at) && message.contains(why), "{message}");
    }
}
