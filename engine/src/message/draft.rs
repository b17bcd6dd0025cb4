//! Writes a message that is about to be stored.

use std::net::SocketAddr;
use std::sync::atomic::{Ordering, fence};

use super::crc::{self, PROPERTY_CRC_BYTES};
use super::host;
use super::layout::{
    BODY_AT, HEAD_BYTES, HOST_V4_BYTES, MAGIC_AT, PROPERTIES_BYTES_MAX, TOPIC_BYTES_MAX, TOPIC_BYTES_MAX_V1,
    TransactionType, Version, property, sys_flag,
};

/// A message to be stored.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    pub topic: &'a [u8],
    pub queue_id: i32,
    pub flag: i32,
    /// The bits for IPv6 hosts are set from the addresses, whatever they are here.
    pub sys_flag: i32,
    pub born_timestamp: i64,
    pub born_host: SocketAddr,
    pub store_host: SocketAddr,
    pub reconsume_times: i32,
    pub prepared_offset: i64,
    pub body: &'a [u8],
    pub properties: &'a [u8],
}

/// How to write a draft.
#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    /// [`crc::body_crc`] of the body, computed by the caller outside of any lock.
    pub body_crc: u32,
    /// End the properties with a checksum over the record.
    pub property_crc: bool,
    /// Write version 2 when the topic needs it; otherwise such a topic is refused.
    pub long_topics: bool,
}

/// What is known of a record only once its place in the log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub queue_offset: i64,
    pub physical_offset: i64,
    pub store_timestamp: i64,
}

/// A message that no record can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unstorable {
    #[error("the topic has {len} bytes; at most {max} can be stored")]
    TopicTooLong { len: usize, max: usize },
    #[error("the properties take {len} bytes; at most {PROPERTIES_BYTES_MAX} can be stored")]
    PropertiesTooLong { len: usize },
    #[error("the record would have {len} bytes; its size must fit a 32-bit int")]
    RecordTooLong { len: usize },
}

impl<'a> Draft<'a> {
    /// Checks the lengths and settles version, flags and size.
    #[inline]
    pub fn prepare(&'a self, encoding: Encoding) -> Result<Prepared<'a>, Unstorable> {
        let topic_len = self.topic.len();
        let topic_len_max = if encoding.long_topics { TOPIC_BYTES_MAX } else { TOPIC_BYTES_MAX_V1 };
        if topic_len > topic_len_max {
            return Err(Unstorable::TopicTooLong { len: topic_len, max: topic_len_max });
        }
        let version = if topic_len > TOPIC_BYTES_MAX_V1 { Version::V2 } else { Version::V1 };

        let ends_open = self.properties.last().is_some_and(|&last| last != property::VALUE_END);
        let closes_properties = encoding.property_crc && ends_open;
        let crc_len = if encoding.property_crc { PROPERTY_CRC_BYTES } else { 0 };
        let properties_len = self.properties.len() + usize::from(closes_properties) + crc_len;
        if properties_len > PROPERTIES_BYTES_MAX {
            return Err(Unstorable::PropertiesTooLong { len: properties_len });
        }

        let hosts_len = host::encoded_len(&self.born_host) + host::encoded_len(&self.store_host);
        let fixed_len = BODY_AT - 2 * HOST_V4_BYTES + hosts_len + version.topic_len_bytes() + 2;
        let len = fixed_len + self.body.len() + topic_len + properties_len;
        if len > i32::MAX as usize {
            return Err(Unstorable::RecordTooLong { len });
        }
        Ok(Prepared { draft: self, encoding, version, closes_properties, properties_len, len })
    }

    fn stored_sys_flag(&self) -> i32 {
        let mut flag = self.sys_flag & !(sys_flag::BORN_HOST_V6 | sys_flag::STORE_HOST_V6);
        if self.born_host.is_ipv6() {
            flag |= sys_flag::BORN_HOST_V6;
        }
        if self.store_host.is_ipv6() {
            flag |= sys_flag::STORE_HOST_V6;
        }
        flag
    }
}

/// A draft whose size is settled.
///
/// A record is written in two steps, so that a process killed between any two instructions leaves either the
/// whole record or nothing at its position: [`encode_hidden`](Self::encode_hidden) writes all but the size and
/// magic, [`reveal`](Self::reveal) adds those. To make a batch appear at once, hide all its records and reveal
/// them from the last to the first.
#[derive(Clone, Copy, Debug)]
pub struct Prepared<'a> {
    draft: &'a Draft<'a>,
    encoding: Encoding,
    version: Version,
    closes_properties: bool,
    properties_len: usize,
    len: usize,
}

impl Prepared<'_> {
    /// The size of the record.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        self.len
    }

    #[inline]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Whether the record takes the next place in its queue.
    #[inline]
    pub fn takes_queue_offset(&self) -> bool {
        TransactionType::of_sys_flag(self.draft.sys_flag).is_consumable()
    }

    /// Writes the record with a head of zeros.
    ///
    /// # Panics
    /// If `out.len()` is not `encoded_len()`.
    #[inline]
    pub fn encode_hidden(&self, out: &mut [u8], at: Stamp) {
        assert_eq!(out.len(), self.len, "the space for a record must have its size");
        let draft = self.draft;
        // The head of an older record that stood here must go before its content changes.
        out[..HEAD_BYTES].fill(0);
        fence(Ordering::Release);

        let mut cursor = Cursor { rest: &mut out[HEAD_BYTES..] };
        cursor.put(&self.encoding.body_crc.to_be_bytes());
        cursor.put(&draft.queue_id.to_be_bytes());
        cursor.put(&draft.flag.to_be_bytes());
        cursor.put(&at.queue_offset.to_be_bytes());
        cursor.put(&at.physical_offset.to_be_bytes());
        cursor.put(&draft.stored_sys_flag().to_be_bytes());
        cursor.put(&draft.born_timestamp.to_be_bytes());
        cursor.put_host(&draft.born_host);
        cursor.put(&at.store_timestamp.to_be_bytes());
        cursor.put_host(&draft.store_host);
        cursor.put(&draft.reconsume_times.to_be_bytes());
        cursor.put(&draft.prepared_offset.to_be_bytes());
        cursor.put(&(draft.body.len() as u32).to_be_bytes());
        cursor.put(draft.body);
        match self.version {
            Version::V1 => cursor.put(&(draft.topic.len() as u8).to_be_bytes()),
            Version::V2 => cursor.put(&(draft.topic.len() as u16).to_be_bytes()),
        }
        cursor.put(draft.topic);
        cursor.put(&(self.properties_len as u16).to_be_bytes());
        cursor.put(draft.properties);
        if self.closes_properties {
            cursor.put(&[property::VALUE_END]);
        }
        if self.encoding.property_crc {
            self.seal(out);
        }
    }

    /// Makes a hidden record visible with one write.
    ///
    /// # Panics
    /// If `out.len()` is not `encoded_len()`.
    #[inline]
    pub fn reveal(&self, out: &mut [u8]) {
        assert_eq!(out.len(), self.len, "the space for a record must have its size");
        fence(Ordering::Release);
        out[..HEAD_BYTES].copy_from_slice(&self.head());
    }

    #[inline]
    fn head(&self) -> [u8; HEAD_BYTES] {
        ((self.len as u64) << (8 * MAGIC_AT) | u64::from(self.version.magic())).to_be_bytes()
    }

    /// Writes the checksum property, which covers the head as it will be revealed.
    #[cold]
    fn seal(&self, out: &mut [u8]) {
        let (covered, seal) = out.split_at_mut(self.len - PROPERTY_CRC_BYTES);
        let crc = crc::crc_of_parts(&self.head(), &covered[HEAD_BYTES..]);
        seal.copy_from_slice(&crc::property_crc_text(crc));
    }
}

struct Cursor<'a> {
    rest: &'a mut [u8],
}

impl Cursor<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        let (here, rest) = std::mem::take(&mut self.rest).split_at_mut(bytes.len());
        here.copy_from_slice(bytes);
        self.rest = rest;
    }

    #[inline]
    fn put_host(&mut self, host: &SocketAddr) {
        let len = host::encode(host, self.rest);
        self.rest = &mut std::mem::take(&mut self.rest)[len..];
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::record::{PropertyCrc, Record};
    use crate::message::samples::{
        EVERY_FIELD, IPV6_HOSTS, any_message, any_stamp, encoded, host, plain, stamp, unhex, usual,
    };

    const NO_CRC: Encoding = Encoding { body_crc: 0, property_crc: false, long_topics: true };

    // shows: CL-13
    #[test]
    fn a_record_with_every_field_has_the_published_bytes() {
        let draft = Draft {
            topic: b"T",
            queue_id: 1,
            flag: 2,
            sys_flag: 0,
            born_timestamp: 5,
            born_host: host("10.0.0.1:1"),
            store_host: host("10.0.0.2:10911"),
            reconsume_times: 7,
            prepared_offset: 8,
            body: b"hello",
            properties: b"k\x01v\x02",
        };
        assert_eq!(encoded(&draft, NO_CRC, stamp(3, 4, 6)), unhex(EVERY_FIELD));
    }

    // shows: CL-31
    #[test]
    fn ipv6_hosts_set_their_flags_and_take_more_room() {
        let draft = Draft {
            queue_id: 1,
            born_host: host("[fe80::1]:1"),
            store_host: host("[fe80::2]:2"),
            ..plain(b"T", b"hello")
        };
        assert_eq!(encoded(&draft, NO_CRC, stamp(0, 4, 0)), unhex(IPV6_HOSTS));
    }

    #[test]
    fn ipv6_flags_of_the_client_do_not_survive_ipv4_hosts() {
        let draft = Draft { sys_flag: 0x38, ..plain(b"T", b"") };
        let bytes = encoded(&draft, usual(&draft), stamp(0, 0, 0));
        assert_eq!(Record::parse(&bytes).unwrap().sys_flag(), 0x8);
    }

    // shows: CL-14, U-23
    #[test]
    fn the_sample_record_has_129_bytes() {
        let draft = plain(b"FooBar", b"Once, there was a chance for me!");
        let bytes = encoded(&draft, usual(&draft), stamp(0, 0, 0));
        assert_eq!(bytes.len(), 129);
        let record = Record::parse(&bytes).unwrap();
        assert_eq!(record.body_crc(), 151_131_488);
        assert_eq!(record.born_host(), Some(host("127.0.0.1:0")));
        assert_eq!(record.offset_message_id(), "0A00065200001FBB0000000000000000");
    }

    // shows: CL-23
    #[test]
    fn an_empty_body_has_length_zero() {
        let draft = plain(b"T", b"");
        let bytes = encoded(&draft, usual(&draft), stamp(0, 0, 0));
        assert_eq!(bytes.len(), 92);
        assert!(Record::parse(&bytes).unwrap().body_is_intact());
    }

    #[test]
    fn a_hidden_record_shows_no_head_even_over_old_bytes() {
        let draft = plain(b"T", b"hello");
        let prepared = draft.prepare(usual(&draft)).unwrap();
        let mut out = encoded(&draft, usual(&draft), stamp(9, 9, 9));
        prepared.encode_hidden(&mut out, stamp(1, 2, 3));
        assert_eq!(out[..HEAD_BYTES], [0; HEAD_BYTES]);
        prepared.reveal(&mut out);
        assert_eq!(out, encoded(&draft, usual(&draft), stamp(1, 2, 3)));
    }

    #[test]
    fn a_topic_above_127_bytes_takes_version_2() {
        for (len, version) in [(127, Version::V1), (128, Version::V2), (255, Version::V2)] {
            let topic = vec![b't'; len];
            let draft = plain(&topic, b"x");
            let bytes = encoded(&draft, usual(&draft), stamp(0, 0, 0));
            let record = Record::parse(&bytes).unwrap();
            assert_eq!((record.version(), record.topic()), (version, &topic[..]));
        }
    }

    #[test]
    fn a_topic_that_fits_no_allowed_version_is_refused() {
        let refusal = |len, long_topics| {
            plain(&vec![b't'; len], b"").prepare(Encoding { long_topics, ..NO_CRC }).map(|_| ()).unwrap_err()
        };
        assert_eq!(refusal(128, false), Unstorable::TopicTooLong { len: 128, max: 127 });
        assert_eq!(refusal(256, true), Unstorable::TopicTooLong { len: 256, max: 255 });
    }

    // shows: CL-21
    #[test]
    fn properties_are_limited_with_their_checksum_counted() {
        let length = |len, property_crc| {
            let text = vec![property::VALUE_END; len];
            let draft = Draft { properties: &text, ..plain(b"T", b"") };
            draft.prepare(Encoding { property_crc, ..NO_CRC }).map(|prepared| prepared.encoded_len())
        };
        assert_eq!(length(32_767, false), Ok(92 + 32_767));
        assert_eq!(length(32_768, false), Err(Unstorable::PropertiesTooLong { len: 32_768 }));
        assert_eq!(length(32_747, true), Ok(92 + 32_767));
        assert_eq!(length(32_748, true), Err(Unstorable::PropertiesTooLong { len: 32_768 }));
    }

    #[test]
    fn the_property_checksum_is_the_last_property() {
        for (given, before) in
            [(&b""[..], &b""[..]), (b"k\x01v\x02", b"k\x01v\x02"), (b"k\x01v", b"k\x01v\x02")]
        {
            let draft = Draft { properties: given, ..plain(b"T", b"hello") };
            let encoding = Encoding { property_crc: true, ..usual(&draft) };
            let bytes = encoded(&draft, encoding, stamp(1, 2, 3));
            let crc = crc::body_crc(&bytes[..bytes.len() - PROPERTY_CRC_BYTES]);
            let record = Record::parse(&bytes).unwrap();
            assert_eq!(record.properties(), [before, &crc::property_crc_text(crc)].concat());
            assert_eq!(record.property_crc_state(), PropertyCrc::Intact);
        }
    }

    proptest! {
        #[test]
        fn every_draft_reads_back(message in any_message(), at in any_stamp()) {
            let draft = message.draft();
            let bytes = encoded(&draft, usual(&draft), at);
            let record = Record::parse(&bytes).unwrap();
            prop_assert_eq!(record.bytes(), &bytes[..]);
            prop_assert_eq!(record.queue_id(), draft.queue_id);
            prop_assert_eq!(record.flag(), draft.flag);
            prop_assert_eq!(record.sys_flag(), draft.stored_sys_flag());
            prop_assert_eq!(record.born_timestamp(), draft.born_timestamp);
            prop_assert_eq!(record.born_host(), Some(draft.born_host));
            prop_assert_eq!(record.store_host(), Some(draft.store_host));
            prop_assert_eq!(record.reconsume_times(), draft.reconsume_times);
            prop_assert_eq!(record.prepared_offset(), draft.prepared_offset);
            prop_assert_eq!(record.body(), draft.body);
            prop_assert_eq!(record.topic(), draft.topic);
            prop_assert_eq!(record.properties(), draft.properties);
            prop_assert_eq!(record.queue_offset(), at.queue_offset);
            prop_assert_eq!(record.physical_offset(), at.physical_offset);
            prop_assert_eq!(record.store_timestamp(), at.store_timestamp);
            prop_assert!(record.body_is_intact());
        }
    }
}
