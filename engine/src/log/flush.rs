//! Putting the log on disk: by interval, or for every waiting append at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::checkpoint::Checkpoint;
use super::commit_log::CommitLog;
use super::config::FlushMode;
use super::flags::{Flag, Flags};
use super::markers::AbortFile;
use super::notes::Level;
use super::signal::Signal;
use super::waiters::Waiters;
use super::watch::{Watch, Watcher};
use crate::error::{Error, Result};

/// A sync waits for company as long as the last one took, but no longer than this.
const GATHER_MAX: Duration = Duration::from_micros(500);
/// For fewer writers it does not wait.
const COMPANY_MIN: usize = 8;
const SLOW: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Flusher {
    log: Arc<CommitLog>,
    checkpoint: Arc<Checkpoint>,
    flags: Arc<Flags>,
    abort: Arc<AbortFile>,
    /// Told when the flushed offset moved: in sync mode readers wait for it.
    flushed: Arc<Signal>,
    /// Held by the one waiting append that syncs for all of them.
    pub(super) leading: Mutex<()>,
    waiters: Waiters,
    watcher: Arc<Watcher>,
    /// How many the last sync answered, and how many were waiting for the next one by then.
    company: AtomicUsize,
    /// How long the last sync took, in microseconds.
    took: AtomicU64,
    syncs: AtomicU64,
    pub(super) wake: Signal,
}

impl Flusher {
    pub fn new(
        log: Arc<CommitLog>,
        checkpoint: Arc<Checkpoint>,
        flags: Arc<Flags>,
        abort: Arc<AbortFile>,
        flushed: Arc<Signal>,
        watcher: Arc<Watcher>,
    ) -> Self {
        Self {
            log,
            checkpoint,
            flags,
            abort,
            flushed,
            leading: Mutex::default(),
            waiters: Waiters::default(),
            watcher,
            company: AtomicUsize::new(0),
            took: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
            wake: Signal::default(),
        }
    }

    /// Write what the transient buffers hold to the files; says whether anything moved. While that fails no message
    /// is taken: it would be acknowledged, and be nowhere but in the memory of this process.
    pub fn commit(&self, least_pages: u64) -> Result<bool> {
        if self.log.pool.is_none() {
            return Ok(false);
        }
        let result = self.log.commit(least_pages);
        match &result {
            Ok(moved) => {
                let works = *moved || self.log.readable() == self.log.written();
                if works && self.flags.clear(Flag::CommitError) {
                    self.log.notes().say(Level::Info, "commits work again");
                }
            }
            Err(error) => {
                if self.flags.raise(Flag::CommitError) {
                    self.log.notes().say(
                        Level::Error,
                        format!("commit failed, writes are refused until it works: {error}"),
                    );
                }
            }
        }
        result
    }

    /// Sync what is readable, if it is at least `least_pages`.
    pub fn flush(&self, least_pages: u64) -> Result<()> {
        let result = self.sync(least_pages);
        self.announce();
        result
    }

    fn sync(&self, least_pages: u64) -> Result<()> {
        let began = Instant::now();
        match self.log.flush(least_pages) {
            Ok(Some(timestamp)) => {
                self.syncs.fetch_add(1, Ordering::Relaxed);
                self.checkpoint.advance_log_timestamp(timestamp);
            }
            Ok(None) => return Ok(()),
            // It was told when it failed.
            Err(refused @ Error::Config(_)) => return Err(refused),
            Err(error) => {
                self.flags.raise(Flag::NotWritable);
                self.abort.note_failed_sync(self.log.notes());
                self.log.notes().say(
                    Level::Error,
                    format!("{error}; the store takes no more writes, restart it to recover what is on disk"),
                );
                return Err(error);
            }
        }
        let took = began.elapsed();
        self.took.store(took.as_micros() as u64, Ordering::Relaxed);
        if took > SLOW {
            self.log.notes().say(Level::Info, format!("flushing the log took {} ms", took.as_millis()));
        }
        Ok(())
    }

    /// Whether a sync of the log failed. No flag and no later sync heals that, only a restart.
    pub fn has_failed(&self) -> bool {
        self.log.has_flush_failed()
    }

    fn announce(&self) {
        self.flushed.raise();
        // After a failure everyone learns of it.
        let reached = if self.has_failed() { u64::MAX } else { self.log.flushed() };
        let watch = self.watcher.get();
        let waiting = self.waiting(watch.as_deref());
        self.waiters.release(reached);
        if let Some(watch) = watch {
            watch.flushed(reached);
        }
        self.company.store(waiting, Ordering::Relaxed);
    }

    fn waiting(&self, watch: Option<&dyn Watch>) -> usize {
        self.waiters.count() + watch.map_or(0, Watch::waiting_for_disk)
    }

    /// Wait until everything before `offset` is on disk. One of those who wait syncs for all.
    pub fn wait_flushed(&self, offset: u64, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        loop {
            if self.log.flushed() >= offset {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if self.has_failed() || left.is_zero() {
                return false;
            }
            if let Some(leader) = self.leading.try_lock() {
                self.gather();
                // A failure is seen by the check above on the next turn.
                let _ = self.commit(0).and_then(|_| self.sync(0));
                // First: among those who are woken must be one who can lead.
                drop(leader);
                self.announce();
                continue;
            }
            self.waiters.enter(offset);
            // Whoever leads now sees us on the list. If nobody does any more, we do.
            if self.leading.is_locked() && self.log.flushed() < offset {
                thread::park_timeout(left);
            }
            self.waiters.leave();
        }
    }

    /// Give those who were there at the last sync the time to come again: one sync for all of them is worth a wait.
    fn gather(&self) {
        let company = self.company.load(Ordering::Relaxed);
        if company < COMPANY_MIN {
            return;
        }
        let watch = self.watcher.get();
        let until = Instant::now() + GATHER_MAX.min(Duration::from_micros(self.took.load(Ordering::Relaxed)));
        while self.waiting(watch.as_deref()) < company && Instant::now() < until {
            thread::yield_now();
        }
    }

    /// An append asks for a flush. By default (`flushCommitLogTimed`) only the clock counts.
    pub fn nudge(&self) {
        if !self.log.config.flush_timed {
            self.wake.raise();
        }
    }

    /// How often the log was put on disk.
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    /// The flush thread: every interval, or when woken.
    pub fn run(&self, stop: &AtomicBool) {
        let config = &self.log.config;
        let mut last_thorough = Instant::now();
        while !stop.load(Ordering::Acquire) {
            self.wake.lower();
            let thorough = last_thorough.elapsed() >= config.flush_thorough_interval;
            let least_pages = if thorough || config.flush_mode == FlushMode::Sync {
                last_thorough = Instant::now();
                0
            } else {
                config.flush_least_pages
            };
            if config.flush_mode == FlushMode::Sync {
                self.gather();
            }
            // An error raised its flag and left its note.
            let _ = self.flush(least_pages);
            if !stop.load(Ordering::Acquire) {
                self.wake.wait(Some(config.flush_interval));
            }
        }
    }

    /// The commit thread of the transient pool.
    pub fn run_commits(&self, stop: &AtomicBool, wake: &Signal) {
        let Some(pool) = self.log.config.transient_pool else { return };
        let mut last_thorough = Instant::now();
        while !stop.load(Ordering::Acquire) {
            wake.lower();
            let began = Instant::now();
            let thorough = last_thorough.elapsed() >= pool.commit_thorough_interval;
            // An error raised its flag and left its note. What was committed before it can be read.
            let committed = self.commit(if thorough { 0 } else { pool.commit_least_pages });
            if matches!(committed, Ok(true)) {
                last_thorough = Instant::now();
            }
            if !matches!(committed, Ok(false)) {
                self.nudge();
                self.flushed.raise();
            }
            let took = began.elapsed();
            if took > SLOW {
                self.log
                    .notes()
                    .say(Level::Info, format!("committing to the log took {} ms", took.as_millis()));
            }
            if !stop.load(Ordering::Acquire) {
                wake.wait(Some(pool.commit_interval));
            }
        }
    }
}
