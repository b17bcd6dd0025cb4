//! A glance at a record that is what its queue says: most are, and to take all of it apart costs a reader more.

use super::crc;
use super::layout::{
    BODY_AT, BODY_CRC_AT, BODY_LEN_AT, MAGIC_AT, PHYSICAL_OFFSET_AT, QUEUE_ID_AT, QUEUE_OFFSET_AT, SIZE_AT,
    SYS_FLAG_AT, TOPIC_BYTES_MAX_V1, Version, field, sys_flag,
};

const HOSTS_V6: i32 = sys_flag::BORN_HOST_V6 | sys_flag::STORE_HOST_V6;

/// What a queue says of a message of its own.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    pub topic: &'a [u8],
    pub queue_id: i32,
    pub queue_offset: i64,
    pub physical_offset: i64,
}

impl Expected<'_> {
    /// The message, if `bytes` are plainly it and nothing else. For a record of version 2 or with a host of IPv6, and
    /// for whatever is not as expected, this is `None`, and [`Record::parse`](super::Record::parse) tells more.
    #[inline]
    pub fn glance<'b>(&self, bytes: &'b [u8]) -> Option<Glanced<'b>> {
        let (head, rest): (&[u8; BODY_AT], _) = bytes.split_first_chunk()?;
        let is_it = u32::from_be_bytes(field(head, SIZE_AT)) as usize == bytes.len()
            && u32::from_be_bytes(field(head, MAGIC_AT)) == Version::V1.magic()
            && i32::from_be_bytes(field(head, SYS_FLAG_AT)) & HOSTS_V6 == 0
            && i32::from_be_bytes(field(head, QUEUE_ID_AT)) == self.queue_id
            && i64::from_be_bytes(field(head, QUEUE_OFFSET_AT)) == self.queue_offset
            && i64::from_be_bytes(field(head, PHYSICAL_OFFSET_AT)) == self.physical_offset;
        if !is_it {
            return None;
        }
        let (body, rest) = rest.split_at_checked(u32::from_be_bytes(field(head, BODY_LEN_AT)) as usize)?;
        let (&topic_len, rest) = rest.split_first()?;
        let (topic, rest) = rest.split_at_checked(self.topic.len())?;
        let (properties_len, properties) = rest.split_first_chunk()?;
        let is_whole = topic.len() <= TOPIC_BYTES_MAX_V1
            && topic.len() == usize::from(topic_len)
            && topic == self.topic
            && usize::try_from(i16::from_be_bytes(*properties_len)) == Ok(properties.len());
        is_whole.then_some(Glanced { head, body })
    }
}

/// A record whose lengths add up, and which is the one that was expected.
#[derive(Clone, Copy, Debug)]
pub struct Glanced<'a> {
    head: &'a [u8; BODY_AT],
    body: &'a [u8],
}

impl Glanced<'_> {
    /// Whether the stored checksum is that of the body.
    pub fn body_is_intact(&self) -> bool {
        u32::from_be_bytes(field(self.head, BODY_CRC_AT)) == crc::body_crc(self.body)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::samples::{any_message, any_stamp, encoded, host, plain, stamp, usual};
    use crate::message::{Draft, Record};

    const EXPECTED: Expected<'_> =
        Expected { topic: b"Topic", queue_id: 2, queue_offset: 3, physical_offset: 400 };

    fn sample() -> Vec<u8> {
        let draft = Draft { queue_id: 2, properties: b"k\x01v\x02", ..plain(b"Topic", b"hello") };
        encoded(&draft, usual(&draft), stamp(3, 400, 6))
    }

    /// Whether the whole record, taken apart, is the one that is expected.
    fn is_it_by_parsing(expected: &Expected<'_>, bytes: &[u8]) -> bool {
        Record::parse(bytes).is_ok_and(|record| {
            record.size() == bytes.len()
                && record.topic() == expected.topic
                && record.queue_id() == expected.queue_id
                && record.queue_offset() == expected.queue_offset
                && record.physical_offset() == expected.physical_offset
        })
    }

    #[test]
    fn the_expected_record_is_known_at_a_glance() {
        let mut bytes = sample();
        assert!(EXPECTED.glance(&bytes).unwrap().body_is_intact());
        bytes[BODY_AT] ^= 1;
        assert!(!EXPECTED.glance(&bytes).unwrap().body_is_intact());
    }

    #[test]
    fn a_record_of_another_place_is_not_the_expected_one() {
        let bytes = sample();
        for other in [
            Expected { topic: b"Topi", ..EXPECTED },
            Expected { topic: b"TopiC", ..EXPECTED },
            Expected { topic: b"Topics", ..EXPECTED },
            Expected { queue_id: 1, ..EXPECTED },
            Expected { queue_offset: 4, ..EXPECTED },
            Expected { physical_offset: 0, ..EXPECTED },
        ] {
            assert!(other.glance(&bytes).is_none(), "{other:?}");
        }
    }

    #[test]
    fn a_longer_or_shorter_piece_of_the_log_is_not_the_record() {
        let bytes = sample();
        assert!((0..bytes.len()).all(|len| EXPECTED.glance(&bytes[..len]).is_none()));
        assert!(EXPECTED.glance(&[&bytes[..], &[0]].concat()).is_none());
    }

    #[test]
    fn hosts_of_ipv6_and_long_topics_ask_for_a_closer_look() {
        let draft = Draft { queue_id: 2, born_host: host("[fe80::1]:1"), ..plain(b"Topic", b"hello") };
        assert!(EXPECTED.glance(&encoded(&draft, usual(&draft), stamp(3, 400, 6))).is_none());
        let draft = Draft { queue_id: 2, ..plain(&[b'T'; 200], b"hello") };
        let expected = Expected { topic: &[b'T'; 200], ..EXPECTED };
        assert!(expected.glance(&encoded(&draft, usual(&draft), stamp(3, 400, 6))).is_none());
    }

    proptest! {
        #[test]
        fn a_glance_never_says_yes_to_what_parsing_says_no_to(
            message in any_message(),
            at in any_stamp(),
            place in any::<prop::sample::Index>(),
            value in any::<u8>(),
        ) {
            let draft = message.draft();
            let mut bytes = encoded(&draft, usual(&draft), at);
            let expected = Expected {
                topic: draft.topic,
                queue_id: draft.queue_id,
                queue_offset: at.queue_offset,
                physical_offset: at.physical_offset,
            };
            let is_plain = draft.topic.len() <= TOPIC_BYTES_MAX_V1
                && draft.born_host.is_ipv4()
                && draft.store_host.is_ipv4();
            prop_assert_eq!(expected.glance(&bytes).is_some(), is_plain);
            let place = place.index(bytes.len());
            bytes[place] = value;
            prop_assert!(expected.glance(&bytes).is_none() || is_it_by_parsing(&expected, &bytes));
        }
    }
}
