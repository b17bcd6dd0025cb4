//! The file `config/timercheck`: how far the timer is.
//!
//! The first 56 bytes are Java's. Behind them we keep where in the log of messages later deliveries stand, with a
//! hash of the 56 bytes: when Java has written them since, what we kept no longer belongs to them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::{Error, Result};
use crate::message::layout::field;

pub const IMAGE_BYTES: usize = 56;
const OURS_BYTES: usize = 16;
const OUR_MARK: u64 = 0x5441_494C;
/// Java maps a page.
const FILE_BYTES: u64 = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// Slots before this time are done.
    pub read_time_ms: i64,
    /// Units before this position are in the wheel.
    pub log_position: u64,
    /// Messages of the timer's queue before this offset are in the timer log.
    pub queue_offset: i64,
    pub timestamp: i64,
    pub counter: i64,
    /// Deliveries that are not counted above stand in the log from here on; `None` when Java wrote the file.
    pub delivered_from: Option<u64>,
}

impl Checkpoint {
    /// What Java's file holds, and what a slave is told.
    pub fn image(&self) -> [u8; IMAGE_BYTES] {
        let numbers = [
            self.read_time_ms,
            self.log_position.cast_signed(),
            self.queue_offset,
            self.queue_offset, // the master's, which we are
            0,                 // version of the broker's state machine
            self.timestamp,
            self.counter,
        ];
        let mut image = [0; IMAGE_BYTES];
        for (at, number) in (0..).step_by(8).zip(numbers) {
            image[at..at + 8].copy_from_slice(&number.to_be_bytes());
        }
        image
    }

    /// Read the file; `None` when there is none, or nothing was ever written into it.
    pub fn load(path: &Path) -> Result<Option<Self>> {
        let mut bytes = [0; IMAGE_BYTES + OURS_BYTES];
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|source| Error::io("open", path, source))?,
        };
        let len = file.metadata().map_err(|source| Error::io("read", path, source))?.len();
        let present = bytes.len().min(len as usize);
        file.read_exact_at(&mut bytes[..present], 0).map_err(|source| Error::io("read", path, source))?;
        if bytes[..IMAGE_BYTES].iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        let number = |at: usize| i64::from_be_bytes(field(&bytes, at));
        let is_ours = number(IMAGE_BYTES + 8).cast_unsigned() == hash(&bytes[..IMAGE_BYTES + 8]);
        Ok(Some(Self {
            read_time_ms: number(0),
            log_position: number(8).max(0).cast_unsigned(),
            queue_offset: number(16).max(0),
            timestamp: number(40),
            counter: number(48),
            delivered_from: is_ours.then(|| number(IMAGE_BYTES).max(0).cast_unsigned()),
        }))
    }

    /// Write the file and wait for the disk.
    pub fn store(&self, path: &Path) -> Result<()> {
        let mut bytes = self.image().to_vec();
        bytes.extend_from_slice(&self.delivered_from.unwrap_or(0).to_be_bytes());
        let hash = hash(&bytes);
        bytes.extend_from_slice(&hash.to_be_bytes());
        let write = || {
            let mut options = OpenOptions::new();
            let file = options.write(true).create(true).truncate(false).open(path)?;
            if file.metadata()?.len() < FILE_BYTES {
                file.set_len(FILE_BYTES)?;
            }
            file.write_all_at(&bytes, 0)?;
            file.sync_data()
        };
        write().map_err(|source| Error::io("write", path, source))
    }
}

/// Never that of a file without our part.
fn hash(bytes: &[u8]) -> u64 {
    OUR_MARK << 32 | u64::from(crc32fast::hash(bytes))
}
