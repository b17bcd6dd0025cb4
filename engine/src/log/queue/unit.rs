//! The entry of a consume queue: where a message lies in the log, and its tag.

/// Physical offset, size, tags code; big-endian.
pub const UNIT_BYTES: usize = 8 + 4 + 8;
const _: () = assert!(UNIT_BYTES == 20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// The message's first byte in the log.
    pub physical_offset: i64,
    /// The message's stored size.
    pub size: i32,
    /// The tag's hash, a delivery time, or an address in the queue's extension.
    pub tags_code: i64,
}

impl Unit {
    /// Stands before the first message of a queue that does not begin at a file's first unit.
    pub const BLANK: Self = Self { physical_offset: 0, size: i32::MAX, tags_code: 0 };

    pub fn encode(&self) -> [u8; UNIT_BYTES] {
        let mut bytes = [0; UNIT_BYTES];
        bytes[..8].copy_from_slice(&self.physical_offset.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.size.to_be_bytes());
        bytes[12..].copy_from_slice(&self.tags_code.to_be_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8; UNIT_BYTES]) -> Self {
        let [p0, p1, p2, p3, p4, p5, p6, p7, s0, s1, s2, s3, tag @ ..] = *bytes;
        Self {
            physical_offset: i64::from_be_bytes([p0, p1, p2, p3, p4, p5, p6, p7]),
            size: i32::from_be_bytes([s0, s1, s2, s3]),
            tags_code: i64::from_be_bytes(tag),
        }
    }

    /// Whether the unit can name a message (or is blank); a hole of zeros or a torn write cannot.
    pub fn is_valid(&self) -> bool {
        self.physical_offset >= 0 && self.size > 0
    }

    pub fn is_blank(&self) -> bool {
        *self == Self::BLANK
    }

    /// One past the message's last byte in the log.
    pub fn physical_end(&self) -> i64 {
        self.physical_offset.saturating_add(i64::from(self.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: CQ-01
    #[test]
    fn a_unit_is_offset_size_and_tag_in_twenty_big_endian_bytes() {
        let unit = Unit { physical_offset: 0x0102_0304_0506_0708, size: 0x1112_1314, tags_code: -2 };
        let bytes =
            [1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe];
        assert_eq!(unit.encode(), bytes);
        assert_eq!(Unit::decode(&bytes), unit);
    }

    #[test]
    fn a_blank_unit_has_only_the_largest_size() {
        let bytes = [0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(Unit::BLANK.encode(), bytes);
        assert!(Unit::BLANK.is_blank() && Unit::BLANK.is_valid());
    }

    #[test]
    fn zeros_and_negative_fields_are_not_valid() {
        let good = Unit { physical_offset: 0, size: 1, tags_code: 0 };
        assert!(good.is_valid());
        assert!(!Unit::decode(&[0; UNIT_BYTES]).is_valid());
        assert!(!Unit { size: -1, ..good }.is_valid());
        assert!(!Unit { physical_offset: -1, ..good }.is_valid());
    }
}
