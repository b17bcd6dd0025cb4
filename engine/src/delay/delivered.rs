//! What went on before a crash. Progress is written down now and then, deliveries are in the log at once: those
//! that the written progress does not know are found in the log, and not made a second time.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;

use hashbrown::HashMap;

use super::{SCHEDULE_TOPIC, TIMER_TOPIC};
use crate::error::Result;
use crate::log::notes::Level;
use crate::log::store::Store;
use crate::log::view::{Seen, View};
use crate::message::crc::without_property_crc;
use crate::message::layout::property;
use crate::message::{Draft, Record, properties};

/// Which deliveries are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Levels,
    Timers,
}

/// Deliveries by a fingerprint of the message, each as often as it was made.
#[derive(Debug, Default)]
pub struct Delivered(HashMap<u64, u32>);

impl Delivered {
    /// The deliveries that stand in the log from an offset on.
    pub fn since(store: &Store, kind: Kind, from: u64) -> Result<Self> {
        let mut found = Self::default();
        let mut view = View::new(&store.log, store.dispatcher.confirmed());
        let mut at = from.max(store.log.min_offset());
        while at < view.end() {
            let next = match view.look(at)? {
                Seen::Record(record) => {
                    if is_delivery(kind, &record) {
                        found.add_print(fingerprint_of_record(&record));
                    }
                    at + record.size() as u64
                }
                Seen::NextFile(start) => start,
                Seen::Nothing => {
                    let text = format!(
                        "no record begins at offset {at}: deliveries after it are not known and may be repeated"
                    );
                    store.notes.say(Level::Warning, text);
                    break;
                }
            };
            at = next;
        }
        Ok(found)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.values().map(|&times| times as usize).sum()
    }

    /// Nothing is known any more.
    pub fn forget(&mut self) {
        self.0 = HashMap::new();
    }

    /// Whether a message was delivered before; each delivery answers for one message.
    pub fn take(&mut self, draft: &Draft<'_>) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let print = fingerprint_of_draft(draft);
        match self.0.get_mut(&print) {
            None => false,
            Some(1) => self.0.remove(&print).is_some(),
            Some(times) => {
                *times -= 1;
                true
            }
        }
    }

    /// Takes back a `take`.
    pub fn add(&mut self, draft: &Draft<'_>) {
        self.add_print(fingerprint_of_draft(draft));
    }

    fn add_print(&mut self, print: u64) {
        *self.0.entry(print).or_default() += 1;
    }
}

/// Whether a record is one that waited before.
fn is_delivery(kind: Kind, record: &Record<'_>) -> bool {
    if record.topic() == SCHEDULE_TOPIC {
        return false;
    }
    let mark = match kind {
        Kind::Levels => property::DELAY,
        Kind::Timers => property::TIMER_OUT_MS,
    };
    let text = record.properties();
    // A timer's message that waits further is stored anew.
    let has_gone = record.topic() != TIMER_TOPIC
        || (kind == Kind::Timers && properties::find(text, property::TIMER_ROLL_TIMES).is_some());
    has_gone
        && properties::find(text, mark).is_some()
        && properties::find(text, property::REAL_TOPIC).is_some()
}

fn fingerprint_of_record(record: &Record<'_>) -> u64 {
    fingerprint(
        (record.topic(), record.queue_id()),
        (record.born_timestamp(), record.born_host()),
        (record.flag(), record.reconsume_times()),
        record.body(),
        without_property_crc(record.properties()),
    )
}

fn fingerprint_of_draft(draft: &Draft<'_>) -> u64 {
    fingerprint(
        (draft.topic, draft.queue_id),
        (draft.born_timestamp, Some(draft.born_host)),
        (draft.flag, draft.reconsume_times),
        draft.body,
        draft.properties,
    )
}

/// Everything that makes a message what it is, without the times of its deliveries.
fn fingerprint(
    place: (&[u8], i32),
    born: (i64, Option<SocketAddr>),
    numbers: (i32, i32),
    body: &[u8],
    text: &[u8],
) -> u64 {
    let mut hasher = DefaultHasher::new();
    (place, born, numbers, body).hash(&mut hasher);
    for (name, value) in properties::iter(text) {
        if name != property::TIMER_ENQUEUE_MS && name != property::TIMER_DEQUEUE_MS {
            (name, value).hash(&mut hasher);
        }
    }
    hasher.finish()
}
