//! How much may be under way, and waiting for that to end.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

#[derive(Debug)]
pub struct Room {
    limit: usize,
    bytes: AtomicUsize,
    messages: AtomicUsize,
    /// Somebody who does not sleep wants to hear of room.
    is_wanted: AtomicBool,
    sleepers: Mutex<usize>,
    changed: Condvar,
    /// Posted messages that are stored, and those that were given up.
    stored: AtomicU64,
    given_up: AtomicU64,
}

impl Room {
    pub fn new(limit: usize) -> Self {
        let (bytes, messages) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self {
            limit,
            bytes,
            messages,
            is_wanted: AtomicBool::new(false),
            sleepers: Mutex::new(0),
            changed: Condvar::new(),
            stored: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
        }
    }

    /// Count posted messages that have come to their end.
    pub fn count(&self, messages: u32, are_stored: bool) {
        let counter = if are_stored { &self.stored } else { &self.given_up };
        counter.fetch_add(messages.into(), Ordering::Relaxed);
    }

    /// Posted messages that are stored, and those that were given up.
    pub fn counts(&self) -> (u64, u64) {
        (self.stored.load(Ordering::Relaxed), self.given_up.load(Ordering::Relaxed))
    }

    /// Take room for a message; one always fits into an empty room.
    #[inline]
    pub fn take(&self, bytes: usize) -> bool {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if self.fits(bytes, before) {
            self.messages.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        false
    }

    /// Take room whether there is some or not.
    pub fn take_anyway(&self, bytes: usize, messages: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.messages.fetch_add(messages, Ordering::Relaxed);
    }

    /// Wait until there may be room for so many bytes, up to a time. Whoever waits is woken when half of it is free,
    /// not for every request that is answered.
    pub fn wait(&self, bytes: usize, until: Instant) {
        self.sleep(until, || {
            let used = self.bytes.load(Ordering::SeqCst);
            used <= self.limit / 2 && self.fits(bytes, used)
        });
    }

    /// Wait until nothing is under way; false when the time is over first.
    pub fn wait_empty(&self, until: Instant) -> bool {
        self.sleep(until, || self.messages.load(Ordering::SeqCst) == 0)
    }

    fn sleep(&self, until: Instant, is_over: impl Fn() -> bool) -> bool {
        let mut sleepers = self.sleepers.lock();
        *sleepers += 1;
        let mut over = is_over();
        while !over && !self.changed.wait_until(&mut sleepers, until).timed_out() {
            over = is_over();
        }
        *sleepers -= 1;
        over || is_over()
    }

    /// Say that somebody wants room for so many bytes; false when there is some.
    pub fn want(&self, bytes: usize) -> bool {
        self.is_wanted.store(true, Ordering::SeqCst);
        !self.fits(bytes, self.bytes.load(Ordering::SeqCst))
    }

    fn fits(&self, bytes: usize, used: usize) -> bool {
        used + bytes <= self.limit || used == 0
    }

    /// True when somebody wanted room, and has to be told that there is some.
    pub fn release(&self, bytes: usize, messages: usize) -> bool {
        let left = self.bytes.fetch_sub(bytes, Ordering::SeqCst) - bytes;
        let none = self.messages.fetch_sub(messages, Ordering::SeqCst) == messages;
        // Under the lock: a sleeper that found no room is then asleep, or not yet looking.
        if (none || left <= self.limit / 2) && *self.sleepers.lock() > 0 {
            self.changed.notify_all();
        }
        left <= self.limit / 2 && self.is_wanted.swap(false, Ordering::SeqCst)
    }

    pub fn messages(&self) -> usize {
        self.messages.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}
