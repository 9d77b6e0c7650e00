//! A model's workers, which threads share.

use crfkit::Result;
use crfkit::decode::Decode;
use crfkit::graph::Label;
use crfkit::tag::{Labeller, Tagger};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The workers of a model. A thread takes one, and makes another if all are taken.
pub(crate) struct Workers<M: Labeller> {
    first: Mutex<Tagger<M>>,
    idle: Mutex<Vec<Tagger<M>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
        let mut worker = idle.unwrap_or_else(|| locked(&self.first).another());
        let answer = task(&mut worker);
        locked(&self.idle).push(worker);
        answer
    }

    /// Calls `task` with every input, on several threads; the results are in the order of the inputs.
    pub(crate) fn each<I: Sync, T: Send>(
        &self,
        inputs: &[I],
        threads: usize,
        task: impl Fn(&mut Tagger<M>, &I) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let stretch = |part: &[I]| -> Result<Vec<T>> {
            self.with(|worker| part.iter().map(|input| task(worker, input)).collect())
        };
        let threads = threads.clamp(1, inputs.len().max(1));
        if threads == 1 {
            return stretch(inputs);
        }
        let size = inputs.len().div_ceil(threads);
        std::thread::scope(|scope| {
            let stretch = &stretch;
            let parts: Vec<_> = inputs.chunks(size).map(|part| scope.spawn(move || stretch(part))).collect();
            let mut all = Vec::with_capacity(inputs.len());
            for part in parts {
                all.extend(part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok(all)
        })
    }

    /// The labels of many inputs.
    pub(crate) fn labels(
        &self,
        inputs: &[M::Input],
        decode: Option<Decode>,
        threads: usize,
    ) -> Result<Vec<Vec<Label>>>
    where
        M::Input: Sync,
    {
        let decode = decode.unwrap_or(M::DECODE);
        self.each(inputs, threads, |worker, input| {
            worker.take_in(input)?;
            Ok(worker.labels(decode)?.to_vec())
        })
    }
}
