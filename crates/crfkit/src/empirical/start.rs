//! Where the likelihood can start from: the estimates as weights.

use super::pairs::log_rate;
use crate::data::corpus::Corpus;
use crate::data::observer::Source;
use crate::data::template::{Extractor, Function, Macro, Row, Template};
use crate::graph::{NODES, PAIR};
use crate::model::Features;
use crate::{Error, Result};

/// s: as many occurrences of a word are made up, with the labels that all tokens have. Weights of rare words stay small, as the
/// prior wants them.
const SMOOTHING: f64 = 10.0;
/// f: the smallest logarithm of a transition probability, that of unseen pairs too.
const FLOOR: f64 = -4.0;

/// The estimates of a corpus as weights for `features`.
///
/// The product of eq. 4 is Π P(y_t|x_t)/P(y_t) · Π P(y_{t+1}|y_t) · P(y_1) too: label pairs take a P(y) from the words, so that
/// neither factor favours what is rare. Each weight is less what its factor has where nothing was seen, a constant that changes no
/// probability; unseen combinations have the weight 0, whether they have a feature or not:
///
/// - the word of the position and a label: ln(1 + #(y, x)/(s·P̃(y)));
/// - two labels side by side: ln P̃(y, y')/P̃(y), at least f, minus f.
///
/// All other weights are 0. The word is the first template that is the field in `word_column` and nothing else.
///
/// Where words are all that is observed, L-BFGS then needs about 40 % fewer passes to come within 1 % of the optimum and a quarter
/// fewer to 0.1 %. With many templates the first value is much lower, and nothing is gained in the end: the optimum spreads over all of
/// them what the start has put on one.
pub fn first_weights(corpus: &Corpus, features: &Features, word_column: usize) -> Result<Vec<f64>> {
    let is_word = word_observations(corpus, word_column)?;
    let labels = corpus.labels.len();
    let (words, table) = (&features.rows[NODES], &features.tables[PAIR]);
    let mut theta = vec![0.0; features.dim()];
    let (mut single, mut pairs) = (vec![0.0; labels], vec![0.0; labels * labels]);
    for example in 0..corpus.data.len() {
        let (gold, weight) = (corpus.data.gold(example), corpus.data.weight(example));
        gold.iter().for_each(|&y| single[y as usize] += weight);
        gold.windows(2).for_each(|y| pairs[y[0] as usize * labels + y[1] as usize] += weight);
        // The node tables come first, one a label. #(y, x) is counted where its weight will be.
        for (nodes, &y) in corpus.data.tables(example).zip(gold) {
            for &word in corpus.data.observations(nodes).0.iter().filter(|&&id| is_word[id as usize]) {
                let found = words.entries_of(word).position(|entry| entry == y as usize);
                found.into_iter().for_each(|k| theta[words.range(word).start + k] += weight);
            }
        }
    }
    let [tokens, neighbours] = [&single, &pairs].map(|counts| counts.iter().sum::<f64>());
    for word in (0..words.len as u32).filter(|&id| is_word[id as usize]) {
        for (y, w) in words.entries_of(word).zip(&mut theta[words.range(word)]) {
            *w = (*w / (SMOOTHING * single[y] / tokens)).ln_1p();
        }
    }
    let stride = words.stride();
    for (&entry, w) in table.entry.iter().zip(&mut theta[table.base..]) {
        let (i, j) = (entry as usize / stride, entry as usize % stride);
        *w = log_rate(pairs[i * labels + j] / neighbours, single[i] / tokens, 1.0, FLOOR) - FLOOR;
    }
    Ok(theta)
}

/// Which node observations are words.
fn word_observations(corpus: &Corpus, word_column: usize) -> Result<Vec<bool>> {
    let Source::Templates(templates) = &corpus.source else {
        return Err(Error::Setting(
            "--init empirical starts from counts of words, but nobody knows which attribute is the word: use --format \
             columns or another --init"
                .into(),
        ));
    };
    let field = Extractor { column: word_column, function: Function::Raw, lower_case: false };
    let is_word = |template: &&Template| match template.macros[..] {
        [Macro { extractor, row: Row::Relative(0) }] => templates.extractors[extractor] == field,
        _ => false,
    };
    // A text that other templates share does not say which of them an observation comes from.
    let alone = |template: &&Template| {
        templates.unigram.iter().filter(|other| other.skeleton == template.skeleton).count() == 1
    };
    let template = templates.unigram.iter().filter(is_word).find(alone).ok_or_else(|| {
        let message = format!(
            "--init empirical starts from counts of words, but no template is the word alone: add U:word=%x[0,{word_column}], \
             or use another --init"
        );
        Error::Setting(message)
    })?;
    let skeleton = template.skeleton.to_le_bytes();
    Ok(corpus.alphabet.node.iter().map(|key| key.starts_with(&skeleton)).collect())
}
