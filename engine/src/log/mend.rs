//! Units of a queue against the records they stand for. A damaged unit is mended from the log.

use super::notes::Level;
use super::queue::{ConsumeQueue, Unit};
use super::read::{Slice, belongs};
use super::recover::find_intact;
use super::store::Store;
use crate::error::Result;
use crate::message::{Found, look};

/// What a unit leads to.
pub(super) enum Looked {
    Message(Slice),
    /// A place that was never filled.
    Blank,
    /// The log no longer has it.
    Expired,
}

impl Store {
    /// Follow a unit to its record, and mend the unit when it does not lead there.
    pub(super) fn look_at(&self, queue: &ConsumeQueue, offset: i64, unit: Unit) -> Result<Looked> {
        if unit.is_blank() {
            return Ok(Looked::Blank);
        }
        if let Some(slice) = self.record_of(queue, offset, unit)? {
            return Ok(Looked::Message(slice));
        }
        let min = self.log.min_offset();
        if unit.is_valid() && unit.physical_offset.cast_unsigned() < min {
            return Ok(Looked::Expired);
        }
        self.mend(queue, offset, unit)
    }

    fn record_of(&self, queue: &ConsumeQueue, offset: i64, unit: Unit) -> Result<Option<Slice>> {
        if !unit.is_valid() {
            return Ok(None);
        }
        let Some(slice) = self.record_at(unit.physical_offset.cast_unsigned())? else { return Ok(None) };
        let record = slice.record()?;
        let fits = record.size() == unit.size as usize && belongs(&record, queue, offset);
        Ok(fits.then_some(slice))
    }

    /// Search the log between the neighbours of a damaged unit for the message it stood for.
    fn mend(&self, queue: &ConsumeQueue, offset: i64, broken: Unit) -> Result<Looked> {
        let good = |at: i64| -> Result<Option<Unit>> {
            let unit = queue.unit_at(at)?;
            Ok(match unit {
                Some(unit) if self.record_of(queue, at, unit)?.is_some() => Some(unit),
                _ => None,
            })
        };
        let from = good(offset - 1)?.map(|unit| unit.physical_offset.cast_unsigned() + unit.size as u64);
        let to = good(offset + 1)?.map(|unit| unit.physical_offset.cast_unsigned());
        let mut at = from.unwrap_or_else(|| self.log.min_offset());
        let end = to.unwrap_or_else(|| self.dispatcher.position());
        while at < end
            && let Some(segment) = self.log.segment_of(at)
        {
            let position = at - segment.start();
            let limit = end.min(segment.end()) - segment.start();
            match look(segment.bytes(position as usize..limit as usize)) {
                Ok(Found::Record(record)) => {
                    if belongs(&record, queue, offset) && record.topic() == queue.topic().as_bytes() {
                        queue.replace(offset, self.derived.unit_of(&record))?;
                        self.notes.say(
                            Level::Warning,
                            format!(
                                "queue {}-{}: unit {offset} was damaged and is mended from the log",
                                queue.topic(),
                                queue.queue_id()
                            ),
                        );
                        return Ok(Looked::Message(Slice::new(
                            segment.map().clone(),
                            position as usize,
                            record.size(),
                        )));
                    }
                    at += record.size() as u64;
                }
                Ok(Found::Blank { .. }) => at = segment.end(),
                Ok(Found::Nothing) | Err(_) => {
                    at = find_intact(&segment, position + 1, limit)
                        .map_or(segment.end(), |position| segment.start() + position);
                }
            }
        }
        Err(self.damaged_message(queue, offset, broken.physical_offset))
    }
}
