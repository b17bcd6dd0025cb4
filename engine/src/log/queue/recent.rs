//! The queues a thread used last, found without touching what threads share.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;

use super::{ConsumeQueue, QueueTable};
use crate::error::Result;

const SLOTS_MIN: usize = 1 << 12;
const SLOTS_MAX: usize = 1 << 17;

/// A small cache before [`QueueTable`]: a slot for each hash, the last queue wins it. It grows while queues
/// push each other out.
#[derive(Debug, Default)]
pub struct RecentQueues {
    hasher: DefaultHashBuilder,
    slots: Vec<Option<Arc<ConsumeQueue>>>,
    /// Look-ups since the last growth that found another queue in the slot.
    pushed_out: usize,
    /// The state of the table that the slots are from.
    removals: u64,
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

    /// The queue's slot, empty if it held another one.
    fn slot(&mut self, table: &QueueTable, topic: &[u8], queue_id: i32) -> &mut Option<Arc<ConsumeQueue>> {
        if self.slots.is_empty() || self.removals != table.removals() {
            self.removals = table.removals();
            self.slots = vec![None; self.slots.len().max(SLOTS_MIN)];
        }
        let hash = self.hasher.hash_one((topic, queue_id)) as usize;
        let mut index = hash & (self.slots.len() - 1); // a power of two
        if self.slots[index].as_ref().is_some_and(|queue| !is_it(queue, topic, queue_id)) {
            self.pushed_out += 1;
            if self.pushed_out > self.slots.len() && self.slots.len() < SLOTS_MAX {
                self.slots = vec![None; self.slots.len() * 2];
                self.pushed_out = 0;
                index = hash & (self.slots.len() - 1);
            }
            self.slots[index] = None;
        }
        &mut self.slots[index]
    }
}

fn is_it(queue: &ConsumeQueue, topic: &[u8], queue_id: i32) -> bool {
    queue.queue_id() == queue_id && queue.topic().as_bytes() == topic
}
