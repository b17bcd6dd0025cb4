//! Appends: one at a time, in batches, or from many threads with every one flushed to the disk.

use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread;

use tailfin_engine::log::config::FlushMode;
use tailfin_engine::log::store::Store;

use crate::Outcome;
use crate::args::Args;
use crate::measure::{Line, Timing, real};
use crate::messages::Messages;
use crate::setup;

pub fn append(dir: &Path, args: &Args) -> Outcome<Line> {
    let messages = Messages::new(args)?;
    let store = setup::open_new(dir, FlushMode::Async)?;
    let line = measure("append", &store, &messages, args, |first, count| {
        for number in first..first + count {
            messages.put(&store, number)?;
        }
        Ok(())
    })?;
    setup::close(&store)?;
    Ok(line)
}

pub fn batch(dir: &Path, args: &Args) -> Outcome<Line> {
    let messages = Messages::new(args)?;
    let size = args.number("batch", 32)?;
    let bodies = messages.batch_bodies(size)?;
    let store = setup::open_new(dir, FlushMode::Async)?;
    let line = measure("batch", &store, &messages, args, |first, count| {
        for number in first / size..(first + count) / size {
            messages.put_batch(&store, number, &bodies[number as usize % bodies.len()])?;
        }
        Ok(())
    })?;
    setup::close(&store)?;
    Ok(line.count("batch", size))
}

pub fn sync_flush(dir: &Path, args: &Args) -> Outcome<Line> {
    let messages = Messages::new(args)?;
    let threads = args.number("threads", 64)?;
    let store = setup::open_new(dir, FlushMode::Sync)?;
    let line = measure("syncflush", &store, &messages, args, |first, count| {
        let next = AtomicU64::new(first);
        let left = AtomicI64::new(count.cast_signed());
        let work = || -> Result<(), String> {
            while left.fetch_sub(1, Ordering::Relaxed) > 0 {
                let number = next.fetch_add(1, Ordering::Relaxed);
                messages.put(&store, number).map_err(|error| error.to_string())?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            running.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a writer panicked")?)
        })?;
        Ok(())
    })?;
    setup::close(&store)?;
    Ok(line.count("threads", threads))
}

/// Warm up, wait until that is consumable, then measure the acknowledged and the consumable rate.
fn measure(
    name: &str,
    store: &Store,
    messages: &Messages,
    args: &Args,
    work: impl Fn(u64, u64) -> Outcome<()>,
) -> Outcome<Line> {
    // Whole batches, so that what is put is what is counted.
    let unit = if name == "batch" { args.number("batch", 32)? } else { 1 };
    let warm_up = args.number("warmup-count", 1_000_000_u64)?.next_multiple_of(unit);
    let count = args.number("count", 2_000_000_u64)?.next_multiple_of(unit);
    work(0, warm_up)?;
    setup::await_dispatch(store);
    let bytes_before = store.log.written();
    let timing = Timing::start();
    work(warm_up, count)?;
    let put_seconds = timing.seconds();
    setup::await_dispatch(store);
    let consumable_seconds = timing.seconds();
    let cpu_seconds = timing.cpu_seconds();
    let bytes = store.log.written() - bytes_before;
    Ok(Line::of(name)
        .count("body", messages.body_len())
        .count("queues", messages.queues)
        .count("messages", count)
        .real("seconds", put_seconds)
        .real("perSecond", real(count) / put_seconds)
        .real("consumableSeconds", consumable_seconds)
        .real("consumablePerSecond", real(count) / consumable_seconds)
        .real("logBytesPerSecond", real(bytes) / put_seconds)
        .real("cpuSecondsPerMillion", cpu_seconds / real(count) * 1e6)
        .count("pageFaults", timing.faults()))
}
