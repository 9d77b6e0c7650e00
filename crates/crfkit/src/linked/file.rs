//! The file of a model of linked chains: the container of all model files, with rows and tables kind by kind.

use super::corpus::check;
use super::links::Shapes;
use super::{Engine, LinkedModel, Links};
use crate::data::observer::{Alphabet, Source};
use crate::model::sections::{Format, Reader, Writer};
use crate::model::{
    Origin, Precision, Rows, above, check_alphabet, check_labels, compact_is_smaller, kept_names,
    read_features, write_features,
};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

static FORMAT: Format = Format {
    magic: *b"crfkit\0L",
    version: 2,
    name: "model of linked chains",
    remedy: "take another copy of it or train it again",
};

/// The section of small things.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    links: Links,
    source: Origin,
    columns: usize,
    label_columns: Vec<usize>,
    labels: Vec<Vec<String>>,
    engine: Engine,
    /// Version 1 has none: eight bytes.
    #[serde(default)]
    precision: Precision,
    settings: serde_json::Value,
}

impl LinkedModel {
    /// Does this look like the file of such a model?
    pub fn is_file(bytes: &[u8]) -> bool {
        bytes.starts_with(&FORMAT.magic)
    }

    /// The model file, without zero weights where that is smaller.
    pub fn to_bytes(&self, precision: Precision) -> Result<Vec<u8>> {
        self.labels.iter().try_for_each(|labels| check_labels(labels)).map_err(Error::Setting)?;
        let weights = precision.round(&self.weights)?;
        Ok(match compact_is_smaller(&self.features, &weights, precision) {
            true => {
                let compact = self.compact_at(&weights);
                compact.write(&compact.weights, precision)
            }
            false => self.write(&weights, precision),
        })
    }

    /// The model with all weights of at most `threshold` in absolute value set to zero, and without observations that have none left.
    pub fn shrink(&self, threshold: f64) -> LinkedModel {
        self.compact_at(&above(threshold, &self.weights))
    }

    /// The model without zeros, with other weights in place of its own. An observation stays where any kind of table needs it.
    fn compact_at(&self, weights: &[f64]) -> LinkedModel {
        let Alphabet { values, node, pair } = &self.alphabet;
        let of_node = |kind: usize| self.links.sees_nodes(kind, self.labels.len());
        let (mut nodes, mut pairs) = (vec![false; node.len()], vec![false; pair.len()]);
        for kind in 0..self.features.rows.len() {
            let used = self.features.used_rows(kind, weights);
            let all = if of_node(kind) { &mut nodes } else { &mut pairs };
            all.iter_mut().zip(used).for_each(|(all, used)| *all |= used);
        }
        let kept = |(kind, rows): (usize, &Rows)| {
            let all = if of_node(kind) { &nodes } else { &pairs };
            all[..rows.len].to_vec() // a kind may have no observations at all
        };
        let kept: Vec<Vec<bool>> = self.features.rows.iter().enumerate().map(kept).collect();
        let (features, weights) = self.features.without_zeros(weights, &kept);
        let (values, node, pair) = (values.clone(), kept_names(node, &nodes), kept_names(pair, &pairs));
        let alphabet = Alphabet { values, node, pair };
        LinkedModel { alphabet, features: features.into(), weights, ..self.clone() }
    }

    fn write(&self, weights: &[f64], precision: Precision) -> Vec<u8> {
        let mut file = Writer::default();
        file.json(
            "head",
            &Head {
                links: self.links.clone(),
                source: Origin::of(&Source::Templates(self.templates.clone())),
                columns: self.columns,
                label_columns: self.label_columns.clone(),
                labels: self.labels.clone(),
                engine: self.engine,
                precision,
                settings: self.settings.clone(),
            },
        );
        precision.write(weights, &mut file);
        file.strings(["values.text", "values.ends"], &self.alphabet.values);
        file.strings(["nodes.text", "nodes.ends"], &self.alphabet.node);
        file.strings(["pairs.text", "pairs.ends"], &self.alphabet.pair);
        write_features(&self.features, &mut file);
        file.finish(&FORMAT)
    }

    /// Reads a model file, after verifying its checksum and that its parts fit each other.
    pub fn from_bytes(bytes: &[u8]) -> Result<LinkedModel> {
        let mut file = Reader::new(bytes, &FORMAT)?;
        let Head { links, source, columns, label_columns, labels, engine, precision, settings } =
            file.json("head")?;
        let source = source.compile().map_err(|error| FORMAT.damaged(error))?;
        let weights = precision.read(&mut file)?;
        if !weights.iter().all(|w| w.is_finite()) {
            return Err(FORMAT.damaged("a weight is not a finite number"));
        }
        let alphabet = Alphabet {
            values: file.strings(["values.text", "values.ends"])?,
            node: file.strings(["nodes.text", "nodes.ends"])?,
            pair: file.strings(["pairs.text", "pairs.ends"])?,
        };
        check_alphabet(&alphabet, &source).map_err(|why| FORMAT.damaged(why))?;
        let Source::Templates(templates) = source else {
            return Err(FORMAT.damaged("it has no templates"));
        };
        check(&links, &templates, columns, &label_columns).map_err(|why| FORMAT.damaged(why))?;
        if labels.len() != label_columns.len() {
            return Err(FORMAT.damaged("its labels are not those of its columns"));
        }
        labels.iter().try_for_each(|labels| check_labels(labels)).map_err(|why| FORMAT.damaged(why))?;
        let cards: Vec<usize> = labels.iter().map(Vec::len).collect();
        let Shapes { kinds, node_kinds, shared } = links.shapes(&cards, &templates, &alphabet);
        let features = read_features(&mut file, &FORMAT, (kinds, node_kinds), &shared, weights.len())?;
        file.finish()?;
        Ok(LinkedModel {
            links,
            templates,
            columns,
            label_columns,
            labels,
            alphabet,
            features: features.into(),
            weights,
            engine,
            settings,
        })
    }
}
