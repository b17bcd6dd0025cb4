//! What is derived from the log: consume queues and index. The same code serves normal work and recovery.

use std::iter;
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
pub const HALF_TOPIC: &[u8] = b"RMQ_SYS_TRANS_HALF_TOPIC";

/// The number that a record has in a queue: its own, or a further one that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    pub topic: &'a [u8],
    pub queue_id: i32,
    pub number: i64,
}

impl<'a> Place<'a> {
    pub fn own(record: &Record<'a>) -> Self {
        Self { topic: record.topic(), queue_id: record.queue_id(), number: record.queue_offset() }
    }

    fn is_in_queue_of(&self, other: &Self) -> bool {
        (self.topic, self.queue_id) == (other.topic, other.queue_id)
    }
}

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

    /// Enter a record into one of its queues.
    pub fn enter(
        &self,
        recent: &mut RecentQueues,
        place: &Place<'_>,
        record: &Record<'_>,
        properties: &DispatchProperties<'_>,
    ) -> Result<Taken> {
        let queue = recent.get(&self.queues, place.topic, place.queue_id)?;
        let mut unit = self.unit(record, properties);
        // As in the official store, a further queue has no extension.
        if queue.has_ext()
            && place.is_in_queue_of(&Place::own(record))
            && let Some(address) = queue.extend(place.number, unit.tags_code, record.store_timestamp())?
        {
            unit.tags_code = address;
        }
        Ok(match queue.append(place.number, unit)? {
            Appended::Gap { expected } => Taken::Gap { expected },
            Appended::Conflict => Taken::Conflict,
            Appended::Written | Appended::Repeated => Taken::Yes,
        })
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

    /// The places that a record takes. Half and rolled-back messages take none.
    pub fn places<'a>(
        &self,
        record: &Record<'a>,
        properties: &DispatchProperties<'a>,
    ) -> impl Iterator<Item = Place<'a>> + use<'a> {
        let own = Place::own(record);
        let further = self
            .light_queues(own.topic, properties)
            .map(move |(topic, number)| Place {
                topic,
                queue_id: light_queue_id(topic, own.queue_id),
                number,
            })
            .filter(move |place| !place.is_in_queue_of(&own));
        let is_consumable = record.transaction_type().is_consumable();
        iter::once(own).chain(further).filter(move |_| is_consumable)
    }

    /// Whether a record may take places beside its own.
    pub fn has_light_queues(&self) -> bool {
        self.config.has_light_queues()
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

/// Retry, dead letter, system and schedule topics are never dispatched to further queues, nor is the first half of a
/// transaction: nobody may read it before it is committed.
pub fn may_multi_dispatch(topic: &[u8]) -> bool {
    [RETRY_PREFIX, DEAD_PREFIX, SYSTEM_PREFIX].iter().all(|prefix| !topic.starts_with(prefix))
        && topic != SCHEDULE_TOPIC
        && topic != HALF_TOPIC
}

pub fn parse_number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}
