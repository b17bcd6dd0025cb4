//! Reads one queue, ahead of whoever takes its messages.
//!
//! A reader goes on by itself while the broker answers as brokers do; anything else stops it until somebody decides.
//!
//! - `config` is what it is told, `state` where it stands, `pulled` what became of a pull
//! - `gathering` collects messages into columns, for those who take tables

mod config;
mod gathering;
mod pulled;
mod state;

use std::any::Any;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

pub use config::{Amount, Filter, ReaderConfig};
use gathering::Gathered;
pub use gathering::Gathering;
pub use pulled::Trouble;
use pulled::{Asked, Pulled};
use state::Pull;
pub use state::State;

use super::courier::{Courier, Outcome, Request, Waiter};
use super::received::{Reading, Received};
use crate::arrow::Columns;

const PULL_MESSAGE: i32 = 11;
const LITE_PULL_MESSAGE: i32 = 361;

/// Bits of a pull's system flag.
mod flag {
    pub const SUSPEND: i64 = 2;
    pub const SUBSCRIPTION: i64 = 4;
    pub const LITE: i64 = 16;
}

pub struct Reader {
    courier: Arc<Courier>,
    config: ReaderConfig,
    reading: Arc<Reading>,
    state: Mutex<State>,
    news: Condvar,
    /// What Python is shown for it. Without one it is not told.
    face: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Reader {
    /// A reader that waits for [`Reader::resume`].
    pub fn new(
        courier: Arc<Courier>,
        config: ReaderConfig,
        reading: Reading,
        address: Arc<str>,
        offset: i64,
    ) -> Self {
        let gathered = config.gathering.clone().map(Gathered::new);
        let state = Mutex::new(State::new(config.limit, address, offset..config.until, gathered));
        Self {
            courier,
            config,
            reading: Arc::new(reading),
            state,
            news: Condvar::new(),
            face: OnceLock::new(),
        }
    }

    pub fn config(&self) -> &ReaderConfig {
        &self.config
    }

    /// Where it stands; not to be held for long.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub fn face(&self) -> &OnceLock<Box<dyn Any + Send + Sync>> {
        &self.face
    }

    pub fn resume(self: &Arc<Self>, offset: Option<i64>, address: Option<Arc<str>>) {
        self.change(|state| state.resume(offset, address));
    }

    pub fn seek(self: &Arc<Self>, offset: i64) {
        self.change(|state| state.seek(offset));
    }

    pub fn release(self: &Arc<Self>, amount: Amount) {
        self.change(|state| state.release(amount));
    }

    /// Take messages in order; with `releases` they no longer count for the limits.
    pub fn take(self: &Arc<Self>, count_max: usize, releases: bool) -> Vec<Received> {
        let mut state = self.state.lock();
        let taken = state.take(count_max);
        if releases {
            let bytes = taken.iter().map(Received::size).sum();
            state.release(Amount { messages: taken.len(), bytes });
        }
        // Trouble shows with the last message, and is not told again after that.
        let tells = !taken.is_empty() && state.has_news();
        self.go_on(state, tells);
        taken
    }

    /// Take the next batch of what is gathered, whole or not, and release it.
    pub fn collect(self: &Arc<Self>) -> Option<Columns> {
        let mut state = self.state.lock();
        let columns = state.collect();
        self.go_on(state, false);
        columns
    }

    /// What is under way is ignored when it comes.
    pub fn close(&self) {
        self.state.lock().close();
        self.news.notify_all();
    }

    /// Wait until there is something to take, of what is gathered a whole batch, or trouble; false when the time passed
    /// without.
    pub fn wait(&self, timeout: Duration) -> bool {
        let mut state = self.state.lock();
        let is_idle = |state: &mut State| !state.is_due() && !state.is_closed();
        self.news.wait_while_for(&mut state, is_idle, timeout);
        state.is_due()
    }

    fn change(self: &Arc<Self>, how: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        how(&mut state);
        self.go_on(state, false);
    }

    /// Tell Python, and pull, without the lock: an answer may come before the sender has returned.
    fn go_on(self: &Arc<Self>, mut state: MutexGuard<'_, State>, has_news: bool) {
        let tells = has_news && self.face.get().is_some() && state.tells();
        let pull = state.next_pull();
        drop(state);
        if tells {
            self.courier.notify([self.clone() as Arc<dyn Any + Send + Sync>]);
        }
        if let Some(pull) = pull {
            self.send(&pull);
        }
    }

    fn arrived(self: &Arc<Self>, run: u64, pulled: Pulled) {
        let mut state = self.state.lock();
        if state.arrived(run, pulled) {
            self.wake_and_go_on(state);
        }
    }

    /// With the lock, so that nothing is gathered from an answer that no longer counts.
    fn gathered(self: &Arc<Self>, run: u64, outcome: Outcome<'_>, asked: Asked<'_>) {
        let mut state = self.state.lock();
        if state.is_current(run) {
            let pulled = Pulled::of(outcome, asked, state.gathered());
            state.arrived(run, pulled);
            self.wake_and_go_on(state);
        }
    }

    fn wake_and_go_on(self: &Arc<Self>, state: MutexGuard<'_, State>) {
        let is_due = state.is_due();
        if is_due {
            self.news.notify_all();
        }
        self.go_on(state, is_due);
    }

    fn send(self: &Arc<Self>, pull: &Pull) {
        let config = &self.config;
        let suspend_ms = config.suspend.as_millis() as i64;
        let bit = |is_set: bool, bit: i64| if is_set { bit } else { 0 };
        let sys_flag = bit(suspend_ms > 0, flag::SUSPEND)
            | bit(config.filter.is_sent, flag::SUBSCRIPTION)
            | bit(config.is_lite, flag::LITE);
        let mut fields = Vec::with_capacity(13);
        fields.extend([
            ("consumerGroup", config.group.as_str().into()),
            ("topic", config.topic.as_str().into()),
            ("queueId", i64::from(config.queue_id).into()),
            ("queueOffset", pull.offset.into()),
            ("maxMsgNums", i64::from(config.batch).min(config.until.saturating_sub(pull.offset)).into()),
            ("sysFlag", sys_flag.into()),
            ("commitOffset", 0.into()),
            ("suspendTimeoutMillis", suspend_ms.into()),
            ("subVersion", config.filter.version.into()),
            ("expressionType", config.filter.kind.as_str().into()),
            ("bname", config.broker.as_str().into()),
        ]);
        if config.filter.is_sent {
            fields.push(("subscription", config.filter.expression.as_str().into()));
        }
        if let Some(bytes) = config.batch_bytes {
            fields.push(("maxMsgBytes", i64::from(bytes).into()));
        }
        self.courier.send(Request {
            address: &pull.address,
            code: if config.is_lite { LITE_PULL_MESSAGE } else { PULL_MESSAGE },
            fields: &fields,
            body: Courier::no_body(),
            deadline: Instant::now() + config.timeout,
            oneway: false,
            drains: false,
            waiter: Arc::new(UnderWay { reader: self.clone(), offset: pull.offset, run: pull.run }),
        });
    }
}

/// A pull that was sent.
struct UnderWay {
    reader: Arc<Reader>,
    offset: i64,
    run: u64,
}

impl Waiter for UnderWay {
    fn done(self: Arc<Self>, outcome: Outcome<'_>) {
        let reader = &self.reader;
        let asked = Asked {
            offset: self.offset,
            until: reader.config.until,
            may_wait: !reader.config.suspend.is_zero(),
            tags: &reader.config.filter.tags,
            reading: &reader.reading,
        };
        if reader.config.gathering.is_some() {
            reader.gathered(self.run, outcome, asked);
        } else {
            reader.arrived(self.run, Pulled::of(outcome, asked, None));
        }
    }
}
