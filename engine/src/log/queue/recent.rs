//! The queues a thread used last, found without touching what threads share.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;

use super::{ConsumeQueue, QueueTable};
use crate::error::Result;

const SLOTS: usize = 4096;

/// A small cache before [`QueueTable`]: a slot for each hash, the last queue wins it.
#[derive(Debug, Default)]
pub struct RecentQueues {
    hasher: DefaultHashBuilder,
    slots: Vec<Option<Arc<ConsumeQueue>>>,
    /// The state of the table that the slots are from.
    removals: u64,
}

impl RecentQueues {
    /// The queue, made if there is none.
    pub fn get(&mut self, table: &QueueTable, topic: &[u8], queue_id: i32) -> Result<&ConsumeQueue> {
        let slot = self.slot(table, topic, queue_id);
        let queue = match slot.take() {
            Some(queue) if is_it(&queue, topic, queue_id) => queue,
            _ => table.get_or_create(topic, queue_id)?,
        };
        Ok(slot.insert(queue))
    }

    /// The queue, if there is one.
    pub fn find(&mut self, table: &QueueTable, topic: &[u8], queue_id: i32) -> Option<&ConsumeQueue> {
        let slot = self.slot(table, topic, queue_id);
        if !slot.as_ref().is_some_and(|queue| is_it(queue, topic, queue_id)) {
            *slot = table.get(topic, queue_id);
        }
        slot.as_deref()
    }

    fn slot(&mut self, table: &QueueTable, topic: &[u8], queue_id: i32) -> &mut Option<Arc<ConsumeQueue>> {
        if self.slots.is_empty() || self.removals != table.removals() {
            self.removals = table.removals();
            self.slots = vec![None; SLOTS];
        }
        &mut self.slots[self.hasher.hash_one((topic, queue_id)) as usize % SLOTS]
    }
}

fn is_it(queue: &ConsumeQueue, topic: &[u8], queue_id: i32) -> bool {
    queue.queue_id() == queue_id && queue.topic().as_bytes() == topic
}
