//! When requests are due: at once, or at fixed times that do not wait for answers.
//!
//! With a rate, a request is due at its own time whether or not the ones before were answered, and its
//! latency counts from then. A server that stops for a second thus shows a second in every request that was
//! due meanwhile, not only in the few that were under way.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The clock of a run: nanoseconds since its start.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn now(self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// The part of a run that counts, in nanoseconds of its clock.
pub struct Window {
    from: AtomicU64,
    until: AtomicU64,
}

impl Default for Window {
    fn default() -> Self {
        Self { from: AtomicU64::new(u64::MAX), until: AtomicU64::new(u64::MAX) }
    }
}

impl Window {
    pub fn begin(&self, now: u64) {
        self.from.store(now, Ordering::Release);
    }

    /// End it; an end that was set before stays.
    pub fn end(&self, now: u64) {
        self.until.fetch_min(now, Ordering::AcqRel);
    }

    pub fn from(&self) -> u64 {
        self.from.load(Ordering::Acquire)
    }

    pub fn until(&self) -> u64 {
        self.until.load(Ordering::Acquire)
    }

    /// Its length; one that nobody ended ends with the last answer.
    #[allow(clippy::cast_precision_loss)] // a run does not last for 2^52 ns
    pub fn seconds(&self, last_answer: u64) -> f64 {
        let until = match self.until() {
            u64::MAX => last_answer,
            until => until,
        };
        until.saturating_sub(self.from()) as f64 / 1e9
    }

    pub fn holds(&self, time: u64) -> bool {
        time >= self.from() && time < self.until()
    }
}

/// The times at which one thread's requests are due.
pub struct Pace {
    interval_ns: f64,
    next: f64,
}

impl Pace {
    /// `share` of `shares` threads that keep up the rate together; their times interleave.
    pub fn new(requests_per_second: f64, share: u32, shares: u32, now: u64) -> Self {
        let interval_ns = 1e9 * f64::from(shares) / requests_per_second;
        #[allow(clippy::cast_precision_loss)] // a run does not last for 2^52 ns
        let next = now as f64 + interval_ns * f64::from(share) / f64::from(shares);
        Self { interval_ns, next }
    }

    pub fn next_due(&self) -> u64 {
        self.next as u64
    }

    pub fn take(&mut self) -> u64 {
        let due = self.next_due();
        self.next += self.interval_ns;
        due
    }

    pub fn time_left(&self, now: u64) -> Duration {
        Duration::from_nanos(self.next_due().saturating_sub(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_of_a_rate_take_turns() {
        let mut paces = [Pace::new(1000.0, 0, 2, 0), Pace::new(1000.0, 1, 2, 0)];
        let mut due: Vec<u64> = (0..3).flat_map(|_| paces.each_mut().map(Pace::take)).collect();
        due.sort_unstable();
        assert_eq!(due, [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000]);
    }

    #[test]
    fn a_window_counts_from_its_beginning_to_its_first_end() {
        let window = Window::default();
        assert!(!window.holds(5));
        window.begin(3);
        assert!(window.holds(5) && !window.holds(2));
        window.end(7);
        window.end(9);
        assert!(window.holds(6) && !window.holds(7));
    }
}
