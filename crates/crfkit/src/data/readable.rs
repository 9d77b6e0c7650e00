//! Observations that are results of tests, in words: `U:shape[0]=true/false/true` is `U:shape[0]=capital, digit`.

use super::template::{Function, Row, Template, Templates};

/// Patterns of common tests, and what they are called.
const WORDS: [(&str, &str); 14] = [
    ("^\\u", "capital"),
    ("^\\u\\u*$", "all capitals"),
    ("^\\u$", "one capital"),
    ("^\\u\\l", "capital and lower"),
    ("^\\u\\l\\l*$", "capitalised"),
    ("\\l\\u", "inner capital"),
    ("\\d", "digit"),
    ("^\\d", "first digit"),
    ("^\\d\\d*$", "all digits"),
    ("^\\d\\d?$", "one or two digits"),
    ("-", "hyphen"),
    ("^\\p$", "mark"),
    ("^\\p\\p*$", "all marks"),
    ("^:$", "colon"),
];

/// The description of an observation if none of its tests is true.
const NONE: &str = "none";

impl Templates {
    /// An observation of several tests, with those that are true in words; `None` for any other observation.
    pub fn describe_tests(&self, observation: &str) -> Option<String> {
        self.tests().find_map(|(template, names)| {
            let literals = &self.skeletons[template.skeleton as usize];
            let mut rest = observation.strip_prefix(&*literals[0])?;
            let mut found = Vec::new();
            for (name, literal) in names.into_iter().zip(&literals[1..]) {
                let (value, after) =
                    ["true", "false"].iter().find_map(|v| Some((*v, rest.strip_prefix(v)?)))?;
                rest = after.strip_prefix(&**literal)?;
                found.extend((value == "true").then_some(name));
            }
            let found = if found.is_empty() { NONE.to_owned() } else { found.join(", ") };
            rest.is_empty().then(|| format!("{}{found}", literals[0]))
        })
    }

    /// The inverse of [`describe_tests`](Templates::describe_tests): the observation with this description, or `None`.
    pub fn observation_from_tests(&self, words: &str) -> Option<String> {
        self.tests().find_map(|(template, names)| {
            let wanted = words.strip_prefix(&*self.skeletons[template.skeleton as usize][0])?;
            let wanted: Vec<&str> = if wanted == NONE { Vec::new() } else { wanted.split(", ").collect() };
            let known = wanted.iter().all(|word| names.iter().any(|name| name == word));
            let value = |name: &String| if wanted.contains(&&**name) { "true" } else { "false" };
            known.then(|| self.expand(template.skeleton, &names.iter().map(value).collect::<Vec<_>>()))
        })
    }

    /// The templates that consist of several tests, with the names of their tests.
    fn tests(&self) -> impl Iterator<Item = (&Template, Vec<String>)> {
        let is_test = |template: &&Template| {
            let test = |extractor: usize| matches!(self.extractors[extractor].function, Function::Test(_));
            template.macros.len() > 1 && template.macros.iter().all(|part| test(part.extractor))
        };
        self.unigram.iter().chain(&self.bigram).filter(is_test).map(|template| {
            let line = self.source.trim_start_matches('\u{feff}').lines().nth(template.line as usize - 1);
            let patterns = line
                .unwrap_or_default()
                .split(",\"")
                .skip(1)
                .map(|text| text.split("\"]").next().unwrap_or(text));
            let one_row = template.macros.iter().all(|part| part.row == template.macros[0].row);
            let name = |(pattern, row): (&str, Row)| {
                let words = WORDS.iter().find(|(known, _)| *known == pattern);
                let words = words.map_or_else(|| format!("/{pattern}/"), |(_, words)| (*words).to_owned());
                match row {
                    _ if one_row => words,
                    Row::Relative(row) => format!("{words} at {row}"),
                    Row::FromStart(row) => format!("{words} at @{}", row + 1),
                    Row::FromEnd(row) => format!("{words} at @-{}", row + 1),
                }
            };
            (template, patterns.zip(template.macros.iter().map(|part| part.row)).map(name).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::presets::PRESETS;
    use crate::data::template::Dialect;

    #[test]
    fn tests_are_put_into_words_and_back() {
        let source = "U:shape=%t[0,0,\"^\\u\"]/%t[0,0,\"\\d\"]/%t[0,0,\"ab\"]\nU:two=%t[-1,0,\"^\\u\"]/%t[@1,0,\"-\"]\nU:w=%x[0,0]\nB\n";
        let templates = Templates::compile(source, Dialect::Crfpp, "test").unwrap();
        for (name, words) in [
            ("U:shape=true/false/true", "U:shape=capital, /ab/"),
            ("U:shape=false/false/false", "U:shape=none"),
            ("U:two=true/true", "U:two=capital at -1, hyphen at @1"),
        ] {
            assert_eq!(templates.describe_tests(name).as_deref(), Some(words));
            assert_eq!(templates.observation_from_tests(words).as_deref(), Some(name));
        }
        for other in ["U:w=true/false/true", "U:shape=true/false", "U:shape=true/false/trueX", "U:shape"] {
            assert_eq!(templates.describe_tests(other), None, "{other}");
        }
        assert_eq!(templates.observation_from_tests("U:shape=capital, unheard of"), None);
    }

    /// Different results have different words, in every preset.
    #[test]
    fn words_tell_all_results_of_the_presets_apart() {
        for preset in PRESETS {
            let templates = preset.compile(2).unwrap();
            for (template, names) in templates.tests() {
                assert_eq!(names.len(), template.macros.len(), "{}:{}", preset.name, template.line);
                let mut apart = names.clone();
                apart.sort();
                apart.dedup();
                assert_eq!(apart.len(), names.len(), "{}:{}: {names:?}", preset.name, template.line);
            }
        }
    }
}
