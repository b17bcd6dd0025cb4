//! The file `tailfin-orderly-stop`: what an orderly stop left, told by the system's own marks of it.
//!
//! A start that finds everything as it was left need not read gigabytes of log to know that they are whole. A file
//! that anybody wrote to, copied, cut or put back has another inode or another time of change, which nobody can set;
//! then, and whenever anything else is in doubt, the log is walked.

use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::commit_log::CommitLog;
use super::config::StoreConfig;
use super::derived::Derived;
use super::index::IndexService;
use super::segment::{Segment, file_name};
use crate::error::{Error, Result};

/// After an orderly stop only these many files are checked.
pub const CLEAN_FILES: usize = 3;
/// Files are marked with the time of a clock that may tick as slowly as this: a file that changed in the same tick
/// as it was looked at would look unchanged.
const TICK: Duration = Duration::from_millis(20);
const TRIES: usize = 3;

/// Where the log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEnd {
    pub offset: u64,
    pub timestamp: i64,
}

/// Write down how an orderly stop leaves the log and what is derived from it, if the system's marks can be relied on.
pub fn note(config: &StoreConfig, log: &CommitLog, derived: &Derived) -> Result<()> {
    let files = last_files(log);
    let Some(first) = files.first() else { return Ok(()) };
    if log.written() - first.start() < config.note_orderly_from_bytes || !let_a_tick_pass(&files)? {
        return Ok(());
    }
    let path = &config.orderly_stop_path;
    let mut text = format!("end {} {}\n", log.written(), log.last_timestamp());
    text.push_str(&state(&files, derived)?);
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

/// Where the log ends, if everything is as the note says.
pub fn confirmed(note: &str, log: &CommitLog, derived: &Derived) -> Result<Option<LogEnd>> {
    let Some((end, left)) = parse(note) else { return Ok(None) };
    Ok((state(&last_files(log), derived)? == left).then_some(end))
}

fn parse(note: &str) -> Option<(LogEnd, &str)> {
    let (text, checksum) = note.split_at_checked(note.find("checksum ")?)?;
    if checksum != format!("checksum {}\n", crc32fast::hash(text.as_bytes())) {
        return None;
    }
    let (end, left) = text.strip_prefix("end ")?.split_once('\n')?;
    let (offset, timestamp) = end.split_once(' ')?;
    Some((LogEnd { offset: offset.parse().ok()?, timestamp: timestamp.parse().ok()? }, left))
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

/// The last files of the log, the ends of all queues and of the index, as text.
fn state(files: &[Arc<Segment>], derived: &Derived) -> Result<String> {
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
    let queues = derived.queues.all();
    let ends = queues.iter().fold(0_u64, |sum, queue| {
        let mut hasher = DefaultHasher::new();
        (queue.topic(), queue.queue_id(), queue.max_offset(), queue.max_physical_offset()).hash(&mut hasher);
        sum.wrapping_add(hasher.finish())
    });
    let indexed = derived.index.as_ref().and_then(IndexService::last_indexed);
    let _ = writeln!(text, "queues {} ends {ends:016x}\nindex {}", queues.len(), indexed.unwrap_or(-1));
    Ok(text)
}
