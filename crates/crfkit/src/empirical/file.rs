//! The file of a model in closed form. It holds the counts, the settings and, with EP2, the weights. The factors are
//! computed from them when the file is read.
//!
//! The container is that of all model files (`model/sections.rs`). Words and labels are in the order of their names,
//! and tuples in the order of their numbers. So equal counts give equal bytes, however they were added up.

use super::counts::{Counts, Tally, ordered};
use super::exponential::Exponential;
use super::spelling::{FEATURES, spelling};
use super::{EmpiricalMethod, EmpiricalModel, EmpiricalSettings, PairKind};
use crate::data::bytes::Bytes;
use crate::domain::{FORMAT, MAX_WEIGHT, StoredHead, StoredKind, check_labels, read_file};
use crate::model::is_text;
use crate::model::sections::{Reader, Writer};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The part of the file's head that only this kind of model has.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    labels: Vec<String>,
}

/// Names of the sections that hold the words.
const WORDS: [&str; 3] = ["words.text", "words.ends", "words.slots"];

impl EmpiricalModel {
    /// Encodes the model as a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        check_labels(self.labels()).map_err(Error::Setting)?;
        let counts = self.counts();
        let mut file = Writer::default();
        let json = |error: serde_json::Error| Error::Setting(error.to_string());
        let head = StoredHead {
            kind: StoredKind::Empirical,
            domain: serde_json::to_value(Head { labels: self.labels().to_vec() }).map_err(json)?,
            settings: serde_json::to_value(self.settings()).map_err(json)?,
        };
        file.json("head", &head);
        file.strings(WORDS, &counts.words, false);
        write_tally(&mut file, ["word.labels", "word.labels.n"], &counts.word_labels);
        write_tally(&mut file, ["label.pairs", "label.pairs.n"], &counts.label_pairs);
        write_tally(&mut file, ["word.pairs", "word.pairs.n"], &counts.word_pairs);
        write_tally(&mut file, ["rare.labels", "rare.labels.n"], &counts.rare_labels);
        write_tally(&mut file, ["rare.pairs", "rare.pairs.n"], &counts.rare_pairs);
        let none: [&[f64]; 2] = [&[], &[]];
        let [u, v] = self.exponential().map_or(none, |exponential| [&exponential.u, &exponential.v]);
        file.numbers("u", u.iter().map(|w| w.to_le_bytes()));
        file.numbers("v", v.iter().map(|w| w.to_le_bytes()));
        Ok(file.finish(&FORMAT))
    }

    /// Reads a model file, after verifying its checksum and that its parts fit each other.
    pub fn from_bytes(bytes: &[u8]) -> Result<EmpiricalModel> {
        let copy = Bytes::read(bytes, bytes.len()).map_err(|error| Error::io(FORMAT.name, error))?;
        read_file(&copy, EmpiricalModel::read)
    }

    /// Reads everything after the head.
    pub(crate) fn read(head: StoredHead, mut file: Reader) -> Result<EmpiricalModel> {
        head.expect(StoredKind::Empirical)?;
        let json = |error: serde_json::Error| FORMAT.damaged(format!("section `head`: {error}"));
        let Head { labels } = serde_json::from_value(head.domain).map_err(json)?;
        let settings: EmpiricalSettings = serde_json::from_value(head.settings).map_err(json)?;
        check_labels(&labels).map_err(|why| FORMAT.damaged(why))?;
        settings.check().map_err(|error| FORMAT.damaged(error))?;
        let mut counts = Counts::new(settings.pairs);
        labels.iter().for_each(|label| _ = counts.labels.intern(label.as_bytes()));
        counts.words = file.strings(WORDS)?;
        if !is_text(&counts.words) || !counts.words.iter().is_sorted_by(|a, b| a < b) {
            return Err(FORMAT.damaged("its words are not sorted and distinct texts"));
        }
        let text = |word| spelling(std::str::from_utf8(word).unwrap_or_default());
        counts.spellings = counts.words.iter().map(text).collect();
        let (words, labels) = (counts.words.len() as u32, labels.len() as u32);
        let spellings = 1 << FEATURES;
        counts.word_labels = read_tally(&mut file, ["word.labels", "word.labels.n"], [words, labels])?;
        counts.label_pairs = read_tally(&mut file, ["label.pairs", "label.pairs.n"], [labels, labels])?;
        let four = |of: u32| [of, of, labels, labels];
        counts.word_pairs = read_tally(&mut file, ["word.pairs", "word.pairs.n"], four(words))?;
        counts.rare_labels = read_tally(&mut file, ["rare.labels", "rare.labels.n"], [spellings, labels])?;
        counts.rare_pairs = read_tally(&mut file, ["rare.pairs", "rare.pairs.n"], four(spellings))?;
        check_counts(&counts).map_err(|why| FORMAT.damaged(why))?;
        let [u, v] = [file.numbers("u", f64::from_le_bytes)?, file.numbers("v", f64::from_le_bytes)?];
        file.finish()?;
        let expected = match settings.method {
            EmpiricalMethod::Ep1 => [0, 0],
            EmpiricalMethod::Ep2 => Exponential::dims(counts.labels(), settings.pairs),
        };
        if [u.len(), v.len()] != expected || !u.iter().chain(&v).all(|w| w.abs() < MAX_WEIGHT) {
            return Err(FORMAT.damaged("its weights are not those of its method"));
        }
        let exponential = (settings.method == EmpiricalMethod::Ep2).then_some(Exponential { u, v });
        Ok(EmpiricalModel::from_parts(settings, counts, exponential))
    }
}

/// Checks what the estimates rely on: every word and every label was counted, and each word of a pair was also counted
/// with the label that it has in the pair.
fn check_counts(counts: &Counts) -> std::result::Result<(), &'static str> {
    let (mut words, mut labels) = (vec![false; counts.words()], vec![false; counts.labels()]);
    for [word, label] in counts.word_labels.keys() {
        words[*word as usize] = true;
        labels[*label as usize] = true;
    }
    counts.rare_labels.keys().for_each(|[_, label]| labels[*label as usize] = true);
    if !words.iter().chain(&labels).all(|seen| *seen) {
        return Err("it has a word or a label that was never counted");
    }
    let seen = |word: &u32, label: &u32| counts.word_labels.contains_key(&[*word, *label]);
    if !counts.word_pairs.keys().all(|[a, b, i, j]| seen(a, i) && seen(b, j)) {
        return Err("it has a pair of words with labels that they never had");
    }
    let has_pairs = !(counts.word_pairs.is_empty() && counts.rare_pairs.is_empty());
    match has_pairs && counts.pairs == PairKind::Tags {
        true => Err("it has word pairs that its settings do not use"),
        false => Ok(()),
    }
}

/// Writes two sections: the tuples in order, and the count of each.
fn write_tally<const N: usize>(file: &mut Writer<'_>, [keys, counts]: [&'static str; 2], tally: &Tally<N>) {
    let entries = ordered(tally);
    file.bytes(
        keys,
        entries.iter().flat_map(|(key, _)| key.map(u32::to_le_bytes)).flatten().collect::<Vec<u8>>(),
    );
    file.numbers(counts, entries.iter().map(|(_, n)| n.to_le_bytes()));
}

/// Reads tuples with their counts. Each number of a tuple must be below its entry in `ends`, and each count at least 1.
/// Sums of the counts cannot overflow.
fn read_tally<const N: usize>(
    file: &mut Reader,
    [keys, counts]: [&str; 2],
    ends: [u32; N],
) -> Result<Tally<N>> {
    let numbers = file.numbers(keys, u32::from_le_bytes)?;
    let (keys, rest) = numbers.as_chunks::<N>();
    let counts = file.numbers(counts, u64::from_le_bytes)?;
    let in_range = |key: &[u32; N]| key.iter().zip(ends).all(|(&number, end)| number < end);
    let sum = counts.iter().try_fold(0u64, |sum, &n| sum.checked_add(n));
    let possible = !counts.contains(&0) && sum.is_some_and(|sum| sum < 1 << 60);
    let fits = rest.is_empty() && keys.len() == counts.len() && keys.is_sorted_by(|a, b| a < b);
    match fits && possible && keys.iter().all(in_range) {
        true => Ok(keys.iter().copied().zip(counts).collect()),
        false => Err(FORMAT.damaged("its counts are not those of its words and labels")),
    }
}
