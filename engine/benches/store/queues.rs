//! Stores with very many queues.

use std::path::Path;

use tailfin_engine::log::config::FlushMode;

use crate::Outcome;
use crate::args::Args;
use crate::measure::{Line, Timing, descriptors, maps, memory};
use crate::messages::Messages;
use crate::setup;

const QUEUES_PER_TOPIC: u64 = 8;

/// Make a store whose `--queues` hold one message each, eight queues to a topic.
pub fn make(dir: &Path, args: &Args) -> Outcome<Line> {
    let messages = Messages::new(args)?;
    let queues: u64 = args.number("queues", 10_000)?;
    let store = setup::open_new(dir, FlushMode::Async)?;
    let timing = Timing::start();
    for number in 0..queues {
        let topic = format!("BenchTopic{:05}", number / QUEUES_PER_TOPIC);
        messages.put_to(&store, topic.as_bytes(), (number % QUEUES_PER_TOPIC) as i32, number)?;
    }
    setup::await_dispatch(&store);
    let line = Line::of("make-queues").count("queues", queues).real("seconds", timing.seconds());
    setup::close(&store)?;
    Ok(line.real("closedSeconds", timing.seconds()))
}

/// Open such a store; the count it finds must be `--queues`.
pub fn open(dir: &Path, args: &Args) -> Outcome<Line> {
    let queues: usize = args.number("queues", 10_000)?;
    let timing = Timing::start();
    let store = setup::open(dir, FlushMode::Async)?;
    let seconds = timing.seconds();
    let cpu_seconds = timing.cpu_seconds();
    let (found, full) = {
        let all = store.derived.queues.all();
        (all.len(), all.iter().filter(|queue| queue.max_offset() == 1).count())
    };
    if (found, full) != (queues, queues) {
        return Err(format!("{queues} queues were made; {found} are open, {full} with their message").into());
    }
    let line = Line::of("open-queues")
        .count("queues", found as u64)
        .real("startedSeconds", seconds)
        .real("cpuSeconds", cpu_seconds)
        .count("rssBytes", memory("VmRSS"))
        .count("rssAnonBytes", memory("RssAnon"))
        .count("descriptors", descriptors())
        .count("maps", maps())
        .count("maxPhysicalOffset", store.log.written());
    setup::close(&store)?;
    Ok(line)
}
