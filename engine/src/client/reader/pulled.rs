//! What became of a pull.

use std::sync::Arc;

use super::config::Amount;
use super::gathering::{Gathered, Unreadable};
use crate::arrow::Opening;
use crate::client::courier::Outcome;
use crate::client::received::{Answer, Reading, Received, Tags};
use crate::net::frame::Frame;
use crate::net::text::Text;

const FOUND: i32 = 0;
const NOT_FOUND: i32 = 19;
const RETRY_IMMEDIATELY: i32 = 20;
/// RocketMQ's code for trouble on the way that has no other; no broker answers it.
const UNREADABLE: i32 = -1000;

/// What stops a reader until somebody decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The broker's code; a negative one is for what went wrong on the way.
    pub code: i32,
    pub remark: String,
    /// Where the broker would go on; where the reader stands when it did not say.
    pub next_offset: i64,
}

/// What a pull brought.
#[derive(Debug, Default)]
pub struct Pulled {
    pub messages: Vec<Received>,
    pub amount: Amount,
    pub next_offset: i64,
    pub suggested_broker: Option<i64>,
    pub bounds: Option<(i64, i64)>,
    pub trouble: Option<Trouble>,
}

#[derive(Default)]
struct Fields {
    next_offset: Option<i64>,
    min_offset: Option<i64>,
    max_offset: Option<i64>,
    suggested_broker: Option<i64>,
    offset_delta: Option<i64>,
}

impl Fields {
    fn of(frame: &Frame<'_>) -> Self {
        let mut found = Self::default();
        for field in frame.header.fields {
            let slot = match field.key.borrowed() {
                Some("nextBeginOffset") => &mut found.next_offset,
                Some("minOffset") => &mut found.min_offset,
                Some("maxOffset") => &mut found.max_offset,
                Some("suggestWhichBrokerId") => &mut found.suggested_broker,
                Some("offsetDelta") => &mut found.offset_delta,
                _ => continue,
            };
            *slot = field.value.int();
        }
        found
    }
}

/// What a pull asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub offset: i64,
    /// Where the reader ends.
    pub until: i64,
    /// Whether the broker may hold it while there is nothing.
    pub may_wait: bool,
    pub tags: &'a Tags,
    pub reading: &'a Arc<Reading>,
}

impl Pulled {
    /// Read the outcome of a pull; the messages are added to the columns, if there are such.
    pub fn of(outcome: Outcome<'_>, asked: Asked<'_>, columns: Option<&mut Gathered>) -> Self {
        let Asked { offset, .. } = asked;
        match outcome {
            Outcome::Answered(frame) => Self::of_answer(frame, asked, columns),
            Outcome::Failed(failure) => Self::failed(offset, failure.code, failure.remark),
            Outcome::Sent => unreachable!("pulls are answered"),
        }
    }

    fn of_answer(frame: &Frame<'_>, asked: Asked<'_>, columns: Option<&mut Gathered>) -> Self {
        let fields = Fields::of(frame);
        let (code, offset) = (frame.header.code, asked.offset);
        let mut pulled = match (code, fields.next_offset) {
            (FOUND, Some(next)) if next > offset => match columns {
                Some(columns) => Self::gathered(frame, &fields, next, asked, columns),
                None => Self::found(frame, &fields, next, asked),
            },
            (NOT_FOUND, Some(next)) if asked.may_wait => Self { next_offset: next, ..Self::default() },
            // Who is sent back to the same place would ask without a pause: another broker is meant.
            (RETRY_IMMEDIATELY, Some(next)) if next != offset => {
                Self { next_offset: next, ..Self::default() }
            }
            (FOUND, next) => {
                let remark =
                    format!("the broker found messages from {offset} on, and would go on at {next:?}");
                Self::failed(offset, UNREADABLE, remark)
            }
            (_, next) => {
                let remark =
                    frame.header.remark.map_or_else(String::new, |text| Text::to_str(text).into_owned());
                Self::failed(next.unwrap_or(offset), code, remark)
            }
        };
        pulled.suggested_broker = fields.suggested_broker;
        pulled.bounds = fields.min_offset.zip(fields.max_offset);
        pulled
    }

    fn found(frame: &Frame<'_>, fields: &Fields, next_offset: i64, asked: Asked<'_>) -> Self {
        let answer = Arc::new(Answer {
            reading: asked.reading.clone(),
            bytes: frame.body.into(),
            bounds: fields.min_offset.zip(fields.max_offset),
            offset_delta: fields.offset_delta.unwrap_or(0),
        });
        let (messages, bad) = answer.messages(asked.offset..asked.until, asked.tags);
        let bytes = messages.iter().map(Received::size).sum();
        let amount = Amount { messages: messages.len(), bytes };
        let Some(bad) = bad else { return Self { messages, amount, next_offset, ..Self::default() } };
        let next_offset = messages.last().map_or(asked.offset, |last| last.queue_offset().wrapping_add(1));
        let remark = format!("at offset {next_offset} the answer holds no message: {bad}");
        Self { messages, amount, ..Self::failed(next_offset, UNREADABLE, remark) }
    }

    fn gathered(
        frame: &Frame<'_>,
        fields: &Fields,
        next_offset: i64,
        asked: Asked<'_>,
        columns: &mut Gathered,
    ) -> Self {
        let opening = Opening {
            check_crc: asked.reading.check_crc,
            body_bytes_max: asked.reading.body_bytes_max,
            offset_delta: fields.offset_delta.unwrap_or(0),
            wanted: asked.offset..asked.until,
            tags: asked.tags,
        };
        let (amount, bad) = columns.add(frame.body, &opening);
        let (next_offset, remark) = match bad {
            None => return Self { amount, next_offset, ..Self::default() },
            Some(Unreadable::Message(offset, damage)) => {
                (offset, format!("message {offset} cannot be read: {damage}"))
            }
            Some(Unreadable::Bytes(bad)) => {
                let at = columns.next_offset().unwrap_or(asked.offset).max(asked.offset);
                (at, format!("at offset {at} the answer holds no message: {bad}"))
            }
        };
        Self { amount, ..Self::failed(next_offset, UNREADABLE, remark) }
    }

    fn failed(next_offset: i64, code: i32, remark: String) -> Self {
        let trouble = Some(Trouble { code, remark, next_offset });
        Self { next_offset, trouble, ..Self::default() }
    }
}

#[cfg(test)]
mod tests;
