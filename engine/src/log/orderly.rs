//! The file `tailfin-orderly-stop`: what an orderly stop left, told by the system's own marks of it.
//!
//! A start that finds everything as it was left need not read gigabytes of log to know that they are whole. A file
//! that anybody wrote to, copied, cut or put back has another inode or another time of change, which nobody can set;
//! then, and whenever anything else is in doubt, the log is walked. If nobody wrote to the log, where each queue ended
//! tells which of them lack something.

use std::fmt::Write;
use std::fs;
use std::io;
use std::iter;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::commit_log::CommitLog;
use super::config::StoreConfig;
use super::derived::Derived;
use super::index::IndexService;
use super::queue::QueueTable;
use super::rebuild::{Lacking, QueueKey};
use super::recover::is_unused;
use super::segment::{Segment, file_name};
use crate::error::{Error, Result};
use crate::message::{Found, look};

/// After an orderly stop only these many files are checked.
pub const CLEAN_FILES: usize = 3;
/// Files are marked with the time of a clock that may tick as slowly as this: a file that changed in the same tick
/// as it was looked at would look unchanged.
const TICK: Duration = Duration::from_millis(20);
const TRIES: usize = 3;
/// Begins what the note says of all that is derived from the log.
const INDEX: &str = "index ";

/// Where the log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEnd {
    pub offset: u64,
    pub timestamp: i64,
}

/// Write down how an orderly stop leaves the log and what is derived from it, if the system's marks can be relied on.
pub fn note(config: &StoreConfig, log: &CommitLog, derived: &Derived) -> Result<()> {
    let files = last_files(log);
    if files.is_empty() || !let_a_tick_pass(&files)? {
        return Ok(());
    }
    let path = &config.orderly_stop_path;
    let mut text = format!("end {} {}\n", log.written(), log.last_timestamp());
    text.push_str(&marks(&files)?);
    text.push_str(&ends(derived));
    let checksum = crc32fast::hash(text.as_bytes());
    let _ = writeln!(text, "checksum {checksum}");
    fs::write(path, text).map_err(|source| Error::io("write", path, source))
}

/// What the last stop wrote down, taken away: it is true of this start only.
pub fn take_note(path: &Path) -> Result<Option<String>> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|source| Error::io("read", path, source))?,
    };
    fs::remove_file(path).map_err(|source| Error::io("remove", path, source))?;
    Ok(String::from_utf8(text).ok())
}

/// A log that nobody touched since an orderly stop, and what its note tells of the rest.
#[derive(Debug)]
pub struct AsLeft {
    pub end: LogEnd,
    /// Queues that end before where they ended. Which others the log once had, and lost with their topics, only the
    /// note can tell.
    pub lacking: Lacking,
    /// The last record that the index had; -1 when it had none.
    pub index_last: i64,
}

/// See whether the log is as the note says, and what is not.
pub fn compare(note: &str, log: &CommitLog, queues: &QueueTable) -> Result<Option<AsLeft>> {
    let Some(noted) = parse(note) else { return Ok(None) };
    if noted.files != marks(&last_files(log))? || goes_on(log, noted.end.offset) {
        return Ok(None);
    }
    let mut lacking = Lacking::default();
    for (topic, queue_id, end) in queues_in(noted.queues) {
        let queue = queues.get(topic.as_bytes(), queue_id);
        if queue.as_ref().is_none_or(|queue| queue.max_offset() < end) {
            let from = queue.map_or(0, |queue| queue.max_physical_offset().max(0));
            lacking.note(QueueKey::new(topic.as_bytes(), queue_id), from.cast_unsigned());
        }
    }
    Ok(Some(AsLeft { end: noted.end, lacking, index_last: noted.index_last }))
}

/// Whether something stands behind the noted end. In memory (tmpfs) a write through a map need not change a file's time.
fn goes_on(log: &CommitLog, end: u64) -> bool {
    let Some(segment) = log.segment_of(end) else { return false };
    let position = end - segment.start();
    !is_unused(&segment, position)
        && !matches!(look(segment.bytes(position as usize..segment.size() as usize)), Ok(Found::Nothing))
}

struct Noted<'a> {
    end: LogEnd,
    files: &'a str,
    index_last: i64,
    queues: &'a str,
}

fn parse(note: &str) -> Option<Noted<'_>> {
    let (text, checksum) = note.split_at_checked(note.rfind("checksum ")?)?;
    if checksum != format!("checksum {}\n", crc32fast::hash(text.as_bytes())) {
        return None;
    }
    let (end, rest) = text.strip_prefix("end ")?.split_once('\n')?;
    let (offset, timestamp) = end.split_once(' ')?;
    let end = LogEnd { offset: offset.parse().ok()?, timestamp: timestamp.parse().ok()? };
    let (files, rest) = rest.split_once(INDEX)?;
    let (index_last, queues) = rest.split_once('\n')?;
    Some(Noted { end, files, index_last: index_last.parse().ok()?, queues })
}

fn last_files(log: &CommitLog) -> Vec<Arc<Segment>> {
    let segments = log.segments();
    segments[segments.len().saturating_sub(CLEAN_FILES)..].to_vec()
}

/// Wait until a later change of these files would bear a later time; false if that cannot be told.
fn let_a_tick_pass(files: &[Arc<Segment>]) -> Result<bool> {
    for _ in 0..TRIES {
        let mut latest = Duration::ZERO;
        for file in files {
            let (seconds, nanoseconds) = changed(file)?;
            if nanoseconds == 0 {
                return Ok(false); // most likely of a file system that counts in seconds
            }
            latest = latest.max(Duration::new(seconds, nanoseconds));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if now >= latest + TICK {
            return Ok(true);
        }
        thread::sleep(TICK);
    }
    Ok(false)
}

fn changed(file: &Segment) -> Result<(u64, u32)> {
    let metadata = fs::metadata(file.path()).map_err(|source| Error::io("look at", file.path(), source))?;
    Ok((metadata.ctime().max(0).cast_unsigned(), metadata.ctime_nsec() as u32))
}

/// The files of the log, as text.
fn marks(files: &[Arc<Segment>]) -> Result<String> {
    let mut text = String::new();
    for file in files {
        let of = fs::metadata(file.path()).map_err(|source| Error::io("look at", file.path(), source))?;
        let _ = writeln!(
            text,
            "{} inode {} bytes {} changed {}.{:09}",
            file_name(file.start()),
            of.ino(),
            of.size(),
            of.ctime(),
            of.ctime_nsec()
        );
    }
    Ok(text)
}

/// The ends of the index and of all queues, as text. A queue without units has no directory.
fn ends(derived: &Derived) -> String {
    let indexed = derived.index.as_ref().and_then(IndexService::last_indexed);
    let mut text = format!("{INDEX}{}\n", indexed.unwrap_or(-1));
    for queue in derived.queues.all() {
        if queue.max_offset() > 0 {
            let _ = writeln!(text, "{}/{} {}", queue.topic(), queue.queue_id(), queue.max_offset());
        }
    }
    text
}

/// The queues in a note, with their ends. A topic is all up to the slash, which none contains.
fn queues_in(mut text: &str) -> impl Iterator<Item = (&str, i32, i64)> {
    iter::from_fn(move || {
        let (topic, rest) = text.split_once('/')?;
        let (numbers, rest) = rest.split_once('\n')?;
        let (queue_id, end) = numbers.split_once(' ')?;
        text = rest;
        Some((topic, queue_id.parse().ok()?, end.parse().ok()?))
    })
}
