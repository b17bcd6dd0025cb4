//! The index follows recovery's scan on a thread of its own: finding and hashing keys is half of the work.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use super::commit_log::CommitLog;
use super::derived::{self, Derived};
use super::index::IndexWriter;
use crate::error::{Error, Result};
use crate::message::{DispatchProperties, Found, look};

/// Records are handed over in stretches of about this many bytes.
const STRETCH_BYTES: u64 = 4 << 20;
const STRETCHES_MAX: usize = 16;

/// The scan's end of the line.
pub struct Reindex<'scope> {
    stretches: SyncSender<Range<u64>>,
    gathered: Range<u64>,
    thread: ScopedJoinHandle<'scope, Result<()>>,
}

impl<'scope> Reindex<'scope> {
    pub fn begin<'env: 'scope>(
        scope: &'scope Scope<'scope, 'env>,
        log: &'env CommitLog,
        derived: &'env Derived,
    ) -> Self {
        let (stretches, coming) = sync_channel(STRETCHES_MAX);
        let thread = scope.spawn(move || follow(&coming, log, derived));
        Self { stretches, gathered: 0..0, thread }
    }

    /// Have the record of these log offsets indexed, after all that were added before.
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

    /// Wait until everything that was added is indexed.
    pub fn finish(mut self) -> Result<()> {
        self.hand_over();
        drop(self.stretches);
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

fn follow(coming: &Receiver<Range<u64>>, log: &CommitLog, derived: &Derived) -> Result<()> {
    let Some(mut writer) = derived.index_writer() else { return Ok(()) };
    coming.iter().try_for_each(|stretch| index(stretch, log, &mut writer))?;
    writer.settle()
}

/// Index records that the scan has found to be whole; a stretch lies in one file.
fn index(stretch: Range<u64>, log: &CommitLog, writer: &mut IndexWriter<'_>) -> Result<()> {
    let Some(segment) = log.segment_of(stretch.start) else { return Ok(()) };
    let (mut at, end) =
        ((stretch.start - segment.start()) as usize, (stretch.end - segment.start()) as usize);
    while at < end {
        let Ok(Found::Record(record)) = look(segment.bytes(at..end)) else {
            return Err(Error::damaged(segment.path(), format!("changed at {at} while it was read")));
        };
        derived::index(writer, &record, &DispatchProperties::for_dispatch(record.properties()))?;
        at += record.size();
    }
    segment.map().check()
}
