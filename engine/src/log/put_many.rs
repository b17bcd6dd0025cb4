//! Putting what came in together: one holding of the append lock, and one wake-up of those who follow.

use std::ops::Range;

use super::append::{Appender, Placed};
use super::clock::coarse;
use super::config::FlushMode;
use super::put::{PutStatus, Refusal};
use super::store::Store;
use crate::message::{Draft, Prepared};

/// A unit that only has to be written.
struct Ready {
    /// Its messages among all that are prepared.
    messages: Range<usize>,
    names_light_queues: bool,
    body_max: usize,
}

impl Store {
    /// Store several units, each as `put_batch` would, and none waiting for the disk: with sync flush a unit is
    /// safe once [`flushed`](super::watch::Watch::flushed) has passed its end.
    ///
    /// They are not dispatched: call [`Store::dispatch_soon`] then. That takes longer than to store a message, so
    /// whoever waits for an answer had better get it first.
    pub fn put_many(&self, units: &[&[Draft<'_>]]) -> Vec<Result<Placed, Refusal>> {
        let began = coarse();
        let results = match self.gates().and_then(|()| self.make_way()) {
            Ok(()) => self.append_many(units),
            Err(refusal) => vec![Err(refusal); units.len()],
        };
        if let Some(last) = results.iter().rev().find_map(|result| result.as_ref().ok()) {
            if self.wakes_dispatcher() {
                self.flusher.nudge();
            } else {
                // Without waiting nothing is refused here.
                let _ = self.settle(*last, false);
            }
        }
        self.count_puts(coarse().saturating_sub(began), units, &results);
        results
    }

    /// Store messages that waited in the log one after another, and go no further than the first that cannot be
    /// stored now: only the last result may be such a refusal. A message that can never be stored is passed over.
    /// None waits for the disk.
    pub fn put_in_order(&self, drafts: &[Draft<'_>]) -> Vec<Result<Placed, Refusal>> {
        let began = coarse();
        let units: Vec<&[Draft<'_>]> = drafts.chunks(1).collect();
        let results = match self.gates().and_then(|()| self.make_way()) {
            Ok(()) => self.append_in_order(&units),
            Err(refusal) => vec![Err(refusal)],
        };
        if let Some(last) = results.iter().rev().find_map(|result| result.as_ref().ok()) {
            let _ = self.settle(*last, false);
        }
        self.count_puts(coarse().saturating_sub(began), &units[..results.len()], &results);
        results
    }

    fn append_in_order(&self, units: &[&[Draft<'_>]]) -> Vec<Result<Placed, Refusal>> {
        let mut prepared = Vec::with_capacity(units.len());
        // They are in the log already: `maxMessageSize` may be another one by now.
        let ready: Vec<_> =
            units.iter().map(|unit| self.make_ready(unit, &mut prepared, usize::MAX)).collect();
        let mut appender = match self.lock_log() {
            Ok(appender) => appender,
            Err(refusal) => return vec![Err(refusal)],
        };
        let mut results = Vec::with_capacity(units.len());
        for (ready, unit) in ready.into_iter().zip(units) {
            let result = ready.and_then(|ready| self.write(&mut appender, unit, &ready, &prepared));
            let stands = result.as_ref().is_err_and(|refusal| !refusal.is_final());
            results.push(result);
            if stands {
                break;
            }
        }
        results
    }

    /// Let what was put be dispatched.
    pub fn dispatch_soon(&self) {
        if self.wakes_dispatcher() {
            self.dispatcher.dispatch_soon();
        }
    }

    /// Whether messages can be read as soon as they are written; otherwise flush or commit wake the dispatcher.
    fn wakes_dispatcher(&self) -> bool {
        self.config.flush_mode == FlushMode::Async && self.config.transient_pool.is_none()
    }

    fn append_many(&self, units: &[&[Draft<'_>]]) -> Vec<Result<Placed, Refusal>> {
        let mut prepared = Vec::with_capacity(units.iter().map(|unit| unit.len()).sum());
        let body_max = self.message_bytes_max();
        let ready: Vec<Result<Ready, Refusal>> =
            units.iter().map(|unit| self.make_ready(unit, &mut prepared, body_max)).collect();
        let mut appender = match self.lock_log() {
            Ok(appender) => appender,
            Err(refusal) => return vec![Err(refusal); units.len()],
        };
        appender.announce(
            units.iter().filter_map(|unit| unit.first()).map(|first| (first.topic, first.queue_id)),
        );
        let written = ready
            .into_iter()
            .zip(units)
            .map(|(ready, unit)| self.write(&mut appender, unit, &ready?, &prepared));
        written.collect()
    }

    fn make_ready<'a>(
        &self,
        unit: &'a [Draft<'a>],
        prepared: &mut Vec<Prepared<'a>>,
        body_max: usize,
    ) -> Result<Ready, Refusal> {
        self.check(unit, body_max)?;
        let names_light_queues = match unit {
            [draft] => self.names_light_queues(draft)?,
            _ => false,
        };
        let first = prepared.len();
        for draft in unit {
            match self.prepare(draft, body_max) {
                Ok(message) => prepared.push(message),
                Err(refusal) => {
                    prepared.truncate(first);
                    return Err(refusal);
                }
            }
        }
        Ok(Ready { messages: first..prepared.len(), names_light_queues, body_max })
    }

    fn write(
        &self,
        appender: &mut Appender<'_>,
        unit: &[Draft<'_>],
        ready: &Ready,
        prepared: &[Prepared<'_>],
    ) -> Result<Placed, Refusal> {
        if ready.names_light_queues {
            return self.append_to_many(appender, &unit[0], ready.body_max);
        }
        let (place, messages) = ((unit[0].topic, unit[0].queue_id), &prepared[ready.messages.clone()]);
        Ok(appender.append_to(&self.derived.queues, place, messages)?)
    }
}

impl Refusal {
    /// Whether the message can never be stored, however often it is tried.
    pub fn is_final(&self) -> bool {
        matches!(self.status, PutStatus::MessageIllegal | PutStatus::PropertiesSizeExceeded)
    }
}
