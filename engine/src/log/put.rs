//! Putting messages: the gates before the log, the append, and what an acknowledgement waits for.

use std::collections::HashSet;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::append::{AppendFailure, Appender, Placed};
use super::clock::coarse;
use super::config::FlushMode;
use super::derived::{is_light_queue_name, is_lmq, light_queue_id, light_queue_names, may_multi_dispatch};
use super::notes::Level;
use super::queue::ConsumeQueue;
use super::store::Store;
use crate::error::Error;
use crate::message::layout::{PROPERTIES_BYTES_MAX, TOPIC_BYTES_MAX, property};
use crate::message::{Draft, Encoding, Prepared, TransactionType, crc, properties};

/// Beyond the body a record may take this much.
const RECORD_OVERHEAD_MAX: usize = 64 * 1024;
/// A writer this far ahead of the dispatcher waits: what is acknowledged is to be consumable.
const DISPATCH_LAG_MAX: u64 = 64 << 20;
const DISPATCH_LAG_CHECK: u64 = 1 << 20;
/// With sync flush a writer that does not wait itself is held back this far ahead of the disk: whoever waits
/// for its acknowledgement takes memory.
const FLUSH_LAG_MAX: u64 = 32 << 20;
const LAG_PAUSE: Duration = Duration::from_micros(200);
/// A lock held longer than this is a clock that was set, not a busy page cache.
const LOCK_AGE_MAX_MS: i64 = 10_000_000;
/// A closed gate says so once for this many refused puts.
const REFUSALS_PER_NOTE: u64 = 50_000;
const SLOW_PUT: Duration = Duration::from_millis(500);

/// RocketMQ's answers to a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PutStatus {
    Ok,
    FlushDiskTimeout,
    FlushSlaveTimeout,
    SlaveNotAvailable,
    InSyncReplicasNotEnough,
    ServiceNotAvailable,
    CreateMappedFileFailed,
    MessageIllegal,
    PropertiesSizeExceeded,
    OsPageCacheBusy,
    UnknownError,
    LmqQueuesExceeded,
}

impl PutStatus {
    pub const ALL: [Self; 12] = [
        Self::Ok,
        Self::FlushDiskTimeout,
        Self::FlushSlaveTimeout,
        Self::SlaveNotAvailable,
        Self::InSyncReplicasNotEnough,
        Self::ServiceNotAvailable,
        Self::CreateMappedFileFailed,
        Self::MessageIllegal,
        Self::PropertiesSizeExceeded,
        Self::OsPageCacheBusy,
        Self::UnknownError,
        Self::LmqQueuesExceeded,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "PUT_OK",
            Self::FlushDiskTimeout => "FLUSH_DISK_TIMEOUT",
            Self::FlushSlaveTimeout => "FLUSH_SLAVE_TIMEOUT",
            Self::SlaveNotAvailable => "SLAVE_NOT_AVAILABLE",
            Self::InSyncReplicasNotEnough => "IN_SYNC_REPLICAS_NOT_ENOUGH",
            Self::ServiceNotAvailable => "SERVICE_NOT_AVAILABLE",
            Self::CreateMappedFileFailed => "CREATE_MAPPED_FILE_FAILED",
            Self::MessageIllegal => "MESSAGE_ILLEGAL",
            Self::PropertiesSizeExceeded => "PROPERTIES_SIZE_EXCEEDED",
            Self::OsPageCacheBusy => "OS_PAGE_CACHE_BUSY",
            Self::UnknownError => "UNKNOWN_ERROR",
            Self::LmqQueuesExceeded => "LMQ_CONSUME_QUEUE_NUM_EXCEEDED",
        }
    }
}

/// A put that was not acknowledged, and why.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub status: PutStatus,
    pub reason: String,
    /// Set when the messages are in the log, but not known to be on disk.
    pub placed: Option<Placed>,
}

impl Refusal {
    pub(super) fn new(status: PutStatus, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into(), placed: None }
    }
}

impl From<AppendFailure> for Refusal {
    fn from(failure: AppendFailure) -> Self {
        let status = match failure {
            AppendFailure::LargerThanFile { .. } | AppendFailure::NoQueue(Error::Config(_)) => {
                PutStatus::MessageIllegal
            }
            // That the disk is in trouble says nothing against the message.
            AppendFailure::NoQueue(_) | AppendFailure::NoFile(_) => PutStatus::CreateMappedFileFailed,
            AppendFailure::Broken(_) => PutStatus::UnknownError,
        };
        Self::new(status, failure.to_string())
    }
}

impl Store {
    /// Store one message. It is acknowledged when this returns.
    pub fn put(&self, draft: &Draft<'_>, wait: bool) -> Result<Placed, Refusal> {
        self.put_batch(std::slice::from_ref(draft), wait)
    }

    /// Store messages of one queue as a unit.
    pub fn put_batch(&self, drafts: &[Draft<'_>], wait: bool) -> Result<Placed, Refusal> {
        let began = coarse();
        let result = self.try_put(drafts, wait);
        self.count_puts(coarse().saturating_sub(began), &[drafts], slice::from_ref(&result));
        result
    }

    fn try_put(&self, drafts: &[Draft<'_>], wait: bool) -> Result<Placed, Refusal> {
        self.gates()?;
        self.check(drafts, self.message_bytes_max())?;
        self.make_way()?;
        let placed = self.append(drafts)?;
        self.settle(placed, wait)
    }

    pub(super) fn count_puts(
        &self,
        took: Duration,
        units: &[&[Draft<'_>]],
        results: &[Result<Placed, Refusal>],
    ) {
        self.stats.took(units.len(), took);
        if took > SLOW_PUT {
            let bytes: usize = units.iter().copied().flatten().map(|draft| draft.body.len()).sum();
            self.notes.say(Level::Warning, format!("a put of {bytes} bytes took {} ms", took.as_millis()));
        }
        for refusal in results.iter().filter_map(|result| result.as_ref().err()) {
            self.stats.refused(refusal.status);
        }
    }

    /// Whether the store takes writes at all.
    pub(super) fn gates(&self) -> Result<(), Refusal> {
        let refuse = |status, reason: String| Err(Refusal::new(status, reason));
        if self.is_closed() {
            return refuse(PutStatus::ServiceNotAvailable, "the store is closed".into());
        }
        if self.config.is_slave {
            let reason = "the store is a slave's: write to its master".to_owned();
            self.note_closed_gate(&reason);
            return refuse(PutStatus::ServiceNotAvailable, reason);
        }
        if !self.flags.is_writable() {
            let reason = format!(
                "the store takes no writes now: {} (flags {})",
                self.flags.describe(),
                self.flags.bits()
            );
            self.note_closed_gate(&reason);
            return refuse(PutStatus::ServiceNotAvailable, reason);
        }
        if self.flusher.has_failed() {
            return refuse(
                PutStatus::ServiceNotAvailable,
                "the store takes no writes: a flush failed, restart it to recover".into(),
            );
        }
        self.stats.gate_opened();
        Ok(())
    }

    /// Whether messages, with bodies of `body_max` bytes at most, can be stored as one unit.
    pub(super) fn check(&self, drafts: &[Draft<'_>], body_max: usize) -> Result<(), Refusal> {
        let refuse = |status, reason: String| Err(Refusal::new(status, reason));
        let Some(first) = drafts.first() else {
            return refuse(PutStatus::MessageIllegal, "a batch needs at least one message".into());
        };
        let topic = first.topic;
        let long_allowed = topic.starts_with(b"%RETRY%");
        if topic.is_empty()
            || topic.len() > TOPIC_BYTES_MAX
            || (topic.len() > self.config.topic_bytes_max && !long_allowed)
        {
            return refuse(
                PutStatus::MessageIllegal,
                format!(
                    "the topic has {} bytes; 1 to {} are allowed",
                    topic.len(),
                    self.config.topic_bytes_max
                ),
            );
        }
        for draft in drafts {
            self.check_sizes(draft, drafts.len() > 1, body_max)?;
        }
        Ok(())
    }

    /// Refuse when the log is stuck, and wait when its followers cannot keep up.
    pub(super) fn make_way(&self) -> Result<(), Refusal> {
        if self.is_page_cache_busy() {
            return Err(Refusal::new(
                PutStatus::OsPageCacheBusy,
                format!("an append has held the log for over {} ms", self.config.page_cache_busy.as_millis()),
            ));
        }
        self.wait_for_followers();
        Ok(())
    }

    /// Producers try again and again: one line for many refusals.
    fn note_closed_gate(&self, reason: &str) {
        if self.stats.gate_closed().is_multiple_of(REFUSALS_PER_NOTE) {
            self.notes.say(Level::Warning, format!("puts are refused: {reason}"));
        }
    }

    fn check_sizes(&self, draft: &Draft<'_>, in_batch: bool, body_max: usize) -> Result<(), Refusal> {
        if draft.properties.len() > PROPERTIES_BYTES_MAX {
            return Err(Refusal::new(
                PutStatus::PropertiesSizeExceeded,
                format!(
                    "the properties take {} bytes; at most {PROPERTIES_BYTES_MAX} are allowed",
                    draft.properties.len()
                ),
            ));
        }
        if draft.body.len() > body_max {
            return Err(Refusal::new(
                PutStatus::MessageIllegal,
                format!("the body has {} bytes; maxMessageSize allows {body_max}", draft.body.len()),
            ));
        }
        if in_batch {
            let transaction = TransactionType::of_sys_flag(draft.sys_flag);
            let delay = properties::find(draft.properties, property::DELAY);
            if transaction != TransactionType::Not || delay.is_some_and(|level| level != b"0") {
                return Err(Refusal::new(
                    PutStatus::MessageIllegal,
                    "a batch can hold neither transactional nor delayed messages",
                ));
            }
            if self.config.has_light_queues()
                && properties::find(draft.properties, property::INNER_MULTI_DISPATCH).is_some()
            {
                let reason = "a message for light queues cannot be part of a batch: put it alone";
                return Err(Refusal::new(PutStatus::MessageIllegal, reason));
            }
        }
        Ok(())
    }

    /// Whether the append lock has been held suspiciously long.
    pub fn is_page_cache_busy(&self) -> bool {
        let held = self.log.lock_held_ms();
        held > self.config.page_cache_busy.as_millis() as i64 && held < LOCK_AGE_MAX_MS
    }

    /// Hold a writer back that the dispatcher or the disk cannot follow. Looks only once in a while: the dispatcher's
    /// position is on a cache line that it changes all the time.
    fn wait_for_followers(&self) {
        let written = self.log.written();
        if written < self.lag_check_at.load(Ordering::Relaxed) {
            return;
        }
        self.lag_check_at.store(written + DISPATCH_LAG_CHECK, Ordering::Relaxed);
        while self.dispatcher.behind() > DISPATCH_LAG_MAX && self.flags.is_writable() && !self.is_closed() {
            self.dispatcher.signal.raise();
            std::thread::sleep(LAG_PAUSE);
        }
        while self.flush_lag() > FLUSH_LAG_MAX && !self.flusher.has_failed() && !self.is_closed() {
            self.flusher.wake.raise();
            std::thread::sleep(LAG_PAUSE);
        }
    }

    /// Bytes that somebody waits to see on disk.
    fn flush_lag(&self) -> u64 {
        match self.config.flush_mode {
            FlushMode::Sync => self.log.written().saturating_sub(self.log.flushed()),
            FlushMode::Async => 0,
        }
    }

    fn append(&self, drafts: &[Draft<'_>]) -> Result<Placed, Refusal> {
        let (queues, place) = (&self.derived.queues, (drafts[0].topic, drafts[0].queue_id));
        let body_max = self.message_bytes_max();
        if let [draft] = drafts {
            if self.names_light_queues(draft)? {
                return self.append_to_many(&mut self.lock_log()?, draft, body_max);
            }
            let prepared = self.prepare(draft, body_max)?;
            return Ok(self.lock_log()?.append_to(queues, place, slice::from_ref(&prepared))?);
        }
        let prepared =
            drafts.iter().map(|draft| self.prepare(draft, body_max)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.lock_log()?.append_to(queues, place, &prepared)?)
    }

    /// The append lock, unless the store was closed while we waited for it.
    pub(super) fn lock_log(&self) -> Result<Appender<'_>, Refusal> {
        let appender = self.log.lock();
        if self.is_closed() {
            return Err(Refusal::new(PutStatus::ServiceNotAvailable, "the store is closed"));
        }
        Ok(appender)
    }

    pub(super) fn queue_for_put(&self, topic: &[u8], queue_id: i32) -> Result<Arc<ConsumeQueue>, Refusal> {
        self.derived
            .queues
            .get_or_create(topic, queue_id)
            .map_err(|error| AppendFailure::NoQueue(error).into())
    }

    #[inline]
    pub(super) fn prepare<'a>(&self, draft: &'a Draft<'a>, body_max: usize) -> Result<Prepared<'a>, Refusal> {
        let encoding = Encoding {
            body_crc: crc::body_crc(draft.body),
            property_crc: self.config.append_property_crc,
            long_topics: self.config.long_topics_use_v2,
        };
        let prepared = draft
            .prepare(encoding)
            .map_err(|unstorable| Refusal::new(PutStatus::MessageIllegal, unstorable.to_string()))?;
        let max = body_max.saturating_add(RECORD_OVERHEAD_MAX);
        if prepared.encoded_len() > max {
            return Err(Refusal::new(
                PutStatus::MessageIllegal,
                format!("the record would have {} bytes; at most {max} are allowed", prepared.encoded_len()),
            ));
        }
        Ok(prepared)
    }

    /// Whether a message names further queues, where that is enabled and allowed for its topic. Refused when it would
    /// make more light queues than there may be.
    pub(super) fn names_light_queues(&self, draft: &Draft<'_>) -> Result<bool, Refusal> {
        // What takes no place in its own queue takes none in others.
        let has_place = TransactionType::of_sys_flag(draft.sys_flag).is_consumable();
        if !self.config.has_light_queues() || !has_place || !may_multi_dispatch(draft.topic) {
            return Ok(false);
        }
        let Some(names) = properties::find(draft.properties, property::INNER_MULTI_DISPATCH) else {
            return Ok(false);
        };
        let is_new = |name: &&[u8]| {
            is_light_queue_name(name) && is_lmq(name) && self.derived.queues.get(name, 0).is_none()
        };
        let new: HashSet<&[u8]> = light_queue_names(names).filter(is_new).collect();
        let max = self.config.lmq_queues_max;
        if !new.is_empty() && self.derived.queues.count_with_prefix("%LMQ%") + new.len() > max {
            return Err(Refusal::new(
                PutStatus::LmqQueuesExceeded,
                format!("there are {max} light queues already (maxLmqConsumeQueueNum)"),
            ));
        }
        Ok(true)
    }

    /// The further queues that a message names, by their place in its list, since numbers go by place; `None` for a
    /// name that no queue can have. To be asked under the append lock: a topic that is deleted takes its queues along.
    fn light_queues_of(&self, draft: &Draft<'_>) -> Result<Vec<Option<Arc<ConsumeQueue>>>, Refusal> {
        let names = properties::find(draft.properties, property::INNER_MULTI_DISPATCH).unwrap_or_default();
        light_queue_names(names)
            .map(|name| {
                is_light_queue_name(name)
                    .then(|| self.queue_for_put(name, light_queue_id(name, draft.queue_id)))
                    .transpose()
            })
            .collect()
    }

    /// Append a message that also takes a place in light queues: their offsets go into its properties.
    pub(super) fn append_to_many(
        &self,
        appender: &mut Appender<'_>,
        draft: &Draft<'_>,
        body_max: usize,
    ) -> Result<Placed, Refusal> {
        let queue = self.queue_for_put(draft.topic, draft.queue_id)?;
        let light = self.light_queues_of(draft)?;
        let offset = |queue: &Option<Arc<ConsumeQueue>>| queue.as_ref().map_or(0, |queue| queue.next());
        let offsets: Vec<i64> = light.iter().map(offset).collect();
        let numbers: Vec<String> = offsets.iter().map(i64::to_string).collect();
        let mut text = Vec::with_capacity(draft.properties.len() + 64);
        for (name, value) in properties::iter(draft.properties) {
            if name != property::INNER_MULTI_QUEUE_OFFSET {
                properties::push(&mut text, name, value);
            }
        }
        properties::push(&mut text, property::INNER_MULTI_QUEUE_OFFSET, numbers.join(",").as_bytes());
        let draft = Draft { properties: &text, ..*draft };
        let placed = appender.append(&self.prepare(&draft, body_max)?, &queue)?;
        // One further than the number that was written, however often the list names the queue, which may also be
        // the message's own.
        for (queue, offset) in light.iter().zip(offsets) {
            if let Some(queue) = queue {
                queue.set_next(offset + 1);
            }
        }
        Ok(placed)
    }

    /// Tell the threads that follow the log, and wait for the disk where that was promised.
    pub(super) fn settle(&self, placed: Placed, wait: bool) -> Result<Placed, Refusal> {
        let end = placed.physical_offset + placed.size;
        match self.config.flush_mode {
            FlushMode::Async if self.config.transient_pool.is_some() => self.commit_wake.raise(),
            FlushMode::Async => {
                self.dispatcher.signal.raise();
                self.flusher.nudge();
            }
            FlushMode::Sync if !wait => self.flusher.wake.raise(),
            FlushMode::Sync => {
                if !self.flusher.wait_flushed(end, self.config.sync_flush_timeout) {
                    return Err(Refusal {
                        status: PutStatus::FlushDiskTimeout,
                        reason: "the message is in the log, but was not flushed to disk in time".into(),
                        placed: Some(placed),
                    });
                }
            }
        }
        Ok(placed)
    }
}
