//! Work in parts, one for each thread.

use crate::{Error, Result};
use rayon_core::{ThreadPool, ThreadPoolBuilder, join};
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{available_parallelism, scope};

/// The number of threads to use: 0 stands for all cores.
pub fn thread_count(threads: usize) -> usize {
    match threads {
        0 => available_parallelism().map_or(1, |cores| cores.get()),
        threads => threads,
    }
}

/// Runs each part on a thread of its own, and returns the results in the order of the parts. One part needs no thread.
pub fn in_parts<T: Send>(parts: usize, part: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if parts == 1 {
        return vec![part(0)];
    }
    let part = &part;
    scope(|scope| {
        let workers: Vec<_> = (0..parts).map(|k| scope.spawn(move || part(k))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// The threads of an objective. Everything that runs on them goes through [`Threads::each`], so the machinery is compiled once.
#[derive(Debug)]
pub(super) struct Threads(Option<ThreadPool>);

impl Threads {
    /// Starts threads; one thread is the caller's own.
    pub fn new(count: usize) -> Result<Self> {
        let start = |count| ThreadPoolBuilder::new().num_threads(count).build();
        let failed = |e| Error::Setting(format!("cannot start {count} threads ({e}): use fewer"));
        Ok(Threads(if count == 1 { None } else { Some(start(count).map_err(failed)?) }))
    }

    /// The number of threads.
    pub fn count(&self) -> usize {
        self.0.as_ref().map_or(1, ThreadPool::current_num_threads)
    }

    /// Runs the tasks 0 to `tasks` − 1.
    pub fn each(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        match &self.0 {
            Some(pool) if tasks > 1 => pool.install(|| halve(0..tasks, task)),
            _ => (0..tasks).for_each(task),
        }
    }

    /// Runs a task on every item, and returns the results in the order of the items.
    pub fn map<T: Send, R: Send>(&self, items: Vec<T>, task: impl Fn(T) -> R + Sync) -> Vec<R> {
        if self.0.is_none() {
            return items.into_iter().map(task).collect();
        }
        let slots: Vec<_> = items.into_iter().map(|item| Mutex::new((Some(item), None))).collect();
        self.each(slots.len(), &|k| {
            let (item, result) = &mut *slots[k].lock().unwrap_or_else(PoisonError::into_inner);
            *result = item.take().map(&task);
        });
        let result =
            |slot: Mutex<(_, Option<R>)>| slot.into_inner().unwrap_or_else(PoisonError::into_inner).1;
        slots.into_iter().filter_map(result).collect()
    }

    /// Runs `work` on one of the threads. The others then stay awake for what it does in parallel.
    pub fn within(&self, work: &mut (dyn FnMut() + Send)) {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

/// Runs tasks by halves: an idle thread takes over the second half of what another one has begun.
fn halve(tasks: Range<usize>, task: &(dyn Fn(usize) + Sync)) {
    match tasks.len() {
        0 => (),
        1 => task(tasks.start),
        len => {
            let middle = tasks.start + len / 2;
            join(|| halve(tasks.start..middle, task), || halve(middle..tasks.end, task));
        }
    }
}
