//! What a thread counted.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

/// Finer than anything a socket's answer can be, so that the table stays small.
const NS_MIN: u64 = 500;
const NS_MAX: u64 = 600_000_000_000;
const DIGITS: u8 = 3;

/// Answers with a code other than success.
#[derive(Clone, Debug, Default)]
pub struct Refused {
    pub count: u64,
    /// What the first of them said.
    pub remark: String,
}

pub struct Tally {
    /// Nanoseconds from when a request was due (or sent, without a rate) to its answer.
    pub latency: Histogram<u64>,
    pub requests: u64,
    pub messages: u64,
    /// Of the messages' bodies.
    pub bytes: u64,
    /// Messages acknowledged or received at any time, those outside of the counted window included.
    pub messages_ever: u64,
    pub refused: BTreeMap<i32, Refused>,
    /// When the last counted answer came.
    pub last_at: u64,
}

impl Default for Tally {
    fn default() -> Self {
        let latency = Histogram::new_with_bounds(NS_MIN, NS_MAX, DIGITS).expect("these bounds are possible");
        Self {
            latency,
            requests: 0,
            messages: 0,
            bytes: 0,
            messages_ever: 0,
            refused: BTreeMap::new(),
            last_at: 0,
        }
    }
}

impl Tally {
    pub fn record(&mut self, nanoseconds: u64) {
        self.latency.saturating_record(nanoseconds);
    }

    pub fn refuse(&mut self, code: i32, remark: impl FnOnce() -> String) {
        let refused = self.refused.entry(code).or_default();
        if refused.count == 0 {
            refused.remark = remark();
        }
        refused.count += 1;
    }

    pub fn add(&mut self, other: &Self) {
        self.latency.add(&other.latency).expect("all have the same bounds");
        self.requests += other.requests;
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.messages_ever += other.messages_ever;
        self.last_at = self.last_at.max(other.last_at);
        for (code, refused) in &other.refused {
            let mine = self.refused.entry(*code).or_insert_with(|| Refused { count: 0, ..refused.clone() });
            mine.count += refused.count;
        }
    }
}
