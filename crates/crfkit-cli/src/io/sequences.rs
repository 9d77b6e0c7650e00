//! Sequences for plain chains: rows of fields in any format, and CRFsuite's attributes.

use super::layout::RowLayout;
use super::reasons::explain_mistakes;
use super::repeat::{repeat_attributes, repeat_rows};
use super::{Door, Feed, InputPlace, Inputs, Reading, RowFile, Trained, VectorFile, Wanted, name, read_text};
use crate::args::{Format, RankBy, TrainArgs};
use crate::flags::ModelKind;
use crate::paths::{Named, check_inputs_kept, outputs};
use crate::pipeline::{Pace, Source};
use anyhow::Result;
use crfkit::Error;
use crfkit::any::{Ensemble, Member};
use crfkit::chain::Sequence;
use crfkit::data::attributes::{AttributeReader, Attributes};
use crfkit::data::columns::Columns;
use crfkit::data::observer;
use crfkit::data::presets::{number_lines, preset};
use crfkit::data::rows::RowFormat;
use crfkit::data::template::Templates;
use crfkit::eval::{Calibration, ChunkLabels, Scheme, chunks, is_chunked};
use crfkit::graph::Label;
use crfkit::tag::{Judgement, Tagger};
use crfkit_report::Samples;
use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Reads the sequences of one file in any format.
pub struct SequenceReader {
    file: FormatReader,
    label_column: Option<i32>,
    scheme: Option<Scheme>,
    /// The vectors of the tokens of attribute lists; rows have theirs already.
    vectors: Option<VectorFile>,
}

enum FormatReader {
    Rows(Box<RowFile>),
    Attributes(AttributeReader<Box<dyn Read + Send>>, Feed),
}

impl SequenceReader {
    /// Opens a file, or standard input for `-`. Every sequence of rows gets the label's column. `usual` is the format where neither the
    /// user nor the file's name tells.
    pub fn open(path: &Path, reading: &Reading, usual: Format) -> crfkit::Result<Self> {
        let file = match reading.rows_of(path, usual) {
            Some(format) => FormatReader::Rows(Box::new(RowFile::open(path, reading, &format)?)),
            None if reading.weight_column.is_some() => {
                return Err(Error::Setting(
                    "attribute lists have @weight:NUMBER in front of an instance: leave out --weight-column"
                        .into(),
                ));
            }
            None if reading.token_weight_column.is_some() => {
                return Err(Error::Setting(
                    "attribute lists have no weights of tokens: use columns or JSON lines, or leave out --token-weight-column".into(),
                ));
            }
            None => {
                let (lines, feed) = Feed::open(path, reading)?;
                FormatReader::Attributes(AttributeReader::new(lines), feed)
            }
        };
        let vectors = match &file {
            FormatReader::Rows(_) => None,
            FormatReader::Attributes(..) => reading.vectors.as_deref(),
        };
        let vectors = vectors.map(|vectors| VectorFile::open(vectors, path)).transpose()?;
        Ok(SequenceReader { file, label_column: reading.label_column, scheme: reading.scheme, vectors })
    }
}

impl Source for SequenceReader {
    type Item = Sequence;

    fn item(&self) -> Sequence {
        match self.file {
            FormatReader::Rows(_) => {
                Sequence::Columns { rows: Columns::default(), label_column: self.label_column }
            }
            FormatReader::Attributes(..) => Sequence::Attributes(Attributes::default()),
        }
    }

    fn read(&mut self, sequence: &mut Sequence) -> crfkit::Result<bool> {
        if self.vectors.is_none() {
            return self.read_tokens(sequence);
        }
        let mut memory = sequence.take_vectors();
        let read = self.read_tokens(sequence)?;
        if let Some(vectors) = &mut self.vectors
            && vectors.read(read, sequence.len(), &mut memory, || sequence.place(0))?
        {
            sequence.set_vectors(memory)?;
        }
        Ok(read)
    }

    fn tokens(sequence: &Sequence) -> usize {
        sequence.len()
    }

    fn pace(&self) -> Pace {
        match &self.file {
            FormatReader::Rows(file) => file.pace(),
            FormatReader::Attributes(_, feed) => feed.pace(),
        }
    }

    fn ready(&mut self) -> crfkit::Result<bool> {
        match &mut self.file {
            FormatReader::Rows(file) => file.ready(),
            FormatReader::Attributes(reader, feed) => reader.ready(|| feed.at_hand()),
        }
    }
}

impl SequenceReader {
    /// Reads the next sequence; attribute lists without their vectors.
    fn read_tokens(&mut self, sequence: &mut Sequence) -> crfkit::Result<bool> {
        match (&mut self.file, sequence) {
            (FormatReader::Rows(file), Sequence::Columns { rows, .. }) => file.read(rows),
            (FormatReader::Attributes(reader, _), Sequence::Attributes(attributes)) => {
                let read = reader.read(attributes)?;
                if let Some(scheme) = self.scheme {
                    let labels: Vec<&str> = (0..attributes.len()).map(|row| attributes.label(row)).collect();
                    let converted = scheme.labels(&labels);
                    attributes.set_labels(&converted);
                }
                Ok(read)
            }
            _ => unreachable!("a sequence of the other format"),
        }
    }
}

/// The templates that the user asks for; `columns` is the number of columns that are not labels.
pub fn templates(args: &TrainArgs, columns: usize) -> Result<Templates> {
    let numbers = args.dense_columns();
    let Some(path) = &args.template else {
        return Ok(match args.stream {
            true => preset(&args.preset)?.compile_with(columns, &numbers)?,
            false => preset(&args.preset)?.compile_for(columns, &numbers, args.segments.is_some())?,
        });
    };
    let file = name(path);
    let mut text = read_text(path)?;
    // In a stream the numbers are features like others; elsewhere they are a matrix.
    if args.stream && !numbers.is_empty() {
        text = format!("{}\n{}", text.trim_end_matches('\n'), number_lines(&numbers));
    }
    let folder = path.parent().unwrap_or(std::path::Path::new(""));
    let templates = Templates::compile_in(&text, args.template_dialect, &file, folder)?;
    let lists: Vec<PathBuf> = templates.files.iter().map(|list| folder.join(&list.name)).collect();
    let lists: Vec<Named> = lists.iter().map(|path| ("a list of the template", &**path)).collect();
    check_inputs_kept(&outputs(args), &lists)?;
    Ok(templates)
}

/// The format of the data that a model was trained on.
fn format_of(member: &Member) -> Format {
    match member {
        Member::Weighted(model) => match model.domain.source {
            observer::Source::Attributes => Format::Attributes,
            observer::Source::Templates(_) => Format::Columns,
        },
        Member::Empirical(_) => Format::Columns,
    }
}

/// Rejects models whose label was in front of other columns, for formats that have it behind them.
fn check_label_is_last(models: &Ensemble) -> Result<()> {
    let last = |member: &Member| match member {
        Member::Weighted(model) => model.domain.columns.is_none_or(|layout| layout.label_is_last()),
        Member::Empirical(model) => model.settings().word_column == 0,
    };
    match models.members().iter().all(last) {
        true => Ok(()),
        false => anyhow::bail!(
            "the label came before other columns in training, but in this format it comes last: use --format columns"
        ),
    }
}

/// How the data of these models is read.
fn reading_of(models: &Ensemble, path: &Path, reading: &Reading) -> Result<Reading> {
    let fields = models.members()[0].fields();
    if reading.fields.is_none() && models.members().iter().any(|member| member.fields() != fields) {
        anyhow::bail!(
            "the models were trained on different fields of CoNLL-U: name the fields of this data with --fields"
        );
    }
    let trained = Trained { fields, columns: models.columns() };
    Ok(reading.of_model(path, &trained)?)
}

impl Door for Ensemble {
    type Source = SequenceReader;
    const NOTHING: &'static str = "no sequence in it";

    fn kind(&self) -> ModelKind {
        match &self.members()[0] {
            Member::Weighted(_) => ModelKind::Chain,
            Member::Empirical(_) => ModelKind::Counts,
        }
    }

    fn open(&self, inputs: &Inputs) -> Result<SequenceReader> {
        let InputPlace::File(path) = &inputs.place else {
            anyhow::bail!("a model of sequences: apply it to a file, without --images")
        };
        let (trained, reading) = (format_of(&self.members()[0]), &reading_of(self, path, &inputs.reading)?);
        if self.members().iter().any(|member| format_of(member) != trained) {
            anyhow::bail!(
                "models that label together must be trained on one format of data: columns, or attributes"
            );
        }
        match (trained, reading.format_of(path, trained)) {
            (Format::Attributes, _) if reading.text.is_some() => {
                anyhow::bail!(
                    "this model was trained on attribute lines, which cannot be made from text: leave out --text"
                )
            }
            (Format::Attributes, Format::Columns | Format::Json | Format::Conllu) => {
                anyhow::bail!("this model was trained on attribute lines: use --format attributes")
            }
            (Format::Attributes, _) if reading.label_column.is_some() => anyhow::bail!(
                "--label-column is for columns, but attribute lines begin with the label: leave it out"
            ),
            (Format::Columns, Format::Attributes) => {
                anyhow::bail!("this model was trained on columns: use --format columns")
            }
            _ => {}
        }
        if reading.text.is_some() {
            check_label_is_last(self)?;
            self.check_words_alone()?;
        }
        let mut reader = SequenceReader::open(path, reading, trained)?;
        if let FormatReader::Rows(file) = reader.file {
            if matches!(
                reading.rows_of(path, trained),
                Some(RowFormat::Json | RowFormat::Lines | RowFormat::Sentences)
            ) {
                check_label_is_last(self)?;
            }
            let label = match &self.members()[0] {
                Member::Weighted(model) => model.domain.columns.map(|layout| match layout.label_is_last() {
                    true => -1,
                    false => layout.label as i32,
                }),
                Member::Empirical(model) => Some(model.settings().label_column),
            };
            let file = file.at_most(self.columns(), reading).labelled(label);
            reader.file = FormatReader::Rows(Box::new(file));
        }
        Ok(reader)
    }

    fn input<'a>(&self, sequence: &'a Sequence) -> Result<Option<Cow<'a, Sequence>>> {
        Ok(Some(Cow::Borrowed(sequence)))
    }

    fn write(
        &self,
        wanted: &Wanted,
        sequence: &Sequence,
        labels: &[Label],
        tagger: &mut Tagger<Self>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let values = match &self.members()[0] {
            Member::Weighted(model) => model.domain.columns.map_or(1, |layout| layout.columns - 1),
            Member::Empirical(model) => model.settings().word_column + 1,
        };
        RowLayout { wanted, names: self.labels(), values }.write(sequence, tagger.answers(), labels, out)
    }

    fn sample(
        &self,
        sequence: &Sequence,
        labels: &[Label],
        tagger: &mut Tagger<Self>,
        samples: &mut [Samples],
    ) -> Result<()> {
        if sequence.is_empty() {
            return Ok(());
        }
        let word_column = match &self.members()[0] {
            Member::Weighted(model) => model.domain.layout_of(sequence)?.map_or(0, |layout| layout.word()),
            Member::Empirical(model) => model.settings().word_column,
        };
        let truth = tagger.truth(self, sequence)?;
        let gold: Vec<Option<&str>> = truth.labels.iter().map(Option::as_deref).collect();
        let predicted: Vec<&str> =
            labels.iter().map(|&label| self.labels()[label as usize].as_str()).collect();
        let marginal = |t, label| tagger.marginal(t, label);
        let word = |t| sequence.word(t, word_column).to_owned();
        let place = || sequence.place(0).to_string();
        match samples[0].add(self.labels(), (&predicted, &gold), marginal, place, word) {
            Some(sample) => explain_mistakes(self, sequence, tagger, (0, sample)),
            None => Ok(()),
        }
    }

    fn calibrate(
        &self,
        sequence: &Sequence,
        labels: &[Label],
        tagger: &mut Tagger<Self>,
        [of_labels, of_chunks]: &mut [Calibration; 2],
    ) -> Result<()> {
        tagger.calibrate(sequence, labels, of_labels)?;
        // Several models have no common probability of a chunk.
        if self.members().len() > 1 || !is_chunked(self.labels().iter().map(String::as_str)) {
            return Ok(());
        }
        let truth = tagger.truth(self, sequence)?;
        let gold: Vec<&str> = truth.labels.iter().map(|label| label.as_deref().unwrap_or("")).collect();
        let gold = chunks(&gold);
        let found: Vec<&str> = labels.iter().map(|&label| self.labels()[label as usize].as_str()).collect();
        let marks = ChunkLabels::new(self.labels());
        let known = |token: usize| truth.labels[token].is_some();
        for (tokens, kind) in chunks(&found).into_iter().filter(|(tokens, _)| tokens.clone().all(known)) {
            let right = gold.contains(&(tokens.clone(), kind));
            of_chunks.add(tagger.chunk_probability(&marks, tokens, kind), right);
        }
        Ok(())
    }

    fn variable_name(&self, sequence: &Sequence, token: usize) -> String {
        let word = match &self.members()[0] {
            Member::Weighted(model) => model.domain.columns.map_or(0, |layout| layout.word()),
            Member::Empirical(model) => model.settings().word_column,
        };
        sequence.word(token, word).to_owned()
    }

    fn without_temperature(&self) -> Option<Ensemble> {
        Ensemble::without_temperature(self)
    }

    fn doubt(&self, by: RankBy, tagger: &mut Tagger<Self>) -> Result<f64> {
        Ok(match by {
            RankBy::Entropy => tagger.entropy(),
            RankBy::Margin => tagger.margin()?,
            RankBy::TotalTokenEntropy => tagger.label_entropy()?,
            RankBy::TokenEntropy => tagger.label_entropy()? / tagger.len().max(1) as f64,
        })
    }

    fn repeat(&self, sequence: &Sequence, out: &mut Vec<u8>) -> Result<()> {
        match sequence {
            Sequence::Columns { rows, .. } => repeat_rows(rows, out),
            Sequence::Attributes(attributes) => repeat_attributes(attributes, out),
        }
    }

    fn describe_tests(&self, _part: &str, observation: &str) -> String {
        let words = match &self.members()[0] {
            Member::Weighted(model) => match &model.domain.source {
                observer::Source::Templates(templates) => templates.describe_tests(observation),
                observer::Source::Attributes => None,
            },
            Member::Empirical(_) => None,
        };
        words.as_deref().unwrap_or(observation).escape_debug().to_string()
    }

    fn text(&self, judgement: &Judgement, _sequences: u64) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        judgement.sets[0].write_text(&mut out)?;
        Ok(out)
    }

    fn json(&self, judgement: &Judgement, _sequences: u64) -> Result<String> {
        Ok(serde_json::to_string(&judgement.sets[0].scores())?)
    }
}
