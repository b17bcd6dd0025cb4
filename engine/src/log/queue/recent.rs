//! The queues a thread used last, found without touching what threads share.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;

use super::{ConsumeQueue, QueueTable, User};
use crate::error::Result;
use crate::log::prefetch::prefetch_line;

const SETS_MIN: usize = 1 << 10;
const SETS_MAX: usize = 1 << 16;
const SLOTS_PER_SET: usize = 4;
/// How many queues are worth being asked for at once.
pub const PREFETCHED_MAX: usize = 32;

/// A small cache before [`QueueTable`]: a set of slots for each hash, the queue that came first leaves. It grows
/// while queues push each other out.
#[derive(Debug, Default)]
pub struct RecentQueues {
    hasher: DefaultHashBuilder,
    sets: Vec<Set>,
    /// Look-ups since the last growth that found a set full of other queues.
    pushed_out: usize,
    /// The state of the table that the slots are from.
    removals: u64,
    /// Set and slot of the last look-up: the next message of a batch goes to the same queue.
    last: (usize, usize),
}

/// One cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct Set([Slot; SLOTS_PER_SET]);

#[derive(Clone, Debug, Default)]
struct Slot {
    /// Of the queue's name, so that another queue is known for one without a look at it.
    hash: u64,
    queue: Option<Arc<ConsumeQueue>>,
}

impl RecentQueues {
    /// The queue, made if there is none.
    pub fn get(&mut self, table: &QueueTable, topic: &[u8], queue_id: i32) -> Result<&ConsumeQueue> {
        let slot = self.slot(table, topic, queue_id);
        let queue = match slot.take() {
            Some(queue) => queue,
            None => table.get_or_create(topic, queue_id)?,
        };
        Ok(slot.insert(queue))
    }

    /// The queue, if there is one.
    pub fn find(&mut self, table: &QueueTable, topic: &[u8], queue_id: i32) -> Option<&ConsumeQueue> {
        let slot = self.slot(table, topic, queue_id);
        if slot.is_none() {
            *slot = table.get(topic, queue_id);
        }
        slot.as_deref()
    }

    /// Whether there are so many queues that most of them are in no cache of the processor.
    pub fn has_many(&self) -> bool {
        self.sets.len() > SETS_MIN
    }

    /// Have the processor fetch what someone will use of some queues: all at once, instead of one after another when
    /// each is used.
    pub fn prefetch<'a>(&self, user: User, queues: impl IntoIterator<Item = (&'a [u8], i32)>) {
        if self.sets.is_empty() {
            return;
        }
        let mut hashes = [0; PREFETCHED_MAX];
        let mut count = 0;
        for (hash, (topic, queue_id)) in hashes.iter_mut().zip(queues) {
            *hash = self.hash(topic, queue_id);
            prefetch_line(&raw const self.sets[self.set_of(*hash)]);
            count += 1;
        }
        let queue_of = |hash: &u64| {
            let slot = self.sets[self.set_of(*hash)].0.iter().find(|slot| slot.hash == *hash)?;
            slot.queue.as_deref()
        };
        for queue in hashes[..count].iter().filter_map(queue_of) {
            queue.prefetch(user);
        }
        for queue in hashes[..count].iter().filter_map(queue_of) {
            queue.prefetch_further(user);
        }
    }

    /// The queue's slot, empty if its set did not have it.
    fn slot(&mut self, table: &QueueTable, topic: &[u8], queue_id: i32) -> &mut Option<Arc<ConsumeQueue>> {
        if self.sets.is_empty() || self.removals != table.removals() {
            self.removals = table.removals();
            self.sets = vec![Set::default(); self.sets.len().max(SETS_MIN)];
        }
        let is_its = |slot: &Slot| slot.queue.as_ref().is_some_and(|queue| is_it(queue, topic, queue_id));
        let (set, index) = self.last;
        if is_its(&self.sets[set].0[index]) {
            return &mut self.sets[set].0[index].queue;
        }
        let hash = self.hash(topic, queue_id);
        let set = self.set_of(hash);
        if let Some(index) = self.sets[set].0.iter().position(|slot| slot.hash == hash && is_its(slot)) {
            self.last = (set, index);
            return &mut self.sets[set].0[index].queue;
        }
        if self.sets[set].0.iter().all(|slot| slot.queue.is_some()) {
            self.make_room();
        }
        let set = self.set_of(hash);
        let slots = &mut self.sets[set].0;
        slots.rotate_right(1);
        slots[0] = Slot { hash, queue: None };
        self.last = (set, 0);
        &mut slots[0].queue
    }

    /// Note that a queue is pushed out, and grow if that was often so.
    fn make_room(&mut self) {
        self.pushed_out += 1;
        if self.pushed_out > self.sets.len() && self.sets.len() < SETS_MAX {
            self.sets = vec![Set::default(); self.sets.len() * 2];
            self.pushed_out = 0;
        }
    }

    fn hash(&self, topic: &[u8], queue_id: i32) -> u64 {
        self.hasher.hash_one((topic, queue_id))
    }

    fn set_of(&self, hash: u64) -> usize {
        hash as usize & (self.sets.len() - 1) // a power of two
    }
}

fn is_it(queue: &ConsumeQueue, topic: &[u8], queue_id: i32) -> bool {
    queue.queue_id() == queue_id && queue.topic().as_bytes() == topic
}

#[cfg(test)]
mod tests {
    use super::super::QueueConfig;
    use super::*;

    fn table() -> (tempfile::TempDir, QueueTable) {
        let dir = tempfile::tempdir().unwrap();
        let table = QueueTable::open(dir.path(), QueueConfig::default(), Arc::default()).unwrap();
        (dir, table)
    }

    fn name(queue: usize) -> (String, i32) {
        (format!("Topic{}", queue / 8), (queue % 8) as i32)
    }

    #[test]
    fn each_of_many_queues_is_found_however_often_they_push_each_other_out() {
        let (_dir, table) = table();
        let mut recent = RecentQueues::default();
        for queue in (0..20_000).chain(0..20_000).chain((0..20_000).rev()) {
            let (topic, queue_id) = name(queue);
            let found = recent.get(&table, topic.as_bytes(), queue_id).unwrap();
            assert_eq!((&**found.topic(), found.queue_id()), (topic.as_str(), queue_id));
        }
        assert!(recent.has_many());
        assert_eq!(table.all().len(), 20_000);
    }

    #[test]
    fn queues_that_are_fetched_ahead_need_not_be_there() {
        let (_dir, table) = table();
        let mut recent = RecentQueues::default();
        recent.prefetch(User::Writer, [(&b"Unknown"[..], 7)]);
        recent.get(&table, b"Known", 0).unwrap();
        for user in [User::Writer, User::Dispatcher] {
            recent.prefetch(user, [(&b"Known"[..], 0), (b"Unknown", 7)]);
        }
        assert_eq!(table.all().len(), 1);
    }

    #[test]
    fn a_removed_queue_is_not_found_any_more() {
        let (_dir, table) = table();
        let mut recent = RecentQueues::default();
        recent.get(&table, b"Gone", 0).unwrap();
        table.remove_topic(b"Gone").unwrap();
        assert!(recent.find(&table, b"Gone", 0).is_none());
    }
}
