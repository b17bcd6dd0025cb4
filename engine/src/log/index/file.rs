//! One index file: a hash table over the mapped file, written by one thread and read by many.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64};

use super::layout::{HEADER_BYTES, Layout, SLOT_BYTES};
use crate::error::{Error, Result};
use crate::log::mapping::{Mapping, allocate};
use crate::log::prefetch::prefetch_line_to_write;

/// Disk space for entries is taken in steps of this size, ahead of use.
const ALLOCATION_STEP_BYTES: u64 = 4 << 20;

/// A mapped index file.
///
/// The header's values live in memory and are copied to the file with every put. All access to the mapped
/// bytes is by atomic words, so that a reader may run beside the writer.
#[derive(Debug)]
pub struct IndexFile {
    path: PathBuf,
    file: File,
    mapping: Mapping,
    layout: Layout,
    begin_timestamp: AtomicI64,
    end_timestamp: AtomicI64,
    begin_offset: AtomicI64,
    end_offset: AtomicI64,
    /// Slots in use.
    slot_count: AtomicU32,
    /// Number of the next entry; 1 in an empty file.
    entry_count: AtomicU32,
    /// Up to where the file has real disk space; the writer's own.
    allocated: AtomicU64,
    dirty: AtomicBool,
}

/// One entry as it lies in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub key_hash: i32,
    pub physical_offset: i64,
    /// Seconds since the file's begin time.
    pub seconds: i32,
    /// The entry before this one in its slot's chain, 0 for none.
    pub previous: u32,
}

impl IndexFile {
    /// Open a file of exactly the layout's size, with a header that fits the layout.
    pub fn open(path: &Path, layout: Layout) -> Result<Self> {
        let mut options = OpenOptions::new();
        let file =
            options.read(true).write(true).open(path).map_err(|source| Error::io("open", path, source))?;
        let index = Self::map(path, file, layout)?;
        index.mapping.check()?;
        let (entries, limit) = (index.entry_count(), layout.entries);
        if entries > limit {
            let what = format!("its header counts {entries} entries, but it only has room for {limit}");
            return Err(Error::damaged(path, what));
        }
        if !index.header_fits() {
            return Err(Error::damaged(path, "its header does not fit its entries"));
        }
        Ok(index)
    }

    /// Whether the header tells of the first and the last entry what they are.
    fn header_fits(&self) -> bool {
        let count = self.entry_count();
        if count <= 1 {
            return true;
        }
        let is_last = |number| {
            let entry = self.entry(number);
            self.end_offset() == entry.physical_offset
                // Java reckons the first entry's seconds from the file before.
                && (number == 1 || entry.seconds == self.seconds_at(self.end_timestamp()))
        };
        // A kill may come before the newest entry is counted.
        self.begin_offset() == self.entry(1).physical_offset
            && (is_last(count - 1) || (count < self.layout.entries && is_last(count)))
    }

    /// Make a new file that goes on where `previous` ends. The path must be free.
    pub fn create(path: &Path, layout: Layout, previous: Option<&Self>) -> Result<Self> {
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|source| Error::io("create", path, source))?;
        Self::fill(path, file, layout, previous).inspect_err(|_| {
            let _ = fs::remove_file(path);
        })
    }

    fn fill(path: &Path, file: File, layout: Layout, previous: Option<&Self>) -> Result<Self> {
        let slots_end = layout.entries_at();
        file.set_len(layout.bytes() as u64).map_err(|source| Error::io("resize", path, source))?;
        allocate(&file, 0, slots_end as u64).map_err(|source| Error::io("allocate", path, source))?;
        let index = Self::map(path, file, layout)?;
        index.mapping.populate_write(0..slots_end)?;
        index.allocated.store(slots_end as u64, Relaxed);
        if let Some(previous) = previous {
            let (timestamp, offset) = (previous.end_timestamp(), previous.end_offset());
            index.begin_timestamp.store(timestamp, Relaxed);
            index.end_timestamp.store(timestamp, Relaxed);
            index.begin_offset.store(offset, Relaxed);
            index.end_offset.store(offset, Relaxed);
            index.write_header();
        }
        Ok(index)
    }

    fn map(path: &Path, file: File, layout: Layout) -> Result<Self> {
        let mapping = Mapping::open(path, &file, layout.bytes() as u64, true)?;
        let index = Self {
            path: path.to_path_buf(),
            file,
            mapping,
            layout,
            begin_timestamp: AtomicI64::default(),
            end_timestamp: AtomicI64::default(),
            begin_offset: AtomicI64::default(),
            end_offset: AtomicI64::default(),
            slot_count: AtomicU32::default(),
            entry_count: AtomicU32::default(),
            allocated: AtomicU64::default(),
            dirty: AtomicBool::default(),
        };
        index.read_header();
        Ok(index)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    pub fn begin_timestamp(&self) -> i64 {
        self.begin_timestamp.load(Acquire)
    }

    pub fn end_timestamp(&self) -> i64 {
        self.end_timestamp.load(Acquire)
    }

    pub fn begin_offset(&self) -> i64 {
        self.begin_offset.load(Acquire)
    }

    pub fn end_offset(&self) -> i64 {
        self.end_offset.load(Acquire)
    }

    /// Number of the next entry; 1 in an empty file.
    pub fn entry_count(&self) -> u32 {
        self.entry_count.load(Acquire)
    }

    pub fn is_empty(&self) -> bool {
        self.entry_count() <= 1
    }

    pub fn is_full(&self) -> bool {
        self.entry_count() >= self.layout.entries
    }

    /// Whether the file may hold records stored in `times`.
    pub fn overlaps(&self, times: &RangeInclusive<i64>) -> bool {
        *times.start() <= self.end_timestamp() && *times.end() >= self.begin_timestamp()
    }

    /// Whether a slot points past the entries. The kernel writes pages in any order, so a power cut can
    /// leave newer slots than the header; such a slot has lost the chain that it had before.
    pub fn has_lost_chains(&self) -> bool {
        let count = self.entry_count();
        (HEADER_BYTES..self.layout.entries_at())
            .step_by(SLOT_BYTES)
            .any(|slot| u32::from_be(self.word(slot).load(Relaxed)) >= count)
    }

    /// Ask for the memory of a key's slot, and of the entry that will be `ahead` of the next one.
    #[inline]
    pub fn prefetch(&self, key_hash: i32, ahead: u32) {
        prefetch_line_to_write(self.word(self.layout.slot_at(key_hash)));
        let entry = self.layout.entry_at(self.entry_count.load(Relaxed) + ahead);
        prefetch_line_to_write(self.mapping.as_ptr().wrapping_add(entry));
    }

    /// Add an entry. Only one thread may call this at a time, and not when the file is full.
    ///
    /// A full disk is met before anything is written.
    pub fn put(&self, key_hash: i32, physical_offset: i64, store_timestamp: i64) -> Result<()> {
        let number = self.entry_count.load(Relaxed);
        if number >= self.layout.entries {
            return Err(Error::damaged(&self.path, "is full"));
        }
        self.reserve(self.layout.entry_at(number + 1) as u64)?;
        if number <= 1 {
            self.begin_timestamp.store(store_timestamp, Release);
            self.begin_offset.store(physical_offset, Release);
            self.write_header();
        }
        let slot = self.layout.slot_at(key_hash);
        let previous = self.chain_head(slot).filter(|head| *head < number).unwrap_or(0);
        let seconds = self.seconds_at(store_timestamp);
        self.write_entry(number, Entry { key_hash, physical_offset, seconds, previous });
        // A reader that sees the slot must see the entry.
        self.word(slot).store(number.to_be(), Release);
        if previous == 0 {
            // Nobody else writes, so it need not be one step.
            self.slot_count.store(self.slot_count.load(Relaxed) + 1, Relaxed);
        }
        self.entry_count.store(number + 1, Release);
        self.end_timestamp.store(store_timestamp, Release);
        self.end_offset.store(physical_offset, Release);
        self.write_header_end();
        self.mapping.check()
    }

    /// Add the log offsets of a key's records in `times` to `found`, newest first, up to `max` in all.
    ///
    /// Keys with the same hash cannot be told apart here. Entries keep whole seconds, so a record of up to
    /// one second before the range may be among them.
    pub fn find(
        &self,
        key_hash: i32,
        times: &RangeInclusive<i64>,
        max: usize,
        found: &mut Vec<i64>,
    ) -> Result<()> {
        let found_before = found.len();
        let mut next = self.chain_head(self.layout.slot_at(key_hash));
        while let Some(number) = next
            && found.len() < max
        {
            let entry = self.entry(number);
            if entry.seconds < 0 {
                break;
            }
            let time = self.begin_timestamp().saturating_add(i64::from(entry.seconds) * 1000);
            if time.saturating_add(999) < *times.start() {
                break;
            }
            if entry.key_hash == key_hash && time <= *times.end() && entry.physical_offset >= 0 {
                found.push(entry.physical_offset);
            }
            // Chains only lead to older entries. A damaged one that does not could be endless.
            next = (1..number).contains(&entry.previous).then_some(entry.previous);
        }
        self.mapping.check().inspect_err(|_| found.truncate(found_before))
    }

    /// Take back the entries at or past a log offset, newest first. False means that none would be left
    /// and the file should go. Only the writer may call this.
    pub fn truncate(&self, physical_limit: i64) -> Result<bool> {
        if self.begin_offset() >= physical_limit {
            return Ok(false);
        }
        let mut count = self.entry_count();
        while count > 1 {
            let last = self.entry(count - 1);
            if last.physical_offset < physical_limit {
                let time = self.begin_timestamp().saturating_add(i64::from(last.seconds) * 1000);
                // The milliseconds are lost. The later end is the safe one: queries still find the file.
                self.end_timestamp.fetch_min(time.saturating_add(999), Release);
                self.end_offset.store(last.physical_offset, Release);
                break;
            }
            count -= 1;
            let slot = self.word(self.layout.slot_at(last.key_hash));
            if u32::from_be(slot.load(Acquire)) == count {
                slot.store(last.previous.to_be(), Release);
                if last.previous == 0 {
                    self.slot_count.store(self.slot_count.load(Relaxed).saturating_sub(1), Relaxed);
                }
            }
            self.entry_count.store(count, Release);
        }
        self.write_header();
        self.mapping.check()?;
        Ok(count > 1)
    }

    /// Take the entry back that a killed process had chained, but not yet counted.
    pub fn take_back_uncounted(&self) {
        let number = self.entry_count();
        if number >= self.layout.entries {
            return;
        }
        let entry = self.entry(number);
        let slot = self.word(self.layout.slot_at(entry.key_hash));
        if u32::from_be(slot.load(Acquire)) == number {
            let previous = if entry.previous < number { entry.previous } else { 0 };
            slot.store(previous.to_be(), Release);
        }
    }

    /// Have the next flush sync the file, whatever was put since it was opened.
    pub fn doubt(&self) {
        self.dirty.store(true, Release);
    }

    /// Wait until everything put so far is on disk; nothing happens if it is.
    pub fn flush(&self) -> Result<()> {
        if self.dirty.swap(false, Acquire) {
            let synced = self.file.sync_data().map_err(|source| Error::io("sync", &self.path, source));
            synced.and_then(|()| self.mapping.check()).inspect_err(|_| self.dirty.store(true, Release))?;
        }
        Ok(())
    }

    /// Unlink the file; readers that hold it may go on.
    pub fn remove(&self) -> Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            other => other.map_err(|source| Error::io("remove", &self.path, source)),
        }
    }

    /// The newest entry of a slot's chain; like Java, a number past the count is taken for an empty slot.
    fn chain_head(&self, slot: usize) -> Option<u32> {
        // In this order: the writer counts an entry after it put it into the slot, so the count read second
        // is at least the number of an entry that is just being added.
        let number = u32::from_be(self.word(slot).load(Acquire));
        (number != 0 && number <= self.entry_count() && number < self.layout.entries).then_some(number)
    }

    fn seconds_at(&self, store_timestamp: i64) -> i32 {
        let begin = self.begin_timestamp.load(Relaxed);
        if begin <= 0 {
            return 0;
        }
        (store_timestamp.saturating_sub(begin) / 1000).clamp(0, i64::from(i32::MAX)) as i32
    }

    /// Make sure that the file has disk space up to `end`, since a full disk cannot be met later: a store
    /// to a mapped hole has no way to fail.
    fn reserve(&self, end: u64) -> Result<()> {
        let allocated = self.allocated.load(Relaxed);
        if end <= allocated {
            return Ok(());
        }
        let target = (end + ALLOCATION_STEP_BYTES).min(self.layout.bytes() as u64);
        allocate(&self.file, allocated, target - allocated)
            .map_err(|source| Error::io("allocate", &self.path, source))?;
        self.mapping.populate_write(end as usize..target as usize)?;
        self.allocated.store(target, Relaxed);
        Ok(())
    }

    fn entry(&self, number: u32) -> Entry {
        let at = self.layout.entry_at(number);
        let word = |index: usize| u32::from_be(self.word(at + 4 * index).load(Relaxed));
        Entry {
            key_hash: word(0) as i32,
            physical_offset: join(word(1), word(2)),
            seconds: word(3) as i32,
            previous: word(4),
        }
    }

    fn write_entry(&self, number: u32, entry: Entry) {
        let [high, low] = split(entry.physical_offset);
        let words = [entry.key_hash as u32, high, low, entry.seconds as u32, entry.previous];
        self.write_words(self.layout.entry_at(number), &words);
    }

    fn read_header(&self) {
        let word = |index: usize| u32::from_be(self.word(4 * index).load(Relaxed));
        self.begin_timestamp.store(join(word(0), word(1)), Relaxed);
        self.end_timestamp.store(join(word(2), word(3)), Relaxed);
        self.begin_offset.store(join(word(4), word(5)), Relaxed);
        self.end_offset.store(join(word(6), word(7)), Relaxed);
        self.slot_count.store(word(8), Relaxed);
        self.entry_count.store(word(9).max(1), Relaxed);
    }

    fn write_header(&self) {
        self.write_words(0, &split(self.begin_timestamp.load(Relaxed)));
        self.write_words(16, &split(self.begin_offset.load(Relaxed)));
        self.write_header_end();
    }

    /// Write what changes with every entry.
    fn write_header_end(&self) {
        let [high, low] = split(self.end_offset.load(Relaxed));
        let counts = [self.slot_count.load(Relaxed), self.entry_count.load(Relaxed)];
        self.write_words(8, &split(self.end_timestamp.load(Relaxed)));
        self.write_words(24, &[high, low, counts[0], counts[1]]);
        self.dirty.store(true, Release);
    }

    #[inline]
    fn write_words<const COUNT: usize>(&self, at: usize, words: &[u32; COUNT]) {
        for (place, word) in self.words::<COUNT>(at).iter().zip(words) {
            place.store(word.to_be(), Relaxed);
        }
    }

    /// Four mapped bytes, big-endian, at a multiple of four.
    #[inline]
    fn word(&self, at: usize) -> &AtomicU32 {
        let [word] = self.words(at);
        word
    }

    /// Some of them, one after another.
    #[inline]
    fn words<const COUNT: usize>(&self, at: usize) -> &[AtomicU32; COUNT] {
        let inside = at.is_multiple_of(4) && at + 4 * COUNT <= self.mapping.len();
        assert!(inside, "{at} is outside the index file");
        // SAFETY: inside the mapping, which starts on a page; all access to it is by such words.
        #[allow(clippy::cast_ptr_alignment)]
        unsafe {
            &*self.mapping.as_ptr().add(at).cast()
        }
    }
}

fn split(value: i64) -> [u32; 2] {
    [(value >> 32) as u32, value as u32]
}

fn join(high: u32, low: u32) -> i64 {
    (i64::from(high) << 32) | i64::from(low)
}
