//! The commit log: all topics in one sequence of mapped files.
//!
//! Three offsets describe it, each at most the one before: what is *written*, what is *committed* (readable;
//! the same unless a transient pool is in use) and what is *flushed* to disk.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use memmap2::MmapRaw;
use parking_lot::{Mutex, RwLock};

use super::append::Writer;
use super::config::{FlushMode, StoreConfig};
use super::markers::sync_directory;
use super::notes::{Level, Notes};
use super::pool::Pool;
use super::segment::{Pages, Segment, file_name, parse_file_name};
use super::signal::{OwnLine, Signal};
use crate::error::{Error, Result};

#[derive(Debug)]
pub struct CommitLog {
    dir: PathBuf,
    pub(super) file_bytes: u64,
    segments: RwLock<VecDeque<Arc<Segment>>>,
    /// Files made ahead of need, in order, not yet part of the log.
    ahead: Mutex<VecDeque<Arc<Segment>>>,
    pub(super) writer: OwnLine<Mutex<Writer>>,
    /// When the append lock was taken, in milliseconds since the epoch; 0 while it is free.
    pub(super) locked_since: OwnLine<AtomicI64>,
    pub(super) written: OwnLine<AtomicU64>,
    committed: AtomicU64,
    flushed: AtomicU64,
    pub(super) flushing: Mutex<()>,
    /// Written by the holder of `flushing` only.
    flush_failed: AtomicBool,
    /// Store timestamp of the last record; moves after `written`, so reading it first never promises too much.
    pub(super) last_timestamp: OwnLine<AtomicI64>,
    /// Everything before it has space and is faulted in.
    prepared: AtomicU64,
    /// Wakes the thread that prepares space.
    pub(super) prepare: Signal,
    pub(super) pool: Option<Pool>,
    pub(super) config: Arc<StoreConfig>,
    notes: Arc<Notes>,
}

/// Space is prepared at least this far ahead of the writer, and this far ahead of a fast one.
pub const PREPARE_BYTES_MIN: u64 = 16 << 20;
pub const PREPARE_BYTES_MAX: u64 = 128 << 20;
const PREPARE_STEP_BYTES: u64 = 1 << 20;
const FILES_AHEAD: usize = 2;

impl CommitLog {
    /// Map the files of a log. The result has no written offset yet: recovery finds it.
    pub fn load(config: Arc<StoreConfig>, notes: Arc<Notes>) -> Result<Self> {
        let dir = config.commit_log_dir.clone();
        fs::create_dir_all(&dir).map_err(|source| Error::io("create", &dir, source))?;
        let segments = load_segments(&dir, config.log_file_bytes, &notes)?;
        let end = segments.back().map_or(0, |last: &Arc<Segment>| last.end());
        let pool = match config.transient_pool {
            Some(pool) => Some(Pool::new(pool.buffers, config.log_file_bytes, &notes)?),
            None => None,
        };
        Ok(Self {
            dir,
            file_bytes: config.log_file_bytes,
            segments: RwLock::new(segments),
            ahead: Mutex::default(),
            writer: OwnLine::default(),
            locked_since: OwnLine::default(),
            written: OwnLine(AtomicU64::new(end)),
            committed: AtomicU64::new(end),
            flushed: AtomicU64::new(end),
            flushing: Mutex::default(),
            flush_failed: AtomicBool::new(false),
            last_timestamp: OwnLine::default(),
            prepared: AtomicU64::new(0),
            prepare: Signal::default(),
            pool,
            config,
            notes,
        })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// The first offset there is.
    pub fn min_offset(&self) -> u64 {
        self.segments.read().front().map_or_else(|| self.written(), |first| first.start())
    }

    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// One past the last byte that may be read.
    pub fn readable(&self) -> u64 {
        if self.pool.is_some() { self.committed.load(Ordering::Acquire) } else { self.written() }
    }

    pub fn flushed(&self) -> u64 {
        self.flushed.load(Ordering::Acquire)
    }

    pub fn last_timestamp(&self) -> i64 {
        self.last_timestamp.load(Ordering::Acquire)
    }

    pub fn segments(&self) -> Vec<Arc<Segment>> {
        self.segments.read().iter().cloned().collect()
    }

    /// The file that holds `offset`.
    pub fn segment_of(&self, offset: u64) -> Option<Arc<Segment>> {
        let segments = self.segments.read();
        let first = segments.front()?.start();
        let index = offset.checked_sub(first)? / self.file_bytes;
        segments.get(index as usize).cloned()
    }

    /// The start of the file after the one that holds `offset`.
    pub fn next_file(&self, offset: u64) -> u64 {
        offset - offset % self.file_bytes + self.file_bytes
    }

    /// Go on at `end`, found by recovery; files wholly past it are removed.
    pub fn resume(&self, end: u64, last_timestamp: i64) -> Result<()> {
        let mut segments = self.segments.write();
        while segments.back().is_some_and(|last| last.start() >= end) {
            segments.pop_back().map_or(Ok(()), |last| last.remove())?;
        }
        let mut writer = self.writer.lock();
        *writer = Writer::default();
        if let Some(last) = segments.back().filter(|last| end < last.end()) {
            let position = end - last.start();
            last.erase_from(position)?;
            last.reopen(position)?;
            let buffer = self.lend_buffer()?;
            if let Some(buffer) = &buffer {
                last.attach_buffer(buffer.clone());
            }
            writer.resume(last.clone(), last_timestamp, buffer);
        }
        writer.last_timestamp = last_timestamp;
        self.written.store(end, Ordering::Release);
        self.committed.store(end, Ordering::Release);
        self.flushed.store(end, Ordering::Release);
        self.prepared.store(end, Ordering::Release);
        self.last_timestamp.store(last_timestamp, Ordering::Release);
        Ok(())
    }

    /// Let the next flush begin at `offset`: what follows was found in memory, and may not be on disk.
    pub fn doubt_from(&self, offset: u64) {
        self.flushed.fetch_min(offset, Ordering::AcqRel);
    }

    /// Add the file that the writer needs next, from those made ahead or made now.
    pub(super) fn roll(&self, start: u64, buffer: Option<Arc<MmapRaw>>) -> Result<Arc<Segment>> {
        // Held to the end, so that the preparing thread never makes the same file.
        let mut ahead = self.ahead.lock();
        let made = match ahead.pop_front_if(|segment| segment.start() == start) {
            Some(segment) => Ok(segment),
            None => self.make_segment(start).map(Arc::new),
        };
        let segment = match (made, buffer, &self.pool) {
            (Ok(segment), Some(buffer), _) => {
                segment.attach_buffer(buffer);
                segment
            }
            (Err(error), Some(buffer), Some(pool)) => {
                pool.give_back(buffer);
                return Err(error);
            }
            (made, ..) => made?,
        };
        let mut segments = self.segments.write();
        if self.config.warm_up
            && let Some(last) = segments.back()
        {
            let _ = last.map().unlock(); // was locked at best effort
        }
        segments.push_back(segment.clone());
        Ok(segment)
    }

    fn make_segment(&self, start: u64) -> Result<Segment> {
        let began = std::time::Instant::now();
        let segment = Segment::create(&self.dir, start, self.file_bytes)?;
        // What is flushed to the file later must be found by its name after a power cut.
        let mut made = sync_directory(&self.dir);
        if self.config.warm_up {
            made = made.and_then(|()| self.warm_up(&segment));
        }
        if let Err(error) = made {
            let _ = segment.remove(); // the error that matters is the first one
            return Err(error);
        }
        let took = began.elapsed();
        if took.as_millis() > 10 {
            self.notes.say(
                Level::Info,
                format!("making log file {} took {} ms", file_name(start), took.as_millis()),
            );
        }
        Ok(segment)
    }

    /// Touch and lock every page of a new file, as `warmMapedFileEnable` asks.
    fn warm_up(&self, segment: &Segment) -> Result<()> {
        segment.ensure_allocated(segment.size(), self.pages_for(PREPARE_BYTES_MIN))?;
        let size = segment.size() as usize;
        let step = (self.config.warm_up_flush_pages.max(1) * 4096) as usize;
        for from in (0..size).step_by(step) {
            let to = size.min(from + step);
            segment.map().populate_write(from..to)?;
            if self.config.flush_mode == FlushMode::Sync {
                segment.map().sync(from..to)?;
            }
        }
        if let Err(error) = segment.map().lock() {
            self.notes.say(Level::Warning, format!("warm-up goes on without locking memory: {error}"));
        }
        Ok(())
    }

    /// A write buffer for the next file, when the pool is on and has one left.
    pub(super) fn lend_buffer(&self) -> Result<Option<Arc<MmapRaw>>> {
        let Some(pool) = &self.pool else { return Ok(None) };
        let Some(buffer) = pool.lend() else {
            if self.config.transient_pool.is_some_and(|pool| pool.fail_fast) {
                return Err(Error::Config("no buffer left in the transient store pool".into()));
            }
            self.notes
                .say(Level::Warning, "the transient store pool is empty; appends go straight to the map");
            return Ok(None);
        };
        Ok(Some(buffer))
    }

    /// Whether the writer has come close to the end of the prepared space.
    pub(super) fn wants_preparation(&self, written: u64) -> bool {
        written + PREPARE_BYTES_MIN / 2 > self.prepared.load(Ordering::Relaxed)
    }

    /// Make files, and `window` bytes of space, ahead of the writer. Returns when everything is there.
    pub fn prepare_ahead(&self, window: u64) -> Result<()> {
        self.make_files_ahead()?;
        loop {
            let written = self.written();
            let from = self.prepared.load(Ordering::Acquire).max(written);
            if from >= written + window {
                return Ok(());
            }
            let Some(segment) = self.segment_of(from).or_else(|| self.segment_ahead(from)) else {
                return Ok(());
            };
            let position = from - segment.start();
            let to = (position + PREPARE_STEP_BYTES).min(segment.size());
            let pages = self.pages_for(window);
            segment.ensure_allocated(to, pages)?;
            // What goes into a buffer first is written to the file: its pages in the map need not be there before.
            if segment.buffer().is_none() {
                let range = position as usize..to as usize;
                if pages == Pages::Single {
                    segment.map().keep_pages_small(range.clone());
                }
                segment.map().populate_write(range)?;
            }
            self.prepared.store(segment.start() + to, Ordering::Release);
        }
    }

    /// Space for a writer that is faster than those who prepare it.
    pub(super) fn ensure_space(&self, segment: &Segment, upto: u64) -> Result<()> {
        segment.ensure_allocated(upto, self.pages_for(PREPARE_BYTES_MAX))
    }

    /// How pages are made ahead of a writer that needs this much at a time. Who syncs each message writes all that
    /// are joined again and again, and so does a slow writer with the flush of every half second.
    fn pages_for(&self, window: u64) -> Pages {
        match self.config.flush_mode {
            _ if self.pool.is_some() => Pages::Single, // commits make them
            FlushMode::Sync => Pages::Single,
            FlushMode::Async if window > PREPARE_BYTES_MIN => Pages::Huge,
            FlushMode::Async => Pages::Joined,
        }
    }

    fn make_files_ahead(&self) -> Result<()> {
        let mut ahead = self.ahead.lock();
        while ahead.len() < FILES_AHEAD {
            let start = match ahead.back().or(self.segments.read().back()) {
                Some(last) => last.end(),
                None => return Ok(()),
            };
            let segment = self.make_segment(start)?;
            ahead.push_back(Arc::new(segment));
        }
        Ok(())
    }

    fn segment_ahead(&self, offset: u64) -> Option<Arc<Segment>> {
        self.ahead.lock().iter().find(|s| s.start() <= offset && offset < s.end()).cloned()
    }

    /// Remove the files made ahead; they hold nothing.
    pub fn discard_ahead(&self) {
        for segment in self.ahead.lock().drain(..) {
            if let Err(error) = segment.remove() {
                self.notes.say(Level::Warning, format!("an unused log file stays behind: {error}"));
            }
        }
    }

    /// Write what the transient buffers hold to the files. Returns whether anything moved.
    pub fn commit(&self, least_pages: u64) -> Result<bool> {
        let Some(pool) = &self.pool else { return Ok(false) };
        let _alone = pool.committing.lock();
        let mut moved = false;
        loop {
            let (from, written) = (self.committed.load(Ordering::Acquire), self.written());
            if from >= written {
                return Ok(moved);
            }
            let Some(segment) = self.segment_of(from) else { return Ok(moved) };
            let to = written.min(segment.end());
            let full = to == segment.end();
            if !full && to / 4096 - from / 4096 < least_pages {
                return Ok(moved);
            }
            if let Some(buffer) = segment.buffer() {
                let position = from - segment.start();
                // SAFETY: below the written offset the writer never touches the buffer again.
                let bytes = unsafe {
                    std::slice::from_raw_parts(buffer.as_ptr().add(position as usize), (to - from) as usize)
                };
                segment.commit(bytes, position)?;
            }
            self.committed.store(to, Ordering::Release);
            moved = true;
            if full && let Some(buffer) = segment.take_buffer() {
                pool.give_back(buffer);
            }
        }
    }

    /// Put everything readable on disk. Returns the store timestamp that is now safe, if anything moved.
    ///
    /// After an error nothing may be assumed of the pages: the kernel drops the error with the report, and a second
    /// sync would succeed without the data. So there is none in this run.
    pub fn flush(&self, least_pages: u64) -> Result<Option<i64>> {
        let _alone = self.flushing.lock();
        if self.has_flush_failed() {
            return Err(Error::Config(
                "an earlier sync of the log failed, so what is on disk is unknown; restart to recover".into(),
            ));
        }
        self.flush_alone(least_pages).inspect_err(|_| self.flush_failed.store(true, Ordering::Release))
    }

    /// Whether a sync failed. Nothing heals that but a restart.
    pub fn has_flush_failed(&self) -> bool {
        self.flush_failed.load(Ordering::Acquire)
    }

    fn flush_alone(&self, least_pages: u64) -> Result<Option<i64>> {
        let timestamp = self.last_timestamp();
        let target = self.readable();
        let mut from = self.flushed();
        if from >= target || (target / 4096 - from / 4096 < least_pages && !self.ends_file(target)) {
            return Ok(None);
        }
        while from < target {
            let Some(segment) = self.segment_of(from) else { break };
            let to = target.min(segment.end());
            segment
                .map()
                .sync((from - segment.start()) as usize..(to - segment.start()) as usize)
                .and_then(|()| segment.map().check())?;
            if to == segment.end() {
                segment.seal();
                segment.map().let_pages_join();
            }
            self.flushed.store(to, Ordering::Release);
            from = to;
        }
        Ok(Some(timestamp))
    }

    fn ends_file(&self, offset: u64) -> bool {
        offset.is_multiple_of(self.file_bytes)
    }

    /// Take the oldest file out of the log and delete it. `None` when it is the last one or in use.
    pub fn delete_first(&self, even_if_held: bool) -> Result<Option<PathBuf>> {
        let mut segments = self.segments.write();
        if segments.len() < 2 {
            return Ok(None);
        }
        let first = segments[0].clone();
        if first.end() > self.flushed() || (first.is_held() && !even_if_held) {
            return Ok(None);
        }
        first.remove()?;
        segments.pop_front();
        Ok(Some(first.path().to_path_buf()))
    }
}

fn load_segments(dir: &Path, file_bytes: u64, notes: &Notes) -> Result<VecDeque<Arc<Segment>>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(|source| Error::io("list", dir, source))? {
        let entry = entry.map_err(|source| Error::io("list", dir, source))?;
        let path = entry.path();
        let Some(start) = entry.file_name().to_str().and_then(parse_file_name) else {
            notes.say(Level::Warning, format!("{}: not a log file, left alone", path.display()));
            continue;
        };
        let size = entry.metadata().map_err(|source| Error::io("stat", &path, source))?.len();
        found.push((start, size, path));
    }
    found.sort();
    while let Some((_, 0, path)) = found.last() {
        fs::remove_file(path).map_err(|source| Error::io("delete", path, source))?;
        notes.say(Level::Warning, format!("{}: an empty last log file, removed", path.display()));
        found.pop();
    }
    let mut segments = VecDeque::with_capacity(found.len());
    let mut expected = None;
    for (start, size, path) in found {
        if size != file_bytes {
            return Err(Error::damaged(
                &path,
                format!(
                    "has {size} bytes, mappedFileSizeCommitLog says {file_bytes}: set the size this log was made with"
                ),
            ));
        }
        if start % file_bytes != 0 {
            return Err(Error::damaged(
                &path,
                format!("does not start at a multiple of mappedFileSizeCommitLog={file_bytes}"),
            ));
        }
        if let Some(expected) = expected
            && start != expected
        {
            return Err(Error::damaged(
                &dir.join(file_name(expected)),
                format!("is missing, though {} is there: bring it back before starting", path.display()),
            ));
        }
        expected = Some(start + size);
        segments.push_back(Arc::new(Segment::open(path, start, size)?));
    }
    Ok(segments)
}
