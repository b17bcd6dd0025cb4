//! From the wheel to where the messages belong, slot by slot.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::unit::{NO_POSITION, magic};
use super::{BATCH, Files, State, Timer, Worked};
use crate::delay::TIMER_TOPIC;
use crate::delay::onward::{Home, Onward, number};
use crate::error::{Error, Result};
use crate::log::notes::{Level, Notes};
use crate::log::view::{Slice, View};
use crate::message::crc::without_property_crc;
use crate::message::layout::property;
use crate::message::{Record, properties};

/// A slot that is being done.
#[derive(Debug)]
pub struct SlotRun {
    waiting: Vec<Waiting>,
    next: usize,
    /// Recalled messages, by topic and unique key, and whether they were met.
    recalled: HashMap<Vec<u8>, bool>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    physical_offset: u64,
    enqueued: i64,
    magic: i32,
}

impl Timer {
    /// Let the next messages go on that are due; returns how many, and one more for a slot that is done.
    pub(super) fn dequeue(&self, state: &mut State, now: i64, worked: &mut Worked) -> Result<usize> {
        if state.run.is_none() && !self.begin_slot(state, now)? {
            return Ok(0);
        }
        let Some(run) = &state.run else { return Ok(0) };
        let batch: Vec<Waiting> = run.waiting[run.next..].iter().take(BATCH).copied().collect();
        let loaded = self.load(&batch)?;
        let done = self.send(state, &loaded, now, worked)?;
        let is_over = state.run.as_mut().is_some_and(|run| {
            run.next += done;
            run.next == run.waiting.len()
        });
        if is_over {
            state.end_slot();
            state.read_time += self.config.precision_ms;
        }
        Ok(done + usize::from(is_over))
    }

    /// Go to the next slot that is due and holds something.
    fn begin_slot(&self, state: &mut State, now: i64) -> Result<bool> {
        let end = self.config.floor(now);
        if state.read_time >= end {
            return Ok(false);
        }
        let Some(files) = &mut state.files else {
            state.read_time = end;
            return Ok(false);
        };
        let Some(time) = files.wheel.next_used(state.read_time, end)? else {
            state.read_time = end;
            return Ok(false);
        };
        state.read_time = time;
        let (waiting, recalls) = files.chain(time, &self.store.notes)?;
        let recalled = self.recalled(&recalls)?;
        state.run = Some(SlotRun { waiting, next: 0, recalled });
        Ok(true)
    }

    fn recalled(&self, recalls: &[u64]) -> Result<HashMap<Vec<u8>, bool>> {
        let mut view = View::new(&self.store.log, self.store.dispatcher.confirmed());
        let mut keys = HashMap::new();
        for &offset in recalls {
            let Some(record) = view.record(offset)? else { continue };
            let key = properties::find(record.properties(), property::TIMER_DEL_UNIQKEY);
            keys.extend(key.map(|key| (key.to_vec(), false)));
        }
        Ok(keys)
    }

    /// The messages of some units; `None` for one that the log no longer has.
    fn load(&self, waiting: &[Waiting]) -> Result<Vec<(Waiting, Option<Slice>)>> {
        let mut view = View::new(&self.store.log, self.store.dispatcher.confirmed());
        waiting.iter().map(|unit| Ok((*unit, view.slice(unit.physical_offset)?))).collect()
    }

    fn send(
        &self,
        state: &mut State,
        loaded: &[(Waiting, Option<Slice>)],
        now: i64,
        worked: &mut Worked,
    ) -> Result<usize> {
        let mut onward = Vec::with_capacity(loaded.len());
        let mut places = Vec::with_capacity(loaded.len());
        for (place, (unit, slice)) in loaded.iter().enumerate() {
            let Some(slice) = slice else { continue };
            let record = slice.record()?;
            let message = if record.topic() != TIMER_TOPIC || state.is_recalled(&record) {
                None
            } else if unit.magic & magic::ROLL != 0 {
                Some(Onward::rolled(record, unit.enqueued, now))
            } else {
                Onward::timed(record, unit.enqueued, now)
            };
            if let Some(message) = message {
                onward.push(message);
                places.push(place);
            }
        }
        let gone = self.store.send_onward(&onward, &mut state.delivered, &mut worked.counts);
        for message in &onward[..gone.done] {
            let home = properties::find(&message.properties, property::REAL_TOPIC);
            if let Some(home) = home {
                state.count_waiting(home, -1);
            }
        }
        worked.refusal = gone.refusal.map(|refusal| refusal.reason);
        Ok(places.get(gone.done).copied().unwrap_or(loaded.len()))
    }
}

impl State {
    fn is_recalled(&mut self, record: &Record<'_>) -> bool {
        let Some(run) = self.run.as_mut().filter(|run| !run.recalled.is_empty()) else { return false };
        let text = record.properties();
        let (Some(home), Some(unique)) =
            (properties::find(text, property::REAL_TOPIC), properties::find(text, property::UNIQ_KEY))
        else {
            return false;
        };
        match run.recalled.get_mut(&[home, b"+", unique].concat()) {
            Some(met) => {
                *met = true;
                true
            }
            None => false,
        }
    }

    /// A recall was counted as one message less; where it met none, that was wrong.
    fn end_slot(&mut self) {
        let Some(run) = self.run.take() else { return };
        for (key, _) in run.recalled.iter().filter(|(_, met)| !**met) {
            if let Some(topic) = key.split(|&byte| byte == b'+').next() {
                self.count_waiting(topic, 1);
            }
        }
    }
}

impl Files {
    /// The messages of a slot in the order they came, and where its recalls lie in the log.
    fn chain(&mut self, time: i64, notes: &Notes) -> Result<(Vec<Waiting>, Vec<u64>)> {
        let slot = self.wheel.get(time)?;
        let (mut waiting, mut recalls) = (Vec::new(), Vec::new());
        let mut at = slot.last;
        while at != NO_POSITION {
            let unit = match self.tape.unit(at.cast_unsigned()) {
                Err(error @ Error::Damaged { .. }) => {
                    notes.say(Level::Error, format!("the slot of {time} has lost messages: {error}"));
                    break;
                }
                unit => unit?,
            };
            let physical_offset = unit.physical_offset.max(0).cast_unsigned();
            if unit.is(magic::DELETE) && !unit.is(magic::ROLL) {
                recalls.push(physical_offset);
            } else {
                waiting.push(Waiting { physical_offset, enqueued: unit.written_ms, magic: unit.magic });
            }
            // Chains lead backwards; one that does not would never end.
            at = if at == slot.first || unit.previous >= at { NO_POSITION } else { unit.previous };
        }
        waiting.reverse();
        Ok((waiting, recalls))
    }
}

impl<'a> Onward<'a> {
    /// A timed message on its way home; `None` if it does not say where that is.
    pub fn timed(record: Record<'a>, enqueued: i64, now: i64) -> Option<Self> {
        let text = record.properties();
        let home = Home::of(text)?;
        Some(Self { record, home, properties: Cow::Owned(with_times(text, enqueued, now)) })
    }

    /// A timed message that has to wait further, stored anew.
    pub fn rolled(record: Record<'a>, enqueued: i64, now: i64) -> Self {
        let text = record.properties();
        let times = properties::find(text, property::TIMER_ROLL_TIMES).and_then(number).unwrap_or(0);
        let mut kept = Vec::with_capacity(text.len() + 24);
        for (name, value) in properties::iter(text) {
            if name != property::TIMER_ROLL_TIMES {
                properties::push(&mut kept, name, value);
            }
        }
        properties::push(&mut kept, property::TIMER_ROLL_TIMES, (times + 1).to_string().as_bytes());
        let properties = Cow::Owned(with_times(&kept, enqueued, now));
        Self { record, home: Home { topic: TIMER_TOPIC, queue_id: 0 }, properties }
    }
}

/// Properties with when the message came into the wheel and when it left it.
fn with_times(text: &[u8], enqueued: i64, now: i64) -> Vec<u8> {
    let text = without_property_crc(text);
    let mut kept = Vec::with_capacity(text.len() + 80);
    for (name, value) in properties::iter(text) {
        if name != property::TIMER_ENQUEUE_MS && name != property::TIMER_DEQUEUE_MS {
            properties::push(&mut kept, name, value);
        }
    }
    let mut number = itoa::Buffer::new();
    properties::push(&mut kept, property::TIMER_ENQUEUE_MS, number.format(enqueued).as_bytes());
    properties::push(&mut kept, property::TIMER_DEQUEUE_MS, number.format(now).as_bytes());
    kept
}
