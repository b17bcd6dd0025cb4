//! Letting go of the old: log files, and then what was derived from them. When to do it is Python's choice.

use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use super::config::FlushMode;
use super::flags::Flag;
use super::notes::Level;
use super::store::Store;
use crate::error::{Error, Result};

const DISPATCH_PAUSE: Duration = Duration::from_micros(200);
/// Dispatch that takes longer stands. Nobody may wait for it, least of all with the append lock held.
const DISPATCH_WAIT_MAX: Duration = Duration::from_secs(5);
const DISPATCH_WAIT_LOCKED_MAX: Duration = Duration::from_millis(500);

impl Store {
    /// Delete the oldest log file; `None` when it is the last one, in use, or not dispatched yet.
    ///
    /// The queues go to disk first: without the log, nothing else tells how far a quiet queue had come.
    pub fn delete_first_log_file(&self, even_if_held: bool) -> Result<Option<PathBuf>> {
        let second = self.log.next_file(self.log.min_offset());
        if self.dispatcher.position() < second {
            return Ok(None);
        }
        if self.log.segments().len() > 1
            && let Err(error) = self.keeper.keep(true)
        {
            // A full disk: deleting is what helps.
            self.notes.say(Level::Warning, format!("a log file goes before its queues are on disk: {error}"));
        }
        // Flushing goes file by file from where it stands, so it must be past the first.
        if self.log.flushed() < second {
            self.flush()?;
        }
        self.log.delete_first(even_if_held)
    }

    /// Delete queue and index files that lead to nothing but expired messages; returns how many.
    pub fn delete_expired_queue_files(&self) -> Result<usize> {
        let log_min = self.log.min_offset().cast_signed();
        let mut deleted = 0;
        for queue in self.derived.queues.all() {
            queue.correct_min(log_min)?;
            deleted += queue.delete_expired_files(log_min)?;
        }
        if let Some(index) = &self.derived.index {
            deleted += index.delete_expired(log_min)?;
        }
        Ok(deleted)
    }

    /// Delete the queues of a topic; false when it has none.
    pub fn delete_topic(&self, topic: &[u8]) -> Result<bool> {
        // Most of the wait is over before others have to wait as well, and all of it for a topic nobody has.
        self.drain(DISPATCH_WAIT_MAX)?;
        if self.derived.queues.queues_of(topic).is_empty() {
            return Ok(false);
        }
        // With the append lock held and the dispatcher idle nobody adds to the queues.
        let _appends_wait = self.log.lock();
        self.drain(DISPATCH_WAIT_LOCKED_MAX)?;
        Ok(self.derived.queues.remove_topic(topic)? > 0)
    }

    /// Wait until what is written now is in its queues; an error if that does not come about.
    fn drain(&self, wait_max: Duration) -> Result<()> {
        self.flusher.commit(0)?;
        if self.log.config.flush_mode == FlushMode::Sync {
            self.flusher.flush(0)?;
        }
        let confirmed = self.dispatcher.confirmed();
        let deadline = Instant::now() + wait_max;
        while self.dispatcher.position() < confirmed && !self.is_closed() {
            let stands = self.flags.bits() & Flag::QueueError as u32 != 0;
            if stands || Instant::now() >= deadline {
                let position = self.dispatcher.position();
                let reason = format!(
                    "messages from offset {position} on are not in their queues yet; mend what dispatch stands at, \
                     mostly a full disk, and try again"
                );
                let source = io::Error::new(io::ErrorKind::TimedOut, reason);
                return Err(Error::io("delete a topic in", &self.config.queue_dir, source));
            }
            self.dispatcher.signal.raise();
            thread::sleep(DISPATCH_PAUSE);
        }
        Ok(())
    }
}
