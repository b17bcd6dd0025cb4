//! The outbox as a producer sees it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::config::{OutboxConfig, Target};
use super::draft::{Draft, Unsendable};
use super::lanes::{Lane, Open, Place, Sealed, Wanted};
use super::load::Load;
use super::parcel::{Manner, Parcel, Receipt, Terms};
use super::room::Room;
use super::tally::Tally;
use crate::client::courier::{Courier, Errand};
use crate::log::clock::{coarse_now_ms, now_ms};
use crate::message::layout::property;
use crate::message::properties;
use crate::message::unique::{Stamp, UniqueKeys};

/// Buffers of batches that are kept for the next ones.
const SPARE_MAX: usize = 16;

/// What a post came to.
pub enum Posted {
    Accepted(Receipt),
    /// The topic has no queues yet.
    NoRoute,
    /// The topic has no such queue.
    NoQueue,
    /// So many bytes are too many for now.
    NoRoom(usize),
}

#[derive(Default)]
struct Lanes {
    by_topic: HashMap<Arc<str>, Lane>,
    /// The courier comes to look for batches that are due.
    is_awaited: bool,
    /// The courier has stopped: nothing is collected any more.
    is_closed: bool,
}

/// What one producer sends. It has to be in an `Arc` from the start.
pub struct Outbox {
    courier: Arc<Courier>,
    config: OutboxConfig,
    keys: UniqueKeys,
    lanes: Mutex<Lanes>,
    room: Room,
    spare: Mutex<Vec<Vec<u8>>>,
}

impl Outbox {
    pub fn new(courier: Arc<Courier>, config: OutboxConfig) -> Arc<Self> {
        Arc::new(Self {
            courier,
            keys: UniqueKeys::new(config.client_ip),
            room: Room::new(config.room_bytes),
            config,
            lanes: Mutex::default(),
            spare: Mutex::default(),
        })
    }

    pub fn config(&self) -> &OutboxConfig {
        &self.config
    }

    pub fn courier(&self) -> &Courier {
        &self.courier
    }

    pub fn room(&self) -> &Room {
        &self.room
    }

    pub fn keys(&self) -> &UniqueKeys {
        &self.keys
    }

    /// Let posts to `topic` go round the queues of `route`, or to a chosen one of `all`; brokers know the topic as
    /// `wire_topic`.
    pub fn set_route(&self, topic: &str, wire_topic: &str, route: Vec<Target>, all: Vec<Target>) {
        let mut lanes = self.lanes.lock();
        let lane = lanes.by_topic.entry(topic.into()).or_insert_with(|| {
            // So that many producers that start at once do not all begin with the same queue.
            Lane::new(wire_topic.into(), RandomState::new().build_hasher().finish() as usize)
        });
        let sealed = lane.set_route(route, all);
        drop(lanes);
        for each in sealed {
            self.dispatch(each);
        }
    }

    /// Send a message with others of its topic.
    pub fn post(self: &Arc<Self>, topic: &str, draft: Draft<'_>) -> Result<Posted, Unsendable> {
        self.post_to(topic, draft, Wanted::Any, None)
    }

    /// Send a message with others of its topic, those that want the same queue; `tally` hears of its end.
    pub fn post_to(
        self: &Arc<Self>,
        topic: &str,
        mut draft: Draft<'_>,
        wanted: Wanted<'_>,
        tally: Option<&Arc<Tally>>,
    ) -> Result<Posted, Unsendable> {
        let stamp = self.complete(&mut draft)?;
        let bytes = draft.bytes();
        let mut lanes = self.lanes.lock();
        let Lanes { by_topic, is_awaited, is_closed } = &mut *lanes;
        let Some(lane) = by_topic.get_mut(topic).filter(|lane| lane.has_route()) else {
            return Ok(Posted::NoRoute);
        };
        let Ok(place) = lane.find(wanted) else { return Ok(Posted::NoQueue) };
        if !self.room.take(bytes) {
            return Ok(Posted::NoRoom(bytes));
        }
        if let Some(tally) = tally {
            tally.begun();
        }
        let parcel = |topic: &Arc<str>| {
            let terms = Terms { is_bound: place.is_some(), tally: tally.cloned() };
            Parcel::new(self.clone(), topic.clone(), Manner::Posted, terms)
        };
        if *is_closed || lane.is_alone(&draft, &self.config) {
            let Some(target) = lane.target(place) else { return Ok(Posted::NoRoute) };
            let parcel = parcel(&lane.topic);
            drop(lanes);
            return Ok(Posted::Accepted(self.alone(&draft, stamp, parcel, target, self.config.timeout)));
        }
        let is_full =
            lane.open(place).as_ref().is_some_and(|open| open.is_full_for(&draft, tally, &self.config));
        let before = if is_full { lane.seal(place) } else { None };
        let topic = lane.topic.clone();
        let open = lane.open(place).get_or_insert_with(|| {
            Open::new(parcel(&topic), self.buffer(), draft.traits.waits, Instant::now())
        });
        let index = open.push(&draft, stamp);
        let receipt = Receipt::new(open.parcel.clone(), index, stamp);
        let due = open.since + self.config.linger;
        let full = if open.is_full(&self.config) { lane.seal(place) } else { None };
        let is_first = full.is_none() && !std::mem::replace(is_awaited, true);
        drop(lanes);
        for sealed in before.into_iter().chain(full) {
            self.dispatch(sealed);
        }
        if is_first && !self.courier.at(due, self.clone()) {
            self.close();
        }
        Ok(Posted::Accepted(receipt))
    }

    /// Send a message at once.
    pub fn send(
        self: &Arc<Self>,
        topic: Arc<str>,
        mut draft: Draft<'_>,
        target: Target,
        timeout: Duration,
        oneway: bool,
    ) -> Result<Receipt, Unsendable> {
        let stamp = self.complete(&mut draft)?;
        self.room.take_anyway(draft.bytes(), 1);
        let manner = if oneway { Manner::Oneway } else { Manner::Sent };
        let parcel = Parcel::new(self.clone(), topic, manner, Terms::default());
        Ok(self.alone(&draft, stamp, parcel, target, timeout))
    }

    fn alone(
        &self,
        draft: &Draft<'_>,
        stamp: Option<Stamp>,
        parcel: Arc<Parcel>,
        target: Target,
        timeout: Duration,
    ) -> Receipt {
        if let Some(key) = draft.own_key().filter(|_| stamp.is_none()) {
            parcel.note_own_key(0, key);
        }
        let bytes = draft.bytes();
        let load = Load::single(draft, &self.config, now_ms());
        parcel.begin(load, (1, bytes), target, timeout);
        Receipt::new(parcel, 0, stamp)
    }

    /// Begin a batch that is sent as it is.
    pub fn batch(self: &Arc<Self>, topic: Arc<str>, oneway: bool) -> Batch {
        let manner = if oneway { Manner::Oneway } else { Manner::Sent };
        let parcel = Parcel::new(self.clone(), topic, manner, Terms::default());
        Batch {
            outbox: self.clone(),
            open: Open::new(parcel, Vec::new(), true, Instant::now()),
            receipts: Vec::new(),
        }
    }

    /// Add what every message has; the stamp of the key it is given.
    #[inline]
    fn complete(&self, draft: &mut Draft<'_>) -> Result<Option<Stamp>, Unsendable> {
        if !self.config.instance_id.is_empty() && !draft.traits.has_instance {
            properties::push(draft.properties, property::INSTANCE_ID, self.config.instance_id.as_bytes());
        }
        let stamp = (!draft.traits.has_key).then(|| self.keys.stamp());
        if let Some(stamp) = stamp {
            properties::push(draft.properties, property::UNIQ_KEY, self.keys.key(stamp).as_bytes());
        }
        draft.check(self.config.max_message_size)?;
        Ok(stamp)
    }

    fn dispatch(&self, Sealed { open, target }: Sealed) {
        let (count, bytes) = (open.count, open.body.len());
        let load = Load::collected(open.body, count, open.waits, coarse_now_ms());
        open.parcel.begin(load, (count, bytes), target, self.config.timeout);
    }

    /// Send every batch that is collected now.
    pub fn push_out(&self) {
        self.seal_if(|_| true);
    }

    fn seal_if(&self, is_due: impl Fn(&Open) -> bool) -> Option<Instant> {
        let mut lanes = self.lanes.lock();
        let mut sealed = Vec::new();
        let mut next: Option<Instant> = None;
        for lane in lanes.by_topic.values_mut() {
            let (due, others): (Vec<(Place, &Open)>, Vec<_>) =
                lane.each_open().partition(|(_, open)| is_due(open));
            next = others.into_iter().map(|(_, open)| open.since).chain(next).min();
            let due: Vec<Place> = due.into_iter().map(|(place, _)| place).collect();
            sealed.extend(due.into_iter().filter_map(|place| lane.seal(place)));
        }
        if next.is_none() {
            lanes.is_awaited = false;
        }
        drop(lanes);
        for each in sealed {
            self.dispatch(each);
        }
        next.map(|since| since + self.config.linger)
    }

    /// The courier has stopped: what is collected fails, and what comes later fails at once.
    fn close(&self) {
        self.lanes.lock().is_closed = true;
        self.push_out();
    }

    /// Wait until there may be room, up to a time.
    pub fn wait_for_room(&self, bytes: usize, until: Instant) {
        self.push_out();
        self.room.wait(bytes, until);
    }

    /// Have the courier give the outbox to Python once there is room; false when there is some.
    pub fn ask_for_room(&self, bytes: usize) -> bool {
        self.push_out();
        self.room.want(bytes)
    }

    /// Send what is collected and wait for everything to end; false when the time is over first.
    pub fn flush(&self, until: Instant) -> bool {
        self.push_out();
        self.room.wait_empty(until)
    }

    fn buffer(&self) -> Vec<u8> {
        self.spare.lock().pop().unwrap_or_else(|| Vec::with_capacity(self.config.batch_bytes))
    }

    /// Keep the memory of a batch that is stored.
    pub(super) fn recycle(&self, load: Load) {
        if let Some(mut body) = Arc::into_inner(load.body)
            && body.capacity() >= self.config.batch_bytes / 2
        {
            body.clear();
            let mut spare = self.spare.lock();
            if spare.len() < SPARE_MAX {
                spare.push(body);
            }
        }
    }
}

impl Errand for Outbox {
    fn run(self: Arc<Self>, now: Instant, last: bool) {
        if last {
            return self.close();
        }
        if let Some(due) = self.seal_if(|open| open.since + self.config.linger <= now) {
            // A courier that stops runs it once more itself.
            self.courier.at(due, self.clone());
        }
    }
}

/// A batch in the making.
pub struct Batch {
    outbox: Arc<Outbox>,
    open: Open,
    receipts: Vec<Receipt>,
}

impl Batch {
    pub fn push(&mut self, mut draft: Draft<'_>) -> Result<(), Unsendable> {
        let stamp = self.outbox.complete(&mut draft)?;
        if self.receipts.is_empty() {
            self.open.waits = draft.traits.waits;
        }
        if draft.traits.is_alone || draft.traits.waits != self.open.waits {
            return Err(Unsendable::NotInBatch(self.receipts.len()));
        }
        let index = self.open.push(&draft, stamp);
        self.receipts.push(Receipt::new(self.open.parcel.clone(), index, stamp));
        Ok(())
    }

    pub fn send(self, target: Target, timeout: Duration) -> Result<Vec<Receipt>, Unsendable> {
        if self.receipts.is_empty() {
            return Err(Unsendable::NoMessages);
        }
        let (count, bytes) = (self.open.count, self.open.body.len());
        self.outbox.room.take_anyway(bytes, count as usize);
        let load = Load::collected(self.open.body, count, self.open.waits, now_ms());
        self.open.parcel.begin(load, (count, bytes), target, timeout);
        Ok(self.receipts)
    }
}
