//! Recovery: find the end of the log and bring queues and index in line with it.
//!
//! The log is the truth. Its tail is checked record by record; what is derived from that tail is built
//! again, and a queue that lacks something the log has is built again from where it stopped.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use hashbrown::HashMap;

use super::checkpoint::{Checkpoint, Values};
use super::commit_log::CommitLog;
use super::derived::{Derived, Taken};
use super::notes::{Level, Notes};
use super::queue::RecentQueues;
use super::segment::{Segment, file_name};
use crate::error::{Error, Result};
use crate::message::{BadRecord, DispatchProperties, Found, PropertyCrc, Record, look};

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
    /// The log ends here; with damage if there is a reason.
    End(Option<BadRecord>),
}

/// Where the scan of the log ended.
struct Tail {
    end: u64,
    timestamp: i64,
    records: u64,
    damage: Option<String>,
}

impl Recovery<'_> {
    /// Recover the log and everything derived from it; afterwards appends may begin.
    pub fn run(&self) -> Result<()> {
        let began = Instant::now();
        if self.log.segments().is_empty() {
            return self.start_empty();
        }
        let start = self.first_offset_to_check();
        let queue_end = self.queue_end();
        let queues_from = if self.clean { queue_end.max(self.log.min_offset()) } else { start };
        self.set_checkpoint_back(start)?;
        if !self.clean {
            for queue in self.derived.queues.all() {
                queue.truncate_physical(start.cast_signed())?;
            }
        }
        let mut lacking = HashMap::new();
        let tail = self.scan(start, queues_from, &mut lacking)?;
        self.cut(&tail)?;
        self.rebuild(&lacking, tail.end)?;
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
            let is_safe = |segment: &&Arc<Segment>| first_timestamp(segment).is_some_and(|time| time <= safe);
            segments.iter().rev().find(is_safe).unwrap_or(&segments[0]).start()
        };
        // Never past what the queues have, nor past what the index must see again.
        let from = trusted.min(self.queue_end()).min(self.index_from.unwrap_or(u64::MAX));
        self.log
            .segment_of(from.max(segments[0].start()))
            .map_or(segments[0].start(), |segment| segment.start())
    }

    fn scan(&self, start: u64, queues_from: u64, lacking: &mut HashMap<QueueKey, u64>) -> Result<Tail> {
        let mut tail = Tail { end: start, timestamp: 0, records: 0, damage: None };
        while let Some(segment) = self.log.segment_of(tail.end) {
            let position = tail.end - segment.start();
            match self.judge(&segment, position) {
                Judged::Record(record) => {
                    self.derive(&record, queues_from, lacking)?;
                    tail.timestamp = record.store_timestamp();
                    tail.end += record.size() as u64;
                    tail.records += 1;
                }
                Judged::Corrupt(record) if self.goes_on_after(&segment, position + record.size() as u64) => {
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
                    self.derive(&record, queues_from, lacking)?;
                    tail.end += record.size() as u64;
                    tail.records += 1;
                }
                Judged::Corrupt(_) => {
                    tail.damage = Some("the last message fails its checksum".into());
                    break;
                }
                Judged::Blank => tail.end = segment.end(),
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
            Ok(Found::Blank { size }) if size as u64 != segment.size() - position => {
                Judged::End(Some(BadRecord::ShortBlank(size)))
            }
            Ok(Found::Blank { .. }) => Judged::Blank,
            Ok(Found::Nothing) => Judged::End(None),
            Err(bad) => Judged::End(Some(bad)),
        }
    }

    fn goes_on_after(&self, segment: &Segment, position: u64) -> bool {
        position < segment.size()
            && matches!(self.judge(segment, position), Judged::Record(_) | Judged::Blank)
    }

    fn derive(
        &self,
        record: &Record<'_>,
        queues_from: u64,
        lacking: &mut HashMap<QueueKey, u64>,
    ) -> Result<()> {
        let properties = DispatchProperties::for_dispatch(record.properties());
        if record.physical_offset().cast_unsigned() >= queues_from {
            let key_known = !lacking.is_empty() && lacking.contains_key(&QueueKey::of(record));
            if !key_known
                && let Taken::Gap { .. } =
                    self.derived.enqueue(&mut self.recent.borrow_mut(), record, &properties)?
            {
                self.note_lack(record, lacking);
            }
        } else if record.transaction_type().is_consumable() {
            let queue = self.derived.queues.get(record.topic(), record.queue_id());
            if queue.is_none_or(|queue| queue.max_offset() <= record.queue_offset()) {
                self.note_lack(record, lacking);
            }
        }
        // The index itself takes its last record again: after a crash some of its keys may be missing.
        if self.clean && record.physical_offset() <= self.index_last {
            return Ok(());
        }
        self.derived.index(record, &properties)
    }

    fn note_lack(&self, record: &Record<'_>, lacking: &mut HashMap<QueueKey, u64>) {
        let queue = self.derived.queues.get(record.topic(), record.queue_id());
        let from = queue.map_or(0, |queue| queue.max_physical_offset().max(0).cast_unsigned());
        lacking.entry(QueueKey::of(record)).or_insert(from);
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
        self.log.resume(tail.end, tail.timestamp)
    }

    /// Copy files whose intact records are about to be cut off, so that nothing vanishes unseen.
    fn set_aside(&self, end: u64) -> Result<Option<PathBuf>> {
        let cut: Vec<_> = self
            .log
            .segments()
            .into_iter()
            .filter(|segment| segment.end() > end)
            .filter(|segment| {
                let from = end.saturating_sub(segment.start());
                find_intact(segment, from, segment.size().min(from + SEARCH_BYTES)).is_some()
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

    /// Build the queues again that lack something the log has.
    fn rebuild(&self, lacking: &HashMap<QueueKey, u64>, end: u64) -> Result<()> {
        let Some(&from) = lacking.values().min() else { return Ok(()) };
        for key in lacking.keys() {
            self.notes.say(
                Level::Warning,
                format!(
                    "queue {}-{} lacks messages that the log has; it is built again",
                    key.topic(),
                    key.queue_id
                ),
            );
        }
        let mut at = self.log.segment_of(from).map_or(self.log.min_offset(), |segment| segment.start());
        while at < end
            && let Some(segment) = self.log.segment_of(at)
        {
            match look(segment.bytes((at - segment.start()) as usize..segment.size() as usize)) {
                Ok(Found::Record(record)) => {
                    if lacking.contains_key(&QueueKey::of(&record)) {
                        self.enqueue_whatever(&record)?;
                    }
                    at += record.size() as u64;
                }
                Ok(Found::Blank { .. }) => at = segment.end(),
                // Damage before the checked part: go on at the next record that can be read.
                Ok(Found::Nothing) | Err(_) => {
                    let position = at - segment.start();
                    at = find_intact(&segment, position, segment.size())
                        .map_or(segment.end(), |position| segment.start() + position);
                }
            }
        }
        Ok(())
    }

    fn enqueue_whatever(&self, record: &Record<'_>) -> Result<()> {
        let properties = DispatchProperties::for_dispatch(record.properties());
        if let Taken::Gap { expected } =
            self.derived.enqueue(&mut self.recent.borrow_mut(), record, &properties)?
        {
            let queue = self.derived.queues.get_or_create(record.topic(), record.queue_id())?;
            let unit = self.derived.unit_of(record);
            self.derived.close_gap(&queue, expected, record.queue_offset(), unit)?;
        }
        Ok(())
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

#[derive(PartialEq, Eq, Hash)]
struct QueueKey {
    topic: Box<[u8]>,
    queue_id: i32,
}

impl QueueKey {
    fn of(record: &Record<'_>) -> Self {
        Self { topic: record.topic().into(), queue_id: record.queue_id() }
    }

    fn topic(&self) -> String {
        String::from_utf8_lossy(&self.topic).into_owned()
    }
}

/// Store timestamp of the first record of a file, if the file begins with one.
fn first_timestamp(segment: &Segment) -> Option<i64> {
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
