//! `crfkit demo`: trains, evaluates and applies a model, and says what to type next.

mod grid;

use crate::args::{DemoArgs, DemoTask};
use crate::demo::corpus::{Part, SAMPLES, corpus, tokenize};
use crate::error::{stdout_failed, usage};
use crate::progress::Progress;
use anyhow::{Context, Result};
use crfkit::data::columns::{ColumnReader, Columns};
use crfkit::data::corpus::CorpusBuilder;
use crfkit::data::observer::Source;
use crfkit::data::presets::preset;
use crfkit::data::text::{Encoding, Lines};
use crfkit::eval::Evaluation;
use crfkit::files::write_atomically;
use crfkit::model::{Model, Precision};
use crfkit::optim::Control;
use crfkit::tag::Tagger;
use crfkit::train::{Event, Listener, Settings, Start, Trained, features, train};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

const SEED: u64 = 1;
const TRAIN_LINES: usize = 2000;
const TEST_LINES: usize = 500;

/// Runs the demo of a task.
pub fn run(args: &DemoArgs) -> Result<ExitCode> {
    match args.task {
        None if args.output.is_some() => Err(usage("-o (--output) is for the picture of `crfkit demo grid`")),
        None => ingredients(args),
        Some(DemoTask::Grid) if args.write.is_some() => Err(usage(
            "--write is for the files of `crfkit demo`: `crfkit demo grid` writes a picture, -o FILE",
        )),
        Some(DemoTask::Grid) => grid::run(args.output.as_deref()),
    }
}

/// The parts of ingredient lines.
fn ingredients(args: &DemoArgs) -> Result<ExitCode> {
    let progress = Progress::new(false);
    let (train_text, test_text) =
        (corpus(SEED, TRAIN_LINES, Part::Train), corpus(SEED, TEST_LINES, Part::Test));
    say(&format!(
        "A small task: find quantity, unit, size, name and preparation in ingredient lines.\n\n{}\n",
        first_sequence(&train_text)
    ))?;

    let begun = Instant::now();
    let trained = learn(&train_text, &progress)?;
    progress.finish();
    say(&format!(
        "Trained on {TRAIN_LINES} lines in {:.1} s: {} features, {:.0} passes; stopped: {}.\n",
        begun.elapsed().as_secs_f64(),
        trained.features,
        trained.passes,
        trained.stop
    ))?;

    let model = Arc::new(trained.model);
    let mut tagger = Tagger::new(model.clone());
    let scores = judge(&mut tagger, &test_text)?.scores();
    say(&format!(
        "On {TEST_LINES} lines it has never seen: F1 {:.2}, {:.2} % of the tokens right ({:.2} % of the words that \
         training lacked).\n\nSome more lines, each token with its label and how sure the model is:\n\n",
        scores.f1,
        scores.accuracy,
        scores.unknown_accuracy.unwrap_or(0.0)
    ))?;
    for line in SAMPLES {
        say(&show(&mut tagger, line)?)?;
    }
    match &args.write {
        Some(directory) => write(directory, &train_text, &test_text, &model)?,
        None => say("Next, with files of your own (one token a line, its label in the last column):\n\n  \
             crfkit train train.tsv -m model\n  crfkit tag -m model new.tsv\n\n\
             Or with the files of this demo:\n\n  \
             crfkit demo --write demo && crfkit train demo/train.tsv -m demo/model\n  \
             crfkit eval -m demo/model demo/test.tsv\n\n\
             Or with pictures instead of text:\n\n  crfkit demo grid\n")?,
    }
    Ok(ExitCode::SUCCESS)
}

fn say(text: &str) -> crfkit::Result<()> {
    std::io::stdout().write_all(text.as_bytes()).map_err(stdout_failed)
}

/// Calls `each` with the sequences of a text.
fn for_each_sequence(text: &str, mut each: impl FnMut(&Columns) -> crfkit::Result<()>) -> crfkit::Result<()> {
    let mut reader = ColumnReader::new(Lines::new(text.as_bytes(), "demo", Encoding::Utf8));
    let mut sequence = Columns::default();
    while reader.read(&mut sequence)? {
        each(&sequence)?;
    }
    Ok(())
}

/// The first sequence as the user would write it.
fn first_sequence(text: &str) -> String {
    let rows = text.split("\n\n").next().unwrap_or_default();
    rows.lines().fold(String::new(), |mut shown, row| {
        let (token, label) = row.split_once('\t').unwrap_or((row, ""));
        let _ = writeln!(shown, "  {token:<14} {label}");
        shown
    })
}

/// Trains with default settings.
fn learn(text: &str, progress: &Progress) -> crfkit::Result<Trained> {
    let settings = Settings::default();
    let mut builder = CorpusBuilder::new(Source::Templates(preset("default")?.compile(1)?));
    for_each_sequence(text, |sequence| builder.add_columns(sequence, 1))?;
    let corpus = builder.finish(settings.min_count)?;
    let features = features(&corpus, &settings);
    let mut trained = train(corpus, features, &settings, Start::default(), &mut Show(progress))?;
    trained.model.settings["label_column"] = (-1).into();
    trained.model.settings["columns"] = 2.into();
    Ok(trained)
}

/// Shows the training on a terminal.
struct Show<'a>(&'a Progress);

impl Listener for Show<'_> {
    fn event(&mut self, event: &Event) -> crfkit::Result<Control> {
        if let Event::Progress { passes, objective: Some(objective), .. } = event {
            self.0.step(|| format!("training: pass {passes:.2}  objective {objective:.2}"));
        }
        Ok(Control::Continue)
    }
}

/// Tags the test lines and compares.
fn judge(tagger: &mut Tagger, text: &str) -> crfkit::Result<Evaluation> {
    let model = tagger.model().clone();
    let mut evaluation = Evaluation::default();
    for_each_sequence(text, |sequence| {
        tagger.columns(sequence)?;
        let rows = 0..sequence.len();
        let predicted: Vec<&str> =
            tagger.viterbi().iter().map(|&label| model.labels[label as usize].as_str()).collect();
        let gold: Vec<&str> = rows.clone().map(|row| sequence.field(row, 1)).collect();
        let known: Vec<bool> = rows.map(|row| model.knows(sequence.field(row, 0)).unwrap_or(false)).collect();
        evaluation.add_sequence(&gold, &predicted, Some(&known));
        Ok(())
    })?;
    Ok(evaluation)
}

/// A line with its tokens, labels and confidences, one column a token.
fn show(tagger: &mut Tagger, line: &str) -> crfkit::Result<String> {
    let model = tagger.model().clone();
    let mut text = String::new();
    for_each_sequence(&tokenize(line).join("\n"), |sequence| {
        tagger.columns(sequence)?;
        let labels = tagger.viterbi().to_vec();
        let mut rows = [String::new(), String::new(), String::new()];
        for (t, &label) in labels.iter().enumerate() {
            let cells = [
                sequence.field(t, 0),
                &model.labels[label as usize],
                &format!("{:.0}%", 100.0 * tagger.marginal(t, label)),
            ];
            let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
            for (row, cell) in rows.iter_mut().zip(cells) {
                let _ = write!(row, "  {cell:<width$}");
            }
        }
        for row in rows {
            let _ = writeln!(text, "{}", row.trim_end());
        }
        text.push('\n');
        Ok(())
    })?;
    Ok(text)
}

/// Writes the demo's files.
fn write(directory: &Path, train_text: &str, test_text: &str, model: &Model) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let model = model.to_bytes(Precision::F64)?;
    let files = [("train.tsv", train_text.as_bytes()), ("test.tsv", test_text.as_bytes()), ("model", &model)];
    for (name, bytes) in files {
        write_atomically(&directory.join(name), bytes)?;
    }
    let directory = directory.display();
    say(&format!(
        "Written: {directory}/train.tsv, {directory}/test.tsv, {directory}/model. Next:\n\n  \
         crfkit train {directory}/train.tsv -m {directory}/model\n  \
         crfkit eval -m {directory}/model {directory}/test.tsv\n  \
         crfkit tag -m {directory}/model --marginals {directory}/test.tsv\n  \
         crfkit inspect {directory}/model\n"
    ))?;
    Ok(())
}
