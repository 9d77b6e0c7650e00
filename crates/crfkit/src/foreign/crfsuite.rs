//! CRFsuite's model files, read and written.
//!
//! ```text
//!  0  "lCRF", length of the file, "FOMC", 100
//! 16  number of features (0 in many files), of labels, of attributes
//! 28  positions of the features, the labels, the attributes, the features of labels, the features of attributes
//! 48  "FEAT", length, number, then for each feature its kind (0: attribute and label, 1: label and next label), two numbers, weight f64
//!     names of labels and of attributes: CQDB
//!     "LFRF", length, number, then the position of each label's list: number of features, features
//!     "AFRF", the same for attributes
//! ```
//!
//! Numbers have 32 bits, little-endian, unless another type is named.

use super::assembly::Assembly;
use super::{Toolkit, cqdb};
use crate::data::observer::Source;
use crate::domain::MAX_WEIGHT;
use crate::domain::chain::ChainModel;
use crate::graph::{BEGIN, END, NODES, PAIR, PAIRS};
use crate::settings::Constraint;
use crate::{Error, Result};

/// The first bytes of a file.
pub(crate) const MAGIC: &[u8] = b"lCRF";
const TYPE: &[u8; 4] = b"FOMC";
const VERSION: u32 = 100;
const HEADER: usize = 48;
/// Name, length and number of entries of a chunk.
const CHUNK: usize = 12;
const FEATURE: usize = 20;
const STATE: u32 = 0;
const TRANSITION: u32 = 1;

/// The number at a position; `None` past the end.
pub(super) fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// Appends a number.
pub(super) fn push(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn damaged(why: impl std::fmt::Display) -> Error {
    Toolkit::Crfsuite.damaged(why)
}

/// Reads a model file of CRFsuite. Labels keep their order, which decides between equally good labels.
pub fn read(bytes: &[u8]) -> Result<ChainModel> {
    let word = |at: usize| number(bytes, at).ok_or_else(|| damaged("it ends too early"));
    if bytes.len() < HEADER || !bytes.starts_with(MAGIC) {
        return Err(damaged("it ends too early"));
    }
    let (length, version) = (word(4)? as usize, word(12)?);
    if length > bytes.len() {
        return Err(damaged(format!("it is cut off after {} of {length} bytes", bytes.len())));
    }
    if &bytes[8..12] != TYPE || version != VERSION {
        let kind = String::from_utf8_lossy(&bytes[8..12]);
        return Err(Toolkit::Crfsuite.refuse(format!(
            "this model of CRFsuite has type {} and version {version}; crfkit reads type FOMC, version {VERSION}",
            kind.escape_debug()
        )));
    }
    let (labels, attributes) = (word(20)? as usize, word(24)? as usize);
    if labels == 0 {
        return Err(Toolkit::Crfsuite.refuse(
            "this model of CRFsuite has no labels, because it was trained on no data: train it on labelled sequences",
        ));
    }
    let names = |position: usize, count: usize| {
        let chunk = bytes.get(word(position)? as usize..).ok_or_else(|| damaged("it ends too early"))?;
        cqdb::strings(chunk, count).map_err(damaged)
    };
    let label_names = names(32, labels)?.into_iter().map(str::to_owned).collect();
    let mut model = Assembly::new(Toolkit::Crfsuite, label_names, Source::Attributes)?;
    for name in names(36, attributes)? {
        let known = model.alphabet.node.len();
        if model.alphabet.node.intern(name.as_bytes()) as usize != known {
            return Err(damaged(format!("two attributes are called `{}`", name.escape_debug())));
        }
    }
    let features = Features::of(bytes)?;
    // In a sound file every entry of a list has bytes of its own.
    let mut left = bytes.len() / 4;
    let mut list = Vec::new();
    for label in 0..labels {
        features.listed(40, b"LFRF", label, TRANSITION, &mut left, &mut list)?;
        list.sort_by_key(|(to, _)| *to);
        if list.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(damaged(format!("label {label} has two weights for one next label")));
        }
        list.iter().for_each(|&(to, weight)| model.transition(label, to as usize, weight));
    }
    for attribute in 0..attributes {
        features.listed(44, b"AFRF", attribute, STATE, &mut left, &mut list)?;
        model.node(&mut list);
    }
    model.finish()
}

/// The features of a file.
struct Features<'a> {
    file: &'a [u8],
    /// Position of the first.
    first: usize,
    count: usize,
    labels: u32,
}

impl<'a> Features<'a> {
    fn of(file: &'a [u8]) -> Result<Self> {
        let word = |at: usize| number(file, at).ok_or_else(|| damaged("it ends too early"));
        let start = word(28)? as usize;
        let rest = file.get(start..).filter(|rest| rest.starts_with(b"FEAT"));
        let rest = rest.ok_or_else(|| damaged("its features are not where they should be"))?;
        let count = word(start.saturating_add(8))? as usize;
        match count.checked_mul(FEATURE).is_some_and(|size| size <= rest.len().saturating_sub(CHUNK)) {
            true => Ok(Features { file, first: start + CHUNK, count, labels: word(20)? }),
            false => Err(damaged(format!("it announces {count} features, more than it can hold"))),
        }
    }

    /// Reads the features of one label or attribute into `list`: the label that each is about, and its weight. The position of the
    /// lists is in the header at `header`. `left` counts the entries that lists may still have.
    fn listed(
        &self,
        header: usize,
        chunk: &[u8; 4],
        owner: usize,
        kind: u32,
        left: &mut usize,
        list: &mut Vec<(u32, f64)>,
    ) -> Result<()> {
        let wrong = || damaged(format!("list {owner} of its features is not where it should be"));
        let word = |at: usize| number(self.file, at).ok_or_else(wrong);
        list.clear();
        let lists = word(header)? as usize;
        if self.file.get(lists..).is_none_or(|rest| !rest.starts_with(chunk))
            || word(lists + 8)? as usize <= owner
        {
            return Err(wrong());
        }
        let at = word(lists + CHUNK + 4 * owner)? as usize;
        let length = word(at)? as usize;
        *left = left.checked_sub(length).ok_or_else(wrong)?;
        for k in 0..length {
            let id = word(at + 4 + 4 * k)? as usize;
            if id >= self.count {
                return Err(wrong());
            }
            let feature = &self.file[self.first + FEATURE * id..][..FEATURE];
            let field = |k: usize| number(feature, 4 * k);
            let (label, bytes) = (field(2).unwrap_or(u32::MAX), feature[12..].try_into().unwrap_or_default());
            if field(0) != Some(kind) || field(1) != Some(owner as u32) || label >= self.labels {
                return Err(damaged(format!("feature {id} does not fit the list that names it")));
            }
            list.push((label, f64::from_le_bytes(bytes)));
        }
        Ok(())
    }
}

/// Encodes a model as a file of CRFsuite. Zero weights, and attributes without weights, are left out.
///
/// `order` names all labels in the order that they shall have in the file; without it, they have that of the model. A model that such
/// a file cannot hold is an error, which says why.
pub fn write(model: &ChainModel, order: Option<&[String]>) -> Result<Vec<u8>> {
    let model = model.compact();
    check_fits(&model)?;
    let (labels, features) = (&model.domain.labels, &model.features);
    let labels = order.unwrap_or(labels);
    let place: Vec<u32> = places(&model.domain.labels, labels)?;
    let weights = &model.weights[..];
    // Features of attributes, then those of label pairs; each knows the list that it belongs to.
    let rows = &features.rows[NODES];
    let mut table = Vec::new();
    let mut of_attributes = vec![Vec::new(); rows.len];
    for row in 0..rows.len as u32 {
        let mut own: Vec<(u32, f64)> = rows
            .entries_of(row)
            .map(|label| place[label])
            .zip(weights[rows.range(row)].iter().copied())
            .collect();
        own.sort_by_key(|(label, _)| *label);
        for (label, weight) in own {
            of_attributes[row as usize].push(table.len() as u32);
            table.push((STATE, row, label, weight));
        }
    }
    let mut of_labels = vec![Vec::new(); labels.len()];
    let place_of = |entry: usize| (place[entry / rows.stride()], place[entry % rows.stride()]);
    let pairs = features.tables[PAIR].entry.iter().map(|entry| place_of(*entry as usize));
    let mut pairs: Vec<((u32, u32), f64)> =
        pairs.zip(weights[features.tables[PAIR].base..].iter().copied()).collect();
    pairs.sort_by_key(|(pair, _)| *pair);
    for ((from, to), weight) in pairs {
        of_labels[from as usize].push(table.len() as u32);
        table.push((TRANSITION, from, to, weight));
    }
    let mut file = vec![0; HEADER];
    let mut positions = vec![file.len()];
    file.extend_from_slice(b"FEAT");
    push(&mut file, (CHUNK + FEATURE * table.len()) as u32);
    push(&mut file, table.len() as u32);
    for (kind, source, label, weight) in &table {
        [*kind, *source, *label].into_iter().for_each(|number| push(&mut file, number));
        file.extend_from_slice(&weight.to_le_bytes());
    }
    positions.push(file.len());
    cqdb::write(labels.iter().map(String::as_bytes), &mut file);
    file.resize(file.len().next_multiple_of(4), 0);
    positions.push(file.len());
    cqdb::write(model.domain.alphabet.node.iter(), &mut file);
    for (chunk, lists) in [(b"LFRF", &of_labels), (b"AFRF", &of_attributes)] {
        file.resize(file.len().next_multiple_of(4), 0);
        positions.push(file.len());
        write_lists(chunk, lists, &mut file);
    }
    if u32::try_from(file.len()).is_err() {
        return Err(cannot("takes more than 4 GiB", "shrink it first"));
    }
    let counts = [table.len(), labels.len(), rows.len];
    file[..4].copy_from_slice(MAGIC);
    file[8..12].copy_from_slice(TYPE);
    let numbers = [(4, file.len()), (12, VERSION as usize)].into_iter();
    let fields = counts.into_iter().chain(positions).enumerate().map(|(k, number)| (16 + 4 * k, number));
    for (at, number) in numbers.chain(fields) {
        file[at..at + 4].copy_from_slice(&(number as u32).to_le_bytes());
    }
    Ok(file)
}

/// A file of CRFsuite without labels and features, which is what CRFsuite writes if it was given no data.
#[doc(hidden)]
pub fn nothing() -> Vec<u8> {
    let mut file = vec![0; HEADER];
    let mut positions = vec![HEADER as u32];
    file.extend_from_slice(b"FEAT");
    push(&mut file, CHUNK as u32);
    push(&mut file, 0);
    for _ in 0..2 {
        positions.push(file.len() as u32);
        cqdb::write(std::iter::empty(), &mut file);
    }
    for chunk in [b"LFRF", b"AFRF"] {
        positions.push(file.len() as u32);
        write_lists(chunk, &[], &mut file);
    }
    file[..4].copy_from_slice(MAGIC);
    file[8..12].copy_from_slice(TYPE);
    let fields = positions.iter().enumerate().map(|(k, position)| (28 + 4 * k, *position));
    for (at, number) in [(4, file.len() as u32), (12, VERSION)].into_iter().chain(fields) {
        file[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
    file
}

/// Appends a chunk of lists of numbers.
fn write_lists(chunk: &[u8; 4], lists: &[Vec<u32>], file: &mut Vec<u8>) {
    let start = file.len();
    let first = start + CHUNK + 4 * lists.len();
    let size: usize = lists.iter().map(|list| 4 + 4 * list.len()).sum();
    file.extend_from_slice(chunk);
    push(file, (first - start + size) as u32);
    push(file, lists.len() as u32);
    let mut at = first;
    for list in lists {
        push(file, at as u32);
        at += 4 + 4 * list.len();
    }
    for list in lists {
        push(file, list.len() as u32);
        list.iter().for_each(|number| push(file, *number));
    }
}

/// The place of each of the model's labels in `order`, which must have the same labels.
fn places(labels: &[String], order: &[String]) -> Result<Vec<u32>> {
    let known: std::collections::HashMap<&str, u32> = order.iter().map(String::as_str).zip(0..).collect();
    let place = |label: &String| known.get(label.as_str()).copied();
    let places = labels.iter().map(place).collect::<Option<Vec<u32>>>();
    places.filter(|_| order.len() == labels.len() && known.len() == labels.len()).ok_or_else(|| {
        Error::Setting("the order of labels must name every label of the model once, and no other".into())
    })
}

fn cannot(what: &str, remedy: &str) -> Error {
    Error::Setting(format!("this model {what}, which a file of CRFsuite cannot hold: {remedy}"))
}

/// Rejects models that mean something that such a file cannot say. The model is compact.
fn check_fits(model: &ChainModel) -> Result<()> {
    let (domain, settings, features) = (&model.domain, &model.settings, &model.features);
    if matches!(domain.source, Source::Templates(_)) {
        return Err(cannot("makes its features from columns by templates", "train on attributes"));
    }
    if domain.vectors.is_some() {
        return Err(cannot("has vectors of numbers", "train with named features alone"));
    }
    if features.rows[PAIRS].len > 0 {
        return Err(cannot("has features of label pairs", "train without them"));
    }
    if !(features.tables[BEGIN].entry.is_empty() && features.tables[END].entry.is_empty()) {
        return Err(cannot("has weights of first and last labels", "train without `boundaries`"));
    }
    if settings.constraint.is_some_and(|constraint| constraint != Constraint::None) {
        return Err(cannot("has a constraint on its labels", "drop it with `constraint` none"));
    }
    if domain.lattice.triples {
        return Err(cannot("is a second-order chain", "train with `order` 1"));
    }
    if domain.lattice.segments.is_some() {
        return Err(cannot("has weights of segments", "train without `segments`"));
    }
    if domain.lattice.rules.is_some() {
        return Err(cannot("was trained under a constraint on its labels", "train without it"));
    }
    if settings.objective.direction().is_some() {
        return Err(cannot("is a MEMM", "train with another `objective`"));
    }
    if !model.weights.iter().all(|w| w.abs() <= MAX_WEIGHT) {
        return Err(cannot(
            "has a weight above 1e100",
            "multiply the values of its features by a large number",
        ));
    }
    let zero = |name: &[u8]| name.contains(&0);
    if domain.labels.iter().any(|label| zero(label.as_bytes())) || domain.alphabet.node.iter().any(zero) {
        return Err(cannot("has a name with a NUL character", "rename it"));
    }
    Ok(())
}
