//! Chains: sequences in columns or attributes.

use super::super::session::Session;
use super::super::{StartModels, calibrate};
use super::{EachInput, TrainingData, no_sequence};
use crate::args::{Format, Rules, TrainArgs};
use crate::error::usage;
use crate::io::{Reading, SequenceReader, templates};
use crate::log::DataSize;
use crate::pipeline::Source as _;
use anyhow::Result;
use crfkit::Error;
use crfkit::any::{Ensemble, Member};
use crfkit::chain::{
    ChainCorpus, ChainDomain, ChainModel, ColumnLayout, CorpusBuilder, CorpusCrew, Sequence,
};
use crfkit::counted;
use crfkit::data::observer::Source;
use crfkit::data::template::Templates;
use crfkit::train::{Scaling, Settings, Trained};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The format of the data; columns by default.
pub fn format(args: &TrainArgs) -> Format {
    args.input.format.unwrap_or(Format::Columns)
}

/// Opens a file of labelled data.
pub fn open(args: &TrainArgs, path: &Path) -> crfkit::Result<SequenceReader> {
    open_with(args, path, None)
}

/// The same with the vectors of its tokens.
fn open_with(args: &TrainArgs, path: &Path, vectors: Option<PathBuf>) -> crfkit::Result<SequenceReader> {
    let reading = Reading { vectors, ..args.input.reading(Some(args.label_column[0])) };
    SequenceReader::open(path, &reading, Format::Columns)
}

/// Calls `each` with all sequences of the training files, which must not be empty, and with their common layout; attributes have none.
pub fn for_each_sequence(
    args: &TrainArgs,
    mut each: impl FnMut(Option<ColumnLayout>, &mut Sequence) -> Result<()>,
) -> Result<()> {
    let mut first: Option<Option<ColumnLayout>> = None;
    let mut examples = 0..;
    for (number, path) in args.train.iter().enumerate() {
        let mut reader = open_with(args, path, args.input.vectors.get(number).cloned())?;
        let mut sequence = reader.item();
        let mut empty = true;
        while reader.read(&mut sequence)? {
            let layout = match first {
                Some(layout) => layout,
                None => *first.insert(layout_of(&sequence)?),
            };
            if std::mem::take(&mut empty) {
                check_layout(layout, &sequence)?;
            }
            if examples.next().is_some_and(|example| args.part.takes(example)) {
                each(layout, &mut sequence)?;
            }
        }
        if empty {
            return Err(no_sequence(path));
        }
    }
    Ok(())
}

/// The columns of data that begins with `sequence`.
pub fn layout_of(sequence: &Sequence) -> crfkit::Result<Option<ColumnLayout>> {
    let Sequence::Columns { rows, label_column } = sequence else { return Ok(None) };
    if rows.columns() < 2 {
        let message = "one column: a token and its label are needed, separated by spaces or tabs (`labels` in JSON lines)";
        return Err(Error::input(rows.place(0), message));
    }
    ColumnLayout::of(label_column.unwrap_or(-1), rows).map(Some)
}

/// Rejects a file with another number of columns than the first one.
pub fn check_layout(layout: Option<ColumnLayout>, sequence: &Sequence) -> crfkit::Result<()> {
    let columns = layout.map_or(0, |layout| layout.columns);
    if sequence.columns() == columns {
        return Ok(());
    }
    let message = format!(
        "{}, but the training data begins with {columns}: all files need the same columns",
        counted(sequence.columns(), "column")
    );
    Err(Error::input(sequence.place(0), message))
}

/// The source of observations: attributes, or templates that fit the columns.
pub fn source(args: &TrainArgs, layout: Option<ColumnLayout>) -> Result<Source> {
    let Some(layout) = layout else { return Ok(Source::Attributes) };
    let mut templates = templates(args, layout.columns - 1)?;
    layout.check_templates(&templates)?;
    layout.check_dense_columns(&args.dense_columns())?;
    if args.template.is_some() {
        templates.name = "template file".into(); // the model keeps the text, not the path
    }
    Ok(Source::Templates(templates))
}

/// Rejects flags that do not fit the format of the data.
pub fn check_format(args: &TrainArgs) -> Result<()> {
    if format(args) == Format::Attributes && !args.dense.is_empty() {
        return Err(usage(
            "--dense goes with --format columns: attributes have values of their own, as in name:0.5",
        ));
    }
    check_vectors(args)?;
    match format(args) == Format::Attributes && args.template.is_some() {
        true => Err(usage("--template goes with --format columns: attribute lines are observations already")),
        false => Ok(()),
    }
}

/// Rejects files without vectors beside others that have them.
pub fn check_vectors(args: &TrainArgs) -> Result<()> {
    let (files, vectors) = (args.train.len(), args.input.vectors.len());
    if vectors > 0 && vectors != files {
        return Err(usage(format!(
            "{files} files of training data, but --vectors {vectors} times: give one for each file"
        )));
    }
    if vectors > 0 && args.dev.is_some() && args.dev_vectors.is_none() {
        return Err(usage("the tokens of --dev need vectors too: give --dev-vectors"));
    }
    Ok(())
}

/// Rejects a wish to standardise numbers that there are not.
pub fn check_standardised(args: &TrainArgs, dims: usize) -> Result<()> {
    match args.standardise && dims == 0 {
        true => Err(usage(
            "--standardise is for numbers, but tokens have none: give --vectors or --dense, or leave it out",
        )),
        false => Ok(()),
    }
}

impl TrainingData for ChainDomain {
    type Applied = Ensemble;
    const NEEDED: &'static str = "plain chains, with weights";

    fn applied(model: &Arc<ChainModel>) -> Arc<Ensemble> {
        Arc::new(Ensemble::from(Member::Weighted(model.clone())))
    }

    fn check(args: &TrainArgs) -> Result<()> {
        calibrate::check(args)?;
        check_format(args)
    }

    fn calibrate(session: &Session, models: &StartModels<Self>, trained: &mut Trained<Self>) -> Result<()> {
        calibrate::calibrate(session, models, trained)
    }

    fn read_training(args: &TrainArgs) -> Result<ChainCorpus> {
        let mut crew: Option<CorpusCrew> = None;
        let read = for_each_sequence(args, |layout, sequence| {
            let crew = match &mut crew {
                Some(crew) => crew,
                none => {
                    let builder =
                        CorpusBuilder::new(source(args, layout)?).with_dense_columns(args.dense_columns());
                    let builder = match args.scaling {
                        _ if args.standardise => builder.standardise(),
                        Scaling::None => builder.without_centring(),
                        _ => builder,
                    };
                    let builder = builder.with_label_weights(args.label_weight.iter().cloned())?;
                    let builder = if args.partial_labels { builder.with_partial_labels() } else { builder };
                    let builder = match args.order {
                        2 => builder.with_second_order(args.transitions.unwrap_or(args.features)),
                        _ => builder,
                    };
                    let builder = match args.segments {
                        Some(longest) => builder.with_segments(longest.into()),
                        None => builder,
                    };
                    let builder = match args.constraint.as_deref().map(Rules::of) {
                        None => builder,
                        Some(Rules::Notation(constraint)) => builder.with_constraint(constraint),
                        Some(Rules::File(path)) => {
                            let (text, name) = Rules::read(path)?;
                            builder.with_rules(text, name)
                        }
                    };
                    none.insert(CorpusCrew::new(builder, args.input.threads()))
                }
            };
            Ok(crew.add(sequence)?)
        });
        let corpus = match crew {
            Some(crew) => crew.finish(read, args.min_count)?,
            None => return Err(read.err().unwrap_or_else(|| no_sequence(&args.train[0]))),
        };
        check_standardised(args, corpus.domain.dims())?;
        Ok(corpus)
    }

    fn for_each_dev(args: &TrainArgs, path: &Path, domain: &Self, each: EachInput<Self>) -> Result<()> {
        let mut reader = open_with(args, path, args.dev_vectors.clone())?;
        let (mut sequence, mut first) = (reader.item(), true);
        while reader.read(&mut sequence)? {
            if std::mem::take(&mut first) {
                check_layout(domain.columns, &sequence)?;
            }
            each(&sequence)?;
        }
        Ok(())
    }

    fn describe(_corpus: &ChainCorpus, counts: &DataSize, _settings: &Settings) -> String {
        let DataSize { sequences, tokens, labels, observations, features } = *counts;
        [
            (sequences, "sequence"),
            (tokens, "token"),
            (labels, "label"),
            (observations, "observation"),
            (features, "feature"),
        ]
        .map(|(count, one)| counted(count, one))
        .join(", ")
    }

    fn templates(&self) -> Option<&Templates> {
        match &self.source {
            Source::Templates(templates) => Some(templates),
            Source::Attributes => None,
        }
    }

    fn recorded(corpus: &ChainCorpus, settings: &Settings) -> Result<Value> {
        let mut recorded = serde_json::to_value(settings)?;
        if let Some(layout) = corpus.domain.columns {
            recorded["label_column"] = layout.label.into();
            recorded["columns"] = layout.columns.into();
            if let Some(fields) = layout.fields {
                recorded["fields"] = fields.to_string().into();
            }
        }
        Ok(recorded)
    }
}
