//! Finding files, and the end of the data in them.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::log::mapping::last_extent_end;
use crate::log::notes::{Level, Notes};

const STEP_BYTES: u64 = 64 * 1024;
const NAME_DIGITS: usize = 20;

/// No position is beyond this, so that sums of a few of them still are numbers.
pub(super) const POSITION_MAX: u64 = 1 << 62;

/// The path of the file that begins at `start`.
pub(super) fn file_path(dir: &Path, start: u64) -> PathBuf {
    dir.join(format!("{start:0NAME_DIGITS$}"))
}

/// Lists the files of a directory and returns the bytes they span; `0..0` when there are none.
///
/// Files are of `file_bytes` each and follow one another without a gap. Empty files at the end are what
/// a crash between making a file and sizing it leaves; they are removed.
pub(super) fn list_files(dir: &Path, file_bytes: u64, notes: &Notes) -> Result<Range<u64>> {
    let mut files = sized_files(dir, notes)?;
    while let Some((start, _)) = files.pop_if(|(_, bytes)| *bytes == 0) {
        let path = file_path(dir, start);
        fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
        notes.say(Level::Warning, format!("{}: removed, the file was empty", path.display()));
    }
    let Some(&(first, _)) = files.first() else { return Ok(0..0) };
    let mut expected = first;
    for (start, bytes) in files {
        let path = file_path(dir, start);
        if bytes != file_bytes {
            return Err(Error::damaged(&path, format!("has {bytes} bytes, not {file_bytes}")));
        }
        if start % file_bytes != 0 {
            return Err(Error::damaged(&path, format!("its name is no multiple of {file_bytes}")));
        }
        if start != expected {
            return Err(Error::damaged(&file_path(dir, expected), "is missing, but files after it exist"));
        }
        expected = start
            .checked_add(file_bytes)
            .filter(|end| *end <= POSITION_MAX)
            .ok_or_else(|| Error::damaged(&path, "its name is beyond any queue's end"))?;
    }
    Ok(first..expected)
}

/// The starts and sizes of the numbered files in a directory, in order.
fn sized_files(dir: &Path, notes: &Notes) -> Result<Vec<(u64, u64)>> {
    let entries = match fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|e| Error::io("list", dir, e))?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| Error::io("list", dir, e))?;
        match entry.file_name().to_str().and_then(start_of) {
            Some(start) => {
                let metadata = entry.metadata().map_err(|e| Error::io("stat", &entry.path(), e))?;
                files.push((start, metadata.len()));
            }
            None => notes.say(Level::Warning, format!("{}: ignored, not ours", entry.path().display())),
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn start_of(name: &str) -> Option<u64> {
    let is_ours = name.len() == NAME_DIGITS && name.bytes().all(|b| b.is_ascii_digit());
    if is_ours { name.parse().ok() } else { None }
}

/// One past the last byte of a file that is not zero.
pub(super) fn data_end(file: &File, file_bytes: u64) -> io::Result<u64> {
    let mut end = last_extent_end(file, file_bytes);
    let mut step = vec![0; STEP_BYTES.min(end) as usize];
    while end > 0 {
        let start = end.saturating_sub(STEP_BYTES);
        let block = &mut step[..(end - start) as usize];
        file.read_exact_at(block, start)?;
        if let Some(last) = last_non_zero(block) {
            return Ok(start + last as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

fn last_non_zero(block: &[u8]) -> Option<usize> {
    // Chunks of 32 are compared at once, which matters on file systems without holes.
    let (head, chunks) = block.as_rchunks::<32>();
    let within = |bytes: &[u8]| bytes.iter().rposition(|b| *b != 0);
    match chunks.iter().rposition(|chunk| *chunk != [0; 32]) {
        Some(index) => within(&chunks[index]).map(|at| head.len() + index * 32 + at),
        None => within(head),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_data_is_found_with_and_without_holes() {
        let file_bytes = 1_000_000;
        for (position, expected) in [(0, 1), (31, 32), (4_095, 4_096), (65_536, 65_537), (999_999, 1_000_000)]
        {
            let sparse = tempfile::tempfile().unwrap();
            sparse.set_len(file_bytes).unwrap();
            sparse.write_all_at(&[7], position).unwrap();
            assert_eq!(data_end(&sparse, file_bytes).unwrap(), expected);
            let full = tempfile::tempfile().unwrap();
            full.write_all_at(&vec![0; file_bytes as usize], 0).unwrap();
            full.write_all_at(&[7], position).unwrap();
            assert_eq!(data_end(&full, file_bytes).unwrap(), expected);
        }
        let empty = tempfile::tempfile().unwrap();
        empty.set_len(file_bytes).unwrap();
        assert_eq!(data_end(&empty, file_bytes).unwrap(), 0);
    }

    #[test]
    fn only_names_of_twenty_digits_are_files_of_the_queue() {
        assert_eq!(start_of("00000000000006000000"), Some(6_000_000));
        for name in ["6000000", "0000000000000600000x", "+0000000000006000000", "99999999999999999999"] {
            assert_eq!(start_of(name), None, "{name}");
        }
    }
}
