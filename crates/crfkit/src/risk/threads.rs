//! Work in parts, one for each thread.

use crate::{Error, Result};
use rayon_core::{ThreadPool, ThreadPoolBuilder, Yield, join};
use std::hint::spin_loop;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{available_parallelism, scope, yield_now};

/// The number of threads to use: 0 stands for all cores.
pub(crate) fn thread_count(threads: usize) -> usize {
    match threads {
        0 => available_parallelism().map_or(1, |cores| cores.get()),
        threads => threads,
    }
}

/// Runs each part on a thread of its own, and returns the results in the order of the parts. One part needs no thread.
pub(crate) fn in_parts<T: Send>(parts: usize, part: impl Fn(usize) -> T + Sync) -> Vec<T> {
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
    pub(crate) fn new(count: usize) -> Result<Self> {
        let start = |count| ThreadPoolBuilder::new().num_threads(count).build();
        let failed = |e| Error::Setting(format!("cannot start {count} threads ({e}): use fewer"));
        Ok(Threads(if count == 1 { None } else { Some(start(count).map_err(failed)?) }))
    }

    /// The number of threads.
    pub(crate) fn count(&self) -> usize {
        self.0.as_ref().map_or(1, ThreadPool::current_num_threads)
    }

    /// Runs the tasks 0 to `tasks` − 1. Each thread takes the next one when it has done one.
    pub(crate) fn each(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        match &self.0 {
            Some(pool) if tasks > 1 => {
                let team = Team { tasks, task, next: AtomicUsize::new(0), done: AtomicUsize::new(0) };
                pool.install(|| team.run(self.count().min(tasks)));
            }
            _ => (0..tasks).for_each(task),
        }
    }

    /// Runs a task on every item, and returns the results in the order of the items.
    pub(crate) fn map<T: Send, R: Send>(&self, items: Vec<T>, task: impl Fn(T) -> R + Sync) -> Vec<R> {
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

    /// Runs `work` on the first thread. Until it ends, the other threads do not sleep but wait for its tasks ([`Threads::each`]), because waking a
    /// thread takes as long as a short task. With one thread, `work` runs on the caller's.
    pub(crate) fn within(&self, work: &mut (dyn FnMut() + Send)) {
        let Some(pool) = &self.0 else { return work() };
        let (work, over) = (Mutex::new(work), AtomicBool::new(false));
        pool.broadcast(|thread| {
            if thread.index() == 0 {
                let _over = OnDrop(|| over.store(true, Ordering::Release));
                (work.lock().unwrap_or_else(PoisonError::into_inner))();
            } else {
                let mut patience = Patience::default();
                while !over.load(Ordering::Acquire) {
                    match pool.yield_now() {
                        Some(Yield::Executed) => patience = Patience::default(),
                        _ => patience.wait(),
                    }
                }
            }
        });
    }
}

/// Threads that share out some tasks.
struct Team<'a> {
    tasks: usize,
    task: &'a (dyn Fn(usize) + Sync),
    /// The next task, and how many are done.
    next: AtomicUsize,
    done: AtomicUsize,
}

impl Team<'_> {
    /// Runs all tasks on up to `threads` threads.
    fn run(&self, threads: usize) {
        if threads > 1 {
            join(|| self.run(threads - 1), || self.help());
            return;
        }
        self.help();
        // The last tasks of the others end soon. To sleep until then, and to be woken, would take longer.
        let mut patience = Patience::default();
        while self.done.load(Ordering::Acquire) < self.tasks {
            patience.wait();
        }
    }

    /// Runs tasks until all have begun.
    fn help(&self) {
        loop {
            let k = self.next.fetch_add(1, Ordering::Relaxed);
            if k >= self.tasks {
                return;
            }
            let _done = OnDrop(|| _ = self.done.fetch_add(1, Ordering::Release));
            (self.task)(k);
        }
    }
}

/// Runs something at the end, even of a panic.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}

/// Waits for another thread: briefly without a pause; after that, another program may have the core.
#[derive(Default)]
struct Patience(u32);

impl Patience {
    /// So many turns take some tens of microseconds.
    const TURNS: u32 = 1000;

    fn wait(&mut self) {
        self.0 += 1;
        match self.0 < Patience::TURNS {
            true => spin_loop(),
            false => yield_now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn every_task_runs_once_on_any_number_of_threads_awake_or_not() {
        for count in [1, 2, 3, 8] {
            let threads = Threads::new(count).unwrap();
            for tasks in [0, 1, 2, 3, 7, 100] {
                let runs: Vec<_> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
                let each = || threads.each(tasks, &|k| _ = runs[k].fetch_add(1, Ordering::Relaxed));
                each();
                threads.within(&mut || (0..20).for_each(|_| each()));
                assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 21), "{count} {tasks}");
            }
        }
    }

    #[test]
    fn a_task_may_have_tasks_of_its_own() {
        let (threads, sum) = (Threads::new(3).unwrap(), AtomicUsize::new(0));
        threads.within(&mut || {
            threads.each(5, &|_| threads.each(7, &|k| _ = sum.fetch_add(k, Ordering::Relaxed)));
        });
        assert_eq!(sum.into_inner(), 5 * 21);
    }

    #[test]
    fn a_panic_in_a_task_reaches_the_caller() {
        let threads = Threads::new(3).unwrap();
        for within in [false, true] {
            for bad in [0, 6] {
                let task = |k: usize| assert!(k != bad, "as expected");
                let mut each = || threads.each(7, &task);
                let caught = catch_unwind(AssertUnwindSafe(|| match within {
                    true => threads.within(&mut each),
                    false => each(),
                }));
                assert!(caught.is_err());
            }
        }
        // The threads still work.
        assert_eq!(threads.map(vec![1, 2, 3], |x| x * x), [1, 4, 9]);
    }
}
