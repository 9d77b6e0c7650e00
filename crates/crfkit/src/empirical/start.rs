//! Where the likelihood can start from: the estimates as weights.

use super::pairs::log_rate;
use crate::data::corpus::Corpus;
use crate::graph::{NODES, PAIR};
use crate::model::Features;

/// s: as many occurrences of an observation are made up, with the labels that all tokens have. Weights of rare observations stay
/// small, as the prior wants them.
const SMOOTHING: f64 = 10.0;
/// f: the smallest logarithm of a transition probability, that of unseen pairs too.
const FLOOR: f64 = -4.0;

/// The estimates of a corpus as weights for `features`.
///
/// The product of eq. 4 is Π P(y_t|x_t)/P(y_t) · Π P(y_{t+1}|y_t) · P(y_1) too: label pairs take a P(y) from the words, so that
/// neither factor favours what is rare. A token has k observations, which all tell of the same label: each has the k-th part of
/// its logarithm, as if the estimates were averaged (section 3.7.1). Each weight is less what its factor has where nothing was
/// seen, a constant that changes no probability; unseen combinations have the weight 0, whether they have a feature or not:
///
/// - an observation x and a label: ln(1 + #(y, x)/(s·P̃(y)))/k, with k the mean number of observations of a token;
/// - two labels side by side: ln P̃(y, y')/P̃(y), at least f, minus f.
///
/// All other weights are 0.
///
/// Where words are all that is observed, L-BFGS then needs a quarter to a third fewer passes to come within 1 % of the optimum, and a
/// sixth fewer to 0.1 %. With many templates the first value is much lower too, but the passes become a few more, not fewer
/// (`ep-start` of the experiments).
pub fn first_weights(corpus: &Corpus, features: &Features) -> Vec<f64> {
    let labels = corpus.labels.len();
    let (observed, table) = (&features.rows[NODES], &features.tables[PAIR]);
    let mut theta = vec![0.0; features.dim()];
    let (mut single, mut pairs) = (vec![0.0; labels], vec![0.0; labels * labels]);
    let mut occurrences = 0.0;
    for example in 0..corpus.data.len() {
        let (gold, weight) = (corpus.data.gold(example), corpus.data.weight(example));
        gold.iter().for_each(|&y| single[y as usize] += weight);
        gold.windows(2).for_each(|y| pairs[y[0] as usize * labels + y[1] as usize] += weight);
        // The node tables come first, one a label. #(y, x) is counted where its weight will be.
        for (nodes, &y) in corpus.data.tables(example).zip(gold) {
            let ids = corpus.data.observations(nodes).0;
            occurrences += weight * ids.len() as f64;
            for &id in ids {
                let found = observed.entries_of(id).position(|entry| entry == y as usize);
                found.into_iter().for_each(|k| theta[observed.range(id).start + k] += weight);
            }
        }
    }
    let [tokens, neighbours] = [&single, &pairs].map(|counts| counts.iter().sum::<f64>());
    let share = tokens / occurrences;
    for id in 0..observed.len as u32 {
        for (y, w) in observed.entries_of(id).zip(&mut theta[observed.range(id)]) {
            *w = share * (*w / (SMOOTHING * single[y] / tokens)).ln_1p();
        }
    }
    let stride = observed.stride();
    for (&entry, w) in table.entry.iter().zip(&mut theta[table.base..]) {
        let (i, j) = (entry as usize / stride, entry as usize % stride);
        *w = log_rate(pairs[i * labels + j] / neighbours, single[i] / tokens, 1.0, FLOOR) - FLOOR;
    }
    theta
}
