//! Checksums: one over the body, and optionally one over the whole record inside its properties.

use super::layout::property;

/// Bytes of the checksum property: name, separator, ten digits, separator.
pub const PROPERTY_CRC_BYTES: usize = property::CRC32.len() + 1 + DIGITS + 1;

/// What the checksum property starts with.
pub(super) const PROPERTY_CRC_PREFIX: &[u8; 9] = b"__CRC32#\x01";

const DIGITS: usize = 10;
const JAVA_INT: u32 = 0x7FFF_FFFF;

const _: () =
    assert!(PROPERTY_CRC_BYTES == 20 && PROPERTY_CRC_PREFIX.len() + DIGITS + 1 == PROPERTY_CRC_BYTES);

/// Properties text without the checksum that ends it, if one does: it belongs to the record.
pub fn without_property_crc(text: &[u8]) -> &[u8] {
    let Some(at) = text.len().checked_sub(PROPERTY_CRC_BYTES) else { return text };
    if text[at..].starts_with(PROPERTY_CRC_PREFIX) { &text[..at] } else { text }
}

/// CRC-32 without its top bit, as Java keeps it in an int.
#[inline]
pub fn body_crc(body: &[u8]) -> u32 {
    crc32fast::hash(body) & JAVA_INT
}

/// As [`body_crc`], over two parts that follow each other.
#[inline]
pub(super) fn crc_of_parts(first: &[u8], second: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(first);
    hasher.update(second);
    hasher.finalize() & JAVA_INT
}

/// The checksum property as stored: digits from the least significant on, padded with `0`.
pub fn property_crc_text(crc: u32) -> [u8; PROPERTY_CRC_BYTES] {
    let mut text = [property::VALUE_END; PROPERTY_CRC_BYTES];
    let (prefix, digits) = text.split_at_mut(PROPERTY_CRC_PREFIX.len());
    prefix.copy_from_slice(PROPERTY_CRC_PREFIX);
    let mut rest = crc;
    for digit in &mut digits[..DIGITS] {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: U-23
    #[test]
    fn body_crc_matches_the_published_values() {
        assert_eq!(body_crc(b"hello"), 907_060_870);
        assert_eq!(body_crc(b""), 0);
        assert_eq!(body_crc(b"Once, there was a chance for me!"), 151_131_488);
    }

    #[test]
    fn the_crc_of_parts_is_the_crc_of_the_whole() {
        assert_eq!(crc_of_parts(b"he", b"llo"), body_crc(b"hello"));
    }

    #[test]
    fn the_property_carries_its_digits_in_reverse() {
        assert_eq!(&property_crc_text(1_234_567_890), b"__CRC32#\x010987654321\x02");
        assert_eq!(&property_crc_text(42), b"__CRC32#\x012400000000\x02");
        assert_eq!(&property_crc_text(u32::MAX), b"__CRC32#\x015927694924\x02");
    }
}
