//! Pulls: whole queues over and over, or whatever arrives.

use super::draft::Request;
use super::drive::{Answer, Place, Work};
use super::header::Frame;
use super::options::Options;
use super::pace::Window;
use super::send::due_of;
use super::tally::Tally;
use super::template::{OPAQUE_BASE, topic_name};
use crate::message::record::Record;

const PULL: i16 = 11;
/// What the official clients ask for.
const HOLD_MS: u64 = 15_000;
const SUBSCRIPTION_IS_GIVEN: u32 = 4;
const MAY_WAIT: u32 = 2;
const FOUND: i32 = 0;
const NOT_FOUND: i32 = 19;
const RETRY: i32 = 20;
const OFFSET_MOVED: i32 = 21;
/// The first answer may only correct the offset; a queue that stays empty is left.
const EMPTY_MAX: u32 = 3;

/// Where one reader stands.
#[derive(Clone, Debug)]
pub struct Cursor {
    pub topic: u32,
    pub queue: u32,
    pub offset: i64,
    /// Answers without a message, one after the other.
    pub empty: u32,
}

/// One reader of a queue for each request under way.
struct Readers {
    options: Options,
    topics: Vec<String>,
    cursors: Vec<Vec<Cursor>>,
    hold_ms: u64,
}

impl Readers {
    fn new(options: &Options, cursors: Vec<Vec<Cursor>>, hold_ms: u64) -> Self {
        let topics = (0..options.topics).map(|index| topic_name(options, index)).collect();
        Self { options: options.clone(), topics, cursors, hold_ms }
    }

    fn cursor(&mut self, place: Place) -> &mut Cursor {
        &mut self.cursors[place.lane][place.slot as usize]
    }

    fn write(&mut self, out: &mut Vec<u8>, place: Place) {
        let Cursor { topic, queue, offset, .. } = *self.cursor(place);
        let flags = SUBSCRIPTION_IS_GIVEN | if self.hold_ms > 0 { MAY_WAIT } else { 0 };
        let fields = [
            ("commitOffset", "0"),
            ("consumerGroup", self.options.group.as_str()),
            ("expressionType", "TAG"),
            ("maxMsgNums", &self.options.pull_batch.to_string()),
            ("queueId", &queue.to_string()),
            ("queueOffset", &offset.to_string()),
            ("subVersion", "0"),
            ("subscription", "*"),
            ("suspendTimeoutMillis", &self.hold_ms.to_string()),
            ("sysFlag", &flags.to_string()),
            ("topic", &self.topics[topic as usize]),
        ];
        let opaque = OPAQUE_BASE + place.slot as i32;
        let request = Request { code: PULL, opaque, flag: 0, remark: "", fields: &fields };
        out.extend_from_slice(&request.encode(self.options.binary, b"").frame);
    }
}

/// Read the queues as fast as the server gives them, and begin again at their ends.
pub struct Scans(Readers);

impl Scans {
    pub fn new(options: &Options, cursors: Vec<Vec<Cursor>>) -> Self {
        Self(Readers::new(options, cursors, 0))
    }
}

impl Work for Scans {
    fn write(&mut self, out: &mut Vec<u8>, place: Place, _: u64) {
        self.0.write(out, place);
    }

    fn answer(&mut self, place: Place, answer: &Answer<'_>, tally: &mut Tally) -> bool {
        let (mut messages, mut bytes) = (0, 0);
        for record in Records(answer.frame.body) {
            messages += 1;
            bytes += record.body().len() as u64;
        }
        tally.messages_ever += messages;
        if answer.counts {
            tally.requests += 1;
            tally.last_at = answer.now;
            tally.messages += messages;
            tally.bytes += bytes;
            tally.record(answer.now.saturating_sub(answer.due));
        }
        let cursor = self.0.cursor(place);
        cursor.empty = if messages > 0 { 0 } else { cursor.empty + 1 };
        if is_answer_to_a_pull(answer.frame.code) {
            cursor.offset = next_offset(&answer.frame, cursor.offset);
        } else {
            tally.refuse(answer.frame.code, || answer.frame.remark());
        }
        cursor.empty < EMPTY_MAX
    }
}

/// Where to go on: at the first message again once the last was read.
fn next_offset(frame: &Frame<'_>, offset: i64) -> i64 {
    let next = frame.number("nextBeginOffset").unwrap_or(offset);
    let first = frame.number("minOffset").unwrap_or(0);
    if next >= frame.number("maxOffset").unwrap_or(i64::MAX) { first } else { next.max(first) }
}

/// Wait for the messages of one run and note how long each took.
pub struct Arrivals<'a> {
    readers: Readers,
    run_id: u64,
    /// That of the senders: a message counts if it was due inside.
    window: &'a Window,
}

impl<'a> Arrivals<'a> {
    pub fn new(options: &Options, cursors: Vec<Vec<Cursor>>, run_id: u64, window: &'a Window) -> Self {
        Self { readers: Readers::new(options, cursors, HOLD_MS), run_id, window }
    }
}

impl Work for Arrivals<'_> {
    fn write(&mut self, out: &mut Vec<u8>, place: Place, _: u64) {
        self.readers.write(out, place);
    }

    fn answer(&mut self, place: Place, answer: &Answer<'_>, tally: &mut Tally) -> bool {
        let frame = &answer.frame;
        for record in Records(frame.body) {
            let Some(due) = due_of(record.body(), self.run_id) else { continue };
            tally.messages_ever += 1;
            if self.window.holds(due) {
                tally.messages += 1;
                tally.bytes += record.body().len() as u64;
                tally.record(answer.now.saturating_sub(due));
            }
        }
        if is_answer_to_a_pull(frame.code) {
            let cursor = self.readers.cursor(place);
            cursor.offset = frame.number("nextBeginOffset").unwrap_or(cursor.offset);
            return true;
        }
        tally.refuse(frame.code, || frame.remark());
        false
    }

    fn is_patient(&self) -> bool {
        true
    }
}

fn is_answer_to_a_pull(code: i32) -> bool {
    matches!(code, FOUND | NOT_FOUND | RETRY | OFFSET_MOVED)
}

/// The records of an answer; they end where none follows.
struct Records<'a>(&'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let record = Record::parse(self.0).ok()?;
        self.0 = &self.0[record.size()..];
        Some(record)
    }
}
