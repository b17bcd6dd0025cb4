//! Requests about offsets: those of groups, and the ends of queues.

use std::borrow::Cow;

use super::codes::response;
use super::offsets::Place;
use super::path::HotPath;
use super::verdict::{Verdict, needed, number, refuse};
use crate::net::frame::Frame;
use crate::net::hot::{Outbox, Reply};
use crate::net::text::{Text, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Min,
    Max,
}

/// A group on a queue, as a request names it.
struct Named<'a> {
    group: Cow<'a, str>,
    topic: Cow<'a, str>,
    queue_id: i32,
}

impl<'a> Named<'a> {
    /// Python's when topic or group is not in the rulebook.
    fn of(path: &HotPath, frame: &Frame<'a>) -> Result<Self, Verdict> {
        let group = needed(frame.field("consumerGroup"), "consumerGroup")?.to_str();
        let topic = needed(frame.field("topic"), "topic")?.to_str();
        if path.rulebook.group(group.as_bytes()).is_none_or(|group| group.by_python) {
            return Err(Verdict::Python);
        }
        let rule = path.rulebook.topic(topic.as_bytes()).ok_or(Verdict::Python)?;
        let queue_id = number(frame.field("queueId"), "queueId")?;
        if queue_id < 0 || queue_id >= rule.read_queues.max(rule.write_queues) {
            let remark = format!("queueId[{queue_id}] is illegal: topic {topic} has no such queue");
            return refuse(response::INVALID_PARAMETER, remark);
        }
        Ok(Self { group, topic, queue_id })
    }

    fn place(&self) -> Place<'_> {
        Place { topic: self.topic.as_bytes(), group: self.group.as_bytes(), queue_id: self.queue_id }
    }
}

fn reply_offset(frame: &Frame<'_>, out: &mut Outbox<'_>, offset: i64) {
    out.reply(frame, &Reply { fields: &[("offset", Value::Int(offset))], ..Reply::code(response::SUCCESS) });
}

impl HotPath {
    pub fn query_offset(&self, frame: &Frame<'_>, out: &mut Outbox<'_>) -> Result<(), Verdict> {
        let named = Named::of(self, frame)?;
        if let Some(offset) = self.offsets.committed(named.place()) {
            reply_offset(frame, out, offset);
            return Ok(());
        }
        if frame.field("setZeroIfNotFound").is_some_and(|text| !text.bool()) {
            let remark = "Not found, do not set to zero, maybe this group boot first";
            return refuse(response::QUERY_NOT_FOUND, remark);
        }
        if self.begins_in_memory(&named) {
            reply_offset(frame, out, 0);
            return Ok(());
        }
        refuse(response::QUERY_NOT_FOUND, "Not found, maybe this group consumer boot first")
    }

    /// Whether a new group can be sent to the first message of a queue without reading from disk.
    fn begins_in_memory(&self, named: &Named<'_>) -> bool {
        let Some(queue) = self.store.derived.queues.get(named.topic.as_bytes(), named.queue_id) else {
            return false;
        };
        let first = queue.unit_at(0).ok().flatten();
        queue.min_offset() <= 0 && first.is_some_and(|unit| self.store.is_recent(unit.physical_offset))
    }

    pub fn update_offset(&self, frame: &Frame<'_>, out: &mut Outbox<'_>) -> Result<(), Verdict> {
        let named = Named::of(self, frame)?;
        let offset = number(frame.field("commitOffset"), "commitOffset")?;
        let is_kept = self.offsets.commit(named.place(), offset);
        let remark = (!is_kept).then_some("Offset has been previously reset");
        out.reply(frame, &Reply { remark, ..Reply::code(response::SUCCESS) });
        Ok(())
    }

    pub fn end_of_queue(&self, end: End, frame: &Frame<'_>, out: &mut Outbox<'_>) -> Result<(), Verdict> {
        let topic = needed(frame.field("topic"), "topic")?.to_str();
        if self.rulebook.topic(topic.as_bytes()).is_none() {
            return Err(Verdict::Python);
        }
        let queue_id = number(frame.field("queueId"), "queueId")?;
        let queue = self.store.derived.queues.get(topic.as_bytes(), queue_id);
        let is_committed = frame.field("committed").is_none_or(Text::bool);
        let offset = queue.map_or(0, |queue| match end {
            End::Min => queue.min_offset(),
            End::Max if is_committed => queue.max_offset(),
            End::Max => queue.next(),
        });
        reply_offset(frame, out, offset);
        Ok(())
    }

    /// Send the group's next pull of a queue to an offset; one that is held looks at once.
    pub fn reset_offset(&self, place: Place<'_>, offset: i64) {
        self.offsets.reset(place, offset);
        self.wake_pulls(place.topic, place.queue_id);
    }
}
