//! What is derived from the log: consume queues and index. The same code serves normal work and recovery.

use std::sync::Arc;

use super::config::StoreConfig;
use super::index::{IndexRequest, IndexService, IndexWriter};
use super::notes::{Level, Notes};
use super::queue::{Appended, ConsumeQueue, QueueTable, RecentQueues, Unit, can_be_topic};
use crate::error::{Error, Result};
use crate::message::ids::{TopicHash, tags_code};
use crate::message::layout::RECORD_BYTES_MIN;
use crate::message::{DispatchProperties, Record, TransactionType};

const LMQ_PREFIX: &[u8] = b"%LMQ%";
const RETRY_PREFIX: &[u8] = b"%RETRY%";
const DEAD_PREFIX: &[u8] = b"%DLQ%";
const SYSTEM_PREFIX: &[u8] = b"rmq_sys_";
const SCHEDULE_TOPIC: &[u8] = b"SCHEDULE_TOPIC_XXXX";

/// How a queue took a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Yes,
    /// The queue lacks units before this one.
    Gap {
        expected: i64,
    },
    /// The record's place is another's, though the record is newer than all in the queue.
    Conflict,
}

/// How far a message's number in its queue is to be believed, when it leaves a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// The writer gave it out, or the next message bears it out.
    Sure,
    /// It stands alone in a log that may be damaged.
    Doubtful,
}

#[derive(Debug)]
pub struct Derived {
    config: Arc<StoreConfig>,
    pub queues: QueueTable,
    pub index: Option<IndexService>,
    notes: Arc<Notes>,
}

impl Derived {
    pub fn new(
        config: Arc<StoreConfig>,
        queues: QueueTable,
        index: Option<IndexService>,
        notes: Arc<Notes>,
    ) -> Self {
        Self { config, queues, index, notes }
    }

    /// Enter a record into its own queue. Half and rolled-back messages have none.
    pub fn enqueue(
        &self,
        recent: &mut RecentQueues,
        record: &Record<'_>,
        properties: &DispatchProperties<'_>,
    ) -> Result<Taken> {
        if !record.transaction_type().is_consumable() {
            return Ok(Taken::Yes);
        }
        let queue = recent.get(&self.queues, record.topic(), record.queue_id())?;
        put(queue, record.queue_offset(), self.unit(record, properties), record)
    }

    /// Enter a record into the further queues that it names. One that cannot take it is passed over.
    pub fn enqueue_light(
        &self,
        recent: &mut RecentQueues,
        record: &Record<'_>,
        properties: &DispatchProperties<'_>,
        numbers: Numbers,
    ) -> Result<()> {
        for (name, queue_id, offset) in self.light_places(record, properties) {
            let unit = self.unit(record, properties);
            let taken = recent
                .get(&self.queues, name, queue_id)
                .and_then(|queue| self.put_light(queue, offset, unit, numbers));
            self.skip_unplaceable(taken, record)?;
        }
        Ok(())
    }

    fn put_light(&self, queue: &ConsumeQueue, offset: i64, unit: Unit, numbers: Numbers) -> Result<()> {
        // As in the official store, such a queue has no extension.
        match queue.append(offset, unit)? {
            Appended::Gap { expected } => self.close_gap(queue, expected, offset, unit, numbers)?,
            Appended::Conflict => self.note_conflict(queue, offset, unit),
            Appended::Written | Appended::Repeated => {}
        }
        Ok(())
    }

    /// A record whose topic or number can be nobody's is damaged. It is said, and no reason to stop.
    #[inline]
    pub fn skip_unplaceable(&self, taken: Result<()>, record: &Record<'_>) -> Result<()> {
        match taken {
            Err(Error::Config(reason)) => {
                let offset = record.physical_offset();
                self.notes.say(
                    Level::Error,
                    format!("the message at offset {offset} is damaged and in no queue: {reason}"),
                );
                Ok(())
            }
            Err(error) => Err(error),
            Ok(()) => Ok(()),
        }
    }

    /// Say that a message has no place in a queue, since its number is another's.
    pub fn note_conflict(&self, queue: &ConsumeQueue, offset: i64, unit: Unit) {
        self.notes.say(
            Level::Error,
            format!(
                "queue {}-{}: number {offset} is taken, so the message at offset {} is left out",
                queue.topic(),
                queue.queue_id(),
                unit.physical_offset
            ),
        );
    }

    /// The further queues that a record names, and its offset in each. Its own is none of them.
    pub fn light_places<'a>(
        &self,
        record: &Record<'a>,
        properties: &DispatchProperties<'a>,
    ) -> impl Iterator<Item = (&'a [u8], i32, i64)> + use<'a> {
        let is_consumable = record.transaction_type().is_consumable();
        let (topic, queue_id) = (record.topic(), record.queue_id());
        self.light_queues(topic, properties)
            .filter(move |_| is_consumable)
            .map(move |(name, offset)| (name, light_queue_id(name, queue_id), offset))
            .filter(move |&(name, light_id, _)| (name, light_id) != (topic, queue_id))
    }

    /// Fill the units that the log no longer has with blanks, so that later ones keep their offsets.
    pub fn close_gap(
        &self,
        queue: &ConsumeQueue,
        expected: i64,
        offset: i64,
        unit: Unit,
        numbers: Numbers,
    ) -> Result<()> {
        let name = format!("queue {}-{}", queue.topic(), queue.queue_id());
        // Each message that is missing took room in the log. A number beyond that is a damaged one.
        let room = unit.physical_offset.saturating_sub(queue.max_physical_offset().max(0));
        let has_room = (offset - expected).saturating_mul(RECORD_BYTES_MIN as i64) <= room;
        if numbers == Numbers::Doubtful && !has_room {
            self.notes.say(
                Level::Error,
                format!(
                    "{name}: the message at offset {} says it is number {offset}, after number {}: it is damaged \
                     and left out",
                    unit.physical_offset,
                    expected - 1
                ),
            );
            return Ok(());
        }
        self.notes.say(
            Level::Error,
            format!(
                "{name}: messages {expected} to {} are not in the log; their places are left blank",
                offset - 1
            ),
        );
        queue.fill_blank(offset)?;
        queue.append(offset, unit)?;
        Ok(())
    }

    /// The unit that a record has in its own queue.
    pub fn unit_of(&self, record: &Record<'_>) -> Unit {
        self.unit(record, &DispatchProperties::for_dispatch(record.properties()))
    }

    fn unit(&self, record: &Record<'_>, properties: &DispatchProperties<'_>) -> Unit {
        Unit {
            physical_offset: record.physical_offset(),
            size: record.size() as i32,
            tags_code: self.tags_code(record, properties),
        }
    }

    /// Begin to index records, if there is an index.
    pub fn index_writer(&self) -> Option<IndexWriter<'_>> {
        self.index.as_ref().map(IndexService::writer)
    }

    /// Delayed messages wait in a queue whose tags codes are delivery times.
    fn tags_code(&self, record: &Record<'_>, properties: &DispatchProperties<'_>) -> i64 {
        if record.topic() == SCHEDULE_TOPIC
            && let Some(level) = properties.delay.and_then(parse_number)
            && level > 0
            && !self.config.delay_levels.is_empty()
        {
            let level = (level as usize).min(self.config.delay_levels.len());
            return record.store_timestamp().saturating_add(self.config.delay_levels[level - 1]);
        }
        properties.tags.map_or(0, tags_code)
    }

    /// The further queues a record goes to, with its offset in each.
    fn light_queues<'a>(
        &self,
        topic: &[u8],
        properties: &DispatchProperties<'a>,
    ) -> impl Iterator<Item = (&'a [u8], i64)> + use<'a> {
        let both = match (properties.multi_dispatch, properties.multi_queue_offset) {
            (Some(names), Some(offsets)) if self.config.has_light_queues() && may_multi_dispatch(topic) => {
                let count = |text: &[u8]| text.split(|&byte| byte == b',').count();
                (count(names) == count(offsets)).then_some((names, offsets))
            }
            _ => None,
        };
        both.into_iter()
            .flat_map(|(names, offsets)| {
                let offsets = offsets.split(|&byte| byte == b',').map(parse_number);
                names
                    .split(|&byte| byte == b',')
                    .zip(offsets)
                    .filter_map(|(name, offset)| Some((name, offset?)))
            })
            .filter(|(name, _)| is_light_queue_name(name))
    }
}

/// Enter a record's keys and tags into the index, which ignores what it has.
pub fn index(
    writer: &mut IndexWriter<'_>,
    record: &Record<'_>,
    properties: &DispatchProperties<'_>,
) -> Result<()> {
    if record.transaction_type() == TransactionType::Rollback {
        return Ok(());
    }
    let words = properties.keys.into_iter().flat_map(|keys| keys.split(|&byte| byte == b' '));
    let keys = properties.uniq_key.into_iter().chain(words.filter(|word| !word.is_empty()));
    let tags = properties.tags.filter(|tags| !tags.is_empty());
    let topic = TopicHash::of(record.topic());
    let hashes = keys.map(|key| topic.with_key(key));
    writer.build(IndexRequest {
        physical_offset: record.physical_offset(),
        store_timestamp: record.store_timestamp(),
        hashes: hashes.chain(tags.map(|tags| topic.with_tags(tags))),
    })
}

fn put(queue: &ConsumeQueue, offset: i64, mut unit: Unit, record: &Record<'_>) -> Result<Taken> {
    if let Some(address) = queue.extend(offset, unit.tags_code, record.store_timestamp())? {
        unit.tags_code = address;
    }
    Ok(match queue.append(offset, unit)? {
        Appended::Gap { expected } => Taken::Gap { expected },
        Appended::Conflict => Taken::Conflict,
        Appended::Written | Appended::Repeated => Taken::Yes,
    })
}

/// The names in `INNER_MULTI_DISPATCH` that stand for a queue.
pub fn light_queue_names(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b',')
}

pub fn is_light_queue_name(name: &[u8]) -> bool {
    can_be_topic(name)
}

pub fn is_lmq(name: &[u8]) -> bool {
    name.starts_with(LMQ_PREFIX)
}

/// A light queue has one queue; any other name shares the message's queue id.
pub fn light_queue_id(name: &[u8], queue_id: i32) -> i32 {
    if is_lmq(name) { 0 } else { queue_id }
}

/// Retry, dead letter, system and schedule topics are never dispatched to further queues.
pub fn may_multi_dispatch(topic: &[u8]) -> bool {
    [RETRY_PREFIX, DEAD_PREFIX, SYSTEM_PREFIX].iter().all(|prefix| !topic.starts_with(prefix))
        && topic != SCHEDULE_TOPIC
}

pub fn parse_number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}
