//! Where a reader stands: what it may pull next, and what waits for its user.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::config::Amount;
use super::gathering::{Batch, Gathered};
use super::pulled::{Pulled, Trouble};
use crate::arrow::Columns;
use crate::client::received::Received;

/// A pull to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pull {
    pub address: Arc<str>,
    pub offset: i64,
    /// Which of the reader's runs it belongs to; the answer to one of an earlier run is ignored.
    pub run: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Paused,
    Running,
    Closed,
}

#[derive(Debug)]
pub struct State {
    limit: Amount,
    address: Arc<str>,
    offset: i64,
    until: i64,
    run: u64,
    is_under_way: bool,
    mode: Mode,
    /// Python was told, and did not look since.
    is_noticed: bool,
    ready: VecDeque<Received>,
    gathered: Option<Gathered>,
    held: Amount,
    trouble: Option<Trouble>,
    suggested_broker: Option<i64>,
    bounds: Option<(i64, i64)>,
}

impl State {
    pub fn new(
        limit: Amount,
        address: Arc<str>,
        Range { start: offset, end: until }: Range<i64>,
        gathered: Option<Gathered>,
    ) -> Self {
        Self {
            limit,
            address,
            offset,
            until,
            run: 0,
            is_under_way: false,
            mode: Mode::Paused,
            is_noticed: false,
            ready: VecDeque::new(),
            gathered,
            held: Amount::default(),
            trouble: None,
            suggested_broker: None,
            bounds: None,
        }
    }

    /// The next pull, if there is to be one now; it counts as under way from here on.
    pub fn next_pull(&mut self) -> Option<Pull> {
        if self.is_under_way || !self.may_pull() {
            return None;
        }
        self.is_under_way = true;
        Some(Pull { address: self.address.clone(), offset: self.offset, run: self.run })
    }

    /// Keep what a pull brought; false when nobody waits for it any more.
    pub fn arrived(&mut self, run: u64, pulled: Pulled) -> bool {
        if !self.is_current(run) {
            return false;
        }
        self.is_under_way = false;
        self.offset = pulled.next_offset;
        self.suggested_broker = pulled.suggested_broker.or(self.suggested_broker);
        self.bounds = pulled.bounds.or(self.bounds);
        self.trouble = pulled.trouble;
        self.held.messages += pulled.amount.messages;
        self.held.bytes += pulled.amount.bytes;
        self.ready.extend(pulled.messages);
        true
    }

    fn may_pull(&self) -> bool {
        let has_room = self.held.messages < self.limit.messages && self.held.bytes < self.limit.bytes;
        self.mode == Mode::Running && self.trouble.is_none() && has_room && self.offset < self.until
    }

    /// Whether the answer to a pull of this run still counts.
    pub fn is_current(&self, run: u64) -> bool {
        run == self.run
    }

    /// Where messages go that are gathered.
    pub fn gathered(&mut self) -> Option<&mut Gathered> {
        self.gathered.as_mut()
    }

    /// Whether everything up to its end was pulled and taken.
    pub fn is_finished(&self) -> bool {
        self.offset >= self.until && self.ready() == 0
    }

    pub fn has_news(&self) -> bool {
        self.ready() > 0 || self.trouble.is_some()
    }

    /// Whether who waits is to be woken: there is something, or of what is gathered a whole batch, or no more comes.
    pub fn is_due(&self) -> bool {
        let Some(gathered) = &self.gathered else { return self.has_news() };
        // One at rest may be started by somebody else.
        let is_over = !self.is_under_way && !self.may_pull() && self.mode == Mode::Running;
        gathered.has_full() || is_over || self.trouble.is_some()
    }

    /// Take the next batch, whole or not, and release it.
    pub fn collect(&mut self) -> Option<Columns> {
        let Batch { columns, amount } = self.gathered.as_mut()?.take()?;
        self.release(amount);
        Some(columns)
    }

    /// Whether Python is still to be told of what there is; it counts as told from here on.
    pub fn tells(&mut self) -> bool {
        !std::mem::replace(&mut self.is_noticed, true)
    }

    /// Python looks.
    pub fn seen(&mut self) {
        self.is_noticed = false;
    }

    pub fn take(&mut self, count_max: usize) -> Vec<Received> {
        let count = count_max.min(self.ready.len());
        self.ready.drain(..count).collect()
    }

    pub fn release(&mut self, amount: Amount) {
        self.held.messages = self.held.messages.saturating_sub(amount.messages);
        self.held.bytes = self.held.bytes.saturating_sub(amount.bytes);
    }

    /// Pull, or pull again after trouble, at another place if one is given. What is ready stays.
    pub fn resume(&mut self, offset: Option<i64>, address: Option<Arc<str>>) {
        if self.mode == Mode::Paused {
            self.mode = Mode::Running;
        }
        self.trouble = None;
        if let Some(address) = address {
            self.address = address;
        }
        if let Some(offset) = offset {
            self.begin_at(offset);
        }
    }

    pub fn pause(&mut self) {
        if self.mode == Mode::Running {
            self.mode = Mode::Paused;
        }
    }

    /// Begin again at `offset`, without what is ready.
    pub fn seek(&mut self, offset: i64) {
        self.drop_ready();
        self.trouble = None;
        self.begin_at(offset);
    }

    pub fn close(&mut self) {
        self.drop_ready();
        self.run += 1;
        self.mode = Mode::Closed;
    }

    fn begin_at(&mut self, offset: i64) {
        self.offset = offset;
        self.run += 1;
        self.is_under_way = false;
    }

    fn drop_ready(&mut self) {
        let bytes = self.ready.iter().map(Received::size).sum();
        self.release(Amount { messages: self.ready.len(), bytes });
        self.ready.clear();
        while self.collect().is_some() {}
    }

    pub fn is_closed(&self) -> bool {
        self.mode == Mode::Closed
    }

    pub fn is_running(&self) -> bool {
        self.mode == Mode::Running
    }

    pub fn ready(&self) -> usize {
        self.ready.len() + self.gathered.as_ref().map_or(0, Gathered::rows)
    }

    pub fn held(&self) -> Amount {
        self.held
    }

    /// Where the next pull begins.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// What stopped it, once everything that came before was taken.
    pub fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref().filter(|_| self.ready() == 0)
    }

    pub fn suggested_broker(&self) -> Option<i64> {
        self.suggested_broker
    }

    pub fn bounds(&self) -> Option<(i64, i64)> {
        self.bounds
    }
}

#[cfg(test)]
mod tests;
