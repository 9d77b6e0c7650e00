//! Answers as NumPy's arrays.

use super::Wanted;
use crate::args::Marginals;
use crate::error::usage;
use anyhow::Result;
use crfkit::answers::GraphAnswers;
use crfkit::data::npz::{npy, npz};
use crfkit::graph::Label;
use crfkit::typed::{TypedTagger, Types};
use std::path::Path;

/// The type of labels and of probabilities in arrays.
const LABEL: &str = "<i4";
const NUMBER: &str = "<f8";

/// Appends the label of each node and the probabilities that are wanted, as bytes: a record for each node.
pub fn append(wanted: &Wanted, labels: &[Label], tagger: &mut TypedTagger, out: &mut Vec<u8>) -> Result<()> {
    let Some(which) = wanted.marginals else {
        labels.iter().for_each(|label| out.extend(label.to_le_bytes()));
        return Ok(());
    };
    for (row, &label) in tagger.answers().marginals()?.zip(labels) {
        out.extend(label.to_le_bytes());
        let chosen = label as usize..label as usize + 1;
        let shown = if which == Marginals::All { 0..row.len() } else { chosen };
        row[shown].iter().for_each(|p| out.extend(p.to_le_bytes()));
    }
    Ok(())
}

/// The file for the records of all nodes: `.npy` for labels alone, `.npz` for labels and probabilities.
pub fn pack(types: &Types, wanted: &Wanted, records: &[u8], file: &Path) -> Result<Vec<u8>> {
    let labels = types.nodes()[0].labels.len();
    if types.nodes().len() > 1 && types.label_table().is_none() {
        return Err(usage(
            "nodes of several types have no common array: leave out --output-file, for one JSON object per graph",
        ));
    }
    let numbers = match wanted.marginals {
        None => 0,
        Some(Marginals::Chosen) => 1,
        Some(Marginals::All) => labels,
    };
    let (mut found, mut probabilities) = (Vec::new(), Vec::new());
    for record in records.chunks_exact(4 + 8 * numbers) {
        found.extend_from_slice(&record[..4]);
        probabilities.extend_from_slice(&record[4..]);
    }
    let nodes = found.len() / 4;
    let mut shape = match types.label_table() {
        Some(width) => vec![nodes / width, width],
        None => vec![nodes],
    };
    let chosen = npy(LABEL, &shape, &found);
    if wanted.marginals == Some(Marginals::All) {
        shape.push(labels);
    }
    file_of(file, chosen, wanted.marginals.map(|_| npy(NUMBER, &shape, &probabilities)))
}

/// The labels of an image as an array, and the probabilities that are wanted.
pub fn image(
    wanted: &Wanted,
    [height, width]: [usize; 2],
    values: &[u16],
    labels: &[Label],
    answers: &mut GraphAnswers,
) -> Result<Vec<u8>> {
    let mut shape = vec![height, width];
    let mut arrays = vec![(
        "labels",
        npy("<u2", &shape, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>()),
    )];
    if let Some(which) = wanted.marginals {
        let mut bytes = Vec::new();
        let mut most = 0;
        for (row, &label) in answers.marginals()?.zip(labels) {
            most = row.len();
            let shown = if which == Marginals::All { row } else { &row[label as usize..=label as usize] };
            shown.iter().for_each(|p| bytes.extend(p.to_le_bytes()));
        }
        if which == Marginals::All {
            shape.push(most);
        }
        arrays.push(("marginals", npy(NUMBER, &shape, &bytes)));
    }
    npz(&arrays).ok_or_else(too_large)
}

/// The bytes of a file by its ending.
fn file_of(file: &Path, labels: Vec<u8>, marginals: Option<Vec<u8>>) -> Result<Vec<u8>> {
    let ending = file.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    match (&*ending, marginals) {
        ("npy", None) => Ok(labels),
        ("npy", Some(_)) => Err(usage("--output-file with --marginals has two arrays: name it FILE.npz")),
        ("npz", None) => npz(&[("labels", labels)]).ok_or_else(too_large),
        ("npz", Some(marginals)) => {
            npz(&[("labels", labels), ("marginals", marginals)]).ok_or_else(too_large)
        }
        _ => Err(usage("--output-file holds arrays: name it FILE.npy or FILE.npz")),
    }
}

fn too_large() -> anyhow::Error {
    anyhow::anyhow!("the arrays have more than 4 GiB: label fewer graphs at a time")
}
