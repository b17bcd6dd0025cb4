//! Pulls that found nothing, held until a message arrives or their time is up.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use parking_lot::Mutex;

use super::keys::{QueueKey, QueueRef};
use super::path::HotPath;
use super::pull::Allowed;
use super::pull_header::Pull;
use crate::log::filter::MessageFilter;
use crate::log::watch::Arrival;
use crate::message::ids::tags_code;
use crate::net::hot::ReplyHandle;

/// Beyond this a pull is answered at once.
const HELD_MAX: usize = 1 << 18;
/// And beyond this one of a connection that holds so many: a client holds one for each queue that it reads.
const HELD_OF_ONE_MAX: usize = 1 << 13;
/// How often those whose connection is gone are let go.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// Messages that the filter keeps back end a wait only after this long: the group moves past them then.
const PASSED_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct HeldPull {
    pub pull: Pull<'static>,
    pub allowed: Allowed,
    pub handle: ReplyHandle,
    pub deadline: Instant,
    /// Since when there are messages that the filter keeps back.
    pub passed_since: Option<Instant>,
}

impl HeldPull {
    fn connection(&self) -> u64 {
        self.handle.peer().connection()
    }

    fn queue(&self) -> QueueRef<'_> {
        QueueRef(self.pull.topic.as_bytes(), self.pull.queue_id)
    }

    /// Whether a message ends the wait; one that has to be judged by its origin does.
    fn wants(&self, arrival: &Arrival<'_>) -> bool {
        let tags = || arrival.tags.map_or(0, tags_code);
        let matches =
            |filter: &dyn MessageFilter| filter.may_match(tags()) && filter.matches(arrival.properties);
        self.allowed.filter.judge().is_none_or(matches)
    }
}

#[derive(Debug, Default)]
pub struct Parking {
    state: Mutex<State>,
    /// How many are held; read without the lock.
    held: AtomicUsize,
    /// The server stops: nothing is held any more.
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    pulls: HashMap<u64, HeldPull>,
    /// How many each connection holds.
    of_connection: HashMap<u64, usize>,
    /// In the order in which they came.
    queues: HashMap<QueueKey, BTreeSet<u64>>,
    deadlines: BTreeSet<(Instant, u64)>,
    /// A message came for them; they are answered when the dispatcher has a moment.
    ready: Vec<HeldPull>,
    last_id: u64,
}

impl State {
    fn remove(&mut self, id: u64) -> Option<HeldPull> {
        let held = self.pulls.remove(&id)?;
        self.deadlines.remove(&(held.deadline, id));
        if let Entry::Occupied(mut count) = self.of_connection.entry(held.connection()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        if let Some(ids) = self.queues.get_mut(&held.queue()) {
            ids.remove(&id);
            if ids.is_empty() {
                self.queues.remove(&held.queue());
            }
        }
        Some(held)
    }

    fn remove_where(&mut self, goes: impl Fn(&HeldPull) -> bool) -> Vec<HeldPull> {
        let ids: Vec<u64> = self.pulls.iter().filter(|(_, held)| goes(held)).map(|(id, _)| *id).collect();
        ids.into_iter().filter_map(|id| self.remove(id)).collect()
    }
}

impl Parking {
    pub fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }

    pub fn has_room(&self) -> bool {
        self.held() < HELD_MAX && !self.closed.load(Ordering::Acquire)
    }

    /// Whether a connection may hold one more.
    pub fn has_room_for(&self, connection: u64) -> bool {
        // While all hold less than one may, nobody has to be counted.
        self.held() < HELD_OF_ONE_MAX
            || self.state.lock().of_connection.get(&connection).is_none_or(|&held| held < HELD_OF_ONE_MAX)
    }

    fn park(&self, held: HeldPull) -> u64 {
        let mut state = self.state.lock();
        state.last_id += 1;
        let id = state.last_id;
        state.deadlines.insert((held.deadline, id));
        let key = held.queue();
        match state.queues.get_mut(&key) {
            Some(ids) => _ = ids.insert(id),
            None => _ = state.queues.insert(key.to_owned(), BTreeSet::from([id])),
        }
        *state.of_connection.entry(held.connection()).or_default() += 1;
        state.pulls.insert(id, held);
        self.held.fetch_add(1, Ordering::SeqCst);
        id
    }

    /// Take out what `choose` removes from the state.
    fn take(&self, choose: impl FnOnce(&mut State) -> Vec<HeldPull>) -> Vec<HeldPull> {
        if self.held() == 0 {
            return Vec::new();
        }
        let taken = choose(&mut self.state.lock());
        self.held.fetch_sub(taken.len(), Ordering::SeqCst);
        taken
    }

    /// A message became consumable: note whose wait it ends.
    pub fn arrived(&self, arrival: &Arrival<'_>) {
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some(ids) = state.queues.get(&QueueRef(arrival.topic, arrival.queue_id)) else { return };
        let mut ended = Vec::new();
        for &id in ids {
            let held = state.pulls.get_mut(&id);
            match held.filter(|held| arrival.queue_offset >= held.pull.offset) {
                Some(held) if held.wants(arrival) => ended.push(id),
                Some(held) => _ = held.passed_since.get_or_insert_with(Instant::now),
                None => {}
            }
        }
        for id in ended {
            let held = state.remove(id);
            state.ready.extend(held);
        }
    }
}

impl HotPath {
    /// Hold a pull.
    pub fn park(&self, held: HeldPull) {
        let (topic, queue_id, offset) = (held.pull.topic.clone(), held.pull.queue_id, held.pull.offset);
        let look_at = held.deadline.min(Instant::now() + SWEEP_INTERVAL);
        let id = self.parking.park(held);
        self.alarm.ring_by(look_at);
        // Pairs with the fence in the dispatcher: either it sees us waiting, or we see its message.
        fence(Ordering::SeqCst);
        let queue = self.store.derived.queues.get(topic.as_bytes(), queue_id);
        // The same goes for whoever lets all go.
        if queue.is_some_and(|queue| queue.max_offset() > offset) || !self.parking.has_room() {
            self.answer_all(self.parking.take(|state| state.remove(id).into_iter().collect()));
        }
    }

    fn answer_all(&self, pulls: Vec<HeldPull>) {
        for held in pulls {
            self.answer_held(held);
        }
    }

    /// Answer those for whom messages arrived.
    pub fn answer_ready(&self) {
        self.answer_all(self.parking.take(|state| std::mem::take(&mut state.ready)));
    }

    /// Look at every held pull: someone may have begun to wait while messages arrived.
    pub fn look_for_arrivals(&self) {
        let has_more = |held: &HeldPull| {
            let queue = self.store.derived.queues.get(held.pull.topic.as_bytes(), held.pull.queue_id);
            queue.is_some_and(|queue| queue.max_offset() > held.pull.offset)
        };
        self.answer_all(self.parking.take(|state| state.remove_where(has_more)));
    }

    /// Answer those whose time is up and let go of those whose client left; returns when to look again.
    pub fn end_holds(&self, now: Instant) -> Option<Instant> {
        let due = self.parking.take(|state| {
            let ids: Vec<u64> =
                state.deadlines.iter().take_while(|(at, _)| *at <= now).map(|(_, id)| *id).collect();
            let mut due: Vec<HeldPull> = ids.into_iter().filter_map(|id| state.remove(id)).collect();
            due.extend(state.remove_where(|held| {
                held.passed_since.is_some_and(|since| now.saturating_duration_since(since) >= PASSED_MAX)
            }));
            due
        });
        self.answer_all(due);
        drop(self.parking.take(|state| state.remove_where(|held| !held.handle.is_wanted())));
        let next = self.parking.state.lock().deadlines.first().map(|(at, _)| *at);
        next.map(|at| at.min(now + SWEEP_INTERVAL))
    }

    /// Answer everyone now, and from now on at once.
    pub fn release_pulls(&self) {
        // As strong as what `park` does the other way round.
        self.parking.closed.store(true, Ordering::SeqCst);
        self.answer_all(self.parking.take(|state| state.remove_where(|_| true)));
    }

    /// Let the pulls waiting on a queue look again now.
    pub fn wake_pulls(&self, topic: &[u8], queue_id: i32) {
        self.answer_all(self.parking.take(|state| {
            let ids = state.queues.get(&QueueRef(topic, queue_id)).cloned().unwrap_or_default();
            ids.into_iter().filter_map(|id| state.remove(id)).collect()
        }));
    }

    pub fn held_pulls(&self) -> usize {
        self.parking.held()
    }
}
