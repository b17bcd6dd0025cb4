//! Telling waiting readers that messages became consumable.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

#[derive(Debug, Default)]
pub struct Arrivals {
    waiters: AtomicUsize,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Arrivals {
    /// Wake everyone who waits; costs nothing when nobody does.
    pub fn announce(&self) {
        if self.waiters.load(Ordering::SeqCst) > 0 {
            let _guard = self.lock.lock();
            self.changed.notify_all();
        }
    }

    /// Wait until `arrived` holds; false when the deadline passes first.
    pub fn wait_until(&self, deadline: Option<Instant>, arrived: impl Fn() -> bool) -> bool {
        if arrived() {
            return true;
        }
        self.waiters.fetch_add(1, Ordering::SeqCst);
        let mut guard = self.lock.lock();
        let result = loop {
            if arrived() {
                break true;
            }
            match deadline {
                None => self.changed.wait(&mut guard),
                Some(deadline) => {
                    if self.changed.wait_until(&mut guard, deadline).timed_out() {
                        break arrived();
                    }
                }
            }
        };
        drop(guard);
        self.waiters.fetch_sub(1, Ordering::SeqCst);
        result
    }
}
