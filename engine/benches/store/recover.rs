//! Filling a store, to be closed or killed, and opening what that leaves behind.

use std::io::{Write, stdout};
use std::path::Path;

use tailfin_engine::log::config::FlushMode;

use crate::Outcome;
use crate::args::Args;
use crate::measure::{Line, Timing, descriptors, memory};
use crate::messages::Messages;
use crate::setup;

/// How often the filling looks at the size of the log.
const LOOK_EVERY: u64 = 1024;

/// Write `--count` messages or `--bytes` of log. With `--hang` go on writing after that until killed.
pub fn fill(dir: &Path, args: &Args) -> Outcome<()> {
    let messages = Messages::new(args)?;
    let bytes: u64 = args.number("bytes", u64::MAX)?;
    let count: u64 = args.number("count", u64::MAX)?;
    if bytes == u64::MAX && count == u64::MAX {
        return Err("fill needs --count or --bytes".into());
    }
    let store = setup::open_new(dir, FlushMode::Async)?;
    let mut number = 0;
    while number < count && (number % LOOK_EVERY != 0 || store.log.written() < bytes) {
        messages.put(&store, number)?;
        number += 1;
    }
    if args.has("hang") {
        Line::of("fill").count("messages", number).count("maxPhysicalOffset", store.log.written()).print();
        stdout().flush()?;
        loop {
            messages.put(&store, number)?;
            number += 1;
        }
    }
    setup::await_dispatch(&store);
    let written = store.log.written();
    setup::close(&store)?;
    Line::of("fill").count("messages", number).count("maxPhysicalOffset", written).print();
    Ok(())
}

/// Open a store and wait until everything in it is consumable. It is closed only if it was clean.
pub fn recover(dir: &Path, _args: &Args) -> Outcome<()> {
    let clean = !dir.join("abort").exists();
    let timing = Timing::start();
    let store = setup::open(dir, FlushMode::Async)?;
    let started_seconds = timing.seconds();
    setup::await_dispatch(&store);
    let dispatched_seconds = timing.seconds();
    let cpu_seconds = timing.cpu_seconds();
    Line::of("recover")
        .truth("clean", clean)
        .truth("loaded", true)
        .real("startedSeconds", started_seconds)
        .real("dispatchedSeconds", dispatched_seconds)
        .real("cpuSeconds", cpu_seconds)
        .count("maxPhysicalOffset", store.log.written())
        .count("rssBytes", memory("VmRSS"))
        .count("rssAnonBytes", memory("RssAnon"))
        .count("descriptors", descriptors())
        .print();
    if clean {
        return setup::close(&store);
    }
    stdout().flush()?;
    // SAFETY: ends the process as a kill would; the official benchmark halts here as well.
    unsafe { libc::_exit(0) }
}
