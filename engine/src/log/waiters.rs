//! Writers that wait for a sync, woken one by one: whoever is woken in vain costs two changes of threads.

use std::collections::VecDeque;
use std::thread::{self, Thread};

use parking_lot::Mutex;

#[derive(Debug, Default)]
pub struct Waiters(Mutex<VecDeque<(u64, Thread)>>);

impl Waiters {
    /// Enter this thread as one that waits for `offset`.
    pub fn enter(&self, offset: u64) {
        self.0.lock().push_back((offset, thread::current()));
    }

    /// Take this thread off the list, if it is still on it.
    pub fn leave(&self) {
        let me = thread::current().id();
        self.0.lock().retain(|(_, thread)| thread.id() != me);
    }

    pub fn count(&self) -> usize {
        self.0.lock().len()
    }

    /// Wake those whose offset is reached, and one of the others, who can see to the next sync. Returns how
    /// many were reached.
    pub fn release(&self, reached: u64) -> usize {
        let mut waiting = self.0.lock();
        let mut ready = Vec::with_capacity(waiting.len());
        waiting.retain(|(offset, thread)| {
            let is_ready = *offset <= reached;
            if is_ready {
                ready.push(thread.clone());
            }
            !is_ready
        });
        let count = ready.len();
        ready.extend(waiting.pop_front().map(|(_, thread)| thread));
        drop(waiting);
        for thread in ready {
            thread.unpark();
        }
        count
    }
}
