//! One request's messages and what becomes of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::config::Target;
use super::face::Outbox;
use super::load::Load;
use super::tally::Tally;
use crate::client::courier::{Failure, Notice, Outcome, Waiter};
use crate::message::unique::Stamp;
use crate::net::frame::Frame;

pub(super) const SUCCESS: i32 = 0;
/// Stored, but not flushed or copied in time.
const STORED: [i32; 4] = [SUCCESS, 10, 11, 12];

/// How a send ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    pub code: i32,
    pub remark: String,
    pub broker: Arc<str>,
    pub queue_id: i32,
    /// Of the first message.
    pub queue_offset: i64,
    /// Of all messages, separated by commas.
    pub offset_message_ids: String,
    pub transaction_id: Option<String>,
    pub region_id: Option<String>,
    pub trace_on: bool,
    pub recall_handle: Option<String>,
}

impl Fate {
    fn failed(code: i32, remark: String, target: &Target) -> Self {
        Self {
            code,
            remark,
            broker: target.broker.clone(),
            queue_id: target.queue_id,
            queue_offset: -1,
            offset_message_ids: String::new(),
            transaction_id: None,
            region_id: None,
            trace_on: true,
            recall_handle: None,
        }
    }

    fn answered(frame: &Frame<'_>, target: &Target) -> Self {
        let remark = frame.header.remark.map(|remark| remark.to_str().into_owned()).unwrap_or_default();
        let mut fate = Self::failed(frame.header.code, remark, target);
        for field in frame.header.fields {
            let text = || Some(field.value.to_str().into_owned());
            match field.key.borrowed() {
                Some("queueId") => fate.queue_id = field.value.int().unwrap_or(-1) as i32,
                Some("queueOffset") => fate.queue_offset = field.value.int().unwrap_or(-1),
                Some("msgId") => fate.offset_message_ids = field.value.to_str().into_owned(),
                Some("transactionId") => fate.transaction_id = text(),
                Some("MSG_REGION") => fate.region_id = text(),
                Some("TRACE_ON") => fate.trace_on = !field.value.is("false"),
                Some("recallHandle") => fate.recall_handle = text(),
                _ => {}
            }
        }
        fate
    }

    pub fn is_stored(&self) -> bool {
        STORED.contains(&self.code)
    }
}

/// Who decides what happens after a failed try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Posted: Python is told of the failure and tries again or gives up.
    Posted,
    /// Sent: the failure is the answer; whoever sent it may try again.
    Sent,
    Oneway,
}

#[derive(Debug, Default)]
struct State {
    /// Gone once the messages are stored, or given up.
    load: Option<Load>,
    target: Option<Target>,
    count: u32,
    bytes: usize,
    tries: u32,
    first_tried: Option<Instant>,
    /// How the last try ended.
    fate: Option<Arc<Fate>>,
    /// Told when it is done.
    watchers: Vec<Notice>,
    /// Keys that messages came with, by their place.
    own_keys: Vec<(u32, Box<str>)>,
}

/// What else its sender asked for.
#[derive(Clone, Default)]
pub struct Terms {
    /// Its queue was chosen: no other will do.
    pub is_bound: bool,
    pub tally: Option<Arc<Tally>>,
}

pub struct Parcel {
    outbox: Arc<Outbox>,
    pub topic: Arc<str>,
    manner: Manner,
    pub terms: Terms,
    is_done: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

impl Parcel {
    pub fn new(outbox: Arc<Outbox>, topic: Arc<str>, manner: Manner, terms: Terms) -> Arc<Self> {
        let (is_done, state) = (AtomicBool::new(false), Mutex::default());
        Arc::new(Self { outbox, topic, manner, terms, is_done, state, changed: Condvar::new() })
    }

    pub fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    pub fn note_own_key(&self, index: u32, key: &str) {
        self.state.lock().own_keys.push((index, key.into()));
    }

    /// Send what was collected for the first time.
    pub fn begin(
        self: &Arc<Self>,
        load: Load,
        (count, bytes): (u32, usize),
        target: Target,
        timeout: Duration,
    ) {
        let mut state = self.state.lock();
        (state.count, state.bytes) = (count, bytes);
        state.load = Some(load);
        self.attempt(state, target, timeout);
    }

    /// Send it once more; false when there is nothing left to send, or it is under way.
    pub fn retry(self: &Arc<Self>, target: Target, timeout: Duration) -> bool {
        let mut state = self.state.lock();
        if state.load.is_none() || state.fate.is_none() {
            return false;
        }
        if self.is_done.swap(false, Ordering::AcqRel) {
            self.outbox.room().take_anyway(state.bytes, state.count as usize);
        }
        state.fate = None;
        self.attempt(state, target, timeout);
        true
    }

    fn attempt(
        self: &Arc<Self>,
        mut state: parking_lot::MutexGuard<'_, State>,
        target: Target,
        timeout: Duration,
    ) {
        let now = Instant::now();
        state.tries += 1;
        state.first_tried.get_or_insert(now);
        let address = target.clone();
        state.target = Some(target);
        let Some(load) = state.load.clone() else { return };
        // The answer may come on this very thread.
        drop(state);
        let outbox = &self.outbox;
        let how = (now + timeout, self.manner == Manner::Oneway);
        load.send(outbox.courier(), outbox.config(), &self.topic, &address, how, self.clone());
    }

    /// Let a failure be the end of it.
    pub fn give_up(&self) {
        let state = self.state.lock();
        if state.fate.is_some() && !self.is_done() {
            self.complete(state);
        }
    }

    fn ended(self: &Arc<Self>, fate: impl FnOnce(&Target) -> Fate) {
        let mut state = self.state.lock();
        let Some(target) = &state.target else { return };
        let fate = fate(target);
        let is_stored = fate.is_stored();
        state.fate = Some(Arc::new(fate));
        let courier = self.outbox.courier();
        if is_stored {
            if let Some(load) = state.load.take() {
                self.outbox.recycle(load);
            }
            self.complete(state);
        } else if self.manner == Manner::Posted && !courier.is_stopping() {
            drop(state);
            courier.notify([self.clone() as Notice]);
        } else {
            self.complete(state);
        }
    }

    fn complete(&self, mut state: parking_lot::MutexGuard<'_, State>) {
        if self.manner == Manner::Posted {
            state.load = None;
            let is_stored = state.fate.as_ref().is_some_and(|fate| fate.is_stored());
            self.outbox.room().count(state.count, is_stored);
        }
        let (bytes, count, tries) = (state.bytes, state.count, state.tries);
        let watchers = std::mem::take(&mut state.watchers);
        let counted = self.terms.tally.as_ref().zip(state.fate.clone());
        self.is_done.store(true, Ordering::Release);
        self.changed.notify_all();
        drop(state);
        if let Some((tally, fate)) = counted {
            tally.ended(&self.topic, count, tries, &fate);
        }
        if self.outbox.room().release(bytes, count as usize) {
            self.outbox.courier().notify([self.outbox.clone() as Notice]);
        }
        if !watchers.is_empty() {
            self.outbox.courier().notify(watchers);
        }
    }

    #[inline]
    pub fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// Wait until it is done; false when the time is over first.
    pub fn wait(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        while !self.is_done() {
            if self.changed.wait_until(&mut state, until).timed_out() {
                return self.is_done();
            }
        }
        true
    }

    /// Have the courier give `notice` to Python once it is done.
    pub fn watch(&self, notice: Notice) {
        let mut state = self.state.lock();
        if self.is_done() {
            drop(state);
            self.outbox.courier().notify([notice]);
        } else {
            state.watchers.push(notice);
        }
    }

    /// How the last try ended, if it has.
    pub fn fate(&self) -> Option<Arc<Fate>> {
        self.state.lock().fate.clone()
    }

    pub fn target(&self) -> Option<Target> {
        self.state.lock().target.clone()
    }

    pub fn tries(&self) -> u32 {
        self.state.lock().tries
    }

    pub fn count(&self) -> u32 {
        self.state.lock().count
    }

    /// Since the first try.
    pub fn age(&self) -> Duration {
        self.state.lock().first_tried.map(|first| first.elapsed()).unwrap_or_default()
    }

    fn own_key(&self, index: u32) -> Option<String> {
        let state = self.state.lock();
        state.own_keys.iter().find(|(at, _)| *at == index).map(|(_, key)| key.to_string())
    }
}

impl Waiter for Parcel {
    fn done(self: Arc<Self>, outcome: Outcome<'_>) {
        self.ended(|target| match outcome {
            Outcome::Answered(frame) => Fate::answered(frame, target),
            Outcome::Sent => Fate::failed(SUCCESS, String::new(), target),
            Outcome::Failed(Failure { code, remark }) => Fate::failed(code, remark, target),
        });
    }
}

/// One message's part in a parcel.
#[derive(Clone)]
pub struct Receipt {
    pub parcel: Arc<Parcel>,
    index: u32,
    /// `None`: the message came with a key of its own.
    stamp: Option<Stamp>,
}

impl Receipt {
    pub fn new(parcel: Arc<Parcel>, index: u32, stamp: Option<Stamp>) -> Self {
        Self { parcel, index, stamp }
    }

    pub fn message_id(&self) -> String {
        match self.stamp {
            Some(stamp) => self.parcel.outbox.keys().key(stamp).as_str().to_owned(),
            None => self.parcel.own_key(self.index).unwrap_or_default(),
        }
    }

    pub fn queue_offset(&self, fate: &Fate) -> i64 {
        if fate.queue_offset < 0 { -1 } else { fate.queue_offset + i64::from(self.index) }
    }

    pub fn offset_message_id<'a>(&self, fate: &'a Fate) -> &'a str {
        nth_id(&fate.offset_message_ids, self.index as usize)
    }
}

/// One of the ids that commas separate. They are equally long, so it is found without a look at the others.
fn nth_id(ids: &str, index: usize) -> &str {
    let length = ids.find(',').unwrap_or(ids.len());
    let start = index * (length + 1);
    ids.get(start..start + length).unwrap_or_default()
}
