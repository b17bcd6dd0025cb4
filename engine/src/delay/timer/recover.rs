//! The state that a start finds: files of an orderly stop, of a killed process, of a crashed machine, of Java, or
//! none at all.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::checkpoint::Checkpoint;
use super::tape::{Found, Tape};
use super::unit::{NO_POSITION, UNIT_BYTES, Unit, magic};
use super::wheel::{Slot, Wheel};
use super::{CatchUp, Files, State, Stored, Timer, TimerConfig};
use crate::delay::TIMER_TOPIC;
use crate::delay::delivered::{Delivered, Kind};
use crate::error::Result;
use crate::log::notes::Level;
use crate::log::store::Store;

impl Timer {
    /// Open the timer of a store at a time. `waiting` are counts as they were last written down.
    pub fn open(
        store: Arc<Store>,
        config: TimerConfig,
        waiting: BTreeMap<String, i64>,
        now: i64,
    ) -> Result<Self> {
        let found = Checkpoint::load(&config.checkpoint_path)?;
        let exists = found.is_some() || config.wheel_path.exists();
        let queue = store.derived.queues.get(TIMER_TOPIC, 0);
        let (queue_min, queue_max) = queue.map_or((0, 0), |queue| (queue.min_offset(), queue.max_offset()));
        let mut state = State {
            files: None,
            read_time: config.floor(now),
            queue_offset: queue_min,
            late_sent: 0,
            run: None,
            delivered: Delivered::default(),
            catch_up: None,
            safe: Checkpoint::default(),
            moved: 0,
            moved_safe: 0,
            waiting,
        };
        // Where nothing says how far it was, the log says what was delivered.
        let unknown = (found.is_none() && queue_max > queue_min).then_some(0);
        let delivered_from = found.map_or(unknown, |found| found.delivered_from);
        if exists {
            let found = found.unwrap_or_default();
            state.read_time = found.read_time_ms.max(config.oldest(now));
            let mut files = Files::open(&store, &config, &found, state.read_time)?;
            let in_log = files.next_queue_offset(&store)?;
            state.queue_offset = found.queue_offset.max(in_log).clamp(queue_min, queue_max);
            state.safe = Checkpoint {
                read_time_ms: state.read_time,
                log_position: files.tape.end(),
                queue_offset: state.queue_offset,
                delivered_from: Some(delivered_from.unwrap_or_else(|| store.log.written())),
                ..found
            };
            state.safe.store(&config.checkpoint_path)?;
            state.files = Some(files);
        }
        if let Some(from) = delivered_from {
            state.delivered = Delivered::since(&store, Kind::Timers, from)?;
            let start = CatchUp { time: config.floor(now), queue_offset: queue_max };
            state.catch_up = (!state.delivered.is_empty()).then_some(start);
        }
        let stored = Mutex::new(Stored { checkpoint: state.safe, moved: 0 });
        Ok(Self { store, config, state: Mutex::new(state), stored })
    }

    /// The files, made now if need be. The checkpoint is written before anything is done that it does not count.
    pub(super) fn made<'a>(&self, state: &'a mut State) -> Result<&'a mut Files> {
        if state.files.is_none() {
            let files = Files::open(&self.store, &self.config, &Checkpoint::default(), state.read_time)?;
            let first = Checkpoint {
                read_time_ms: state.read_time,
                log_position: files.tape.end(),
                queue_offset: state.queue_offset,
                // What was found in the log at the start is to be found again.
                delivered_from: Some(if state.catch_up.is_some() { 0 } else { self.store.log.written() }),
                ..state.safe
            };
            first.store(&self.config.checkpoint_path)?;
            state.safe = first;
            state.files = Some(files);
        }
        match &mut state.files {
            Some(files) => Ok(files),
            None => unreachable!("made above"),
        }
    }
}

impl Files {
    /// Open the files and put what the wheel lacks into it.
    fn open(store: &Store, config: &TimerConfig, found: &Checkpoint, read_time: i64) -> Result<Self> {
        if let Some(parent) = config.checkpoint_path.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|source| crate::error::Error::io("create", parent, source))?;
        }
        let (wheel, is_new) = Wheel::open(&config.wheel_path, config.precision_ms)?;
        let tape = Tape::open(&config.log_dir, config.log_file_bytes)?;
        let mut files = Self { wheel, tape };
        let from = if is_new {
            files.tape.start()
        } else if found.delivered_from.is_some() && found.log_position >= files.tape.start() {
            found.log_position
        } else {
            // Java writes its wheel now and then: as Java does, begin a file before the position it noted.
            let before = found.log_position.saturating_sub(config.log_file_bytes);
            files.tape.file_start(before).max(files.tape.start())
        };
        let from = files.last_known(store, from)?;
        files.replay(store, from, read_time)?;
        Ok(files)
    }

    /// The position, or an earlier one if the log of messages does not reach as far as the units before it.
    fn last_known(&mut self, store: &Store, mut position: u64) -> Result<u64> {
        while let Some(before) = self.tape.position_before(position) {
            match self.tape.look(before)? {
                Found::Unit(unit) if !is_known(store, &unit) => position = before,
                _ => break,
            }
        }
        Ok(position)
    }

    /// Put units into the wheel that it does not have, and end the log where no unit follows.
    fn replay(&mut self, store: &Store, from: u64, read_time: i64) -> Result<()> {
        let mut at = from;
        let mut replayed = 0;
        let end = loop {
            match self.tape.look(at)? {
                Found::NextFile(start) => at = start,
                Found::Unit(unit) if is_known(store, &unit) => {
                    replayed += i64::from(self.apply(at, &unit, read_time)?);
                    at += UNIT_BYTES as u64;
                }
                Found::Unit(_) => {
                    self.take_back(store, at)?;
                    break at;
                }
                Found::Nothing => break at,
            }
        };
        self.tape.end_at(end)?;
        self.wheel.write_out()?;
        if replayed > 0 {
            store.notes.say(Level::Info, format!("{replayed} timed messages were put into the wheel again"));
        }
        Ok(())
    }

    /// Whether the wheel lacked the unit.
    fn apply(&mut self, position: u64, unit: &Unit, read_time: i64) -> Result<bool> {
        let (time, position) = (unit.time_ms(), position.cast_signed());
        if unit.is(magic::AT_ONCE) || time < read_time {
            return Ok(false);
        }
        let slot = self.wheel.get(time)?;
        if slot.last >= position {
            return Ok(false);
        }
        self.wheel.put(time, slot.with(position, unit));
        Ok(true)
    }

    /// The log of messages lost its end, and with it the messages of the units from here on.
    fn take_back(&mut self, store: &Store, from: u64) -> Result<()> {
        let mut units = Vec::new();
        let mut at = from;
        loop {
            match self.tape.look(at)? {
                Found::Unit(unit) => units.push((at.cast_signed(), unit)),
                Found::NextFile(start) => {
                    at = start;
                    continue;
                }
                Found::Nothing => break,
            }
            at += UNIT_BYTES as u64;
        }
        let text = format!("{} timed messages are no longer in the log; the wheel forgets them", units.len());
        store.notes.say(Level::Warning, text);
        for (position, unit) in units.into_iter().rev() {
            let slot = self.wheel.get(unit.time_ms())?;
            if slot.last == position {
                let before = Slot { last: unit.previous, count: slot.count - 1, ..slot };
                self.wheel
                    .put(unit.time_ms(), if unit.previous == NO_POSITION { Slot::EMPTY } else { before });
            }
        }
        Ok(())
    }

    /// The queue offset after that of the last message in the timer log.
    fn next_queue_offset(&mut self, store: &Store) -> Result<i64> {
        let Some(last) = self.tape.position_before(self.tape.end()) else { return Ok(0) };
        let Found::Unit(unit) = self.tape.look(last)? else { return Ok(0) };
        let Some(slice) = store.record_at(unit.physical_offset.max(0).cast_unsigned())? else { return Ok(0) };
        let record = slice.record()?;
        Ok(if record.topic() == TIMER_TOPIC { record.queue_offset() + 1 } else { 0 })
    }
}

impl Slot {
    /// The slot with one more unit at its end.
    #[must_use]
    pub fn with(self, position: i64, unit: &Unit) -> Self {
        let first = if self.first == NO_POSITION { position } else { self.first };
        let by = if unit.is(magic::DELETE) { -1 } else { 1 };
        Self { first, last: position, count: self.count + by }
    }
}

/// Whether the log of messages reaches as far as a unit's message.
fn is_known(store: &Store, unit: &Unit) -> bool {
    unit.physical_offset >= 0
        && unit.physical_offset.cast_unsigned() + unit.size.max(0) as u64 <= store.dispatcher.confirmed()
}
