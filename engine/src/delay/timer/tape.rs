//! The folder `timerlog`: units one after another, in files of one size.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::unit::{UNIT_BYTES, Unit};
use crate::error::{Error, Result};
use crate::log::markers::sync_directory;
use crate::log::segment::{file_name, parse_file_name};
use crate::message::layout::{BLANK_MAGIC, field};

/// A file always keeps room for the mark that closes it: size, eight zeros, magic.
const MARK_BYTES: usize = 16;
/// Units of one slot mostly lie near each other.
const BLOCK_BYTES: usize = 16 << 10;

#[derive(Debug)]
pub struct Tape {
    dir: PathBuf,
    file_bytes: u64,
    files: BTreeMap<u64, Arc<File>>,
    /// One past the last unit, those in `staged` included.
    end: u64,
    staged: Vec<u8>,
    block: Vec<u8>,
    block_start: u64,
}

/// What stands at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Unit(Unit),
    /// The file is closed; the log goes on here.
    NextFile(u64),
    Nothing,
}

impl Tape {
    pub fn open(dir: &Path, file_bytes: u64) -> Result<Self> {
        fs::create_dir_all(dir).map_err(|source| Error::io("create", dir, source))?;
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(dir).map_err(|source| Error::io("list", dir, source))? {
            let path = entry.map_err(|source| Error::io("list", dir, source))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some(start) = parse_file_name(name) else { continue };
            files.insert(start, Arc::new(open_file(&path, file_bytes)?));
        }
        let end = files.keys().next().copied().unwrap_or(0);
        Ok(Self {
            dir: dir.to_path_buf(),
            file_bytes,
            files,
            end,
            staged: Vec::new(),
            block: Vec::new(),
            block_start: u64::MAX,
        })
    }

    /// The first position there may be.
    pub fn start(&self) -> u64 {
        self.files.keys().next().copied().unwrap_or(0)
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    /// The start of the file that holds a position.
    pub fn file_start(&self, position: u64) -> u64 {
        position - position % self.file_bytes
    }

    /// The files from a position on.
    pub fn files_from(&self, position: u64) -> Vec<Arc<File>> {
        self.files.range(self.file_start(position)..).map(|(_, file)| file.clone()).collect()
    }

    /// Where the unit before a position stands, in the file before if need be.
    pub fn position_before(&self, position: u64) -> Option<u64> {
        let within = position % self.file_bytes;
        let before = if within == 0 {
            position.checked_sub(self.file_bytes)? + self.last_in_file()
        } else {
            position.checked_sub(UNIT_BYTES as u64)?
        };
        (before >= self.start()).then_some(before)
    }

    /// How far from its start the last unit of a full file is.
    fn last_in_file(&self) -> u64 {
        ((self.file_bytes - MARK_BYTES as u64) / UNIT_BYTES as u64 - 1) * UNIT_BYTES as u64
    }

    /// What stands at a position, whatever the end is taken to be.
    pub fn look(&mut self, position: u64) -> Result<Found> {
        let Some(file) = self.files.get(&self.file_start(position)).cloned() else {
            return Ok(Found::Nothing);
        };
        let rest = self.file_bytes - position % self.file_bytes;
        if rest < (UNIT_BYTES + MARK_BYTES) as u64 {
            return self.look_at_mark(&file, position, rest);
        }
        let bytes = self.bytes(&file, position)?;
        Ok(match Unit::decode(&bytes) {
            Some(unit) => Found::Unit(unit),
            None => Found::Nothing,
        })
    }

    fn look_at_mark(&self, file: &File, position: u64, rest: u64) -> Result<Found> {
        let mut mark = [0; MARK_BYTES];
        file.read_exact_at(&mut mark, position % self.file_bytes)
            .map_err(|source| self.failed("read", source))?;
        let is_mark = u32::from_be_bytes(field(&mark, 12)) == BLANK_MAGIC;
        Ok(if is_mark { Found::NextFile(position + rest) } else { Found::Nothing })
    }

    /// The unit at a position before the end.
    pub fn unit(&mut self, position: u64) -> Result<Unit> {
        match self.look(position)? {
            Found::Unit(unit) => Ok(unit),
            _ => Err(Error::damaged(&self.dir, format!("no unit stands at position {position}"))),
        }
    }

    fn bytes(&mut self, file: &File, position: u64) -> Result<[u8; UNIT_BYTES]> {
        let has = position >= self.block_start
            && position + UNIT_BYTES as u64 <= self.block_start.saturating_add(self.block.len() as u64);
        if !has {
            // Chains lead backwards: the block ends with the unit asked for.
            let (start, at) = (self.file_start(position), position % self.file_bytes);
            let from = (at + UNIT_BYTES as u64).saturating_sub(BLOCK_BYTES as u64);
            self.block.resize((at + UNIT_BYTES as u64 - from) as usize, 0);
            self.block_start = u64::MAX;
            file.read_exact_at(&mut self.block, from)
                .map_err(|source| Error::io("read", &self.dir, source))?;
            self.block_start = start + from;
        }
        Ok(field(&self.block, (position - self.block_start) as usize))
    }

    /// Takes a unit for the next `write`; returns its position.
    pub fn stage(&mut self, unit: &Unit) -> Result<u64> {
        let rest = self.file_bytes - self.end % self.file_bytes;
        if rest < (UNIT_BYTES + MARK_BYTES) as u64 {
            let mut mark = [0; MARK_BYTES];
            mark[..4].copy_from_slice(&(rest as u32).to_be_bytes());
            mark[12..].copy_from_slice(&BLANK_MAGIC.to_be_bytes());
            self.staged.extend_from_slice(&mark);
            self.end += MARK_BYTES as u64;
            self.write()?;
            self.end += rest - MARK_BYTES as u64;
        }
        let position = self.end;
        self.staged.extend_from_slice(&unit.encode());
        self.end += UNIT_BYTES as u64;
        Ok(position)
    }

    /// Forgets what was staged and not written.
    pub fn discard_staged(&mut self) {
        self.end -= self.staged.len() as u64;
        self.staged.clear();
    }

    /// Writes what was staged; after an error it is as if it had not been.
    pub fn write(&mut self) -> Result<()> {
        if self.staged.is_empty() {
            return Ok(());
        }
        let from = self.end - self.staged.len() as u64;
        let staged = std::mem::take(&mut self.staged);
        // The block in memory may reach into what is written now.
        self.block_start = u64::MAX;
        let written = self.file_for(from).and_then(|file| {
            file.write_all_at(&staged, from % self.file_bytes).map_err(|source| self.failed("write", source))
        });
        if written.is_err() {
            self.end = from;
        }
        written
    }

    fn file_for(&mut self, position: u64) -> Result<Arc<File>> {
        let start = self.file_start(position);
        if let Some(file) = self.files.get(&start) {
            return Ok(file.clone());
        }
        let file = Arc::new(open_file(&self.dir.join(file_name(start)), self.file_bytes)?);
        sync_directory(&self.dir)?;
        self.files.insert(start, file.clone());
        Ok(file)
    }

    /// Ends the log here, found by recovery. What stood after it is wiped, or it would be taken for units again.
    pub fn end_at(&mut self, end: u64) -> Result<()> {
        let mut at = end;
        loop {
            match self.look(at)? {
                Found::Unit(_) => {
                    let Some(file) = self.files.get(&self.file_start(at)) else { break };
                    file.write_all_at(&[0; UNIT_BYTES], at % self.file_bytes)
                        .map_err(|source| self.failed("write", source))?;
                    at += UNIT_BYTES as u64;
                }
                Found::NextFile(start) => at = start,
                Found::Nothing => break,
            }
        }
        self.block_start = u64::MAX;
        self.end = end;
        Ok(())
    }

    /// Removes the files whose messages are all gone from the log of messages, which begins at `physical_min`.
    pub fn remove_expired(&mut self, physical_min: u64) -> Result<usize> {
        let mut removed = 0;
        while let Some((&start, _)) = self.files.first_key_value() {
            let next = start + self.file_bytes;
            if next > self.end {
                break;
            }
            let last = self.unit(start + self.last_in_file())?;
            if last.physical_offset.max(0).cast_unsigned() >= physical_min {
                break;
            }
            let path = self.dir.join(file_name(start));
            fs::remove_file(&path).map_err(|source| Error::io("remove", &path, source))?;
            self.files.remove(&start);
            removed += 1;
        }
        Ok(removed)
    }

    fn failed(&self, action: &'static str, source: std::io::Error) -> Error {
        Error::io(action, &self.dir, source)
    }
}

/// Of full length from the start, as Java asks for; it takes space as units come.
fn open_file(path: &Path, file_bytes: u64) -> Result<File> {
    let fail = |source| Error::io("open", path, source);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(path).map_err(fail)?;
    let len = file.metadata().map_err(fail)?.len();
    if len == 0 {
        file.set_len(file_bytes).map_err(fail)?;
    } else if len != file_bytes {
        let what =
            format!("a file of the timer log has {file_bytes} bytes (mappedFileSizeTimerLog), not {len}");
        return Err(Error::damaged(path, what));
    }
    Ok(file)
}
