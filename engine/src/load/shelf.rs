//! What a server that only answers gives to those who pull: the messages of a batch, as records of the log.

use std::net::{Ipv4Addr, SocketAddr};

use super::draft::{Encoded, Request};
use crate::message::{BatchEntry, Draft, Encoding, Stamp, batch, crc};

const TOPIC: &[u8] = b"Limit";
const HOST: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 10911);

#[derive(Default)]
pub struct Shelf {
    batch_bytes: usize,
    records: Vec<Vec<u8>>,
    /// The answer that was asked for last, and by how many messages in which encoding.
    ready: Option<(usize, bool, Encoded)>,
}

impl Shelf {
    /// Take the messages of a batch, unless they are as long as those that are there.
    pub fn take(&mut self, body: &[u8]) {
        if body.len() != self.batch_bytes {
            self.batch_bytes = body.len();
            self.records = batch::entries(body).filter_map(|entry| record(&entry.ok()?)).collect();
            self.ready = None;
        }
    }

    /// The answer to a pull of so many messages, which are the same ones again and again.
    pub fn answer(&mut self, count: usize, binary: bool) -> &Encoded {
        if !matches!(self.ready, Some((ready, kind, _)) if (ready, kind) == (count, binary)) {
            self.ready = None;
        }
        let records = &self.records;
        let (_, _, answer) = self.ready.get_or_insert_with(|| (count, binary, found(records, count, binary)));
        answer
    }
}

fn found(records: &[Vec<u8>], count: usize, binary: bool) -> Encoded {
    let body: Vec<u8> = records.iter().cycle().take(count).flatten().copied().collect();
    let fields = [
        ("suggestWhichBrokerId", "0"),
        ("nextBeginOffset", "0"),
        ("minOffset", "0"),
        ("maxOffset", "1000000"),
        ("topicSysFlag", "0"),
        ("groupSysFlag", "0"),
    ];
    Request { code: 0, opaque: 1_000_000_000, flag: 1, remark: "FOUND", fields: &fields }
        .encode(binary, &body)
}

fn record(entry: &BatchEntry<'_>) -> Option<Vec<u8>> {
    let draft = Draft {
        topic: TOPIC,
        queue_id: 0,
        flag: entry.flag,
        sys_flag: 0,
        born_timestamp: 0,
        born_host: HOST,
        store_host: HOST,
        reconsume_times: 0,
        prepared_offset: 0,
        body: entry.body,
        properties: entry.properties,
    };
    let encoding = Encoding { body_crc: crc::body_crc(entry.body), property_crc: false, long_topics: false };
    let prepared = draft.prepare(encoding).ok()?;
    let mut bytes = vec![0; prepared.encoded_len()];
    prepared.encode_hidden(&mut bytes, Stamp { queue_offset: 0, physical_offset: 0, store_timestamp: 0 });
    prepared.reveal(&mut bytes);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::record::Record;

    fn bodies(mut records: &[u8]) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        while let Ok(record) = Record::parse(records) {
            found.push(record.body().to_vec());
            records = &records[record.size()..];
        }
        found
    }

    fn batch_of(bodies: &[&[u8]]) -> Vec<u8> {
        let mut encoded = Vec::new();
        for body in bodies {
            batch::encode_entry(&mut encoded, &BatchEntry { flag: 0, body, properties: b"" }).unwrap();
        }
        encoded
    }

    #[test]
    fn a_pull_gets_as_many_messages_as_it_asks_for_of_the_batch_that_came_last() {
        let mut shelf = Shelf::default();
        shelf.take(&batch_of(&[b"a", b"b"]));
        let body = |encoded: &Encoded| {
            let header = u32::from_be_bytes(encoded.frame[4..8].try_into().unwrap()) as usize & 0xFF_FFFF;
            bodies(&encoded.frame[8 + header..])
        };
        assert_eq!(body(shelf.answer(3, false)), [b"a", b"b", b"a"]);
        assert_eq!(body(shelf.answer(1, true)), [b"a"]);
        shelf.take(&batch_of(&[b"other"]));
        assert_eq!(body(shelf.answer(1, true)), [b"other"]);
    }
}
