//! Sorting names and renumbering them.

use super::strings::Strings;
use crate::graph::Label;

/// Labels in the order of their names, and the new number of each old one.
pub(crate) fn sorted_labels(labels: &Strings) -> (Vec<String>, Vec<Label>) {
    let mut order: Vec<u32> = (0..labels.len() as u32).collect();
    order.sort_by_key(|&id| labels.get(id));
    let mut ids = vec![0; labels.len()];
    for (new, &old) in order.iter().enumerate() {
        ids[old as usize] = new as Label;
    }
    (order.iter().map(|&id| String::from_utf8_lossy(labels.get(id)).into_owned()).collect(), ids)
}

/// The strings that occur at least `min_count` times, most frequent first (among equals, first seen first), and the new
/// number of each old one.
pub(crate) fn by_frequency(strings: &Strings, counts: &[u32], min_count: u32) -> (Strings, Vec<Option<u32>>) {
    let mut order: Vec<u32> =
        (0..counts.len() as u32).filter(|&id| counts[id as usize] >= min_count).collect();
    order.sort_by_key(|&id| std::cmp::Reverse(counts[id as usize])); // stable
    let mut ids = vec![None; counts.len()];
    for (new, &old) in order.iter().enumerate() {
        ids[old as usize] = Some(new as u32);
    }
    (strings.reordered(&order), ids)
}
