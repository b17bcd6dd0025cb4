//! One file of the commit log.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::MmapRaw;
use parking_lot::Mutex;

use super::mapping::{Mapping, allocate, last_extent_end};
use crate::error::{Error, Result};

/// Space is made real in steps of this size.
const ALLOCATE_STEP_BYTES: u64 = 2 << 20;

/// How many pages the kernel is to join, where it can: a sync of one changed byte writes all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// None: they come by single faults.
    Single,
    Joined,
    /// So many that one entry of the page table maps them all.
    Huge,
}

impl Pages {
    /// The kernel joins the pages of one write. Nothing is written for those that come by faults.
    fn write_bytes(self) -> Option<usize> {
        match self {
            Self::Single => None,
            Self::Joined => Some(256 << 10),
            Self::Huge => Some(2 << 20),
        }
    }
}

/// The name of the file that starts at `offset`.
pub fn file_name(offset: u64) -> String {
    format!("{offset:020}")
}

/// The offset a file name stands for, if it is one of ours.
pub fn parse_file_name(name: &str) -> Option<u64> {
    (name.len() == 20 && name.bytes().all(|b| b.is_ascii_digit())).then(|| name.parse().ok()).flatten()
}

/// One mapped file of the log. Its bytes are written once, by the holder of the append lock, and are
/// read only below the log's readable offset, so readers and the writer never meet.
#[derive(Debug)]
pub struct Segment {
    start: u64,
    size: u64,
    path: PathBuf,
    map: Arc<Mapping>,
    /// Bytes from the start that have real space on disk.
    allocated: AtomicU64,
    /// From here on the file was a hole when it was opened. On a full memory file system even reading a hole
    /// faults.
    data_end: u64,
    /// Open while space may still be allocated or committed; `msync` needs no descriptor.
    file: Mutex<Option<File>>,
    /// Where appends go first when the transient pool is on.
    buffer: Mutex<Option<Arc<MmapRaw>>>,
}

impl Segment {
    /// Map a file that exists with its full size; [`Segment::reopen`] makes it writable again.
    pub fn open(path: PathBuf, start: u64, size: u64) -> Result<Self> {
        let file = open_for_writing(&path)?;
        let segment = Self::map_file(path, start, size, file)?;
        segment.seal();
        Ok(segment)
    }

    /// Make an empty file. It is sparse: [`Segment::ensure_allocated`] gives it space as it is needed.
    pub fn create(dir: &Path, start: u64, size: u64) -> Result<Self> {
        let path = dir.join(file_name(start));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|source| Error::io("create", &path, source))?;
        let made = file
            .set_len(size)
            .map_err(|source| Error::io("size", &path, source))
            .and_then(|()| Self::map_file(path.clone(), start, size, file));
        if made.is_err() {
            let _ = fs::remove_file(&path); // the error that matters is the first one
        }
        made
    }

    fn map_file(path: PathBuf, start: u64, size: u64, file: File) -> Result<Self> {
        let map = Mapping::open(&path, &file, size, true)?;
        let data_end = last_extent_end(&file, size);
        Ok(Self {
            data_end,
            start,
            size,
            path,
            map: Arc::new(map),
            allocated: AtomicU64::new(0),
            file: Mutex::new(Some(file)),
            buffer: Mutex::new(None),
        })
    }

    pub fn start(&self) -> u64 {
        self.start
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// One past the last offset of the file.
    pub fn end(&self) -> u64 {
        self.start + self.size
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn map(&self) -> &Arc<Mapping> {
        &self.map
    }

    /// Whether something outside the log still reads from the map.
    pub fn is_held(&self) -> bool {
        Arc::strong_count(&self.map) > 1
    }

    /// The bytes of a range that the writer is done with.
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        // SAFETY: callers stay below the log's readable offset, and what is below it is never written again.
        unsafe { self.map.bytes(range) }
    }

    /// Up to where a file that was just opened may hold anything but zeros.
    pub fn data_end(&self) -> u64 {
        self.data_end
    }

    /// The bytes of a range for the writer.
    ///
    /// # Safety
    /// Only the holder of the append lock may call this, with a range at or past the written offset.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn bytes_mut(&self, range: Range<usize>) -> &mut [u8] {
        // SAFETY: passed on to the caller.
        unsafe { self.map.bytes_mut(range) }
    }

    pub fn is_allocated(&self, upto: u64) -> bool {
        upto <= self.allocated.load(Ordering::Acquire)
    }

    /// Give the file real space up to `upto`, so that writing through the map cannot meet a full disk. Joined pages
    /// are in memory then: those that a write makes cost a fraction of those that a fault makes.
    pub fn ensure_allocated(&self, upto: u64, pages: Pages) -> Result<()> {
        if self.is_allocated(upto) {
            return Ok(());
        }
        let file = self.file.lock();
        let from = self.allocated.load(Ordering::Acquire);
        if upto <= from {
            return Ok(());
        }
        let Some(file) = file.as_ref() else {
            return Err(Error::damaged(&self.path, "was closed for writing"));
        };
        let step_end = upto.next_multiple_of(ALLOCATE_STEP_BYTES).min(self.size);
        let end = match allocate(file, from, step_end - from) {
            Ok(()) => step_end,
            // The last free blocks may still do for this record.
            Err(_) if upto < step_end => allocate(file, from, upto - from)
                .map(|()| upto)
                .map_err(|source| Error::io("allocate space for", &self.path, source))?,
            Err(source) => return Err(Error::io("allocate space for", &self.path, source)),
        };
        if let Some(step) = pages.write_bytes() {
            write_zeros(file, from..end, step)
                .map_err(|source| Error::io("write zeros to", &self.path, source))?;
        }
        // Only now: nobody writes to the new space before.
        self.allocated.store(end, Ordering::Release);
        Ok(())
    }

    /// Make everything from `position` on read as zeros again, and forget its space.
    pub fn erase_from(&self, position: u64) -> Result<()> {
        let file = open_for_writing(&self.path)?;
        erase(&file, position, self.size - position)
            .map_err(|source| Error::io("erase", &self.path, source))?;
        self.allocated.fetch_min(position, Ordering::AcqRel);
        Ok(())
    }

    /// Write over bytes that are there already, when no reader is there yet.
    pub fn overwrite(&self, position: u64, bytes: &[u8]) -> Result<()> {
        open_for_writing(&self.path)?
            .write_all_at(bytes, position)
            .map_err(|source| Error::io("mend", &self.path, source))
    }

    /// Take up writing again at `position`; what is before it holds data and so has its space.
    pub fn reopen(&self, position: u64) -> Result<()> {
        *self.file.lock() = Some(open_for_writing(&self.path)?);
        self.allocated.store(position, Ordering::Release);
        Ok(())
    }

    /// Close the descriptor of a file that will not be written again.
    pub fn seal(&self) {
        self.file.lock().take();
    }

    pub fn attach_buffer(&self, buffer: Arc<MmapRaw>) {
        *self.buffer.lock() = Some(buffer);
    }

    pub fn buffer(&self) -> Option<Arc<MmapRaw>> {
        self.buffer.lock().clone()
    }

    pub fn take_buffer(&self) -> Option<Arc<MmapRaw>> {
        self.buffer.lock().take()
    }

    /// Write bytes of the write buffer to the file, where the map sees them.
    pub fn commit(&self, bytes: &[u8], position: u64) -> Result<()> {
        let file = self.file.lock();
        let Some(file) = file.as_ref() else {
            return Err(Error::damaged(&self.path, "was closed for writing"));
        };
        file.write_all_at(bytes, position).map_err(|source| Error::io("write", &self.path, source))
    }

    /// Time of the last change, in milliseconds since the epoch.
    pub fn modified(&self) -> Result<i64> {
        let time = match fs::metadata(&self.path).and_then(|meta| meta.modified()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            found => found.map_err(|source| Error::io("stat", &self.path, source))?,
        };
        let since = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Ok(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// Remove the file, unless somebody did; readers that hold the map keep reading.
    pub fn remove(&self) -> Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(|source| Error::io("delete", &self.path, source)),
        }
    }
}

fn open_for_writing(path: &Path) -> Result<File> {
    OpenOptions::new().read(true).write(true).open(path).map_err(|source| Error::io("open", path, source))
}

/// Turn a range of a file into zeros, by a hole where the file system has holes.
fn erase(file: &File, offset: u64, len: u64) -> io::Result<()> {
    if len == 0 {
        return Ok(());
    }
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: a system call on an open descriptor.
    if unsafe { libc::fallocate(file.as_raw_fd(), mode, offset.cast_signed(), len.cast_signed()) } == 0 {
        return Ok(());
    }
    write_zeros(file, offset..offset + len, 1 << 20)
}

/// Write zeros, to each multiple of `step` at most with one call.
fn write_zeros(file: &File, range: Range<u64>, step: usize) -> io::Result<()> {
    static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
    let zeros = [IoSlice::new(&ZEROS); (2 << 20) / ZEROS.len()];
    let mut at = range.start;
    while at < range.end {
        let wanted = ((at + 1).next_multiple_of(step as u64).min(range.end) - at) as usize;
        let written = match wanted / ZEROS.len() {
            0 => file.write_at(&ZEROS[..wanted], at),
            whole => write_vectored_at(file, &zeros[..whole.min(zeros.len())], at),
        };
        match written {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(len) => at += len as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn write_vectored_at(file: &File, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    // SAFETY: an `IoSlice` is laid out as the call wants it, and lives as long as the call.
    let written = unsafe {
        libc::pwritev(
            file.as_raw_fd(),
            slices.as_ptr().cast(),
            slices.len() as libc::c_int,
            offset.cast_signed(),
        )
    };
    usize::try_from(written).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn segment(dir: &Path) -> Segment {
        Segment::create(dir, 0, 8 << 20).unwrap()
    }

    #[test]
    fn new_space_begins_where_the_writer_may_have_been_and_holds_zeros() {
        for pages in [Pages::Single, Pages::Joined, Pages::Huge] {
            let dir = tempfile::tempdir().unwrap();
            let segment = segment(dir.path());
            segment.ensure_allocated(1, pages).unwrap();
            let written = ALLOCATE_STEP_BYTES as usize;
            assert!(segment.is_allocated(written as u64));
            // SAFETY: nobody else has the segment.
            unsafe { segment.bytes_mut(0..written) }.fill(7);
            segment.ensure_allocated(5 << 20, pages).unwrap();
            segment.ensure_allocated(1, pages).unwrap();
            assert!(segment.bytes(0..written).iter().all(|&byte| byte == 7));
            assert!(segment.bytes(written..6 << 20).iter().all(|&byte| byte == 0));
            assert!(segment.is_allocated(6 << 20) && !segment.is_allocated((6 << 20) + 1));
        }
    }

    #[test]
    fn a_file_that_is_closed_for_writing_gets_no_space() {
        let dir = tempfile::tempdir().unwrap();
        let segment = segment(dir.path());
        segment.seal();
        let refused = segment.ensure_allocated(1, Pages::Huge).unwrap_err();
        assert!(refused.to_string().contains("closed for writing"));
        assert!(!segment.is_allocated(1));
    }

    #[test]
    fn zeros_are_written_to_just_the_range_that_was_asked_for() {
        const LEN: usize = 5 << 20;
        for range in [0..LEN as u64, 1..2, 4095..(2 << 20) + 4097, (1 << 20)..(1 << 20) + (64 << 10) + 1] {
            for step in [4 << 10, 256 << 10, 2 << 20] {
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(&vec![7; LEN]).unwrap();
                write_zeros(&file, range.clone(), step).unwrap();
                let mut found = vec![0; LEN];
                file.read_exact_at(&mut found, 0).unwrap();
                let wrong = found
                    .iter()
                    .zip(0..)
                    .position(|(&byte, at)| byte != if range.contains(&at) { 0 } else { 7 });
                assert_eq!(wrong, None, "{range:?} in steps of {step}");
            }
        }
    }
}
