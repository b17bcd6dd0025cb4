//! Clocks, memory, and lines of JSON.

use std::fmt::Write;
use std::fs;
use std::mem::MaybeUninit;
use std::time::Instant;

/// One line of output: a flat JSON object.
pub struct Line(String);

impl Line {
    pub fn of(bench: &str) -> Self {
        Self(format!("{{\"bench\":\"{bench}\""))
    }

    pub fn count(mut self, name: &str, value: u64) -> Self {
        let _ = write!(self.0, ",\"{name}\":{value}"); // writing to a string does not fail
        self
    }

    pub fn real(mut self, name: &str, value: f64) -> Self {
        let _ = write!(self.0, ",\"{name}\":{value:.6}");
        self
    }

    pub fn truth(mut self, name: &str, value: bool) -> Self {
        let _ = write!(self.0, ",\"{name}\":{value}");
        self
    }

    pub fn text(mut self, name: &str, value: &str) -> Self {
        let _ = write!(self.0, ",\"{name}\":\"{value}\"");
        self
    }

    pub fn print(&self) {
        println!("{}}}", self.0);
    }
}

/// Wall time, processor time and page faults of the whole process since it was made.
pub struct Timing {
    wall: Instant,
    usage: libc::rusage,
}

impl Timing {
    pub fn start() -> Self {
        Self { wall: Instant::now(), usage: usage() }
    }

    pub fn seconds(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }

    pub fn cpu_seconds(&self) -> f64 {
        let now = usage();
        seconds(now.ru_utime) + seconds(now.ru_stime)
            - seconds(self.usage.ru_utime)
            - seconds(self.usage.ru_stime)
    }

    pub fn faults(&self) -> u64 {
        (usage().ru_minflt - self.usage.ru_minflt).cast_unsigned()
    }
}

fn usage() -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: fills the struct it is given; all zeros is a valid one.
    unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    }
}

#[allow(clippy::cast_precision_loss)] // a process does not run for 2^52 seconds
fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

/// What is counted in this program stays far below 2^52.
#[allow(clippy::cast_precision_loss)]
pub fn real(count: u64) -> f64 {
    count as f64
}

/// A field of /proc/self/status in bytes, such as `VmRSS` or `RssAnon`.
pub fn memory(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.split(':').next() == Some(field));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)).and_then(|kib| kib.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Open descriptors, without the one that counts them.
pub fn descriptors() -> u64 {
    fs::read_dir("/proc/self/fd").map_or(0, |found| found.count() as u64 - 1)
}

pub fn maps() -> u64 {
    fs::read_to_string("/proc/self/maps").map_or(0, |text| text.lines().count() as u64)
}
