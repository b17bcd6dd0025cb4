//! The wall clock, in the unit of the file formats, and a cheap one for durations.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since the epoch.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The same to within a few milliseconds, for a fraction of the cost.
pub fn coarse_now_ms() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the struct it is given.
    if unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut time) } != 0 {
        return now_ms();
    }
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

/// Time since some start, a few milliseconds coarse: reading it costs a fifth of an exact clock.
pub fn coarse() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the struct it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
    Duration::new(time.tv_sec.max(0).cast_unsigned(), time.tv_nsec as u32)
}
