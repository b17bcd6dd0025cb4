//! The file `timerwheel`: for each slot of time, where its messages begin and end in the timer log.
//!
//! Not mapped: a slot is 32 bytes, read and written where it stands, so that the file costs no memory.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;

use super::unit::NO_POSITION;
use crate::error::{Error, Result};
use crate::log::mapping::allocate;
use crate::message::layout::field;

/// Seven days of seconds, whatever the precision is.
pub const SLOTS: i64 = 7 * 86_400;
/// The file holds a second turn, so that slots of the past and of the future do not meet.
const SLOTS_IN_FILE: i64 = 2 * SLOTS;
const SLOT_BYTES: usize = 32;
pub const WHEEL_BYTES: u64 = SLOTS_IN_FILE as u64 * SLOT_BYTES as u64;
const _: () = assert!(WHEEL_BYTES == 38_707_200);
/// How many slots are looked through at once.
const BLOCK_SLOTS: i64 = 2048;

/// One slot that holds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub first: i64,
    pub last: i64,
    /// Messages in it, recalled ones not counted.
    pub count: i32,
}

impl Slot {
    pub const EMPTY: Self = Self { first: NO_POSITION, last: NO_POSITION, count: 0 };
}

#[derive(Debug)]
pub struct Wheel {
    path: PathBuf,
    file: Arc<File>,
    precision_ms: i64,
    /// Slots by the number of their time, changed and not yet in the file.
    unwritten: HashMap<i64, Slot>,
}

impl Wheel {
    /// Open the file, or make it, and say whether it was made.
    pub fn open(path: &Path, precision_ms: i64) -> Result<(Self, bool)> {
        let fail = |source| Error::io("open", path, source);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path).map_err(fail)?;
        let len = file.metadata().map_err(fail)?.len();
        let is_new = len == 0;
        if is_new {
            allocate(&file, 0, WHEEL_BYTES).map_err(fail)?;
            file.set_len(WHEEL_BYTES).map_err(fail)?;
        } else if len != WHEEL_BYTES {
            return Err(Error::damaged(path, format!("a timer wheel has {WHEEL_BYTES} bytes, not {len}")));
        }
        let wheel = Self {
            path: path.to_path_buf(),
            file: Arc::new(file),
            precision_ms,
            unwritten: HashMap::default(),
        };
        Ok((wheel, is_new))
    }

    pub fn file(&self) -> Arc<File> {
        self.file.clone()
    }

    /// The slot of a time.
    pub fn get(&self, time_ms: i64) -> Result<Slot> {
        let number = time_ms / self.precision_ms;
        if let Some(slot) = self.unwritten.get(&number) {
            return Ok(*slot);
        }
        let mut bytes = [0; SLOT_BYTES];
        self.read(&mut bytes, number)?;
        Ok(decode(&bytes, number).unwrap_or(Slot::EMPTY))
    }

    /// Changes a slot; it is in the file after `write_out`.
    pub fn put(&mut self, time_ms: i64, slot: Slot) {
        self.unwritten.insert(time_ms / self.precision_ms, slot);
    }

    /// After an error the changes are still known and can be written later.
    pub fn write_out(&mut self) -> Result<()> {
        for (&number, slot) in &self.unwritten {
            let mut bytes = [0; SLOT_BYTES];
            bytes[..8].copy_from_slice(&number.to_be_bytes());
            bytes[8..16].copy_from_slice(&slot.first.to_be_bytes());
            bytes[16..24].copy_from_slice(&slot.last.to_be_bytes());
            bytes[24..28].copy_from_slice(&slot.count.to_be_bytes());
            self.file
                .write_all_at(&bytes, position(number))
                .map_err(|source| Error::io("write", &self.path, source))?;
        }
        self.unwritten.clear();
        Ok(())
    }

    /// The time of the first slot in `[from, to)` that holds something.
    pub fn next_used(&self, from_ms: i64, to_ms: i64) -> Result<Option<i64>> {
        let (mut number, end) = (from_ms / self.precision_ms, to_ms / self.precision_ms);
        let mut block = vec![0; BLOCK_SLOTS as usize * SLOT_BYTES];
        while number < end {
            let count = BLOCK_SLOTS.min(end - number).min(SLOTS_IN_FILE - number % SLOTS_IN_FILE);
            let bytes = &mut block[..count as usize * SLOT_BYTES];
            self.read(bytes, number)?;
            for (slot, number) in bytes.as_chunks::<SLOT_BYTES>().0.iter().zip(number..) {
                let is_used = match self.unwritten.get(&number) {
                    Some(slot) => slot.last != NO_POSITION,
                    None => decode(slot, number).is_some_and(|slot| slot.last != NO_POSITION),
                };
                if is_used {
                    return Ok(Some(number * self.precision_ms));
                }
            }
            number += count;
        }
        Ok(None)
    }

    fn read(&self, bytes: &mut [u8], number: i64) -> Result<()> {
        match self.file.read_exact_at(bytes, position(number)) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(Error::damaged(&self.path, "the file was cut short"))
            }
            read => read.map_err(|source| Error::io("read", &self.path, source)),
        }
    }
}

fn position(number: i64) -> u64 {
    (number.rem_euclid(SLOTS_IN_FILE) * SLOT_BYTES as i64).cast_unsigned()
}

/// The slot in these bytes, if it is that of the time with this number.
fn decode(bytes: &[u8; SLOT_BYTES], number: i64) -> Option<Slot> {
    (i64::from_be_bytes(field(bytes, 0)) == number).then(|| Slot {
        first: i64::from_be_bytes(field(bytes, 8)),
        last: i64::from_be_bytes(field(bytes, 16)),
        count: i32::from_be_bytes(field(bytes, 24)),
    })
}
