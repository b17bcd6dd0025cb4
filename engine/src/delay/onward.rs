//! A waiting message as it goes on: where to, and with which properties.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::delivered::Delivered;
use crate::log::derived::HALF_TOPIC;
use crate::log::put::Refusal;
use crate::log::store::Store;
use crate::message::crc::without_property_crc;
use crate::message::layout::property;
use crate::message::{Draft, Record, properties};

/// Where a waiting message belongs, from its properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home<'a> {
    pub topic: &'a [u8],
    pub queue_id: i32,
}

impl<'a> Home<'a> {
    /// `None` when the message does not say, or names the topic of half messages, from which nothing would
    /// ever take it.
    pub fn of(text: &'a [u8]) -> Option<Self> {
        let (mut topic, mut queue_id) = (None, None);
        for (name, value) in properties::iter(text) {
            match name {
                property::REAL_TOPIC => topic = Some(value),
                property::REAL_QID => queue_id = number(value).and_then(|id| i32::try_from(id).ok()),
                _ => {}
            }
        }
        let topic = topic.filter(|&topic| topic != HALF_TOPIC)?;
        Some(Self { topic, queue_id: queue_id.filter(|&id| id >= 0)? })
    }
}

pub fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// One message on its way.
#[derive(Clone, Debug)]
pub struct Onward<'a> {
    pub record: Record<'a>,
    pub home: Home<'a>,
    pub properties: Cow<'a, [u8]>,
}

impl<'a> Onward<'a> {
    /// A message with the properties it waited with; `None` if it does not say where it belongs.
    pub fn unchanged(record: Record<'a>) -> Option<Self> {
        let text = without_property_crc(record.properties());
        Some(Self { record, home: Home::of(text)?, properties: Cow::Borrowed(text) })
    }

    fn draft(&self, store: &Store) -> Draft<'_> {
        let store_host = store.store_host();
        Draft {
            topic: self.home.topic,
            queue_id: self.home.queue_id,
            flag: self.record.flag(),
            sys_flag: self.record.sys_flag(),
            born_timestamp: self.record.born_timestamp(),
            born_host: self.record.born_host().unwrap_or(store_host),
            store_host,
            reconsume_times: self.record.reconsume_times(),
            prepared_offset: 0,
            body: self.record.body(),
            properties: &self.properties,
        }
    }
}

/// Messages and bytes by topic.
pub type Counts = BTreeMap<String, (u64, u64)>;

/// What became of messages that were to go on, in their order.
#[derive(Debug, Default)]
pub struct Gone {
    /// How many of them are dealt with: stored, found to be stored already, or impossible to store.
    pub done: usize,
    /// Why the one after those could not be stored now.
    pub refusal: Option<Refusal>,
}

impl Store {
    /// Let messages go on in their order, except those that went before.
    pub fn send_onward(
        &self,
        messages: &[Onward<'_>],
        delivered: &mut Delivered,
        counts: &mut Counts,
    ) -> Gone {
        let drafts: Vec<Draft<'_>> = messages.iter().map(|message| message.draft(self)).collect();
        // Looked up, and struck off only once all before it is dealt with: a refusal makes us come back.
        let known: Vec<bool> = drafts.iter().map(|draft| delivered.take(draft)).collect();
        let new: Vec<Draft<'_>> =
            drafts.iter().zip(&known).filter(|(_, known)| !**known).map(|(draft, _)| *draft).collect();
        let results = if new.is_empty() { Vec::new() } else { self.put_in_order(&new) };
        let mut gone = Gone::default();
        let mut results = results.into_iter();
        for (draft, &known) in drafts.iter().zip(&known) {
            if known {
                gone.done += 1;
                continue;
            }
            match results.next() {
                Some(Ok(placed)) => count(counts, draft.topic, placed.size),
                Some(Err(refusal)) if refusal.is_final() => self.note_left_out(draft.topic, &refusal),
                stands => {
                    gone.refusal = stands.and_then(Result::err);
                    break;
                }
            }
            gone.done += 1;
        }
        for (draft, _) in drafts[gone.done..].iter().zip(&known[gone.done..]).filter(|(_, known)| **known) {
            delivered.add(draft);
        }
        gone
    }

    pub(super) fn note_left_out(&self, topic: &[u8], refusal: &Refusal) {
        self.notes.say(
            crate::log::notes::Level::Error,
            format!(
                "a delayed message for {} can never be stored and is left out: {}",
                String::from_utf8_lossy(topic),
                refusal.reason
            ),
        );
    }
}

fn count(counts: &mut Counts, topic: &[u8], bytes: u64) {
    let topic = String::from_utf8_lossy(topic);
    if let Some(count) = counts.get_mut(topic.as_ref()) {
        *count = (count.0 + 1, count.1 + bytes);
    } else {
        counts.insert(topic.into_owned(), (1, bytes));
    }
}
