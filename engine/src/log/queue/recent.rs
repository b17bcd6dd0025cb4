//! The queues a thread used last, found without touching what threads share.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;

use super::{ConsumeQueue, QueueTable};
use crate::error::Result;

const SLOTS_MIN: usize = 1 << 12;
const SLOTS_MAX: usize = 1 << 17;

/// A small cache before [`QueueTable`]: two slots for each hash, the queue used longer ago leaves. It grows while
/// queues push each other out.
#[derive(Debug, Default)]
pub struct RecentQueues {
    hasher: DefaultHashBuilder,
    slots: Vec<Slot>,
    /// Look-ups since the last growth that found other queues in both slots.
    pushed_out: usize,
    /// The state of the table that the slots are from.
    removals: u64,
}

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

    /// The queue's slot, empty if neither of its two had it.
    fn slot(&mut self, table: &QueueTable, topic: &[u8], queue_id: i32) -> &mut Option<Arc<ConsumeQueue>> {
        if self.slots.is_empty() || self.removals != table.removals() {
            self.removals = table.removals();
            self.slots = vec![Slot::default(); self.slots.len().max(SLOTS_MIN)];
        }
        let hash = self.hasher.hash_one((topic, queue_id));
        let first = self.first_of(hash);
        let holds = |slot: &Slot| {
            slot.hash == hash && slot.queue.as_ref().is_some_and(|queue| is_it(queue, topic, queue_id))
        };
        if let Some(index) = [first, first ^ 1].into_iter().find(|index| holds(&self.slots[*index])) {
            return &mut self.slots[index].queue;
        }
        if self.slots[first ^ 1].queue.is_some() {
            self.pushed_out += 1;
            if self.pushed_out > self.slots.len() && self.slots.len() < SLOTS_MAX {
                self.slots = vec![Slot::default(); self.slots.len() * 2];
                self.pushed_out = 0;
            }
        }
        let first = self.first_of(hash);
        self.slots.swap(first, first ^ 1);
        self.slots[first] = Slot { hash, queue: None };
        &mut self.slots[first].queue
    }

    fn first_of(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1) // a power of two
    }
}

fn is_it(queue: &ConsumeQueue, topic: &[u8], queue_id: i32) -> bool {
    queue.queue_id() == queue_id && queue.topic().as_bytes() == topic
}
