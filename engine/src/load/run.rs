//! A run: connections, threads, and the window in which things count.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::connection::Connection;
use super::create::Creations;
use super::drive::{Crew, Work, drive};
use super::end_to_end;
use super::offsets::queue_ends;
use super::options::{Mode, Options};
use super::pace::{Clock, Window};
use super::pull::{Cursor, Scans};
use super::send::Sends;
use super::tally::Tally;
use super::{LoadError, Result};

const TICK: Duration = Duration::from_millis(200);
const CONSUMABLE_POLL: Duration = Duration::from_millis(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    WarmUp,
    Measure,
    /// What is counted is over; what is under way comes to its end.
    Drain,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub phase: Phase,
    /// Since the start of the phase.
    pub seconds: f64,
    /// Since the start of the run.
    pub messages: u64,
}

/// Told about phases and now and then; false ends the run.
pub type Listener<'a> = dyn FnMut(Progress) -> bool + 'a;

pub struct Report {
    pub seconds: f64,
    pub interrupted: bool,
    pub tally: Tally,
    /// The other end of an end-to-end run.
    pub received: Option<Tally>,
    /// From the beginning of the window until everything acknowledged could be read.
    pub consumable_seconds: Option<f64>,
}

/// Carry out a run.
pub fn run(options: &Options, listener: &mut Listener<'_>) -> Result<Report> {
    options.check()?;
    let mut control = Control::new(options, listener);
    match options.mode {
        Mode::EndToEnd => end_to_end::run(&mut control),
        Mode::Send | Mode::Pull | Mode::Create => one_crew(&mut control),
    }
}

fn one_crew(control: &mut Control<'_, '_>) -> Result<Report> {
    let options = control.options;
    let mut side = Connection::open(options.address)?;
    let before = if options.consumable { queue_ends(&mut side, options)? } else { Vec::new() };
    let connections = open_all(options)?;
    let shared = Shared::default();
    let budget = AtomicU64::new(requests_of(options));
    let crew = Crew {
        options,
        clock: control.clock,
        window: &shared.window,
        budget: (options.mode != Mode::Pull && options.count.is_some()).then_some(&budget),
        messages: &shared.messages,
        requests_per_second: options.rate.map(|rate| rate / f64::from(options.batch)),
    };
    control.begin_when_warm(&shared);
    let (tally, interrupted) = thread::scope(|scope| {
        let (finished, watched) = mpsc::channel();
        let workers: Vec<_> = (0..)
            .zip(connections)
            .map(|(share, mine)| {
                let (crew, finished) = (&crew, finished.clone());
                scope.spawn(move || shared_work(crew, share, mine, finished))
            })
            .collect();
        drop(finished);
        let interrupted = control.watch(&shared, &watched);
        join_all(workers).map(|tally| (tally, interrupted))
    })?;
    if options.mode == Mode::Pull && tally.messages_ever == 0 && tally.refused.is_empty() {
        return Err(LoadError::Nothing(format!("there are no messages in topic {}", options.topic)));
    }
    let seconds = shared.window.seconds(tally.last_at);
    let consumable_seconds = if options.consumable && !interrupted {
        Some(wait_for_consumable(&mut side, control, &shared, &before, tally.messages_ever)?)
    } else {
        None
    };
    Ok(Report { seconds, interrupted, tally, received: None, consumable_seconds })
}

fn shared_work(
    crew: &Crew<'_>,
    share: u32,
    connections: Vec<Connection>,
    finished: Sender<()>,
) -> Result<Tally> {
    let options = crew.options;
    let first_lane: u32 = (0..share).map(|before| options.connections_of(before)).sum();
    let outcome = match options.mode {
        Mode::Pull => {
            let lanes = first_lane..first_lane + connections.len() as u32;
            let cursors = lanes.map(|lane| scan_cursors(options, lane)).collect();
            work(crew, share, connections, &mut Scans::new(options, cursors))
        }
        Mode::Create => {
            work(crew, share, connections, &mut Creations::new(options, share, options.threads_used()))
        }
        Mode::Send | Mode::EndToEnd => {
            let salt = run_id().wrapping_add(u64::from(share));
            work(crew, share, connections, &mut Sends::new(options, salt, u64::from(first_lane), None))
        }
    };
    if outcome.is_err() {
        crew.window.end(crew.clock.now());
    }
    drop(finished);
    outcome
}

fn work(crew: &Crew<'_>, share: u32, connections: Vec<Connection>, work: &mut impl Work) -> Result<Tally> {
    drive(crew, share, connections, crew.options.in_flight, work)
}

/// The readers of one connection: all together go round the queues of all topics.
fn scan_cursors(options: &Options, lane: u32) -> Vec<Cursor> {
    let first = lane * options.in_flight;
    (first..first + options.in_flight)
        .map(|at| Cursor {
            queue: at % options.queues,
            topic: at / options.queues % options.topics,
            offset: 0,
            empty: 0,
        })
        .collect()
}

fn requests_of(options: &Options) -> u64 {
    options.count.unwrap_or(0).div_ceil(u64::from(options.batch))
}

/// Connections for each thread.
pub fn open_all(options: &Options) -> Result<Vec<Vec<Connection>>> {
    let open =
        |index| (0..options.connections_of(index)).map(|_| Connection::open(options.address)).collect();
    (0..options.threads_used()).map(open).collect()
}

pub fn join_all(workers: Vec<ScopedJoinHandle<'_, Result<Tally>>>) -> Result<Tally> {
    let mut all = Tally::default();
    let outcomes: Vec<_> =
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).collect();
    for outcome in outcomes {
        all.add(&outcome?);
    }
    Ok(all)
}

/// A number that no other run has.
pub fn run_id() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    now ^ (u64::from(std::process::id()) << 44)
}

fn wait_for_consumable(
    side: &mut Connection,
    control: &mut Control<'_, '_>,
    shared: &Shared,
    before: &[i64],
    messages: u64,
) -> Result<f64> {
    let wanted = before.iter().sum::<i64>() + messages as i64;
    let mut grown_at = control.clock.now();
    let mut last = 0;
    loop {
        let reached: i64 = queue_ends(side, control.options)?.iter().sum();
        let now = control.clock.now();
        if reached >= wanted {
            return Ok(nanos_to_seconds(now - shared.window.from()));
        }
        if reached > last {
            (last, grown_at) = (reached, now);
        }
        if Duration::from_nanos(now - grown_at) > control.options.patience {
            let missing = wanted - reached;
            return Err(LoadError::Nothing(format!("{missing} acknowledged messages cannot be read")));
        }
        if !control.tell(Phase::Drain, now, shared) {
            return Err(LoadError::Nothing("interrupted while waiting until all can be read".to_owned()));
        }
        thread::sleep(CONSUMABLE_POLL);
    }
}

#[allow(clippy::cast_precision_loss)] // a run does not last for 2^52 ns
pub fn nanos_to_seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// What the threads of one kind tell and are told.
#[derive(Default)]
pub struct Shared {
    pub window: Window,
    pub messages: AtomicU64,
}

/// The thread that asked for the run: it opens and closes the window.
pub struct Control<'a, 'l> {
    pub options: &'a Options,
    pub clock: Clock,
    listener: &'a mut Listener<'l>,
    phase: Option<(Phase, u64)>,
    told_at: u64,
}

impl<'a, 'l> Control<'a, 'l> {
    fn new(options: &'a Options, listener: &'a mut Listener<'l>) -> Self {
        Self { options, clock: Clock::start(), listener, phase: None, told_at: 0 }
    }

    /// Tell the listener when the phase is new or some time has passed; false when it wants the end.
    pub fn tell(&mut self, phase: Phase, now: u64, shared: &Shared) -> bool {
        let since = match self.phase {
            Some((current, since)) if current == phase => since,
            _ => {
                self.phase = Some((phase, now));
                self.told_at = 0;
                now
            }
        };
        if self.told_at > 0 && now - self.told_at < TICK.as_nanos() as u64 {
            return true;
        }
        self.told_at = now.max(1);
        let seconds = nanos_to_seconds(now - since);
        (self.listener)(Progress { phase, seconds, messages: shared.messages.load(Ordering::Relaxed) })
    }

    /// Open the window if it is time. Without a warm-up that is before the first request.
    pub fn begin_when_warm(&mut self, shared: &Shared) -> bool {
        let now = self.clock.now();
        if shared.window.from() != u64::MAX || now < self.options.warm_up.as_nanos() as u64 {
            return true;
        }
        let goes_on = self.tell(Phase::Measure, now, shared);
        shared.window.begin(self.clock.now());
        goes_on
    }

    /// Watch over the window until it is over; true when the listener ended it.
    pub fn watch(&mut self, shared: &Shared, finished: &Receiver<()>) -> bool {
        let window = &shared.window;
        let mut interrupted = false;
        loop {
            let now = self.clock.now();
            interrupted |= !self.begin_when_warm(shared);
            let phase = if window.from() == u64::MAX { Phase::WarmUp } else { Phase::Measure };
            interrupted |= !self.tell(phase, now, shared);
            if interrupted || self.is_over(window, shared, now) {
                window.end(self.clock.now());
            }
            if now >= window.until() {
                break;
            }
            match finished.recv_timeout(self.time_to_sleep(window, now)) {
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
        self.tell(Phase::Drain, self.clock.now(), shared);
        interrupted
    }

    fn is_over(&self, window: &Window, shared: &Shared, now: u64) -> bool {
        if window.from() == u64::MAX {
            return false;
        }
        let time_is_up = self.end(window).is_some_and(|end| now >= end);
        let pulled_enough = self.options.mode == Mode::Pull
            && self.options.count.is_some_and(|count| shared.messages.load(Ordering::Relaxed) >= count);
        time_is_up || pulled_enough
    }

    fn end(&self, window: &Window) -> Option<u64> {
        self.options.duration.map(|duration| window.from().saturating_add(duration.as_nanos() as u64))
    }

    fn time_to_sleep(&self, window: &Window, now: u64) -> Duration {
        let event = if window.from() == u64::MAX {
            self.options.warm_up.as_nanos() as u64
        } else {
            self.end(window).unwrap_or(u64::MAX)
        };
        let tick = if self.options.mode == Mode::Pull { TICK / 10 } else { TICK };
        Duration::from_nanos(event.saturating_sub(now)).clamp(Duration::from_micros(100), tick)
    }
}
