//! Appending to the commit log: one lock, one copy.

use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use memmap2::MmapRaw;
use parking_lot::MutexGuard;

use super::clock::{coarse_now_ms, now_ms};
use super::commit_log::CommitLog;
use super::notes::Level;
use super::queue::{ConsumeQueue, QueueTable, RecentQueues, User};
use super::segment::Segment;
use crate::error::Error;
use crate::message::layout::END_FILE_MIN_BLANK;
use crate::message::{Prepared, Stamp, blank_head};

/// An append under the lock is a copy of some bytes; this much is a disk or a system in trouble.
const SLOW_LOCK_MS: i64 = 500;
/// The memory of what comes next is asked for this far ahead: otherwise the end of each append, an atomic operation,
/// waits until its bytes have found their way into the cache.
const PREFETCH_BYTES: usize = 1024;

/// The state behind the append lock.
#[derive(Debug, Default)]
pub struct Writer {
    segment: Option<Arc<Segment>>,
    buffer: Option<Arc<MmapRaw>>,
    pub(super) last_timestamp: i64,
    /// Found here, a queue costs a writer nothing that threads share. Taken out while it is in use: to put an empty
    /// one in its place would cost as much as to look a queue up.
    recent: Option<RecentQueues>,
}

impl Writer {
    pub(super) fn resume(
        &mut self,
        segment: Arc<Segment>,
        last_timestamp: i64,
        buffer: Option<Arc<MmapRaw>>,
    ) {
        *self = Self { segment: Some(segment), buffer, last_timestamp, ..Self::default() };
    }
}

/// Where a record, or the first record of a batch, was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    pub physical_offset: u64,
    pub size: u64,
    pub queue_offset: i64,
    pub store_timestamp: i64,
}

/// Why nothing was appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendFailure {
    /// A record never crosses a file, so it must fit into an empty one.
    #[error("a record of {len} bytes does not fit a log file of {file_bytes} bytes")]
    LargerThanFile { len: usize, file_bytes: u64 },
    #[error("no file to append to: {0}")]
    NoFile(Error),
    #[error("{0}")]
    NoQueue(Error),
    /// The file lost its pages under the writer.
    #[error("{0}")]
    Broken(Error),
}

/// The append lock, held. Several appends may share one holding.
pub struct Appender<'a> {
    log: &'a CommitLog,
    writer: MutexGuard<'a, Writer>,
    now: i64,
}

impl CommitLog {
    /// How long the append lock has been held; 0 while it is free.
    pub fn lock_held_ms(&self) -> i64 {
        match self.locked_since.load(Ordering::Relaxed) {
            0 => 0,
            since => coarse_now_ms() - since,
        }
    }

    /// Take the append lock. The store timestamp is read inside it, so it is ordered over all queues.
    pub fn lock(&self) -> Appender<'_> {
        let mut writer = self.writer.lock();
        let now = now_ms();
        self.locked_since.store(now, Ordering::Relaxed);
        // The wall clock may be set back; store timestamps are searched by bisection and may not.
        writer.last_timestamp = writer.last_timestamp.max(now);
        Appender { log: self, now: writer.last_timestamp, writer }
    }
}

impl Drop for Appender<'_> {
    fn drop(&mut self) {
        let held_ms = self.log.lock_held_ms();
        self.log.locked_since.store(0, Ordering::Relaxed);
        if held_ms > SLOW_LOCK_MS {
            self.log.notes().say(
                Level::Warning,
                format!("[NOTIFYME] an append held the lock of the log for {held_ms} ms"),
            );
        }
        if self.log.wants_preparation(self.log.written.load(Ordering::Relaxed)) {
            self.log.prepare.raise();
        }
    }
}

impl Appender<'_> {
    /// The store timestamp of what is appended under this lock.
    pub fn timestamp(&self) -> i64 {
        self.now
    }

    /// Append one record.
    pub fn append(&mut self, message: &Prepared<'_>, queue: &ConsumeQueue) -> Result<Placed, AppendFailure> {
        self.append_batch(slice::from_ref(message), queue)
    }

    /// Say to which queues will be appended.
    pub fn announce<'q>(&self, queues: impl IntoIterator<Item = (&'q [u8], i32)>) {
        if let Some(recent) = self.writer.recent.as_ref().filter(|recent| recent.has_many()) {
            recent.prefetch(User::Writer, queues);
        }
    }

    /// Append records as one unit to a queue, which is made if there is none.
    pub fn append_to(
        &mut self,
        queues: &QueueTable,
        (topic, queue_id): (&[u8], i32),
        messages: &[Prepared<'_>],
    ) -> Result<Placed, AppendFailure> {
        let mut recent = self.writer.recent.take().unwrap_or_default();
        let placed = match recent.get(queues, topic, queue_id) {
            Ok(queue) => self.append_batch(messages, queue),
            Err(error) => Err(AppendFailure::NoQueue(error)),
        };
        self.writer.recent = Some(recent);
        placed
    }

    /// Append records as one unit: they stand side by side in one file, and appear together or not at all.
    pub fn append_batch(
        &mut self,
        messages: &[Prepared<'_>],
        queue: &ConsumeQueue,
    ) -> Result<Placed, AppendFailure> {
        let total: usize = messages.iter().map(Prepared::encoded_len).sum();
        let (physical_offset, space) = self.space_for(total)?;
        let queue_offset = queue.next();
        let mut stamp =
            Stamp { queue_offset, physical_offset: physical_offset.cast_signed(), store_timestamp: self.now };
        // SAFETY: past the written offset, under the append lock, and inside the file or its buffer.
        let out = unsafe { slice::from_raw_parts_mut(space, total) };
        let mut at = 0;
        let mut counted = 0;
        for message in messages {
            let len = message.encoded_len();
            let has_place = message.takes_queue_offset();
            stamp.queue_offset = if has_place { queue_offset + counted } else { 0 };
            message.encode_hidden(&mut out[at..at + len], stamp);
            counted += i64::from(has_place);
            at += len;
            stamp.physical_offset += len as i64;
        }
        self.reveal(messages, out)?;
        queue.set_next(queue_offset + counted);
        queue.count_put(messages.len() as u64, total as u64);
        self.publish(physical_offset + total as u64);
        self.prefetch(physical_offset, total);
        Ok(Placed {
            physical_offset,
            size: total as u64,
            queue_offset: if counted > 0 { queue_offset } else { 0 },
            store_timestamp: self.now,
        })
    }

    /// Append records of several queues as one unit, in the same way; `queues` says where each belongs.
    pub fn append_across(
        &mut self,
        messages: &[Prepared<'_>],
        queues: &[Arc<ConsumeQueue>],
    ) -> Result<Vec<Placed>, AppendFailure> {
        let total: usize = messages.iter().map(Prepared::encoded_len).sum();
        let (start, space) = self.space_for(total)?;
        // SAFETY: as in `append_batch`.
        let out = unsafe { slice::from_raw_parts_mut(space, total) };
        let mut all = Vec::with_capacity(messages.len());
        let mut at = 0;
        for (message, queue) in messages.iter().zip(queues) {
            let len = message.encoded_len();
            let placed = Placed {
                physical_offset: start + at as u64,
                size: len as u64,
                queue_offset: if message.takes_queue_offset() { queue.assign(1) } else { 0 },
                store_timestamp: self.now,
            };
            message.encode_hidden(
                &mut out[at..at + len],
                Stamp {
                    queue_offset: placed.queue_offset,
                    physical_offset: placed.physical_offset.cast_signed(),
                    store_timestamp: placed.store_timestamp,
                },
            );
            all.push(placed);
            at += len;
        }
        if let Err(failure) = self.reveal(messages, out) {
            for ((message, queue), placed) in messages.iter().zip(queues).zip(&all).rev() {
                if message.takes_queue_offset() {
                    queue.set_next(placed.queue_offset);
                }
            }
            return Err(failure);
        }
        for (queue, placed) in queues.iter().zip(&all) {
            queue.count_put(1, placed.size);
        }
        self.publish(start + total as u64);
        Ok(all)
    }

    /// Let records that were written hidden, one after another, be seen: the first one last, since nothing
    /// behind it is found before it.
    fn reveal(&self, messages: &[Prepared<'_>], out: &mut [u8]) -> Result<(), AppendFailure> {
        let mut at = out.len();
        for message in messages.iter().rev() {
            at -= message.encoded_len();
            message.reveal(&mut out[at..at + message.encoded_len()]);
        }
        match &self.writer.segment {
            Some(segment) => segment.map().check().map_err(AppendFailure::Broken),
            None => Ok(()),
        }
    }

    /// Ask for the memory that comes next after an append.
    #[inline]
    fn prefetch(&self, offset: u64, len: usize) {
        if let (Some(segment), None) = (&self.writer.segment, &self.writer.buffer) {
            let end = (offset - segment.start()) as usize + len;
            segment.map().prefetch_to_write(end + PREFETCH_BYTES, len.min(PREFETCH_BYTES));
        }
    }

    fn publish(&self, end: u64) {
        self.log.written.store(end, Ordering::Release);
        self.log.last_timestamp.store(self.now, Ordering::Release);
    }

    /// Room for `len` bytes in one file, rolling to the next one if need be.
    fn space_for(&mut self, len: usize) -> Result<(u64, *mut u8), AppendFailure> {
        let needed = (len + END_FILE_MIN_BLANK) as u64;
        let file_bytes = self.log.file_bytes;
        if needed > file_bytes {
            return Err(AppendFailure::LargerThanFile { len, file_bytes });
        }
        let offset = self.log.written.load(Ordering::Relaxed);
        if let Some(segment) = &self.writer.segment {
            let position = offset - segment.start();
            if needed <= segment.size() - position {
                return Ok((offset, self.target(position, position + needed)?));
            }
            self.close_file(position)?;
        }
        let start = self.log.written.load(Ordering::Relaxed);
        // The buffer first: a file that joined the log without one could not be rolled to again.
        let buffer = self.log.lend_buffer().map_err(AppendFailure::NoFile)?;
        let segment = self.log.roll(start, buffer.clone()).map_err(AppendFailure::NoFile)?;
        self.writer.buffer = buffer;
        self.writer.segment = Some(segment);
        Ok((start, self.target(0, needed)?))
    }

    /// Where to write at `position` of the current file, whose space up to `upto` is made sure of.
    fn target(&self, position: u64, upto: u64) -> Result<*mut u8, AppendFailure> {
        let writer = &*self.writer;
        let Some(segment) = &writer.segment else { unreachable!("a file is chosen before its space") };
        // For what goes into a buffer first as well: it must not be acknowledged and then find no room.
        self.log.ensure_space(segment, upto).map_err(AppendFailure::NoFile)?;
        let base =
            writer.buffer.as_ref().map_or_else(|| segment.map().as_ptr(), |buffer| buffer.as_mut_ptr());
        // SAFETY: callers stay within the file's size, which is also the buffer's.
        Ok(unsafe { base.add(position as usize) })
    }

    /// Fill the rest of the current file with a blank record.
    fn close_file(&mut self, position: u64) -> Result<(), AppendFailure> {
        let Some(segment) = self.writer.segment.clone() else { return Ok(()) };
        let rest = (segment.size() - position) as usize;
        if let Some(head) = blank_head(rest) {
            // A commit writes the whole rest of the buffer.
            let needed = if self.writer.buffer.is_some() { rest } else { head.len() };
            let at = self.target(position, position + needed as u64)?;
            // SAFETY: as in `append_batch`; a reused buffer may hold an older file's bytes here.
            unsafe {
                if self.writer.buffer.is_some() {
                    at.write_bytes(0, rest);
                }
                slice::from_raw_parts_mut(at, head.len()).copy_from_slice(&head);
            }
            segment.map().check().map_err(AppendFailure::Broken)?;
        }
        self.log.written.store(segment.end(), Ordering::Release);
        self.writer.segment = None;
        self.writer.buffer = None;
        Ok(())
    }
}
