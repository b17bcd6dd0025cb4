//! Reading: by queue and by position. What is returned points into the map; nothing is copied.

use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::append::Placed;
use super::config::TransferLimit;
use super::filter::MessageFilter;
use super::mapping::Mapping;
use super::mend::{Looked, leads_to};
use super::queue::ConsumeQueue;
use super::store::Store;
use super::view::{Seen, Slice, View};
use crate::error::{Error, Result};

/// RocketMQ's answers to a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GetStatus {
    Found,
    NoMatchedMessage,
    MessageWasRemoving,
    OffsetFoundNull,
    OffsetOverflowBadly,
    OffsetOverflowOne,
    OffsetTooSmall,
    NoMatchedLogicQueue,
    NoMessageInQueue,
}

impl GetStatus {
    pub fn name(self) -> &'static str {
        match self {
            Self::Found => "FOUND",
            Self::NoMatchedMessage => "NO_MATCHED_MESSAGE",
            Self::MessageWasRemoving => "MESSAGE_WAS_REMOVING",
            Self::OffsetFoundNull => "OFFSET_FOUND_NULL",
            Self::OffsetOverflowBadly => "OFFSET_OVERFLOW_BADLY",
            Self::OffsetOverflowOne => "OFFSET_OVERFLOW_ONE",
            Self::OffsetTooSmall => "OFFSET_TOO_SMALL",
            Self::NoMatchedLogicQueue => "NO_MATCHED_LOGIC_QUEUE",
            Self::NoMessageInQueue => "NO_MESSAGE_IN_QUEUE",
        }
    }
}

#[derive(Debug)]
pub struct ReadRequest<'a> {
    pub topic: &'a [u8],
    pub queue_id: i32,
    pub offset: i64,
    pub count_max: usize,
    pub bytes_max: Option<usize>,
    /// Whether the transfer limits of the configuration hold, besides those above.
    pub transfer_limits: bool,
    pub filter: Option<&'a dyn MessageFilter>,
    /// Check bodies against their checksums; unneeded where the receiver does.
    pub check_bodies: bool,
}

#[derive(Debug)]
pub struct ReadResult {
    pub status: GetStatus,
    pub next_offset: i64,
    pub min_offset: i64,
    pub max_offset: i64,
    /// The reader is further behind than memory reaches: a slave should serve it.
    pub suggest_slave: bool,
    pub bytes: usize,
    messages: Vec<Piece>,
    /// The maps that the messages lie in; mostly one.
    maps: Vec<Arc<Mapping>>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    map: u32,
    at: u32,
    len: u32,
}

/// Bytes of one map.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'a> {
    map: &'a Arc<Mapping>,
    at: usize,
    len: usize,
}

impl<'a> Stretch<'a> {
    pub fn bytes(self) -> &'a [u8] {
        // SAFETY: as in `Slice::bytes`.
        unsafe { self.map.bytes(self.at..self.at + self.len) }
    }

    pub fn slice(self) -> Slice {
        Slice::new(self.map.clone(), self.at, self.len)
    }
}

impl ReadResult {
    fn empty(status: GetStatus, next_offset: i64, min_offset: i64, max_offset: i64) -> Self {
        Self {
            status,
            next_offset,
            min_offset,
            max_offset,
            suggest_slave: false,
            bytes: 0,
            messages: Vec::new(),
            maps: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub fn get(&self, index: usize) -> Option<Slice> {
        let piece = self.messages.get(index)?;
        Some(Slice::new(self.maps[piece.map as usize].clone(), piece.at as usize, piece.len as usize))
    }

    pub fn slices(&self) -> impl Iterator<Item = Slice> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// The records' bytes, in order.
    pub fn records(&self) -> impl Iterator<Item = &[u8]> {
        self.messages.iter().map(|piece| self.stretch(slice::from_ref(piece)).bytes())
    }

    /// The records in order, those that lie side by side in one stretch.
    pub fn stretches(&self) -> impl Iterator<Item = Stretch<'_>> {
        let side_by_side = |one: &Piece, next: &Piece| one.map == next.map && one.at + one.len == next.at;
        self.messages.chunk_by(side_by_side).map(|pieces| self.stretch(pieces))
    }

    #[inline]
    fn stretch(&self, pieces: &[Piece]) -> Stretch<'_> {
        Stretch {
            map: &self.maps[pieces[0].map as usize],
            at: pieces[0].at as usize,
            len: pieces.iter().map(|piece| piece.len as usize).sum(),
        }
    }

    /// For how many messages it took memory.
    #[cfg(test)]
    pub fn messages_room(&self) -> usize {
        self.messages.capacity()
    }

    /// A result that holds these pieces of a map.
    #[cfg(test)]
    pub fn of_pieces(map: &Arc<Mapping>, pieces: &[(usize, usize)]) -> Self {
        let mut result = Self::empty(GetStatus::Found, 0, 0, 0);
        for &(at, len) in pieces {
            result.push(map, at, len);
        }
        result
    }

    #[inline]
    fn push(&mut self, map: &Arc<Mapping>, at: usize, len: usize) {
        if !self.maps.last().is_some_and(|last| Arc::ptr_eq(last, map)) {
            self.maps.push(map.clone());
        }
        self.messages.push(Piece { map: self.maps.len() as u32 - 1, at: at as u32, len: len as u32 });
        self.bytes += len;
        self.status = GetStatus::Found;
    }
}

/// How many units one read looks through for messages that match its filter.
const FILTER_SCAN_UNITS: usize = 800;
/// How many units are read at once: a read of very many messages is mostly full long before it has them all.
const CHUNK_UNITS: usize = 256;
/// How far ahead of its use a message is fetched from memory: as far as the processor has room for such requests.
const PREFETCH_UNITS: usize = 16;

impl Store {
    /// Read messages of a queue in order.
    pub fn read(&self, request: &ReadRequest<'_>) -> Result<ReadResult> {
        self.stats.reads.fetch_add(1, Ordering::Relaxed);
        let Some(queue) = self.derived.queues.get(request.topic, request.queue_id) else {
            // RocketMQ makes a queue when it is first asked for, so an unknown one is an empty one.
            let no_queue = request.queue_id < 0;
            let status = if no_queue { GetStatus::NoMatchedLogicQueue } else { GetStatus::NoMessageInQueue };
            return Ok(ReadResult::empty(status, 0, 0, 0));
        };
        let (min, max) = (queue.min_offset(), queue.max_offset());
        let offset = request.offset;
        let (status, next) = if max == 0 {
            (GetStatus::NoMessageInQueue, 0)
        } else if offset < min {
            (GetStatus::OffsetTooSmall, min)
        } else if offset == max {
            (GetStatus::OffsetOverflowOne, offset)
        } else if offset > max {
            (GetStatus::OffsetOverflowBadly, max)
        } else {
            let result = self.collect(&queue, request, min, max)?;
            self.stats.messages_read.fetch_add(result.len() as u64, Ordering::Relaxed);
            return Ok(result);
        };
        Ok(ReadResult::empty(status, next, min, max))
    }

    fn collect(
        &self,
        queue: &ConsumeQueue,
        request: &ReadRequest<'_>,
        min: i64,
        max: i64,
    ) -> Result<ReadResult> {
        let mut result = ReadResult::empty(GetStatus::NoMatchedMessage, request.offset, min, max);
        let limits = Limits::new(request, self.config.transfer_memory, self.config.transfer_disk);
        let mut left = if request.filter.is_some() { FILTER_SCAN_UNITS } else { limits.count_max() };
        let mut chunk = left.min(CHUNK_UNITS);
        let mut units = Vec::with_capacity(chunk + PREFETCH_UNITS);
        // Some more than this read may return: a reader mostly comes back for what follows.
        queue.read(request.offset, chunk + PREFETCH_UNITS, &mut units)?;
        if units.is_empty() {
            result.status = GetStatus::OffsetFoundNull;
            result.next_offset = queue.next_file_offset(request.offset);
            return Ok(result);
        }
        let mut view = View::new(&self.log, self.dispatcher.confirmed());
        let hot_bytes = self.hot_bytes();
        let hot_from = self.log.written().saturating_sub(hot_bytes);
        let mut last_physical = None;
        'reading: loop {
            if request.filter.is_none() {
                result.messages.reserve(units.len().min(chunk));
            }
            for unit in units.iter().take(PREFETCH_UNITS) {
                view.prefetch(unit);
            }
            for (index, &unit) in units.iter().take(chunk).enumerate() {
                if let Some(soon) = units.get(index + PREFETCH_UNITS) {
                    view.prefetch(soon);
                }
                let physical = unit.physical_offset.max(0).cast_unsigned();
                if limits.is_full(&result, unit.size.max(0) as usize, physical < hot_from) {
                    break 'reading;
                }
                // A damaged unit says nothing of the tags: its message is looked for first.
                if let Some(filter) = request.filter
                    && unit.is_valid()
                    && !filter.may_match(queue.tags_code(unit)?)
                {
                    result.next_offset += 1;
                    continue;
                }
                let offset = result.next_offset;
                if request.filter.is_none()
                    && let Some(found) = view.glance(unit, queue, offset)
                    && (!request.check_bodies || found.message.body_is_intact())
                {
                    result.push(found.map, found.at, found.size);
                    last_physical = Some(physical);
                    result.next_offset += 1;
                    continue;
                }
                let looked = match view.record(physical) {
                    Ok(Some(record)) if leads_to(unit, &record, queue, offset) => Ok(Looked::Message(record)),
                    Ok(_) => self.look_around(&mut view, queue, offset, unit),
                    Err(error) => Err(error),
                };
                match looked {
                    Ok(Looked::Message(record)) => {
                        if request.check_bodies && !record.body_is_intact() {
                            if result.is_empty() {
                                return Err(self.damaged_message(queue, offset, unit.physical_offset));
                            }
                            break 'reading;
                        }
                        let physical = record.physical_offset().cast_unsigned();
                        let size = record.size();
                        last_physical = Some(physical);
                        let wanted = request.filter.is_none_or(|filter| {
                            (unit.is_valid() || filter.may_match(self.derived.unit_of(&record).tags_code))
                                && filter.matches(record.properties())
                        });
                        if wanted && let Some((map, at)) = view.place(physical) {
                            result.push(map, at, size);
                        }
                    }
                    Ok(Looked::Expired) if result.is_empty() => result.status = GetStatus::MessageWasRemoving,
                    Ok(Looked::Expired | Looked::Blank) => {}
                    Err(_) if !result.is_empty() => break 'reading,
                    Err(error) => return Err(error),
                }
                result.next_offset += 1;
            }
            if left <= chunk || units.len() <= chunk {
                break;
            }
            left -= chunk;
            chunk = left.min(CHUNK_UNITS);
            units.clear();
            queue.read(result.next_offset, chunk + PREFETCH_UNITS, &mut units)?;
        }
        result.suggest_slave =
            last_physical.is_some_and(|last| self.log.written().saturating_sub(last) > hot_bytes);
        Ok(result)
    }

    /// Whether a message that begins at this offset is taken to be in memory.
    pub fn is_recent(&self, physical_offset: i64) -> bool {
        physical_offset.max(0).cast_unsigned() >= self.log.written().saturating_sub(self.hot_bytes())
    }

    /// How much of the end of the log memory is taken to hold.
    fn hot_bytes(&self) -> u64 {
        self.memory_bytes / 100 * self.config.memory_ratio_percent
    }

    pub(super) fn damaged_message(&self, queue: &ConsumeQueue, offset: i64, physical_offset: i64) -> Error {
        let path = self
            .log
            .segment_of(physical_offset.cast_unsigned())
            .map_or_else(|| self.log.dir().to_path_buf(), |segment| segment.path().to_path_buf());
        Error::Damaged {
            path,
            what: format!(
                "message {offset} of queue {}-{} at offset {physical_offset} is damaged; read from {} to go past it",
                queue.topic(),
                queue.queue_id(),
                offset + 1
            ),
        }
    }

    /// The record that starts at a physical offset, if one does.
    pub fn record_at(&self, physical_offset: u64) -> Result<Option<Slice>> {
        View::new(&self.log, self.dispatcher.confirmed()).slice(physical_offset)
    }

    /// The message that starts at a physical offset, if one does and its body is what was stored.
    pub fn message_at(&self, physical_offset: u64) -> Result<Option<Slice>> {
        let Some(slice) = self.record_at(physical_offset)? else { return Ok(None) };
        if slice.record()?.body_is_intact() {
            return Ok(Some(slice));
        }
        Err(self.damaged_at(physical_offset, None))
    }

    fn damaged_at(&self, physical_offset: u64, next: Option<u64>) -> Error {
        let path = self
            .log
            .segment_of(physical_offset)
            .map_or_else(|| self.log.dir().to_path_buf(), |segment| segment.path().to_path_buf());
        let way_on = next.map_or_else(String::new, |next| format!("; go on at {next} to go past it"));
        Error::Damaged { path, what: format!("the message at offset {physical_offset} is damaged{way_on}") }
    }

    /// The physical offsets of `count` records that were placed as one batch.
    pub fn record_offsets(&self, placed: Placed, count: usize) -> Result<Vec<u64>> {
        // With a transient pool the file may not have the batch yet.
        if count > 1 && self.flusher.commit(0)? {
            self.dispatcher.signal.raise();
        }
        let mut view = View::new(&self.log, placed.physical_offset + placed.size);
        let mut offsets = Vec::with_capacity(count);
        let mut at = placed.physical_offset;
        for _ in 0..count {
            offsets.push(at);
            let Some(size) = view.stated_size(at)? else { break };
            at += size;
        }
        Ok(offsets)
    }

    /// Wait until a queue, which need not exist yet, has a message at `offset`.
    pub fn wait_for(&self, topic: &[u8], queue_id: i32, offset: i64, deadline: Instant) -> bool {
        self.dispatcher.arrivals.wait_until(Some(deadline), || {
            self.derived.queues.get(topic, queue_id).is_some_and(|queue| queue.max_offset() > offset)
        })
    }

    /// Records from a physical offset on, and the offset after the last. Waits when there is none yet.
    pub fn read_log(
        &self,
        from: u64,
        count_max: usize,
        bytes_max: usize,
        deadline: Option<Instant>,
    ) -> Result<(Vec<Slice>, u64)> {
        if from < self.log.min_offset() {
            return Err(Error::Config(format!(
                "offset {from} is no longer in the log, which begins at {}",
                self.log.min_offset()
            )));
        }
        let arrived = || self.dispatcher.position() > from || self.is_closed();
        self.dispatcher.arrivals.wait_until(deadline, arrived);
        let end = self.dispatcher.position();
        let mut view = View::new(&self.log, end);
        let mut found = Vec::new();
        let (mut at, mut bytes) = (from, 0);
        while at < end && found.len() < count_max && bytes < bytes_max {
            let size = match view.look(at)? {
                Seen::Record(record) if record.body_is_intact() => record.size(),
                Seen::NextFile(start) => {
                    at = start;
                    continue;
                }
                Seen::Record(_) | Seen::Nothing if !found.is_empty() => break,
                Seen::Nothing if at == from && self.is_amid_record(at, end)? => {
                    return Err(Error::Config(format!("no record starts at offset {at}")));
                }
                Seen::Record(_) | Seen::Nothing => {
                    let next = view.next_intact(at + 1);
                    return Err(self.damaged_at(at, next));
                }
            };
            found.extend(view.place(at).map(|(map, position)| Slice::new(map.clone(), position, size)));
            bytes += size;
            at += size as u64;
        }
        Ok((found, at))
    }

    /// Whether no record can start at an offset, of a log that ends at `end`, since it lies amid what is intact.
    fn is_amid_record(&self, offset: u64, end: u64) -> Result<bool> {
        let mut view = View::new(&self.log, end);
        let mut at = self.log.segment_of(offset).map_or(offset, |segment| segment.start());
        while at < offset {
            at = match view.look(at)? {
                Seen::Record(record) if at + record.size() as u64 > offset => return Ok(true),
                Seen::Record(record) => at + record.size() as u64,
                Seen::NextFile(_) => return Ok(true),
                Seen::Nothing => view.next_intact(at + 1).unwrap_or(offset),
            };
        }
        Ok(false)
    }
}

struct Limits {
    count: usize,
    bytes: usize,
    /// In memory and on disk.
    transfer: Option<(TransferLimit, TransferLimit)>,
}

impl Limits {
    fn new(request: &ReadRequest<'_>, memory: TransferLimit, disk: TransferLimit) -> Self {
        Self {
            count: request.count_max.max(1),
            bytes: request.bytes_max.unwrap_or(usize::MAX),
            transfer: request.transfer_limits.then_some((memory, disk)),
        }
    }

    /// No read returns more than this.
    fn count_max(&self) -> usize {
        self.transfer.map_or(self.count, |(memory, disk)| self.count.min(memory.count.max(disk.count)))
    }

    /// Whether a further message of this size is too much. The first one never is.
    fn is_full(&self, result: &ReadResult, size: usize, on_disk: bool) -> bool {
        let count = result.len();
        if count == 0 {
            return false;
        }
        let bytes = result.bytes.saturating_add(size);
        if count >= self.count || bytes > self.bytes {
            return true;
        }
        let Some((memory, disk)) = self.transfer else { return false };
        let limit = if on_disk { disk } else { memory };
        bytes > limit.bytes || count >= limit.count
    }
}
