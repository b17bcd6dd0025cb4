//! Whether costs grow with the log: the same appends and reads at its end, empty and with many files.

use std::hint::black_box;
use std::path::Path;

use tailfin_engine::log::config::FlushMode;
use tailfin_engine::log::read::ReadRequest;
use tailfin_engine::log::store::Store;

use crate::Outcome;
use crate::args::Args;
use crate::measure::{Line, Timing, real};
use crate::messages::{Messages, TOPIC};
use crate::setup;

const PER_CALL: i64 = 32;

pub fn large(dir: &Path, args: &Args) -> Outcome<()> {
    let messages = Messages::new(args)?;
    let gib: f64 = args.number("gib", 20.0)?;
    let count: u64 = args.number("count", 1_000_000)?;
    let calls: u64 = args.number("reads", 400_000)?;
    let runs: u32 = args.number("runs", 3)?;
    let store = setup::open_new(dir, FlushMode::Async)?;
    let mut next = 0;
    // Not printed: the first appends also make the first files.
    measure(&store, &messages, "warm-up", &mut next, count.min(100_000), calls.min(10_000))?;
    for _ in 0..runs {
        measure(&store, &messages, "empty", &mut next, count, calls)?.print();
    }
    let bytes = (gib * f64::from(1 << 30)) as u64;
    while store.log.written() < bytes {
        messages.put(&store, next)?;
        next += 1;
    }
    for _ in 0..runs {
        measure(&store, &messages, "large", &mut next, count, calls)?.print();
    }
    setup::close(&store)
}

fn measure(
    store: &Store,
    messages: &Messages,
    state: &str,
    next: &mut u64,
    count: u64,
    calls: u64,
) -> Outcome<Line> {
    // What is still on its way to the disk would slow the first run only.
    setup::await_dispatch(store);
    store.flush()?;
    let before = store.log.written();
    let timing = Timing::start();
    for number in *next..*next + count {
        messages.put(store, number)?;
    }
    let put_seconds = timing.seconds();
    setup::await_dispatch(store);
    let consumable_seconds = timing.seconds();
    let cpu_seconds = timing.cpu_seconds();
    *next += count;
    let timing = Timing::start();
    let mut found = 0;
    for call in 0..calls {
        found += read_tail(store, (call % messages.queues) as i32)?;
    }
    let read_seconds = timing.seconds();
    Ok(Line::of("large")
        .text("state", state)
        .count("logBytesBefore", before)
        .count("messages", count)
        .real("appendNs", put_seconds / real(count) * 1e9)
        .real("consumableNs", consumable_seconds / real(count) * 1e9)
        .real("appendCpuNs", cpu_seconds / real(count) * 1e9)
        .count("messagesRead", found)
        .real("tailReadNs", read_seconds / real(found) * 1e9))
}

/// Read the last messages of a queue.
fn read_tail(store: &Store, queue_id: i32) -> Outcome<u64> {
    let Some(queue) = store.derived.queues.get(TOPIC, queue_id) else {
        return Err("a queue is missing".into());
    };
    let offset = (queue.max_offset() - PER_CALL).max(0);
    let request = ReadRequest {
        topic: TOPIC,
        queue_id,
        offset,
        count_max: PER_CALL as usize,
        bytes_max: None,
        transfer_limits: true,
        filter: None,
        check_bodies: false,
    };
    let result = store.read(&request)?;
    black_box(result.bytes);
    Ok(result.len() as u64)
}
