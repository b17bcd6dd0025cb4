//! Messages that several tests write and read.

use std::net::{IpAddr, SocketAddr};

use proptest::prelude::*;

use super::crc::body_crc;
use super::draft::{Draft, Encoding, Stamp};

/// The published record with every field set; its encoder leaves the body CRC 0.
pub const EVERY_FIELD: &str = "00000065daa320a7000000000000000100000002000000000000000300000000000000040000000000000000\
    000000050a0000010000000100000000000000060a00000200002a9f000000070000000000000008\
    0000000568656c6c6f015400046b017602";

/// The published record with two IPv6 hosts.
pub const IPV6_HOSTS: &str = "00000079daa320a7000000000000000100000000000000000000000000000000000000040000003000000000\
    00000000fe800000000000000000000000000001000000010000000000000000fe800000000000000000000000000002\
    000000020000000000000000000000000000000568656c6c6f01540000";

pub fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&String::from_iter(pair), 16).unwrap()).collect()
}

pub fn host(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A draft in which everything that can be 0 or empty is.
pub fn plain<'a>(topic: &'a [u8], body: &'a [u8]) -> Draft<'a> {
    Draft {
        topic,
        queue_id: 0,
        flag: 0,
        sys_flag: 0,
        born_timestamp: 0,
        born_host: host("127.0.0.1:0"),
        store_host: host("10.0.6.82:8123"),
        reconsume_times: 0,
        prepared_offset: 0,
        body,
        properties: b"",
    }
}

pub fn stamp(queue_offset: i64, physical_offset: i64, store_timestamp: i64) -> Stamp {
    Stamp { queue_offset, physical_offset, store_timestamp }
}

/// The usual encoding of `draft`.
pub fn usual(draft: &Draft<'_>) -> Encoding {
    Encoding { body_crc: body_crc(draft.body), property_crc: false, long_topics: true }
}

pub fn encoded(draft: &Draft<'_>, encoding: Encoding, at: Stamp) -> Vec<u8> {
    let prepared = draft.prepare(encoding).unwrap();
    let mut out = vec![0xEE; prepared.encoded_len()];
    prepared.encode_hidden(&mut out, at);
    prepared.reveal(&mut out);
    out
}

/// Any storable message, with the bytes a draft only borrows.
#[derive(Clone, Debug)]
pub struct Message {
    topic: Vec<u8>,
    body: Vec<u8>,
    properties: Vec<u8>,
    ints: [i32; 4],
    longs: [i64; 2],
    hosts: [SocketAddr; 2],
}

impl Message {
    pub fn draft(&self) -> Draft<'_> {
        Draft {
            topic: &self.topic,
            queue_id: self.ints[0],
            flag: self.ints[1],
            sys_flag: self.ints[2],
            born_timestamp: self.longs[0],
            born_host: self.hosts[0],
            store_host: self.hosts[1],
            reconsume_times: self.ints[3],
            prepared_offset: self.longs[1],
            body: &self.body,
            properties: &self.properties,
        }
    }
}

pub fn any_message() -> impl Strategy<Value = Message> {
    let bytes = |max| prop::collection::vec(any::<u8>(), 0..=max);
    let host = || any::<(IpAddr, u16)>().prop_map(SocketAddr::from);
    let parts = (bytes(255), bytes(300), bytes(300), any::<[i32; 4]>(), any::<[i64; 2]>(), [host(), host()]);
    parts.prop_map(|(topic, body, properties, ints, longs, hosts)| Message {
        topic,
        body,
        properties,
        ints,
        longs,
        hosts,
    })
}

pub fn any_stamp() -> impl Strategy<Value = Stamp> {
    any::<(i64, i64, i64)>().prop_map(|(queue, physical, time)| stamp(queue, physical, time))
}
