//! Threads that follow recovery's scan: to derive queues and index from records costs more than to check them.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use crate::error::{Error, Result};
use crate::log::commit_log::CommitLog;
use crate::message::{Found, Record, look};

/// Records are handed over in stretches of about this many bytes.
const STRETCH_BYTES: u64 = 4 << 20;
const STRETCHES_MAX: usize = 16;

/// The scan's end of the line to a thread.
pub struct Behind<'scope> {
    stretches: SyncSender<Range<u64>>,
    gathered: Range<u64>,
    thread: ScopedJoinHandle<'scope, Result<()>>,
}

impl<'scope> Behind<'scope> {
    /// Start a thread that works on what is added.
    pub fn begin(
        scope: &'scope Scope<'scope, '_>,
        work: impl FnOnce(&Receiver<Range<u64>>) -> Result<()> + Send + 'scope,
    ) -> Self {
        let (stretches, coming) = sync_channel(STRETCHES_MAX);
        let thread = scope.spawn(move || work(&coming));
        Self { stretches, gathered: 0..0, thread }
    }

    /// Have the record of these log offsets worked on, after all that were added before.
    pub fn add(&mut self, record: Range<u64>) {
        if self.gathered.end == record.start {
            self.gathered.end = record.end;
        } else {
            self.hand_over();
            self.gathered = record;
        }
        if self.gathered.end - self.gathered.start >= STRETCH_BYTES {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        if !self.gathered.is_empty() {
            // A thread that met an error is gone; `finish` tells why.
            let _ = self.stretches.send(self.gathered.clone());
            self.gathered.start = self.gathered.end;
        }
    }

    /// Wait until everything that was added is done.
    pub fn finish(mut self) -> Result<()> {
        self.hand_over();
        drop(self.stretches);
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// Go through records that the scan has found to be whole; a stretch lies in one file.
pub fn each_record(
    log: &CommitLog,
    stretch: Range<u64>,
    mut work: impl FnMut(&Record<'_>) -> Result<()>,
) -> Result<()> {
    let Some(segment) = log.segment_of(stretch.start) else { return Ok(()) };
    let (mut at, end) =
        ((stretch.start - segment.start()) as usize, (stretch.end - segment.start()) as usize);
    while at < end {
        let Ok(Found::Record(record)) = look(segment.bytes(at..end)) else {
            return Err(Error::damaged(segment.path(), format!("changed at {at} while it was read")));
        };
        work(&record)?;
        at += record.size();
    }
    segment.map().check()
}
