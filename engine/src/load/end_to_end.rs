//! Send at a rate, and wait for each message at the other end.

use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::Result;
use super::connection::Connection;
use super::drive::{Crew, drive};
use super::offsets::queue_ends;
use super::options::Options;
use super::pull::{Arrivals, Cursor};
use super::run::{Control, Phase, Report, Shared, join_all, open_all, run_id};
use super::send::Sends;

const POLL: Duration = Duration::from_millis(2);

pub fn run(control: &mut Control<'_, '_>) -> Result<Report> {
    let options = control.options;
    let ends = queue_ends(&mut Connection::open(options.address)?, options)?;
    let readers = open_readers(options)?;
    let cursors = cursors(options, &ends, readers.len());
    let senders = open_all(options)?;
    let (sending, reading) = (Shared::default(), Shared::default());
    let budget = options.count.map(std::sync::atomic::AtomicU64::new);
    let send_crew = Crew {
        options,
        clock: control.clock,
        window: &sending.window,
        budget: budget.as_ref(),
        messages: &sending.messages,
        requests_per_second: options.rate,
    };
    let read_crew = Crew {
        window: &reading.window,
        budget: None,
        messages: &reading.messages,
        requests_per_second: None,
        ..send_crew
    };
    let run_id = run_id();
    let slots = cursors[0].len() as u32;
    let mut arrivals = Arrivals::new(options, cursors, run_id, &sending.window);
    control.begin_when_warm(&sending);
    thread::scope(|scope| {
        let reader = scope.spawn(|| drive(&read_crew, 0, readers, slots, &mut arrivals));
        let (finished, watched) = mpsc::channel();
        let workers = (0..)
            .zip(senders)
            .map(|(share, mine)| {
                let (crew, finished) = (&send_crew, finished.clone());
                scope.spawn(move || {
                    let salt = run_id.wrapping_add(u64::from(share));
                    let mut sends = Sends::new(options, salt, u64::from(share), Some(run_id));
                    let outcome = drive(crew, share, mine, options.in_flight, &mut sends);
                    if outcome.is_err() {
                        crew.window.end(crew.clock.now());
                    }
                    drop(finished);
                    outcome
                })
            })
            .collect();
        drop(finished);
        let interrupted = control.watch(&sending, &watched);
        let sent = join_all(workers);
        if let (Ok(sent), false) = (&sent, interrupted) {
            wait_for_the_rest(control, &reading, sent.messages_ever, || reader.is_finished());
        }
        reading.window.end(control.clock.now());
        let received = reader.join().expect("the reader does not panic");
        let tally = sent?;
        let seconds = sending.window.seconds(tally.last_at);
        Ok(Report { seconds, interrupted, tally, received: Some(received?), consumable_seconds: None })
    })
}

/// Wait until everything acknowledged has arrived, or nothing arrives any more.
fn wait_for_the_rest(control: &mut Control<'_, '_>, reading: &Shared, wanted: u64, over: impl Fn() -> bool) {
    let (mut last, mut grown_at) = (0, control.clock.now());
    loop {
        let received = reading.messages.load(Ordering::Relaxed);
        let now = control.clock.now();
        if received > last {
            (last, grown_at) = (received, now);
        }
        let silent = Duration::from_nanos(now - grown_at);
        if received >= wanted || over() || silent > control.options.patience {
            return;
        }
        if !control.tell(Phase::Drain, now, reading) {
            return;
        }
        thread::sleep(POLL);
    }
}

/// As many connections as share the queues out evenly.
fn open_readers(options: &Options) -> Result<Vec<Connection>> {
    let most = options.connections.min(options.queues);
    let count = (1..=most).rev().find(|count| options.queues.is_multiple_of(*count)).unwrap_or(1);
    (0..count).map(|_| Connection::open(options.address)).collect()
}

fn cursors(options: &Options, ends: &[i64], lanes: usize) -> Vec<Vec<Cursor>> {
    let queues = options.queues as usize;
    let of_lane = |lane: usize| {
        (lane..queues)
            .step_by(lanes)
            .map(|queue| Cursor { topic: 0, queue: queue as u32, offset: ends[queue], empty: 0 })
            .collect()
    };
    (0..lanes).map(of_lane).collect()
}
