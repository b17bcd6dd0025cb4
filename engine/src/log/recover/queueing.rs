//! Queues derived from the records that the scan has checked.

use crate::error::Result;
use crate::log::commit_log::CommitLog;
use crate::log::derived::{Derived, Place, Taken};
use crate::log::queue::{ConsumeQueue, RecentQueues};
use crate::log::rebuild::{Lacking, QueueKey};
use crate::message::{DispatchProperties, Record};

pub struct Queueing<'a> {
    log: &'a CommitLog,
    derived: &'a Derived,
    /// Records before it should be in their queues.
    queues_from: u64,
    lacking: &'a mut Lacking,
    recent: RecentQueues,
}

impl<'a> Queueing<'a> {
    pub fn new(log: &'a CommitLog, derived: &'a Derived, queues_from: u64, lacking: &'a mut Lacking) -> Self {
        Self { log, derived, queues_from, lacking, recent: RecentQueues::default() }
    }

    /// Put the next record into its queues, or see whether it is there.
    pub fn take(&mut self, record: &Record<'_>) -> Result<()> {
        if record.physical_offset().cast_unsigned() < self.queues_from {
            if !self.derived.has_light_queues() {
                if record.transaction_type().is_consumable() {
                    self.check_queued(&Place::own(record));
                }
                return Ok(());
            }
            let properties = DispatchProperties::for_dispatch(record.properties());
            self.derived.places(record, &properties).for_each(|place| self.check_queued(&place));
            return Ok(());
        }
        let properties = DispatchProperties::for_dispatch(record.properties());
        for place in self.derived.places(record, &properties) {
            let entered = self.enter(&place, record, &properties);
            self.derived.skip_unplaceable(entered, record)?;
        }
        Ok(())
    }

    /// See whether what should be in a queue is.
    fn check_queued(&mut self, place: &Place<'_>) {
        let queue = self.recent.find(&self.derived.queues, place.topic, place.queue_id);
        if queue.is_none_or(|queue| queue.max_offset() <= place.number) {
            let from = queue.map_or(0, |queue| queue.max_physical_offset().max(0));
            self.lacking.note(QueueKey::of(place), from.cast_unsigned());
        }
    }

    fn enter(
        &mut self,
        place: &Place<'_>,
        record: &Record<'_>,
        properties: &DispatchProperties<'_>,
    ) -> Result<()> {
        if self.lacking.has(place) {
            return Ok(());
        }
        // A queue without units takes any number for its first.
        let begins_at = match self.recent.find(&self.derived.queues, place.topic, place.queue_id) {
            Some(queue) if queue.max_physical_offset() >= 0 => None,
            empty => Some(empty.map_or(0, ConsumeQueue::max_offset)),
        };
        let may_have_expired = self.log.min_offset() > 0 && self.queues_from == self.log.min_offset();
        if begins_at.is_some_and(|begin| begin != place.number) && !may_have_expired {
            // What comes before may be in the part that is not scanned. Or damage gave a message to another queue.
            self.lacking.note(QueueKey::of(place), 0);
            return Ok(());
        }
        let taken = self.derived.enter(&mut self.recent, place, record, properties)?;
        match taken {
            Taken::Yes => {}
            Taken::Gap { .. } => {
                let queue = self.derived.queues.get_or_create(place.topic, place.queue_id)?;
                self.lacking.note(QueueKey::of(place), queue.max_physical_offset().max(0).cast_unsigned());
            }
            // One of two messages has a wrong number; only the messages around them can tell which.
            Taken::Conflict => {
                self.derived.queues.get_or_create(place.topic, place.queue_id)?.destroy()?;
                self.lacking.note(QueueKey::of(place), 0);
            }
        }
        Ok(())
    }
}
