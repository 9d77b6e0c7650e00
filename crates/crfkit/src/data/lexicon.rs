//! Word lists and maps, which templates name and models store.
//!
//! A *list* has one entry on each line; an entry may have several words, separated by blanks. A *map* has a word and a value on each line,
//! separated by a tab or by blanks; the files of Brown clusters (`bits`, word, count) are read too.

use super::extractor::push_lower;
use super::strings::Strings;
use super::text::{decompress, excerpt};
use super::tokens::tokens;
use crate::error::{Error, Place, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest file that a template may name, in bytes of text. It becomes part of every model.
pub(crate) const MAX_BYTES: usize = 64 << 20;
/// The largest number of words in an entry. It bounds the time for each token.
pub(crate) const MAX_WORDS: usize = 32;

/// A file that a template names, and that its models store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LexiconFile {
    /// Its name, as it stands in the template.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// Whether look-ups are case-sensitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Words and entries are compared as they are.
    Exact,
    /// Words and entries are compared in lower case.
    Folded,
}

impl Case {
    fn push(self, word: &str, out: &mut String) {
        match self {
            Case::Exact => out.push_str(word),
            Case::Folded => push_lower(word, out),
        }
    }
}

/// Reads a file, also a compressed one, that must be UTF-8 text.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let name = path.display().to_string();
    let io = |error| Error::io(&*name, error);
    let mut bytes = Vec::new();
    let reader = decompress(Box::new(File::open(path).map_err(io)?)).map_err(io)?;
    reader.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(io)?;
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count() as u64;
        Error::input(Place::new(&name, line), "this is not UTF-8 text: convert the file to UTF-8")
    })
}

/// The lines that are not blank, with their numbers.
fn lines(file: &LexiconFile) -> Result<impl Iterator<Item = (u64, &str)>> {
    if file.text.len() > MAX_BYTES {
        let message = format!(
            "more than {} MiB of text, which would be stored in every model: use a smaller file",
            MAX_BYTES >> 20
        );
        return Err(Error::input(Place::new(&file.name, 0), message));
    }
    let text = file.text.trim_start_matches('\u{feff}');
    Ok((1..).zip(text.lines()).map(|(n, line)| (n, line.trim())).filter(|(_, line)| !line.is_empty()))
}

const ENTRY: u8 = 1;
const BEGINNING: u8 = 2;

/// A list of words and phrases.
#[derive(Clone, Debug)]
pub struct WordList {
    name: String,
    case: Case,
    /// The entries and their beginnings: words with a blank between them.
    keys: Strings,
    /// Of each key, whether it is an entry and whether it is the beginning of a longer one.
    kinds: Vec<u8>,
    entries: usize,
}

/// Lists are equal if they come from the same file: the templates that hold them compare the text.
impl PartialEq for WordList {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.case) == (&other.name, other.case)
    }
}
impl Eq for WordList {}

impl WordList {
    /// Whether it was read from this file in this way.
    pub(super) fn is(&self, name: &str, case: Case) -> bool {
        self.name == name && self.case == case
    }

    /// Reads a list.
    pub fn new(file: &LexiconFile, case: Case) -> Result<Self> {
        let mut list = WordList {
            name: file.name.clone(),
            case,
            keys: Strings::default(),
            kinds: Vec::new(),
            entries: 0,
        };
        let mut key = String::new();
        for (n, line) in lines(file)? {
            let refuse = |message: String| Error::input(Place::new(&file.name, n), message);
            if line.contains('\t') {
                return Err(refuse(
                    "a tab in a list of words: use %map for a file of words and their values, or leave only the first column".into(),
                ));
            }
            if line.split_whitespace().nth(MAX_WORDS).is_some() {
                return Err(refuse(format!(
                    "an entry of more than {MAX_WORDS} words: a list has one entry on each line"
                )));
            }
            list.add(line.split_whitespace(), &mut key);
            // The same entry as the program splits running text, where that differs.
            let split = || tokens(line).map(|range| &line[range]);
            if split().nth(MAX_WORDS).is_none() && !split().eq(line.split_whitespace()) {
                list.add(split(), &mut key);
            }
            list.entries += 1;
        }
        if list.entries == 0 {
            return Err(Error::input(
                Place::new(&file.name, 0),
                "it has no entries: a list has one entry on each line",
            ));
        }
        Ok(list)
    }

    fn add<'a>(&mut self, words: impl Iterator<Item = &'a str>, key: &mut String) {
        key.clear();
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            self.case.push(word, key);
            let id = self.keys.intern(key.as_bytes()) as usize;
            self.kinds.resize(self.kinds.len().max(id + 1), 0);
            self.kinds[id] |= if words.peek().is_some() { BEGINNING } else { ENTRY };
            key.push(' ');
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries
    }

    /// Whether there are no entries. No list that was read is empty.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Whether these words, all of them in their order, are an entry.
    pub(crate) fn has<'a>(&self, words: impl Iterator<Item = &'a str>, key: &mut String) -> bool {
        key.clear();
        for (n, word) in words.enumerate() {
            if n > 0 {
                key.push(' ');
            }
            self.case.push(word, key);
        }
        self.keys.find(key.as_bytes()).is_some_and(|id| self.kinds[id as usize] & ENTRY > 0)
    }

    /// Finds the entries in a sequence of `len` words: from left to right, the longest that begins at a word, then the next one after it. Calls
    /// `visit` with each word of an entry and with `B` for the first, `I` for the others.
    pub(crate) fn find<'a>(
        &self,
        len: usize,
        word: impl Fn(usize) -> &'a str,
        key: &mut String,
        mut visit: impl FnMut(usize, &'static str),
    ) {
        let mut start = 0;
        while start < len {
            key.clear();
            let mut longest = 0;
            for end in start..len.min(start + MAX_WORDS) {
                self.case.push(word(end), key);
                let kind = self.keys.find(key.as_bytes()).map_or(0, |id| self.kinds[id as usize]);
                if kind & ENTRY > 0 {
                    longest = end + 1 - start;
                }
                if kind & BEGINNING == 0 {
                    break;
                }
                key.push(' ');
            }
            (0..longest).for_each(|k| visit(start + k, if k == 0 { "B" } else { "I" }));
            start += longest.max(1);
        }
    }
}

/// A map from words to values.
#[derive(Clone, Debug)]
pub struct WordMap {
    name: String,
    case: Case,
    words: Strings,
    values: Vec<u32>,
    texts: Strings,
}

/// Maps are equal if they come from the same file: the templates that hold them compare the text.
impl PartialEq for WordMap {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.case) == (&other.name, other.case)
    }
}
impl Eq for WordMap {}

impl WordMap {
    /// Whether it was read from this file in this way.
    pub(super) fn is(&self, name: &str, case: Case) -> bool {
        self.name == name && self.case == case
    }

    /// Reads a map. If words are folded, the first line of a word counts.
    pub fn new(file: &LexiconFile, case: Case) -> Result<Self> {
        const SHAPE: &str = "a line has a word and its value, separated by a tab, or the bits, the word and the count of a Brown cluster";
        let mut map = WordMap {
            name: file.name.clone(),
            case,
            words: Strings::default(),
            values: Vec::new(),
            texts: Strings::default(),
        };
        let (mut width, mut key) = (None, String::new());
        for (n, line) in lines(file)? {
            let refuse = |message: String| Error::input(Place::new(&file.name, n), message);
            let tabs = line.contains('\t');
            let mut fields = line
                .split(|c: char| if tabs { c == '\t' } else { c.is_whitespace() })
                .map(str::trim)
                .filter(|f| !f.is_empty());
            let (word, value, found) = match (fields.next(), fields.next(), fields.next(), fields.next()) {
                (Some(word), Some(value), None, None) => (word, value, 2),
                (Some(bits), Some(word), Some(count), None)
                    if bits.bytes().all(|bit| b"01".contains(&bit))
                        && count.bytes().all(|c| c.is_ascii_digit()) =>
                {
                    (word, bits, 3)
                }
                _ => return Err(refuse(format!("`{}`: {SHAPE}", excerpt(line)))),
            };
            if *width.get_or_insert(found) != found {
                let first = width.unwrap_or(0);
                return Err(refuse(format!(
                    "{found} fields, but {first} in the lines before: all lines of a map need the same number"
                )));
            }
            key.clear();
            case.push(word, &mut key);
            let (id, text) = (map.words.intern(key.as_bytes()) as usize, map.texts.intern(value.as_bytes()));
            match map.values.get(id) {
                None => map.values.push(text),
                Some(&old) if old != text && case == Case::Exact => {
                    let old = String::from_utf8_lossy(map.texts.get(old)).into_owned();
                    return Err(refuse(format!(
                        "`{word}` has the value `{old}` in an earlier line: keep one of the two"
                    )));
                }
                Some(_) => {}
            }
        }
        if map.words.is_empty() {
            return Err(Error::input(Place::new(&file.name, 0), format!("it has no entries: {SHAPE}")));
        }
        Ok(map)
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are no words. No map that was read is empty.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The value of a word.
    pub(crate) fn value(&self, word: &str, key: &mut String) -> Option<&str> {
        let id = match self.case {
            Case::Exact => self.words.find(word.as_bytes())?,
            Case::Folded => {
                key.clear();
                push_lower(word, key);
                self.words.find(key.as_bytes())?
            }
        };
        std::str::from_utf8(self.texts.get(self.values[id as usize])).ok()
    }
}
