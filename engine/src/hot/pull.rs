//! Pulls: who may read what, and what is found.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::codes::response;
use super::judging::OriginFilter;
use super::options::HotOptions;
use super::park::HeldPull;
use super::path::{HotPath, Settings};
use super::pull_header::{ExpressionKind, Pull};
use super::rulebook::{Filter, Group, Topic, perm};
use super::verdict::{Forbidden, Verdict, forbid, refuse};
use crate::log::derived::is_lmq;
use crate::log::filter::{MessageFilter, TagFilter};
use crate::log::read::{GetStatus, ReadRequest, ReadResult};
use crate::net::frame::Frame;
use crate::net::hot::{Outbox, Reply};
use crate::net::outgoing::Body;
use crate::net::text::Value;

/// Where clients find what to do about a missing topic or subscription.
const SEE_FAQ: &str = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.";

const RETRY_PREFIX: &str = "%RETRY%";

/// What the rules allow a pull.
#[derive(Clone, Debug)]
pub struct Allowed {
    topic: Arc<Topic>,
    group: Arc<Group>,
    pub filter: Filter,
}

/// What a pull is answered with.
#[derive(Debug)]
pub struct Answer {
    pub code: i32,
    status: &'static str,
    next_offset: i64,
    min_offset: i64,
    max_offset: i64,
    suggested_broker: i64,
    found: Option<ReadResult>,
}

impl HotPath {
    /// Serve a pull: answer it, or hold it until a message arrives.
    pub fn pull(&self, settings: &Settings, frame: &Frame<'_>, out: &mut Outbox<'_>) -> Result<(), Verdict> {
        let pull = Pull::of(frame)?;
        let allowed = self.judge(&settings.options, &pull, out.is_handed_back())?;
        let answer = self.look(&settings.options, &pull, &allowed)?;
        let hold = hold_time(&settings.options, &pull).filter(|_| answer.code == response::PULL_NOT_FOUND);
        self.note_progress(&pull, &answer, true);
        let has_room = || self.parking.has_room() && self.parking.has_room_for(out.connection());
        if let Some(hold) = hold.filter(|_| !frame.is_oneway() && has_room()) {
            let deadline = Instant::now() + hold;
            self.park(HeldPull {
                pull: pull.into_owned(),
                allowed,
                handle: out.hold(frame),
                deadline,
                passed_since: None,
            });
            return Ok(());
        }
        self.count_found(&pull, &answer);
        answer.send(&allowed, |reply| out.reply(frame, reply));
        Ok(())
    }

    /// Look again for a pull that was held, and answer it whatever is found.
    pub fn answer_held(&self, held: HeldPull) {
        if !held.handle.is_wanted() {
            return;
        }
        let HeldPull { pull, allowed, handle, .. } = held;
        let options = &self.settings().options;
        // The rules may have changed since, and so may the group's filter.
        let judged = match self.judge(options, &pull, true) {
            Err(Verdict::Python) => Ok(allowed),
            judged => judged,
        };
        let answered = judged.and_then(|allowed| Ok((self.look(options, &pull, &allowed)?, allowed)));
        match answered {
            Ok((answer, allowed)) => {
                self.note_progress(&pull, &answer, false);
                self.count_found(&pull, &answer);
                answer.send(&allowed, |reply| handle.reply(reply));
            }
            Err(Verdict::Refuse(refused)) => refused.answer(|reply| handle.reply(reply)),
            Err(Verdict::Python) => {}
        }
    }

    /// Check a pull in RocketMQ's order. What Python handed back it has seen: its marks do not count then.
    fn judge(&self, options: &HotOptions, pull: &Pull<'_>, handed_back: bool) -> Result<Allowed, Verdict> {
        let (name, broker) = (&pull.topic, &options.address);
        if !options.is_readable() {
            return forbid(Forbidden::Broker, format!("the broker[{broker}] pulling message is forbidden"));
        }
        if pull.is_lite && !options.lite_pull {
            let remark = format!("the broker[{broker}] for lite pull consumer is forbidden");
            return forbid(Forbidden::Broker, remark);
        }
        let group =
            self.rulebook.group(pull.group.as_bytes()).filter(|group| handed_back || !group.by_python);
        let group = group.ok_or(Verdict::Python)?;
        if !group.consume_enable {
            let remark = format!("subscription group no permission, {}", pull.group);
            return forbid(Forbidden::Group, remark);
        }
        let Some(topic) = self.rulebook.topic(name.as_bytes()) else {
            // Light queues come into the rulebook with their first reader.
            if is_lmq(name.as_bytes()) && !handed_back {
                return Err(Verdict::Python);
            }
            let remark = format!("topic[{name}] not exist, apply first please!{SEE_FAQ}");
            return refuse(response::TOPIC_NOT_EXIST, remark);
        };
        if topic.perm & perm::READ == 0 {
            return forbid(Forbidden::Topic, format!("the topic[{name}] pulling message is forbidden"));
        }
        if pull.queue_id < 0 || pull.queue_id >= topic.read_queues {
            let remark = format!(
                "queueId[{}] is illegal, topic:[{name}] topicConfig.readQueueNums:[{}]",
                pull.queue_id, topic.read_queues
            );
            return refuse(response::INVALID_PARAMETER, remark);
        }
        let filter = match &pull.expression {
            Some(expression) => self.given_filter(pull, expression)?,
            None => self.subscribed_filter(pull, &group, handed_back)?,
        };
        let filter = match filter {
            Filter::Sql(_) if !options.property_filter => return Err(Verdict::Python),
            Filter::Sql(_) if options.filter_retries && name.starts_with(RETRY_PREFIX) => Filter::Origin,
            filter => filter,
        };
        Ok(Allowed { topic, group, filter })
    }

    fn subscribed_filter(
        &self,
        pull: &Pull<'_>,
        group: &Group,
        handed_back: bool,
    ) -> Result<Filter, Verdict> {
        let Some(subscription) = self.rulebook.subscription(pull.group.as_bytes(), pull.topic.as_bytes())
        else {
            let remark = format!("the consumer's subscription not exist{SEE_FAQ}");
            return refuse(response::SUBSCRIPTION_NOT_EXIST, remark);
        };
        if subscription.broadcast && !group.broadcast_enable {
            let remark = format!("the consumer group[{}] can not consume by broadcast way", pull.group);
            return forbid(Forbidden::Broadcast, remark);
        }
        if subscription.version < pull.subscription_version {
            let remark = "the consumer's subscription not latest; it comes with the next heartbeat";
            return refuse(response::SUBSCRIPTION_NOT_LATEST, remark);
        }
        if subscription.by_python && !handed_back {
            return Err(Verdict::Python);
        }
        Ok(subscription.filter.clone())
    }

    /// The filter that a pull brings along; a wrong one is for Python to refuse.
    fn given_filter(&self, pull: &Pull<'_>, expression: &str) -> Result<Filter, Verdict> {
        match pull.expression_kind {
            ExpressionKind::Tags => given_tags(expression),
            ExpressionKind::Sql => {
                self.compiled.get(expression).map_or(Err(Verdict::Python), |filter| Ok(Filter::Sql(filter)))
            }
            ExpressionKind::Unknown => Err(Verdict::Python),
        }
    }

    /// Read what the pull asks for.
    fn look(&self, options: &HotOptions, pull: &Pull<'_>, allowed: &Allowed) -> Result<Answer, Verdict> {
        if let Some(offset) = self.offsets.take_reset(pull.place()) {
            return Ok(self.moved_by_reset(pull, offset));
        }
        let origin = OriginFilter { rulebook: &self.rulebook, group: &pull.group };
        let filter: Option<&dyn MessageFilter> =
            if matches!(allowed.filter, Filter::Origin) { Some(&origin) } else { allowed.filter.judge() };
        let request = ReadRequest {
            topic: pull.topic.as_bytes(),
            queue_id: pull.queue_id,
            offset: pull.offset,
            count_max: pull.count_max,
            bytes_max: pull.bytes_max,
            transfer_limits: true,
            filter,
            // The consumer checks them, and has to pay for it only once.
            check_bodies: false,
        };
        let began = Instant::now();
        let read = match self.store.read(&request) {
            Ok(read) => read,
            Err(error) => return refuse(response::SYSTEM_ERROR, error.to_string()),
        };
        self.counters.reads.note(read.status == GetStatus::Found, began.elapsed());
        let mut answer = Answer {
            code: code_of(read.status, pull.offset),
            status: read.status.name(),
            next_offset: read.next_offset,
            min_offset: read.min_offset,
            max_offset: read.max_offset,
            suggested_broker: suggested_broker(options, &allowed.group, &read),
            found: None,
        };
        if read.status == GetStatus::Found {
            answer.found = Some(read);
        } else if self.store.is_slave() && answer.code == response::PULL_OFFSET_MOVED {
            // What is the wrong offset here may be the right one at the master.
            answer.code = response::PULL_RETRY_IMMEDIATELY;
            answer.next_offset = pull.offset;
            answer.suggested_broker = allowed.group.broker_id;
        }
        Ok(answer)
    }

    fn moved_by_reset(&self, pull: &Pull<'_>, offset: i64) -> Answer {
        let queue = self.store.derived.queues.get(pull.topic.as_bytes(), pull.queue_id);
        let (min_offset, max_offset) = queue.map_or((0, 0), |queue| (queue.min_offset(), queue.max_offset()));
        Answer {
            code: response::PULL_OFFSET_MOVED,
            status: "OFFSET_RESET",
            next_offset: offset,
            min_offset,
            max_offset,
            suggested_broker: 0,
            found: None,
        }
    }

    fn note_progress(&self, pull: &Pull<'_>, answer: &Answer, first_try: bool) {
        self.offsets.note_pull(pull.place(), answer.next_offset);
        // After a reset the pull's own offset is from before it.
        let is_current = answer.status != "OFFSET_RESET";
        if let Some(offset) = pull.commit.filter(|offset| first_try && is_current && *offset >= 0) {
            self.offsets.commit(pull.place(), offset);
        }
    }

    fn count_found(&self, pull: &Pull<'_>, answer: &Answer) {
        if let Some(found) = &answer.found {
            let (topic, group) = (pull.topic.as_bytes(), pull.group.as_bytes());
            self.counters.count_get(topic, group, found.len() as u64, found.bytes as u64);
        }
    }
}

impl Answer {
    fn send(&self, allowed: &Allowed, send: impl FnOnce(&Reply<'_>)) {
        let fields = [
            ("suggestWhichBrokerId", Value::Int(self.suggested_broker)),
            ("nextBeginOffset", Value::Int(self.next_offset)),
            ("minOffset", Value::Int(self.min_offset)),
            ("maxOffset", Value::Int(self.max_offset)),
            ("topicSysFlag", Value::Int(i64::from(allowed.topic.sys_flag))),
            ("groupSysFlag", Value::Int(i64::from(allowed.group.sys_flag))),
        ];
        send(&Reply {
            code: self.code,
            remark: Some(self.status),
            fields: &fields,
            body: self.found.as_ref().map_or(Body::NONE, Body::Log),
        });
    }
}

/// How long a pull that finds nothing is held; `None` when it wants its answer at once.
fn hold_time(options: &HotOptions, pull: &Pull<'_>) -> Option<Duration> {
    let hold = pull.hold.map(|asked| if options.long_polling { asked } else { options.short_polling });
    hold.filter(|hold| !hold.is_zero())
}

fn given_tags(expression: &str) -> Result<Filter, Verdict> {
    // Java's split leaves nothing of an expression that is all separators.
    if !expression.is_empty() && expression.split("||").all(str::is_empty) {
        let remark = format!("parse the consumer's subscription failed: {expression:?} names no tag");
        return refuse(response::SUBSCRIPTION_PARSE_FAILED, remark);
    }
    Ok(Filter::of_tags(TagFilter::parse_codes(expression)))
}

/// The response to what became of a read.
fn code_of(status: GetStatus, offset: i64) -> i32 {
    match status {
        GetStatus::Found => response::SUCCESS,
        GetStatus::NoMatchedMessage | GetStatus::MessageWasRemoving => response::PULL_RETRY_IMMEDIATELY,
        GetStatus::OffsetFoundNull | GetStatus::OffsetOverflowOne => response::PULL_NOT_FOUND,
        GetStatus::OffsetOverflowBadly | GetStatus::OffsetTooSmall => response::PULL_OFFSET_MOVED,
        GetStatus::NoMatchedLogicQueue | GetStatus::NoMessageInQueue => {
            if offset == 0 {
                response::PULL_NOT_FOUND
            } else {
                response::PULL_OFFSET_MOVED
            }
        }
    }
}

fn suggested_broker(options: &HotOptions, group: &Group, read: &ReadResult) -> i64 {
    match (options.slave_read, read.suggest_slave) {
        (false, _) => 0,
        (true, true) => group.broker_id_when_slow,
        (true, false) => group.broker_id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: PL-10, PL-11, PL-12, PL-13
    #[test]
    fn every_status_of_a_read_has_rocketmqs_response_code() {
        let table = [
            (GetStatus::Found, 7, 0),
            (GetStatus::NoMatchedMessage, 7, 20),
            (GetStatus::MessageWasRemoving, 7, 20),
            (GetStatus::OffsetFoundNull, 7, 19),
            (GetStatus::OffsetOverflowOne, 7, 19),
            (GetStatus::OffsetOverflowBadly, 7, 21),
            (GetStatus::OffsetTooSmall, 7, 21),
            (GetStatus::NoMatchedLogicQueue, 0, 19),
            (GetStatus::NoMatchedLogicQueue, 7, 21),
            (GetStatus::NoMessageInQueue, 0, 19),
            (GetStatus::NoMessageInQueue, 7, 21),
        ];
        for (status, offset, code) in table {
            assert_eq!(code_of(status, offset), code, "{status:?} at {offset}");
        }
    }
}
