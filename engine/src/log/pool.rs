//! Write buffers between the appender and the files (`transientStorePoolEnable`).
//!
//! With the pool an append touches no page of a file, so it never waits for the page cache; the price is
//! that a killed process loses what was not yet committed. That is why it is off by default.

use std::sync::Arc;

use memmap2::{MmapMut, MmapRaw};
use parking_lot::Mutex;

use super::notes::{Level, Notes};
use crate::error::{Error, Result};

#[derive(Debug)]
pub struct Pool {
    free: Mutex<Vec<Arc<MmapRaw>>>,
    /// Held by whoever writes buffers to files.
    pub(super) committing: Mutex<()>,
}

impl Pool {
    /// Make the buffers, each as large as a log file, and lock them into memory if the system allows.
    pub fn new(buffers: usize, bytes: u64, notes: &Notes) -> Result<Self> {
        let mut free = Vec::with_capacity(buffers);
        for _ in 0..buffers {
            let buffer = MmapMut::map_anon(bytes as usize).map_err(|error| {
                Error::Config(format!("no memory for transientStorePoolSize={buffers} buffers: {error}"))
            })?;
            let buffer = MmapRaw::from(buffer);
            if let Err(error) = buffer.lock() {
                notes.say(
                    Level::Warning,
                    format!("a buffer of the transient store pool is not locked into memory: {error}"),
                );
            }
            free.push(Arc::new(buffer));
        }
        Ok(Self { free: Mutex::new(free), committing: Mutex::default() })
    }

    pub fn lend(&self) -> Option<Arc<MmapRaw>> {
        self.free.lock().pop()
    }

    pub fn give_back(&self, buffer: Arc<MmapRaw>) {
        self.free.lock().push(buffer);
    }
}
