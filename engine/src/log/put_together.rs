//! Putting messages of several queues as one unit: whatever happens to the process, all of them are there or none.

use std::slice;

use super::append::Placed;
use super::clock::coarse;
use super::put::{PutStatus, Refusal};
use super::store::Store;
use crate::message::Draft;

impl Store {
    /// Store messages, each into its own queue, and return where each of them stands.
    pub fn put_together(&self, drafts: &[Draft<'_>], wait: bool) -> Result<Vec<Placed>, Refusal> {
        let began = coarse();
        let result = self
            .gates()
            .and_then(|()| self.check_together(drafts))
            .and_then(|()| self.make_way())
            .and_then(|()| self.append_together(drafts));
        let (places, unit) = match result {
            Ok(places) => {
                let settled = places.last().map(|last| self.settle(*last, wait));
                (places, settled.unwrap_or_else(|| Err(nothing())))
            }
            Err(refusal) => (Vec::new(), Err(refusal)),
        };
        self.count_puts(coarse().saturating_sub(began), &[drafts], slice::from_ref(&unit));
        unit.map(|_| places)
    }

    fn check_together(&self, drafts: &[Draft<'_>]) -> Result<(), Refusal> {
        if drafts.is_empty() {
            return Err(nothing());
        }
        for draft in drafts {
            self.check(slice::from_ref(draft), self.message_bytes_max())?;
            if self.names_light_queues(draft)? {
                let reason = "a message for light queues cannot be part of a unit: put it alone";
                return Err(Refusal::new(PutStatus::MessageIllegal, reason));
            }
        }
        Ok(())
    }

    fn append_together(&self, drafts: &[Draft<'_>]) -> Result<Vec<Placed>, Refusal> {
        let body_max = self.message_bytes_max();
        let prepared =
            drafts.iter().map(|draft| self.prepare(draft, body_max)).collect::<Result<Vec<_>, _>>()?;
        let mut appender = self.lock_log()?;
        // Looked up under the lock: a topic that is deleted meanwhile takes its queues along.
        let queues = drafts
            .iter()
            .map(|draft| self.queue_for_put(draft.topic, draft.queue_id))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(appender.append_across(&prepared, &queues)?)
    }
}

fn nothing() -> Refusal {
    Refusal::new(PutStatus::MessageIllegal, "a unit needs at least one message")
}
