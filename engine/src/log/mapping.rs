//! Shared file mappings that cannot crash the process, and real allocation of the space under them.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::{Advice, MmapOptions, MmapRaw};

use super::prefetch::{prefetch_line, prefetch_line_to_write};
use crate::error::{Error, Result};

mod guard;

use guard::Guard;
pub use guard::MAPPINGS_MAX;

/// What a processor fetches at once.
const LINE_BYTES: usize = 64;

static MAPPED_FILES: AtomicUsize = AtomicUsize::new(0);
static MAPPED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Files mapped by this process now, and their bytes.
pub fn mapped() -> (usize, usize) {
    (MAPPED_FILES.load(Ordering::Relaxed), MAPPED_BYTES.load(Ordering::Relaxed))
}

/// A file mapped into memory, shared with the file.
///
/// If the file loses pages (truncated by someone, a failing or full disk), accesses to them see zeros and
/// [`Mapping::is_broken`] is true from then on: what was read may be wrong and what was written is lost.
/// Check it after reading anything that matters, and before telling anyone that a write happened.
#[derive(Debug)]
pub struct Mapping {
    // First, because fields drop in order: the guard must forget the addresses before they are unmapped.
    guard: Guard,
    map: MmapRaw,
    path: PathBuf,
}

impl Mapping {
    /// Map the first `len` bytes of `file`; `path` is for messages.
    pub fn open(path: &Path, file: &File, len: u64, writable: bool) -> Result<Self> {
        if len == 0 {
            return Err(Error::damaged(path, "is empty, so there is nothing to map"));
        }
        let len = usize::try_from(len).map_err(|_| Error::damaged(path, "is too large to map"))?;
        let mut options = MmapOptions::new();
        options.len(len);
        let map = if writable { options.map_raw(file) } else { options.map_raw_read_only(file) }
            .map_err(|source| Error::io("map", path, source))?;
        let guard = Guard::register(map.as_ptr() as usize, len)
            .map_err(|source| Error::io("guard the mapping of", path, source))?
            .ok_or_else(|| {
                Error::Config(format!(
                    "{}: {MAPPINGS_MAX} files are mapped already; use larger or fewer files",
                    path.display()
                ))
            })?;
        MAPPED_FILES.fetch_add(1, Ordering::Relaxed);
        MAPPED_BYTES.fetch_add(len, Ordering::Relaxed);
        Ok(Self { guard, map, path: path.to_path_buf() })
    }

    /// Bytes mapped; never zero.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// The first byte. Stays valid as long as the mapping lives.
    pub fn as_ptr(&self) -> *mut u8 {
        self.map.as_mut_ptr()
    }

    /// Whether a page was lost and replaced by zeros.
    pub fn is_broken(&self) -> bool {
        self.guard.is_broken()
    }

    /// `Err` if a page was lost and replaced by zeros.
    pub fn check(&self) -> Result<()> {
        if self.is_broken() {
            return Err(Error::damaged(
                &self.path,
                "lost pages while it was mapped (truncated from outside, or the disk failed or is full)",
            ));
        }
        Ok(())
    }

    /// The bytes of `range`, which must lie inside the mapping.
    ///
    /// # Safety
    /// Nobody may write to `range`, through this or another mapping, while the slice is in use.
    pub unsafe fn bytes(&self, range: Range<usize>) -> &[u8] {
        assert!(range.start <= range.end && range.end <= self.len(), "{range:?} is outside the mapping");
        // SAFETY: inside the mapping, which outlives the slice; the caller vouches for the writers.
        unsafe { slice::from_raw_parts(self.as_ptr().add(range.start), range.len()) }
    }

    /// The bytes of `range` for writing; the range must lie inside the mapping.
    ///
    /// # Safety
    /// The mapping must be writable, and nobody else may read or write `range` while the slice is in use.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn bytes_mut(&self, range: Range<usize>) -> &mut [u8] {
        assert!(range.start <= range.end && range.end <= self.len(), "{range:?} is outside the mapping");
        // SAFETY: inside the mapping, which outlives the slice; the caller vouches for being alone.
        unsafe { slice::from_raw_parts_mut(self.as_ptr().add(range.start), range.len()) }
    }

    /// Have the processor fetch some bytes into its cache.
    #[inline]
    pub fn prefetch(&self, at: usize, len: usize) {
        self.lines(at, len).for_each(prefetch_line);
    }

    /// The same for bytes that are written soon.
    #[inline]
    pub fn prefetch_to_write(&self, at: usize, len: usize) {
        self.lines(at, len).for_each(prefetch_line_to_write);
    }

    fn lines(&self, at: usize, len: usize) -> impl Iterator<Item = *const u8> {
        let start = self.as_ptr().cast_const();
        // Maps begin with a page, so lines begin at multiples of their size.
        let first = at - at % LINE_BYTES;
        (first..(at + len).min(self.len())).step_by(LINE_BYTES).map(move |line| start.wrapping_add(line))
    }

    /// Fault the pages of `range` in, ready to be written.
    pub fn populate_write(&self, range: Range<usize>) -> Result<()> {
        self.populate(Advice::PopulateWrite, range)
    }

    /// Fault the pages of `range` in, ready to be read.
    pub fn populate_read(&self, range: Range<usize>) -> Result<()> {
        self.populate(Advice::PopulateRead, range)
    }

    fn populate(&self, advice: Advice, range: Range<usize>) -> Result<()> {
        match self.map.advise_range(advice, range.start, range.len()) {
            // Kernels before 5.14 do not know the advice. The first access faults the page in all the same.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            other => other.map_err(|source| Error::io("populate", &self.path, source)),
        }
    }

    /// Put the pages of `range` on disk (`msync`). Only the range: pages faulted in ahead of the writer stay out.
    pub fn sync(&self, range: Range<usize>) -> Result<()> {
        self.map.flush_range(range.start, range.len()).map_err(|source| Error::io("sync", &self.path, source))
    }

    /// From now on fault the pages of `range` in one by one, if the kernel can be told so.
    ///
    /// Otherwise it joins up to 2 MiB of them, and a sync of one changed byte writes all of that.
    pub fn keep_pages_small(&self, range: Range<usize>) {
        let _ = self.map.advise_range(Advice::Random, range.start, range.len());
    }

    /// Take [`Mapping::keep_pages_small`] back, for the whole file.
    pub fn let_pages_join(&self) {
        let _ = self.map.advise(Advice::Normal);
    }

    /// Keep the pages in memory; the limit on locked memory may refuse it.
    pub fn lock(&self) -> Result<()> {
        self.map.lock().map_err(|source| Error::io("lock into memory", &self.path, source))
    }

    pub fn unlock(&self) -> Result<()> {
        self.map.unlock().map_err(|source| Error::io("unlock from memory", &self.path, source))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        MAPPED_FILES.fetch_sub(1, Ordering::Relaxed);
        MAPPED_BYTES.fetch_sub(self.len(), Ordering::Relaxed);
    }
}

/// Give `offset..offset + len` of the file real space, so that a later write through a mapping cannot meet
/// a full disk. Grows the file if the range ends past it; bytes already there stay.
pub fn allocate(file: &File, offset: u64, len: u64) -> io::Result<()> {
    if len == 0 {
        return Ok(());
    }
    let too_far = || io::Error::from(io::ErrorKind::FileTooLarge);
    let offset_signed = i64::try_from(offset).map_err(|_| too_far())?;
    let len_signed = i64::try_from(len).map_err(|_| too_far())?;
    loop {
        // SAFETY: a system call on an open descriptor.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, offset_signed, len_signed) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => return touch_blocks(file, offset, len),
            _ => return Err(error),
        }
    }
}

/// Where the last hole of a sparse file begins; the file's size if it has none or cannot tell.
pub fn last_extent_end(file: &File, file_bytes: u64) -> u64 {
    let mut end = 0;
    while end < file_bytes {
        let data = match seek(file, end, libc::SEEK_DATA) {
            Ok(data) => data,
            // Nothing but a hole from here on.
            Err(e) if e.raw_os_error() == Some(libc::ENXIO) => return end,
            Err(_) => return file_bytes,
        };
        match seek(file, data, libc::SEEK_HOLE) {
            Ok(hole) if hole > end => end = hole,
            _ => return file_bytes,
        }
    }
    file_bytes
}

fn seek(file: &File, offset: u64, whence: libc::c_int) -> io::Result<u64> {
    // SAFETY: the descriptor is open as long as `file` is borrowed. Its cursor is used nowhere else.
    let found = unsafe { libc::lseek(file.as_raw_fd(), offset as libc::off_t, whence) };
    u64::try_from(found).map_err(|_| io::Error::last_os_error())
}

/// The slow way to [`allocate`]: write one byte of every block back onto itself.
fn touch_blocks(file: &File, offset: u64, len: u64) -> io::Result<()> {
    const BLOCK_BYTES: u64 = 4096;
    let end = offset.checked_add(len).ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
    let mut at = offset;
    while at < end {
        let block_end = (at - at % BLOCK_BYTES).saturating_add(BLOCK_BYTES).min(end);
        // The last byte of each block, so that the file also grows to exactly `end`.
        let mut byte = [0];
        file.read_at(&mut byte, block_end - 1)?;
        file.write_all_at(&byte, block_end - 1)?;
        at = block_end;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
