//! Answers to sends, at once or when the disk has the messages.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use super::codes::response;
use super::path::{HotPath, Settings};
use crate::log::append::Placed;
use crate::log::put::{PutStatus, Refusal};
use crate::message::ids::{MessageId, join_message_ids};
use crate::net::hot::{Asked, Reply, ReplyHandle};
use crate::net::text::Value;

const REGION_FIELD: &str = "MSG_REGION";
const TRACE_FIELD: &str = "TRACE_ON";

/// What the producer is told of a message, or batch, that is stored.
#[derive(Clone, Debug)]
pub struct Sent<'a> {
    pub message_ids: MessageIds,
    pub queue_id: i32,
    pub queue_offset: i64,
    pub unique_key: &'a str,
    /// By which a timed message can be taken back.
    pub recall_handle: Option<String>,
}

/// One id, or those of a batch joined by commas.
#[derive(Clone, Debug)]
pub enum MessageIds {
    One(MessageId),
    Many(String),
}

impl MessageIds {
    fn as_str(&self) -> &str {
        match self {
            Self::One(id) => id.as_str(),
            Self::Many(ids) => ids,
        }
    }
}

impl Sent<'_> {
    pub fn reply(&self, settings: &Settings, code: i32, remark: Option<&str>, send: impl FnOnce(&Reply<'_>)) {
        let fields = [
            ("msgId", Value::Text(self.message_ids.as_str())),
            ("queueId", Value::Int(i64::from(self.queue_id))),
            ("queueOffset", Value::Int(self.queue_offset)),
            (REGION_FIELD, Value::Text(&settings.options.region)),
            (TRACE_FIELD, Value::Bool(settings.options.trace_on)),
            ("transactionId", Value::Text(self.unique_key)),
            ("recallHandle", Value::Text(self.recall_handle.as_deref().unwrap_or_default())),
        ];
        // A message without a unique key has no handle either.
        let known = 5 + usize::from(!self.unique_key.is_empty()) + usize::from(self.recall_handle.is_some());
        send(&Reply { remark, fields: &fields[..known], ..Reply::code(code) });
    }
}

/// Answer a send that was not stored.
pub fn reply_refused(settings: &Settings, code: i32, remark: &str, send: impl FnOnce(&Reply<'_>)) {
    let fields = [
        (REGION_FIELD, Value::Text(&settings.options.region)),
        (TRACE_FIELD, Value::Bool(settings.options.trace_on)),
    ];
    send(&Reply { remark: Some(remark), fields: &fields, ..Reply::code(code) });
}

/// The response to what became of a put, on the hot path and in Python.
pub fn put_code(status: PutStatus) -> i32 {
    match status {
        PutStatus::Ok => response::SUCCESS,
        PutStatus::FlushDiskTimeout => response::FLUSH_DISK_TIMEOUT,
        PutStatus::FlushSlaveTimeout => response::FLUSH_SLAVE_TIMEOUT,
        PutStatus::SlaveNotAvailable => response::SLAVE_NOT_AVAILABLE,
        PutStatus::ServiceNotAvailable => response::SERVICE_NOT_AVAILABLE,
        PutStatus::MessageIllegal | PutStatus::PropertiesSizeExceeded => response::MESSAGE_ILLEGAL,
        PutStatus::OsPageCacheBusy => response::SYSTEM_BUSY,
        PutStatus::CreateMappedFileFailed
        | PutStatus::InSyncReplicasNotEnough
        | PutStatus::LmqQueuesExceeded
        | PutStatus::UnknownError => response::SYSTEM_ERROR,
    }
}

/// The words that RocketMQ's users search for.
fn known_words(status: PutStatus) -> &'static str {
    match status {
        PutStatus::OsPageCacheBusy => "[PC_SYNCHRONIZED]broker busy, start flow control for a while",
        PutStatus::ServiceNotAvailable => "service not available now, maybe disk full",
        PutStatus::CreateMappedFileFailed => "create mapped file failed, server is busy or broken.",
        PutStatus::MessageIllegal | PutStatus::PropertiesSizeExceeded => {
            "the message is illegal, maybe msg body or properties length not matched"
        }
        PutStatus::InSyncReplicasNotEnough => "in-sync replicas not enough",
        PutStatus::LmqQueuesExceeded => "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]",
        status => status.name(),
    }
}

impl Refusal {
    /// What the producer is told: those words, and the reason.
    pub fn remark(&self) -> String {
        format!("{} ({})", known_words(self.status), self.reason)
    }
}

/// Sends of one socket read that wait for the disk together: they lie side by side in the log.
#[derive(Debug)]
pub struct SentGroup {
    /// One past the last byte that has to be on disk.
    end: u64,
    /// The right to answer all of them.
    handle: ReplyHandle,
    sent: Vec<(Asked, Sent<'static>, Range<usize>)>,
    /// Their unique keys, one after another.
    keys: String,
}

impl SentGroup {
    pub fn new(handle: ReplyHandle) -> Self {
        Self { end: 0, handle, sent: Vec::new(), keys: String::new() }
    }

    pub fn add(&mut self, placed: &Placed, sent: Sent<'_>, asked: Asked) {
        self.end = self.end.max(placed.physical_offset + placed.size);
        let key_start = self.keys.len();
        self.keys.push_str(sent.unique_key);
        self.sent.push((asked, Sent { unique_key: "", ..sent }, key_start..self.keys.len()));
    }

    fn answer(self, settings: &Settings, code: i32, remark: Option<&str>) {
        self.handle.reply_all(|answers| {
            for (asked, sent, key) in self.sent {
                let sent = Sent { unique_key: &self.keys[key], ..sent };
                sent.reply(settings, code, remark, |reply| answers.reply(asked, reply));
            }
        });
    }
}

/// Sends that wait for the disk.
#[derive(Debug, Default)]
pub struct Unflushed {
    groups: Mutex<Vec<(Instant, SentGroup)>>,
    /// How many sends that are; read without the lock.
    sends: AtomicUsize,
}

impl Unflushed {
    fn put(&self, deadline: Instant, group: SentGroup) {
        let mut groups = self.groups.lock();
        self.sends.fetch_add(group.sent.len(), Ordering::Relaxed);
        groups.push((deadline, group));
    }

    fn take(&self, mut is_due: impl FnMut(Instant, &SentGroup) -> bool) -> Vec<(Instant, SentGroup)> {
        let mut groups = self.groups.lock();
        let taken: Vec<_> = groups.extract_if(.., |(deadline, group)| is_due(*deadline, group)).collect();
        self.sends.fetch_sub(count(&taken), Ordering::Relaxed);
        taken
    }

    pub fn sends(&self) -> usize {
        self.sends.load(Ordering::Relaxed)
    }
}

fn count(groups: &[(Instant, SentGroup)]) -> usize {
    groups.iter().map(|(_, group)| group.sent.len()).sum()
}

impl HotPath {
    /// Answer these sends when the log is flushed past them, or say at the deadline that it was not.
    pub fn hold_sent(&self, group: SentGroup, deadline: Instant) {
        self.unflushed.put(deadline, group);
        self.alarm.ring_by(deadline);
        // The flush may have come between the put and now.
        self.sent_is_flushed(self.store.log.flushed());
    }

    /// The log is on disk up to `offset`; `u64::MAX` when nothing more will be.
    pub fn sent_is_flushed(&self, offset: u64) {
        let flushed = self.unflushed.take(|_, group| group.end <= offset);
        if flushed.is_empty() {
            return;
        }
        let settings = self.settings();
        let safe = self.store.log.flushed();
        for (_, group) in flushed {
            if group.end <= safe {
                group.answer(&settings, response::SUCCESS, None);
            } else {
                group.answer(
                    &settings,
                    response::FLUSH_DISK_TIMEOUT,
                    Some("the log cannot be flushed any more"),
                );
            }
        }
    }

    /// Answer those whose time is up; returns when the next one's is.
    pub fn sent_is_late(&self, now: Instant) -> Option<Instant> {
        let settings = self.settings();
        for (_, group) in self.unflushed.take(|deadline, _| deadline <= now) {
            let remark = "the message is in the log, but was not flushed to disk in time";
            group.answer(&settings, response::FLUSH_DISK_TIMEOUT, Some(remark));
        }
        self.unflushed.groups.lock().iter().map(|(deadline, _)| *deadline).min()
    }

    /// The ids of a message, or of a batch of them.
    pub fn message_ids(&self, placed: Placed, count: usize) -> MessageIds {
        let host = self.store.store_host();
        if count == 1 {
            return MessageIds::One(MessageId::new(&host, placed.physical_offset.cast_signed()));
        }
        let offsets = self.store.record_offsets(placed, count).unwrap_or_default();
        MessageIds::Many(join_message_ids(&host, &offsets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: SP-14, SP-15, SP-16, SP-17, SP-18, SP-19, SP-20, SP-21, SP-22, SP-23
    #[test]
    fn every_put_status_has_rocketmqs_response_code() {
        let codes = PutStatus::ALL.map(|status| (status.name(), put_code(status)));
        assert_eq!(
            codes,
            [
                ("PUT_OK", 0),
                ("FLUSH_DISK_TIMEOUT", 10),
                ("FLUSH_SLAVE_TIMEOUT", 12),
                ("SLAVE_NOT_AVAILABLE", 11),
                ("IN_SYNC_REPLICAS_NOT_ENOUGH", 1),
                ("SERVICE_NOT_AVAILABLE", 14),
                ("CREATE_MAPPED_FILE_FAILED", 1),
                ("MESSAGE_ILLEGAL", 13),
                ("PROPERTIES_SIZE_EXCEEDED", 13),
                ("OS_PAGE_CACHE_BUSY", 2),
                ("UNKNOWN_ERROR", 1),
                ("LMQ_CONSUME_QUEUE_NUM_EXCEEDED", 1),
            ]
        );
    }

    #[test]
    fn a_refusal_says_rocketmqs_words_and_the_reason() {
        let remark = |status| Refusal { status, reason: "why".into(), placed: None }.remark();
        assert_eq!(
            remark(PutStatus::OsPageCacheBusy),
            "[PC_SYNCHRONIZED]broker busy, start flow control for a while (why)"
        );
        assert_eq!(remark(PutStatus::UnknownError), "UNKNOWN_ERROR (why)");
        assert!(PutStatus::ALL.iter().all(|&status| remark(status).ends_with("(why)")));
    }
}
