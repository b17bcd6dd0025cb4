//! What became of many messages that nobody holds receipts of.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::parcel::{Fate, SUCCESS};
use crate::client::handles::Handle;
use crate::message::ids::decode_message_id;

/// The first of those that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    pub topic: Arc<str>,
    pub fate: Arc<Fate>,
    pub tries: u32,
}

/// Halves of one topic at one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halves {
    pub broker: Arc<str>,
    pub topic: Arc<str>,
    pub handles: Vec<Handle>,
}

#[derive(Default)]
struct State {
    under_way: usize,
    stored: u64,
    first_failed: Option<Failed>,
    halves: Vec<Halves>,
}

/// Counts messages that are posted together; of halves it keeps where they stand.
#[derive(Default)]
pub struct Tally {
    keeps_handles: bool,
    state: Mutex<State>,
    changed: Condvar,
}

impl Tally {
    pub fn new(keeps_handles: bool) -> Arc<Self> {
        Arc::new(Self { keeps_handles, ..Self::default() })
    }

    pub fn begun(&self) {
        self.state.lock().under_way += 1;
    }

    /// A parcel of so many messages came to its end.
    pub fn ended(&self, topic: &Arc<str>, count: u32, tries: u32, fate: &Arc<Fate>) {
        let mut state = self.state.lock();
        state.under_way -= count as usize;
        let is_stored = if self.keeps_handles { state.keep(topic, fate) } else { fate.is_stored() };
        if is_stored {
            state.stored += u64::from(count);
        } else if state.first_failed.is_none() {
            state.first_failed = Some(Failed { topic: topic.clone(), fate: fate.clone(), tries });
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Wait until no more than so many are under way; false when the time is over first.
    pub fn wait(&self, at_most: usize, until: Instant) -> bool {
        let mut state = self.state.lock();
        while state.under_way > at_most {
            if self.changed.wait_until(&mut state, until).timed_out() {
                return state.under_way <= at_most;
            }
        }
        true
    }

    pub fn under_way(&self) -> usize {
        self.state.lock().under_way
    }

    pub fn stored(&self) -> u64 {
        self.state.lock().stored
    }

    pub fn first_failed(&self) -> Option<Failed> {
        self.state.lock().first_failed.clone()
    }

    pub fn has_failed(&self) -> bool {
        self.state.lock().first_failed.is_some()
    }

    pub fn halves(&self) -> Vec<Halves> {
        self.state.lock().halves.clone()
    }
}

impl State {
    /// Keep where a half stands; one that may be lost again is as good as none.
    fn keep(&mut self, topic: &Arc<str>, fate: &Fate) -> bool {
        let place = decode_message_id(fate.offset_message_ids.as_bytes());
        let (SUCCESS, Ok((_, log_offset))) = (fate.code, place) else { return false };
        let handle = Handle { log_offset, queue_offset: fate.queue_offset };
        let known = self.halves.iter_mut().find(|each| each.broker == fate.broker && each.topic == *topic);
        match known {
            Some(halves) => halves.handles.push(handle),
            None => self.halves.push(Halves {
                broker: fate.broker.clone(),
                topic: topic.clone(),
                handles: vec![handle],
            }),
        }
        true
    }
}
