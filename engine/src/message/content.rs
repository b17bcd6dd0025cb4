//! What a record carries, as its sender gave it.

use std::borrow::Cow;

use super::layout::sys_flag;
use super::{BadBody, Compression, Record};

/// A body that cannot be given to anybody.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("its body does not fit its checksum")]
    Checksum,
    #[error(transparent)]
    Compression(#[from] BadBody),
}

/// The body before its sender compressed it; one that would have more than `bytes_max` bytes is refused.
pub fn body_of<'a>(record: &Record<'a>, check_crc: bool, bytes_max: usize) -> Result<Cow<'a, [u8]>, Damage> {
    if check_crc && !record.body_is_intact() {
        return Err(Damage::Checksum);
    }
    match Compression::of_sys_flag(record.sys_flag())? {
        None => Ok(Cow::Borrowed(record.body())),
        Some(format) => Ok(Cow::Owned(format.decompress(record.body(), bytes_max)?)),
    }
}

/// Whether the body is a batch of messages that was stored as one.
#[inline]
pub fn is_batch(record: &Record<'_>) -> bool {
    const BATCH: i32 = sys_flag::INNER_BATCH | sys_flag::NEED_UNWRAP;
    record.sys_flag() & BATCH == BATCH
}
