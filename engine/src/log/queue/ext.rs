//! The extension of a consume queue: a tag, a store time and a filter bitmap per message, for queues
//! whose units cannot hold them. The unit's tags code is then an address in here.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cache::FileCache;
use super::tape::{TAIL_BYTES, Tape};
use crate::error::{Error, Result};
use crate::log::notes::{Level, Notes};

pub const EXT_FILE_BYTES: u64 = 48 << 20;

/// Size, tags code, store time, bitmap length.
const HEADER_BYTES: usize = 2 + 8 + 8 + 2;
const UNIT_BYTES_MAX: usize = i16::MAX as usize;
/// Kept free behind the last unit of a file, for the mark that ends it.
const END_BYTES: u64 = 4;
const END_MARK: i16 = -1;

/// Above this, a tags code is a tag's hash, which has 32 bits.
const ADDRESS_MAX: i64 = i32::MIN as i64 - 1;
const POSITION_MAX: u64 = ADDRESS_MAX.wrapping_sub(i64::MIN) as u64;

/// Whether a unit's tags code is an address in the extension.
pub fn is_ext_address(tags_code: i64) -> bool {
    tags_code <= ADDRESS_MAX
}

fn address_of(position: u64) -> i64 {
    (position as i64).wrapping_add(i64::MIN)
}

fn position_of(address: i64) -> Option<u64> {
    is_ext_address(address).then(|| address.wrapping_sub(i64::MIN) as u64)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtUnit<'a> {
    pub tags_code: i64,
    pub store_time: i64,
    pub bitmap: Cow<'a, [u8]>,
}

impl ExtUnit<'_> {
    fn byte_count(&self) -> usize {
        HEADER_BYTES + self.bitmap.len()
    }

    /// The caller has checked that the size fits.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.byte_count());
        bytes.extend_from_slice(&(self.byte_count() as i16).to_be_bytes());
        bytes.extend_from_slice(&self.tags_code.to_be_bytes());
        bytes.extend_from_slice(&self.store_time.to_be_bytes());
        bytes.extend_from_slice(&(self.bitmap.len() as i16).to_be_bytes());
        bytes.extend_from_slice(&self.bitmap);
        bytes
    }
}

/// The extension of one queue. One thread puts, one writes out, any number read.
#[derive(Debug)]
pub struct ConsumeQueueExt {
    tape: Tape,
    notes: Arc<Notes>,
}

impl ConsumeQueueExt {
    /// Opens the extension in `dir`, which need not exist yet, and finds its end.
    pub fn open(dir: PathBuf, file_bytes: u64, files: Arc<FileCache>, notes: Arc<Notes>) -> Result<Self> {
        if file_bytes <= HEADER_BYTES as u64 + END_BYTES {
            return Err(Error::Config(format!("an extension file of {file_bytes} bytes holds no unit")));
        }
        let ext = Self { tape: Tape::open(dir, file_bytes, files, &notes)?, notes };
        ext.find_end()?;
        Ok(ext)
    }

    /// Ends the data after the last unit of the last file that has one.
    fn find_end(&self) -> Result<()> {
        let files = self.tape.files();
        let mut file_start = files.end;
        let (mut end, mut dirty_end) = (files.start, files.start);
        while file_start > files.start && end == files.start {
            file_start -= self.tape.file_bytes();
            dirty_end = self.tape.data_end(file_start)?;
            let found = self.scan(file_start)?;
            if found > file_start {
                end = found;
            }
        }
        self.tape.settle(end, dirty_end)
    }

    /// Steps over the units of one file, to where the next one goes.
    fn scan(&self, file_start: u64) -> Result<u64> {
        let file_end = file_start + self.tape.file_bytes();
        let mut block = vec![0; TAIL_BYTES.min(self.tape.file_bytes() as usize)];
        let mut block_start = file_start;
        let mut found = 0;
        let mut at = file_start;
        loop {
            if at + 2 > block_start + found as u64 {
                let wanted = block.len().min((file_end - at) as usize);
                block_start = at;
                found = self.tape.read_at(at, &mut block[..wanted])?;
            }
            let index = (at - block_start) as usize;
            let Some(&[high, low]) = block[..found].get(index..index + 2) else { return Ok(at) };
            let size = i16::from_be_bytes([high, low]);
            if size == END_MARK {
                return Ok(file_end);
            }
            let fits = usize::try_from(size).is_ok_and(|size| size >= HEADER_BYTES)
                && at + size as u64 + END_BYTES <= file_end;
            if !fits {
                return Ok(at);
            }
            at += size as u64;
        }
    }

    /// Adds a unit and returns its address, or none when the unit or the extension is too large for one.
    pub fn put(&self, unit: &ExtUnit) -> Result<Option<i64>> {
        let size = unit.byte_count();
        let needed = size as u64 + END_BYTES;
        let end = self.tape.end();
        if size > UNIT_BYTES_MAX || needed > self.tape.file_bytes() || end + size as u64 > POSITION_MAX {
            return Ok(None);
        }
        let room = self.tape.file_bytes() - end % self.tape.file_bytes();
        if needed > room {
            let mut rest = END_MARK.to_be_bytes().to_vec();
            rest.resize(room as usize, 0);
            self.tape.append(&rest)?;
        }
        self.tape.append(&unit.encode()).map(|position| Some(address_of(position)))
    }

    /// The unit at an address; none when nothing whole is there.
    pub fn get(&self, address: i64) -> Result<Option<ExtUnit<'static>>> {
        let Some(position) = position_of(address) else { return Ok(None) };
        let mut header = [0; HEADER_BYTES];
        if position >= self.tape.end() || self.tape.read_at(position, &mut header)? < HEADER_BYTES {
            return Ok(None);
        }
        let [s0, s1, tag @ .., b0, b1] = header;
        let (tag, time) = tag.split_at(8);
        let (Ok(size), Ok(bitmap_bytes)) =
            (usize::try_from(i16::from_be_bytes([s0, s1])), usize::try_from(i16::from_be_bytes([b0, b1])))
        else {
            return Ok(None);
        };
        if size != HEADER_BYTES + bitmap_bytes {
            return Ok(None);
        }
        let mut bitmap = vec![0; bitmap_bytes];
        if self.tape.read_at(position + HEADER_BYTES as u64, &mut bitmap)? < bitmap_bytes {
            return Ok(None);
        }
        let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | i64::from(*byte));
        Ok(Some(ExtUnit { tags_code: number(tag), store_time: number(time), bitmap: bitmap.into() }))
    }

    /// The address the next unit gets, unless it no longer fits into its file.
    pub fn max_address(&self) -> i64 {
        address_of(self.tape.end())
    }

    /// Deletes the files that lie wholly before an address. The last file stays.
    pub fn truncate_min(&self, min_address: i64) -> Result<()> {
        let Some(position) = position_of(min_address) else { return Ok(()) };
        while self.tape.files().start + self.tape.file_bytes() <= position {
            if !self.tape.delete_first_file()? {
                break;
            }
        }
        Ok(())
    }

    /// Drops the units after the one at an address. Nobody may put meanwhile.
    pub fn truncate_max(&self, max_address: i64) -> Result<()> {
        let Some(position) = position_of(max_address) else { return Ok(()) };
        if let Some(unit) = self.get(max_address)? {
            return self.tape.truncate(position + unit.byte_count() as u64);
        }
        let what = format!("{}: no unit at {position} to end with", self.tape.dir().display());
        self.notes.say(Level::Warning, what);
        Ok(())
    }

    /// Writes what is in memory into its files and says whether there was any.
    pub fn write_out(&self) -> Result<bool> {
        self.tape.write_out()
    }

    pub fn dir(&self) -> &Path {
        self.tape.dir()
    }

    pub fn unsynced_bytes(&self) -> u64 {
        self.tape.unsynced_bytes()
    }

    pub fn assume_synced(&self) {
        self.tape.assume_synced();
    }

    pub fn unwritten_bytes(&self) -> u64 {
        self.tape.unwritten_bytes()
    }

    /// Writes out and waits until everything is on the disk.
    pub fn sync_written(&self) -> Result<()> {
        self.tape.sync_written()
    }

    /// Deletes the files and the directory, and leaves the extension empty. Nobody may put meanwhile.
    pub fn destroy(&self) -> Result<()> {
        self.tape.destroy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn open(dir: &Path, file_bytes: u64) -> ConsumeQueueExt {
        ConsumeQueueExt::open(dir.join("ext"), file_bytes, Arc::default(), Arc::default()).unwrap()
    }

    fn unit(n: i64, bitmap_bytes: usize) -> ExtUnit<'static> {
        ExtUnit { tags_code: n, store_time: -n, bitmap: vec![n as u8; bitmap_bytes].into() }
    }

    // shows: CQ-10
    #[test]
    fn an_address_is_the_position_from_the_smallest_number_on() {
        let dir = tempfile::tempdir().unwrap();
        let ext = open(dir.path(), 1000);
        assert_eq!(ext.put(&unit(1, 4)).unwrap(), Some(i64::MIN));
        assert_eq!(ext.put(&unit(2, 0)).unwrap(), Some(i64::MIN + 24));
        assert!(is_ext_address(-2_147_483_649) && !is_ext_address(-2_147_483_648) && !is_ext_address(7));
        ext.write_out().unwrap();
        let bytes = fs::read(dir.path().join("ext/00000000000000000000")).unwrap();
        assert_eq!(bytes.len(), 1000);
        let first = [0, 24, 0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255, 255, 255, 255, 255, 0, 4, 1, 1, 1, 1];
        assert_eq!(bytes[..24], first);
        assert_eq!(bytes[24..26], [0, 20]);
    }

    #[test]
    fn a_unit_that_does_not_fit_ends_the_file_with_a_mark() {
        let dir = tempfile::tempdir().unwrap();
        let ext = open(dir.path(), 100);
        let addresses: Vec<_> = (0..9).map(|n| ext.put(&unit(n, 10)).unwrap().unwrap()).collect();
        assert_eq!(addresses[3], i64::MIN + 100);
        ext.write_out().unwrap();
        ext.sync_written().unwrap();
        let bytes = fs::read(dir.path().join("ext/00000000000000000000")).unwrap();
        assert_eq!(bytes[90..], [255, 255, 0, 0, 0, 0, 0, 0, 0, 0]);
        for ext in [&ext, &open(dir.path(), 100)] {
            for (n, address) in addresses.iter().enumerate() {
                assert_eq!(ext.get(*address).unwrap(), Some(unit(n as i64, 10)));
            }
            assert_eq!(ext.max_address(), i64::MIN + 290);
            assert_eq!(ext.get(ext.max_address()).unwrap(), None);
        }
    }

    #[test]
    fn a_unit_over_the_largest_size_gets_no_address() {
        let dir = tempfile::tempdir().unwrap();
        let ext = open(dir.path(), EXT_FILE_BYTES);
        assert_eq!(ext.put(&unit(1, 32_748)).unwrap(), None);
        let largest = ext.put(&unit(1, 32_747)).unwrap().unwrap();
        assert_eq!(ext.get(largest).unwrap(), Some(unit(1, 32_747)));
        let small = open(&dir.path().join("small"), 50);
        assert_eq!(small.put(&unit(1, 30)).unwrap(), None);
    }

    #[test]
    fn a_reopened_extension_goes_on_after_its_last_unit() {
        let dir = tempfile::tempdir().unwrap();
        let ext = open(dir.path(), 200_000);
        let addresses: Vec<_> = (0..9000).map(|n| ext.put(&unit(n, 30)).unwrap().unwrap()).collect();
        ext.write_out().unwrap();
        let end = ext.max_address();
        let again = open(dir.path(), 200_000);
        assert_eq!(again.max_address(), end);
        assert_eq!(again.put(&unit(1, 30)).unwrap(), Some(end));
        assert_eq!(again.get(addresses[8999]).unwrap(), Some(unit(8999, 30)));
    }

    #[test]
    fn truncation_drops_units_behind_and_files_before() {
        let dir = tempfile::tempdir().unwrap();
        let ext = open(dir.path(), 100);
        let addresses: Vec<_> = (0..12).map(|n| ext.put(&unit(n, 10)).unwrap().unwrap()).collect();
        ext.write_out().unwrap();
        ext.truncate_max(addresses[7]).unwrap();
        ext.truncate_min(addresses[4]).unwrap();
        for ext in [&ext, &open(dir.path(), 100)] {
            assert_eq!(ext.get(addresses[2]).unwrap(), None);
            assert_eq!(ext.get(addresses[3]).unwrap(), Some(unit(3, 10)));
            assert_eq!(ext.get(addresses[7]).unwrap(), Some(unit(7, 10)));
            assert_eq!(ext.get(addresses[8]).unwrap(), None);
            assert_eq!(ext.max_address(), addresses[8]);
        }
        ext.destroy().unwrap();
        assert!(!dir.path().join("ext").exists());
        assert_eq!(ext.put(&unit(1, 1)).unwrap(), Some(i64::MIN));
    }

    #[test]
    fn garbage_is_no_unit() {
        let dir = tempfile::tempdir().unwrap();
        let ext = open(dir.path(), 1000);
        let good = ext.put(&unit(1, 10)).unwrap().unwrap();
        ext.write_out().unwrap();
        let path = dir.path().join("ext/00000000000000000000");
        let mut bytes = fs::read(&path).unwrap();
        bytes[30..].fill(0xfe);
        fs::write(&path, bytes).unwrap();
        let again = open(dir.path(), 1000);
        assert_eq!(again.max_address(), i64::MIN + 30);
        assert_eq!(again.get(good).unwrap(), Some(unit(1, 10)));
        assert_eq!(again.get(good + 5).unwrap(), None);
        assert!(fs::read(&path).unwrap()[30..].iter().all(|byte| *byte == 0));
        assert_eq!(again.get(7).unwrap(), None);
    }
}
