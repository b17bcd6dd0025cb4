//! Messages as a client received them: views into the bytes they came in, decoded when asked.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

pub use crate::message::Damage;
use crate::message::layout::property;
use crate::message::{BadRecord, BatchEntry, Record, batch, content, crc, properties};

const RETRY_PREFIX: &[u8] = b"%RETRY%";

/// How messages are to be read; the same for all that one reader gets.
#[derive(Clone, Debug)]
pub struct Reading {
    pub broker: Box<str>,
    /// Taken off the topics that users see.
    pub namespace: Option<Box<str>>,
    /// Whether a body must fit its checksum.
    pub check_crc: bool,
    /// What a compressed body may grow to.
    pub body_bytes_max: usize,
}

impl Reading {
    fn body_of<'a>(&self, record: &Record<'a>) -> Result<Cow<'a, [u8]>, Damage> {
        content::body_of(record, self.check_crc, self.body_bytes_max)
    }
}

/// The bytes of one answer, which its messages share.
#[derive(Debug)]
pub struct Answer {
    pub reading: Arc<Reading>,
    pub bytes: Box<[u8]>,
    /// The first offset of the queue, and the one after its last.
    pub bounds: Option<(i64, i64)>,
    /// Added to the offsets of a queue that moved here from another broker.
    pub offset_delta: i64,
}

/// The tags that are wanted: the broker judges them by their hash, which others may share. Empty: all are.
pub type Tags = HashSet<Box<[u8]>>;

/// One message.
#[derive(Clone, Debug)]
pub struct Received {
    answer: Arc<Answer>,
    at: u32,
    len: u32,
    part: Option<Box<Part>>,
}

/// A message of a batch that was stored as one.
#[derive(Clone, Debug)]
struct Part {
    batch: Arc<[u8]>,
    index: i64,
    flag: i32,
    body: Range<usize>,
    properties: Range<usize>,
}

impl Answer {
    /// The messages with the right tags, up to the end or to bytes that are none.
    ///
    /// A batch that was stored as one may begin before the offsets that are wanted, and who looks for tags may find
    /// some behind them; what is outside is left out.
    pub fn messages(self: &Arc<Self>, wanted: Range<i64>, tags: &Tags) -> (Vec<Received>, Option<BadRecord>) {
        let mut found = Vec::with_capacity(self.bytes.len() / 256 + 1);
        let mut at = 0;
        while at < self.bytes.len() {
            let record = match Record::parse(&self.bytes[at..]) {
                Ok(record) => record,
                Err(bad) => return (found, Some(bad)),
            };
            let message =
                Received { answer: self.clone(), at: at as u32, len: record.size() as u32, part: None };
            at += record.size();
            match message.parts(&record) {
                Some(parts) => found.extend(parts.into_iter().filter(|part| {
                    wanted.contains(&part.queue_offset()) && is_wanted(tags, part.properties_text())
                })),
                None if self.offset_of(&record) < wanted.end && is_wanted(tags, record.properties()) => {
                    found.push(message);
                }
                None => {}
            }
        }
        (found, None)
    }

    /// It wraps only when the server makes up offsets.
    fn offset_of(&self, record: &Record<'_>) -> i64 {
        record.queue_offset().wrapping_add(self.offset_delta)
    }
}

pub(crate) fn is_wanted(wanted: &Tags, text: &[u8]) -> bool {
    wanted.is_empty() || properties::find(text, property::TAGS).is_some_and(|tags| wanted.contains(tags))
}

impl Received {
    /// The messages inside; `None` when it is one message, or damaged, which shows when its body is asked for.
    fn parts(&self, record: &Record<'_>) -> Option<Vec<Self>> {
        if !content::is_batch(record) {
            return None;
        }
        let batch: Arc<[u8]> = self.body().ok()?.into();
        let part = |(index, entry): (usize, Result<BatchEntry<'_>, _>)| {
            let BatchEntry { flag, body, properties } = entry.ok()?;
            let (body, properties) = (range_in(&batch, body), range_in(&batch, properties));
            let part = Part { batch: batch.clone(), index: index as i64, flag, body, properties };
            Some(Self { answer: self.answer.clone(), at: self.at, len: self.len, part: Some(part.into()) })
        };
        batch::entries(&batch).enumerate().map(part).collect()
    }

    /// The record it came in.
    pub fn record(&self) -> Record<'_> {
        let at = self.at as usize;
        let bytes = &self.answer.bytes[at..at + self.len as usize];
        Record::parse(bytes).expect("it was checked when the answer was taken apart")
    }

    pub fn broker(&self) -> &str {
        &self.answer.reading.broker
    }

    /// Bytes it takes.
    pub fn size(&self) -> usize {
        self.part.as_ref().map_or(self.len as usize, |part| part.body.len() + part.properties.len())
    }

    /// The topic its reader subscribed to: a message that is tried again shows where it was first sent to.
    pub fn topic(&self) -> Cow<'_, str> {
        let stored = self.record().topic();
        let first = stored.starts_with(RETRY_PREFIX).then(|| self.property(property::RETRY_TOPIC)).flatten();
        let topic = first.unwrap_or(Cow::Borrowed(stored));
        match (&self.answer.reading.namespace, topic) {
            (Some(namespace), topic) => {
                text(&without_namespace(&topic, namespace.as_bytes())).into_owned().into()
            }
            (None, Cow::Borrowed(topic)) => text(topic),
            (None, Cow::Owned(topic)) => text(&topic).into_owned().into(),
        }
    }

    pub fn queue_offset(&self) -> i64 {
        let index = self.part.as_ref().map_or(0, |part| part.index);
        self.answer.offset_of(&self.record()).wrapping_add(index)
    }

    pub fn flag(&self) -> i32 {
        self.part.as_ref().map_or_else(|| self.record().flag(), |part| part.flag)
    }

    /// The body as it was sent, before its sender compressed it.
    pub fn body(&self) -> Result<Cow<'_, [u8]>, Damage> {
        if let Some(part) = &self.part {
            return Ok(Cow::Borrowed(&part.batch[part.body.clone()]));
        }
        self.answer.reading.body_of(&self.record())
    }

    fn properties_text(&self) -> &[u8] {
        if let Some(part) = &self.part {
            return &part.batch[part.properties.clone()];
        }
        crc::without_property_crc(self.record().properties())
    }

    /// All properties; those that tell the bounds of the queue come from the answer.
    pub fn properties(&self) -> impl Iterator<Item = (Cow<'_, [u8]>, Cow<'_, [u8]>)> {
        let stored = properties::iter(self.properties_text())
            .map(|(name, value)| (Cow::Borrowed(name), Cow::Borrowed(value)));
        let bounds = [property::MIN_OFFSET, property::MAX_OFFSET]
            .into_iter()
            .filter_map(|name| self.bound(name).map(|value| (Cow::Borrowed(name), Cow::Owned(value))));
        stored.chain(bounds)
    }

    pub fn property(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let bound = self.bound(name).map(Cow::Owned);
        bound.or_else(|| properties::find(self.properties_text(), name).map(Cow::Borrowed))
    }

    fn bound(&self, name: &[u8]) -> Option<Vec<u8>> {
        let (min, max) = self.answer.bounds?;
        match name {
            property::MIN_OFFSET => Some(min.to_string().into_bytes()),
            property::MAX_OFFSET => Some(max.to_string().into_bytes()),
            _ => None,
        }
    }

    /// The id its sender gave it, or else the one by which brokers find it.
    pub fn message_id(&self) -> String {
        self.property(property::UNIQ_KEY)
            .map_or_else(|| self.record().offset_message_id(), |id| text(&id).into_owned())
    }

    /// The id of the transaction it was sent in.
    pub fn transaction_id(&self) -> Option<String> {
        let given = self.property(property::TRANSACTION_ID);
        let sent = || {
            let is_transaction = self.property(property::TRAN_MSG)?.eq_ignore_ascii_case(b"true");
            is_transaction.then(|| self.property(property::UNIQ_KEY)).flatten()
        };
        given.or_else(sent).map(|id| text(&id).into_owned())
    }
}

/// Where `part` stands in `whole`, which it was cut from.
fn range_in(whole: &[u8], part: &[u8]) -> Range<usize> {
    let at = part.as_ptr() as usize - whole.as_ptr() as usize;
    at..at + part.len()
}

/// Text as Java would read it: malformed bytes are replaced, never refused.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

pub(crate) fn without_namespace<'a>(topic: &'a [u8], namespace: &[u8]) -> Cow<'a, [u8]> {
    let (prefix, name) = match topic.strip_prefix(RETRY_PREFIX) {
        Some(name) => (RETRY_PREFIX, name),
        None => (&b""[..], topic),
    };
    match name.strip_prefix(namespace).and_then(|rest| rest.strip_prefix(b"%")) {
        Some(rest) => Cow::Owned([prefix, rest].concat()),
        None => Cow::Borrowed(topic),
    }
}

#[cfg(test)]
mod tests;
