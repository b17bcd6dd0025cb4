//! The message index: from a key's hash to the log offsets of the records that carry the key.
//!
//! Index files are derived from the log. Whatever is doubtful after a crash is deleted, and
//! [`IndexService::rebuild_from`] tells from which log offset the records have to be indexed again.

use std::collections::VecDeque;
use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::error::{Error, Result};
use crate::log::clock::is_far_ahead;
use crate::log::markers::{LastStop, sync_directory};
use crate::log::notes::{Level, Notes};

mod file;
mod layout;

pub use file::IndexFile;
pub use layout::{ENTRIES_DEFAULT, Layout, SLOTS_DEFAULT};
use layout::{is_name, name_after, name_at};

/// One record to be indexed.
#[derive(Debug)]
pub struct IndexRequest<H> {
    pub physical_offset: i64,
    pub store_timestamp: i64,
    /// Hashes of its keys (`topic#key`), as Java's `String.hashCode` gives them; the sign is dropped here.
    pub hashes: H,
}

/// So many entries wait for the memory of their slots, which lie anywhere in the file.
const COMING_MAX: usize = 16;

/// An entry that is not in its file yet.
#[derive(Debug)]
struct Coming {
    key_hash: i32,
    physical_offset: i64,
    time: i64,
}

/// The end of the index.
#[derive(Debug)]
struct Writer {
    /// The last of all files.
    file: Option<Arc<IndexFile>>,
    coming: VecDeque<Coming>,
    /// The store time of the last record, to compare the next one with: it has no checksum, and a query goes by
    /// the times of whole files and chains, so that a wrong one would hide other records too. A clock that was
    /// really set back is believed from the second record on.
    last_time: i64,
}

impl Writer {
    fn new(file: Option<Arc<IndexFile>>) -> Self {
        let last_time = file.as_ref().map_or(0, |file| file.end_timestamp());
        Self { file, coming: VecDeque::with_capacity(COMING_MAX), last_time }
    }

    /// Log offset and time of the newest record.
    fn newest(&self) -> Option<(i64, i64)> {
        match self.coming.back() {
            Some(last) => Some((last.physical_offset, last.time)),
            None => self.file.as_ref().map(|file| (file.end_offset(), file.end_timestamp())),
        }
    }

    fn expect(&mut self, entry: Coming) {
        if let Some(file) = &self.file {
            file.prefetch(entry.key_hash, self.coming.len() as u32);
        }
        self.coming.push_back(entry);
    }
}

/// All index files of a store, oldest first. One thread writes (calls of others wait), any number queries.
#[derive(Debug)]
pub struct IndexService {
    dir: PathBuf,
    layout: Layout,
    files: RwLock<Vec<Arc<IndexFile>>>,
    /// Held while the set of files changes; taken before `files`.
    writer: Mutex<Writer>,
    rebuild_from: Option<i64>,
}

impl IndexService {
    /// Load the index files of `dir`, which is made if it is missing.
    ///
    /// After a crash of the machine, files with entries newer than `checkpoint_index_timestamp` may lack some
    /// of them and are deleted. After a kill they are as the process left them, which may be in the
    /// middle of one put. A file with a damaged header is built again at any time; files of another size are
    /// refused, since that is a matter of settings.
    pub fn open(
        dir: &Path,
        layout: Layout,
        notes: &Notes,
        last_stop: LastStop,
        checkpoint_index_timestamp: i64,
    ) -> Result<Self> {
        fs::create_dir_all(dir).map_err(|source| Error::io("create", dir, source))?;
        let paths = list(dir, notes)?;
        let mut files: Vec<Arc<IndexFile>> = Vec::with_capacity(paths.len());
        let mut rebuild_from: Option<i64> = None;
        if paths.is_empty() && checkpoint_index_timestamp > 0 {
            notes.say(Level::Warning, format!("{}: the index files are gone and built again", dir.display()));
            rebuild_from = Some(0);
        }
        let mut paths = paths.into_iter();
        while let Some(path) = paths.next() {
            let is_last = paths.len() == 0;
            let bytes = fs::metadata(&path).map_err(|source| Error::io("inspect", &path, source))?.len();
            let is_sized = bytes == layout.bytes() as u64;
            if !is_sized && (last_stop == LastStop::Orderly || !is_last) {
                let what = format!("{bytes} bytes instead of {}", layout.bytes());
                return Err(Error::damaged(&path, what));
            }
            let loaded = if is_sized {
                IndexFile::open(&path, layout)
            } else {
                Err(Error::damaged(&path, format!("{bytes} bytes, not finished")))
            };
            match loaded {
                Ok(file) => files.push(Arc::new(file)),
                Err(Error::Damaged { path, what }) => {
                    notes.say(
                        Level::Warning,
                        format!("{}: {what}; this index file and later ones are built again", path.display()),
                    );
                    // All that follow go too: indexing again only adds at the end.
                    for path in std::iter::once(path).chain(paths.by_ref()) {
                        fs::remove_file(&path).map_err(|source| Error::io("remove", &path, source))?;
                    }
                    rebuild_from = Some(files.last().map_or(0, |file| file.end_offset()));
                }
                Err(error) => return Err(error),
            }
        }
        let is_doubtful = |file: &Arc<IndexFile>| {
            file.end_timestamp() > checkpoint_index_timestamp || file.is_empty() || file.has_lost_chains()
        };
        if matches!(last_stop, LastStop::Crashed | LastStop::SyncFailed)
            && let Some(first) = files.iter().position(is_doubtful)
        {
            // All that follow go too: indexing again only adds at the end.
            let doubtful = files.split_off(first);
            let kept_end = files.last().map_or(0, |file| file.end_offset());
            for file in doubtful {
                file.remove()?;
                let name = file.path().display();
                notes.say(Level::Warning, format!("{name}: not flushed before the crash; deleted"));
                let begin = if file.is_empty() { kept_end } else { file.begin_offset().max(0) };
                rebuild_from = Some(rebuild_from.map_or(begin, |from| from.min(begin)));
            }
        }
        if last_stop == LastStop::Killed
            && let Some(last) = files.last()
        {
            last.take_back_uncounted();
        }
        if last_stop != LastStop::Orderly {
            for file in &files {
                file.doubt();
            }
        }
        if rebuild_from.is_some() {
            sync_directory(dir)?;
        }
        let writer = Mutex::new(Writer::new(files.last().cloned()));
        let files = RwLock::new(files);
        Ok(Self { dir: dir.to_path_buf(), layout, files, writer, rebuild_from })
    }

    /// The log offset from which records have to be indexed again, if opening had to delete files.
    pub fn rebuild_from(&self) -> Option<i64> {
        self.rebuild_from
    }

    /// Log offset of the newest indexed record, if there is one.
    pub fn last_indexed(&self) -> Option<i64> {
        let files = self.files.read();
        files.iter().rev().find(|file| !file.is_empty()).map(|file| file.end_offset())
    }

    /// Log offset of the first record that the official store has to index again after a crash: it then deletes
    /// the files that end after `safe`, the checkpoint's index time.
    pub fn first_unsafe_offset(&self, safe: i64) -> Option<i64> {
        let files = self.files.read();
        // The file that is being filled may end after it at any moment.
        let is_unsafe = |file: &&Arc<IndexFile>| file.end_timestamp() > safe || !file.is_full();
        files.iter().find(is_unsafe).map(|file| file.begin_offset())
    }

    /// Log offset of the newest indexed record, 0 if there is none.
    pub fn end_physical_offset(&self) -> i64 {
        self.files.read().last().map_or(0, |file| file.end_offset())
    }

    /// Store time of the newest indexed record, 0 if there is none.
    pub fn end_timestamp(&self) -> i64 {
        self.files.read().last().map_or(0, |file| file.end_timestamp())
    }

    /// Begin to index records. Whoever else wants to write waits until this is dropped.
    pub fn writer(&self) -> IndexWriter<'_> {
        IndexWriter { index: self, end: self.writer.lock() }
    }

    fn create(&self, previous: Option<&IndexFile>) -> Result<Arc<IndexFile>> {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as i64);
        let mut name = name_at(now_ms, previous.map(IndexFile::name));
        let path = loop {
            let path = self.dir.join(&name);
            if !path.try_exists().map_err(|source| Error::io("inspect", &path, source))? {
                break path;
            }
            name = name_after(&name);
        };
        let file = IndexFile::create(&path, self.layout, previous)?;
        sync_directory(&self.dir)?;
        Ok(Arc::new(file))
    }

    /// Log offsets of records that carry a key and were stored in `begin_time..=end_time`, newest first.
    ///
    /// Other keys of the same hash are among them, and records of up to one second before the range: the
    /// index does not know better.
    pub fn query(&self, key_hash: i32, begin_time: i64, end_time: i64, max: usize) -> Result<Vec<i64>> {
        let files = self.files.read().clone();
        let times = begin_time..=end_time;
        let mut found = Vec::new();
        for file in files.iter().rev() {
            if file.overlaps(&times) {
                file.find(absolute(key_hash), &times, max, &mut found)?;
            }
            if found.len() >= max || file.begin_timestamp() < begin_time {
                break;
            }
        }
        Ok(found)
    }

    /// Wait until all entries are on disk; returns the store time up to which they are.
    pub fn flush(&self) -> Result<i64> {
        let end_timestamp = {
            // Between two puts, so that the file holds what the time says.
            let writer = self.writer.lock();
            writer.file.as_ref().map_or(0, |file| file.end_timestamp())
        };
        let files = self.files.read().clone();
        for file in files {
            file.flush()?;
        }
        Ok(end_timestamp)
    }

    /// Delete files that only point before `log_min`, the first offset of the log; never the last file.
    /// Returns how many.
    pub fn delete_expired(&self, log_min: i64) -> Result<usize> {
        let _writer = self.writer.lock();
        let expired: Vec<_> = {
            let mut files = self.files.write();
            let last = files.len().saturating_sub(1);
            let count = files[..last].iter().take_while(|file| file.end_offset() < log_min).count();
            files.drain(..count).collect()
        };
        expired.iter().map(|file| file.remove()).fold(Ok(()), Result::and)?;
        Ok(expired.len())
    }

    /// Forget everything at or past a log offset, after the log was cut there.
    pub fn truncate(&self, physical_limit: i64) -> Result<()> {
        let mut writer = self.writer.lock();
        let mut files = self.files.write();
        let mut result = Ok(());
        while result.is_ok()
            && let Some(last) = files.last()
            && last.end_offset() >= physical_limit
        {
            match last.truncate(physical_limit) {
                Ok(true) => break,
                Ok(false) => result = last.remove(),
                Err(error) => result = Err(error),
            }
            if result.is_ok() {
                files.pop();
            }
        }
        *writer = Writer::new(files.last().cloned());
        result.and_then(|()| sync_directory(&self.dir))
    }
}

/// Writes to the index, which it holds alone.
pub struct IndexWriter<'a> {
    index: &'a IndexService,
    end: MutexGuard<'a, Writer>,
}

impl IndexWriter<'_> {
    /// Whether a record past this offset is indexed, so that all before it are taken for repeats.
    pub fn has_newer_than(&self, physical_offset: i64) -> bool {
        self.end.newest().is_some_and(|(newest, _)| physical_offset < newest)
    }

    /// Index a record under all its keys. A record before the newest indexed one is taken for a repeat and
    /// skipped. Entries may wait in memory for those that follow: call [`IndexWriter::settle`] after the last.
    pub fn build<H: IntoIterator<Item = i32>>(&mut self, request: IndexRequest<H>) -> Result<()> {
        let IndexRequest { physical_offset, store_timestamp, hashes } = request;
        let newest = self.end.newest();
        let is_possible = is_possible(store_timestamp, newest.map_or(0, |(_, time)| time));
        let is_believed =
            is_possible && mem::replace(&mut self.end.last_time, store_timestamp) <= store_timestamp;
        let time = match newest {
            Some((offset, _)) if physical_offset < offset => return Ok(()),
            // The newest has this record's own time, from its other keys, or else its neighbour's.
            Some((offset, time)) if physical_offset == offset || !is_believed => time,
            _ => store_timestamp.max(0),
        };
        for key_hash in hashes {
            if self.end.coming.len() == COMING_MAX {
                self.enter_next()?;
            }
            self.end.expect(Coming { key_hash: absolute(key_hash), physical_offset, time });
        }
        Ok(())
    }

    /// Put what waits into the files, where queries find it. After an error the rest still waits.
    pub fn settle(&mut self) -> Result<()> {
        while !self.end.coming.is_empty() {
            self.enter_next()?;
        }
        Ok(())
    }

    fn enter_next(&mut self) -> Result<()> {
        if let Some(&Coming { key_hash, physical_offset, time }) = self.end.coming.front() {
            self.add(key_hash, physical_offset, time)?;
            self.end.coming.pop_front();
        }
        Ok(())
    }

    fn add(&mut self, key_hash: i32, offset: i64, time: i64) -> Result<()> {
        match &self.end.file {
            Some(file) if !file.is_full() => file.put(key_hash, offset, time),
            last => {
                let file = self.index.create(last.as_deref())?;
                self.index.files.write().push(Arc::clone(&file));
                self.end.file.insert(file).put(key_hash, offset, time)
            }
        }
    }
}

/// The paths of the index files in `dir`, in order; tells what else lies there.
fn list(dir: &Path, notes: &Notes) -> Result<Vec<PathBuf>> {
    let failed = |source| Error::io("list", dir, source);
    let mut paths = Vec::new();
    for item in fs::read_dir(dir).map_err(failed)? {
        let path = item.map_err(failed)?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(is_name) {
            paths.push(path);
        } else {
            notes.say(
                Level::Warning,
                format!("{}: not the name of an index file; left alone", path.display()),
            );
        }
    }
    paths.sort();
    Ok(paths)
}

/// Whether a record's time can be true, after that of an indexed one.
fn is_possible(time: i64, indexed: i64) -> bool {
    // Most records have the time of the one before, and need no look at the clock.
    time > 0 && (time <= indexed || !is_far_ahead(time) || is_far_ahead(indexed))
}

/// Java's absolute value of a hash; the one number that has none becomes 0.
fn absolute(hash: i32) -> i32 {
    hash.checked_abs().unwrap_or(0)
}

#[cfg(test)]
mod tests;
