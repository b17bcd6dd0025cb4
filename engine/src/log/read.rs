//! Reading: by queue, by position, by key and by time. What is returned points into the map; nothing is copied.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::append::Placed;
use super::config::TransferLimit;
use super::derived::is_lmq;
use super::filter::TagFilter;
use super::mapping::Mapping;
use super::mend::Looked;
use super::queue::{ConsumeQueue, Unit};
use super::store::Store;
use crate::error::{Error, Result};
use crate::message::ids::key_hash;
use crate::message::layout::property;
use crate::message::{Found, Record, look, properties};

/// The bytes of one record, kept readable by holding the map.
#[derive(Clone, Debug)]
pub struct Slice {
    map: Arc<Mapping>,
    at: usize,
    len: usize,
}

impl Slice {
    pub(crate) fn new(map: Arc<Mapping>, at: usize, len: usize) -> Self {
        Self { map, at, len }
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: slices are made below the readable offset, where nothing is written again.
        unsafe { self.map.bytes(self.at..self.at + self.len) }
    }

    /// The record, which was checked when the slice was made; it can only be lost with its pages.
    pub fn record(&self) -> Result<Record<'_>> {
        self.map.check()?;
        Record::parse(self.bytes())
            .map_err(|bad| Error::Damaged { path: "message".into(), what: bad.to_string() })
    }
}

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
    /// Without it the transfer limits of the configuration hold.
    pub bytes_max: Option<usize>,
    pub filter: Option<&'a TagFilter>,
}

#[derive(Debug)]
pub struct ReadResult {
    pub status: GetStatus,
    pub next_offset: i64,
    pub min_offset: i64,
    pub max_offset: i64,
    /// The reader is further behind than memory reaches: a slave should serve it.
    pub suggest_slave: bool,
    pub messages: Vec<Slice>,
    pub bytes: usize,
}

/// How many units one read looks through for messages that match its filter.
const FILTER_SCAN_UNITS: usize = 16_000 / 20 * 20;

impl Store {
    /// Read messages of a queue in order.
    pub fn read(&self, request: &ReadRequest<'_>) -> Result<ReadResult> {
        self.stats.reads.fetch_add(1, Ordering::Relaxed);
        let Some(queue) = self.derived.queues.get(request.topic, request.queue_id) else {
            return Ok(ReadResult::empty(GetStatus::NoMatchedLogicQueue, 0, 0, 0));
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
            self.stats.messages_read.fetch_add(result.messages.len() as u64, Ordering::Relaxed);
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
        let count = request.count_max.max(1);
        let chunk = if request.filter.is_some() { FILTER_SCAN_UNITS } else { count };
        let mut units = Vec::with_capacity(chunk.min(4096));
        queue.read(request.offset, chunk.min((max - request.offset) as usize), &mut units)?;
        if units.is_empty() {
            result.status = GetStatus::OffsetFoundNull;
            result.next_offset = queue.next_file_offset(request.offset);
            return Ok(result);
        }
        let mut last_physical = 0;
        let limits = Limits::new(request, self.config.transfer_memory, self.config.transfer_disk);
        let memory_from = self.log.written().saturating_sub(self.hot_bytes());
        for unit in units {
            let on_disk = unit.physical_offset.cast_unsigned() < memory_from;
            if limits.is_full(&result, unit.size.max(0) as usize, on_disk) {
                break;
            }
            if let Some(filter) = request.filter
                && !filter.may_match(queue.tags_code(unit)?)
            {
                result.next_offset += 1;
                continue;
            }
            match self.look_at(queue, result.next_offset, unit) {
                Ok(Looked::Message(slice)) => {
                    let record = slice.record()?;
                    last_physical = unit.physical_offset;
                    if !record.body_is_intact() {
                        if result.messages.is_empty() {
                            return Err(self.damaged_message(
                                queue,
                                result.next_offset,
                                unit.physical_offset,
                            ));
                        }
                        break;
                    }
                    if request.filter.is_none_or(|filter| filter.matches(&record)) {
                        result.bytes += slice.len;
                        result.messages.push(slice);
                        result.status = GetStatus::Found;
                    }
                    result.next_offset += 1;
                }
                Ok(Looked::Blank) => result.next_offset += 1,
                Ok(Looked::Expired) => {
                    if result.messages.is_empty() {
                        result.status = GetStatus::MessageWasRemoving;
                    }
                    result.next_offset += 1;
                }
                Err(_) if !result.messages.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        let behind = self.log.written().saturating_sub(last_physical.max(0).cast_unsigned());
        result.suggest_slave = last_physical > 0 && behind > self.hot_bytes();
        Ok(result)
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
        let end = self.dispatcher.confirmed();
        if physical_offset >= end || physical_offset < self.log.min_offset() {
            return Ok(None);
        }
        let Some(segment) = self.log.segment_of(physical_offset) else { return Ok(None) };
        let at = (physical_offset - segment.start()) as usize;
        let limit = (end.min(segment.end()) - segment.start()) as usize;
        let len = match look(segment.bytes(at..limit)) {
            Ok(Found::Record(record)) if record.physical_offset() == physical_offset.cast_signed() => {
                record.size()
            }
            _ => return Ok(None),
        };
        segment.map().check()?;
        Ok(Some(Slice::new(segment.map().clone(), at, len)))
    }

    /// The physical offsets of `count` records that were placed as one batch.
    pub fn record_offsets(&self, placed: Placed, count: usize) -> Result<Vec<u64>> {
        let mut offsets = vec![placed.physical_offset];
        while offsets.len() < count {
            let at = offsets[offsets.len() - 1];
            let Some(segment) = self.log.segment_of(at) else { break };
            let end = placed.physical_offset + placed.size - segment.start();
            let Ok(Found::Record(record)) =
                look(segment.bytes((at - segment.start()) as usize..end as usize))
            else {
                break;
            };
            offsets.push(at + record.size() as u64);
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
        let mut at = from;
        let mut found = Vec::new();
        let mut bytes = 0;
        self.dispatcher
            .arrivals
            .wait_until(deadline, || self.dispatcher.position() > from || self.is_closed());
        let end = self.dispatcher.position();
        while at < end && found.len() < count_max && bytes < bytes_max {
            let Some(segment) = self.log.segment_of(at) else {
                return Err(Error::Config(format!(
                    "offset {at} is no longer in the log, which begins at {}",
                    self.log.min_offset()
                )));
            };
            let position = (at - segment.start()) as usize;
            let limit = (end.min(segment.end()) - segment.start()) as usize;
            match look(segment.bytes(position..limit)) {
                Ok(Found::Record(record)) if record.physical_offset() == at.cast_signed() => {
                    found.push(Slice::new(segment.map().clone(), position, record.size()));
                    bytes += record.size();
                    at += record.size() as u64;
                }
                Ok(Found::Blank { .. }) => at = segment.end(),
                _ => {
                    segment.map().check()?;
                    return Err(Error::Config(format!("no record starts at offset {at}")));
                }
            }
        }
        Ok((found, at))
    }

    /// Find messages by a key, newest first.
    pub fn query(&self, topic: &[u8], key: &[u8], begin: i64, end: i64, limit: usize) -> Result<Vec<Slice>> {
        self.stats.queries.fetch_add(1, Ordering::Relaxed);
        let Some(index) = &self.derived.index else { return Ok(Vec::new()) };
        let limit = limit.min(self.config.query_results_max);
        let mut found: Vec<Slice> = Vec::new();
        let mut seen = Vec::new();
        // Keys of one hash share a chain: ask for more than is wanted, keep what has the key itself.
        for offset in index.query(key_hash(topic, key), begin, end, limit.saturating_mul(4))? {
            if found.len() == limit {
                break;
            }
            // A recovery after a kill, Java's or ours, enters the last indexed message once more.
            if seen.contains(&offset) {
                continue;
            }
            seen.push(offset);
            let Some(slice) = self.record_at(offset.max(0).cast_unsigned())? else { continue };
            let record = slice.record()?;
            if record.topic() == topic && has_key(&record, key) && record.body_is_intact() {
                found.push(slice);
            }
        }
        Ok(found)
    }

    /// The queue offset for a time: the first message at or after it, or with `upper` the last at or before.
    pub fn offset_at_time(&self, queue: &ConsumeQueue, timestamp: i64, upper: bool) -> Result<i64> {
        let (min, max) = (queue.min_offset(), queue.max_offset());
        if upper {
            let after = queue.search(min, max, |unit| Ok(self.stored_at(unit)? <= timestamp))?;
            return Ok((after - 1).clamp(min, max));
        }
        queue.search(min, max, |unit| Ok(self.stored_at(unit)? < timestamp))
    }

    fn stored_at(&self, unit: &Unit) -> Result<i64> {
        match self.record_at(unit.physical_offset.max(0).cast_unsigned())? {
            Some(slice) => Ok(slice.record()?.store_timestamp()),
            // Expired, so older than anything asked for.
            None => Ok(0),
        }
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
            messages: Vec::new(),
            bytes: 0,
        }
    }
}

struct Limits {
    count: usize,
    bytes: Option<usize>,
    memory: TransferLimit,
    disk: TransferLimit,
}

impl Limits {
    fn new(request: &ReadRequest<'_>, memory: TransferLimit, disk: TransferLimit) -> Self {
        Self { count: request.count_max.max(1), bytes: request.bytes_max, memory, disk }
    }

    /// Whether a further message of this size is too much. The first one never is.
    fn is_full(&self, result: &ReadResult, size: usize, on_disk: bool) -> bool {
        let count = result.messages.len();
        if count == 0 {
            return false;
        }
        if count >= self.count {
            return true;
        }
        if let Some(bytes) = self.bytes {
            return result.bytes + size > bytes;
        }
        let limit = if on_disk { self.disk } else { self.memory };
        result.bytes + size > limit.bytes || count >= limit.count
    }
}

fn has_key(record: &Record<'_>, key: &[u8]) -> bool {
    properties::find(record.properties(), property::UNIQ_KEY) == Some(key)
        || properties::find(record.properties(), property::KEYS)
            .is_some_and(|keys| keys.split(|&byte| byte == b' ').any(|word| word == key))
}

/// Whether a record is the one that a unit of a queue stands for.
pub(super) fn belongs(record: &Record<'_>, queue: &ConsumeQueue, offset: i64) -> bool {
    let topic = queue.topic().as_bytes();
    if record.topic() == topic {
        return record.queue_id() == queue.queue_id() && record.queue_offset() == offset;
    }
    is_lmq(topic)
        || properties::find(record.properties(), property::INNER_MULTI_DISPATCH)
            .is_some_and(|names| names.split(|&byte| byte == b',').any(|name| name == topic))
}
