//! Messages of one topic, collected until they are a batch.

use std::sync::Arc;
use std::time::Instant;

use hashbrown::HashMap;

use super::config::{OutboxConfig, Target};
use super::draft::Draft;
use super::parcel::Parcel;
use super::tally::Tally;
use crate::message::ids::java_hash;
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

/// Which queue a message is to go to.
#[derive(Clone, Copy, Debug, Default)]
pub enum Wanted<'a> {
    #[default]
    Any,
    /// The one that Java's producers choose for a sharding key.
    OfKey(&'a str),
    /// A queue by its number; of several brokers the first that has it, unless one is named.
    Queue { broker: Option<&'a str>, queue_id: i32 },
}

/// The queue of a batch in the making: its place among all queues, or none when any will do.
pub type Place = Option<usize>;

pub struct Lane {
    /// As brokers know it.
    pub topic: Arc<str>,
    is_alone: bool,
    /// Queues that take turns.
    route: Vec<Target>,
    /// All of them, those too that are left alone for now: a key's queue stays the same.
    all: Vec<Target>,
    next: usize,
    open: Option<Open>,
    chosen: HashMap<usize, Option<Open>>,
}

impl Lane {
    pub fn new(topic: Arc<str>, start: usize) -> Self {
        let is_alone = topic.starts_with(RETRY_PREFIX);
        let (route, all, chosen) = (Vec::new(), Vec::new(), HashMap::new());
        Self { topic, is_alone, route, all, next: start, open: None, chosen }
    }

    /// What was collected for a queue among others comes back: its place may mean another one now.
    pub fn set_route(&mut self, route: Vec<Target>, all: Vec<Target>) -> Vec<Sealed> {
        self.route = route;
        if self.all == all {
            return Vec::new();
        }
        let places: Vec<Place> = self.chosen.keys().copied().map(Some).collect();
        let sealed = places.into_iter().filter_map(|place| self.seal(place)).collect();
        self.chosen.clear();
        self.all = all;
        sealed
    }

    /// The place of a wanted queue; the error is that there is none.
    pub fn find(&self, wanted: Wanted<'_>) -> Result<Place, ()> {
        let found = match wanted {
            Wanted::Any => return Ok(None),
            Wanted::OfKey(key) => {
                (java_hash(key.as_bytes()).unsigned_abs() as usize).checked_rem(self.all.len())
            }
            Wanted::Queue { broker, queue_id } => self.all.iter().position(|each| {
                each.queue_id == queue_id && broker.is_none_or(|broker| *each.broker == *broker)
            }),
        };
        found.map(Some).ok_or(())
    }

    pub fn has_route(&self) -> bool {
        !self.route.is_empty()
    }

    /// A chosen queue, or the one whose turn it is.
    pub fn target(&mut self, place: Place) -> Option<Target> {
        if let Some(place) = place {
            return self.all.get(place).cloned();
        }
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

    /// The batch in the making for a place.
    pub fn open(&mut self, place: Place) -> &mut Option<Open> {
        match place {
            Some(place) => self.chosen.entry(place).or_default(),
            None => &mut self.open,
        }
    }

    pub fn each_open(&self) -> impl Iterator<Item = (Place, &Open)> {
        let chosen = self.chosen.iter().filter_map(|(place, open)| Some((Some(*place), open.as_ref()?)));
        self.open.iter().map(|open| (None, open)).chain(chosen)
    }

    pub fn seal(&mut self, place: Place) -> Option<Sealed> {
        let target = self.target(place)?;
        self.open(place).take().map(|open| Sealed { open, target })
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

    /// Whether a message must not be put behind those that are there.
    pub fn is_full_for(&self, draft: &Draft<'_>, tally: Option<&Arc<Tally>>, config: &OutboxConfig) -> bool {
        let same = self.parcel.terms.tally.as_ref().map(Arc::as_ptr) == tally.map(Arc::as_ptr);
        !same || self.waits != draft.traits.waits || self.body.len() + draft.bytes() > config.batch_bytes
    }

    pub fn is_full(&self, config: &OutboxConfig) -> bool {
        self.count as usize >= config.batch_count || self.body.len() >= config.batch_bytes
    }
}
