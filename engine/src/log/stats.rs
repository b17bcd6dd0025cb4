//! Counters of a running store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::put::PutStatus;

#[derive(Debug, Default)]
pub struct Stats {
    puts: AtomicU64,
    slowest_put_ms: AtomicU64,
    refused: [AtomicU64; PutStatus::ALL.len()],
    /// Puts refused one after another because the store takes none.
    at_closed_gate: AtomicU64,
    pub(super) reads: AtomicU64,
    pub(super) messages_read: AtomicU64,
    pub(super) queries: AtomicU64,
}

impl Stats {
    /// Count put calls, and how long they took.
    pub fn took(&self, calls: usize, time: Duration) {
        self.puts.fetch_add(calls as u64, Ordering::Relaxed);
        let ms = time.as_millis() as u64;
        if ms > self.slowest_put_ms.load(Ordering::Relaxed) {
            self.slowest_put_ms.fetch_max(ms, Ordering::Relaxed);
        }
    }

    pub fn refused(&self, status: PutStatus) {
        self.refused[status as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Count a put that met a store which takes none; returns how many did before, in a row.
    pub fn gate_closed(&self) -> u64 {
        self.at_closed_gate.fetch_add(1, Ordering::Relaxed)
    }

    pub fn gate_opened(&self) {
        // A load is cheaper than a store to a line that other writers read as well.
        if self.at_closed_gate.load(Ordering::Relaxed) > 0 {
            self.at_closed_gate.store(0, Ordering::Relaxed);
        }
    }

    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    pub fn messages_read(&self) -> u64 {
        self.messages_read.load(Ordering::Relaxed)
    }

    pub fn queries(&self) -> u64 {
        self.queries.load(Ordering::Relaxed)
    }

    /// Put calls, refused ones included.
    pub fn puts(&self) -> u64 {
        self.puts.load(Ordering::Relaxed)
    }

    pub fn slowest_put_ms(&self) -> u64 {
        self.slowest_put_ms.load(Ordering::Relaxed)
    }

    /// Refused puts by status; statuses that never occurred are left out.
    pub fn refusals(&self) -> impl Iterator<Item = (PutStatus, u64)> {
        let counts = PutStatus::ALL
            .into_iter()
            .map(|status| (status, self.refused[status as usize].load(Ordering::Relaxed)));
        counts.filter(|&(_, count)| count > 0)
    }
}
