//! Eight bytes looked at as one number.

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The byte, eight times.
pub const fn repeat(byte: u8) -> u64 {
    LOW_BITS * byte as u64
}

/// The high bit of each byte that is zero. Bytes above the lowest such byte may be marked wrongly.
#[inline]
pub const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(LOW_BITS) & !word & HIGH_BITS
}

/// The high bit of each byte below `limit`, which is at most 128. The same caution holds.
#[inline]
pub const fn bytes_below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(repeat(limit)) & !word & HIGH_BITS
}
