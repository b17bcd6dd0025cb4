//! A wake-up call for one sleeping thread that costs the caller almost nothing while it is awake.

use std::ops::Deref;
use std::sync::atomic::{AtomicU8, Ordering, fence};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

const QUIET: u8 = 0;
const RAISED: u8 = 1;
const ASLEEP: u8 = 2;

/// A value on a cache line of its own, since one thread changes it all the time and another one watches it.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct OwnLine<T>(pub T);

impl<T> Deref for OwnLine<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Raised by many, waited for by one. A raise while the waiter is busy is remembered.
#[derive(Debug, Default)]
pub struct Signal {
    state: AtomicU8,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Signal {
    /// Wake the waiter. Whatever the caller wrote before is seen by the waiter after.
    pub fn raise(&self) {
        // Pairs with the fence in `lower`: either the waiter sees our writes, or we see it asleep.
        fence(Ordering::SeqCst);
        if self.state.load(Ordering::Relaxed) == RAISED {
            return;
        }
        if self.state.swap(RAISED, Ordering::SeqCst) == ASLEEP {
            let _guard = self.lock.lock();
            self.changed.notify_one();
        }
    }

    /// Forget earlier raises; call before looking for work.
    pub fn lower(&self) {
        self.state.store(QUIET, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Sleep until raised since the last `lower`, or until the time has passed.
    pub fn wait(&self, timeout: Option<Duration>) {
        let mut guard = self.lock.lock();
        if self.state.compare_exchange(QUIET, ASLEEP, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return;
        }
        match timeout {
            Some(timeout) => {
                self.changed.wait_for(&mut guard, timeout);
            }
            None => self.changed.wait(&mut guard),
        }
        // A spurious wake-up is one more look for work.
        let _ = self.state.compare_exchange(ASLEEP, QUIET, Ordering::SeqCst, Ordering::SeqCst);
    }
}
