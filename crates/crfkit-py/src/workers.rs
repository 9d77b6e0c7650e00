//! A model's workers, which threads share.

use crate::errors::raise;
use crate::train::POLL;
use crfkit::Result;
use crfkit::decode::Decode;
use crfkit::graph::Label;
use crfkit::tag::{Labeller, Tagger};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Inputs that a worker takes at a time.
pub(crate) const PART: usize = 32;

/// The workers of a model. A thread takes one, and makes another if all are taken.
pub(crate) struct Workers<M: Labeller> {
    first: Mutex<Tagger<M>>,
    idle: Mutex<Vec<Tagger<M>>>,
}

/// The contents of a mutex, also if a thread panicked with it.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A worker begins every input anew, so one that panicked elsewhere leaves nothing behind.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ends of a line. Every thread holds one end until it is ready, and [`wait`] the other.
fn line() -> (Sender<()>, Mutex<Receiver<()>>) {
    let (line, ready) = channel();
    (line, Mutex::new(ready))
}

/// Waits until all threads are ready. A signal, such as Ctrl-C, tells them to stop.
fn wait(py: Python<'_>, ready: &Mutex<Receiver<()>>, stop: &AtomicBool) -> PyResult<()> {
    let mut signal = Ok(());
    // Who gives the interpreter's lock away may wait for it.
    while locked(ready).try_recv() == Err(TryRecvError::Empty) {
        if py.detach(|| locked(ready).recv_timeout(POLL)) == Err(RecvTimeoutError::Timeout)
            && let Err(error) = py.check_signals()
        {
            signal = Err(error);
            stop.store(true, Ordering::Relaxed);
        }
    }
    signal
}

/// Makes the inputs and gives them away in parts, until there are no more, one cannot be made, or there is a signal.
fn make<I>(
    py: Python<'_>,
    inputs: impl Iterator<Item = PyResult<I>>,
    signal: &mut PyResult<()>,
    mut give: impl FnMut(usize, Vec<I>),
) -> PyResult<()> {
    let (mut part, mut number, mut made) = (Vec::with_capacity(PART), 0, Ok(()));
    let mut turns = Turns::default();
    for input in inputs {
        match input {
            Ok(input) => part.push(input),
            Err(error) => {
                made = Err(error);
                break;
            }
        }
        if part.len() == PART {
            give(number, std::mem::replace(&mut part, Vec::with_capacity(PART)));
            number += 1;
            turns.offer(py);
            *signal = py.check_signals();
            if signal.is_err() {
                break;
            }
        }
    }
    give(number, part);
    made
}

/// Gives other threads of the interpreter their turn during a long loop that holds its lock.
///
/// A thread that has waited for the lock for 5 ms asks for it, and the next release hands it over. A release before that only makes it wait
/// anew, because whoever released the lock takes it back first. So the lock is released every [`TURN`], and not more often.
pub(crate) struct Turns(Instant);

/// The time between two turns: twice the 5 ms after which a thread asks.
const TURN: Duration = Duration::from_millis(10);

impl Default for Turns {
    fn default() -> Self {
        Turns(Instant::now())
    }
}

impl Turns {
    /// Releases the lock for a moment if the time has come.
    pub(crate) fn offer(&mut self, py: Python<'_>) {
        if self.0.elapsed() >= TURN {
            py.detach(|| ());
            self.0 = Instant::now();
        }
    }
}

/// Hears signals while the interpreter's lock is released.
struct Ears<'a> {
    /// When the interpreter was last asked.
    asked: Instant,
    signal: PyResult<()>,
    stop: &'a AtomicBool,
}

impl Ears<'_> {
    fn listen(&mut self) {
        if self.asked.elapsed() < POLL {
            return;
        }
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            self.signal = Err(error);
            self.stop.store(true, Ordering::Relaxed);
        }
        self.asked = Instant::now();
    }
}

impl<M: Labeller> Workers<M> {
    /// The workers of a model.
    pub(crate) fn new(model: Arc<M>) -> Self {
        Workers { first: Mutex::new(Tagger::new(model)), idle: Mutex::new(Vec::new()) }
    }

    /// The model.
    pub(crate) fn model(&self) -> Arc<M> {
        locked(&self.first).model().clone()
    }

    /// Calls `task` with a worker that no other thread has.
    pub(crate) fn with<T>(&self, task: impl FnOnce(&mut Tagger<M>) -> T) -> T {
        let idle = locked(&self.idle).pop();
        let mut worker = idle.unwrap_or_else(|| locked(&self.first).fork());
        let answer = task(&mut worker);
        locked(&self.idle).push(worker);
        answer
    }

    /// Calls `task` with every input, on several threads; the results are in the order of the inputs. A signal, such as Ctrl-C, ends it at
    /// the next input.
    pub(crate) fn each<I: Sync, T: Send>(
        &self,
        py: Python<'_>,
        inputs: &[I],
        threads: usize,
        task: impl Fn(&mut Tagger<M>, &I) -> Result<T> + Sync,
    ) -> PyResult<Vec<T>> {
        let stop = AtomicBool::new(false);
        let stretch = |part: &[I]| -> Result<Vec<T>> {
            let part = part.iter().take_while(|_| !stop.load(Ordering::Relaxed));
            self.with(|worker| part.map(|input| task(worker, input)).collect())
        };
        if inputs.len() <= 1 {
            return py.detach(|| stretch(inputs)).map_err(|error| raise(py, error));
        }
        let (line, ready) = line();
        let size = inputs.len().div_ceil(threads.clamp(1, inputs.len()));
        std::thread::scope(|scope| {
            let stretch = &stretch;
            let begin = |part| {
                let line = line.clone();
                scope.spawn(move || {
                    let answers = stretch(part);
                    drop(line);
                    answers
                })
            };
            let parts: Vec<_> = inputs.chunks(size).map(begin).collect();
            drop(line);
            let signal = wait(py, &ready, &stop);
            let all: Vec<Result<Vec<T>>> = parts
                .into_iter()
                .map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect();
            signal?;
            let all: Result<Vec<Vec<T>>> = all.into_iter().collect();
            Ok(all.map_err(|error| raise(py, error))?.into_iter().flatten().collect())
        })
    }

    /// Calls `task` with every input while others are still being made: this thread makes them, since only it may touch Python's objects,
    /// and helps when it has made all. Returns the results in the order of the inputs, as far as there are any, and the first mistake, if there is
    /// one. A signal, such as Ctrl-C, ends it at the next input; it is then the mistake, and there are no results.
    pub(crate) fn as_they_come<I: Send, T: Send>(
        &self,
        py: Python<'_>,
        inputs: impl Iterator<Item = PyResult<I>>,
        threads: usize,
        task: impl Fn(&mut Tagger<M>, I) -> Result<T> + Sync,
    ) -> (Vec<T>, Option<PyErr>) {
        let (give, taken) = channel::<(usize, Vec<I>)>();
        let (taken, done, stop) = (Mutex::new(taken), Mutex::new(Vec::new()), AtomicBool::new(false));
        let work = |heed: &mut dyn FnMut()| {
            self.with(|worker| {
                // The guard is gone before the work begins.
                while let Ok((number, part)) = { locked(&taken).recv() } {
                    let (mut answers, mut mistake) = (Vec::with_capacity(part.len()), None);
                    for input in part {
                        heed();
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        match task(worker, input) {
                            Ok(answer) => answers.push(answer),
                            Err(error) => {
                                mistake = Some(error);
                                break;
                            }
                        }
                    }
                    locked(&done).push((number, answers, mistake));
                }
            });
        };
        let (line, ready) = line();
        let (made, signal) = std::thread::scope(|scope| {
            let work = &work;
            for _ in 1..threads {
                let line = line.clone();
                scope.spawn(move || {
                    work(&mut || ());
                    drop(line);
                });
            }
            drop(line);
            let mut signal = Ok(());
            let made = make(py, inputs, &mut signal, |number, part| drop(give.send((number, part))));
            drop(give); // that is how workers hear that there is no more
            if signal.is_ok() {
                signal = py.detach(|| {
                    let mut ears = Ears { asked: Instant::now(), signal: Ok(()), stop: &stop };
                    work(&mut || ears.listen());
                    ears.signal
                });
            }
            if signal.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            let last = wait(py, &ready, &stop);
            (made, signal.and(last))
        });
        if let Err(signal) = signal {
            return (Vec::new(), Some(signal));
        }
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(number, ..)| *number);
        let mut all = Vec::new();
        for (_, answers, mistake) in done {
            all.extend(answers);
            if let Some(error) = mistake {
                return (all, Some(raise(py, error)));
            }
        }
        // What could not be made comes after all that was.
        (all, made.err())
    }

    /// The labels of many inputs.
    pub(crate) fn labels(
        &self,
        py: Python<'_>,
        inputs: &[M::Input],
        decode: Option<Decode>,
        threads: usize,
    ) -> PyResult<Vec<Vec<Label>>>
    where
        M::Input: Sync,
    {
        self.each(py, inputs, threads, |worker, input| {
            worker.load(input)?;
            let decode = decode.unwrap_or_else(|| worker.model().decode());
            Ok(worker.labels(decode)?.to_vec())
        })
    }
}
