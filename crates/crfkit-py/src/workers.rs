//! A model's workers, which threads share.

use crate::Form;
use crfkit::any::{AnyModel, Ensemble};
use crfkit::chain::Sequence;
use crfkit::tag::Tagger;
use crfkit::{Error, Model, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A worker of the library.
pub(crate) type Worker = Tagger<Ensemble>;

/// The workers of a model. A thread takes one, and makes another if all are taken.
pub(crate) struct Workers {
    first: Mutex<Worker>,
    idle: Mutex<Vec<Worker>>,
    /// The form of the sequences that the model labels.
    pub(crate) form: Form,
    /// Fields that a row may have at most, without the label if that is the last one.
    columns: Option<usize>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A worker begins every sequence anew, so one that panicked elsewhere leaves nothing behind.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Workers {
    /// The workers of a model of plain chains.
    pub(crate) fn of(model: &Model, form: Form) -> Result<Self> {
        let member = model.any().member().ok_or_else(|| {
            Error::Setting(format!("a model of a {} does not label plain sequences", model.kind().name()))
        })?;
        let first = Worker::new(Arc::new(Ensemble::from(member)));
        let columns = match model.any() {
            AnyModel::Chain(model) => {
                model.domain.columns.map(|layout| layout.columns - usize::from(layout.label_is_last()))
            }
            _ => None,
        };
        Ok(Workers { first: Mutex::new(first), idle: Mutex::new(Vec::new()), form, columns })
    }

    /// Calls `task` with a worker that no other thread has.
    pub(crate) fn with<T>(&self, task: impl FnOnce(&mut Worker) -> T) -> T {
        let idle = locked(&self.idle).pop();
        let mut worker = idle.unwrap_or_else(|| locked(&self.first).another());
        let answer = task(&mut worker);
        locked(&self.idle).push(worker);
        answer
    }

    /// The best labelling of a sequence.
    pub(crate) fn label(&self, worker: &mut Worker, sequence: &Sequence) -> Result<Vec<u32>> {
        if sequence.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(most) = self.columns.filter(|most| sequence.columns() > *most) {
            let message = format!("{} fields, but the model was trained on {most}", sequence.columns());
            return Err(Error::input(sequence.place(0), message));
        }
        worker.take_in(sequence)?;
        Ok(worker.viterbi().to_vec())
    }

    /// The best labellings of many sequences, on several threads.
    pub(crate) fn label_many(&self, sequences: &[Sequence], threads: usize) -> Result<Vec<Vec<u32>>> {
        let stretch = |part: &[Sequence]| -> Result<Vec<Vec<u32>>> {
            self.with(|worker| part.iter().map(|sequence| self.label(worker, sequence)).collect())
        };
        let threads = threads.clamp(1, sequences.len().max(1));
        if threads == 1 {
            return stretch(sequences);
        }
        let size = sequences.len().div_ceil(threads);
        std::thread::scope(|scope| {
            let parts: Vec<_> =
                sequences.chunks(size).map(|part| scope.spawn(move || stretch(part))).collect();
            let mut all = Vec::with_capacity(sequences.len());
            for part in parts {
                all.extend(part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok(all)
        })
    }
}
