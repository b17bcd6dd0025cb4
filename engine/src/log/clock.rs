//! The wall clock, in the unit of the file formats, and a cheap one for durations.

use std::time::Duration;

/// A single store time further in the future than this is damage, not a clock that was set back.
const FUTURE_MAX_MS: i64 = 86_400_000;

/// Whether a store time is one that only damage leads to, if the one before it is not such a time too.
pub fn is_far_ahead(time_ms: i64) -> bool {
    time_ms > coarse_now_ms() + FUTURE_MAX_MS
}

/// Milliseconds since the epoch.
pub fn now_ms() -> i64 {
    milliseconds(read(libc::CLOCK_REALTIME))
}

/// Time since some start, a few milliseconds coarse: reading it costs a fifth of an exact clock.
pub fn coarse() -> Duration {
    let time = read(libc::CLOCK_MONOTONIC_COARSE);
    Duration::new(time.tv_sec.max(0).cast_unsigned(), time.tv_nsec as u32)
}

/// The wall clock to within a few milliseconds.
pub fn coarse_now_ms() -> i64 {
    milliseconds(read(libc::CLOCK_REALTIME_COARSE))
}

fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the struct it is given.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time
}

fn milliseconds(time: libc::timespec) -> i64 {
    time.tv_sec.max(0) * 1000 + time.tv_nsec / 1_000_000
}
