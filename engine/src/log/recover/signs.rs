//! What the bytes at a position of the log mean.

use std::sync::Arc;

use crate::log::segment::Segment;
use crate::message::layout::{BLANK_MAGIC, HEAD_BYTES, MAGIC_AT, PHYSICAL_OFFSET_AT, SIZE_AT, field};
use crate::message::{Found, Record, look};

/// Store timestamp of the first record of a file, if the file begins with one.
pub(super) fn first_timestamp(segment: &Arc<Segment>) -> Option<i64> {
    if is_unused(segment, 0) {
        return None;
    }
    match look(segment.bytes(0..segment.size() as usize)) {
        Ok(Found::Record(record)) if record.physical_offset() == segment.start().cast_signed() => {
            Some(record.store_timestamp()).filter(|&time| time > 0)
        }
        _ => None,
    }
}

/// Position of the first intact record in `from..to` of a file: magic, own offset and checksum all fit.
pub fn find_intact(segment: &Segment, from: u64, to: u64) -> Option<u64> {
    const MAGIC_START: [u8; 3] = [0xda, 0xa3, 0x20];
    let bytes = segment.bytes(0..segment.size() as usize);
    let window = bytes.get(from as usize..to as usize)?;
    for magic_at in memchr::memmem::find_iter(window, &MAGIC_START) {
        let Some(position) = (from + magic_at as u64).checked_sub(4).filter(|&position| position >= from)
        else {
            continue;
        };
        if let Ok(Found::Record(record)) = look(&bytes[position as usize..])
            && record.physical_offset() == (segment.start() + position).cast_signed()
            && record.body_is_intact()
        {
            return Some(position);
        }
    }
    None
}

/// Whether what stands at a position is the mark of a file's unused rest, with a damaged size or magic.
/// No record has that size, since each leaves room for the mark.
pub(super) fn is_damaged_blank(segment: &Segment, position: u64) -> bool {
    let rest = segment.bytes(position as usize..segment.size() as usize);
    rest.len() >= HEAD_BYTES
        && (u32::from_be_bytes(field(rest, SIZE_AT)) as usize == rest.len()
            || u32::from_be_bytes(field(rest, MAGIC_AT)) == BLANK_MAGIC)
}

/// Whether nothing stands from a position of a file on: a hole, which is known without reading it.
pub(in crate::log) fn is_unused(segment: &Segment, position: u64) -> bool {
    let left = segment.data_end().saturating_sub(position);
    left == 0
        || (left < HEAD_BYTES as u64
            && segment.bytes(position as usize..segment.data_end() as usize).iter().all(|&byte| byte == 0))
}

/// Whether a record was written at an offset, but not made visible.
pub(super) fn is_hidden(segment: &Segment, offset: u64) -> bool {
    let position = offset - segment.start();
    if is_unused(segment, position) {
        return false;
    }
    let rest = segment.bytes(position as usize..segment.size() as usize);
    rest.len() > PHYSICAL_OFFSET_AT + 8
        && rest[..HEAD_BYTES] == [0; HEAD_BYTES]
        && offset > 0
        && u64::from_be_bytes(field(rest, PHYSICAL_OFFSET_AT)) == offset
}

/// Whether a record's end looks like pages that never reached the disk. Only the body has a checksum, and
/// neither a topic nor properties end in a zero.
pub(super) fn ends_in_zeros(record: &Record<'_>) -> bool {
    record.topic().last() == Some(&0) || record.properties().last() == Some(&0)
}
