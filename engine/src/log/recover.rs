//! Recovery: find the end of the log and bring queues and index in line with it.
//!
//! The log is the truth. Its tail is checked record by record; what is derived from that tail is built
//! again, and a queue that lacks something the log has is built again from where it stopped.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use super::checkpoint::{Checkpoint, Values};
use super::clock::is_far_ahead;
use super::commit_log::CommitLog;
use super::derived::{Derived, Taken};
use super::mend::belongs;
use super::notes::{Level, Notes};
use super::queue::{ConsumeQueue, RecentQueues, Unit};
use super::rebuild::{Lacking, QueueKey, Rebuild, skip_unplaceable};
use super::reindex::Reindex;
use super::segment::{Segment, file_name};
use crate::error::{Error, Result};
use crate::message::layout::{BLANK_MAGIC, HEAD_BYTES, MAGIC_AT, PHYSICAL_OFFSET_AT, SIZE_AT, field};
use crate::message::{BadRecord, DispatchProperties, Found, PropertyCrc, Record, blank_head, look};

/// After an orderly stop only these many files are checked.
const CLEAN_FILES: usize = 3;
/// How far past the end to look for records that damage cut off.
const SEARCH_BYTES: u64 = 64 << 20;

pub struct Recovery<'a> {
    pub log: &'a CommitLog,
    pub derived: &'a Derived,
    pub checkpoint: &'a Checkpoint,
    pub notes: &'a Notes,
    /// Whether the last run stopped in order.
    pub clean: bool,
    /// The index lost a file that began here.
    pub index_from: Option<u64>,
    /// The last record that the index has; -1 when it has none.
    pub index_last: i64,
    pub recent: RefCell<RecentQueues>,
}

/// What stands at a position, judged as recovery must.
enum Judged<'a> {
    Record(Record<'a>),
    /// Well-formed, but the body is not what was stored.
    Corrupt(Record<'a>),
    Blank,
    /// The mark at a file's end, with a damaged size or magic.
    DamagedBlank,
    /// The log ends here; with damage if there is a reason.
    End(Option<BadRecord>),
}

/// Where the scan of the log ended.
struct Tail {
    end: u64,
    /// The latest store time, and the one before it.
    timestamps: [i64; 2],
    records: u64,
    damage: Option<String>,
}

impl Tail {
    fn count(&mut self, record: &Record<'_>) {
        let [latest, second] = self.timestamps;
        let time = record.store_timestamp();
        self.timestamps = [latest.max(time), second.max(latest.min(time))];
        self.end += record.size() as u64;
        self.records += 1;
    }

    /// The store time after which the log goes on.
    fn timestamp(&self) -> i64 {
        let [latest, second] = self.timestamps;
        if is_far_ahead(latest) && !is_far_ahead(second) { second } else { latest }
    }
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
        let mut lacking = Lacking::default();
        self.prove_ends(&mut lacking)?;
        let mut start = self.first_offset_to_check();
        let promised = self.promised_timestamp();
        self.set_checkpoint_back(start)?;
        let mut tail = self.scan(start, &mut lacking)?;
        if tail.damage.is_none() && promised > tail.timestamp() && start > self.log.min_offset() {
            self.notes.say(
                Level::Warning,
                "the checkpoint speaks of messages that the log does not have; the whole log is checked",
            );
            start = self.log.min_offset();
            self.set_checkpoint_back(start)?;
            tail = self.scan(start, &mut lacking)?;
        }
        self.cut(&tail)?;
        Rebuild::new(self.log, self.derived, self.notes, lacking).run(tail.end)?;
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
    /// the scan need not look at is judged by it.
    fn prove_ends(&self, lacking: &mut Lacking) -> Result<()> {
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
            let from = queue.max_physical_offset().max(0).cast_unsigned();
            lacking.note(QueueKey::new(queue.topic().as_bytes(), queue.queue_id()), from);
        }
        Ok(())
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
    fn first_offset_to_check(&self) -> u64 {
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
        let from = trusted.min(self.queue_end()).min(self.index_from.unwrap_or(u64::MAX));
        self.log
            .segment_of(from.max(segments[0].start()))
            .map_or(segments[0].start(), |segment| segment.start())
    }

    /// Check the records from `start` on, and derive queues and index from them.
    fn scan(&self, start: u64, lacking: &mut Lacking) -> Result<Tail> {
        let queues_from = if self.clean { self.queue_end().max(self.log.min_offset()) } else { start };
        if !self.clean {
            for queue in self.derived.queues.all() {
                queue.truncate_physical(start.cast_signed())?;
            }
            lacking.only_before(start);
        }
        thread::scope(|scope| {
            let mut reindex = Reindex::begin(scope, self.log, self.derived);
            let tail = self.scan_records(start, queues_from, lacking, &mut reindex)?;
            reindex.finish()?;
            Ok(tail)
        })
    }

    fn scan_records(
        &self,
        start: u64,
        queues_from: u64,
        lacking: &mut Lacking,
        reindex: &mut Reindex<'_>,
    ) -> Result<Tail> {
        let mut tail = Tail { end: start, timestamps: [0; 2], records: 0, damage: None };
        let mut holding: Option<Arc<Segment>> = None;
        loop {
            if holding.as_ref().is_none_or(|segment| segment.end() <= tail.end) {
                holding = self.log.segment_of(tail.end);
            }
            let Some(segment) = &holding else { break };
            let position = tail.end - segment.start();
            match self.judge(segment, position) {
                Judged::Record(record)
                    if ends_in_zeros(&record)
                        && !self.goes_on_after(segment, position + record.size() as u64) =>
                {
                    tail.damage = Some("the last message was not written to its end".into());
                    break;
                }
                Judged::Record(record) => {
                    self.derive(&record, queues_from, lacking, reindex)?;
                    tail.count(&record);
                }
                Judged::Corrupt(record) if self.goes_on_after(segment, position + record.size() as u64) => {
                    self.notes.say(
                        Level::Error,
                        format!(
                            "{}: the message at offset {} (topic {}, queue {}, offset {}) fails its checksum; \
                             it stays in place, but reading it will be refused",
                            segment.path().display(),
                            tail.end,
                            String::from_utf8_lossy(record.topic()),
                            record.queue_id(),
                            record.queue_offset()
                        ),
                    );
                    self.derive(&record, queues_from, lacking, reindex)?;
                    tail.count(&record);
                }
                Judged::Corrupt(_) => {
                    tail.damage = Some("the last message fails its checksum".into());
                    break;
                }
                Judged::Blank => tail.end = segment.end(),
                Judged::DamagedBlank => {
                    self.mend_blank(segment, position)?;
                    tail.end = segment.end();
                }
                Judged::End(damage) => {
                    tail.damage = damage.map(|bad| bad.to_string());
                    break;
                }
            }
            segment.map().check()?;
        }
        Ok(tail)
    }

    fn judge<'a>(&self, segment: &'a Segment, position: u64) -> Judged<'a> {
        let config = &self.log.config;
        if is_unused(segment, position) {
            return Judged::End(None);
        }
        match look(segment.bytes(position as usize..segment.size() as usize)) {
            Ok(Found::Record(record))
                if record.physical_offset() != (segment.start() + position).cast_signed() =>
            {
                Judged::End(Some(BadRecord::Misplaced(record.physical_offset())))
            }
            Ok(Found::Record(record)) => {
                let intact = if config.verify_property_crc {
                    record.property_crc_state() == PropertyCrc::Intact
                } else {
                    !config.check_crc_on_recover || record.body_is_intact()
                };
                if intact { Judged::Record(record) } else { Judged::Corrupt(record) }
            }
            Ok(Found::Blank { size }) if size as u64 == segment.size() - position => Judged::Blank,
            Ok(Found::Nothing) => Judged::End(None),
            _ if is_damaged_blank(segment, position) => Judged::DamagedBlank,
            Ok(Found::Blank { size }) => Judged::End(Some(BadRecord::ShortBlank(size))),
            Err(bad) => Judged::End(Some(bad)),
        }
    }

    fn mend_blank(&self, segment: &Segment, position: u64) -> Result<()> {
        if let Some(head) = blank_head((segment.size() - position) as usize) {
            segment.overwrite(position, &head)?;
        }
        self.notes.say(
            Level::Warning,
            format!(
                "{}: the mark at position {position}, that the rest of the file is unused, was damaged and is \
                 mended",
                segment.path().display()
            ),
        );
        Ok(())
    }

    fn goes_on_after(&self, segment: &Segment, position: u64) -> bool {
        position < segment.size()
            && matches!(self.judge(segment, position), Judged::Record(_) | Judged::Blank)
    }

    fn derive(
        &self,
        record: &Record<'_>,
        queues_from: u64,
        lacking: &mut Lacking,
        reindex: &mut Reindex<'_>,
    ) -> Result<()> {
        let offset = record.physical_offset().cast_unsigned();
        // The index itself takes its last record again: after a crash some of its keys may be missing.
        let is_indexed = self.clean && record.physical_offset() <= self.index_last;
        if self.derived.index.is_some() && !is_indexed {
            reindex.add(offset..offset + record.size() as u64);
        }
        if offset < queues_from {
            if record.transaction_type().is_consumable() {
                self.check_queued(record, lacking);
            }
            return Ok(());
        }
        let properties = DispatchProperties::for_dispatch(record.properties());
        let taken = self
            .enqueue(record, &properties, queues_from, lacking)
            .and_then(|()| self.derived.enqueue_light(&mut self.recent.borrow_mut(), record, &properties));
        skip_unplaceable(taken, record, self.notes)
    }

    /// See whether a record that should be in its queue is.
    fn check_queued(&self, record: &Record<'_>, lacking: &mut Lacking) {
        let mut recent = self.recent.borrow_mut();
        let queue = recent.find(&self.derived.queues, record.topic(), record.queue_id());
        if queue.is_none_or(|queue| queue.max_offset() <= record.queue_offset()) {
            let from = queue.map_or(0, |queue| queue.max_physical_offset().max(0));
            lacking.note(QueueKey::of(record), from.cast_unsigned());
        }
    }

    fn enqueue(
        &self,
        record: &Record<'_>,
        properties: &DispatchProperties<'_>,
        queues_from: u64,
        lacking: &mut Lacking,
    ) -> Result<()> {
        if lacking.has(record.topic(), record.queue_id()) {
            return Ok(());
        }
        let mut recent = self.recent.borrow_mut();
        // A queue without units takes any number for its first.
        let begins_at = match recent.find(&self.derived.queues, record.topic(), record.queue_id()) {
            Some(queue) if queue.max_physical_offset() >= 0 => None,
            empty => Some(empty.map_or(0, ConsumeQueue::max_offset)),
        };
        let may_have_expired = self.log.min_offset() > 0 && queues_from == self.log.min_offset();
        if begins_at.is_some_and(|begin| begin != record.queue_offset()) && !may_have_expired {
            // What comes before may be in the part that is not scanned. Or damage gave a message to another queue.
            lacking.note(QueueKey::of(record), 0);
            return Ok(());
        }
        let taken = self.derived.enqueue(&mut recent, record, properties)?;
        match taken {
            Taken::Yes => {}
            Taken::Gap { .. } => {
                let queue = self.derived.queues.get_or_create(record.topic(), record.queue_id())?;
                lacking.note(QueueKey::of(record), queue.max_physical_offset().max(0).cast_unsigned());
            }
            // One of two messages has a wrong number; only the messages around them can tell which.
            Taken::Conflict => {
                self.derived.queues.get_or_create(record.topic(), record.queue_id())?.destroy()?;
                lacking.note(QueueKey::of(record), 0);
            }
        }
        Ok(())
    }

    /// End the log where the scan ended, and say what that leaves out.
    fn cut(&self, tail: &Tail) -> Result<()> {
        let aside = self.set_aside(tail.end)?;
        if let Some(damage) = &tail.damage {
            self.notes.say(
                Level::Warning,
                format!(
                    "the log ends at offset {}: {damage}; what was written after it is cut off",
                    tail.end
                ),
            );
        }
        if let Some(aside) = aside {
            self.notes.say(
                Level::Error,
                format!(
                    "intact messages stand after the damage at offset {}; their files were copied to {} before \
                     the log was cut",
                    tail.end,
                    aside.display()
                ),
            );
        }
        for queue in self.derived.queues.all() {
            if queue.max_physical_offset() > tail.end.cast_signed() {
                queue.truncate_physical(tail.end.cast_signed())?;
            }
        }
        if let Some(index) = &self.derived.index {
            index.truncate(tail.end.cast_signed())?;
        }
        self.log.resume(tail.end, tail.timestamp())
    }

    /// Copy files whose intact records are about to be cut off, so that nothing vanishes unseen.
    fn set_aside(&self, end: u64) -> Result<Option<PathBuf>> {
        if self.log.segment_of(end).is_some_and(|segment| is_hidden(&segment, end)) {
            return Ok(None); // a batch that was still being written: nobody was told of it
        }
        let cut: Vec<_> = self
            .log
            .segments()
            .into_iter()
            .filter(|segment| segment.end() > end)
            .filter(|segment| {
                let from = end.saturating_sub(segment.start());
                let to = segment.data_end().min(from + SEARCH_BYTES);
                from < to && find_intact(segment, from, to).is_some()
            })
            .collect();
        if cut.is_empty() {
            return Ok(None);
        }
        let parent = self.log.dir().parent().unwrap_or(self.log.dir());
        let aside = parent.join(format!("cut-at-{}", file_name(end)));
        fs::create_dir_all(&aside).map_err(|source| Error::io("create", &aside, source))?;
        for segment in cut {
            let to = aside.join(file_name(segment.start()));
            fs::copy(segment.path(), &to)
                .map_err(|source| Error::io("copy the damaged file to", &to, source))?;
        }
        Ok(Some(aside))
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

/// Store timestamp of the first record of a file, if the file begins with one.
fn first_timestamp(segment: &Arc<Segment>) -> Option<i64> {
    if is_unused(segment, 0) {
        return None;
    }
    match look(segment.bytes(0..segment.size() as usize)) {
        Ok(Found::Record(record)) if record.physical_offset() == segment.start().cast_signed() => {
            Some(record.store_timestamp()).filter(|&time| time > 0)
        }
        _ => None,
    }
}

/// Position of the first intact record in `from..to` of a file: magic, own offset and checksum all fit.
pub fn find_intact(segment: &Segment, from: u64, to: u64) -> Option<u64> {
    const MAGIC_START: [u8; 3] = [0xda, 0xa3, 0x20];
    let bytes = segment.bytes(0..segment.size() as usize);
    let window = bytes.get(from as usize..to as usize)?;
    for magic_at in memchr::memmem::find_iter(window, &MAGIC_START) {
        let Some(position) = (from + magic_at as u64).checked_sub(4).filter(|&position| position >= from)
        else {
            continue;
        };
        if let Ok(Found::Record(record)) = look(&bytes[position as usize..])
            && record.physical_offset() == (segment.start() + position).cast_signed()
            && record.body_is_intact()
        {
            return Some(position);
        }
    }
    None
}

/// Whether what stands at a position is the mark of a file's unused rest, with a damaged size or magic.
/// No record has that size, since each leaves room for the mark.
fn is_damaged_blank(segment: &Segment, position: u64) -> bool {
    let rest = segment.bytes(position as usize..segment.size() as usize);
    rest.len() >= HEAD_BYTES
        && (u32::from_be_bytes(field(rest, SIZE_AT)) as usize == rest.len()
            || u32::from_be_bytes(field(rest, MAGIC_AT)) == BLANK_MAGIC)
}

/// Whether nothing stands from a position of a file on: a hole, which is known without reading it.
fn is_unused(segment: &Segment, position: u64) -> bool {
    let left = segment.data_end().saturating_sub(position);
    left == 0
        || (left < HEAD_BYTES as u64
            && segment.bytes(position as usize..segment.data_end() as usize).iter().all(|&byte| byte == 0))
}

/// Whether a record was written at an offset, but not made visible.
fn is_hidden(segment: &Segment, offset: u64) -> bool {
    let position = offset - segment.start();
    if is_unused(segment, position) {
        return false;
    }
    let rest = segment.bytes(position as usize..segment.size() as usize);
    rest.len() > PHYSICAL_OFFSET_AT + 8
        && rest[..HEAD_BYTES] == [0; HEAD_BYTES]
        && offset > 0
        && u64::from_be_bytes(field(rest, PHYSICAL_OFFSET_AT)) == offset
}

/// Whether a record's end looks like pages that never reached the disk. Only the body has a checksum, and
/// neither a topic nor properties end in a zero.
fn ends_in_zeros(record: &Record<'_>) -> bool {
    record.topic().last() == Some(&0) || record.properties().last() == Some(&0)
}
