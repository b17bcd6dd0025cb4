//! Recovery: find the end of the log and bring queues and index in line with it.
//!
//! The log is the truth. Its tail is checked record by record; what is derived from that tail is built
//! again, and a queue that lacks something the log has is built again from where it stopped.

mod behind;
mod cut;
mod queueing;
mod scan;
mod signs;

use std::time::Instant;

pub use self::signs::find_intact;
use self::signs::first_timestamp;
pub(super) use self::signs::is_unused;
use super::checkpoint::{Checkpoint, Values};
use super::commit_log::CommitLog;
use super::derived::Derived;
use super::mend::belongs;
use super::notes::{Level, Notes};
use super::orderly::{self, AsLeft, CLEAN_FILES, LogEnd};
use super::queue::{ConsumeQueue, Unit};
use super::rebuild::{Lacking, QueueKey, Rebuild};
use crate::error::Result;
use crate::message::{Found, look};

pub struct Recovery<'a> {
    pub log: &'a CommitLog,
    pub derived: &'a Derived,
    pub checkpoint: &'a Checkpoint,
    pub notes: &'a Notes,
    /// Whether the last run stopped in order.
    pub clean: bool,
    /// How that stop left everything, if it wrote that down.
    pub orderly_stop: Option<String>,
    /// The index lost a file that began here.
    pub index_from: Option<u64>,
    /// The last record that the index has; -1 when it has none.
    pub index_last: i64,
}

impl Recovery<'_> {
    /// Recover the log and everything derived from it; afterwards appends may begin.
    pub fn run(&self) -> Result<()> {
        let began = Instant::now();
        if self.log.segments().is_empty() {
            return self.start_empty();
        }
        if self.derived.queues.all().is_empty() {
            self.notes.say(Level::Warning, "there are no consume queues; they are built from the log");
        }
        // Before ends are proven, which drops units that the note still knew.
        let as_left = self.as_left()?;
        let mut lacking = Lacking::default();
        let ends_are_proven = self.prove_ends(&mut lacking)?;
        let queues_are_known = as_left.is_some();
        let mut index_from = self.index_from;
        if let Some(left) = as_left {
            lacking.add(left.lacking);
            if self.derived.index.is_some() && self.index_last < left.index_last {
                index_from = index_from.or(Some(self.index_last.max(0).cast_unsigned()));
            }
            if ends_are_proven && index_from.is_none() && !self.log.config.verify_property_crc {
                return self.resume_as_left(left.end, lacking);
            }
        }
        let mut start = self.first_offset_to_check(index_from);
        let promised = self.promised_timestamp();
        self.set_checkpoint_back(start)?;
        let mut tail = self.scan(start, queues_are_known, &mut lacking)?;
        if tail.damage.is_none() && promised > tail.timestamp() && start > self.log.min_offset() {
            self.notes.say(
                Level::Warning,
                "the checkpoint speaks of messages that the log does not have; the whole log is checked",
            );
            start = self.log.min_offset();
            self.set_checkpoint_back(start)?;
            tail = self.scan(start, queues_are_known, &mut lacking)?;
        }
        self.cut(&tail)?;
        if !self.clean {
            // A killed process left it in memory at the least; only what the checkpoint vouches for is on disk.
            self.log.doubt_from(start);
        }
        self.rebuild(lacking, tail.end)?;
        self.settle_queues()?;
        self.notes.say(
            Level::Info,
            format!(
                "recovered after {} stop: checked {} records from offset {start} to {} in {} ms",
                if self.clean { "an orderly" } else { "an unclean" },
                tail.records,
                tail.end,
                began.elapsed().as_millis()
            ),
        );
        Ok(())
    }

    fn as_left(&self) -> Result<Option<AsLeft>> {
        match &self.orderly_stop {
            Some(note) if self.clean => orderly::compare(note, self.log, &self.derived.queues),
            _ => Ok(None),
        }
    }

    /// Go on where an orderly stop ended, without a walk over the log but for queues that lack something.
    fn resume_as_left(&self, end: LogEnd, lacking: Lacking) -> Result<()> {
        self.log.resume(end.offset, end.timestamp)?;
        self.rebuild(lacking, end.offset)?;
        self.settle_queues()?;
        self.notes.say(
            Level::Info,
            format!("the log is as an orderly stop left it and ends at offset {}", end.offset),
        );
        Ok(())
    }

    fn rebuild(&self, lacking: Lacking, end: u64) -> Result<()> {
        if let Some(from) = lacking.first() {
            self.set_checkpoint_back(from)?;
        }
        Rebuild::new(self.log, self.derived, self.notes, lacking).run(end)
    }

    /// Let the checkpoint promise nothing of what is checked now: queues are built again in memory, and a
    /// crash before they are written out must find it true, also for the official store.
    fn set_checkpoint_back(&self, start: u64) -> Result<()> {
        let first = self.log.segment_of(start).and_then(|segment| first_timestamp(&segment));
        let values = self.checkpoint.values();
        self.checkpoint.reset(Values {
            queue_timestamp: values.queue_timestamp.min(first.unwrap_or(0) - 1).max(0),
            dispatch_offset: values.dispatch_offset.min(start.cast_signed()),
            ..values
        });
        self.checkpoint.save()
    }

    /// Let each queue end with a unit that leads to its message: the numbering goes on from there, and what
    /// the scan need not look at is judged by it. Says whether all did.
    fn prove_ends(&self, lacking: &mut Lacking) -> Result<bool> {
        let mut are_proven = true;
        for queue in self.derived.queues.all() {
            let mut end = queue.max_offset();
            while end > queue.first_stored()
                && let Some(unit) = queue.stored_unit(end - 1)?
                && !self.is_proven(&queue, end - 1, unit)
            {
                end -= 1;
            }
            if end < queue.max_offset() {
                self.notes.say(
                    Level::Warning,
                    format!(
                        "queue {}-{}: units {end} to {} do not lead to its messages and are dropped",
                        queue.topic(),
                        queue.queue_id(),
                        queue.max_offset() - 1
                    ),
                );
                queue.end_before(end)?;
            } else if !queue.has_lost_units() {
                continue;
            }
            are_proven = false;
            let from = queue.max_physical_offset().max(0).cast_unsigned();
            lacking.note(QueueKey::new(queue.topic().as_bytes(), queue.queue_id()), from);
        }
        Ok(are_proven)
    }

    /// Whether a unit leads to its message, or to where the log no longer reaches.
    fn is_proven(&self, queue: &ConsumeQueue, offset: i64, unit: Unit) -> bool {
        if unit.is_blank() {
            return true;
        }
        let at = unit.physical_offset.cast_unsigned();
        if !unit.is_valid() {
            return false;
        }
        if at < self.log.min_offset() {
            return true;
        }
        let Some(segment) = self.log.segment_of(at) else { return false };
        let position = (at - segment.start()) as usize;
        if is_unused(&segment, position as u64) {
            return false;
        }
        match look(segment.bytes(position..segment.size() as usize)) {
            Ok(Found::Record(record)) => {
                record.physical_offset() == unit.physical_offset
                    && record.size() == unit.size as usize
                    && belongs(&record, queue, offset)
            }
            _ => false,
        }
    }

    /// The store time of a message that the log must have, unless the checkpoint is not to be believed.
    fn promised_timestamp(&self) -> i64 {
        let values = self.checkpoint.values();
        if self.clean { 0 } else { values.log_timestamp.min(values.queue_timestamp) }
    }

    fn start_empty(&self) -> Result<()> {
        let queues = self.derived.queues.all();
        if queues.iter().any(|queue| queue.max_offset() > 0) {
            self.notes.say(
                Level::Warning,
                format!("{} has no log file, so the consume queues are emptied", self.log.dir().display()),
            );
        }
        for queue in queues {
            queue.destroy()?;
        }
        if let Some(index) = &self.derived.index {
            index.truncate(0)?;
        }
        self.log.resume(0, 0)
    }

    /// The largest offset that any queue has reached.
    fn queue_end(&self) -> u64 {
        let ends = self.derived.queues.all().into_iter().map(|queue| queue.max_physical_offset());
        ends.max().unwrap_or(0).max(0).cast_unsigned()
    }

    /// The start of the file from which the log must be checked.
    fn first_offset_to_check(&self, index_from: Option<u64>) -> u64 {
        let segments = self.log.segments();
        let trusted = if self.clean {
            segments[segments.len().saturating_sub(CLEAN_FILES)].start()
        } else {
            let safe = if self.log.config.index_safe {
                self.checkpoint.min_timestamp_with_index()
            } else {
                self.checkpoint.min_timestamp()
            };
            let times: Vec<_> = segments.iter().map(first_timestamp).collect();
            // A time before that of the file before is a damaged one.
            let is_safe = |&index: &usize| {
                times[index].is_some_and(|time| {
                    time <= safe && (index == 0 || times[index - 1].is_some_and(|before| before <= time))
                })
            };
            segments[(0..segments.len()).rev().find(is_safe).unwrap_or(0)].start()
        };
        // Never past what the queues have, nor past what the index must see again.
        let from = trusted.min(self.queue_end()).min(index_from.unwrap_or(u64::MAX));
        self.log
            .segment_of(from.max(segments[0].start()))
            .map_or(segments[0].start(), |segment| segment.start())
    }

    /// Restart each queue's numbering where it ends, and forget what expired from the log.
    fn settle_queues(&self) -> Result<()> {
        let log_min = self.log.min_offset().cast_signed();
        for queue in self.derived.queues.all() {
            queue.correct_min(log_min)?;
            queue.set_next(queue.max_offset());
        }
        Ok(())
    }
}
