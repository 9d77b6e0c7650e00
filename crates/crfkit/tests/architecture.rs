//! Holds the house to its rules (ARCHITECTURE.md): imports go downwards, the library prints nothing, threads live in one room,
//! and files stay short.

use std::fs;
use std::path::{Path, PathBuf};

/// Every room of the library, from the bottom to the top, with the rooms it may import. `error` is open to all.
const ROOMS: [(&str, &[&str]); 25] = [
    ("error", &[]),
    ("ability", &[]),
    ("files", &[]),
    ("math", &[]),
    ("eval", &["math"]),
    ("graph", &["math"]),
    ("infer", &["graph", "math"]),
    ("decode", &["graph", "math"]),
    ("loss", &["infer", "decode", "graph", "math", "ability"]),
    ("optim", &["math", "ability"]),
    ("data", &["graph"]),
    ("model", &["data", "graph", "math"]),
    ("risk", &["model", "data", "optim", "loss", "graph", "math", "ability"]),
    ("settings", &["model", "optim", "loss", "decode", "infer", "graph", "eval", "ability"]),
    ("answers", &["decode", "infer", "graph", "math"]),
    ("tag", &["answers", "model", "data", "decode", "infer", "graph", "eval"]),
    (
        "domain",
        &[
            "tag", "answers", "settings", "risk", "model", "data", "optim", "loss", "decode", "infer",
            "graph", "math", "eval",
        ],
    ),
    (
        "train",
        &["domain", "settings", "risk", "model", "data", "optim", "loss", "infer", "graph", "math", "eval"],
    ),
    ("explain", &["domain", "tag", "answers", "risk", "model", "data", "decode", "graph", "math"]),
    ("checkpoint", &["train", "domain", "settings", "model", "optim", "files"]),
    (
        "empirical",
        &[
            "explain", "domain", "tag", "answers", "model", "data", "optim", "decode", "infer", "graph",
            "math", "eval", "ability",
        ],
    ),
    ("foreign", &["domain", "settings", "model", "data", "graph", "math"]),
    (
        "any",
        &[
            "foreign",
            "empirical",
            "explain",
            "domain",
            "settings",
            "tag",
            "answers",
            "model",
            "data",
            "decode",
            "infer",
            "graph",
            "eval",
        ],
    ),
    (
        "front",
        &[
            "any",
            "checkpoint",
            "foreign",
            "train",
            "empirical",
            "domain",
            "settings",
            "tag",
            "model",
            "data",
            "optim",
            "loss",
            "graph",
            "eval",
            "files",
        ],
    ),
    // Names the rooms and hands on what `error` has.
    ("lib", &[]),
];

/// Lines of a file at most, unit tests included.
const MAX_LINES: usize = 400;
/// Files that may be longer, how long, and why.
const LONG_FILES: [(&str, usize, &str); 1] = [("math/simd.rs", 700, "all vector code in one file")];

/// One source file of the library.
struct Source {
    /// Path from `src`, with `/`.
    name: String,
    text: String,
}

impl Source {
    /// `graph` for `graph/chain.rs`, `train` for `train.rs`.
    fn room(&self) -> &str {
        self.name.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }

    /// The text without comments and without unit tests, which stand at the bottom and may use every room. What follows `//` in
    /// a string is lost too, which no rule minds.
    fn code(&self) -> String {
        let program = self.text.lines().take_while(|line| *line != "#[cfg(test)]");
        program.map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut waiting = vec![root.clone()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let parts: Vec<_> =
                    path.strip_prefix(&root).unwrap().iter().map(|part| part.to_str().unwrap()).collect();
                found.push(Source { name: parts.join("/"), text: fs::read_to_string(&path).unwrap() });
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(found.len() > 40, "the sources were not found");
    found
}

/// First names after every `prefix` in `code`; those in braces one by one: `crate::{Error, graph::Chain}` has `Error` and
/// `graph`.
fn names_after<'a>(code: &'a str, prefix: &str) -> Vec<&'a str> {
    let name = |text: &'a str| {
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        &text[..end]
    };
    let mut names = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let preceded_by_a_name = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if preceded_by_a_name {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            names.push(name(rest));
            continue;
        };
        let (mut depth, mut starts) = (1, true);
        for (i, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => starts = true,
                _ if starts && !c.is_whitespace() => {
                    names.push(name(&group[i..]));
                    starts = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    names
}

#[test]
fn the_reader_of_imports_can_read() {
    let code = "use crate::{\n    Error, data::{a, b}, graph::Chain,\n};\nuse crate::math::simd;\nlet x = crate::Result;";
    assert_eq!(names_after(code, "crate::"), ["Error", "data", "graph", "math", "Result"]);
    assert_eq!(names_after("my_crate::x", "crate::"), [""; 0]);
}

#[test]
fn rooms_are_listed_from_the_bottom_to_the_top() {
    for (at, (room, below)) in ROOMS.iter().enumerate() {
        for name in *below {
            assert!(
                ROOMS[..at].iter().any(|(lower, _)| lower == name),
                "{room} may import {name}, which is not below it"
            );
        }
    }
}

#[test]
fn imports_go_downwards() {
    let mut wrong = Vec::new();
    for source in sources() {
        let room = source.room();
        let Some((_, below)) = ROOMS.iter().find(|(name, _)| *name == room) else {
            wrong.push(format!("{}: `{room}` is a new room: say in ROOMS what it may import", source.name));
            continue;
        };
        let code = source.code();
        for name in names_after(&code, "crate::") {
            // Error, Place and Result are handed on at the root.
            let is_type = name.starts_with(char::is_uppercase);
            if !is_type && name != "error" && name != room && !below.contains(&name) {
                wrong.push(format!("{}: {room} must not import {name}", source.name));
            }
        }
        // The back door: from the top of a room, `super` is the root.
        for name in names_after(&code, "super::") {
            if name != room && ROOMS.iter().any(|(other, _)| *other == name) {
                wrong.push(format!("{}: write crate::{name}, not super::{name}", source.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// No source has one of these words, except in these rooms and files.
fn forbid(words: &[&str], except: &[&str], rule: &str) {
    let mut wrong = Vec::new();
    let excepted =
        |source: &&Source| except.contains(&source.room()) || except.contains(&source.name.as_str());
    for source in sources().iter().filter(|source| !excepted(source)) {
        let code = source.code();
        for word in words.iter().filter(|word| code.contains(**word)) {
            wrong.push(format!("{} has `{word}`: {rule}", source.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_library_prints_nothing() {
    forbid(
        &["println!", "print!", "dbg!", "stdout()", "stderr()"],
        &[],
        "return it, or write to what the caller gives",
    );
}

#[test]
fn threads_live_in_few_places() {
    let places = ["risk", "domain/chain/crew.rs", "model/sections.rs"];
    forbid(&["rayon", "thread::", "ThreadPool"], &places, "threads live in risk and two files");
}

#[test]
fn one_line_is_unsafe() {
    let mut found = Vec::new();
    for source in sources() {
        let code = source.code();
        let lines = code.lines().filter(|line| line.contains("unsafe ") || line.contains("unsafe{"));
        found.extend(lines.map(|_| source.name.clone()));
    }
    assert_eq!(found, ["model/map.rs"], "find a safe way");
}

#[test]
fn files_are_short_and_say_what_they_are() {
    let mut wrong = Vec::new();
    for source in sources() {
        let limit =
            LONG_FILES.iter().find(|(name, ..)| *name == source.name).map_or(MAX_LINES, |long| long.1);
        let lines = source.text.lines().count();
        if lines > limit {
            wrong.push(format!("{}: {lines} lines, at most {limit}: split it by ideas", source.name));
        }
        if !source.text.starts_with("//! ") {
            wrong.push(format!("{}: the first line is `//!` and what the file is", source.name));
        }
    }
    for (name, ..) in LONG_FILES {
        assert!(sources().iter().any(|source| source.name == name), "{name} is gone: take it off LONG_FILES");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
