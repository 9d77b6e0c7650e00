//! Several threads work on a stream of blocks, in order and with bounded memory.

use anyhow::Result;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The largest number of items in a block.
const ITEMS: usize = 512;
/// A block also ends after this many tokens: large enough that handing it over costs nothing, small enough that it stays in the second-level
/// cache between reading and labelling. A token takes about 100 bytes.
const TOKENS: usize = 4 * 1024;
/// Tokens that the memory of a block has room for at most, besides those of its last item. An item keeps the room of the longest one that was ever
/// read into it, so without a limit all items of all blocks would in time have room for the longest.
const ROOM: usize = 4 * TOKENS;
/// Blocks that wait for a worker, besides the one it works on.
const WAITING: usize = 2;

/// A reader of items: sequences, lines or images.
pub trait Source {
    /// An item.
    type Item: Send;
    /// An empty item to read into.
    fn item(&self) -> Self::Item;
    /// Overwrites an item with the next one; false at the end.
    fn read(&mut self, item: &mut Self::Item) -> crfkit::Result<bool>;
    /// The approximate number of tokens of an item.
    fn tokens(item: &Self::Item) -> usize;
    /// How the input comes.
    fn pace(&self) -> Pace;
    /// Whether the next item can be read without waiting for input. Asked only if somebody waits for answers.
    fn ready(&mut self) -> crfkit::Result<bool> {
        Ok(true)
    }
}

/// How the input comes, and so when answers are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// All of it is there, as in a file: nobody waits for single answers.
    Bulk,
    /// Bit by bit, as through a pipe: whatever is complete is answered before more is waited for.
    Live,
    /// Every item is to be answered before the next one is read.
    Each,
}

/// Why a block has no more items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filled {
    /// It is full, so that more input is probably waiting.
    Full,
    /// The rest of the input is not there yet, or there is none.
    Short,
}

/// Some items; their memory is reused.
#[derive(Debug)]
pub struct Block<T> {
    items: Vec<T>,
    used: usize,
    /// The most tokens that each item has ever had.
    most: Vec<usize>,
}

impl<T> Default for Block<T> {
    fn default() -> Self {
        Block { items: Vec::new(), used: 0, most: Vec::new() }
    }
}

impl<T> Block<T> {
    /// The items.
    pub fn items(&self) -> &[T] {
        &self.items[..self.used]
    }

    /// Overwrites the block with the next items; without any at the end.
    fn read<S: Source<Item = T>>(&mut self, source: &mut S) -> crfkit::Result<Filled> {
        let pace = source.pace();
        let limit = if pace == Pace::Each { 1 } else { ITEMS };
        self.used = 0;
        if self.most.iter().sum::<usize>() > ROOM {
            *self = Block::default();
        }
        let mut tokens = 0;
        while self.used < limit && tokens < TOKENS {
            if self.used == self.items.len() {
                self.items.push(source.item());
                self.most.push(0);
            }
            let wait = self.used == 0 || pace != Pace::Live || source.ready()?;
            let item = &mut self.items[self.used];
            if !wait || !source.read(item)? {
                return Ok(Filled::Short);
            }
            let now = S::tokens(item);
            self.most[self.used] = self.most[self.used].max(now);
            tokens += now;
            self.used += 1;
        }
        Ok(Filled::Full)
    }
}

/// The work on a block. Threads call `work` at the same time; [`run`] then hands out the outcomes in the order of the input.
pub trait Job: Sync {
    /// The items of a block.
    type Item: Send;
    /// The state that a thread owns.
    type Worker: Send;
    /// The result of a block. Its memory is reused.
    type Outcome: Default + Send;

    /// Overwrites `outcome` with the result of `block`.
    fn work(
        &self,
        worker: &mut Self::Worker,
        block: &Block<Self::Item>,
        outcome: &mut Self::Outcome,
    ) -> Result<()>;
}

/// Runs `job` over all of `source`, with one worker per thread. `finish` gets the outcomes in the order of the input.
///
/// Input that comes bit by bit is worked on by one thread, which answers without handing anything over. When a whole block of it is
/// waiting, all threads work until there is less.
pub fn run<J: Job>(
    job: &J,
    mut source: impl Source<Item = J::Item>,
    workers: &mut [J::Worker],
    mut finish: impl FnMut(&J::Outcome) -> Result<()> + Send,
) -> Result<()> {
    let single = workers.len() == 1 || source.pace() == Pace::Each;
    let mut rest = if source.pace() == Pace::Live { Rest::Little } else { Rest::Much };
    let mut parcel = Parcel::<J>::default();
    loop {
        rest = match rest {
            Rest::Nothing => return Ok(()),
            Rest::Much if !single => together(job, &mut source, workers, &mut finish)?,
            _ => alone(job, &mut source, &mut workers[0], &mut parcel, &mut finish)?,
        };
    }
}

/// What is left of the input.
enum Rest {
    Nothing,
    Little,
    Much,
}

/// One thread needs no channels. It stops after a full block, when there may be work for all threads.
fn alone<J: Job>(
    job: &J,
    source: &mut impl Source<Item = J::Item>,
    worker: &mut J::Worker,
    (block, outcome): &mut Parcel<J>,
    finish: &mut impl FnMut(&J::Outcome) -> Result<()>,
) -> Result<Rest> {
    loop {
        let filled = block.read(source)?;
        if block.items().is_empty() {
            return Ok(Rest::Nothing);
        }
        job.work(worker, block, outcome)?;
        finish(outcome)?;
        if filled == Filled::Full {
            return Ok(Rest::Much);
        }
    }
}

/// A block and its outcome travel together: reader → worker → finish → reader.
type Parcel<J> = (Block<<J as Job>::Item>, <J as Job>::Outcome);

/// Spreads the blocks over all workers. It stops when input that comes bit by bit has to be waited for.
fn together<J: Job>(
    job: &J,
    source: &mut impl Source<Item = J::Item>,
    workers: &mut [J::Worker],
    finish: &mut (impl FnMut(&J::Outcome) -> Result<()> + Send),
) -> Result<Rest> {
    let threads = workers.len();
    let workers: Vec<_> = workers.iter_mut().map(Mutex::new).collect();
    let parcels: Vec<_> =
        (0..threads * (WAITING + 1) * 2).map(|_| Mutex::new(Parcel::<J>::default())).collect();
    let live = source.pace() == Pace::Live;
    let mut read = |parcel: usize| {
        let block = &mut lock(&parcels[parcel]).0;
        let filled = block.read(source)?;
        Ok(match filled {
            _ if block.items().is_empty() => Rest::Nothing,
            Filled::Short if live => Rest::Little,
            _ => Rest::Much,
        })
    };
    let work = |worker: usize, parcel: usize| {
        let (block, outcome) = &mut *lock(&parcels[parcel]);
        job.work(&mut lock(&workers[worker]), block, outcome)
    };
    let mut finish = |parcel: usize| finish(&lock(&parcels[parcel]).1);
    in_turn(threads, parcels.len(), Steps { read: &mut read, work: &work, finish: &mut finish })
}

/// Takes a lock that nobody else waits for: a parcel, or a worker, is in the hands of one thread at a time.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is done with a parcel, which the steps know by its number. No type of an item occurs here, so the threads and their channels are
/// compiled once for all kinds of data.
struct Steps<'a> {
    /// Fills a parcel; says what is left after it, and `Nothing` if it stayed empty.
    read: &'a mut dyn FnMut(usize) -> Result<Rest>,
    /// Lets a worker, the first argument, do its work on a parcel, the second.
    work: &'a (dyn Fn(usize, usize) -> Result<()> + Sync),
    /// Hands out the outcome of a parcel.
    finish: &'a mut (dyn FnMut(usize) -> Result<()> + Send),
}

/// Parcel k goes to worker k mod n, and outcomes are taken from the workers in the same turn, which keeps the order. A thread that fails
/// closes its channels; the others notice and end. There is a limited number of parcels, so memory is bounded.
fn in_turn(threads: usize, parcels: usize, Steps { read, work, finish }: Steps<'_>) -> Result<Rest> {
    std::thread::scope(|scope| {
        let (give_back, free) = sync_channel::<usize>(parcels);
        let mut to_workers: Vec<SyncSender<Result<usize>>> = Vec::new();
        let mut from_workers: Vec<Receiver<Result<usize>>> = Vec::new();
        for worker in 0..threads {
            let (send_work, take_work) = sync_channel::<Result<usize>>(WAITING);
            let (send_done, take_done) = sync_channel(WAITING);
            to_workers.push(send_work);
            from_workers.push(take_done);
            scope.spawn(move || {
                for parcel in take_work {
                    let done = parcel.and_then(|parcel| work(worker, parcel).map(|()| parcel));
                    if send_done.send(done).is_err() {
                        return;
                    }
                }
            });
        }
        for parcel in 0..parcels {
            give_back.send(parcel)?;
        }
        let finisher = scope.spawn(move || -> Result<()> {
            for turn in (0..threads).cycle() {
                let Ok(parcel) = from_workers[turn].recv() else { return Ok(()) };
                let parcel = parcel?;
                finish(parcel)?;
                // Fails once the reader has finished and needs no more parcels.
                let _ = give_back.send(parcel);
            }
            Ok(())
        });
        let mut rest = Rest::Nothing;
        for turn in (0..threads).cycle() {
            let Ok(parcel) = free.recv() else { break };
            let left = read(parcel);
            let last = !matches!(left, Ok(Rest::Much));
            if matches!(left, Ok(Rest::Nothing)) || to_workers[turn].send(left.map(|_| parcel)).is_err() {
                break;
            }
            if last {
                rest = Rest::Little;
                break;
            }
        }
        drop(to_workers);
        let finished = finisher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        finished.map(|()| rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items of one token, and now and then one of many.
    struct Uneven(usize);

    const LONG: usize = TOKENS / 4;

    impl Source for Uneven {
        type Item = Vec<u8>;

        fn item(&self) -> Vec<u8> {
            Vec::new()
        }

        fn read(&mut self, item: &mut Vec<u8>) -> crfkit::Result<bool> {
            self.0 += 1;
            item.clear();
            item.resize(if self.0.is_multiple_of(301) { LONG } else { 1 }, 0);
            Ok(true)
        }

        fn tokens(item: &Vec<u8>) -> usize {
            item.len()
        }

        fn pace(&self) -> Pace {
            Pace::Bulk
        }
    }

    #[test]
    fn memory_does_not_grow_with_the_input() {
        let (mut block, mut source) = (Block::default(), Uneven(0));
        for _ in 0..2000 {
            block.read(&mut source).unwrap();
            let room: usize = block.items.iter().map(Vec::capacity).sum();
            assert!(room <= 2 * (ROOM + LONG), "room for {room} tokens after {} items", source.0);
        }
        assert_eq!(block.items().len(), ITEMS);
    }
}
