//! The file of a model of linked chains: the container of all model files, with rows and tables kind by kind.

use super::corpus::check;
use super::{Engine, LinkedModel, Links};
use crate::data::observer::{Alphabet, Source};
use crate::data::template::Templates;
use crate::model::sections::{Format, Reader, Writer};
use crate::model::{
    Features, Origin, Rows, TableWeights, check_alphabet, check_labels, check_rows, entries_fit, write_u32s,
};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

static FORMAT: Format = Format {
    magic: *b"crfkit\0L",
    version: 1,
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
    settings: serde_json::Value,
}

impl LinkedModel {
    /// Does this look like the file of such a model?
    pub fn is_file(bytes: &[u8]) -> bool {
        bytes.starts_with(&FORMAT.magic)
    }

    /// The model file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.labels.iter().try_for_each(|labels| check_labels(labels)).map_err(Error::Setting)?;
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
                settings: self.settings.clone(),
            },
        );
        file.numbers("weights", self.weights.iter().map(|w| w.to_le_bytes()));
        file.strings(["values.text", "values.ends"], &self.alphabet.values);
        file.strings(["nodes.text", "nodes.ends"], &self.alphabet.node);
        file.strings(["pairs.text", "pairs.ends"], &self.alphabet.pair);
        for rows in &self.features.rows {
            write_u32s(&mut file, "rows.start", &rows.start);
            write_u32s(&mut file, "rows.entry", &rows.entry);
        }
        for table in &self.features.tables {
            write_u32s(&mut file, "table.entry", &table.entry);
        }
        Ok(file.finish(&FORMAT))
    }

    /// Reads a model file, after verifying its checksum and that its parts fit each other.
    pub fn from_bytes(bytes: &[u8]) -> Result<LinkedModel> {
        let mut file = Reader::new(bytes, &FORMAT)?;
        let Head { links, source, columns, label_columns, labels, engine, settings } = file.json("head")?;
        let source = source.compile().map_err(|error| FORMAT.damaged(error))?;
        let weights = file.numbers("weights", f64::from_le_bytes)?;
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
        let features = read_features(&mut file, &links, &cards, &templates, &alphabet, weights.len())?;
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

/// Reads the map from weights to tables; it must use every one of the weights.
fn read_features(
    file: &mut Reader,
    links: &Links,
    cards: &[usize],
    templates: &Templates,
    alphabet: &Alphabet,
    weights: usize,
) -> Result<Features> {
    let shapes = links.shapes(cards, templates, alphabet);
    let mut base = 0;
    let mut rows = Vec::new();
    for kind in &shapes.kinds {
        let new = Rows {
            start: file.numbers("rows.start", u32::from_le_bytes)?,
            entry: file.numbers("rows.entry", u32::from_le_bytes)?,
            ..Rows::all(base, kind.observations, kind.lines, kind.columns)
        };
        check_rows(&new, weights).map_err(|why| FORMAT.damaged(why))?;
        base += new.weights();
        rows.push(new);
    }
    let mut tables = Vec::new();
    for shape in &shapes.shared {
        let entry = file.numbers("table.entry", u32::from_le_bytes)?;
        if !entries_fit(&entry, shape.lines, shape.columns) {
            return Err(FORMAT.damaged("a weight points outside its shared table"));
        }
        let table = TableWeights { base, lines: shape.lines, columns: shape.columns, entry };
        base += table.entry.len();
        tables.push(table);
    }
    match base == weights {
        true => Ok(Features { rows, node_kinds: shapes.node_kinds, tables }),
        false => Err(FORMAT.damaged(format!("it has {weights} weights, but its features need {base}"))),
    }
}
