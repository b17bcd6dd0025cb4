//! What waits for Python, and the bell that tells its event loop.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::net::bell::Bell;

/// Something for Python; only the seam knows the kinds there are.
pub type Notice = Arc<dyn Any + Send + Sync>;

#[derive(Debug)]
pub struct Notices {
    waiting: Mutex<VecDeque<Notice>>,
    bell: Bell,
}

impl Notices {
    pub fn new() -> io::Result<Self> {
        Ok(Self { waiting: Mutex::default(), bell: Bell::new()? })
    }

    pub fn fd(&self) -> RawFd {
        self.bell.fd()
    }

    pub fn put(&self, each: impl IntoIterator<Item = Notice>) {
        let mut waiting = self.waiting.lock();
        let was_empty = waiting.is_empty();
        waiting.extend(each);
        if was_empty && !waiting.is_empty() {
            self.bell.ring();
        }
    }

    /// Take up to `limit`, oldest first.
    pub fn take(&self, limit: usize) -> Vec<Notice> {
        let mut waiting = self.waiting.lock();
        let count = limit.min(waiting.len());
        let taken = waiting.drain(..count).collect();
        if waiting.is_empty() {
            self.bell.quiet();
        }
        taken
    }
}
