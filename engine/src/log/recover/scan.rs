//! The walk over the log's records, and what follows from each.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;

use super::Recovery;
use super::behind::{Behind, each_record};
use super::queueing::Queueing;
use super::signs::{ends_in_zeros, is_damaged_blank, is_unused};
use crate::error::Result;
use crate::log::clock::is_far_ahead;
use crate::log::commit_log::CommitLog;
use crate::log::derived;
use crate::log::index::IndexWriter;
use crate::log::notes::Level;
use crate::log::rebuild::Lacking;
use crate::log::segment::Segment;
use crate::message::{BadRecord, DispatchProperties, Found, PropertyCrc, Record, blank_head, look};

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
pub(super) struct Tail {
    pub(super) end: u64,
    /// The latest store time, and the one before it.
    timestamps: [i64; 2],
    pub(super) records: u64,
    pub(super) damage: Option<String>,
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
    pub(super) fn timestamp(&self) -> i64 {
        let [latest, second] = self.timestamps;
        if is_far_ahead(latest) && !is_far_ahead(second) { second } else { latest }
    }
}

impl Recovery<'_> {
    /// Check the records from `start` on, and derive the index from them, and the queues unless it is known already
    /// what they lack.
    pub(super) fn scan(&self, start: u64, queues_are_known: bool, lacking: &mut Lacking) -> Result<Tail> {
        let queues_from = if self.clean { self.queue_end().max(self.log.min_offset()) } else { start };
        if !self.clean {
            for queue in self.derived.queues.all() {
                queue.truncate_physical(start.cast_signed())?;
            }
            lacking.only_before(start);
        }
        let (log, derived) = (self.log, self.derived);
        let mut queueing = Queueing::new(log, derived, queues_from, lacking);
        thread::scope(|scope| {
            let mut queues = (!queues_are_known).then(|| {
                Behind::begin(scope, move |coming| {
                    coming
                        .iter()
                        .try_for_each(|stretch| each_record(log, stretch, |record| queueing.take(record)))
                })
            });
            let mut index = derived
                .index
                .as_ref()
                .map(|index| Behind::begin(scope, move |coming| index_records(log, index.writer(), coming)));
            let tail = self.scan_records(start, |record| {
                let offset = record.physical_offset().cast_unsigned();
                let range = offset..offset + record.size() as u64;
                // The index itself takes its last record again: after a crash some of its keys may be missing.
                if let Some(index) = &mut index
                    && !(self.clean && record.physical_offset() <= self.index_last)
                {
                    index.add(range.clone());
                }
                if let Some(queues) = &mut queues {
                    queues.add(range);
                }
            });
            let done = queues.map_or(Ok(()), Behind::finish);
            index.map_or(Ok(()), Behind::finish).and(done).and(tail)
        })
    }

    /// Walk over the records from `start` on, and hand each one over that is in the log.
    fn scan_records(&self, start: u64, mut hand_over: impl FnMut(&Record<'_>)) -> Result<Tail> {
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
                    hand_over(&record);
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
                    hand_over(&record);
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
}

/// Index records behind the scan.
fn index_records(log: &CommitLog, mut writer: IndexWriter<'_>, coming: &Receiver<Range<u64>>) -> Result<()> {
    for stretch in coming {
        // After a kill the index has most of what is scanned.
        if writer.has_newer_than(stretch.end.cast_signed()) {
            continue;
        }
        each_record(log, stretch, |record| {
            derived::index(&mut writer, record, &DispatchProperties::for_dispatch(record.properties()))
        })?;
    }
    writer.settle()
}
