//! Units of a queue against the records they stand for. A damaged unit is mended from the log.

use super::derived::parse_number;
use super::notes::Level;
use super::queue::{ConsumeQueue, Unit};
use super::recover::find_intact;
use super::store::Store;
use super::view::{Seen, View};
use crate::error::Result;
use crate::message::layout::property;
use crate::message::{Record, properties};

/// What a unit leads to.
pub(super) enum Looked<'a> {
    Message(Record<'a>),
    /// A place that was never filled.
    Blank,
    /// The log no longer has it.
    Expired,
}

impl Store {
    /// Find out why a unit does not lead to its record, and mend the unit if it is damaged.
    #[cold]
    pub(super) fn look_around<'v>(
        &self,
        view: &'v mut View<'_>,
        queue: &ConsumeQueue,
        offset: i64,
        unit: Unit,
    ) -> Result<Looked<'v>> {
        if unit.is_blank() {
            return Ok(Looked::Blank);
        }
        if self.is_expired(unit) && !self.follows_living(queue, offset)? {
            return Ok(Looked::Expired);
        }
        let physical = self.mend(view, queue, offset, unit)?;
        match view.record(physical.cast_unsigned())? {
            Some(record) => Ok(Looked::Message(record)),
            None => Err(self.damaged_message(queue, offset, physical)),
        }
    }

    fn is_expired(&self, unit: Unit) -> bool {
        unit.is_valid() && unit.physical_offset < self.log.min_offset().cast_signed()
    }

    /// Whether the message before is still there: then this one cannot be expired, and its unit is damaged.
    fn follows_living(&self, queue: &ConsumeQueue, offset: i64) -> Result<bool> {
        let before = queue.unit_at(offset - 1)?;
        Ok(before.is_some_and(|before| before.is_valid() && !self.is_expired(before)))
    }

    /// Search the log between the neighbours of a damaged unit for the message it stood for.
    fn mend(&self, view: &mut View<'_>, queue: &ConsumeQueue, offset: i64, broken: Unit) -> Result<i64> {
        let mut neighbour = |at: i64| -> Result<Option<Unit>> {
            match queue.unit_at(at)? {
                Some(unit) => {
                    let record = view.record(unit.physical_offset.max(0).cast_unsigned())?;
                    Ok(record.is_some_and(|record| leads_to(unit, &record, queue, at)).then_some(unit))
                }
                None => Ok(None),
            }
        };
        let from = neighbour(offset - 1)?.map(|unit| unit.physical_end().cast_unsigned());
        let to = neighbour(offset + 1)?.map(|unit| unit.physical_offset.cast_unsigned());
        let mut at = from.unwrap_or_else(|| self.log.min_offset());
        let end = to.unwrap_or_else(|| self.dispatcher.position());
        while at < end {
            match view.look(at)? {
                Seen::Record(record) => {
                    if belongs(&record, queue, offset) {
                        let unit = self.derived.unit_of(&record);
                        queue.replace(offset, unit)?;
                        self.notes.say(
                            Level::Warning,
                            format!(
                                "queue {}-{}: unit {offset} was damaged and is mended from the log",
                                queue.topic(),
                                queue.queue_id()
                            ),
                        );
                        return Ok(unit.physical_offset);
                    }
                    at += record.size() as u64;
                }
                Seen::NextFile(start) => at = start,
                Seen::Nothing => {
                    let Some(segment) = self.log.segment_of(at) else { break };
                    let position = at - segment.start();
                    at = find_intact(&segment, position + 1, end.min(segment.end()) - segment.start())
                        .map_or(segment.end(), |position| segment.start() + position);
                }
            }
        }
        Err(self.damaged_message(queue, offset, broken.physical_offset))
    }
}

/// Whether this record, found where a unit leads, is the one the unit stands for.
#[inline(always)]
pub(super) fn leads_to(unit: Unit, record: &Record<'_>, queue: &ConsumeQueue, offset: i64) -> bool {
    unit.is_valid() && record.size() == unit.size as usize && belongs(record, queue, offset)
}

/// Whether a record has its place in a queue at `offset`.
#[inline(always)]
pub(super) fn belongs(record: &Record<'_>, queue: &ConsumeQueue, offset: i64) -> bool {
    if record.topic() == queue.topic().as_bytes() {
        return record.queue_id() == queue.queue_id() && record.queue_offset() == offset;
    }
    is_light_place(record, queue.topic().as_bytes(), offset)
}

/// Whether a record names a light queue, and `offset` as its place there.
fn is_light_place(record: &Record<'_>, topic: &[u8], offset: i64) -> bool {
    let list = |name| properties::find(record.properties(), name).into_iter().flat_map(comma_separated);
    list(property::INNER_MULTI_DISPATCH)
        .zip(list(property::INNER_MULTI_QUEUE_OFFSET))
        .any(|(name, number)| name == topic && parse_number(number) == Some(offset))
}

fn comma_separated(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b',')
}
