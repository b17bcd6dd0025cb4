//! Counters of a running store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::put::PutStatus;

/// RocketMQ tells apart puts that took less than these times.
const PUT_TIMES_MS: [u64; 12] = [1, 10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 10_000];

#[derive(Debug, Default)]
pub struct Stats {
    /// Put calls by how long they took: one count for each limit of `PUT_TIMES_MS`, and one for what is beyond.
    puts: [AtomicU64; PUT_TIMES_MS.len() + 1],
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
        let ms = time.as_millis() as u64;
        let span = PUT_TIMES_MS.iter().position(|&limit| ms < limit).unwrap_or(PUT_TIMES_MS.len());
        self.puts[span].fetch_add(calls as u64, Ordering::Relaxed);
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
        self.put_times().into_iter().sum()
    }

    /// Put calls by how long they took; see `PUT_TIMES_MS`.
    pub fn put_times(&self) -> Vec<u64> {
        self.puts.iter().map(|count| count.load(Ordering::Relaxed)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_are_counted_by_the_time_they_took() {
        let stats = Stats::default();
        for (calls, micros) in [(5, 999), (2, 1000), (1, 9_999), (1, 10_000), (3, 10_000_000)] {
            stats.took(calls, Duration::from_micros(micros));
        }
        assert_eq!(stats.put_times(), [5, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]);
        assert_eq!((stats.puts(), stats.slowest_put_ms()), (12, 10_000));
    }
}
