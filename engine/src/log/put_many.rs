//! Putting what came in together: one holding of the append lock, and one wake-up of those who follow.

use std::ops::Range;
use std::sync::Arc;

use super::append::{Appender, Placed};
use super::clock::coarse;
use super::put::{LightQueues, Refusal};
use super::queue::ConsumeQueue;
use super::store::Store;
use crate::message::{Draft, Prepared};

/// A unit that only has to be written.
struct Ready {
    queue: Arc<ConsumeQueue>,
    /// Its messages among all that are prepared.
    messages: Range<usize>,
    light: Option<LightQueues>,
}

impl Store {
    /// Store several units, each as `put_batch` would, and none waiting for the disk: with sync flush a unit is
    /// safe once [`flushed`](super::watch::Watch::flushed) has passed its end.
    pub fn put_many(&self, units: &[&[Draft<'_>]]) -> Vec<Result<Placed, Refusal>> {
        let began = coarse();
        let results = match self.gates().and_then(|()| self.make_way()) {
            Ok(()) => self.append_many(units),
            Err(refusal) => vec![Err(refusal); units.len()],
        };
        if let Some(last) = results.iter().rev().find_map(|result| result.as_ref().ok()) {
            // Without waiting nothing is refused here.
            let _ = self.settle(*last, false);
        }
        let took = coarse().saturating_sub(began);
        for (unit, result) in units.iter().zip(&results) {
            self.count_put(took, unit, result);
        }
        results
    }

    fn append_many(&self, units: &[&[Draft<'_>]]) -> Vec<Result<Placed, Refusal>> {
        let mut prepared = Vec::with_capacity(units.iter().map(|unit| unit.len()).sum());
        let mut ready: Vec<Result<Ready, Refusal>> = Vec::with_capacity(units.len());
        for unit in units {
            let before = ready.last().and_then(|last| last.as_ref().ok()).map(|last| &last.queue);
            let next = self.make_ready(unit, before, &mut prepared);
            ready.push(next);
        }
        let mut appender = match self.lock_log() {
            Ok(appender) => appender,
            Err(refusal) => return vec![Err(refusal); units.len()],
        };
        let written = ready.into_iter().zip(units).map(|(ready, unit)| {
            let ready = ready?;
            self.write(&mut appender, &ready, &prepared[ready.messages.clone()], unit)
        });
        written.collect()
    }

    fn make_ready<'a>(
        &self,
        unit: &'a [Draft<'a>],
        queue_before: Option<&Arc<ConsumeQueue>>,
        prepared: &mut Vec<Prepared<'a>>,
    ) -> Result<Ready, Refusal> {
        self.check(unit)?;
        let (topic, queue_id) = (unit[0].topic, unit[0].queue_id);
        let is_it =
            |queue: &&Arc<ConsumeQueue>| queue.queue_id() == queue_id && queue.topic().as_bytes() == topic;
        let queue = match queue_before.filter(is_it) {
            Some(queue) => queue.clone(),
            None => self.queue_for_put(topic, queue_id)?,
        };
        let light = match unit {
            [draft] => self.light_queues_for(draft)?,
            _ => None,
        };
        let first = prepared.len();
        for draft in unit {
            match self.prepare(draft) {
                Ok(message) => prepared.push(message),
                Err(refusal) => {
                    prepared.truncate(first);
                    return Err(refusal);
                }
            }
        }
        Ok(Ready { queue, messages: first..prepared.len(), light })
    }

    fn write(
        &self,
        appender: &mut Appender<'_>,
        ready: &Ready,
        messages: &[Prepared<'_>],
        unit: &[Draft<'_>],
    ) -> Result<Placed, Refusal> {
        match &ready.light {
            Some(light) => self.append_to_many(appender, &unit[0], &ready.queue, light),
            None => Ok(appender.append_batch(messages, &ready.queue)?),
        }
    }
}
