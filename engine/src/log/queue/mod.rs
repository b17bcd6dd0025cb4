//! Consume queues: for every queue of a topic, where its messages lie in the log.
//!
//! - `unit`: the entry of 20 bytes
//! - `tape`: bytes in files of one size, with the newest in memory
//! - `cache`: the open files, shared by all queues; `ahead`: one of them, read ahead
//! - `scan`: finding files and the end of their data
//! - `trim`: opening, and cutting a queue at either end
//! - `ext`: the extension, for what does not fit in a unit
//! - `table`: all queues of a store; `recent`: the ones a thread used last

mod ahead;
mod cache;
pub mod ext;
mod recent;
mod scan;
pub mod table;
mod tape;
#[cfg(test)]
mod tests;
mod trim;
mod unit;

use std::borrow::Cow;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

pub use cache::{FileCache, OPEN_FILES_DEFAULT};
pub use recent::{PREFETCHED_MAX, RecentQueues};
pub use table::{QueueConfig, QueueTable, can_be_topic};
pub use unit::{UNIT_BYTES, Unit};

use crate::error::{Error, Result};
use crate::log::notes::Notes;
use crate::log::prefetch::{prefetch_line, prefetch_line_to_write};
use ext::{ConsumeQueueExt, ExtUnit, is_ext_address};
use scan::POSITION_MAX;
use tape::Tape;

/// 300,000 units.
pub const QUEUE_FILE_BYTES: u64 = 300_000 * UNIT_BYTES as u64;

/// What `max_physical_offset` says when there is no unit.
const NO_UNIT: i64 = -1;

/// How many units are read at once, on the stack.
const BLOCK_UNITS: usize = 64;
const BLOCK_BYTES: usize = BLOCK_UNITS * UNIT_BYTES;

/// What became of a unit given to `append`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    Written,
    /// The queue has the message already; nothing was written.
    Repeated,
    /// The offset holds another unit although the message is newer than all; nothing was written.
    Conflict,
    /// Units before this one are missing; nothing was written. The queue goes on at `expected`.
    Gap {
        expected: i64,
    },
}

/// Who looks a queue up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// The log's writer, for `next`, `set_next` and `count_put`.
    Writer,
    /// For `append`.
    Dispatcher,
}

/// One queue of one topic.
///
/// One thread at a time appends, one writes out and syncs, any number read.
#[derive(Debug)]
pub struct ConsumeQueue {
    name: Name,
    tape: Tape,
    min: AtomicI64,
    max: AtomicI64,
    max_physical: AtomicI64,
    writer: WriterSide,
    /// Whether units were dropped when the queue was opened.
    lost_units: AtomicBool,
    /// The extension, when the store keeps one.
    ext: Option<Box<ConsumeQueueExt>>,
    notes: Arc<Notes>,
}

/// What never changes. On a cache line of its own: the log's writer and readers look at it for each message, while
/// the dispatcher changes the rest for each message.
#[derive(Debug)]
#[repr(align(64))]
struct Name {
    topic: Arc<str>,
    queue_id: i32,
    /// Where the message of the first unit began in the log when the queue was opened; -1 when it had none.
    opened_from: i64,
}

/// What the log's writer changes with every message. On a cache line of its own, or it and the dispatcher,
/// which changes the rest, would take the line from each other all the time.
#[derive(Debug, Default)]
#[repr(align(64))]
struct WriterSide {
    next: AtomicI64,
    puts: AtomicU64,
    put_bytes: AtomicU64,
}

impl ConsumeQueue {
    /// A new queue, in files of a multiple of 20 bytes. Its directory is made when the first units are
    /// written out.
    pub fn create(
        dir: PathBuf,
        topic: Arc<str>,
        queue_id: i32,
        file_bytes: u64,
        files: Arc<FileCache>,
        notes: Arc<Notes>,
    ) -> Self {
        Self::with_tape(Tape::create(dir, file_bytes, files), topic, queue_id, notes)
    }

    fn with_tape(tape: Tape, topic: Arc<str>, queue_id: i32, notes: Arc<Notes>) -> Self {
        Self {
            name: Name { topic, queue_id, opened_from: NO_UNIT },
            tape,
            min: AtomicI64::new(0),
            max: AtomicI64::new(0),
            max_physical: AtomicI64::new(NO_UNIT),
            writer: WriterSide::default(),
            lost_units: AtomicBool::new(false),
            ext: None,
            notes,
        }
    }

    fn with_ext(mut self, ext: Option<Box<ConsumeQueueExt>>) -> Self {
        self.ext = ext;
        self
    }

    pub fn topic(&self) -> &Arc<str> {
        &self.name.topic
    }

    pub fn queue_id(&self) -> i32 {
        self.name.queue_id
    }

    /// Have the processor fetch what someone will use of the queue.
    fn prefetch(&self, user: User) {
        prefetch_line(&raw const self.name);
        match user {
            User::Writer => prefetch_line_to_write(&raw const self.writer),
            User::Dispatcher => {
                prefetch_line_to_write(&raw const self.max);
                self.tape.prefetch();
            }
        }
    }

    /// The same for what is found through that, once it is there.
    fn prefetch_further(&self, user: User) {
        prefetch_line(self.name.topic.as_ptr());
        if user == User::Dispatcher {
            self.tape.prefetch_place();
        }
    }

    /// The first offset whose message is in the log.
    pub fn min_offset(&self) -> i64 {
        self.min.load(Ordering::Acquire)
    }

    /// One past the last unit's offset.
    pub fn max_offset(&self) -> i64 {
        self.max.load(Ordering::Acquire)
    }

    /// One past the last byte in the log of the last unit's message; -1 when there is no unit.
    pub fn max_physical_offset(&self) -> i64 {
        self.max_physical.load(Ordering::Acquire)
    }

    /// Whether units at the end were not valid when the queue was opened: the log may have their messages.
    pub fn has_lost_units(&self) -> bool {
        self.lost_units.load(Ordering::Acquire)
    }

    /// Whether the queue, as it was opened, had a message from before a log offset: then it was not made anew since.
    pub fn was_there_before(&self, physical_offset: i64) -> bool {
        self.name.opened_from != NO_UNIT && self.name.opened_from < physical_offset
    }

    /// The offset of the first unit in the file after the one that holds, or would hold, an offset.
    pub fn next_file_offset(&self, queue_offset: i64) -> i64 {
        let units = (self.tape.file_bytes() / UNIT_BYTES as u64) as i64;
        queue_offset + units - queue_offset % units
    }

    /// Takes the next `count` offsets for messages going into the log, and returns the first of them.
    pub fn assign(&self, count: i64) -> i64 {
        self.writer.next.fetch_add(count, Ordering::AcqRel)
    }

    /// The offset `assign` will give next. It runs ahead of `max_offset` by what is not dispatched yet.
    pub fn next(&self) -> i64 {
        self.writer.next.load(Ordering::Acquire)
    }

    pub fn set_next(&self, offset: i64) {
        self.writer.next.store(offset, Ordering::Release);
    }

    /// Adds the unit of a dispatched message. After an error nothing was added, and it can be tried again.
    pub fn append(&self, queue_offset: i64, unit: Unit) -> Result<Appended> {
        let position = position_of(queue_offset)?;
        let expected = self.max_offset();
        if self.max_physical_offset() == NO_UNIT {
            if self.tape.end() != position {
                self.begin_at(queue_offset, position)?;
            }
        } else if queue_offset > expected {
            return Ok(Appended::Gap { expected });
        } else if queue_offset < expected {
            let is_known = unit.physical_end() <= self.max_physical_offset();
            return Ok(if is_known { Appended::Repeated } else { Appended::Conflict });
        }
        self.tape.append(&unit.encode())?;
        self.max_physical.store(unit.physical_end(), Ordering::Release);
        self.max.store(queue_offset + 1, Ordering::Release);
        Ok(Appended::Written)
    }

    /// Lets a queue without units begin at any offset, with blank units up to it in its first file.
    fn begin_at(&self, queue_offset: i64, position: u64) -> Result<()> {
        let file_start = self.tape.file_start(position);
        self.tape.restart(file_start)?;
        let blanks = Unit::BLANK.encode().repeat(BLOCK_UNITS);
        let mut missing = (position - file_start) as usize;
        while missing > 0 {
            let count = missing.min(blanks.len());
            self.tape.append(&blanks[..count])?;
            missing -= count;
        }
        self.min.store(queue_offset, Ordering::Release);
        self.max.store(queue_offset, Ordering::Release);
        Ok(())
    }

    /// Adds up to `count` units from `from` on to `out`; none when `from` is outside of `[min, max)`.
    ///
    /// Units are given as they are stored: after damage some may not be valid.
    pub fn read(&self, from: i64, count: usize, out: &mut Vec<Unit>) -> Result<()> {
        let end = self.max_offset().min(from.saturating_add(i64::try_from(count).unwrap_or(i64::MAX)));
        if from < self.min_offset() {
            return Ok(());
        }
        let mut block = [0; BLOCK_BYTES];
        let mut at = from;
        while at < end {
            let units = self.block(at, end, &mut block)?;
            if units.is_empty() {
                break;
            }
            out.extend(units.iter().map(Unit::decode));
            at += units.len() as i64;
        }
        Ok(())
    }

    /// The unit at an offset, if it is in `[min, max)`.
    pub fn unit_at(&self, queue_offset: i64) -> Result<Option<Unit>> {
        if queue_offset < self.min_offset() || queue_offset >= self.max_offset() {
            return Ok(None);
        }
        self.stored_unit(queue_offset)
    }

    /// The unit at an offset, be it expired or blank.
    pub fn stored_unit(&self, queue_offset: i64) -> Result<Option<Unit>> {
        let mut block = [0; UNIT_BYTES];
        Ok(self.block(queue_offset, queue_offset + 1, &mut block)?.first().map(Unit::decode))
    }

    /// The encoded units of `[from, to)`, or as many of them as fit into `block`.
    fn block<'a>(&self, from: i64, to: i64, block: &'a mut [u8]) -> Result<&'a [[u8; UNIT_BYTES]]> {
        let room = block.len() / UNIT_BYTES;
        let count = usize::try_from(to - from).unwrap_or(0).min(room);
        let found = self.tape.read_at(position_of(from)?, &mut block[..count * UNIT_BYTES])?;
        Ok(block[..found].as_chunks().0)
    }

    /// The first offset of `[from, to)`, within `[min, max)`, for whose unit `is_before` is false, or the
    /// end of that range. The units for which it is true come first. A place whose message is unknown, to us or to
    /// `is_before`, goes with the one before it: a guess could lead the search past all that is left of it.
    pub fn search(
        &self,
        from: i64,
        to: i64,
        mut is_before: impl FnMut(&Unit) -> Result<Option<bool>>,
    ) -> Result<i64> {
        let (min, max) = (self.min_offset(), self.max_offset());
        let from = from.clamp(min, max.max(min));
        let is_hole = |unit: &Unit| unit.is_blank() || !unit.is_valid();
        // The unknown places that were gone back over, and the verdict at their beginning: there may be very many.
        let mut passed = 0..0;
        let mut verdict_there = true;
        self.partition(from, to.min(max), |asked, unit| {
            let (mut at, mut unit) = (asked, *unit);
            let verdict = loop {
                if passed.contains(&at) {
                    passed.end = passed.end.max(asked + 1);
                    return Ok(verdict_there);
                }
                if !is_hole(&unit)
                    && let Some(verdict) = is_before(&unit)?
                {
                    break verdict;
                }
                let known_end = self.pop_while(from, at, is_hole)?;
                at = known_end - 1;
                match if known_end > from { self.stored_unit(at)? } else { None } {
                    Some(before) => unit = before,
                    None => break true,
                }
            };
            if at < asked {
                (passed, verdict_there) = (at..asked + 1, verdict);
            }
            Ok(verdict)
        })
    }

    fn partition(
        &self,
        from: i64,
        to: i64,
        mut is_before: impl FnMut(i64, &Unit) -> Result<bool>,
    ) -> Result<i64> {
        let (mut low, mut high) = (from, to.max(from));
        while low < high {
            let middle = low + (high - low) / 2;
            // A unit deleted while we search was the oldest, so it counts as before.
            let goes_right = match self.stored_unit(middle)? {
                Some(unit) => is_before(middle, &unit)?,
                None => true,
            };
            if goes_right { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// Puts a unit in the place of a damaged one.
    pub fn replace(&self, queue_offset: i64, unit: Unit) -> Result<()> {
        let stored = self.first_stored()..self.max_offset();
        if !stored.contains(&queue_offset) {
            let what = format!("has no unit {queue_offset} to replace, only {stored:?}");
            return Err(Error::damaged(self.tape.dir(), what));
        }
        self.tape.overwrite(position_of(queue_offset)?, &unit.encode())?;
        if queue_offset + 1 == stored.end {
            self.max_physical.store(unit.physical_end(), Ordering::Release);
        }
        Ok(())
    }

    /// Fills the places before `queue_offset` that no message will ever take.
    pub fn fill_blank(&self, queue_offset: i64) -> Result<()> {
        while self.max_offset() < queue_offset {
            self.tape.append(&Unit::BLANK.encode())?;
            self.max.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    pub fn has_ext(&self) -> bool {
        self.ext.is_some()
    }

    /// Puts what a new unit does not hold into the extension; returns the address that stands for it.
    pub fn extend(&self, queue_offset: i64, tags_code: i64, store_time: i64) -> Result<Option<i64>> {
        match &self.ext {
            Some(ext) if queue_offset >= self.max_offset() => {
                ext.put(&ExtUnit { tags_code, store_time, bitmap: Cow::Borrowed(&[]) })
            }
            _ => Ok(None),
        }
    }

    /// The tags code that a unit means, be it in the unit or in the extension.
    pub fn tags_code(&self, unit: Unit) -> Result<i64> {
        match &self.ext {
            Some(ext) if is_ext_address(unit.tags_code) => {
                Ok(ext.get(unit.tags_code)?.map_or(unit.tags_code, |found| found.tags_code))
            }
            _ => Ok(unit.tags_code),
        }
    }

    /// Counts messages put into the log for this queue. Only the holder of the append lock may call this.
    pub fn count_put(&self, messages: u64, bytes: u64) {
        let WriterSide { puts, put_bytes, .. } = &self.writer;
        puts.store(puts.load(Ordering::Relaxed) + messages, Ordering::Relaxed);
        put_bytes.store(put_bytes.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }

    /// Messages and bytes put since the store was opened.
    pub fn put_counts(&self) -> (u64, u64) {
        (self.writer.puts.load(Ordering::Relaxed), self.writer.put_bytes.load(Ordering::Relaxed))
    }

    /// Bytes written out since the last sync.
    pub fn unsynced_bytes(&self) -> u64 {
        self.tape.unsynced_bytes() + self.ext.as_ref().map_or(0, |ext| ext.unsynced_bytes())
    }

    /// The directories of its files.
    pub fn dirs(&self) -> impl Iterator<Item = &Path> {
        iter::once(self.tape.dir()).chain(self.ext.as_ref().map(|ext| ext.dir()))
    }

    /// Takes everything written out as synced: the caller syncs the whole file systems of `dirs` next.
    pub fn assume_synced(&self) {
        self.tape.assume_synced();
        if let Some(ext) = &self.ext {
            ext.assume_synced();
        }
    }

    /// Writes the units in memory into their files and says whether there were any. After an error, such
    /// as a full disk, they are still in memory and can be written later.
    pub fn write_out(&self) -> Result<bool> {
        if let Some(ext) = &self.ext {
            ext.write_out()?;
        }
        self.tape.write_out()
    }

    /// What is in memory only.
    pub fn unwritten_bytes(&self) -> u64 {
        self.tape.unwritten_bytes() + self.ext.as_ref().map_or(0, |ext| ext.unwritten_bytes())
    }

    /// Writes out and waits until all units are on the disk.
    pub fn sync(&self) -> Result<()> {
        self.write_out()?;
        self.sync_written()
    }

    /// Waits until all units that were written out are on the disk. After an error it is not known which of
    /// them are, and a second call that succeeds tells nothing: the system reports each failure once.
    pub fn sync_written(&self) -> Result<()> {
        if let Some(ext) = &self.ext {
            ext.sync_written()?;
        }
        self.tape.sync_written()
    }
}

/// Where a unit begins in its queue's bytes.
fn position_of(queue_offset: i64) -> Result<u64> {
    let bytes = queue_offset.checked_mul(UNIT_BYTES as i64).and_then(|bytes| u64::try_from(bytes).ok());
    bytes
        .filter(|bytes| *bytes <= POSITION_MAX)
        .ok_or_else(|| Error::Config(format!("{queue_offset} cannot be an offset of a queue")))
}
