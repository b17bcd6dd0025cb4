//! One thread's rounds: issue what is due, write it, wait, take the answers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::connection::Connection;
use super::header::Frame;
use super::options::Options;
use super::pace::{Clock, Pace, Window};
use super::poll::{Poll, exact_timeouts};
use super::tally::Tally;
use super::template::OPAQUE_BASE;
use super::{LoadError, Result};

/// How long a thread sleeps at most before it looks at the window again.
const ROUND_MAX: Duration = Duration::from_millis(50);

/// For how long a thread that got behind its rate makes up for it after the end.
const LATE_MAX_NS: u64 = 1_000_000_000;

/// A request under way is known by its connection and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub lane: usize,
    pub slot: u32,
}

pub struct Answer<'a> {
    pub frame: Frame<'a>,
    pub now: u64,
    /// When the request was due, or sent if it had no time of its own.
    pub due: u64,
    /// Whether it falls into what is measured.
    pub counts: bool,
}

/// What is asked and how the answers are counted.
pub trait Work: Send {
    /// Called once a round.
    fn tick(&mut self) {}
    fn write(&mut self, out: &mut Vec<u8>, place: Place, due: u64);
    /// Take an answer; false when nothing more is to be asked in this place.
    fn answer(&mut self, place: Place, answer: &Answer<'_>, tally: &mut Tally) -> bool;
    /// Requests may wait at the server for as long as it likes, and be left there at the end.
    fn is_patient(&self) -> bool {
        false
    }
}

/// What the threads of one run share.
pub struct Crew<'a> {
    pub options: &'a Options,
    pub clock: Clock,
    pub window: &'a Window,
    /// Requests left to be issued inside of the window; none without a limit.
    pub budget: Option<&'a AtomicU64>,
    /// Messages so far, counted or not.
    pub messages: &'a AtomicU64,
    pub requests_per_second: Option<f64>,
}

struct Lane {
    connection: Connection,
    free: Vec<u32>,
    due: Vec<u64>,
}

struct Driver<'a, W> {
    crew: &'a Crew<'a>,
    work: &'a mut W,
    lanes: Vec<Lane>,
    poll: Poll,
    pace: Option<Pace>,
    tally: Tally,
    in_flight: usize,
    turn: usize,
    exhausted: bool,
    heard_at: u64,
}

/// Work on connections of `slots` requests each until the window ends or nothing is left to do.
pub fn drive<W: Work>(
    crew: &Crew<'_>,
    share: u32,
    connections: Vec<Connection>,
    slots: u32,
    work: &mut W,
) -> Result<Tally> {
    exact_timeouts();
    let mut poll = Poll::default();
    for connection in &connections {
        poll.add(connection);
    }
    let lane =
        |connection| Lane { connection, free: (0..slots).rev().collect(), due: vec![0; slots as usize] };
    let now = crew.clock.now();
    let shares = crew.options.threads_used();
    let driver = Driver {
        crew,
        work,
        lanes: connections.into_iter().map(lane).collect(),
        poll,
        pace: crew.requests_per_second.map(|rate| Pace::new(rate, share, shares, now)),
        tally: Tally::default(),
        in_flight: 0,
        turn: 0,
        exhausted: false,
        heard_at: now,
    };
    driver.run()
}

impl<W: Work> Driver<'_, W> {
    fn run(mut self) -> Result<Tally> {
        loop {
            let now = self.crew.clock.now();
            let open = !self.exhausted && self.is_open(now);
            if open {
                self.work.tick();
                if self.pace.is_some() { self.issue_due(now) } else { self.issue_all(now) }
            }
            self.flush()?;
            let nothing_left = self.in_flight == 0 && (!open || self.exhausted || self.pace.is_none());
            if nothing_left || (!open && self.work.is_patient()) {
                return Ok(self.tally);
            }
            self.poll
                .wait(self.timeout(now, open))
                .map_err(|source| LoadError::Io { action: "poll", source })?;
            self.receive_all()?;
        }
    }

    /// Whether requests may be issued. What was due inside of the window goes out even if it is late.
    fn is_open(&self, now: u64) -> bool {
        let until = self.crew.window.until();
        let late = || now < until.saturating_add(LATE_MAX_NS);
        now < until || (late() && self.pace.as_ref().is_some_and(|pace| pace.next_due() < until))
    }

    /// Use every free slot.
    fn issue_all(&mut self, now: u64) {
        for lane in 0..self.lanes.len() {
            while let Some(slot) = self.lanes[lane].free.pop() {
                if !self.claim(now) {
                    self.lanes[lane].free.push(slot);
                    return;
                }
                self.issue(Place { lane, slot }, now);
            }
        }
    }

    /// Issue what is due by now, as far as there are free slots, one connection after another.
    fn issue_due(&mut self, now: u64) {
        let last = now.min(self.crew.window.until().saturating_sub(1));
        while self.pace.as_ref().is_some_and(|pace| pace.next_due() <= last) {
            let count = self.lanes.len();
            let found =
                (0..count).map(|step| (self.turn + step) % count).find(|&at| !self.lanes[at].free.is_empty());
            let Some(lane) = found else { return };
            if !self.claim(now) {
                return;
            }
            self.turn = lane + 1;
            let due = self.pace.as_mut().map_or(now, Pace::take);
            if let Some(slot) = self.lanes[lane].free.pop() {
                self.issue(Place { lane, slot }, due);
            }
        }
    }

    /// Take one request out of the budget; before the window begins they are free.
    fn claim(&mut self, now: u64) -> bool {
        let Some(budget) = self.crew.budget.filter(|_| now >= self.crew.window.from()) else { return true };
        let taken = budget.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1));
        self.exhausted = taken.is_err();
        !self.exhausted
    }

    fn issue(&mut self, place: Place, due: u64) {
        let lane = &mut self.lanes[place.lane];
        lane.due[place.slot as usize] = due;
        self.work.write(&mut lane.connection.out, place, due);
        self.in_flight += 1;
    }

    fn flush(&mut self) -> Result<()> {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            if lane.connection.has_output() {
                lane.connection.flush()?;
                self.poll.want_output(index, lane.connection.has_output());
            }
        }
        Ok(())
    }

    fn timeout(&self, now: u64, open: bool) -> Duration {
        let free = || self.lanes.iter().any(|lane| !lane.free.is_empty());
        match &self.pace {
            Some(pace) if open && free() => pace.time_left(now).min(ROUND_MAX),
            _ => ROUND_MAX,
        }
    }

    fn receive_all(&mut self) -> Result<()> {
        let before = self.tally.messages_ever;
        for index in 0..self.lanes.len() {
            if self.poll.is_readable(index) {
                self.receive(index)?;
            }
        }
        self.crew.messages.fetch_add(self.tally.messages_ever - before, Ordering::Relaxed);
        let silent = Duration::from_nanos(self.crew.clock.now().saturating_sub(self.heard_at));
        if self.in_flight == 0 || self.work.is_patient() || silent < self.crew.options.patience {
            return Ok(());
        }
        let address = self.lanes[0].connection.address().to_owned();
        Err(LoadError::Silent { address, seconds: silent.as_secs() })
    }

    fn receive(&mut self, index: usize) -> Result<()> {
        let lane = &mut self.lanes[index];
        if !lane.connection.fill()? {
            return Err(lane.connection.closed_by_peer());
        }
        let now = self.crew.clock.now();
        self.heard_at = now;
        let counts_now = self.crew.window.holds(now);
        while let Some(frame) = lane.connection.next_frame()? {
            let slot = frame.opaque.wrapping_sub(OPAQUE_BASE) as u32;
            let Some(&due) = lane.due.get(slot as usize).filter(|_| frame.is_response()) else { continue };
            let counts = if self.pace.is_some() { self.crew.window.holds(due) } else { counts_now };
            let place = Place { lane: index, slot };
            self.in_flight -= 1;
            if self.work.answer(place, &Answer { frame, now, due, counts }, &mut self.tally) {
                lane.free.push(slot);
            }
        }
        Ok(())
    }
}
