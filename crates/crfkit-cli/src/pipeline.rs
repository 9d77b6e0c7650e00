//! Several threads work on a stream of blocks, in order and with bounded memory.

use anyhow::Result;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The largest number of items in a block.
const ITEMS: usize = 512;
/// A block also ends after this many tokens: large enough that handing it over costs nothing, small enough that it stays in the second-level
/// cache between reading and labelling. A token takes about 100 bytes.
const TOKENS: usize = 4 * 1024;
/// Tokens that the memory of a block has room for at most, besides those of its last item. An item keeps the room of the longest one that was ever
/// read into it, so without a limit all items of all blocks would in time have room for the longest.
const ROOM: usize = 4 * TOKENS;
/// Blocks for each thread: the one that it works on, and others that wait until it is their turn to be handed out.
const PARCELS: usize = 3;

/// A reader of items: sequences, lines or images.
pub trait Source: Send {
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

/// A block and its outcome travel together.
type Parcel<J> = (Block<<J as Job>::Item>, <J as Job>::Outcome);

/// Lets all workers take blocks. It stops when input that comes bit by bit has to be waited for.
fn together<J: Job>(
    job: &J,
    source: &mut impl Source<Item = J::Item>,
    workers: &mut [J::Worker],
    finish: &mut (impl FnMut(&J::Outcome) -> Result<()> + Send),
) -> Result<Rest> {
    let threads = workers.len();
    let workers: Vec<_> = workers.iter_mut().map(Mutex::new).collect();
    let parcels: Vec<_> = (0..threads * PARCELS).map(|_| Mutex::new(Parcel::<J>::default())).collect();
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

/// Takes a lock, whatever happened to its last owner.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is done with a parcel, which the steps know by its number. No type of an item occurs here, so the threads and their locks are
/// compiled once for all kinds of data.
struct Steps<'a> {
    /// Fills a parcel; says what is left after it, and `Nothing` if it stayed empty.
    read: &'a mut (dyn FnMut(usize) -> Result<Rest> + Send),
    /// Lets a worker, the first argument, do its work on a parcel, the second.
    work: &'a (dyn Fn(usize, usize) -> Result<()> + Sync),
    /// Hands out the outcome of a parcel.
    finish: &'a mut (dyn FnMut(usize) -> Result<()> + Send),
}

/// The input, which one thread at a time reads.
struct Input<'a> {
    read: &'a mut (dyn FnMut(usize) -> Result<Rest> + Send),
    /// The turn of the next parcel: outcomes are handed out in this order.
    turn: usize,
    rest: Rest,
}

/// Where the parcels are.
#[derive(Default)]
struct Order {
    /// Those that nobody uses. The one that came back last is taken first: its memory is still in the cache.
    free: Vec<usize>,
    /// The outcomes that are not handed out yet, by their turns, of which this is the first; `None` while the work goes on.
    first: usize,
    outcomes: VecDeque<Option<Result<usize>>>,
    /// Whether a thread is handing out outcomes.
    handing_out: bool,
    /// Whether a thread has failed, so that nothing more is to be done, and the error.
    over: bool,
    error: Option<anyhow::Error>,
}

/// Every thread reads a block, works on it while it is in its cache, and leaves the outcome. A thread that finds the next outcome in turn, and
/// nobody handing it out, does so. There is a limited number of parcels, so memory is bounded.
fn in_turn(threads: usize, parcels: usize, Steps { read, work, finish }: Steps<'_>) -> Result<Rest> {
    let input = Mutex::new(Input { read, turn: 0, rest: Rest::Much });
    let order = Mutex::new(Order { free: (0..parcels).collect(), ..Order::default() });
    let (finish, freed) = (Mutex::new(finish), Condvar::new());
    let line = Line { input, order, freed };
    let run = |worker: usize| {
        let _alarm = Alarm(&line);
        while let Some((turn, parcel)) = line.next() {
            let done = parcel.and_then(|parcel| work(worker, parcel).map(|()| parcel));
            line.leave(turn, done, |parcel| lock(&finish)(parcel));
        }
    };
    std::thread::scope(|scope| {
        for worker in 1..threads {
            let run = &run;
            scope.spawn(move || run(worker));
        }
        run(0);
    });
    let error = lock(&line.order).error.take();
    let rest = line.input.into_inner().unwrap_or_else(PoisonError::into_inner).rest;
    error.map_or(Ok(rest), Err)
}

/// What the threads share.
struct Line<'a> {
    input: Mutex<Input<'a>>,
    order: Mutex<Order>,
    /// Tells that a parcel is free, or that all is over.
    freed: Condvar,
}

impl Line<'_> {
    /// Reads the next parcel and gives it a turn; `None` at the end.
    fn next(&self) -> Option<(usize, Result<usize>)> {
        let mut order = lock(&self.order);
        let parcel = loop {
            match order.free.pop() {
                _ if order.over => return None,
                Some(parcel) => break parcel,
                None => order = self.freed.wait(order).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(order);
        let mut input = lock(&self.input);
        if !matches!(input.rest, Rest::Much) {
            return None;
        }
        let parcel = match (input.read)(parcel) {
            Ok(rest) => {
                let empty = matches!(rest, Rest::Nothing);
                input.rest = rest;
                if empty {
                    return None;
                }
                Ok(parcel)
            }
            Err(error) => {
                input.rest = Rest::Nothing;
                Err(error)
            }
        };
        input.turn += 1;
        Some((input.turn - 1, parcel))
    }

    /// Leaves the outcome of a turn, and hands out those that are next unless another thread does. No lock is held meanwhile: output that
    /// has to wait stops the other threads only when there are no parcels left.
    fn leave(&self, turn: usize, done: Result<usize>, mut finish: impl FnMut(usize) -> Result<()>) {
        let mut order = lock(&self.order);
        let at = turn - order.first;
        if order.outcomes.len() <= at {
            order.outcomes.resize_with(at + 1, || None);
        }
        order.outcomes[at] = Some(done);
        if order.handing_out {
            return;
        }
        order.handing_out = true;
        while !order.over
            && let Some(done) = order.outcomes.front_mut().and_then(Option::take)
        {
            order.outcomes.pop_front();
            order.first += 1;
            drop(order);
            let finished = done.and_then(|parcel| finish(parcel).map(|()| parcel));
            order = lock(&self.order);
            match finished {
                Ok(parcel) => order.free.push(parcel),
                Err(error) => (order.over, order.error) = (true, Some(error)),
            }
            self.freed.notify_all();
        }
        order.handing_out = false;
    }
}

/// Ends the work of all threads if one of them panics, since the others would wait for its outcome.
struct Alarm<'a, 'b>(&'a Line<'b>);

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(&self.0.order).over = true;
            self.0.freed.notify_all();
        }
    }
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
