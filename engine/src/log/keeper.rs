//! The keeper of derived files: writes queues out, syncs them, and moves the checkpoint.

use std::fs;
use std::io;
use std::iter;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::checkpoint::Checkpoint;
use super::config::StoreConfig;
use super::derived::Derived;
use super::dispatch::Dispatcher;
use super::flags::{Flag, Flags};
use super::markers::AbortFile;
use super::notes::{Level, Notes};
use super::queue::ConsumeQueue;
use super::signal::Signal;
use crate::error::{Error, Result};

/// With more dirty queues than this, one sync of each file system is cheaper than one for each.
const SINGLE_SYNCS_MAX: usize = 64;
/// Writing out never takes more than about this share of the thread's time.
const WORK_SHARE: u32 = 10;
/// What all queues together may keep in memory between thorough rounds.
const UNWRITTEN_BYTES_MAX: u64 = 64 << 20;

#[derive(Debug)]
pub struct Keeper {
    config: Arc<StoreConfig>,
    derived: Arc<Derived>,
    dispatcher: Arc<Dispatcher>,
    checkpoint: Arc<Checkpoint>,
    flags: Arc<Flags>,
    abort: Arc<AbortFile>,
    notes: Arc<Notes>,
    working: Mutex<()>,
    failed: AtomicBool,
    pub(super) wake: Signal,
}

impl Keeper {
    pub fn new(
        config: Arc<StoreConfig>,
        derived: Arc<Derived>,
        dispatcher: Arc<Dispatcher>,
        checkpoint: Arc<Checkpoint>,
        flags: Arc<Flags>,
        abort: Arc<AbortFile>,
        notes: Arc<Notes>,
    ) -> Self {
        let (working, failed, wake) = (Mutex::default(), AtomicBool::default(), Signal::default());
        Self { config, derived, dispatcher, checkpoint, flags, abort, notes, working, failed, wake }
    }

    pub fn run(&self, stop: &AtomicBool) {
        let mut last_thorough = Instant::now();
        // Nothing yet: the thread may start after the first messages were dispatched.
        let mut seen = None;
        let mut pause = self.config.queue_flush_interval;
        while !stop.load(Ordering::Acquire) {
            self.wake.lower();
            self.wake.wait(Some(pause));
            let thorough = last_thorough.elapsed() >= self.config.queue_flush_thorough_interval;
            let position = self.dispatcher.position();
            if (seen == Some(position) && !thorough) || stop.load(Ordering::Acquire) {
                continue;
            }
            let began = Instant::now();
            match self.keep(thorough) {
                Ok(()) => {
                    seen = Some(position);
                    if self.flags.clear(Flag::QueuesNotKept) {
                        self.notes.say(Level::Info, "the consume queues can be written again");
                    }
                }
                Err(error) => {
                    if self.flags.raise(Flag::QueuesNotKept) {
                        self.notes.say(
                            Level::Error,
                            format!(
                                "writing consume queues failed, writes are refused until it works: {error}"
                            ),
                        );
                    }
                }
            }
            if thorough {
                last_thorough = Instant::now();
            }
            pause = self
                .config
                .queue_flush_interval
                .max(began.elapsed() * WORK_SHARE)
                .min(Duration::from_secs(10));
        }
    }

    /// Write out and sync the queues with enough to write and to sync, or all of them when `thorough`.
    ///
    /// What is in memory only costs nothing after a crash: recovery begins at the checkpoint, which moves when
    /// everything is synced.
    pub fn keep(&self, thorough: bool) -> Result<()> {
        let _alone = self.working.lock();
        // Read before writing out, so that the checkpoint never promises more than was written.
        let (position, timestamp) = (self.dispatcher.position(), self.dispatcher.timestamp());
        let least_bytes = if thorough { 1 } else { (self.config.queue_flush_least_pages * 4096).max(1) };
        let queues = self.derived.queues.all();
        let least_unwritten = least_bytes.min(UNWRITTEN_BYTES_MAX / (queues.len() as u64).max(1)).max(1);
        let mut to_sync = Vec::new();
        let mut all_synced = true;
        for queue in queues {
            let unwritten = queue.unwritten_bytes();
            if unwritten >= least_unwritten {
                queue.write_out()?;
            }
            let unsynced = queue.unsynced_bytes();
            if unsynced >= least_bytes {
                to_sync.push(queue);
            } else if unsynced > 0 || unwritten > 0 {
                all_synced = false;
            }
        }
        if !self.has_failed() {
            match self.sync(&to_sync, thorough) {
                Ok(()) => {}
                Err(error) => self.give_up(&error),
            }
        }
        if to_sync.len() > SINGLE_SYNCS_MAX && !thorough {
            all_synced = false;
        }
        // While messages wait to be indexed, recovery has to begin before them.
        if all_synced && !self.has_failed() && !self.dispatcher.index_stands() {
            self.checkpoint.advance_queue_timestamp(timestamp);
            self.checkpoint.advance_dispatch_offset(self.safe_offset(position)?);
        }
        self.checkpoint.save()
    }

    /// Whether a sync of queues or index failed in this run. Only a recovery makes good for that.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    fn sync(&self, queues: &[Arc<ConsumeQueue>], thorough: bool) -> Result<()> {
        if queues.len() <= SINGLE_SYNCS_MAX {
            for queue in queues {
                queue.sync_written()?;
            }
        } else if thorough {
            let dirs = queues.iter().flat_map(|queue| queue.dirs());
            let dirs = one_of_each_file_system(iter::once(&*self.config.queue_dir).chain(dirs))?;
            // Before: what is written out during the sync may not be part of it. After a failure nothing counts.
            for queue in queues {
                queue.assume_synced();
            }
            dirs.into_iter().try_for_each(sync_file_system)?;
        }
        if thorough && let Some(index) = &self.derived.index {
            self.checkpoint.advance_index_timestamp(index.flush()?);
        }
        Ok(())
    }

    /// After a failed sync it is unknown what is on disk, and a later one that succeeds says nothing of it. The
    /// log is not touched by that, so writes go on; but the checkpoint stays, and the next start recovers.
    fn give_up(&self, error: &Error) {
        self.failed.store(true, Ordering::Release);
        self.abort.note_failed_sync(&self.notes);
        self.notes.say(
            Level::Error,
            format!(
                "{error}; queues and index are trusted no further in this run, the next start mends them"
            ),
        );
    }

    /// The log offset before which neither the queues nor the index need a record again after a crash, when the
    /// queues have all before `dispatched`.
    fn safe_offset(&self, dispatched: u64) -> Result<i64> {
        let index_safe = self.checkpoint.values().index_timestamp;
        let index = self.derived.index.as_ref().and_then(|index| index.first_unsafe_offset(index_safe));
        let safe = dispatched.cast_signed().min(index.unwrap_or(i64::MAX));
        // Zero would say that there is no such offset. The second record leads to the first file as well.
        if safe == 0 { self.dispatcher.end_of_record(0) } else { Ok(safe) }
    }
}

/// One of the directories for each file system that they are on: links may lead some of them to other disks.
fn one_of_each_file_system<'a>(dirs: impl Iterator<Item = &'a Path>) -> Result<Vec<&'a Path>> {
    let mut found = Vec::new();
    for dir in dirs {
        match fs::metadata(dir) {
            // Nothing was written to it, or its topic was deleted.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::io("look at", dir, source)),
            Ok(of) if found.iter().any(|&(device, _)| device == of.dev()) => {}
            Ok(of) => found.push((of.dev(), dir)),
        }
    }
    Ok(found.into_iter().map(|(_, dir)| dir).collect())
}

fn sync_file_system(dir: &Path) -> Result<()> {
    let file = fs::File::open(dir).map_err(|source| Error::io("open", dir, source))?;
    // SAFETY: a system call on an open descriptor.
    if unsafe { libc::syncfs(file.as_raw_fd()) } == 0 {
        return Ok(());
    }
    Err(Error::io("sync the file system of", dir, io::Error::last_os_error()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_queue_that_a_link_leads_to_another_disk_is_synced_there() {
        let here = tempfile::tempdir().unwrap();
        let Ok(other) = tempfile::tempdir_in("/dev/shm") else { return };
        let [plain, linked, missing] = ["0", "1", "2"].map(|name| here.path().join(name));
        fs::create_dir(&plain).unwrap();
        symlink(other.path(), &linked).unwrap();
        let dirs = [here.path(), &plain, &linked, &linked, &missing];
        let found = one_of_each_file_system(dirs.into_iter()).unwrap();
        let device = |dir: &Path| fs::metadata(dir).unwrap().dev();
        if device(here.path()) == device(other.path()) {
            assert_eq!(found, [here.path()]);
        } else {
            assert_eq!(found, [here.path(), &linked]);
        }
    }
}
