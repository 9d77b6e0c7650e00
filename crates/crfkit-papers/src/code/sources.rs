//! Hashes of sources. The build script uses this file as well, so it needs nothing but the standard library and the hash.
//!
//! Comments, white space outside strings and the tests at the end of a file are left out: they change no result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};
use xxhash_rust::xxh3::xxh3_64;

/// Parts of the crate that show results or run experiments. They change no number.
const SHOWS: &[&str] = &[
    "audit",
    "book",
    "cells",
    "chart",
    "checklist",
    "code",
    "date",
    "document",
    "experiment",
    "lib",
    "main",
    "picture",
    "store",
    "verdict",
];

/// The hash of the library: of all its files, by name.
pub fn library(directory: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    list(directory, &mut files)?;
    files.sort();
    let mut text = String::new();
    for path in files {
        text += &path.strip_prefix(directory).unwrap_or(&path).to_string_lossy();
        text += &code(&fs::read_to_string(&path)?);
    }
    Ok(hash(&text))
}

/// The hash of each experiment, by its id: of the file that declares it, and of those of this crate that this file names.
pub fn experiments(directory: &Path) -> io::Result<Vec<(String, String)>> {
    let mut modules = BTreeMap::new();
    for directory in [directory.to_owned(), directory.join("experiments")] {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.extension().is_some_and(|e| e == "rs") && name != "mod" && !SHOWS.contains(&name.as_str())
            {
                modules.insert(name, code(&fs::read_to_string(&path)?));
            }
        }
    }
    let mut all = Vec::new();
    for (module, text) in &modules {
        let sources = hash(&reached(module, &modules));
        all.extend(
            text.split("Experiment{id:\"")
                .skip(1)
                .filter_map(|rest| rest.split('"').next())
                .map(|id| (id.to_owned(), sources.clone())),
        );
    }
    all.sort();
    Ok(all)
}

/// The sources of a module and of all that it names, directly or not.
fn reached(module: &str, modules: &BTreeMap<String, String>) -> String {
    let mut names = vec![module];
    let mut next = 0;
    while let Some(text) = names.get(next).and_then(|name| modules.get(*name)) {
        for name in modules.keys() {
            if !names.contains(&name.as_str()) && mentions(text, name) {
                names.push(name);
            }
        }
        next += 1;
    }
    names.sort_unstable();
    names.iter().filter_map(|name| modules.get(*name)).map(String::as_str).collect()
}

/// Whether `text` has `module::`, and not as the end of a longer name.
fn mentions(text: &str, module: &str) -> bool {
    let path = format!("{module}::");
    text.match_indices(&path).any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn list(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn hash(text: &str) -> String {
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

/// A source without comments, white space outside strings, and the tests at its end.
pub fn code(source: &str) -> String {
    let source = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let bytes = source.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let end = match (bytes[at], bytes.get(at + 1)) {
            (b'/', Some(b'/')) => {
                at = find(bytes, at, b"\n");
                continue;
            }
            (b'/', Some(b'*')) => {
                at = comment(bytes, at);
                continue;
            }
            (b'"', _) => string(bytes, at),
            (b'r', Some(b'"' | b'#')) if !word(bytes, at) => raw(bytes, at),
            // A character, not a lifetime: 'x' or '\…'.
            (b'\'', Some(b'\\')) => find(bytes, at + 3, b"'") + 1,
            (b'\'', _) if bytes.get(at + 2) == Some(&b'\'') => at + 3,
            (byte, _) if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            _ => at + 1,
        };
        let end = end.min(bytes.len());
        out.extend_from_slice(&bytes[at..end]);
        at = end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Where `what` begins from `at` on, or the end.
fn find(bytes: &[u8], at: usize, what: &[u8]) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.windows(what.len()).position(|window| window == what).map_or(bytes.len(), |k| at + k)
}

/// Whether the byte before `at` belongs to a name.
fn word(bytes: &[u8], at: usize) -> bool {
    at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_')
}

/// The end of the block comment at `at`; such comments nest.
fn comment(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'/', Some(b'*')) => (depth, at) = (depth + 1, at + 2),
            (b'*', Some(b'/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The end of the string at `at`.
fn string(bytes: &[u8], mut at: usize) -> usize {
    at += 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// The end of the raw string at `at`, or of `r` if it is none.
fn raw(bytes: &[u8], at: usize) -> usize {
    let hashes = bytes[at + 1..].iter().take_while(|&&byte| byte == b'#').count();
    if bytes.get(at + 1 + hashes) != Some(&b'"') {
        return at + 1;
    }
    let close = [b"\"", "#".repeat(hashes).as_bytes()].concat();
    find(bytes, at + 2 + hashes, &close) + close.len()
}
