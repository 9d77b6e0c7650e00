//! First weights for training on the likelihood: co-occurrence rates (empirical-training-2013).

use crate::data::dataset::Dataset;
use crate::graph::{Chain, NODES, PAIR};
use crate::model::Features;

/// s: the number of pseudo-occurrences that are added to each observation, distributed like the labels of all tokens.
/// It keeps the weights of rare observations small, as the prior does.
const SMOOTHING: f64 = 10.0;
/// f: the smallest logarithm of a transition probability. Unseen pairs have it too.
const FLOOR: f64 = -4.0;

/// The estimates from a corpus, as weights for `features`.
///
/// The product of eq. 4 can also be written as Π P(y_t|x_t)/P(y_t) · Π P(y_{t+1}|y_t) · P(y_1). Here the label pairs
/// take a P(y) from the words, so neither factor favours what is rare. A token has k observations that all tell about
/// the same label, so each gets the k-th part of the logarithm, as if the estimates were averaged (section 3.7.1). From
/// each weight the value that its factor has where nothing was seen is subtracted. This constant changes no
/// probability, and unseen combinations get the weight 0, whether they have a feature or not. The weights are:
///
/// - for an observation x and a label: ln(1 + #(y, x)/(s·P̃(y)))/k, where k is the mean number of observations of a
///   token;
/// - for two neighbouring labels: ln P̃(y, y')/P̃(y), at least f, minus f.
///
/// All other weights are 0.
///
/// If words are the only observations, L-BFGS from here needs a quarter to a third fewer passes to come within 1 % of
/// the optimum, and a sixth fewer to come within 0.1 %. With many templates the first value is much lower too, but
/// training takes slightly more passes, not fewer (`ep-start` of the experiments).
pub fn initial_weights(data: &Dataset<Chain>, labels: usize, features: &Features) -> Vec<f64> {
    let (observed, table) = (&features.rows[NODES], &features.tables[PAIR]);
    let mut theta = vec![0.0; features.dim()];
    let (mut single, mut pairs) = (vec![0.0; labels], vec![0.0; labels * labels]);
    let mut occurrences = 0.0;
    for example in 0..data.len() {
        let (gold, weight) = (data.gold(example), data.weight(example));
        gold.iter().for_each(|&y| single[y as usize] += weight);
        gold.windows(2).for_each(|y| pairs[y[0] as usize * labels + y[1] as usize] += weight);
        // The node tables come first, one for each gold label. #(y, x) is counted at the place of its weight.
        for (nodes, &y) in data.tables(example).zip(gold) {
            let ids = data.observations(nodes).0;
            occurrences += weight * ids.len() as f64;
            for &id in ids {
                let found = observed.entries_of(id).position(|entry| entry == y as usize);
                found.into_iter().for_each(|k| theta[observed.range(id).start + k] += weight);
            }
        }
    }
    let [tokens, neighbours] = [&single, &pairs].map(|counts| counts.iter().sum::<f64>());
    let share = tokens / occurrences;
    for id in observed.dense as u32..observed.len as u32 {
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

/// ln P(y, y')/(P(y)·P(y')), at least `floor`, even if P(y, y') is 0. It is finite even if the arguments do not fit
/// each other.
pub(crate) fn log_rate(joint: f64, left: f64, right: f64, floor: f64) -> f64 {
    let log = |p: f64| p.max(f64::MIN_POSITIVE).ln();
    match joint > 0.0 {
        true => (joint.ln() - log(left) - log(right)).max(floor),
        false => floor,
    }
}
