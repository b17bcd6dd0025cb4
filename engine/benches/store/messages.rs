//! Messages as a producer's arrive in the store: a tag and the client's id.

use std::net::SocketAddr;

use tailfin_engine::log::append::Placed;
use tailfin_engine::log::clock::now_ms;
use tailfin_engine::log::store::Store;
use tailfin_engine::message::{BatchEntry, Draft, batch, properties};

use crate::Outcome;
use crate::args::Args;

pub const TOPIC: &[u8] = b"BenchTopic";
const READY_BATCHES: u64 = 256;
const ID: [u8; 32] = *b"7F000001000100000000000000000000";
const HEX: [u8; 16] = *b"0123456789ABCDEF";

pub struct Messages {
    body: Vec<u8>,
    pub queues: u64,
    born: SocketAddr,
    store: SocketAddr,
}

impl Messages {
    pub fn new(args: &Args) -> Outcome<Self> {
        Ok(Self {
            body: vec![b'x'; args.number("body", 128)?],
            queues: args.number("queues", 8)?,
            born: "127.0.0.1:50000".parse()?,
            store: "127.0.0.1:10911".parse()?,
        })
    }

    pub fn body_len(&self) -> u64 {
        self.body.len() as u64
    }

    /// Put message `number`. Its properties are text made for it alone, as the official benchmark makes them.
    pub fn put(&self, store: &Store, number: u64) -> Outcome<Placed> {
        self.put_to(store, TOPIC, (number % self.queues) as i32, number)
    }

    pub fn put_to(&self, store: &Store, topic: &[u8], queue_id: i32, number: u64) -> Outcome<Placed> {
        let text = property_text(number);
        let draft = self.draft(topic, queue_id, now_ms(), &self.body, &text);
        store.put(&draft, true).map_err(|refusal| refusal.reason.into())
    }

    fn draft<'a>(
        &self,
        topic: &'a [u8],
        queue_id: i32,
        born_timestamp: i64,
        body: &'a [u8],
        properties: &'a [u8],
    ) -> Draft<'a> {
        Draft {
            topic,
            queue_id,
            flag: 0,
            sys_flag: 0,
            born_timestamp,
            born_host: self.born,
            store_host: self.store,
            reconsume_times: 0,
            prepared_offset: 0,
            body,
            properties,
        }
    }

    /// Bodies of batches, encoded before the clock starts, as a broker finds them in a request.
    pub fn batch_bodies(&self, size: u64) -> Outcome<Vec<Vec<u8>>> {
        (0..READY_BATCHES)
            .map(|index| {
                let mut encoded = Vec::new();
                for number in index * size..(index + 1) * size {
                    let text = property_text(number);
                    let entry = BatchEntry { flag: 0, body: &self.body, properties: &text };
                    batch::encode_entry(&mut encoded, &entry)?;
                }
                Ok(encoded)
            })
            .collect()
    }

    /// Put a batch from a client's encoding, which the store takes apart.
    pub fn put_batch(&self, store: &Store, number: u64, encoded: &[u8]) -> Outcome<Placed> {
        let born = now_ms();
        let queue_id = (number % self.queues) as i32;
        let drafts = batch::entries(encoded)
            .map(|entry| entry.map(|entry| self.draft(TOPIC, queue_id, born, entry.body, entry.properties)))
            .collect::<Result<Vec<_>, _>>()?;
        store.put_batch(&drafts, true).map_err(|refusal| refusal.reason.into())
    }
}

pub fn property_text(number: u64) -> Vec<u8> {
    let mut text = Vec::with_capacity(64);
    properties::push(&mut text, b"UNIQ_KEY", &unique_key(number));
    properties::push(&mut text, b"TAGS", b"TagA");
    text
}

fn unique_key(mut number: u64) -> [u8; 32] {
    let mut text = ID;
    for digit in text.iter_mut().rev() {
        if number == 0 {
            break;
        }
        *digit = HEX[(number & 15) as usize];
        number >>= 4;
    }
    text
}
