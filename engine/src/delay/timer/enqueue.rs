//! From the timer's queue into the wheel.

use hashbrown::HashMap;

use super::unit::{NO_POSITION, Unit, magic};
use super::{BATCH, State, Timer, Worked};
use crate::delay::TIMER_TOPIC;
use crate::delay::onward::{Onward, number};
use crate::error::Result;
use crate::log::notes::Level;
use crate::log::view::{Slice, View};
use crate::message::ids::java_hash;
use crate::message::layout::property;
use crate::message::{Record, properties};

/// `TIMER_ENQUEUE_MS` of a message that never was in the wheel, as Java has it.
pub const NEVER_ENQUEUED: i64 = i64::MAX;

/// A message that arrived.
struct Arrived {
    slice: Slice,
    time: i64,
    is_recall: bool,
    is_late: bool,
}

impl Timer {
    /// Take in the next messages of the queue; returns how many.
    pub(super) fn enqueue(&self, state: &mut State, now: i64, worked: &mut Worked) -> Result<usize> {
        let Some(queue) = self.queue() else { return Ok(0) };
        state.queue_offset = state.queue_offset.max(queue.min_offset());
        let mut units = Vec::with_capacity(BATCH);
        queue.read(state.queue_offset, BATCH, &mut units)?;
        if units.is_empty() {
            return Ok(0);
        }
        self.made(state)?;
        let mut view = View::new(&self.store.log, self.store.dispatcher.confirmed());
        let mut arrived = Vec::with_capacity(units.len());
        for unit in &units {
            let slice = view.slice(unit.physical_offset.max(0).cast_unsigned())?;
            arrived.push(match slice {
                Some(slice) => self.judge(state, slice)?,
                None => None,
            });
        }
        let taken = self.send_late(state, &arrived, now, worked)?;
        self.write_units(state, arrived[..taken].iter().flatten(), now)?;
        state.queue_offset += taken as i64;
        Ok(taken)
    }

    /// What is to become of a message; `None` for one that says no time.
    fn judge(&self, state: &State, slice: Slice) -> Result<Option<Arrived>> {
        let record = slice.record()?;
        let text = record.properties();
        let time = properties::find(text, property::TIMER_OUT_MS).and_then(number);
        let Some(time) = time.filter(|&time| time >= 0 && record.topic() == TIMER_TOPIC) else {
            let offset = record.physical_offset();
            self.store.notes.say(
                Level::Error,
                format!("the timed message at offset {offset} does not say when it is due and is left out"),
            );
            return Ok(None);
        };
        // What is not in the wheel when its slot is done would never be found.
        let is_late = time < state.read_time || (time < self.slot_end(state) && state.run.is_some());
        let is_recall = properties::find(text, property::TIMER_DEL_UNIQKEY).is_some();
        Ok(Some(Arrived { slice, time, is_recall, is_late }))
    }

    fn slot_end(&self, state: &State) -> i64 {
        state.read_time + self.config.precision_ms
    }

    /// Let the late ones go on at once; returns how many of all are dealt with.
    fn send_late(
        &self,
        state: &mut State,
        arrived: &[Option<Arrived>],
        now: i64,
        worked: &mut Worked,
    ) -> Result<usize> {
        let mut onward = Vec::new();
        let mut places = Vec::new();
        for (place, arrived) in arrived.iter().enumerate() {
            let is_sent = state.queue_offset + (place as i64) < state.late_sent;
            let Some(arrived) = arrived.as_ref().filter(|it| it.is_late && !it.is_recall && !is_sent) else {
                continue;
            };
            if let Some(message) = Onward::timed(arrived.slice.record()?, NEVER_ENQUEUED, now) {
                onward.push(message);
                places.push(place);
            }
        }
        if onward.is_empty() {
            return Ok(arrived.len());
        }
        let gone = self.store.send_onward(&onward, &mut state.delivered, &mut worked.counts);
        worked.refusal = gone.refusal.map(|refusal| refusal.reason);
        let taken = places.get(gone.done).copied().unwrap_or(arrived.len());
        // Should entering them fail, they come again.
        state.late_sent = state.queue_offset + taken as i64;
        Ok(taken)
    }

    /// Enter messages into the timer log, then into the wheel: the log alone is enough to find them again.
    fn write_units<'a>(
        &self,
        state: &mut State,
        arrived: impl Iterator<Item = &'a Arrived>,
        now: i64,
    ) -> Result<()> {
        let read_time = state.read_time;
        let mut entered = Vec::new();
        let files = self.made(state)?;
        files.tape.discard_staged();
        let mut changed = HashMap::new();
        for arrived in arrived {
            let record = arrived.slice.record()?;
            let mut unit = self.unit(&record, arrived, read_time, now);
            let time = unit.time_ms();
            let slot = match changed.get(&time) {
                Some(slot) => *slot,
                None => files.wheel.get(time)?,
            };
            unit.previous = slot.last;
            let position = files.tape.stage(&unit)?.cast_signed();
            if !arrived.is_late {
                changed.insert(time, slot.with(position, &unit));
                let home = properties::find(record.properties(), property::REAL_TOPIC);
                entered.extend(home.map(|home| (home.to_vec(), if arrived.is_recall { -1 } else { 1 })));
            }
        }
        files.tape.write()?;
        for (time, slot) in changed {
            files.wheel.put(time, slot);
        }
        files.wheel.write_out()?;
        for (home, by) in entered {
            state.count_waiting(&home, by);
        }
        Ok(())
    }

    fn unit(&self, record: &Record<'_>, arrived: &Arrived, read_time: i64, now: i64) -> Unit {
        let config = &self.config;
        let written_ms = config.floor(now);
        let mut bits = magic::DEFAULT;
        let mut time = config.floor(arrived.time);
        let window = config.roll_slots() * config.precision_ms;
        if arrived.is_late {
            bits |= magic::AT_ONCE;
            // Into a slot that is done: nobody looks for it, but the log says how far the queue was read.
            time = read_time - config.precision_ms;
        } else if time - written_ms >= window {
            bits |= magic::ROLL;
            let rest = time - written_ms - window;
            // Not so near the end of the window that it would have to be stored anew twice in a row.
            let is_near = rest < config.roll_slots() / 3 * config.precision_ms;
            let slots = if is_near { config.roll_slots() / 2 } else { config.roll_slots() };
            time = written_ms + slots * config.precision_ms;
        }
        if arrived.is_recall {
            bits |= magic::DELETE;
        }
        let home = properties::find(record.properties(), property::REAL_TOPIC);
        Unit {
            previous: NO_POSITION,
            magic: bits,
            written_ms,
            delay_ms: (time - written_ms).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32,
            physical_offset: record.physical_offset(),
            size: record.size() as i32,
            topic_hash: home.map_or(0, java_hash),
        }
    }
}

impl State {
    pub(super) fn count_waiting(&mut self, topic: &[u8], by: i64) {
        let topic = String::from_utf8_lossy(topic);
        match self.waiting.get_mut(topic.as_ref()) {
            Some(count) => *count += by,
            None => {
                self.waiting.insert(topic.into_owned(), by);
            }
        }
    }
}
