//! Training: it runs on a thread of its own, and its progress comes back.

use crate::Threads;
use crate::errors::{data_error, raise, setting_error};
use crate::features::Converter;
use crate::labels::Given;
use crate::model::PyModel;
use crate::paths::FilePath;
use crate::reading::{Choices, Reading};
use crate::settings::read_settings;
use crate::workers::Turns;
use crfkit::any::AnyModel;
use crfkit::chain::Sequence;
use crfkit::domain::{Corpus, Dev, Domain, WeightedModel};
use crfkit::settings::{Kind, Settings};
use crfkit::{Error, Model, Trainer};
use crfkit::{TrainingPhase, TrainingProgress};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Sequences that the thread that reads them gets at a time: waking it for each would take longer than reading one.
pub(crate) const PART: usize = 64;
/// Parts that wait for that thread.
const WAITING: usize = 4;
/// How often the interpreter is asked for signals, such as Ctrl-C.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// Sequences on their way to the training thread, or an error in the place of one.
type Part = Vec<crfkit::Result<Sequence>>;

/// What the training thread tells.
enum Message {
    Report(TrainingProgress),
    /// A checkpoint could not be written.
    Warning(String),
    Done(Box<crfkit::Result<Outcome>>),
}

/// A trained model, and how its training went.
pub(crate) struct Outcome {
    model: Model,
    stop: String,
    passes: f64,
    objective: f64,
}

/// The training thread's line to the interpreter.
pub(crate) struct Line {
    tell: Sender<Message>,
    /// With it, every report waits for an answer, which is false to stop.
    answered: Option<Receiver<bool>>,
    stop: Arc<AtomicBool>,
}

impl Line {
    /// A trainer with these settings that reports to the interpreter and obeys it. It may keep a checkpoint in a file.
    fn trainer(&self, settings: Settings, threads: usize, checkpoint: Option<PathBuf>) -> Trainer<'_> {
        let mut last_score = None;
        let report = move |state: &TrainingProgress| {
            let news = state.objective.is_some() || state.dev_score != last_score;
            last_score = state.dev_score;
            if !news || self.tell.send(Message::Report(*state)).is_err() {
                return true;
            }
            self.answered.as_ref().is_none_or(|answered| answered.recv().unwrap_or(false))
        };
        let trainer = Trainer::new()
            .configure(|mine| *mine = settings)
            .threads(threads)
            .stop_when(self.stop.clone())
            .on_progress(report);
        let warn = |error: &Error| {
            let _ = self.tell.send(Message::Warning(format!("{error}: the checkpoint is not up to date")));
        };
        match checkpoint {
            None => trainer,
            Some(path) => trainer.checkpoint(path, warn),
        }
    }
}

/// What a run on a corpus needs besides the corpus.
pub(crate) struct Begin {
    pub(crate) settings: Settings,
    pub(crate) start: Option<Model>,
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) threads: usize,
}

/// Trains on a corpus that is read already.
pub(crate) fn train_corpus<'py, D: Domain>(
    py: Python<'py>,
    corpus: Corpus<D>,
    dev: Option<Dev<D>>,
    begin: Begin,
    callback: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>>
where
    AnyModel: From<WeightedModel<D>>,
{
    let work = move |line: Line| {
        let mut trainer = line.trainer(begin.settings, begin.threads, begin.checkpoint);
        if let Some(start) = &begin.start {
            trainer = trainer.start_from(start);
        }
        let trained = trainer.train_corpus(corpus, dev)?;
        Ok(Outcome {
            model: AnyModel::from(trained.model).into(),
            stop: trained.stop.to_string(),
            passes: trained.passes,
            objective: trained.objective,
        })
    };
    supervise(py, callback, work, |_| Ok(()))
}

/// Runs `work` on a thread of its own and calls `meanwhile` in the interpreter's. Returns a dict with the model, the history, and the
/// exception that ended the run early, if any.
fn supervise<'py>(
    py: Python<'py>,
    callback: Option<Bound<'py, PyAny>>,
    work: impl FnOnce(Line) -> crfkit::Result<Outcome> + Send,
    meanwhile: impl FnOnce(&AtomicBool) -> PyResult<()>,
) -> PyResult<Bound<'py, PyDict>> {
    let stop: Arc<AtomicBool> = Arc::default();
    let (tell, told) = channel();
    let (answer, answered) = channel();
    let told = Mutex::new(told);
    let line =
        Line { tell: tell.clone(), answered: callback.is_some().then_some(answered), stop: stop.clone() };
    thread::scope(|scope| {
        scope.spawn(move || {
            let outcome = work(line);
            // It fails only if nobody listens any more, and then nobody misses it.
            let _ = tell.send(Message::Done(Box::new(outcome)));
        });
        let fed = meanwhile(&stop);
        if fed.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        let (outcome, history, raised) = listen(py, &told, &answer, callback.as_ref(), &stop)?;
        let outcome = match (fed, outcome) {
            (Ok(()), Ok(outcome)) => outcome,
            // The library's error may follow from what ended the run, and must not hide it.
            (Err(error), _) => return Err(raised.unwrap_or(error)),
            (_, Err(error)) => return Err(raised.unwrap_or_else(|| raise(py, error))),
        };
        let out = PyDict::new(py);
        out.set_item("model", Py::new(py, PyModel(outcome.model))?)?;
        out.set_item("stop", outcome.stop)?;
        out.set_item("passes", outcome.passes)?;
        out.set_item("objective", outcome.objective)?;
        out.set_item("history", history)?;
        out.set_item("raised", raised.map(|error| error.into_value(py)))?;
        Ok(out)
    })
}

/// Everything that a run on sequences needs besides the training data.
pub(crate) struct Plan {
    settings: Settings,
    choices: Choices,
    dev: Option<Vec<Sequence>>,
    start: Option<Model>,
    /// Whether the labels and observations of `start` stay.
    go_on: bool,
    /// Labels that the model has in any case.
    labels: Vec<String>,
    checkpoint: Option<PathBuf>,
    threads: usize,
}

/// Train a model on sequences. The package's estimators call this function.
///
/// Returns a dict with the model, the history, and the exception that ended the run early, if any.
#[pyfunction]
#[pyo3(signature = (x, y, settings, reading=None, *, dev=None, start=None, go_on=false, labels=None, checkpoint=None, threads=None, callback=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn train<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    settings: &str,
    reading: Option<Reading>,
    dev: Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    start: Option<&Bound<'py, PyModel>>,
    go_on: bool,
    labels: Option<Vec<String>>,
    checkpoint: Option<FilePath>,
    threads: Option<Threads>,
    callback: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let reading = reading.unwrap_or_default();
    let form = match start {
        // Its template is the model's.
        Some(start) if go_on && !reading.has_template() => start.get().form(),
        _ => reading.form(),
    };
    let mut converter = Converter::default();
    let dev = match dev {
        None => None,
        Some((x, y)) => Some(sequences(&x, &y, reading.development(form), &mut converter)?),
    };
    let plan = Plan {
        settings: read_settings(py, settings, Kind::Chain)?,
        choices: reading.choices(py)?,
        dev,
        start: start.map(|model| model.get().0.clone()),
        go_on,
        labels: labels.unwrap_or_default(),
        checkpoint: checkpoint.map(|path| path.0),
        threads: Threads::count(threads),
    };
    let (feed, food) = sync_channel(WAITING);
    let work = |line: Line| plan.run(food, &line);
    let meanwhile = |_: &AtomicBool| feed_all(py, feed, x, y, reading.given(form), &mut converter);
    supervise(py, callback, work, meanwhile)
}

/// Labelled sequences, without empty ones.
pub(crate) fn sequences(
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    given: Given<'_>,
    converter: &mut Converter,
) -> PyResult<Vec<Sequence>> {
    pairs(x, y)?
        .map(|(k, pair)| {
            let (x, y) = pair?;
            given.labelled(converter, &x, &y, k)
        })
        .filter(|read| !read.as_ref().is_ok_and(Sequence::is_empty))
        .collect()
}

impl Plan {
    /// Reads the sequences and trains.
    fn run(self, food: Receiver<Part>, line: &Line) -> crfkit::Result<Outcome> {
        let mut trainer = self.choices.of(line.trainer(self.settings, self.threads, self.checkpoint));
        if let Some(dev) = self.dev {
            trainer = trainer.dev(dev.into_iter().map(Ok))?;
        }
        if let Some(start) = &self.start {
            trainer = if self.go_on { trainer.continue_from(start) } else { trainer.start_from(start) };
        }
        trainer = trainer.labels(self.labels);
        let run = trainer.run(food.into_iter().flatten())?;
        Ok(Outcome {
            model: run.model,
            stop: run.stop.to_string(),
            passes: run.passes,
            objective: run.objective,
        })
    }
}

/// Sends every sequence to the training thread. If one cannot be read, the thread gets an error in its place.
fn feed_all(
    py: Python<'_>,
    feed: SyncSender<Part>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    given: Given<'_>,
    converter: &mut Converter,
) -> PyResult<()> {
    let mut all = || -> PyResult<()> {
        let (mut some, mut part, mut turns) = (false, Vec::with_capacity(PART), Turns::default());
        let send = |part: Part| match feed.try_send(part) {
            Ok(()) => true,
            Err(TrySendError::Full(part)) => py.detach(|| feed.send(part).is_ok()),
            Err(TrySendError::Disconnected(_)) => false,
        };
        for (k, pair) in pairs(x, y)? {
            let (x, y) = pair?;
            let sequence = given.labelled(converter, &x, &y, k)?;
            if sequence.is_empty() {
                continue;
            }
            some = true;
            part.push(Ok(sequence));
            // If it cannot be sent, the thread has an error to tell.
            if part.len() == PART {
                if !send(std::mem::replace(&mut part, Vec::with_capacity(PART))) {
                    break;
                }
                turns.offer(py);
                py.check_signals()?;
            }
        }
        if !some {
            return Err(data_error(py, "X has no token: there is nothing to learn from".into()));
        }
        send(part);
        Ok(())
    };
    let fed = all();
    if fed.is_err() {
        // If it cannot be sent, the thread has ended already.
        py.detach(|| feed.send(vec![Err(Error::Setting("the data could not be read".into()))]).ok());
    }
    fed
}

/// The result of a run, its history, and what the callback or a signal raised.
type Heard = (crfkit::Result<Outcome>, Vec<Row>, Option<PyErr>);

/// A row of the history: passes, objective, and score on the development set.
type Row = (f64, Option<f64>, Option<f64>);

/// Hears the training thread to its end. Signals and exceptions of the callback stop it.
fn listen(
    py: Python<'_>,
    told: &Mutex<Receiver<Message>>,
    answer: &Sender<bool>,
    callback: Option<&Bound<'_, PyAny>>,
    stop: &AtomicBool,
) -> PyResult<Heard> {
    let (mut history, mut raised) = (Vec::new(), None);
    loop {
        let heard = py.detach(|| told.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(POLL));
        let mut done = None;
        match heard {
            Ok(Message::Done(run)) => done = Some(*run),
            Ok(Message::Report(report)) => {
                if report.phase == TrainingPhase::Training {
                    history.push((report.passes, report.objective, report.dev_score));
                }
                let more = match callback {
                    Some(callback) if raised.is_none() => match ask(callback, report) {
                        Ok(more) => more,
                        Err(error) => {
                            raised = Some(error);
                            false
                        }
                    },
                    _ => raised.is_none(),
                };
                let _ = answer.send(more);
            }
            Ok(Message::Warning(text)) => {
                let warned = CString::new(text)
                    .map(|text| PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1));
                if let Ok(Err(error)) = warned {
                    stop.store(true, Ordering::Relaxed);
                    raised.get_or_insert(error);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // The thread panicked; `scope` passes that on.
            Err(RecvTimeoutError::Disconnected) => {
                return Err(setting_error(py, "training ended without a result".into()));
            }
        }
        // Also at the end: a signal that came with the result would be raised before anybody has kept the model.
        if let Err(signal) = py.check_signals() {
            stop.store(true, Ordering::Relaxed);
            if let Some(earlier) = raised.replace(signal) {
                raised.as_ref().inspect(|signal| signal.set_context(py, Some(earlier)));
            }
        }
        if let Some(run) = done {
            return Ok((run, history, raised));
        }
    }
}

/// Calls the callback with a dict. Only `False` stops the run: functions that return nothing go on.
fn ask(callback: &Bound<'_, PyAny>, report: TrainingProgress) -> PyResult<bool> {
    let phase = match report.phase {
        TrainingPhase::Penalties => "penalties",
        TrainingPhase::FirstWeights => "first weights",
        _ => "training",
    };
    let state = PyDict::new(callback.py());
    state.set_item("phase", phase)?;
    state.set_item("passes", report.passes)?;
    state.set_item("objective", report.objective)?;
    state.set_item("dev_score", report.dev_score)?;
    state.set_item("weights", report.weights)?;
    let answer = callback.call1((state,))?;
    Ok(answer.cast_into::<PyBool>().map_or(true, |answer| answer.is_true()))
}

/// A sequence's tokens and its labels.
pub(crate) type Pair<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Sequences with their labels and their numbers.
pub(crate) fn pairs<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
) -> PyResult<impl Iterator<Item = (usize, PyResult<Pair<'py>>)>> {
    let both = x.try_iter()?.zip(y.try_iter()?);
    Ok(both.map(|(x, y)| Ok((x?, y?))).enumerate())
}
