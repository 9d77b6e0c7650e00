//! Work in parts, one for each thread.

use std::panic::resume_unwind;
use std::thread::{available_parallelism, scope};

/// The number of threads that is meant: 0 stands for all cores.
pub fn thread_count(threads: usize) -> usize {
    match threads {
        0 => available_parallelism().map_or(1, |cores| cores.get()),
        threads => threads,
    }
}

/// Runs each part on a thread of its own, and gives the results in the order of the parts. One part needs no thread.
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
