//! A growing run of bytes in files of one size, its newest bytes in memory.
//!
//! Files are written with `pwrite`, not mapped: a full disk is then an error that can be returned and
//! tried again, and neither descriptors nor mappings grow with the number of tapes.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::ahead::OpenFile;
use super::cache::{FileCache, Key};
use super::scan::{data_end, file_path, list_files};
use crate::error::{Error, Result};
use crate::log::notes::Notes;
use crate::log::prefetch::{prefetch_line, prefetch_line_to_write};

/// An appender that finds this much in memory writes it out first.
pub(super) const TAIL_BYTES: usize = 64 * 1024;

thread_local! {
    /// What a thread is writing out, since the tail goes on meanwhile. Memory that were asked for each time would be
    /// given back to the kernel, and faulted in again, each time.
    static COPY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// One thread at a time appends, one writes out, any number read. Locks are taken in the order of the fields.
#[derive(Debug)]
pub(super) struct Tape {
    dir: Box<Path>,
    file_bytes: u64,
    cache: Arc<FileCache>,
    /// The name of this tape's files in the cache. It is renewed when files are deleted whose starts can
    /// come back: a reader may just have opened the old file and would pass it off as the new one.
    owner: AtomicU64,
    disk: Mutex<Disk>,
    tail: Mutex<Tail>,
    /// Where in memory the next bytes go, most likely: only for prefetches.
    place: AtomicPtr<u8>,
}

#[derive(Debug, Default)]
struct Disk {
    /// What the existing files span.
    files: Range<u64>,
    /// No byte from here on was ever written, not even by a write that failed half-way.
    touched_end: u64,
    unsynced: Range<u64>,
    unsynced_names: Names,
}

/// Which directory entries changed since the last sync.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Names {
    #[default]
    Same,
    Files,
    Directory,
}

/// The bytes that are not in a file yet.
#[derive(Debug, Default)]
struct Tail {
    bytes: Vec<u8>,
    start: u64,
}

impl Tail {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl Disk {
    fn mark_unsynced(&mut self, range: Range<u64>) {
        self.unsynced = if self.unsynced.is_empty() {
            range
        } else {
            self.unsynced.start.min(range.start)..self.unsynced.end.max(range.end)
        };
    }

    fn mark_names(&mut self, names: Names) {
        self.unsynced_names = self.unsynced_names.max(names);
    }
}

impl Tape {
    /// An empty tape; nothing is made on disk before the first bytes are written out.
    pub fn create(dir: PathBuf, file_bytes: u64, cache: Arc<FileCache>) -> Self {
        let owner = AtomicU64::new(cache.new_owner());
        Self {
            dir: dir.into(),
            file_bytes,
            cache,
            owner,
            disk: Mutex::default(),
            tail: Mutex::default(),
            place: AtomicPtr::default(),
        }
    }

    /// A tape of the files in `dir`, as if they were full: `settle` says where the data ends.
    pub fn open(dir: PathBuf, file_bytes: u64, cache: Arc<FileCache>, notes: &Notes) -> Result<Self> {
        let files = list_files(&dir, file_bytes, notes)?;
        let tape = Self::create(dir, file_bytes, cache);
        tape.tail.lock().start = files.end;
        *tape.disk.lock() = Disk { touched_end: files.end, files, ..Disk::default() };
        Ok(tape)
    }

    /// Ends the data at `end`, where no byte from `dirty_end` on is set, in the file that holds `end`.
    pub fn settle(&self, end: u64, dirty_end: u64) -> Result<()> {
        self.disk.lock().touched_end = dirty_end.max(end);
        self.truncate(end)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// What the existing files span; empty when there are none.
    pub fn files(&self) -> Range<u64> {
        self.disk.lock().files.clone()
    }

    /// The start of the file that holds, or would hold, a position.
    pub fn file_start(&self, position: u64) -> u64 {
        position - position % self.file_bytes
    }

    pub fn end(&self) -> u64 {
        self.tail.lock().end()
    }

    pub fn unwritten_bytes(&self) -> u64 {
        self.tail.lock().bytes.len() as u64
    }

    /// Have the processor fetch what `append` uses.
    pub fn prefetch(&self) {
        prefetch_line_to_write(&raw const self.tail);
        prefetch_line(&raw const self.place);
    }

    /// The same for where it will put its bytes.
    pub fn prefetch_place(&self) {
        prefetch_line_to_write(self.place.load(Ordering::Relaxed));
    }

    /// Adds bytes and returns their position. After an error nothing was added, and it can be tried again.
    pub fn append(&self, bytes: &[u8]) -> Result<u64> {
        let mut tail = self.tail.lock();
        if tail.bytes.len() >= TAIL_BYTES {
            drop(tail);
            self.empty_tail()?;
            tail = self.tail.lock();
        }
        let position = tail.end();
        tail.bytes.extend_from_slice(bytes);
        let end = tail.bytes.as_mut_ptr_range().end;
        self.place.store(end, Ordering::Relaxed);
        Ok(position)
    }

    /// Reads from `position` on and returns how much there was; nothing when the file is gone.
    pub fn read_at(&self, position: u64, out: &mut [u8]) -> Result<usize> {
        let (found, in_files, files_end) = {
            let tail = self.tail.lock();
            let found = out.len().min(tail.end().saturating_sub(position) as usize);
            let in_files = found.min(tail.start.saturating_sub(position) as usize);
            if in_files < found {
                let from = (position + in_files as u64 - tail.start) as usize;
                out[in_files..found].copy_from_slice(&tail.bytes[from..from + found - in_files]);
            }
            (found, in_files, tail.start)
        };
        // The tail's start moves only when its bytes are in a file, so these need no lock.
        let is_there = self.read_files(position, &mut out[..in_files], files_end)?;
        Ok(if is_there { found } else { 0 })
    }

    fn read_files(&self, position: u64, out: &mut [u8], files_end: u64) -> Result<bool> {
        let mut done = 0;
        for (start, range) in pieces(self.file_bytes, position, out.len()) {
            let Some(file) = self.find(start)? else { return Ok(false) };
            let piece = &mut out[done..done + (range.end - range.start) as usize];
            let written_end = (files_end - start).min(self.file_bytes);
            file.read_exact_at(piece, range.start, written_end).map_err(|e| self.io("read", start, e))?;
            done += piece.len();
        }
        Ok(true)
    }

    /// Moves the tail into its files and says whether there was any. After an error it is still in memory.
    pub fn write_out(&self) -> Result<bool> {
        let moved = self.empty_tail()?;
        if moved {
            // An idle tape keeps no buffer.
            self.tail.lock().bytes.shrink_to_fit();
        }
        Ok(moved)
    }

    /// The same, but the tail keeps its memory for what comes next.
    fn empty_tail(&self) -> Result<bool> {
        COPY.with_borrow_mut(|copy| {
            let mut disk = self.disk.lock();
            copy.clear();
            let start = {
                let tail = self.tail.lock();
                copy.extend_from_slice(&tail.bytes);
                tail.start
            };
            if copy.is_empty() {
                return Ok(false);
            }
            self.write_files(&mut disk, start, copy)?;
            let mut tail = self.tail.lock();
            tail.start += copy.len() as u64;
            // What was appended meanwhile stays; usually nothing was.
            tail.bytes.drain(..copy.len());
            Ok(true)
        })
    }

    fn write_files(&self, disk: &mut Disk, position: u64, bytes: &[u8]) -> Result<()> {
        let mut done = 0;
        for (start, range) in pieces(self.file_bytes, position, bytes.len()) {
            let file =
                if start >= disk.files.end { self.make_file(disk, start)? } else { self.open_file(start)? };
            let piece = &bytes[done..done + (range.end - range.start) as usize];
            let written = start + range.start..start + range.end;
            disk.touched_end = disk.touched_end.max(written.end);
            disk.mark_unsynced(written);
            file.write_all_at(piece, range.start).map_err(|e| self.io("write", start, e))?;
            done += piece.len();
        }
        Ok(())
    }

    /// Writes over bytes that are there already.
    pub fn overwrite(&self, position: u64, bytes: &[u8]) -> Result<()> {
        // Held throughout, so that no write-out is under way with a copy of the old bytes.
        let mut disk = self.disk.lock();
        let in_files = {
            let mut tail = self.tail.lock();
            let in_files = bytes.len().min(tail.start.saturating_sub(position) as usize);
            if in_files < bytes.len() {
                let from = (position + in_files as u64 - tail.start) as usize;
                let Some(old) = tail.bytes.get_mut(from..from + bytes.len() - in_files) else {
                    return Err(Error::damaged(&self.dir, format!("has no byte {position} to mend")));
                };
                old.copy_from_slice(&bytes[in_files..]);
            }
            in_files
        };
        self.write_files(&mut disk, position, &bytes[..in_files])
    }

    /// How far apart the first and the last byte are that were written out since the last sync.
    pub fn unsynced_bytes(&self) -> u64 {
        let disk = self.disk.lock();
        disk.unsynced.end - disk.unsynced.start
    }

    /// Forgets what is to be synced: the caller syncs the whole file system next.
    pub fn assume_synced(&self) {
        let mut disk = self.disk.lock();
        disk.unsynced = 0..0;
        disk.unsynced_names = Names::Same;
    }

    /// Brings everything written out so far to the disk.
    pub fn sync_written(&self) -> Result<()> {
        let (range, names) = {
            let mut disk = self.disk.lock();
            (mem::take(&mut disk.unsynced), mem::take(&mut disk.unsynced_names))
        };
        // Without the lock: an appender whose tail is full must not wait for the disk's cache.
        let result = self.sync_files(range.clone()).and_then(|()| self.sync_names(names));
        if result.is_err() {
            let mut disk = self.disk.lock();
            disk.mark_unsynced(range);
            disk.mark_names(names);
        }
        result
    }

    fn sync_files(&self, range: Range<u64>) -> Result<()> {
        for (start, _) in pieces(self.file_bytes, range.start, (range.end - range.start) as usize) {
            if let Some(file) = self.find(start)? {
                file.file().sync_data().map_err(|e| self.io("sync", start, e))?;
            }
        }
        Ok(())
    }

    fn sync_names(&self, names: Names) -> Result<()> {
        // A new directory's own name is in its parent, and that may be new as well.
        let levels = match names {
            Names::Same => 0,
            Names::Files => 1,
            Names::Directory => 3,
        };
        for dir in self.dir.ancestors().take(levels) {
            match File::open(dir).and_then(|opened| opened.sync_all()) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(Error::io("sync", dir, e)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Drops the bytes from `end` on: in memory, later files, and with zeros in the file that holds `end`.
    /// The first file stays, since its name says where the tape goes on. Nobody may append meanwhile.
    pub fn truncate(&self, end: u64) -> Result<()> {
        let mut disk = self.disk.lock();
        {
            let mut tail = self.tail.lock();
            let keep = end.saturating_sub(tail.start) as usize;
            tail.bytes.truncate(keep);
            tail.start = tail.start.min(end);
        }
        let kept_end = self.file_start(end.saturating_sub(1)) + self.file_bytes;
        let first_end = disk.files.start + self.file_bytes;
        self.delete_back(&mut disk, kept_end.max(first_end))?;
        let zeros = [0; 4096];
        let mut at = end;
        while at < disk.touched_end {
            let count = zeros.len().min((disk.touched_end - at) as usize);
            self.write_files(&mut disk, at, &zeros[..count])?;
            at += count as u64;
        }
        disk.touched_end = disk.touched_end.min(end);
        Ok(())
    }

    /// Deletes everything and goes on at `start`, which begins a file. Nobody may append meanwhile.
    pub fn restart(&self, start: u64) -> Result<()> {
        let mut disk = self.disk.lock();
        *self.tail.lock() = Tail { bytes: Vec::new(), start };
        let first = disk.files.start;
        self.delete_back(&mut disk, first)?;
        disk.files = start..start;
        disk.touched_end = start;
        Ok(())
    }

    /// Deletes the files and the directory, unless somebody else keeps something in it.
    pub fn destroy(&self) -> Result<()> {
        self.restart(0)?;
        match fs::remove_dir(&self.dir) {
            Err(e) if !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {
                Err(Error::io("remove", &self.dir, e))
            }
            _ => Ok(()),
        }
    }

    /// Deletes the oldest file and says whether it did: the last one stays.
    pub fn delete_first_file(&self) -> Result<bool> {
        let mut disk = self.disk.lock();
        let start = disk.files.start;
        if start + self.file_bytes >= disk.files.end {
            return Ok(false);
        }
        self.remove(start)?;
        disk.files.start += self.file_bytes;
        disk.mark_names(Names::Files);
        self.cache.forget(Key { owner: self.owner.load(Ordering::Relaxed), start });
        Ok(true)
    }

    /// Deletes files from the last one down to `end`, so that a crash leaves no gap.
    fn delete_back(&self, disk: &mut Disk, end: u64) -> Result<()> {
        if disk.files.end <= end {
            return Ok(());
        }
        while disk.files.end > end {
            self.remove(disk.files.end - self.file_bytes)?;
            disk.files.end -= self.file_bytes;
            disk.mark_names(Names::Files);
        }
        disk.touched_end = disk.touched_end.min(end);
        let owner = self.owner.swap(self.cache.new_owner(), Ordering::AcqRel);
        self.cache.forget_owner(owner);
        Ok(())
    }

    /// One past the last byte that is not zero in the file that begins at `start`.
    pub fn data_end(&self, start: u64) -> Result<u64> {
        let end = data_end(self.open_file(start)?.file(), self.file_bytes);
        end.map(|end| start + end).map_err(|e| self.io("read", start, e))
    }

    /// The file that begins at `start`, or none when it was deleted.
    fn find(&self, start: u64) -> Result<Option<Arc<OpenFile>>> {
        match self.open_file(start) {
            Ok(file) => Ok(Some(file)),
            Err(Error::Io { source, .. })
                if source.kind() == io::ErrorKind::NotFound && !self.files().contains(&start) =>
            {
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    fn open_file(&self, start: u64) -> Result<Arc<OpenFile>> {
        let key = Key { owner: self.owner.load(Ordering::Acquire), start };
        if let Some(file) = self.cache.get(key) {
            return Ok(file);
        }
        let opened = OpenOptions::new().read(true).write(true).open(file_path(&self.dir, start));
        let file = Arc::new(OpenFile::from(opened.map_err(|e| self.io("open", start, e))?));
        self.cache.insert(key, Arc::clone(&file));
        Ok(file)
    }

    fn make_file(&self, disk: &mut Disk, start: u64) -> Result<Arc<OpenFile>> {
        if disk.files.is_empty() {
            fs::create_dir_all(&self.dir).map_err(|e| Error::io("create", &self.dir, e))?;
            disk.mark_names(Names::Directory);
            disk.files = start..start;
        }
        let made = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(file_path(&self.dir, start))
            .and_then(|file| file.set_len(self.file_bytes).map(|()| file));
        let file = Arc::new(OpenFile::from(made.map_err(|e| self.io("create", start, e))?));
        disk.files.end = start + self.file_bytes;
        disk.mark_names(Names::Files);
        self.cache.insert(Key { owner: self.owner.load(Ordering::Acquire), start }, Arc::clone(&file));
        Ok(file)
    }

    fn remove(&self, start: u64) -> Result<()> {
        match fs::remove_file(file_path(&self.dir, start)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(self.io("remove", start, e)),
            _ => Ok(()),
        }
    }

    fn io(&self, action: &'static str, start: u64, source: io::Error) -> Error {
        Error::io(action, &file_path(&self.dir, start), source)
    }
}

/// Splits a run of bytes at the borders of files: each file's start, and the range within it.
fn pieces(file_bytes: u64, position: u64, len: usize) -> impl Iterator<Item = (u64, Range<u64>)> {
    let end = position + len as u64;
    let mut at = position;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let start = at - at % file_bytes;
        let piece = at - start..(end - start).min(file_bytes);
        at = start + piece.end;
        Some((start, piece))
    })
}
