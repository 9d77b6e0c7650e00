//! A training corpus of chains, built on several threads.
//!
//! The reader hands over batches of sequences, which workers take in turn. Each worker has a builder with its own alphabets. A string
//! that is new to all of them is also new to its worker. So if the strings that each batch added are numbered again, batch by batch, they
//! get the numbers that one builder would have given them: the corpus is the same for any number of threads.

use super::builder::{CorpusBuilder, Sizes};
use super::vectors::{VectorLayout, numbers_of};
use super::{ChainCorpus, Sequence};
use crate::data::dataset::Dataset;
use crate::graph::Chain;
use crate::risk::thread_count;
use crate::{Error, Result};
use std::mem::{discriminant, swap, take};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{JoinHandle, spawn};

/// A batch ends after this many sequences or tokens: handing it over then costs nothing, and a batch stays in the cache.
const SEQUENCES: usize = 512;
const TOKENS: usize = 8 * 1024;
/// Batches that wait for a worker, besides the one that it works on.
const WAITING: usize = 2;

/// Builds a corpus on several threads, one sequence after the other. The corpus is that of a [`CorpusBuilder`], to the bit.
#[derive(Debug)]
pub struct CorpusCrew {
    /// The only builder, if there is one thread; then nothing is handed over.
    alone: Option<CorpusBuilder>,
    workers: Vec<Worker>,
    batch: Batch,
    /// The number of batches handed over.
    batches: usize,
    /// Batches that are done: their memory is used again.
    used: Option<Receiver<Vec<Sequence>>>,
    /// Set by a worker that has failed.
    failed: Arc<AtomicBool>,
    /// Numbers in the vectors of tokens, known from the first token on.
    width: Option<usize>,
}

/// Sequences to hand over. The memory behind them is that of sequences handed over before.
#[derive(Debug, Default)]
struct Batch {
    sequences: Vec<Sequence>,
    len: usize,
    tokens: usize,
}

#[derive(Debug)]
struct Worker {
    work: SyncSender<(Vec<Sequence>, usize)>,
    thread: JoinHandle<Part>,
}

/// What one worker has built.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) builder: CorpusBuilder,
    /// For each of its batches the examples, and the size of its alphabets afterwards.
    pub(super) batches: Vec<(Dataset<Chain>, Sizes)>,
    /// The first of its batches that failed, and why.
    failure: Option<(usize, Error)>,
}

impl CorpusCrew {
    /// A crew of this many threads (0 stands for all cores), which build what `builder` would build. It must have no sequences yet.
    pub fn new(builder: CorpusBuilder, threads: usize) -> Self {
        let mut crew = CorpusCrew {
            alone: None,
            workers: Vec::new(),
            batch: Batch::default(),
            batches: 0,
            used: None,
            failed: Arc::default(),
            width: None,
        };
        let threads = thread_count(threads);
        if threads == 1 {
            crew.alone = Some(builder);
            return crew;
        }
        let (give_back, used) = sync_channel(threads * (WAITING + 2));
        crew.used = Some(used);
        for _ in 0..threads {
            let (work, batches) = sync_channel(WAITING);
            let (builder, failed, give_back) = (builder.like_this(), crew.failed.clone(), give_back.clone());
            let thread = spawn(move || build(builder, &batches, &give_back, &failed));
            crew.workers.push(Worker { work, thread });
        }
        crew
    }

    /// Adds a sequence, as [`CorpusBuilder::add`] does, and leaves another one in its place, of the same format, whose memory can be used
    /// again. An error may be about an earlier sequence; then no more can be added.
    pub fn add(&mut self, sequence: &mut Sequence) -> Result<()> {
        if let Some(builder) = &mut self.alone {
            return builder.add(sequence);
        }
        if !sequence.is_empty() {
            let width = *self.width.get_or_insert_with(|| width_of(sequence));
            VectorLayout { width, ..VectorLayout::default() }
                .check_width(width_of(sequence), || sequence.place(0))?;
        }
        let Batch { sequences, len, tokens } = &mut self.batch;
        if *len == sequences.len() || discriminant(&sequences[*len]) != discriminant(sequence) {
            sequences.truncate(*len);
            sequences.push(sequence.empty());
        }
        *tokens += sequence.len();
        swap(&mut sequences[*len], sequence);
        *len += 1;
        match *len == SEQUENCES || *tokens >= TOKENS {
            true => self.hand_over(),
            false => Ok(()),
        }
    }

    /// Hands over the batch, if it is not empty.
    fn hand_over(&mut self) -> Result<()> {
        if self.failed.load(Ordering::Relaxed) {
            return self.join().map(|_| ());
        }
        let again = self.used.as_ref().and_then(|used| used.try_recv().ok()).unwrap_or_default();
        let batch = std::mem::replace(&mut self.batch, Batch { sequences: again, len: 0, tokens: 0 });
        if batch.len > 0 && !self.workers.is_empty() {
            let worker = self.batches % self.workers.len();
            // Fails only if the thread has panicked, which `join` finds out.
            let _ = self.workers[worker].work.send((batch.sequences, batch.len));
            self.batches += 1;
        }
        Ok(())
    }

    /// Waits for the workers and takes their parts. The error of the earliest sequence that could not be added, if there is one.
    fn join(&mut self) -> Result<Vec<Part>> {
        let workers = take(&mut self.workers);
        let (channels, threads): (Vec<_>, Vec<_>) =
            workers.into_iter().map(|worker| (worker.work, worker.thread)).unzip();
        drop(channels); // that is how the threads hear that there is no more
        let parts =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        let mut parts: Vec<Part> = parts.collect();
        let failures = parts.iter_mut().filter_map(|part| part.failure.take());
        match failures.min_by_key(|(batch, _)| *batch) {
            Some((_, error)) => Err(error),
            None => Ok(parts),
        }
    }

    /// Finishes the corpus, as [`CorpusBuilder::finish`] does. `read` is the outcome of reading: whatever is wrong with sequences that were
    /// read before is reported first.
    pub fn finish<E: From<Error>>(
        mut self,
        read: std::result::Result<(), E>,
        min_count: u32,
    ) -> std::result::Result<ChainCorpus, E> {
        if let Some(builder) = self.alone {
            read?;
            return Ok(builder.finish(min_count)?);
        }
        let threads = self.workers.len();
        self.hand_over()?;
        let (batches, parts) = (self.batches, self.join()?);
        drop(self);
        read?;
        Ok(CorpusBuilder::merge(parts, batches, threads).finish(min_count)?)
    }
}

/// The work of a thread: adds batches until there are no more.
fn build(
    mut builder: CorpusBuilder,
    batches: &Receiver<(Vec<Sequence>, usize)>,
    give_back: &SyncSender<Vec<Sequence>>,
    failed: &AtomicBool,
) -> Part {
    let (mut built, mut failure) = (Vec::new(), None);
    for (sequences, len) in batches {
        if failure.is_none()
            && let Err(error) = sequences[..len].iter().try_for_each(|sequence| builder.add(sequence))
        {
            failure = Some((built.len(), error));
            failed.store(true, Ordering::Relaxed);
        }
        built.push((builder.take_batch(), builder.sizes()));
        let _ = give_back.try_send(sequences); // no room: enough memory is on its way
    }
    Part { builder, batches: built, failure }
}

/// Numbers in the vectors of a sequence.
fn width_of(sequence: &Sequence) -> usize {
    numbers_of(sequence, |numbers| numbers.vectors.width())
}
