//! Rules on the labels of chains, and the rules that training data obeys.

use crate::data::dataset::Dataset;
use crate::eval::{Scheme, is_chunked};
use crate::graph::{Chain, FIRST_SET, Label, LabelBits, LabelRules};
use crate::settings::Constraint;

/// The rules of a notation of chunks.
pub(crate) fn scheme_rules(labels: &[String], scheme: Scheme) -> LabelRules {
    let name = |label: Option<usize>| label.map(|label| labels[label].as_str());
    LabelRules::from_fn(labels.len(), |before, after| scheme.permits(name(before), name(after)))
}

/// The constraint that all examples obey, if there is one that labellings should obey too.
pub(super) fn observed(labels: &[String], data: &Dataset<Chain>) -> Option<Constraint> {
    let prefix = |label: &String| label.split_once('-').map(|(prefix, _)| prefix.to_owned());
    let prefixes: Vec<Option<String>> = labels.iter().map(prefix).collect();
    let has = |wanted: &str| prefixes.iter().any(|prefix| prefix.as_deref() == Some(wanted));
    let iob = prefixes.iter().all(|prefix| matches!(prefix.as_deref(), None | Some("B" | "I")));
    if !(iob && has("B") && has("I") && is_chunked(labels.iter().map(String::as_str))) {
        return None;
    }
    let rules = scheme_rules(labels, Scheme::Iob2);
    // What is known must allow a labelling that obeys the rules.
    let sets = data.sets();
    let singles: Vec<LabelBits> = (0..labels.len())
        .map(|label| {
            let mut set = LabelBits::none(labels.len());
            set.insert(label);
            set
        })
        .collect();
    let allowed = |label: Label| match label.checked_sub(FIRST_SET) {
        None => Some(&singles[label as usize]),
        Some(set) => sets.get(set as usize),
    };
    let obeyed = |example: usize| {
        let gold = data.gold(example);
        match data.sets().is_empty() && gold.iter().all(|label| *label < FIRST_SET) {
            true => rules.is_satisfied_by(gold),
            false => rules.possible(gold.len(), |t| allowed(gold[t])),
        }
    };
    (0..data.len()).all(obeyed).then_some(Constraint::Iob2)
}
