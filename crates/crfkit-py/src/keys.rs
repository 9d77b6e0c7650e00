//! The keys of dicts of features. Tokens mostly have the same ones in the same order, often as the same objects: what is known of a key
//! then need not be found out again.

use crate::walk::text_of;
use crfkit::data::attributes::HashedAttributes;
use pyo3::prelude::*;

/// Stands between a key and its text, and between the names of nested features, as in python-crfsuite's own code. (Its
/// documentation has `=` for texts.)
pub(crate) const SEPARATOR: &str = ":";
/// The most keys that are kept.
const MOST: usize = 256;
/// The longest key that is kept, and the longest text that is kept behind one, in bytes. With [`MOST`], they bound the memory of all keys.
const LONGEST: usize = 256;
/// After so many dicts in a row of which most keys were new, keys are not kept any more.
const PATIENCE: usize = 8;

/// A key that is kept, so that no other object can have its address.
pub(crate) struct Key {
    object: Py<PyAny>,
    /// The key, the separator and, behind them, the text of the last value.
    text: String,
    /// The length of the key.
    len: usize,
    hash: u64,
}

impl Key {
    /// The key that has this text; `None` if that is empty or too long.
    fn of(object: &Bound<'_, PyAny>, name: &str) -> Option<Self> {
        if name.is_empty() || name.len() > LONGEST {
            return None;
        }
        let (text, hash) = ([name, SEPARATOR].concat(), HashedAttributes::hash_of(name));
        Some(Key { object: object.clone().unbind(), text, len: name.len(), hash })
    }

    /// The text of the key.
    pub(crate) fn name(&self) -> &str {
        &self.text[..self.len]
    }

    /// The text of the key, with the separator.
    pub(crate) fn prefix(&self) -> &str {
        &self.text[..self.len + SEPARATOR.len()]
    }

    /// The hash of the key.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// The name of the feature that has a text as its value; `None` if the text is too long to be kept.
    #[inline]
    pub(crate) fn with(&mut self, text: &str) -> Option<&str> {
        if text.len() > LONGEST {
            return None;
        }
        self.text.truncate(self.len + SEPARATOR.len());
        self.text.push_str(text);
        Some(&self.text)
    }
}

/// The keys of the last dicts, by their places.
#[derive(Default)]
pub(crate) struct Keys {
    /// The last key at each place, and the one before it: tokens at the ends of a sequence often have other keys than the rest.
    keys: Vec<(Key, Option<Key>)>,
    /// Keys of this dict that were new.
    new: usize,
    /// The last dicts of which most keys were new.
    strange: usize,
}

impl Keys {
    /// What is known of a key at this place in a dict, if anything is.
    #[inline(always)]
    pub(crate) fn find(&mut self, place: usize, key: &Bound<'_, PyAny>) -> Option<&mut Key> {
        match self.keys.get(place) {
            Some((known, _)) if known.object.is(key) => self.keys.get_mut(place).map(|(known, _)| known),
            _ => self.learn(place, key),
        }
    }

    /// The same for another object, which may have the same text. Otherwise it takes the place.
    #[inline(never)]
    fn learn(&mut self, place: usize, object: &Bound<'_, PyAny>) -> Option<&mut Key> {
        if self.strange >= PATIENCE || place >= MOST || place > self.keys.len() {
            return None;
        }
        let Some(Ok(text)) = text_of(object) else { return None };
        match self.keys.get_mut(place) {
            Some((last, _)) if last.name() == text => {}
            Some((last, Some(before))) if before.name() == text => std::mem::swap(last, before),
            Some((last, before)) => {
                self.new += 1;
                *before = Some(std::mem::replace(last, Key::of(object, text)?));
            }
            None => {
                self.new += 1;
                self.keys.push((Key::of(object, text)?, None));
            }
        }
        self.keys.get_mut(place).map(|(known, _)| known)
    }

    /// Ends a dict of this many keys.
    pub(crate) fn finish(&mut self, keys: usize) {
        match 2 * std::mem::take(&mut self.new) > keys.min(MOST) {
            true => self.strange += 1,
            false if self.strange < PATIENCE => self.strange = 0,
            false => {}
        }
    }
}
