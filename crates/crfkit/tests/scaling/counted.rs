//! An allocator that counts for each thread.
#![allow(unsafe_code)] // an allocator is; this one hands everything on to the system's

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static TOTAL: Cell<usize> = const { Cell::new(0) };
    static NOW: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: all calls are handed on as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TOTAL.set(TOTAL.get() + layout.size());
        NOW.set(NOW.get() + layout.size() as isize);
        MOST.set(MOST.get().max(NOW.get()));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.set(NOW.get() - layout.size() as isize);
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What a piece of work allocated on its thread.
pub struct Counted {
    /// Bytes in all: a measure of the work.
    pub total: usize,
    /// The most bytes at one time.
    pub most: usize,
}

/// Counts what `work` allocates.
pub fn count(work: impl FnOnce()) -> Counted {
    TOTAL.set(0);
    NOW.set(0);
    MOST.set(0);
    work();
    Counted { total: TOTAL.get(), most: MOST.get() as usize }
}
