//! A send request encoded once; for each message a copy with a few digits changed.

use std::time::{SystemTime, UNIX_EPOCH};

use super::draft::{Encoded, Request};
use super::options::{Options, STAMP_BYTES};
use crate::message::{BatchEntry, batch};

const SEND: i16 = 310;
const SEND_BATCH: i16 = 320;
const KEY_DIGITS: usize = 32;
const COUNTER_DIGITS: usize = 12;
const TOPIC_DIGITS: usize = 5;
const BORN_DIGITS: usize = 13;
/// Ten digits whatever slot is added to it, so that the opaque can be patched in place.
pub const OPAQUE_BASE: i32 = 1_000_000_000;
const OPAQUE_DIGITS: usize = 10;

/// Which queue of which topic a message goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    pub topic: u32,
    pub queue: u32,
}

pub struct Template {
    frame: Vec<u8>,
    opaque_at: usize,
    born_at: usize,
    queue_at: usize,
    queue_digits: usize,
    topic_at: Option<usize>,
    /// Where the counter stands in each unique key.
    counters_at: Vec<usize>,
    body_at: usize,
    binary: bool,
    counter: u64,
    born_ms: u64,
}

impl Template {
    /// `salt` keeps the unique keys of different templates apart.
    pub fn new(options: &Options, salt: u64) -> Self {
        let key = format!("{salt:020X}{:012X}", 0);
        debug_assert_eq!(key.len(), KEY_DIGITS);
        let topic = topic_name(options, 0);
        let queue_digits = (options.queues - 1).to_string().len();
        let body = Body::new(options, &key);
        let Encoded { frame, opaque_at, values_at } =
            encode(options, &topic, queue_digits, &key, &body.bytes);
        let body_at = frame.len() - body.bytes.len();
        let key_at = values_at[8] + "UNIQ_KEY".len() + mark(options.binary, 1).len();
        let keys = std::iter::once(key_at).chain(body.keys_at.iter().map(|at| body_at + at));
        Self {
            opaque_at,
            born_at: values_at[6],
            queue_at: values_at[4],
            queue_digits,
            topic_at: (options.topics > 1).then(|| values_at[1] + topic.len() - TOPIC_DIGITS),
            counters_at: keys.map(|at| at + KEY_DIGITS - COUNTER_DIGITS).collect(),
            body_at,
            binary: options.binary,
            counter: 0,
            born_ms: 0,
            frame,
        }
    }

    /// Note the time that messages are born at from now on.
    pub fn tick(&mut self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        if now != self.born_ms {
            self.born_ms = now;
            digits(&mut self.frame[self.born_at..self.born_at + BORN_DIGITS], now);
        }
    }

    /// Write one request to `out`; a stamp goes to the beginning of the body.
    pub fn write(&mut self, out: &mut Vec<u8>, slot: u32, target: Target, stamp: Option<[u8; STAMP_BYTES]>) {
        let start = out.len();
        out.extend_from_slice(&self.frame);
        let frame = &mut out[start..];
        let opaque = OPAQUE_BASE + slot as i32;
        if self.binary {
            frame[self.opaque_at..self.opaque_at + 4].copy_from_slice(&opaque.to_be_bytes());
        } else {
            digits(&mut frame[self.opaque_at..self.opaque_at + OPAQUE_DIGITS], opaque as u64);
        }
        digits(&mut frame[self.queue_at..self.queue_at + self.queue_digits], u64::from(target.queue));
        if let Some(at) = self.topic_at {
            digits(&mut frame[at..at + TOPIC_DIGITS], u64::from(target.topic));
        }
        for &at in &self.counters_at {
            self.counter += 1;
            hex(&mut frame[at..at + COUNTER_DIGITS], self.counter);
        }
        if let Some(stamp) = stamp {
            frame[self.body_at..self.body_at + STAMP_BYTES].copy_from_slice(&stamp);
        }
    }
}

fn encode(options: &Options, topic: &str, queue_digits: usize, key: &str, body: &[u8]) -> Encoded {
    let batch = options.batch > 1;
    let (name_end, value_end) = (mark(options.binary, 1), mark(options.binary, 2));
    let usual = [("UNIQ_KEY", key), ("WAIT", "true")];
    let asked = options.properties.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let pair = |(name, value): (&str, &str)| format!("{name}{name_end}{value}{value_end}");
    let properties: String = usual.into_iter().chain(asked).map(pair).collect();
    let fields = [
        ("a", options.group.as_str()),
        ("b", topic),
        ("c", "TBW102"),
        ("d", &options.queues.to_string()),
        ("e", &"0".repeat(queue_digits)),
        ("f", "0"),
        ("g", &"0".repeat(BORN_DIGITS)),
        ("h", "0"),
        ("i", &properties),
        ("j", "0"),
        ("k", "false"),
        ("m", if batch { "true" } else { "false" }),
    ];
    let code = if batch { SEND_BATCH } else { SEND };
    Request { code, opaque: OPAQUE_BASE, flag: 0, remark: "", fields: &fields }.encode(options.binary, body)
}

/// The character that ends a property's name or value; in a JSON text it needs an escape.
fn mark(binary: bool, code: u8) -> String {
    if binary { char::from(code).to_string() } else { format!("\\u000{code}") }
}

/// The body of a single message, or a client's batch: entries of size, magic, CRC, flag, body and properties.
struct Body {
    bytes: Vec<u8>,
    keys_at: Vec<usize>,
}

impl Body {
    fn new(options: &Options, key: &str) -> Self {
        let text: Vec<u8> =
            (0..options.body_bytes).map(|at| b'a' + ((at * 7 + at / 26) % 26) as u8).collect();
        if options.batch == 1 {
            return Self { bytes: text, keys_at: Vec::new() };
        }
        let properties = format!("UNIQ_KEY\u{1}{key}\u{2}WAIT\u{1}true\u{2}");
        let mut entry = Vec::new();
        let message = BatchEntry { flag: 0, body: &text, properties: properties.as_bytes() };
        batch::encode_entry(&mut entry, &message).expect("the options were checked");
        let in_entry = entry.len() - properties.len() + "UNIQ_KEY\u{1}".len();
        let keys_at = (0..options.batch as usize).map(|index| index * entry.len() + in_entry).collect();
        Self { bytes: entry.repeat(options.batch as usize), keys_at }
    }
}

fn digits(field: &mut [u8], mut value: u64) {
    for digit in field.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

fn hex(field: &mut [u8], mut value: u64) {
    for digit in field.iter_mut().rev() {
        *digit = b"0123456789ABCDEF"[(value & 0xF) as usize];
        value >>= 4;
    }
}

/// The name of one of the run's topics.
pub fn topic_name(options: &Options, index: u32) -> String {
    if options.topics > 1 {
        format!("{}-{index:0TOPIC_DIGITS$}", options.topic)
    } else {
        options.topic.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::header::Frame;
    use crate::load::options::tests::options;

    fn written(options: &Options, target: Target) -> Vec<u8> {
        let mut template = Template::new(options, 0xABC);
        template.tick();
        let mut out = Vec::new();
        template.write(&mut out, 0, Target { topic: 0, queue: 0 }, None);
        out.clear();
        template.write(&mut out, 31, target, None);
        out
    }

    #[test]
    fn a_copy_has_its_own_slot_queue_topic_and_key() {
        for binary in [false, true] {
            let options = Options { binary, topics: 5000, queues: 12, ..options() };
            let out = written(&options, Target { topic: 123, queue: 11 });
            assert_eq!(u32::from_be_bytes(*out.first_chunk().unwrap()) as usize, out.len() - 4);
            let frame = Frame::parse(&out[4..]).unwrap();
            assert_eq!((frame.code, frame.opaque), (310, OPAQUE_BASE + 31));
            assert_eq!(frame.number("e"), Some(11));
            assert!(frame.number("g").unwrap() > 1_700_000_000_000);
            assert_eq!(frame.body.len(), options.body_bytes);
            let text = String::from_utf8_lossy(&out);
            assert!(text.contains("Load-00123"));
            assert!(text.contains("00000000000000000ABC000000000002"));
        }
    }

    #[test]
    fn every_message_of_a_batch_has_its_own_key() {
        let options = Options { batch: 3, ..options() };
        let out = written(&options, Target { topic: 0, queue: 7 });
        let frame = Frame::parse(&out[4..]).unwrap();
        assert_eq!(frame.code, 320);
        let keys: Vec<Vec<u8>> =
            batch::entries(frame.body).map(|entry| entry.unwrap().properties.to_vec()).collect();
        assert_eq!(keys.len(), 3);
        assert!(keys[0] != keys[1] && keys[1] != keys[2]);
    }

    #[test]
    fn a_stamp_stands_at_the_beginning_of_the_body() {
        let options = options();
        let mut template = Template::new(&options, 1);
        let mut out = Vec::new();
        template.write(&mut out, 0, Target { topic: 0, queue: 0 }, Some([9; STAMP_BYTES]));
        let frame = Frame::parse(&out[4..]).unwrap();
        assert_eq!(frame.body[..STAMP_BYTES], [9; STAMP_BYTES]);
    }
}
