//! Messages of one topic, collected until they are a batch.

use std::sync::Arc;
use std::time::Instant;

use super::config::{OutboxConfig, Target};
use super::draft::Draft;
use super::parcel::Parcel;
use crate::message::unique::Stamp;
use crate::message::{BatchEntry, batch};

const RETRY_PREFIX: &str = "%RETRY%";

/// A batch that is collected.
pub struct Open {
    pub parcel: Arc<Parcel>,
    pub body: Vec<u8>,
    pub count: u32,
    pub waits: bool,
    pub since: Instant,
}

/// A batch on its way to a queue.
pub struct Sealed {
    pub open: Open,
    pub target: Target,
}

pub struct Lane {
    /// As brokers know it.
    pub topic: Arc<str>,
    is_alone: bool,
    route: Vec<Target>,
    next: usize,
    pub open: Option<Open>,
}

impl Lane {
    pub fn new(topic: Arc<str>, start: usize) -> Self {
        let is_alone = topic.starts_with(RETRY_PREFIX);
        Self { topic, is_alone, route: Vec::new(), next: start, open: None }
    }

    pub fn set_route(&mut self, route: Vec<Target>) {
        self.route = route;
    }

    pub fn has_route(&self) -> bool {
        !self.route.is_empty()
    }

    /// The queue whose turn it is.
    pub fn next_target(&mut self) -> Option<Target> {
        self.next = self.next.wrapping_add(1);
        self.route.get(self.next.checked_rem(self.route.len())?).cloned()
    }

    /// Whether a message has to travel on its own.
    pub fn is_alone(&self, draft: &Draft<'_>, config: &OutboxConfig) -> bool {
        self.is_alone
            || draft.traits.is_alone
            || draft.body.len() >= config.batch_bytes
            || (config.compression.is_some() && draft.body.len() >= config.compress_over)
    }

    /// Whether a message must not be put behind those that are there.
    pub fn is_full_for(&self, draft: &Draft<'_>, config: &OutboxConfig) -> bool {
        self.open.as_ref().is_some_and(|open| {
            open.waits != draft.traits.waits || open.body.len() + draft.bytes() > config.batch_bytes
        })
    }

    pub fn seal(&mut self) -> Option<Sealed> {
        let target = self.next_target()?;
        self.open.take().map(|open| Sealed { open, target })
    }
}

impl Open {
    pub fn new(parcel: Arc<Parcel>, body: Vec<u8>, waits: bool, since: Instant) -> Self {
        Self { parcel, body, count: 0, waits, since }
    }

    /// Put a message in; its place among the others.
    #[inline]
    pub fn push(&mut self, draft: &Draft<'_>, stamp: Option<Stamp>) -> u32 {
        let index = self.count;
        if stamp.is_none()
            && let Some(key) = draft.own_key()
        {
            self.parcel.note_own_key(index, key);
        }
        let entry = BatchEntry { flag: draft.flag, body: draft.body, properties: draft.properties };
        // The draft was checked: it has a possible size.
        let _ = batch::encode_entry(&mut self.body, &entry);
        self.count += 1;
        index
    }

    pub fn is_full(&self, config: &OutboxConfig) -> bool {
        self.count as usize >= config.batch_count || self.body.len() >= config.batch_bytes
    }
}
