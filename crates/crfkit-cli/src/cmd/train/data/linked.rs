//! Factorial and skip chains: columns.

use super::chains::{check_standardised, check_vectors};
use super::{EachInput, TrainingData, no_sequence};
use crate::args::{Format, TrainArgs};
use crate::error::usage;
use crate::flags::ModelKind;
use crate::io::{Reading, RowFile, templates};
use crate::log::DataSize;
use anyhow::Result;
use crfkit::chain::ColumnLayout;
use crfkit::counted;
use crfkit::data::columns::Columns;
use crfkit::data::template::Templates;
use crfkit::domain::Domain;
use crfkit::linked::{LinkedBuilder, LinkedCorpus, LinkedDomain, LinkedModel, Links};
use crfkit::model::Features;
use crfkit::train::{Scaling, Settings};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl TrainingData for LinkedDomain {
    type Applied = LinkedModel;
    const NEEDED: &'static str = "factorial or skip chains";

    fn applied(model: &Arc<LinkedModel>) -> Arc<LinkedModel> {
        model.clone()
    }

    fn check(args: &TrainArgs) -> Result<()> {
        if args.input.format == Some(Format::Attributes) {
            return Err(usage("--format attributes is for --graph chain only: use --format columns"));
        }
        if args.grid.graph == ModelKind::Factorial && args.label_column.len() < 2 {
            return Err(usage(
                "--graph factorial has several label columns: give --label-column 1,2 or the like",
            ));
        }
        check_vectors(args)?;
        links(args).map(|_| ())
    }

    fn read_training(args: &TrainArgs) -> Result<LinkedCorpus> {
        let mut builder: Option<LinkedBuilder> = None;
        let mut examples = 0..;
        for (number, path) in args.train.iter().enumerate() {
            let vectors = args.input.vectors.get(number).cloned();
            let read = for_each(args, path, vectors, |sequence| {
                if examples.next().is_some_and(|example| !args.part.takes(example)) {
                    return Ok(());
                }
                let builder = match &mut builder {
                    Some(builder) => builder,
                    none => none.insert(new_builder(args, sequence)?),
                };
                Ok(builder.add(sequence)?)
            })?;
            if read == 0 {
                return Err(no_sequence(path));
            }
        }
        let builder = builder.ok_or_else(|| no_sequence(&args.train[0]))?;
        let corpus = builder.finish(args.min_count)?;
        check_standardised(args, corpus.domain.dims())?;
        Ok(corpus)
    }

    fn for_each_dev(args: &TrainArgs, path: &Path, _domain: &Self, each: EachInput<Self>) -> Result<()> {
        for_each(args, path, args.dev_vectors.clone(), each).map(|_| ())
    }

    fn templates(&self) -> Option<&Templates> {
        Some(&self.templates)
    }

    /// Label columns share their observations.
    fn observations(domain: &Self, _features: &Features) -> usize {
        domain.alphabet.node.len() + domain.alphabet.pair.len()
    }

    fn recorded(corpus: &LinkedCorpus, settings: &Settings) -> Result<Value> {
        let mut recorded = serde_json::to_value(settings)?;
        if let Some(fields) = corpus.domain.fields {
            recorded["fields"] = fields.to_string().into();
        }
        Ok(recorded)
    }

    fn describe(corpus: &LinkedCorpus, counts: &DataSize, settings: &Settings) -> String {
        let labels = corpus.domain.labels.iter().map(|labels| labels.len().to_string());
        format!(
            "{}, {}, {} labels, {}, {}; inference: {}",
            counted(counts.sequences, "sequence"),
            counted(counts.tokens, "token"),
            labels.collect::<Vec<_>>().join(" + "),
            counted(counts.observations, "observation"),
            counted(counts.features, "feature"),
            settings.inference.unwrap_or(corpus.domain.engine()).name()
        )
    }
}

/// The links between labels.
fn links(args: &TrainArgs) -> Result<Links> {
    match (args.grid.graph, &args.skip) {
        (ModelKind::SkipChain, Some(rule)) => {
            Ok(Links::SkipChain { rule: rule.clone(), observed: args.skip_observations })
        }
        (ModelKind::SkipChain, None) => {
            Err(usage("--graph skip-chain needs a rule, such as --skip 'same(0) and capitalised(0)'"))
        }
        _ => Ok(Links::Factorial),
    }
}

/// Calls `each` with all sequences of a file; returns their number.
fn for_each(
    args: &TrainArgs,
    path: &Path,
    vectors: Option<PathBuf>,
    mut each: impl FnMut(&Columns) -> Result<()>,
) -> Result<usize> {
    let reading = Reading { vectors, ..args.input.reading(None) };
    let Some(format) = reading.rows_of(path, Format::Columns) else {
        return Err(usage("--format attributes is for --graph chain only: use --format columns"));
    };
    let mut reader = RowFile::open(path, &reading, &format)?.labelled(args.label_column.iter().copied());
    let (mut sequence, mut read) = (Columns::default(), 0);
    while reader.read(&mut sequence)? {
        each(&sequence)?;
        read += 1;
    }
    Ok(read)
}

/// A builder for files with the columns of `first`.
fn new_builder(args: &TrainArgs, first: &Columns) -> Result<LinkedBuilder> {
    let columns = first.columns();
    let index =
        |&column: &i32| ColumnLayout::new(column, columns, || first.place(0)).map(|layout| layout.label);
    let labels = args.label_column.iter().map(index).collect::<crfkit::Result<Vec<usize>>>()?;
    let mut templates = templates(args, columns.saturating_sub(labels.len()))?;
    if args.template.is_some() {
        templates.name = "template file".into(); // the model keeps the text, not the path
    }
    let builder = LinkedBuilder::new(links(args)?, templates, columns, labels)?;
    let builder = builder.with_dense_columns(args.dense_columns())?;
    let builder = if args.partial_labels { builder.with_partial_labels() } else { builder };
    Ok(match args.scaling {
        _ if args.standardise => builder.standardise(),
        Scaling::None => builder.without_centring(),
        _ => builder,
    })
}
