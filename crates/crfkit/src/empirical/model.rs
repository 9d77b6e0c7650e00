//! The model in closed form: counts turned into factors.

use super::counts::{Counts, ordered};
use super::exponential::Exponential;
use super::pairs::{Joint, PairWork, label_rates};
use super::spelling::{FEATURES, Spelling, features, spelling};
use super::{EmpiricalMethod, EmpiricalSettings, PairKind, UnknownWords};
use crate::domain::chain::log_rate;
use crate::domain::check_trained_labels;
use crate::graph::{Label, PAIR, Shared, Table};
use crate::{Error, Result};

/// ln ψ̂ of a label that a word never had, instead of −∞, so that every labelling keeps a finite score. No
/// co-occurrence rate can make up for it.
const NEVER: f64 = -100.0;

/// A chain CRF in closed form. It does not change after training, so one model serves any number of
/// [`super::EmpiricalTagger`]s.
///
/// It keeps its counts. New data can be added to them ([`Counts::merge`]), and a new model be made from the sum.
#[derive(Clone, Debug)]
pub struct EmpiricalModel {
    settings: EmpiricalSettings,
    /// The counts, sorted and pruned.
    counts: Counts,
    /// The functions u and v; only with EP2.
    exponential: Option<Exponential>,
    labels: Vec<String>,
    /// The label distribution P̃(y).
    prior: Vec<f64>,
    words: WordLabels,
    /// P̃(y|f) `[FEATURES][labels]`; `None` for features that were never seen.
    by_feature: Vec<Option<Vec<f64>>>,
    /// ln CR(y; y') of the labels alone.
    rates: Table<f64>,
    /// P̃(y, y'|x, x') for words and for their features; only with lexical pairs.
    word_pairs: Joint,
    feature_pairs: Joint,
}

/// A word as the model knows it, looked up once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Number of the word, if it was seen in training.
    id: Option<u32>,
    spelling: Spelling,
}

/// P̃(y|x) for the known words, sparse.
#[derive(Clone, Debug, Default)]
struct WordLabels {
    /// First entry of each word, and the end of the last.
    start: Vec<u32>,
    /// Labels with their P̃(y|x).
    entries: Vec<(Label, f64)>,
    /// #(x) for each word.
    totals: Vec<f64>,
}

impl WordLabels {
    fn new(counts: &Counts) -> Self {
        let mut words = WordLabels { start: vec![0], ..WordLabels::default() };
        for group in ordered(&counts.word_labels).chunk_by(|x, y| x.0[0] == y.0[0]) {
            let total = group.iter().map(|(_, n)| n).sum::<u64>() as f64;
            words.totals.push(total);
            words.entries.extend(group.iter().map(|&([_, y], n)| (y, n as f64 / total)));
            words.start.push(words.entries.len() as u32);
        }
        words
    }

    fn of(&self, word: u32) -> &[(Label, f64)] {
        &self.entries[self.start[word as usize] as usize..self.start[word as usize + 1] as usize]
    }

    /// P̃(y|x) of a known word.
    fn probability(&self, word: u32, label: Label) -> f64 {
        self.of(word).iter().find(|(y, _)| *y == label).map_or(0.0, |(_, p)| *p)
    }
}

impl EmpiricalModel {
    /// Estimates all factors. With EP2 the exponential functions are fitted here.
    pub(super) fn estimate(counts: &Counts, settings: &EmpiricalSettings) -> Result<Self> {
        settings.check()?;
        if counts.tokens() == 0 {
            return Err(Error::Setting("the training data holds no token".into()));
        }
        if counts.pairs() != settings.pairs {
            return Err(Error::Setting(
                "the data was counted for another kind of pairs; count it again with the same `pairs`".into(),
            ));
        }
        check_trained_labels(&counts.labels, Some(settings.label_column))?;
        let mut counts = counts.clone();
        counts.prune(settings.min_count);
        let counts = counts.sorted();
        let exponential = match settings.method {
            EmpiricalMethod::Ep1 => None,
            EmpiricalMethod::Ep2 => Some(Exponential::fit(&counts, settings)?),
        };
        Ok(EmpiricalModel::from_parts(settings.clone(), counts, exponential))
    }

    /// Puts a model together from the contents of its file. The counts must be sorted, and every label and word must
    /// have a token.
    pub(super) fn from_parts(
        settings: EmpiricalSettings,
        counts: Counts,
        exponential: Option<Exponential>,
    ) -> Self {
        let labels: Vec<String> =
            counts.labels.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        let mut featured = vec![vec![0u64; labels.len()]; FEATURES];
        for ([spelling, y], n) in counts.spelling_labels() {
            features(spelling).for_each(|f| featured[f][y as usize] += n);
        }
        let share = |counts: &Vec<u64>| {
            let total: u64 = counts.iter().sum();
            (total > 0).then(|| counts.iter().map(|&n| n as f64 / total as f64).collect::<Vec<f64>>())
        };
        let prior = counts.prior();
        let mut model = EmpiricalModel {
            words: WordLabels::new(&counts),
            by_feature: featured.iter().map(share).collect(),
            rates: label_rates(&counts.label_pairs, &prior, settings.floor),
            word_pairs: Joint::new(&counts.word_pairs),
            feature_pairs: Joint::of_features(&counts.spelling_pairs()),
            settings,
            counts,
            exponential,
            labels,
            prior,
        };
        model.fill_unseen_rates();
        model.rates.update();
        model
    }

    /// With EP2, gives v(y, y')/(P̃(y)·P̃(y')) instead of the floor to label pairs that were never seen. (With lexical
    /// pairs, v is used for whole word pairs instead.)
    fn fill_unseen_rates(&mut self) {
        let (Some(exponential), PairKind::Tags) = (&self.exponential, self.settings.pairs) else { return };
        let (labels, stride) = (self.labels.len(), self.rates.stride);
        let mut v = PairWork::default();
        exponential.pair([0, 0], labels, &mut v);
        for i in 0..labels {
            for j in 0..labels {
                if !self.counts.label_pairs.contains_key(&[i as u32, j as u32]) {
                    let p = v.joint[i * labels + j];
                    let rate = log_rate(p, self.prior[i], self.prior[j], self.settings.floor);
                    self.rates.log.set(i * stride + j, rate);
                }
            }
        }
    }

    /// Names of the labels, sorted.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The number of a label.
    pub fn label(&self, name: &str) -> Option<Label> {
        self.labels.binary_search_by(|l| l.as_str().cmp(name)).ok().map(|i| i as Label)
    }

    /// The settings that the model was made with.
    pub fn settings(&self) -> &EmpiricalSettings {
        &self.settings
    }

    /// The counts that the model was made from.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(super) fn exponential(&self) -> Option<&Exponential> {
        self.exponential.as_ref()
    }

    /// Changes how unknown words are treated. Nothing else depends on it.
    pub(super) fn set_unknown(&mut self, unknown: UnknownWords) {
        self.settings.unknown = unknown;
    }

    /// P̃(y) of each label.
    pub fn label_frequencies(&self) -> &[f64] {
        &self.prior
    }

    /// ln CR(y; y') of two neighbouring labels (eq. 1), whatever their words. It is never below the floor.
    pub fn log_rate(&self, [before, label]: [Label; 2]) -> f64 {
        self.rates.log.get(before as usize * self.rates.stride + label as usize)
    }

    /// Looks a word up.
    #[doc(hidden)]
    pub fn word(&self, word: &str) -> Word {
        Word { id: self.counts.words.find(word.as_bytes()), spelling: spelling(word) }
    }

    /// Whether the word was seen in training at least `min_count` times.
    pub fn knows(&self, word: &str) -> bool {
        self.word(word).id.is_some()
    }

    /// The tables that all sequences share: ln φ̂ of the labels alone, or zeros if every pair of words has its own
    /// table.
    pub(super) fn tables(&self) -> Shared<f64> {
        let labels = self.labels.len();
        let mut tables: Shared<f64> = [labels, 1, 1].map(|rows| Table::new(rows, labels)).into();
        if self.settings.pairs == PairKind::Tags {
            tables[PAIR] = self.rates.clone();
        }
        tables
    }

    /// Overwrites `psi` with ln ψ̂(·, word), one number per label.
    #[doc(hidden)]
    pub fn log_psi(&self, word: Word, psi: &mut [f64]) {
        let s = self.settings.smoothing;
        let Some(id) = word.id else { return self.unknown(word.spelling, psi) };
        match s > 0.0 {
            true => self.by_spelling(word.spelling, psi),
            false => psi.fill(0.0),
        }
        let n = self.words.totals[id as usize];
        psi.iter_mut().for_each(|p| *p *= s / (n + s));
        for &(y, p) in self.words.of(id) {
            psi[y as usize] += p * n / (n + s);
        }
        psi.iter_mut().for_each(|p| *p = p.ln().max(NEVER));
    }

    /// Overwrites `p` with the label distribution of a spelling: the mean over its features (EP1) or u (EP2).
    fn by_spelling(&self, spelling: Spelling, p: &mut [f64]) {
        if let Some(exponential) = &self.exponential {
            return exponential.single(spelling, p);
        }
        p.fill(0.0);
        let seen = features(spelling).filter_map(|f| self.by_feature[f].as_ref());
        let m = seen.clone().count();
        if m == 0 {
            return p.copy_from_slice(&self.prior);
        }
        for row in seen {
            p.iter_mut().zip(row).for_each(|(p, x)| *p += x / m as f64);
        }
    }

    /// Overwrites `psi` with ln ψ̂ of an unknown word.
    fn unknown(&self, spelling: Spelling, psi: &mut [f64]) {
        self.by_spelling(spelling, psi);
        match self.settings.unknown {
            UnknownWords::Scale(mu) => psi.iter_mut().for_each(|p| *p = p.ln().max(NEVER) + mu.ln()),
            UnknownWords::Power(kappa) => {
                psi.iter_mut().for_each(|p| *p = p.powf(kappa));
                let sum: f64 = psi.iter().sum();
                psi.iter_mut().for_each(|p| *p = (*p / sum).ln().max(NEVER));
            }
            UnknownWords::Mix(lambda) => {
                let mixed = psi.iter_mut().zip(&self.prior);
                mixed.for_each(|(p, prior)| *p = (lambda * *p + (1.0 - lambda) * prior).ln().max(NEVER));
            }
        }
    }

    /// Overwrites `phi`, `[labels][stride]`, with ln φ̂(·, ·, before, word). The padding of its rows is left alone.
    ///
    /// With lexical pairs, this is eq. 13 if the two words were seen side by side. Otherwise EP2 takes v/(u·u), with u
    /// and v of both spellings, for known words too. There section 3.7.2 has P̃(y|x) in the denominator. It is 0 for every label that
    /// the word never had, so v/P̃ is infinite just where the word says no; and elsewhere it cancels ψ̂ = P̃(y|x), so that a known
    /// word between two others would count by 1/P̃: against its own labels. v knows spellings only, and what spellings say is u. EP1 takes the mean of P̃(y, y'|f, f') over the features of both spellings, and its
    /// co-occurrence rate: the mean is divided by its own marginals, because those of a known word are sharper than
    /// what spellings say and would be divided out. If no features were seen side by side, or both words are unknown,
    /// CR(y; y') is used.
    #[doc(hidden)]
    pub fn log_phi(&self, before: Word, word: Word, phi: &mut [f64], work: &mut PairWork) {
        let (labels, stride, floor) = (self.labels.len(), self.rates.stride, self.settings.floor);
        let spellings = [before.spelling, word.spelling];
        if self.settings.pairs == PairKind::Lexical {
            if let (Some(a), Some(b)) = (before.id, word.id)
                && let Some(entries) = self.word_pairs.find([a, b])
            {
                phi.chunks_mut(stride).for_each(|row| row[..labels].fill(floor));
                for &(i, j, p) in entries {
                    let (left, right) = (self.words.probability(a, i), self.words.probability(b, j));
                    phi[i as usize * stride + j as usize] = log_rate(p, left, right, floor);
                }
                return;
            }
            if let Some(exponential) = &self.exponential {
                exponential.pair(spellings, labels, work);
                exponential.single(spellings[0], &mut work.left);
                exponential.single(spellings[1], &mut work.right);
                return work.log_rates(stride, floor, phi);
            }
            if before.id.or(word.id).is_some() && self.feature_pairs.mean(spellings, labels, work) {
                work.fill_marginals();
                return work.log_rates(stride, floor, phi);
            }
        }
        for (row, rates) in phi.chunks_mut(stride).zip(self.rates.log.plane(0).chunks(stride)) {
            row[..labels].copy_from_slice(&rates[..labels]);
        }
    }
}
