//! The labellings that a model of chains knows: how training data decides them, and how a file stores them.

use super::constraint::scheme_rules;
use super::segments;
use crate::data::columns::Columns;
use crate::data::dataset::Dataset;
use crate::data::label_rules;
use crate::eval::Scheme;
use crate::graph::{Chain, FIRST_SET, Label, LabelBits, LabelRules, Lattice, SegmentLabels, Segments};
use crate::model::Keep;
use crate::settings::Settings;
use crate::{Error, Place, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The most labels of a second-order chain: the table of three of them then takes 512 MB, and training needs several.
pub(super) const MAX_SECOND_ORDER: usize = 400;

/// The lattice that was asked for, before the labels are known.
#[derive(Debug, Default)]
pub(super) struct LatticePlan {
    /// Second-order chains, with these label pairs.
    pub(super) second_order: Option<Keep>,
    /// The constraint that training obeys.
    pub(super) constraint: Option<TrainingRules>,
    /// The most tokens of a segment, if segments have scores.
    pub(super) segments: Option<usize>,
    /// Where each sequence was read, if there is a constraint.
    pub(super) places: Vec<Place>,
    /// The sequences, if their segments have observations: those of all possible segments are made at the end.
    pub(super) columns: Vec<Arc<Columns>>,
}

/// A constraint before the labels are known.
#[derive(Clone, Debug)]
pub(super) enum TrainingRules {
    /// A notation of chunks.
    Scheme(Scheme),
    /// The text of a file of rules, and its name.
    Text(String, String),
}

impl LatticePlan {
    /// Remembers where a sequence was read, if that may be needed.
    pub(super) fn add(&mut self, place: impl FnOnce() -> Place) {
        if self.constraint.is_some() || self.segments.is_some() {
            self.places.push(place());
        }
    }

    /// The same plan, for other sequences.
    pub(super) fn like_this(&self) -> Self {
        LatticePlan {
            second_order: self.second_order,
            constraint: self.constraint.clone(),
            segments: self.segments,
            places: Vec::new(),
            columns: Vec::new(),
        }
    }

    /// Remembers where a sequence of another plan was read.
    pub(super) fn take(&mut self, other: &LatticePlan, sequence: usize) {
        self.places.extend(other.places.get(sequence).cloned());
        self.columns.extend(other.columns.get(sequence).cloned());
    }

    /// Rejects data that cannot have segments, and gives its chains segments. The labels that continue one are not known yet.
    pub(super) fn prepare(&self, data: &mut Dataset<Chain>) -> Result<()> {
        let Some(longest) = self.segments else { return Ok(()) };
        if longest == 0 {
            return Err(Error::Setting("`segments` is 0, but a segment has at least one token".into()));
        }
        data.set_graphs(|chain| Chain {
            segments: Some(Segments { longest, inner: (0, 0), own: false }),
            ..*chain
        });
        Ok(())
    }

    /// The lattice of these labels. The chains of `data` become those of the lattice. It is an error if a sequence breaks the constraint.
    pub(super) fn lattice(&self, labels: &[String], data: &mut Dataset<Chain>) -> Result<Lattice> {
        let constraint = match &self.constraint {
            None => None,
            Some(TrainingRules::Scheme(scheme)) => Some(scheme_rules(labels, *scheme)),
            Some(TrainingRules::Text(text, name)) => Some(label_rules::parse(text, name, labels)?),
        };
        if let Some(rules) = &constraint {
            let remedy = "correct the label, or train without the constraint";
            (0..data.len()).try_for_each(|example| self.check(rules, labels, data, example, remedy))?;
        }
        let lattice = self.by_pairs(labels, data)?;
        let lattice = if self.segments.is_some() { self.with_segments(labels, data)? } else { lattice };
        let rules = match (lattice.rules, constraint) {
            (Some(pairs), Some(rules)) => Some(Arc::new(pairs.and(&rules))),
            (pairs, rules) => pairs.or(rules.map(Arc::new)),
        };
        if let (Some(rules), Some(segments)) = (&rules, &lattice.segments) {
            self.check_possible(rules, segments, data)?;
        }
        Ok(Lattice { rules, ..lattice })
    }

    /// Rejects a sequence that breaks the constraint.
    fn check(
        &self,
        rules: &LabelRules,
        labels: &[String],
        data: &Dataset<Chain>,
        example: usize,
        remedy: &str,
    ) -> Result<()> {
        let gold = data.gold(example);
        let refuse =
            |why: String| Err(Error::input(self.places[example].clone(), format!("{why}: {remedy}")));
        if let Some(known) = known(data, example, labels.len()) {
            return match rules.possible(gold.len(), |t| known[t].as_ref()) {
                true => Ok(()),
                false => refuse(
                    "no labelling of this sequence that agrees with its labels obeys the constraint".into(),
                ),
            };
        }
        let at = |t: usize| gold.get(t).map(|&label| label as usize);
        let before = |t: usize| t.checked_sub(1).and_then(at);
        let broken = (0..=gold.len()).find(|&t| !gold.is_empty() && !rules.allows(before(t), at(t)));
        let name = |label: Option<usize>| label.map_or("", |label| labels[label].as_str());
        match broken {
            None => Ok(()),
            Some(0) => refuse(format!(
                "the first label of this sequence is `{}`, which the constraint forbids",
                name(at(0))
            )),
            Some(t) if t == gold.len() => refuse(format!(
                "the last label of this sequence is `{}`, which the constraint forbids",
                name(before(t))
            )),
            Some(t) => refuse(format!(
                "`{}` follows `{}` at token {} of this sequence, which the constraint forbids",
                name(at(t)),
                name(before(t)),
                t + 1
            )),
        }
    }

    /// Rejects sequences with unknown labels of which no labelling has segments of the length asked for.
    fn check_possible(
        &self,
        rules: &LabelRules,
        segments: &SegmentLabels,
        data: &Dataset<Chain>,
    ) -> Result<()> {
        for example in 0..data.len() {
            if let Some(known) = known(data, example, rules.labels())
                && !segments.possible(rules, known.len(), |t| known[t].as_ref())
            {
                let message = format!(
                    "no labelling of this sequence that agrees with its labels has only segments of up to {} tokens: allow longer ones, or \
                     correct the labels",
                    segments.longest
                );
                return Err(Error::input(self.places[example].clone(), message));
            }
        }
        Ok(())
    }

    /// The lattice of segments, without the constraint.
    fn with_segments(&self, labels: &[String], data: &mut Dataset<Chain>) -> Result<Lattice> {
        let longest = self.segments.unwrap_or(1);
        if self.second_order.is_some() {
            return Err(Error::Setting(
                "`segments` is for chains of order 1: leave `order` or `segments` out".into(),
            ));
        }
        let (names, scheme) = segments::of_labels(labels, longest).map_err(Error::Setting)?;
        let rules = scheme_rules(labels, scheme);
        let remedy = format!("segments need labels in {scheme}; correct the label, or convert all labels");
        (0..data.len()).try_for_each(|example| self.check(&rules, labels, data, example, &remedy))?;
        segments::check_lengths(&names, labels, data, |example| self.places[example].clone())?;
        data.set_graphs(|chain| {
            let own = chain.segments.is_some_and(|segments| segments.own);
            Chain { segments: Some(names.of_chain(own)), ..*chain }
        });
        Ok(Lattice { rules: Some(Arc::new(rules)), triples: false, segments: Some(Arc::new(names)) })
    }

    /// The lattice without the constraint.
    fn by_pairs(&self, labels: &[String], data: &mut Dataset<Chain>) -> Result<Lattice> {
        let Some(pairs) = self.second_order else { return Ok(Lattice::default()) };
        if labels.len() > MAX_SECOND_ORDER {
            return Err(Error::Setting(format!(
                "the training data has {} labels, but second-order chains take at most {MAX_SECOND_ORDER}: use `order` 1",
                labels.len()
            )));
        }
        data.set_graphs(|chain| Chain { triples: true, ..*chain });
        // A token whose label is not known may stand between any two others.
        let rules = (pairs == Keep::Observed && data.is_complete()).then(|| seen(labels.len(), data));
        Ok(Lattice { rules: rules.map(Arc::new), triples: true, segments: None })
    }
}

/// Rejects settings of another order than that of a lattice, or of other segments.
pub(super) fn check_settings(lattice: &Lattice, settings: &Settings) -> Result<()> {
    let longest = lattice.segments.as_ref().map(|segments| segments.longest);
    if settings.segments != longest {
        let say = |longest: Option<usize>| {
            longest.map_or("no segments".to_owned(), |n| format!("segments of up to {n} tokens"))
        };
        return Err(Error::Setting(format!(
            "`segments` asks for {}, but the corpus was made for {}: CorpusBuilder::with_segments makes one for segments",
            say(settings.segments),
            say(longest)
        )));
    }
    let made = if lattice.triples { 2 } else { 1 };
    match settings.order == made {
        true => Ok(()),
        false => Err(Error::Setting(format!(
            "`order` is {}, but the corpus was made for order {made}: CorpusBuilder::with_second_order makes one for order 2",
            settings.order
        ))),
    }
}

/// The labels that each token of an example may have, if some label is not known: a set, or nothing for all labels.
fn known(data: &Dataset<Chain>, example: usize, labels: usize) -> Option<Vec<Option<LabelBits>>> {
    let set = |label: Label| match label.checked_sub(FIRST_SET) {
        None => {
            let mut set = LabelBits::none(labels);
            set.insert(label as usize);
            Some(set)
        }
        Some(set) => data.sets().get(set as usize).cloned(),
    };
    let gold = data.gold(example);
    gold.iter().any(|label| *label >= FIRST_SET).then(|| gold.iter().map(|&label| set(label)).collect())
}

/// The rules that allow the label pairs of the training data. A label that never has a successor may have any, so that sequences of
/// every length have a labelling.
fn seen(labels: usize, data: &Dataset<Chain>) -> LabelRules {
    let mut seen = vec![vec![false; labels]; labels];
    for example in 0..data.len() {
        for pair in data.gold(example).windows(2).filter(|pair| pair.iter().all(|label| *label < FIRST_SET)) {
            seen[pair[0] as usize][pair[1] as usize] = true;
        }
    }
    for row in seen.iter_mut().filter(|row| !row.contains(&true)) {
        row.fill(true);
    }
    LabelRules::from_fn(labels, |before, after| match (before, after) {
        (Some(i), Some(j)) => seen[i][j],
        _ => true,
    })
}

/// A [`Lattice`] as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredLattice {
    /// 1 or 2.
    order: u8,
    /// The rules, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rules: Option<StoredRules>,
    /// The most tokens of a segment, if segments have scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    longest: Option<usize>,
}

/// Rules as they are stored: lists of label numbers, ascending.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRules {
    /// The labels that may begin a sequence.
    first: Vec<u32>,
    /// The labels that may end a sequence.
    last: Vec<u32>,
    /// The labels that may follow each label.
    after: Vec<Vec<u32>>,
}

impl StoredLattice {
    /// `None` for the lattice of all labellings of a plain chain.
    pub(super) fn of(lattice: &Lattice) -> Option<Self> {
        let Lattice { rules, triples, segments } = lattice;
        let longest = segments.as_ref().map(|segments| segments.longest);
        let rules = rules.as_ref().map(|rules| {
            let labels = || 0..rules.labels() as u32;
            let some = |label: u32| Some(label as usize);
            StoredRules {
                first: labels().filter(|&j| rules.allows(None, some(j))).collect(),
                last: labels().filter(|&i| rules.allows(some(i), None)).collect(),
                after: labels()
                    .map(|i| labels().filter(|&j| rules.allows(some(i), some(j))).collect())
                    .collect(),
            }
        });
        (rules.is_some() || *triples).then_some(StoredLattice {
            order: 1 + u8::from(*triples),
            rules,
            longest,
        })
    }

    /// The lattice over these labels; an error if it does not fit them.
    pub(super) fn lattice(self, names: &[String]) -> std::result::Result<Lattice, &'static str> {
        let (StoredLattice { order, rules, longest }, labels) = (self, names.len());
        if !matches!(order, 1 | 2) {
            return Err("its chains are neither of first nor of second order");
        }
        if order == 2 && labels > MAX_SECOND_ORDER {
            return Err("it has too many labels for a second-order chain");
        }
        let fits = |list: &Vec<u32>| {
            list.is_sorted_by(|a, b| a < b) && list.last().is_none_or(|last| (*last as usize) < labels)
        };
        let rules = match rules {
            None => None,
            Some(StoredRules { first, last, after }) => {
                if after.len() != labels || ![&first, &last].into_iter().chain(&after).all(fits) {
                    return Err("its rules do not fit its labels");
                }
                let has = |list: &[u32], label: usize| list.binary_search(&(label as u32)).is_ok();
                Some(Arc::new(LabelRules::from_fn(labels, |before, next| match (before, next) {
                    (Some(i), Some(j)) => has(&after[i], j),
                    (None, Some(j)) => has(&first, j),
                    (Some(i), None) => has(&last, i),
                    (None, None) => true,
                })))
            }
        };
        let segments = match longest {
            None => None,
            Some(longest) => {
                let (segments, scheme) = segments::of_labels(names, longest)
                    .map_err(|_| "its labels are not those of segments")?;
                let scheme = scheme_rules(names, scheme);
                // Inference relies on the notation.
                let obeys = rules.as_deref().is_some_and(|rules: &LabelRules| rules.and(&scheme) == *rules);
                if order != 1 || !obeys || !(1..=Settings::MOST_TOKENS).contains(&longest) {
                    return Err("its segments do not fit its rules");
                }
                Some(Arc::new(segments))
            }
        };
        Ok(Lattice { rules, triples: order == 2, segments })
    }
}
