//! The summaries of each kind of model.

use super::Summary;
use crfkit::chain::{ChainDomain, VectorLayout};
use crfkit::data::observer::{Alphabet, Source};
use crfkit::data::sites::PairArrays;
use crfkit::data::strings::Strings;
use crfkit::data::template::Templates;
use crfkit::graph::Lattice;
use crfkit::grid::{Directions, GridDomain};
use crfkit::linked::{LinkedDomain, Links};
use crfkit::typed::{Type, TypedDomain};

fn observations(alphabet: &Alphabet) -> (&'static str, String) {
    ("observations", (alphabet.node.len() + alphabet.pair.len()).to_string())
}

fn templates(templates: &Templates) -> (&'static str, String) {
    let lines = templates.unigram.len()
        + templates.bigram.len()
        + templates.segment.len()
        + usize::from(templates.label_bigram);
    let files: Vec<&str> = templates.files.iter().map(|file| &*file.name).collect();
    let with = if files.is_empty() { String::new() } else { format!(", with {}", files.join(", ")) };
    ("templates", format!("{lines}, from {}{with}", templates.name))
}

/// The numbers of every token: how many, from where, and whether they are standardised.
fn numbers(layout: &VectorLayout) -> (&'static str, String) {
    let VectorLayout { columns, width, standard } = layout;
    let columns = (!columns.is_empty()).then(|| format!("{} in columns", columns.len()));
    let vectors = (*width > 0).then(|| format!("{width} in vectors"));
    let parts: Vec<String> = columns.into_iter().chain(vectors).collect();
    let how = match standard {
        None => "as they are",
        Some(standard) if standard.only_centres() => "centred where they are far from 0",
        Some(_) => "standardised",
    };
    ("numbers of a token", format!("{}, {how}", parts.join(" and ")))
}

impl Summary for ChainDomain {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![observations(&self.alphabet)];
        match &self.source {
            Source::Attributes => lines.push(("input", "attributes".into())),
            Source::Templates(source) => lines.extend([("input", "columns".into()), templates(source)]),
        }
        lines.extend(self.vectors.as_ref().map(numbers));
        if let Lattice { rules: Some(rules), .. } = &self.lattice {
            let labels = 0..rules.labels();
            let allowed =
                labels.clone().flat_map(|i| labels.clone().filter(move |&j| rules.allows(Some(i), Some(j))));
            lines.push(("label pairs", format!("{} of {}", allowed.count(), labels.len() * labels.len())));
        }
        if let Some(segments) = &self.lattice.segments {
            lines.push(("segments", format!("of up to {} tokens", segments.longest)));
        }
        if let Some(layout) = self.columns {
            let columns = layout.fields.map_or(layout.columns.to_string(), |fields| fields.to_string());
            lines.push(("columns", format!("{columns}, the label in column {}", layout.label)));
        }
        lines
    }

    fn templates(&self) -> Option<&Templates> {
        match &self.source {
            Source::Templates(templates) => Some(templates),
            Source::Attributes => None,
        }
    }
}

impl Summary for LinkedDomain {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let graph = match &self.links {
            Links::Factorial => "factorial chain".into(),
            Links::SkipChain { rule, observed } => {
                let seen = if *observed { ", which have observations" } else { "" };
                format!("skip chain; skips{seen}: {}", rule.text())
            }
        };
        let mut lines = vec![("graph", graph), observations(&self.alphabet), templates(&self.templates)];
        lines.extend(self.vectors.as_ref().map(numbers));
        lines.extend(self.fields.map(|fields| ("columns", fields.to_string())));
        lines
    }

    fn templates(&self) -> Option<&Templates> {
        Some(&self.templates)
    }
}

impl Summary for TypedDomain {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let types = self.types.all();
        let name = |kind: &usize| types[*kind].name.as_str();
        let line = |(of, names): (&Type, &Strings)| {
            let over = match of.labels.is_empty() {
                true => format!("over {}", of.over.iter().map(name).collect::<Vec<_>>().join(", ")),
                false => "nodes".into(),
            };
            let (tables, named) = (of.tables.name(), names.len());
            (
                "type",
                format!("{}: {over}; {tables} tables, {named} named features, {} dense", of.name, of.dense),
            )
        };
        types.iter().zip(&self.names).map(line).collect()
    }
}

impl Summary for GridDomain {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let layout = serde_json::to_value(self).unwrap_or_default();
        let mut lines = vec![("graph", "grid".into())];
        if let Some(unlabelled) = self.unlabelled {
            lines.push(("unlabelled", unlabelled.to_string()));
        }
        let field = |name: &'static str| (name, layout[name].to_string());
        lines.extend(["sites", "channels", "neighbours", "tables"].map(field));
        if let Some(arrays) = self.pairs.filter(|arrays| *arrays != PairArrays::Sites) {
            lines.push(("pairs", format!("numbers from {}", arrays.names())));
        }
        if self.directions != Directions::default() {
            lines.push(field("directions"));
        }
        lines
    }
}
