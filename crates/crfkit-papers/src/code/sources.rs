//! Hashes of sources. The build script uses this file as well, so it needs nothing but the standard library and the hash.
//!
//! Comments, white space outside strings and the tests at the end of a file are left out: they change no result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};
use xxhash_rust::xxh3::xxh3_64;

/// Parts of the crate that run experiments, judge results or show them. They change no measured number.
const SHOWS: &[&str] = &[
    "audit",
    "book",
    "cells",
    "chart",
    "checklist",
    "code",
    "confirm",
    "date",
    "document",
    "experiment",
    "lib",
    "main",
    "picture",
    "store",
    "verdict",
    // Comparisons of stored numbers with the papers', and the claims and reasons that follow from them. They are made anew whenever a result
    // is read, so a correction needs no rerun.
    "psa_table",
    "reviews",
];

/// The sources of the library, by *room*: a folder or file of its root, each folder of `domain`, which is a kind of model, and the file of checkpoints.
pub struct Library {
    rooms: BTreeMap<String, String>,
    /// Functions that a room gives to types from elsewhere: who calls them need not name the room. Such a trait has no names: anyone may use it.
    given: BTreeMap<String, Vec<String>>,
    /// What the root hands on, such as `chain` of `domain::chain`: name and room.
    handed: Vec<(String, String)>,
}

impl Library {
    /// Reads all files.
    pub fn read(directory: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        list(directory, &mut files)?;
        files.sort();
        let (mut rooms, mut handed) = (BTreeMap::<String, String>::new(), Vec::new());
        let mut sources = BTreeMap::<String, String>::new();
        for path in files {
            let name = path.strip_prefix(directory).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            let source = fs::read_to_string(&path)?;
            let text = code(&source);
            *sources.entry(room(&name)).or_default() += &plain(&source);
            if name == "lib.rs" {
                handed = handed_on(&text);
            }
            *rooms.entry(room(&name)).or_default() += &(name + &text);
        }
        let given = sources.iter().map(|(room, text)| (room.clone(), foreign(text))).collect();
        Ok(Library { rooms, given, handed })
    }

    /// The hash of all rooms.
    pub fn whole(&self) -> String {
        hash(&self.rooms.values().map(String::as_str).collect::<String>())
    }

    /// The rooms that a source outside the library can reach, directly or not: those that it names, those that these name, and those that
    /// could matter without being named.
    pub fn reached(&self, text: &str) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        let open = |room: &str| self.given[room].iter().any(String::is_empty);
        let always = self.rooms.keys().filter(|room| *room == "lib" || open(room));
        found.extend(always.map(String::as_str));
        let mut next = 0;
        let mut texts = vec![("", text)];
        texts.extend(found.iter().map(|room| (*room, self.rooms[*room].as_str())));
        while let Some(&(from, text)) = texts.get(next) {
            for (room, code) in &self.rooms {
                let parent = from.strip_prefix(room.as_str()).is_some_and(|rest| rest.starts_with('/'));
                // The root names every room and uses none.
                let named = from != "lib" && (parent || self.names(from, text, room));
                if named && !found.contains(&room.as_str()) {
                    found.push(room);
                    texts.push((room, code));
                }
            }
            next += 1;
        }
        found.sort_unstable();
        found
    }

    /// The hash of the rooms that a source can reach.
    pub fn hash_for(&self, text: &str) -> String {
        hash(&self.reached(text).iter().map(|room| self.rooms[*room].as_str()).collect::<String>())
    }

    /// Whether `text`, a source of the room `from`, names `room`. It may say so where it does not; that costs a rerun, and no truth.
    fn names(&self, from: &str, text: &str, room: &str) -> bool {
        let path = room.replace('/', "::");
        let within_domain = from.starts_with("domain") && room.starts_with("domain/");
        let short = room.rsplit('/').next().unwrap_or(room);
        let handed = self.handed.iter().filter(|(_, of)| of == room).map(|(name, _)| name.as_str());
        handed.chain([path.as_str()]).any(|name| from_the_root(text, name))
            || (within_domain && mentions(text, short))
            || self.given[room].iter().any(|name| has_word(text, name))
            || groups(text, "domain::{").any(|group| room.starts_with("domain/") && has_word(group, short))
    }
}

/// The room of a file: its folder or its own name, of files in a folder of `domain` that folder. The file of checkpoints is a room of its own.
fn room(file: &str) -> String {
    let parts: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
    match &parts[..] {
        ["domain", kind, _, ..] => format!("domain/{kind}"),
        // It writes what a run may resume from, and no experiment resumes.
        ["checkpoint", "file"] => "checkpoint/file".into(),
        [first, ..] => (*first).into(),
        [] => String::new(),
    }
}

/// What the root of the library hands on, with the room that it is from: `pub use front::{Model, Trainer}`.
fn handed_on(root: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in root.match_indices("pubuse") {
        let item = root[at + 6..].split(';').next().unwrap_or_default();
        let Some((of, names)) = item.rsplit_once("::") else { continue };
        for name in names.trim_matches(['{', '}']).split(',').filter(|name| !name.is_empty()) {
            // A kind of model is a room of its own.
            let of = if of == "domain" { format!("domain/{name}") } else { of.to_owned() };
            found.push((name.to_owned(), of));
        }
    }
    found
}

/// Whether `text` has the path `name` from the root of the library, alone or in a group.
fn from_the_root(text: &str, name: &str) -> bool {
    ["crate::", "crfkit::"].iter().any(|root| {
        let path = format!("{root}{name}");
        let alone = text.match_indices(&path).any(|(at, _)| !text[at + path.len()..].starts_with(of_a_word));
        alone || groups(text, &format!("{root}{{")).any(|group| has_word(group, name))
    })
}

/// What stands in braces behind `head`.
fn groups<'a>(text: &'a str, head: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(head).map(move |(at, _)| {
        let rest = &text[at + head.len()..];
        let mut depth = 1;
        let end = rest.find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        &rest[..end.unwrap_or(rest.len())]
    })
}

fn of_a_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(of_a_word) && !text[at + word.len()..].starts_with(of_a_word))
}

/// A source without its tests and without lines of comments, its words one space apart.
fn plain(source: &str) -> String {
    let source = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(str::split_whitespace).fold(String::new(), |text, word| text + word + " ")
}

/// The functions of implementations for types that `text` does not define; an empty name stands for a trait that it does not define
/// either.
pub fn foreign(text: &str) -> Vec<String> {
    let own = |name: &str| {
        let kinds = ["struct", "enum", "union", "trait", "type"];
        kinds.iter().any(|kind| has_word(text, &format!("{kind} {name}")))
    };
    let starts = text.match_indices("impl").map(|(at, _)| at);
    let starts = starts.filter(|&at| {
        let before = text[..at].trim_end();
        let begins =
            before.is_empty() || before.ends_with(['}', ';', ']', '{']) || before.ends_with("unsafe");
        begins && text[at + 4..].starts_with([' ', '<'])
    });
    let mut found = Vec::new();
    for at in starts {
        let rest = &text[at + 4..];
        let header = rest.split(['{', ';']).next().unwrap_or_default();
        let named = header.split(" where ").next().unwrap_or_default();
        // Behind the parameters of the implementation itself.
        let named = if named.starts_with('<') { behind_brackets(named) } else { named };
        match named.split_once(" for ") {
            Some((of, target)) if !own(head(of)) && !own(head(target)) => found.push(String::new()),
            Some(_) => {}
            // `Theirs<Ours>` is a type of which one part has to be named.
            None if named.split(|c| !of_a_word(c)).any(own) => {}
            None => {
                let body = groups(&rest[header.len()..], "{").next().unwrap_or_default();
                let names =
                    body.split(" fn ").skip(1).filter_map(|rest| rest.split(|c| !of_a_word(c)).next());
                found.extend(names.map(String::from));
            }
        }
    }
    found
}

/// What follows the brackets with which `text` begins.
fn behind_brackets(text: &str) -> &str {
    let mut depth = 0;
    let mut before = ' ';
    let end = text.find(|c| {
        depth += i32::from(c == '<') - i32::from(c == '>' && before != '-');
        before = c;
        depth == 0
    });
    end.map_or("", |end| &text[end + 1..])
}

/// The name of a type or trait, without its path, parameters and references.
fn head(text: &str) -> &str {
    let text = text.trim().trim_start_matches(['&', '(', '[']);
    let text = text.trim_start_matches("mut ").trim_start_matches("dyn ");
    let text = text.split(['<', ' ', ',', ')']).next().unwrap_or_default();
    text.rsplit("::").next().unwrap_or(text)
}

/// The hashes of each experiment, by its id: of the rooms of the library that it can reach, and of the file that declares it with those
/// of this crate that this file names.
pub fn experiments(directory: &Path, library: &Library) -> io::Result<Vec<(String, String, String)>> {
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
        let sources = reached(module, &modules);
        let hashes = [library.hash_for(&sources), hash(&sources)];
        all.extend(
            text.split("Experiment{id:\"")
                .skip(1)
                .filter_map(|rest| rest.split('"').next())
                .map(|id| (id.to_owned(), hashes[0].clone(), hashes[1].clone())),
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
