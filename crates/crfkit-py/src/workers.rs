//! A model's workers, which threads share.

use crate::errors::raise;
use crate::train::POLL;
use crfkit::Result;
use crfkit::decode::Decode;
use crfkit::graph::Label;
use crfkit::tag::{Labeller, Tagger};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
        // Every thread holds an end of the line until it is ready.
        let (line, ready) = channel::<()>();
        let ready = Mutex::new(ready);
        let size = inputs.len().div_ceil(threads.clamp(1, inputs.len()));
        std::thread::scope(|scope| {
            let stretch = &stretch;
            let begin = |part| {
                let line = line.clone();
                scope.spawn(move || (stretch(part), drop(line)).0)
            };
            let parts: Vec<_> = inputs.chunks(size).map(begin).collect();
            drop(line);
            let mut signal = Ok(());
            while py.detach(|| locked(&ready).recv_timeout(POLL)) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = py.check_signals() {
                    signal = Err(error);
                    stop.store(true, Ordering::Relaxed);
                }
            }
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
    /// and helps when it has made all. The results are in the order of the inputs.
    pub(crate) fn as_they_come<I: Send, T: Send>(
        &self,
        py: Python<'_>,
        inputs: impl Iterator<Item = PyResult<I>>,
        threads: usize,
        task: impl Fn(&mut Tagger<M>, I) -> Result<T> + Sync,
    ) -> PyResult<Vec<T>> {
        let (give, taken) = channel::<(usize, Vec<I>)>();
        let taken = Mutex::new(taken);
        let done = Mutex::new(Vec::new());
        let work = || {
            self.with(|worker| {
                // The guard is gone before the work begins.
                while let Ok((number, part)) = { locked(&taken).recv() } {
                    let answers: Result<Vec<T>> = part.into_iter().map(|input| task(worker, input)).collect();
                    locked(&done).push((number, answers));
                }
            });
        };
        let made = std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(work)));
            let (mut part, mut number) = (Vec::with_capacity(PART), 0);
            let mut made = Ok(());
            for input in inputs {
                match input {
                    Ok(input) => part.push(input),
                    Err(error) => {
                        made = Err(error);
                        break;
                    }
                }
                if part.len() == PART {
                    // It fails only if nobody takes it, and then nobody misses it.
                    let _ = give.send((number, std::mem::replace(&mut part, Vec::with_capacity(PART))));
                    number += 1;
                    if let Err(signal) = py.check_signals() {
                        made = Err(signal);
                        break;
                    }
                }
            }
            let _ = give.send((number, part));
            drop(give); // that is how workers hear that there is no more
            py.detach(work);
            made
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(number, _)| *number);
        let parts: Result<Vec<Vec<T>>> = done.into_iter().map(|(_, answers)| answers).collect();
        // What could not be made comes after all that was.
        let parts = parts.map_err(|error| raise(py, error))?;
        made?;
        Ok(parts.into_iter().flatten().collect())
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
