//! The entry of 52 bytes that a timer's message has in the timer log.

use crate::message::layout::field;

pub const UNIT_BYTES: usize = 52;
pub const NO_POSITION: i64 = -1;

const PREVIOUS_AT: usize = 4;
const MAGIC_AT: usize = 12;
const WRITTEN_AT: usize = 16;
const DELAY_AT: usize = 24;
const PHYSICAL_AT: usize = 28;
const SIZE_AT: usize = 36;
const TOPIC_HASH_AT: usize = 40;
const _: () = assert!(TOPIC_HASH_AT + 4 + 8 == UNIT_BYTES);

/// Bits of a unit's magic. Java ignores `AT_ONCE`: such a message was late and went on without the wheel.
pub mod magic {
    pub const DEFAULT: i32 = 1;
    pub const ROLL: i32 = 2;
    pub const DELETE: i32 = 4;
    pub const AT_ONCE: i32 = 8;
    pub const ALL: i32 = 15;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Position of the unit before it in the same slot.
    pub previous: i64,
    pub magic: i32,
    pub written_ms: i64,
    /// From `written_ms` to the time of its slot.
    pub delay_ms: i32,
    pub physical_offset: i64,
    pub size: i32,
    pub topic_hash: i32,
}

impl Unit {
    pub fn encode(&self) -> [u8; UNIT_BYTES] {
        let mut out = [0; UNIT_BYTES];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &(UNIT_BYTES as i32).to_be_bytes());
        put(PREVIOUS_AT, &self.previous.to_be_bytes());
        put(MAGIC_AT, &self.magic.to_be_bytes());
        put(WRITTEN_AT, &self.written_ms.to_be_bytes());
        put(DELAY_AT, &self.delay_ms.to_be_bytes());
        put(PHYSICAL_AT, &self.physical_offset.to_be_bytes());
        put(SIZE_AT, &self.size.to_be_bytes());
        put(TOPIC_HASH_AT, &self.topic_hash.to_be_bytes());
        out
    }

    /// The unit that stands in these bytes, if one does.
    pub fn decode(bytes: &[u8; UNIT_BYTES]) -> Option<Self> {
        let magic = i32::from_be_bytes(field(bytes, MAGIC_AT));
        let is_unit = i32::from_be_bytes(field(bytes, 0)) == UNIT_BYTES as i32;
        if !is_unit || magic & !magic::ALL != 0 {
            return None;
        }
        Some(Self {
            previous: i64::from_be_bytes(field(bytes, PREVIOUS_AT)),
            magic,
            written_ms: i64::from_be_bytes(field(bytes, WRITTEN_AT)),
            delay_ms: i32::from_be_bytes(field(bytes, DELAY_AT)),
            physical_offset: i64::from_be_bytes(field(bytes, PHYSICAL_AT)),
            size: i32::from_be_bytes(field(bytes, SIZE_AT)),
            topic_hash: i32::from_be_bytes(field(bytes, TOPIC_HASH_AT)),
        })
    }

    /// The time of its slot.
    pub fn time_ms(&self) -> i64 {
        self.written_ms.saturating_add(i64::from(self.delay_ms))
    }

    pub fn is(&self, bit: i32) -> bool {
        self.magic & bit != 0
    }
}
