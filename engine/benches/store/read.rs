//! Reads: 32 messages a call, queue after queue, their bytes only touched or decoded as well.

use std::collections::HashMap;
use std::hint::black_box;
use std::net::SocketAddr;
use std::path::Path;

use tailfin_engine::log::config::FlushMode;
use tailfin_engine::log::read::ReadRequest;
use tailfin_engine::log::store::Store;
use tailfin_engine::message::{Record, properties};

use crate::Outcome;
use crate::args::Args;
use crate::measure::{Line, Timing, real};
use crate::messages::TOPIC;
use crate::setup;

const PER_CALL: usize = 32;

/// What is done with a record; a number, so that it is done.
type Take = fn(&[u8]) -> Outcome<u64>;

/// Read a store that `fill` made.
pub fn read(dir: &Path, args: &Args) -> Outcome<()> {
    if !dir.exists() {
        return Err(format!("{} is missing; make it with fill", dir.display()).into());
    }
    let store = setup::open(dir, FlushMode::Async)?;
    let queues = args.number("queues", 8)?;
    let ways: [(&str, Take); 3] =
        [("read-raw", touch), ("read-fields", look_at_fields), ("read-decode", decode)];
    for (name, take) in ways {
        pass(&store, name, queues, take)?;
        for _ in 0..args.number("runs", 2)? {
            pass(&store, name, queues, take)?.print();
        }
    }
    setup::close(&store)
}

/// One pass over every message of every queue.
fn pass(store: &Store, name: &str, queues: i32, take: Take) -> Outcome<Line> {
    let timing = Timing::start();
    let (mut messages, mut bytes, mut sink) = (0, 0, 0_u64);
    for queue_id in 0..queues {
        let mut offset = 0;
        loop {
            let request = ReadRequest {
                topic: TOPIC,
                queue_id,
                offset,
                count_max: PER_CALL,
                bytes_max: None,
                transfer_limits: true,
                filter: None,
                check_bodies: name != "read-raw",
            };
            let result = store.read(&request)?;
            for slice in result.records() {
                sink ^= take(slice)?;
            }
            messages += result.len() as u64;
            bytes += result.bytes as u64;
            offset = result.next_offset;
            if offset >= result.max_offset {
                break;
            }
        }
    }
    let seconds = timing.seconds();
    black_box(sink);
    Ok(Line::of(name)
        .count("messages", messages)
        .real("seconds", seconds)
        .real("perSecond", real(messages) / seconds)
        .real("bytesPerSecond", real(bytes) / seconds)
        .real("cpuSecondsPerMillion", timing.cpu_seconds() / real(messages) * 1e6)
        .count("pageFaults", timing.faults()))
}

#[allow(clippy::unnecessary_wraps)] // has the shape of `decode`
fn touch(bytes: &[u8]) -> Outcome<u64> {
    Ok(touched(bytes))
}

/// Read the record once, eight bytes at a time, as copying it into an answer would.
pub fn touched(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks();
    words.iter().fold(0, |sum, word| sum ^ u64::from_ne_bytes(*word))
}

/// Look at every field of a record where it lies, as users of the engine do: text checked, pairs of properties
/// told apart, the message id made.
fn look_at_fields(bytes: &[u8]) -> Outcome<u64> {
    let record = Record::parse(bytes)?;
    black_box(str::from_utf8(record.topic())?);
    black_box((record.queue_id(), record.queue_offset(), record.physical_offset(), record.size()));
    black_box((record.flag(), record.sys_flag(), record.body_crc(), record.reconsume_times()));
    black_box((record.born_timestamp(), record.born_host(), record.store_timestamp(), record.store_host()));
    black_box((record.prepared_offset(), record.message_id()));
    for (name, value) in properties::iter(record.properties()) {
        black_box((str::from_utf8(name)?, str::from_utf8(value)?));
    }
    Ok(record.queue_offset().cast_unsigned() + touched(record.body()))
}

/// What the official decoder makes of a record: every field, with strings, body and properties of its own.
#[allow(dead_code)] // made, and measured by that
struct Decoded {
    topic: String,
    queue_id: i32,
    queue_offset: i64,
    physical_offset: i64,
    size: usize,
    flag: i32,
    sys_flag: i32,
    body_crc: u32,
    born_timestamp: i64,
    born_host: Option<SocketAddr>,
    store_timestamp: i64,
    store_host: Option<SocketAddr>,
    reconsume_times: i32,
    prepared_offset: i64,
    message_id: String,
    body: Vec<u8>,
    properties: HashMap<String, String>,
}

fn decode(bytes: &[u8]) -> Outcome<u64> {
    let record = Record::parse(bytes)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let message = Decoded {
        topic: text(record.topic()),
        queue_id: record.queue_id(),
        queue_offset: record.queue_offset(),
        physical_offset: record.physical_offset(),
        size: record.size(),
        flag: record.flag(),
        sys_flag: record.sys_flag(),
        body_crc: record.body_crc(),
        born_timestamp: record.born_timestamp(),
        born_host: record.born_host(),
        store_timestamp: record.store_timestamp(),
        store_host: record.store_host(),
        reconsume_times: record.reconsume_times(),
        prepared_offset: record.prepared_offset(),
        message_id: record.offset_message_id(),
        body: record.body().to_vec(),
        properties: properties::iter(record.properties())
            .map(|(name, value)| (text(name), text(value)))
            .collect(),
    };
    let message = black_box(message);
    Ok(message.queue_offset.cast_unsigned() + u64::from(message.body[0]))
}
