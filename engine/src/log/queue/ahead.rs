//! An open file that reads ahead for whoever goes on where it was last read: a reader of a queue asks for a few
//! units at a time, and a system call for each time is a fifth of what its messages cost.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use parking_lot::Mutex;

/// Kept in memory of an open file, at most.
const AHEAD_BYTES: usize = 8 * 1024;

#[derive(Debug)]
pub(super) struct OpenFile {
    file: File,
    ahead: Mutex<Ahead>,
}

#[derive(Debug, Default)]
struct Ahead {
    /// What was asked for last.
    last: Range<u64>,
    /// Bytes of the file as they are, from `start` on.
    bytes: Vec<u8>,
    start: u64,
}

impl Ahead {
    fn get(&self, position: u64, len: usize) -> Option<&[u8]> {
        let from = usize::try_from(position.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..from + len)
    }

    fn ends(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl From<File> for OpenFile {
    fn from(file: File) -> Self {
        Self { file, ahead: Mutex::default() }
    }
}

impl OpenFile {
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Fills `out` from `position` on. Bytes before `written_end` may be read ahead: they change only by
    /// [`OpenFile::write_all_at`].
    pub fn read_exact_at(&self, out: &mut [u8], position: u64, written_end: u64) -> io::Result<()> {
        // Of two readers at a time one goes without.
        let Some(mut ahead) = self.ahead.try_lock() else { return self.file.read_exact_at(out, position) };
        let goes_on = ahead.last.start <= position && position <= ahead.last.end;
        ahead.last = position..position + out.len() as u64;
        if let Some(found) = ahead.get(position, out.len()) {
            out.copy_from_slice(found);
            return Ok(());
        }
        let len = AHEAD_BYTES.min(written_end.saturating_sub(position) as usize);
        if !goes_on || len <= out.len() {
            return self.file.read_exact_at(out, position);
        }
        ahead.start = position;
        ahead.bytes.resize(len, 0);
        if self.file.read_exact_at(&mut ahead.bytes, position).is_err() {
            // What the reader asked for may be there all the same.
            ahead.bytes.clear();
            return self.file.read_exact_at(out, position);
        }
        out.copy_from_slice(&ahead.bytes[..out.len()]);
        Ok(())
    }

    pub fn write_all_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        let written = self.file.write_all_at(bytes, position);
        // Afterwards: whoever read ahead before the write held the lock until it had what it read.
        let mut ahead = self.ahead.lock();
        if position < ahead.ends() {
            ahead.bytes.clear();
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: u64) -> OpenFile {
        let file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        file.write_all_at(&bytes, 0).unwrap();
        OpenFile::from(file)
    }

    fn read(file: &OpenFile, position: u64, len: usize, written_end: u64) -> Vec<u8> {
        let mut out = vec![0; len];
        file.read_exact_at(&mut out, position, written_end).unwrap();
        out
    }

    #[test]
    fn what_is_read_is_what_the_file_has_wherever_it_is_read() {
        let len = 5 * AHEAD_BYTES as u64;
        let file = numbers(len);
        let mut places: Vec<u64> = (0..len - 900).step_by(640).collect();
        places.extend_from_within(..);
        places.extend([7, 8, 9000, 10, 11, 12_000]);
        for position in places {
            let expected: Vec<u8> = (position..position + 760).map(|at| (at % 251) as u8).collect();
            assert_eq!(read(&file, position, 760, len), expected, "from {position}");
        }
    }

    #[test]
    fn a_reader_that_goes_on_needs_the_file_no_more() {
        let file = numbers(4000);
        read(&file, 0, 200, 4000);
        read(&file, 200, 200, 4000);
        file.file().set_len(400).unwrap();
        assert_eq!(read(&file, 400, 200, 4000)[0], (400 % 251) as u8);
    }

    #[test]
    fn nothing_is_kept_of_bytes_that_are_not_written_yet() {
        let file = numbers(4000);
        read(&file, 0, 200, 600);
        read(&file, 200, 200, 600);
        file.file().write_all_at(&[255; 200], 600).unwrap(); // as another owner of the tail would
        assert_eq!(read(&file, 600, 200, 800), [255; 200]);
    }

    #[test]
    fn what_is_written_over_is_read_anew() {
        let file = numbers(4000);
        read(&file, 0, 200, 4000);
        read(&file, 200, 200, 4000);
        file.write_all_at(&[255; 20], 500).unwrap();
        assert_eq!(read(&file, 500, 20, 4000), [255; 20]);
    }

    #[test]
    fn a_file_cut_short_is_an_error_where_it_is_cut_and_not_before() {
        let file = numbers(1000);
        file.file().set_len(500).unwrap();
        for (position, is_there) in [(0, true), (200, true), (400, false), (400, false), (300, true)] {
            let result = file.read_exact_at(&mut [0; 200], position, 1000);
            assert_eq!(result.is_ok(), is_there, "from {position}");
        }
    }
}
