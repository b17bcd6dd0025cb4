//! Many transactions ended at once: requests in a row, with a limit of those that are not answered.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::courier::{Courier, Failure, Outcome, Request, Waiter};
use super::handles::Handle;

const END_TRANSACTION: i32 = 37;
const SUCCESS: i32 = 0;

/// What all requests have in common.
#[derive(Clone, Debug)]
pub struct Word {
    pub address: Arc<str>,
    pub group: String,
    pub topic: String,
    /// How the transactions end, as RocketMQ writes it: 8 commits, 12 rolls back.
    pub ends_with: i32,
    /// As if the broker had asked, which it allows for longer.
    pub as_asked: bool,
    /// What brokers write into their logs about it.
    pub id: String,
    pub window: usize,
    /// For each request.
    pub timeout: Duration,
}

/// A half that could not be ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unended {
    pub handle: Handle,
    pub code: i32,
    pub remark: String,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Handle>,
    under_way: usize,
    unended: Vec<Unended>,
}

/// Transactions that are ended.
pub struct Endings {
    word: Word,
    state: Mutex<State>,
    changed: Condvar,
}

impl Endings {
    pub fn new(word: Word, handles: Vec<Handle>) -> Arc<Self> {
        let state = State { waiting: handles.into(), ..State::default() };
        Arc::new(Self { word, state: Mutex::new(state), changed: Condvar::new() })
    }

    /// Work on them until a time; true when every one is answered, or has failed.
    pub fn work(self: &Arc<Self>, courier: &Courier, until: Instant) -> bool {
        loop {
            let mut state = self.state.lock();
            if state.under_way >= self.word.window.max(1) || state.waiting.is_empty() {
                if state.under_way == 0 {
                    return true;
                }
                if self.changed.wait_until(&mut state, until).timed_out() {
                    return false;
                }
                continue;
            }
            let Some(handle) = state.waiting.pop_front() else { continue };
            state.under_way += 1;
            // The answer may come on this very thread.
            drop(state);
            self.send(courier, handle);
        }
    }

    /// Those that could not be ended; meant for when the work is over.
    pub fn unended(&self) -> Vec<Unended> {
        std::mem::take(&mut self.state.lock().unended)
    }

    fn send(self: &Arc<Self>, courier: &Courier, handle: Handle) {
        let word = &self.word;
        courier.send(Request {
            address: &word.address,
            code: END_TRANSACTION,
            fields: &[
                ("topic", word.topic.as_str().into()),
                ("producerGroup", word.group.as_str().into()),
                ("tranStateTableOffset", handle.queue_offset.into()),
                ("commitLogOffset", handle.log_offset.into()),
                ("commitOrRollback", i64::from(word.ends_with).into()),
                ("fromTransactionCheck", word.as_asked.into()),
                ("msgId", word.id.as_str().into()),
            ],
            body: Courier::no_body(),
            deadline: Instant::now() + word.timeout,
            oneway: false,
            drains: true,
            waiter: Arc::new(One { all: self.clone(), handle }),
        });
    }
}

struct One {
    all: Arc<Endings>,
    handle: Handle,
}

impl Waiter for One {
    fn done(self: Arc<Self>, outcome: Outcome<'_>) {
        let (code, remark) = match outcome {
            Outcome::Answered(frame) => {
                let remark = frame.header.remark.map(|remark| remark.to_str().into_owned());
                (frame.header.code, remark.unwrap_or_default())
            }
            Outcome::Sent => (SUCCESS, String::new()),
            Outcome::Failed(Failure { code, remark }) => (code, remark),
        };
        let mut state = self.all.state.lock();
        state.under_way -= 1;
        if code != SUCCESS {
            state.unended.push(Unended { handle: self.handle, code, remark });
        }
        if state.under_way <= self.all.word.window / 2 {
            self.all.changed.notify_one();
        }
    }
}
