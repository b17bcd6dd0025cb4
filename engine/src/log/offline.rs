//! The commit log of a directory, read without a store: no lock, no writes, files of any size.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::mapping::Mapping;
use crate::error::{Error, Result};
use crate::message::layout::MAGIC_AT;
use crate::message::{Found, PropertyCrc, Record, Version, look};

/// Files kept mapped between two calls. Records handed out keep theirs mapped by themselves.
const MAPPED_MAX: usize = 8;
const NAME_DIGITS: usize = 20;

/// A record and the mapping it lies in.
#[derive(Clone, Debug)]
pub struct Located {
    pub physical_offset: u64,
    pub mapping: Arc<Mapping>,
    /// Where the record lies in the mapping.
    pub range: Range<usize>,
}

/// A record that a walk comes by.
#[derive(Debug)]
pub struct Walked<'a> {
    pub record: Record<'a>,
    pub physical_offset: u64,
    pub mapping: &'a Arc<Mapping>,
    /// Where the record lies in the mapping.
    pub at: usize,
}

/// What is to follow a record.
#[derive(Debug)]
pub enum Step {
    On,
    /// The walk ends before the record.
    Stop,
    /// As [`Step::Stop`]: the record is damaged.
    Damaged(String),
}

/// Where a walk ended.
#[derive(Debug)]
pub struct WalkEnd {
    /// Where to go on, or where the damage stands.
    pub next: u64,
    pub damage: Option<String>,
}

/// What one step of a scan found.
#[derive(Debug)]
pub struct Scan {
    pub records: Vec<Located>,
    /// Where to go on, or where the damage stands.
    pub next: u64,
    pub damage: Option<String>,
}

#[derive(Clone, Debug)]
pub struct OfflineFile {
    pub start: u64,
    pub size: u64,
    pub path: PathBuf,
}

impl OfflineFile {
    fn end(&self) -> u64 {
        self.start + self.size
    }
}

#[derive(Debug)]
pub struct OfflineLog {
    files: Vec<OfflineFile>,
    mapped: Mutex<VecDeque<(usize, Arc<Mapping>)>>,
}

impl OfflineLog {
    /// Lists the log files below `path`: a store directory, or its `commitlog` folder.
    /// Names that are not 20 digits, and empty files, are not the log's.
    pub fn open(path: &Path) -> Result<Self> {
        let inner = path.join("commitlog");
        let folder = if inner.is_dir() { inner } else { path.to_path_buf() };
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder).map_err(|source| Error::io("list", &folder, source))? {
            let path = entry.map_err(|source| Error::io("list", &folder, source))?.path();
            let Some(start) = start_of(&path) else { continue };
            let about = fs::metadata(&path).map_err(|source| Error::io("look at", &path, source))?;
            if about.is_file() && about.len() > 0 && start.checked_add(about.len()).is_some() {
                files.push(OfflineFile { start, size: about.len(), path });
            }
        }
        files.sort_by_key(|file| file.start);
        Ok(Self { files, mapped: Mutex::new(VecDeque::new()) })
    }

    pub fn files(&self) -> &[OfflineFile] {
        &self.files
    }

    /// Where the first file starts; 0 without files.
    pub fn min_offset(&self) -> u64 {
        self.files.first().map_or(0, |file| file.start)
    }

    pub fn end_of_files(&self) -> u64 {
        self.files.last().map_or(0, OfflineFile::end)
    }

    /// Reads up to `limit` records from `offset` on. No record and no damage: the end of the data.
    pub fn scan(&self, offset: u64, limit: usize) -> Result<Scan> {
        let mut records = Vec::new();
        let end = self.walk(offset, |found| {
            if records.len() == limit {
                return Step::Stop;
            }
            if let Some(what) = flaw(&found.record, found.physical_offset) {
                return Step::Damaged(what);
            }
            let range = found.at..found.at + found.record.size();
            let (physical_offset, mapping) = (found.physical_offset, Arc::clone(found.mapping));
            records.push(Located { physical_offset, mapping, range });
            Step::On
        })?;
        Ok(Scan { records, next: end.next, damage: end.damage })
    }

    /// Shows the records from `offset` on, in order. Of what they hold only the lengths are checked.
    pub fn walk(&self, offset: u64, mut visit: impl FnMut(Walked<'_>) -> Step) -> Result<WalkEnd> {
        let mut end = WalkEnd { next: offset, damage: None };
        loop {
            let Some(index) = self.index_of(end.next) else {
                if end.next != self.end_of_files() {
                    end.damage = Some("no file holds this offset".to_owned());
                }
                return Ok(end);
            };
            if !self.walk_file(index, &mut visit, &mut end)? {
                return Ok(end);
            }
        }
    }

    /// Goes on inside one file; true at its end, when `next` is the start of what follows.
    fn walk_file(
        &self,
        index: usize,
        visit: &mut impl FnMut(Walked<'_>) -> Step,
        end: &mut WalkEnd,
    ) -> Result<bool> {
        let file = &self.files[index];
        let mapping = &self.mapping(index)?;
        while end.next < file.end() {
            let at = (end.next - file.start) as usize;
            // SAFETY: nobody in this process writes to the mapping. Another process may append, behind what it
            // has completed; a half-written record fails its checks below.
            let bytes = unsafe { mapping.bytes(at..mapping.len()) };
            match look(bytes) {
                Ok(Found::Record(record)) => {
                    match visit(Walked { record, physical_offset: end.next, mapping, at }) {
                        Step::On => end.next += record.size() as u64,
                        Step::Stop => break,
                        Step::Damaged(what) => {
                            end.damage = Some(what);
                            break;
                        }
                    }
                }
                Ok(Found::Blank { size }) if size == bytes.len() => end.next = file.end(),
                Ok(Found::Blank { size }) => {
                    let left = bytes.len();
                    end.damage =
                        Some(format!("an end mark over {size} bytes, but {left} are left in the file"));
                    break;
                }
                Ok(Found::Nothing) => {
                    // Files made ahead of need are empty; one with records behind a gap means that some are lost.
                    if self.first_record_from(index + 1)?.is_some() {
                        end.damage =
                            Some("nothing is written here, but the log goes on in a later file".to_owned());
                    }
                    break;
                }
                Err(bad) => {
                    end.damage = Some(bad.to_string());
                    break;
                }
            }
        }
        mapping.check()?;
        Ok(end.next == file.end())
    }

    /// The first intact record behind `offset`.
    pub fn next_record(&self, offset: u64) -> Result<Option<u64>> {
        let from = offset.saturating_add(1);
        for (index, file) in self.files.iter().enumerate().filter(|(_, file)| file.end() > from) {
            let mapping = self.mapping(index)?;
            // SAFETY: as in `scan_file`.
            let bytes = unsafe { mapping.bytes(0..mapping.len()) };
            let mut at = from.saturating_sub(file.start) as usize;
            while let Some(candidate) = next_magic(bytes, at) {
                let position = file.start + candidate as u64;
                if Record::parse(&bytes[candidate..]).is_ok_and(|record| flaw(&record, position).is_none()) {
                    mapping.check()?;
                    return Ok(Some(position));
                }
                at = candidate + 1;
            }
        }
        Ok(None)
    }

    /// The intact record that starts at `offset`.
    pub fn record_at(&self, offset: u64) -> Result<Option<Located>> {
        let Some(index) = self.index_of(offset) else { return Ok(None) };
        let mapping = self.mapping(index)?;
        let at = (offset - self.files[index].start) as usize;
        // SAFETY: as in `scan_file`.
        let bytes = unsafe { mapping.bytes(at..mapping.len()) };
        let size = match look(bytes) {
            Ok(Found::Record(record)) if flaw(&record, offset).is_none() => record.size(),
            _ => return Ok(None),
        };
        mapping.check()?;
        Ok(Some(Located { physical_offset: offset, mapping, range: at..at + size }))
    }

    /// The first file from `index` on that begins with a record.
    fn first_record_from(&self, index: usize) -> Result<Option<usize>> {
        for later in index..self.files.len() {
            if self.record_at(self.files[later].start)?.is_some() {
                return Ok(Some(later));
            }
        }
        Ok(None)
    }

    fn index_of(&self, offset: u64) -> Option<usize> {
        let index = self.files.partition_point(|file| file.start <= offset).checked_sub(1)?;
        (offset < self.files[index].end()).then_some(index)
    }

    fn mapping(&self, index: usize) -> Result<Arc<Mapping>> {
        let mut mapped = self.mapped.lock();
        if let Some((_, mapping)) = mapped.iter().find(|(at, _)| *at == index) {
            return Ok(Arc::clone(mapping));
        }
        let OfflineFile { path, size, .. } = &self.files[index];
        let file = File::open(path).map_err(|source| Error::io("open", path, source))?;
        let mapping = Arc::new(Mapping::open(path, &file, *size, false)?);
        if mapped.len() == MAPPED_MAX {
            mapped.pop_front();
        }
        mapped.push_back((index, Arc::clone(&mapping)));
        Ok(mapping)
    }
}

/// The offset a file's name states.
fn start_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let digits = name.len() == NAME_DIGITS && name.bytes().all(|byte| byte.is_ascii_digit());
    // An offset is a signed 64-bit number in the records.
    name.parse().ok().filter(|&start| digits && i64::try_from(start).is_ok())
}

/// What is wrong with a record whose lengths add up.
pub(super) fn flaw(record: &Record<'_>, position: u64) -> Option<String> {
    if u64::try_from(record.physical_offset()) != Ok(position) {
        return Some(format!("the record states offset {}", record.physical_offset()));
    }
    // A record without a checksum (0) comes from writers that leave it out; Java's recovery refuses it too.
    if !record.body_is_intact() {
        return Some("the body does not match its checksum".to_owned());
    }
    (record.property_crc_state() == PropertyCrc::Broken)
        .then(|| "the record does not match the checksum at its end".to_owned())
}

/// The next position at or after `from` where a record's magic stands in its place.
fn next_magic(bytes: &[u8], from: usize) -> Option<usize> {
    let first = Version::V1.magic().to_be_bytes()[0];
    let mut at = from.checked_add(MAGIC_AT)?;
    loop {
        at += bytes.get(at..)?.iter().position(|&byte| byte == first)?;
        let magic = bytes.get(at..)?.first_chunk().map(|magic| u32::from_be_bytes(*magic))?;
        if Version::of_magic(magic).is_some() {
            return Some(at - MAGIC_AT);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::message::blank_head;
    use crate::message::samples::{encoded, plain, stamp, usual};

    const FILE_BYTES: usize = 1024;

    /// Two files: five records and an end mark, then two records and an unused rest.
    fn sample() -> (TempDir, Vec<u64>) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("commitlog");
        fs::create_dir(&folder).unwrap();
        let mut offsets = Vec::new();
        for (file, count) in [(0, 5), (FILE_BYTES, 2)] {
            let mut bytes = Vec::new();
            for _ in 0..count {
                let draft = plain(b"T", b"hello");
                let offset = (file + bytes.len()) as u64;
                let at = stamp(offsets.len() as i64, offset as i64, 7);
                bytes.extend(encoded(&draft, usual(&draft), at));
                offsets.push(offset);
            }
            if file == 0 {
                bytes.extend(blank_head(FILE_BYTES - bytes.len()).unwrap());
            }
            bytes.resize(FILE_BYTES, 0);
            fs::write(folder.join(format!("{file:020}")), bytes).unwrap();
        }
        fs::write(folder.join("notes.txt"), "foreign").unwrap();
        (root, offsets)
    }

    fn flip(root: &TempDir, file: usize, at: u64) {
        let path = root.path().join(format!("commitlog/{file:020}"));
        let mut bytes = fs::read(&path).unwrap();
        bytes[at as usize] ^= 0xFF;
        fs::write(path, bytes).unwrap();
    }

    fn offsets_of(scan: &Scan) -> Vec<u64> {
        scan.records.iter().map(|record| record.physical_offset).collect()
    }

    #[test]
    fn a_scan_crosses_files_and_ends_quietly_where_nothing_is_written() {
        let (root, offsets) = sample();
        let log = OfflineLog::open(root.path()).unwrap();
        let scan = log.scan(0, 100).unwrap();
        assert_eq!(offsets_of(&scan), offsets);
        assert_eq!(scan.damage, None);
        let rest = log.scan(scan.next, 100).unwrap();
        assert!(rest.records.is_empty() && rest.damage.is_none());
        assert_eq!((log.min_offset(), log.end_of_files()), (0, 2 * FILE_BYTES as u64));
    }

    #[test]
    fn a_scan_goes_on_where_its_limit_ended_it() {
        let (root, offsets) = sample();
        let log = OfflineLog::open(&root.path().join("commitlog")).unwrap();
        let (mut next, mut seen) = (0, Vec::new());
        loop {
            let scan = log.scan(next, 2).unwrap();
            if scan.records.is_empty() {
                break;
            }
            seen.extend(offsets_of(&scan));
            next = scan.next;
        }
        assert_eq!(seen, offsets);
    }

    #[test]
    fn a_flipped_body_is_named_and_the_scan_goes_on_behind_it() {
        let (root, offsets) = sample();
        flip(&root, 0, offsets[2] + 88);
        let log = OfflineLog::open(root.path()).unwrap();
        let scan = log.scan(0, 100).unwrap();
        assert_eq!(offsets_of(&scan), offsets[..2]);
        assert_eq!(scan.next, offsets[2]);
        assert!(scan.damage.unwrap().contains("checksum"));
        assert_eq!(log.next_record(scan.next).unwrap(), Some(offsets[3]));
        assert!(log.record_at(offsets[2]).unwrap().is_none());
        assert!(log.record_at(offsets[3]).unwrap().is_some());
        assert!(log.record_at(offsets[3] + 1).unwrap().is_none());
    }

    #[test]
    fn every_flipped_byte_of_a_record_head_is_survived() {
        let (root, offsets) = sample();
        for at in 0..8 {
            flip(&root, 0, offsets[1] + at);
            let log = OfflineLog::open(root.path()).unwrap();
            let scan = log.scan(0, 100).unwrap();
            assert!(scan.damage.is_some(), "byte {at}");
            assert_eq!((scan.next, log.next_record(scan.next).unwrap()), (offsets[1], Some(offsets[2])));
            flip(&root, 0, offsets[1] + at);
        }
    }

    #[test]
    fn a_missing_middle_file_is_damage() {
        let (root, offsets) = sample();
        let folder = root.path().join("commitlog");
        fs::rename(folder.join(format!("{FILE_BYTES:020}")), folder.join(format!("{:020}", 4 * FILE_BYTES)))
            .unwrap();
        let log = OfflineLog::open(root.path()).unwrap();
        let scan = log.scan(0, 100).unwrap();
        assert_eq!(offsets_of(&scan), offsets[..5]);
        assert_eq!(scan.next, FILE_BYTES as u64);
        assert!(scan.damage.unwrap().contains("no file"));
    }

    #[test]
    fn an_empty_folder_is_an_empty_log_and_a_missing_one_an_error() {
        let root = tempfile::tempdir().unwrap();
        let log = OfflineLog::open(root.path()).unwrap();
        let scan = log.scan(0, 10).unwrap();
        assert!(scan.records.is_empty() && scan.damage.is_none() && log.files().is_empty());
        assert!(OfflineLog::open(&root.path().join("none")).is_err());
    }
}
