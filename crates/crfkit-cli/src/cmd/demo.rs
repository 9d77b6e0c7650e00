//! `crfkit demo`: trains, evaluates and applies a model, and suggests the next commands.

mod grid;

use crate::args::{DemoArgs, DemoTask};
use crate::demo::corpus::{CorpusPart, SAMPLES, corpus, tokenize};
use crate::error::{stdout_failed, usage};
use crate::paths::check_apart;
use crate::progress::Progress;
use anyhow::{Context, Result};
use crfkit::chain::{ChainDomain, ChainModel, CorpusBuilder};
use crfkit::data::columns::{ColumnReader, Columns};
use crfkit::data::observer::Source;
use crfkit::data::presets::preset;
use crfkit::data::text::{Encoding, Lines};
use crfkit::decode::Decode;
use crfkit::files::write_atomically;
use crfkit::model::Precision;
use crfkit::optim::Control;
use crfkit::tag::{Judgement, Tagger};
use crfkit::train::{Event, Listener, Settings, TrainOptions, Trained, features, train};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

const SEED: u64 = 1;
const TRAIN_LINES: usize = 2000;
const TEST_LINES: usize = 500;
/// The files of `--write`.
const NAMES: [&str; 3] = ["train.tsv", "test.tsv", "model"];

/// Runs the demo of a task.
pub fn run(args: &DemoArgs) -> Result<ExitCode> {
    match args.task {
        None if args.output.is_some() => {
            Err(usage("-o (--output) is for the image of `crfkit demo grid`: leave it out"))
        }
        None => ingredients(args),
        Some(DemoTask::Grid) if args.write.is_some() => Err(usage(
            "--write is for the files of `crfkit demo`: `crfkit demo grid` writes one image, to -o FILE",
        )),
        Some(DemoTask::Grid) => grid::run(args.output.as_deref()),
    }
}

/// The parts of ingredient lines.
fn ingredients(args: &DemoArgs) -> Result<ExitCode> {
    let progress = Progress::new(false);
    let (train_text, test_text) =
        (corpus(SEED, TRAIN_LINES, CorpusPart::Train), corpus(SEED, TEST_LINES, CorpusPart::Test));
    if let Some(directory) = &args.write {
        check_directory(directory, &train_text, &test_text)?;
    }
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
    let scores = judge(&mut tagger, &test_text)?.sets[0].scores();
    say(&format!(
        "On {TEST_LINES} new lines: F1 {:.2}, {:.2} % of the tokens right ({:.2} % of the words that \
         are not in the training data).\n\nSome more lines, each token with its label and the label's probability:\n\n",
        scores.f1,
        scores.accuracy,
        scores.unknown_accuracy.unwrap_or(0.0)
    ))?;
    for line in SAMPLES {
        say(&show(&mut tagger, line)?)?;
    }
    match &args.write {
        Some(directory) => write(directory, &train_text, &test_text, &model)?,
        None => say("Next, with your own files (one token per line, its label in the last column):\n\n  \
             crfkit train train.tsv -m model\n  crfkit tag -m model new.tsv\n\n\
             Or with the files of this demo:\n\n  \
             crfkit demo --write demo && crfkit train demo/train.tsv -m demo/model\n  \
             crfkit eval -m demo/model demo/test.tsv\n\n\
             Or with images instead of text:\n\n  crfkit demo grid\n")?,
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

/// The first sequence as a user would write it.
fn first_sequence(text: &str) -> String {
    let rows = text.split("\n\n").next().unwrap_or_default();
    rows.lines().fold(String::new(), |mut shown, row| {
        let (token, label) = row.split_once('\t').unwrap_or((row, ""));
        let _ = writeln!(shown, "  {token:<14} {label}");
        shown
    })
}

/// Trains with default settings.
fn learn(text: &str, progress: &Progress) -> crfkit::Result<Trained<ChainDomain>> {
    let settings = Settings::default();
    let mut builder = CorpusBuilder::new(Source::Templates(preset("default")?.compile(1)?));
    for_each_sequence(text, |sequence| builder.add_columns(sequence, 1))?;
    let corpus = builder.finish(settings.min_count)?;
    let features = features(&corpus, &settings);
    train(corpus, features, &settings, TrainOptions::default(), &mut Show(progress))
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

/// Tags the test lines and compares with their gold labels.
fn judge(tagger: &mut Tagger<ChainModel>, text: &str) -> crfkit::Result<Judgement> {
    let mut judgement = Judgement::new(1);
    for_each_sequence(text, |sequence| {
        tagger.judge(&sequence.clone().into(), Decode::Best, &mut judgement).map(|_| ())
    })?;
    Ok(judgement)
}

/// A line with its tokens, labels and confidences, one column per token.
fn show(tagger: &mut Tagger<ChainModel>, line: &str) -> crfkit::Result<String> {
    let model = tagger.model().clone();
    let mut text = String::new();
    for_each_sequence(&tokenize(line).join("\n"), |sequence| {
        tagger.load_columns(sequence)?;
        let labels = tagger.viterbi().to_vec();
        let mut rows = [String::new(), String::new(), String::new()];
        for (t, &label) in labels.iter().enumerate() {
            let cells = [
                sequence.field(t, 0),
                &model.domain.labels[label as usize],
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

/// Rejects a directory with files of the user's own that have the names of the demo's. Where the demo's data already is, `model` is a
/// model of it and may be replaced.
fn check_directory(directory: &Path, train_text: &str, test_text: &str) -> Result<()> {
    let at = |name: &str| directory.join(name);
    let paths = NAMES.map(at);
    check_apart(&[("train.tsv", &paths[0]), ("test.tsv", &paths[1]), ("model", &paths[2])])?;
    let foreign =
        |path: &Path, text: &str| path.exists() && fs::read(path).ok().as_deref() != Some(text.as_bytes());
    let found = match &paths {
        [train, ..] if foreign(train, train_text) => train,
        [_, test, _] if foreign(test, test_text) => test,
        [train, _, model] if model.exists() && !train.exists() => model,
        _ => return Ok(()),
    };
    Err(usage(format!(
        "--write would write over {}, which is not a file of the demo: give another directory",
        found.display()
    )))
}

/// Writes the demo's files.
fn write(directory: &Path, train_text: &str, test_text: &str, model: &ChainModel) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let model = model.to_bytes(Precision::F64)?;
    for (name, bytes) in NAMES.into_iter().zip([train_text.as_bytes(), test_text.as_bytes(), &model]) {
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
