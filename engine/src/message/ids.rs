//! Message ids and the hashes that queues and the index hold.

use std::net::SocketAddr;

use super::host;
use super::layout::{HOST_V4_BYTES, HOST_V6_BYTES, field};

const OFFSET_BYTES: usize = 8;
const ID_BYTES_MAX: usize = HOST_V6_BYTES + OFFSET_BYTES;
pub const ID_TEXT_V4: usize = 2 * (HOST_V4_BYTES + OFFSET_BYTES);
const ID_TEXT_V6: usize = 2 * ID_BYTES_MAX;

const _: () = assert!(ID_TEXT_V4 == 32 && ID_TEXT_V6 == 56);

/// The digits of every byte.
const HEX: [[u8; 2]; 256] = {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut table = [[0; 2]; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = [DIGITS[byte >> 4], DIGITS[byte & 0xF]];
        byte += 1;
    }
    table
};

/// A text that is no offset message id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMessageId {
    #[error("a message id has {ID_TEXT_V4} or {ID_TEXT_V6} characters, not {0}")]
    Length(usize),
    #[error("a message id has only hexadecimal digits")]
    Digit,
    #[error("the port in the message id is above 65535")]
    Port,
}

/// The text of an offset message id, without a place on the heap.
#[derive(Clone, Copy, Debug)]
pub struct MessageId {
    text: [u8; ID_TEXT_V6],
    len: usize,
}

impl MessageId {
    /// The id of the record at `physical_offset` of the broker at `store_host`.
    pub fn new(store_host: &SocketAddr, physical_offset: i64) -> Self {
        let mut bytes = [0; HOST_V6_BYTES];
        let len = host::encode(store_host, &mut bytes);
        Self::of_field(&bytes[..len], physical_offset)
    }

    /// From a host field as stored.
    #[inline]
    pub(super) fn of_field(host: &[u8], physical_offset: i64) -> Self {
        let mut id = Self { text: [0; ID_TEXT_V6], len: 2 * (host.len() + OFFSET_BYTES) };
        put_hex(&mut id.text, host);
        id.set_offset(physical_offset);
        id
    }

    /// Turn it into the id of another record of the same broker.
    #[inline]
    fn set_offset(&mut self, physical_offset: i64) {
        put_hex(&mut self.text[self.len - 2 * OFFSET_BYTES..], &physical_offset.to_be_bytes());
    }

    /// Digits only.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[..self.len]
    }

    pub fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

/// The id of the record at `physical_offset` of the broker at `store_host`.
pub fn encode_message_id(store_host: &SocketAddr, physical_offset: i64) -> String {
    MessageId::new(store_host, physical_offset).as_str().to_owned()
}

/// The ids of records of one broker, joined by commas.
pub fn join_message_ids(store_host: &SocketAddr, physical_offsets: &[u64]) -> String {
    let mut id = MessageId::new(store_host, 0);
    let mut text = Vec::with_capacity(physical_offsets.len() * (id.len + 1));
    for offset in physical_offsets {
        id.set_offset(offset.cast_signed());
        text.extend_from_slice(id.as_bytes());
        text.push(b',');
    }
    text.pop();
    String::from_utf8(text).unwrap_or_default() // digits and commas
}

#[inline]
fn put_hex(text: &mut [u8], bytes: &[u8]) {
    for (digits, byte) in text.chunks_exact_mut(2).zip(bytes) {
        digits.copy_from_slice(&HEX[usize::from(*byte)]);
    }
}

/// The store host and physical offset in an id, with digits of either case.
pub fn decode_message_id(text: &[u8]) -> Result<(SocketAddr, i64), BadMessageId> {
    if !matches!(text.len(), ID_TEXT_V4 | ID_TEXT_V6) {
        return Err(BadMessageId::Length(text.len()));
    }
    let mut bytes = [0; ID_BYTES_MAX];
    let bytes = &mut bytes[..text.len() / 2];
    for (byte, &[high, low]) in bytes.iter_mut().zip(text.as_chunks().0) {
        *byte = hex_digit(high)? << 4 | hex_digit(low)?;
    }
    let (host, offset) = bytes.split_at(bytes.len() - OFFSET_BYTES);
    let host = host::decode(host).ok_or(BadMessageId::Port)?;
    Ok((host, i64::from_be_bytes(field(offset, 0))))
}

fn hex_digit(character: u8) -> Result<u8, BadMessageId> {
    let digit = char::from(character).to_digit(16).ok_or(BadMessageId::Digit)?;
    Ok(digit as u8)
}

/// Java's `String.hashCode` of UTF-8 text.
///
/// Malformed bytes count as U+FFFD, as many times as Java's decoder would put it.
#[inline]
pub fn java_hash(text: &[u8]) -> i32 {
    extend_hash(0, text)
}

/// What a consume queue keeps of the whole TAGS text.
#[inline]
pub fn tags_code(tags: &[u8]) -> i64 {
    i64::from(java_hash(tags))
}

/// What the index's hashes of one topic have in common.
#[derive(Clone, Copy, Debug)]
pub struct TopicHash(i32);

impl TopicHash {
    #[inline]
    pub fn of(topic: &[u8]) -> Self {
        Self(hash_unit(java_hash(topic), u16::from(b'#')))
    }

    /// The hash of `topic#key`, never negative.
    #[inline]
    pub fn with_key(self, key: &[u8]) -> i32 {
        // The smallest int has no positive twin: Java's abs leaves it negative, and the index takes 0 instead.
        extend_hash(self.0, key).checked_abs().unwrap_or(0)
    }

    /// The hash of `topic#T#tags`, under which 5.5.0, unlike 5.3.4, also enters a message's tags.
    #[inline]
    pub fn with_tags(self, tags: &[u8]) -> i32 {
        Self(extend_hash(self.0, b"T#")).with_key(tags)
    }
}

#[inline]
const fn hash_unit(hash: i32, unit: u16) -> i32 {
    hash.wrapping_mul(31).wrapping_add(unit as i32)
}

#[inline]
fn extend_hash(hash: i32, text: &[u8]) -> i32 {
    if text.is_ascii() { extend_hash_ascii(hash, text) } else { extend_hash_utf8(hash, text) }
}

/// Four characters per step, so that the multiplications do not wait for each other.
#[inline]
fn extend_hash_ascii(mut hash: i32, text: &[u8]) -> i32 {
    let (blocks, tail) = text.as_chunks();
    for &[a, b, c, d] in blocks {
        let block =
            i32::from(a) * (31 * 31 * 31) + i32::from(b) * (31 * 31) + i32::from(c) * 31 + i32::from(d);
        hash = hash.wrapping_mul(31 * 31 * 31 * 31).wrapping_add(block);
    }
    tail.iter().fold(hash, |hash, &byte| hash_unit(hash, u16::from(byte)))
}

#[cold]
fn extend_hash_utf8(mut hash: i32, mut text: &[u8]) -> i32 {
    while let Some(chunk) = text.utf8_chunks().next() {
        hash = chunk.valid().encode_utf16().fold(hash, hash_unit);
        let bad = &text[chunk.valid().len()..];
        // Rust replaces each byte of an encoded surrogate, Java the whole sequence.
        let bad_len = match bad {
            [0xED, 0xA0..=0xBF, 0x80..=0xBF, ..] => 3,
            [0xED, 0xA0..=0xBF, ..] => 2,
            _ => chunk.invalid().len(),
        };
        if bad_len > 0 {
            hash = hash_unit(hash, char::REPLACEMENT_CHARACTER as u16);
        }
        text = &bad[bad_len..];
    }
    hash
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use proptest::prelude::*;

    use super::*;

    fn id(host: &str, offset: i64) -> String {
        encode_message_id(&host.parse().unwrap(), offset)
    }

    // shows: CL-17
    #[test]
    fn an_offset_message_id_is_host_and_offset_in_upper_case_hex() {
        assert_eq!(id("10.0.6.82:8123", 0), "0A00065200001FBB0000000000000000");
        assert_eq!(id("10.0.0.1:10911", 123_456), "0A00000100002A9F000000000001E240");
        assert_eq!(id("[fe80::2]:2", 4), "FE800000000000000000000000000002000000020000000000000004");
    }

    #[test]
    fn the_ids_of_a_batch_are_joined_by_commas() {
        for host in ["10.0.0.1:10911", "[fe80::2]:2"] {
            let joined = join_message_ids(&host.parse().unwrap(), &[0, 300, 123_456]);
            assert_eq!(joined, [id(host, 0), id(host, 300), id(host, 123_456)].join(","));
        }
        assert_eq!(join_message_ids(&"10.0.0.1:1".parse().unwrap(), &[]), "");
    }

    #[test]
    fn lower_case_ids_are_read_too() {
        let read = decode_message_id(b"0a00000100002a9f000000000001e240");
        assert_eq!(read, Ok(("10.0.0.1:10911".parse().unwrap(), 123_456)));
    }

    #[test]
    fn texts_that_are_no_ids_are_told_apart() {
        assert_eq!(decode_message_id(b""), Err(BadMessageId::Length(0)));
        assert_eq!(decode_message_id(&[b'0'; 33]), Err(BadMessageId::Length(33)));
        assert_eq!(decode_message_id(&[b'G'; 32]), Err(BadMessageId::Digit));
        assert_eq!(decode_message_id(&[b'F'; 32]), Err(BadMessageId::Port));
    }

    #[test]
    fn hashes_equal_those_of_java() {
        assert_eq!(java_hash(b"TagA"), 2_598_919);
        assert_eq!(java_hash("中文".as_bytes()), 646_394);
        assert_eq!(java_hash(b"polygenelubricants"), i32::MIN);
        assert_eq!(java_hash(b""), 0);
        assert_eq!(java_hash("😀".as_bytes()), 1_772_899);
    }

    /// Values printed by a Java 17 `new String(bytes, UTF_8).hashCode()`.
    #[test]
    fn malformed_text_hashes_as_in_java() {
        assert_eq!(java_hash(b"a\xED\xA0\x80b"), 2_124_838);
        assert_eq!(java_hash(b"a\xED\xA0b"), 2_124_838);
        assert_eq!(java_hash(b"\xED\xA0"), 65_533);
        assert_eq!(java_hash(b"\xED\xA0\xBD\xED\xB8\x80"), 2_097_056);
        assert_eq!(java_hash(b"\xE4\xB8A"), 2_031_588);
        assert_eq!(java_hash(b"\xF0\x90\x80"), 65_533);
        assert_eq!(java_hash(b"\xF0\x80\x80"), 65_074_269);
        assert_eq!(java_hash(b"\xF4\x90\x80\x80"), 2_017_367_872);
        assert_eq!(java_hash(b"\xC0\x80"), 2_097_056);
    }

    #[test]
    fn a_tags_code_keeps_the_sign_of_the_hash() {
        assert_eq!(tags_code(b"polygenelubricants"), -2_147_483_648);
        assert_eq!(tags_code(b""), 0);
    }

    #[test]
    fn the_key_hash_covers_topic_and_key() {
        assert_eq!(TopicHash::of(b"T").with_key(b"k1"), 2_539_445);
        assert_eq!(TopicHash::of(b"T").with_key(b"k2"), 2_539_446);
    }

    #[test]
    fn the_hash_of_tags_covers_topic_kind_and_tags() {
        assert_eq!(TopicHash::of(b"Topic").with_tags(b"TagA"), TopicHash::of(b"Topic").with_key(b"T#TagA"));
        assert_eq!(
            TopicHash::of(b"Topic").with_tags("中文".as_bytes()),
            TopicHash::of(b"Topic").with_key("T#中文".as_bytes())
        );
    }

    #[test]
    fn the_key_hash_of_the_smallest_int_is_zero() {
        assert_eq!(java_hash(b"T#0jdpfbq"), i32::MIN);
        assert_eq!(TopicHash::of(b"T").with_key(b"0jdpfbq"), 0);
    }

    proptest! {
        #[test]
        fn every_id_reads_back(ip: IpAddr, port: u16, offset: i64) {
            let host = SocketAddr::new(ip, port);
            prop_assert_eq!(decode_message_id(encode_message_id(&host, offset).as_bytes()), Ok((host, offset)));
        }

        #[test]
        fn arbitrary_ids_never_panic(text in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = decode_message_id(&text);
        }

        #[test]
        fn hashes_follow_the_definition(text: String) {
            let slow = text.encode_utf16().fold(0, hash_unit);
            prop_assert_eq!(java_hash(text.as_bytes()), slow);
        }

        #[test]
        fn the_block_hash_follows_the_definition(text in "[ -~]{0,40}") {
            let slow = text.encode_utf16().fold(0, hash_unit);
            prop_assert_eq!(java_hash(text.as_bytes()), slow);
        }

        #[test]
        fn the_key_hash_needs_no_joined_text(topic: String, key: String) {
            let joined = java_hash(format!("{topic}#{key}").as_bytes());
            prop_assert_eq!(TopicHash::of(topic.as_bytes()).with_key(key.as_bytes()), joined.checked_abs().unwrap_or(0));
        }

        #[test]
        fn arbitrary_text_never_panics(text in prop::collection::vec(any::<u8>(), 0..60)) {
            java_hash(&text);
        }
    }
}
