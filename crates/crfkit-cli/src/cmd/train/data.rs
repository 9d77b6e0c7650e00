//! Reading the training and development data.

use crate::args::{Format, TrainArgs};
use crate::input::{self, Reader, Sequence, label_index};
use anyhow::Result;
use crfkit::data::corpus::{Corpus, CorpusBuilder};
use crfkit::data::dataset::Dataset;
use crfkit::data::observer::{Observer, Source};
use crfkit::data::presets::preset;
use crfkit::data::template::Templates;
use crfkit::train::Dev;
use crfkit::{Error, Place};
use std::path::Path;

/// The training data.
pub struct Labelled {
    /// As observations.
    pub corpus: Corpus,
    /// Number of columns, the label's included; `None` with attributes.
    pub columns: Option<usize>,
}

/// Reads all training files. What the data looks like is known from its first sequence.
pub fn read_corpus(args: &TrainArgs) -> Result<Labelled> {
    let mut builder: Option<CorpusBuilder> = None;
    let layout = for_each_sequence(args, |layout, sequence| {
        let builder = match &mut builder {
            Some(builder) => builder,
            none => none.insert(CorpusBuilder::new(source(args, layout)?)),
        };
        match sequence {
            Sequence::Columns(columns) => builder.add_columns(columns, layout.label)?,
            Sequence::Attributes(attributes) => builder.add_attributes(attributes),
        }
        Ok(())
    })?;
    let builder = builder.ok_or_else(|| no_sequence(&args.train[0]))?;
    Ok(Labelled { corpus: builder.finish(args.min_count)?, columns: layout.columns() })
}

/// Calls `each` with all sequences of the training files, which must not be empty, and with their common layout.
pub fn for_each_sequence(
    args: &TrainArgs,
    mut each: impl FnMut(&Layout, &mut Sequence) -> Result<()>,
) -> Result<Layout> {
    let mut layout: Option<Layout> = None;
    for path in &args.train {
        let mut reader = open(args, path)?;
        let mut sequence = reader.sequence();
        let mut empty = true;
        while reader.read(&mut sequence)? {
            let layout = match &layout {
                Some(layout) => layout,
                None => layout.insert(Layout::of(args, &sequence)?),
            };
            if empty {
                layout.check(&sequence)?;
                empty = false;
            }
            each(layout, &mut sequence)?;
        }
        if empty {
            return Err(no_sequence(path));
        }
    }
    layout.ok_or_else(|| no_sequence(&args.train[0]))
}

/// Reads development data by the alphabets of the training data.
pub fn read_dev(args: &TrainArgs, path: &Path, corpus: &Corpus, columns: Option<usize>) -> Result<Dev> {
    let mut reader = open(args, path)?;
    let mut sequence = reader.sequence();
    let mut observer = Observer::default();
    let mut dev = Dev { data: Dataset::new(), gold: Vec::new() };
    while reader.read(&mut sequence)? {
        let layout = Layout::of(args, &sequence)?;
        if let (true, Some(columns)) = (dev.gold.is_empty(), columns) {
            Layout { columns, ..layout }.check(&sequence)?;
        }
        match &sequence {
            Sequence::Columns(columns) => corpus.observe_columns(columns, &mut observer, &mut dev.data),
            Sequence::Attributes(attributes) => {
                corpus.observe_attributes(attributes, &mut observer, &mut dev.data)
            }
        }
        let gold = (0..sequence.len()).map(|row| sequence.label(row, layout.label).to_owned());
        dev.gold.push(gold.collect());
    }
    if dev.gold.is_empty() {
        return Err(no_sequence(path));
    }
    Ok(dev)
}

/// The format of the data: columns unless said otherwise.
pub fn format(args: &TrainArgs) -> Format {
    args.input.format.unwrap_or(Format::Columns)
}

/// Opens a file of labelled data.
pub fn open(args: &TrainArgs, path: &Path) -> crfkit::Result<Reader> {
    Reader::open(path, format(args), args.input.encoding)
}

/// The error about a file without data.
pub fn no_sequence(path: &Path) -> anyhow::Error {
    let message =
        "no sequence in it: labelled tokens are needed, one a line, with an empty line between sequences";
    Error::input(Place::new(input::name(path), 0), message).into()
}

/// What the columns of the data are; all 0 with attributes.
#[derive(Clone, Copy)]
pub struct Layout {
    /// Number of columns.
    pub columns: usize,
    /// The label's column.
    pub label: usize,
}

impl Layout {
    /// Of data that begins with `sequence`.
    pub fn of(args: &TrainArgs, sequence: &Sequence) -> crfkit::Result<Self> {
        let Sequence::Columns(rows) = sequence else { return Ok(Layout { columns: 0, label: 0 }) };
        let columns = rows.columns();
        if columns < 2 {
            let message = "one column: a token and its label are needed, split at spaces or tabs";
            return Err(Error::input(rows.place(0), message));
        }
        Ok(Layout { columns, label: label_index(args.label_column[0], columns, || rows.place(0))? })
    }

    /// Refuses a file with another number of columns than the first one.
    pub fn check(&self, sequence: &Sequence) -> crfkit::Result<()> {
        if sequence.columns() == self.columns {
            return Ok(());
        }
        let message = format!(
            "{} columns, but the training data begins with {}: all files need the same columns",
            sequence.columns(),
            self.columns
        );
        Err(Error::input(sequence.place(0), message))
    }

    /// Number of columns; `None` with attributes.
    pub fn columns(&self) -> Option<usize> {
        (self.columns > 0).then_some(self.columns)
    }

    fn label_is_last(&self) -> bool {
        self.label + 1 == self.columns
    }
}

/// The templates that the user asks for; `columns` counts those that are not labels.
pub fn templates(args: &TrainArgs, columns: usize) -> Result<Templates> {
    Ok(match &args.template {
        None => preset(&args.preset)?.compile(columns)?,
        Some(path) => {
            let name = input::name(path);
            let text = std::fs::read_to_string(path).map_err(|error| Error::io(&*name, error))?;
            Templates::compile(&text, args.template_dialect, &name)?
        }
    })
}

/// What makes observations: attributes, or templates that fit the columns.
pub fn source(args: &TrainArgs, layout: &Layout) -> Result<Source> {
    if format(args) == Format::Attributes {
        return Ok(Source::Attributes);
    }
    let mut templates = templates(args, layout.columns - 1)?;
    // Templates count the columns of the file. Where the label is the last one, it is out of their range.
    templates.check_columns(if layout.label_is_last() { layout.columns - 1 } else { layout.columns })?;
    check_label_unseen(&templates, layout.label)?;
    if args.template.is_some() {
        templates.name = "template file".into(); // the model keeps the text, not the path
    }
    Ok(Source::Templates(templates))
}

/// Refuses templates that read the label: they would see the answer, and know nothing without it.
fn check_label_unseen(templates: &Templates, label: usize) -> crfkit::Result<()> {
    let reads_label = |template: &&crfkit::data::template::Template| {
        template.macros.iter().any(|part| templates.extractors[part.extractor].column == label)
    };
    let Some(template) = templates.unigram.iter().chain(&templates.bigram).find(reads_label) else {
        return Ok(());
    };
    let message = format!(
        "column {label} is the label (--label-column): a template must not read it; presets read the word in column \
         0 and the columns behind it"
    );
    Err(Error::input(Place::new(&templates.name, template.line), message))
}
