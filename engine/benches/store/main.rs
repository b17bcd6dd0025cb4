//! Measures the engine's store inside one process, without Python: `bench/README.md` lists the cases.
//!
//! The messages, the counting and the names in the output are those of the official store's benchmark
//! (`tests/interop/java`, `StoreBench`), so that a figure of one stands beside a figure of the other.

mod append;
mod args;
mod large;
mod limits;
mod measure;
mod messages;
mod queues;
mod read;
mod recover;
mod setup;

use std::process::ExitCode;

use args::Args;
use measure::Line;

pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const CASES: &str =
    "append, batch, syncflush, memcpy, fdatasync, fill, read, walk, recover, make-queues, open-queues, large";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("store bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let args = Args::from_command_line()?;
    let case = args.word(0).unwrap_or_default();
    let dir = args.path(1)?;
    match case {
        "append" => append::append(&dir, &args)?.print(),
        "batch" => append::batch(&dir, &args)?.print(),
        "syncflush" => append::sync_flush(&dir, &args)?.print(),
        "memcpy" => limits::memcpy(&dir, &args)?.iter().for_each(Line::print),
        "fdatasync" => limits::fdatasync(&dir, &args)?.print(),
        "fill" => recover::fill(&dir, &args)?,
        "read" => read::read(&dir, &args)?,
        "walk" => limits::walk(&dir, &args)?.print(),
        "recover" => recover::recover(&dir, &args)?,
        "make-queues" => queues::make(&dir, &args)?.print(),
        "open-queues" => queues::open(&dir, &args)?.print(),
        "large" => large::large(&dir, &args)?,
        other => return Err(format!("unknown case {other:?}; there are {CASES}").into()),
    }
    Ok(())
}
