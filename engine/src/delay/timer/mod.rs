//! Messages timed to any moment. They wait in one queue of the timer's topic; a wheel of slots, one for each tick
//! of the precision, says which of them are due when.
//!
//! - `unit`, `tape`: the timer log, a chain of entries for each slot
//! - `wheel`: the slots
//! - `checkpoint`: how far it all is
//! - `recover`: the state that a start finds
//! - `enqueue`: from the queue into the wheel; `dequeue`: from the wheel to where they belong

pub mod checkpoint;
mod dequeue;
mod enqueue;
mod recover;
pub mod tape;
pub mod unit;
pub mod wheel;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use self::checkpoint::Checkpoint;
use self::dequeue::SlotRun;
use self::tape::Tape;
use self::wheel::{SLOTS, Wheel};
use super::TIMER_TOPIC;
use super::delivered::Delivered;
use super::onward::Counts;
use crate::error::{Error, Result};
use crate::log::queue::ConsumeQueue;
use crate::log::store::Store;

/// So many messages share one holding of the append lock: senders wait behind no more than these.
const BATCH: usize = 256;
/// A checkpoint is worth writing when so much was stored, so that little is searched after a crash.
const LOG_GROWTH: u64 = 256 << 20;
/// Slots that are never used, between the furthest future and the past.
const BLANK_SLOTS: i64 = 60;

/// Where the timer's files are, and how it counts time.
#[derive(Clone, Debug)]
pub struct TimerConfig {
    pub wheel_path: PathBuf,
    pub log_dir: PathBuf,
    pub checkpoint_path: PathBuf,
    pub log_file_bytes: u64,
    pub precision_ms: i64,
    /// Whoever waits longer than this is stored anew on the way, so that its message does not expire.
    pub roll_slots: i64,
}

/// What one round of work may do.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub enqueue: bool,
    pub dequeue: bool,
    pub count_max: usize,
}

/// What one round of work did.
#[derive(Debug, Default)]
pub struct Worked {
    /// Whether there is nothing to do until time passes or a message arrives.
    pub idle: bool,
    pub counts: Counts,
    /// Why it went no further although more is due.
    pub refusal: Option<String>,
}

#[derive(Debug)]
pub struct Timer {
    store: Arc<Store>,
    config: TimerConfig,
    state: Mutex<State>,
    stored: Mutex<Stored>,
}

/// What the checkpoint file says.
#[derive(Debug)]
struct Stored {
    checkpoint: Checkpoint,
    /// Messages moved until then.
    moved: u64,
}

#[derive(Debug)]
struct State {
    /// Made when there is a first message to wait.
    files: Option<Files>,
    /// Slots before this time are done.
    read_time: i64,
    queue_offset: i64,
    /// Late messages before this offset went on, though they may not be in the timer log yet.
    late_sent: i64,
    /// The slot that is being done.
    run: Option<SlotRun>,
    /// What went on before a crash, until all of that is passed.
    delivered: Delivered,
    catch_up: Option<CatchUp>,
    /// What a checkpoint may say: all before it is done, nothing after it is begun.
    safe: Checkpoint,
    /// Messages moved so far, and when `safe` was noted.
    moved: u64,
    moved_safe: u64,
    /// Waiting messages by the topic they belong to.
    waiting: BTreeMap<String, i64>,
}

#[derive(Debug)]
struct Files {
    wheel: Wheel,
    tape: Tape,
}

/// Where it all stood at the start.
#[derive(Clone, Copy, Debug)]
struct CatchUp {
    time: i64,
    queue_offset: i64,
}

impl TimerConfig {
    fn floor(&self, time_ms: i64) -> i64 {
        time_ms / self.precision_ms * self.precision_ms
    }

    /// How far ahead a message may be put.
    fn roll_slots(&self) -> i64 {
        let most = SLOTS - BLANK_SLOTS;
        if (2..=most).contains(&self.roll_slots) { self.roll_slots } else { most }
    }

    /// The oldest slot that cannot be taken for one of the next turn.
    fn oldest(&self, now: i64) -> i64 {
        self.floor(now) - (SLOTS - BLANK_SLOTS) * self.precision_ms
    }
}

impl Timer {
    /// Take in what has arrived, and let what is due go on, about so many messages.
    pub fn work(&self, now: i64, order: Order) -> Result<Worked> {
        let mut state = self.state.lock();
        let mut worked = Worked::default();
        let mut done = 0;
        while done < order.count_max {
            if self.store.is_closed() {
                return Err(Error::Closed);
            }
            let entered = if order.enqueue { self.enqueue(&mut state, now, &mut worked)? } else { 0 };
            let gone = if order.dequeue { self.dequeue(&mut state, now, &mut worked)? } else { 0 };
            state.moved += (entered + gone) as u64;
            self.settle(&mut state, now);
            worked.idle = entered + gone == 0;
            if worked.idle || worked.refusal.is_some() {
                break;
            }
            done += entered + gone;
        }
        Ok(worked)
    }

    /// Notes a state that a checkpoint may hold, and forgets what was before a crash once all of it is passed.
    fn settle(&self, state: &mut State, now: i64) {
        if state.run.is_some() {
            return;
        }
        if let Some(start) = state.catch_up {
            if state.read_time <= start.time || state.queue_offset < start.queue_offset {
                return;
            }
            state.delivered.forget();
            state.catch_up = None;
        }
        state.safe = Checkpoint {
            read_time_ms: state.read_time,
            log_position: state.files.as_ref().map_or(0, |files| files.tape.end()),
            queue_offset: state.queue_offset,
            timestamp: now,
            counter: state.safe.counter,
            delivered_from: Some(self.store.log.written()),
        };
        state.moved_safe = state.moved;
    }

    /// Make what was done so far survive a crash; says whether anything was written. Without `even_if_idle` only
    /// when messages moved, or the log of messages has grown much.
    ///
    /// That log goes to disk first: what the checkpoint counts as delivered must not be lost with the machine.
    pub fn flush(&self, even_if_idle: bool) -> Result<bool> {
        let mut stored = self.stored.lock();
        let (mut safe, moved, wheel, tape) = {
            let state = self.state.lock();
            let Some(files) = &state.files else { return Ok(false) };
            let from = stored.checkpoint.log_position.min(state.safe.log_position);
            (state.safe, state.moved_safe, files.wheel.file(), files.tape.files_from(from))
        };
        let before = &stored.checkpoint;
        let grown = safe.delivered_from.unwrap_or(0).saturating_sub(before.delivered_from.unwrap_or(0));
        if moved == stored.moved && grown < LOG_GROWTH && !even_if_idle {
            return Ok(false);
        }
        self.store.flush()?;
        if safe.log_position != before.log_position || safe.queue_offset != before.queue_offset {
            for file in tape {
                file.sync_data().map_err(|source| Error::io("sync", &self.config.log_dir, source))?;
            }
            wheel.sync_data().map_err(|source| Error::io("sync", &self.config.wheel_path, source))?;
        }
        safe.counter = before.counter + 1;
        safe.store(&self.config.checkpoint_path)?;
        *stored = Stored { checkpoint: safe, moved };
        Ok(true)
    }

    /// How far it is: the time whose slot is next, the offset in the queue, and the position in the timer log.
    pub fn checkpoint(&self) -> Checkpoint {
        self.state.lock().safe
    }

    /// What the checkpoint file says.
    pub fn stored(&self) -> Checkpoint {
        self.stored.lock().checkpoint
    }

    /// How far the queue is behind: messages that are not in the wheel yet.
    pub fn behind(&self) -> i64 {
        let state = self.state.lock();
        self.queue().map_or(0, |queue| queue.max_offset() - state.queue_offset).max(0)
    }

    /// Messages in the slot of a time.
    pub fn waiting_at(&self, time_ms: i64) -> Result<i32> {
        match &self.state.lock().files {
            Some(files) => Ok(files.wheel.get(time_ms)?.count),
            None => Ok(0),
        }
    }

    /// Waiting messages by the topic they belong to.
    pub fn waiting(&self) -> BTreeMap<String, i64> {
        self.state.lock().waiting.clone()
    }

    /// Deliveries that were found in the log at the start and not met again yet.
    pub fn delivered_before(&self) -> usize {
        self.state.lock().delivered.len()
    }

    /// Removes files of the timer log whose messages are gone.
    pub fn remove_expired(&self) -> Result<usize> {
        let physical_min = self.store.log.min_offset();
        match &mut self.state.lock().files {
            Some(files) => files.tape.remove_expired(physical_min),
            None => Ok(0),
        }
    }

    fn queue(&self) -> Option<Arc<ConsumeQueue>> {
        self.store.derived.queues.get(TIMER_TOPIC, 0)
    }
}
