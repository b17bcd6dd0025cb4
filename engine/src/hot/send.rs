//! Sends: judged one by one, put into the log together.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::codes::response;
use super::path::{HotPath, Settings};
use super::rulebook::Topic;
use super::send_header::{Properties, SendFields, cleaned};
use super::sent::{Sent, SentGroup, put_code, reply_refused};
use super::verdict::{Verdict, needed, number, refuse};
use super::waiting::Wait;
use crate::log::append::Placed;
use crate::log::clock::now_ms;
use crate::log::derived::HALF_TOPIC;
use crate::log::put::Refusal;
use crate::message::layout::property::{self, NAME_END, VALUE_END};
use crate::message::layout::{TOPIC_BYTES_MAX_V1, sys_flag};
use crate::message::{BatchEntry, Draft, batch};
use crate::net::frame::Frame;
use crate::net::hot::{Asked, Outbox};
use crate::net::text::Text;

const RETRY_PREFIX: &[u8] = b"%RETRY%";
const DEAD_PREFIX: &[u8] = b"%DLQ%";

/// What the properties of a usual message take.
const TEXT_BYTES: usize = 256;

/// The sends of one socket read, on their way into the log.
pub struct Sends<'a> {
    frames: Vec<Accepted<'a>>,
    /// The topics they go to, each as often as it is another one than before.
    topics: Vec<Arc<Topic>>,
    /// Properties as they will be stored, one after another.
    text: String,
    /// The messages of all batches, with their properties as they will be stored.
    entries: Vec<(BatchEntry<'a>, Cow<'a, [u8]>)>,
    /// Python has seen them already, so topics marked for it are no reason to leave them to it.
    handed_back: bool,
}

/// A send that only has to be stored.
struct Accepted<'a> {
    frame: &'a Frame<'a>,
    topic: usize,
    queue_id: i32,
    flag: i32,
    sys_flag: i32,
    born_timestamp: i64,
    reconsume_times: i32,
    /// Within `Sends::text`; unused for a batch, whose messages have their own.
    properties: Range<usize>,
    unique_key: Range<usize>,
    waits: bool,
    /// The messages of a batch, within `Sends::entries`.
    batch: Option<Range<usize>>,
    /// The first half of a transaction: it waits in a topic of its own for the producer's word.
    is_half: bool,
    /// Where it waits for its time.
    wait: Option<Wait>,
}

impl<'a> Sends<'a> {
    pub fn new(frames_max: usize, handed_back: bool) -> Self {
        Self {
            frames: Vec::with_capacity(frames_max),
            topics: Vec::new(),
            text: String::with_capacity(frames_max * TEXT_BYTES),
            entries: Vec::new(),
            handed_back,
        }
    }

    /// Take a send, or say why not.
    pub fn accept(
        &mut self,
        path: &HotPath,
        settings: &Settings,
        frame: &'a Frame<'a>,
    ) -> Result<(), Verdict> {
        let options = &settings.options;
        if !options.is_writable() || (options.accept_sends_from > 0 && now_ms() < options.accept_sends_from) {
            return Err(Verdict::Python);
        }
        if path.store.is_slave() {
            let busy =
                "[REJECTREQUEST]system busy, start flow control for a while: a slave takes no messages";
            return refuse(response::SYSTEM_BUSY, busy);
        }
        let fields = SendFields::of(frame);
        let topic = self.topic(path, &needed(fields.topic, "topic")?.to_str())?;
        let rule = &self.topics[topic];
        let queue_id = path.choose_queue(rule, number(fields.queue_id, "queueId")?)?;
        if frame.body.is_empty() {
            return refuse(response::SYSTEM_ERROR, "the message has no body; send at least one byte");
        }
        let text_before = self.text.len();
        let mut accepted = Accepted::of(frame, &fields, topic, queue_id)?;
        if let Some(text) = fields.properties {
            text.append_to(&mut self.text);
        }
        let is_batch = fields.batch.is_some_and(Text::bool);
        let fits = if is_batch {
            self.fit_batch(path, &mut accepted, text_before)
        } else {
            self.fit_message(path, settings, &mut accepted, text_before)
        };
        match fits {
            Ok(()) => self.frames.push(accepted),
            Err(_) => self.text.truncate(text_before),
        }
        fits
    }

    fn topic(&mut self, path: &HotPath, name: &str) -> Result<usize, Verdict> {
        let name = name.as_bytes();
        if self.topics.last().is_none_or(|last| *last.name != *name) {
            if name.starts_with(RETRY_PREFIX) || name.starts_with(DEAD_PREFIX) {
                return Err(Verdict::Python);
            }
            let topic = path.rulebook.topic(name).filter(|topic| self.handed_back || !topic.by_python);
            self.topics.push(topic.ok_or(Verdict::Python)?);
        }
        Ok(self.topics.len() - 1)
    }

    /// Complete the properties of a single message, which begin at `from` in the text.
    fn fit_message(
        &mut self,
        path: &HotPath,
        settings: &Settings,
        accepted: &mut Accepted<'a>,
        from: usize,
    ) -> Result<(), Verdict> {
        let mut seen = Properties::look(&self.text[from..]);
        let names_transaction = accepted.sys_flag & sys_flag::TRANSACTION_MASK != 0;
        let may_prepare = seen.is_prepared && !settings.options.reject_transactions;
        let is_transactional = seen.is_prepared || names_transaction;
        if is_transactional && (!may_prepare || seen.asked.is_some()) {
            return Err(Verdict::Python);
        }
        accepted.wait = match &seen.asked {
            Some(asked) => path.judge_wait(asked)?,
            None => None,
        };
        if seen.needs_cleaning {
            let kept = cleaned(&self.text[from..]);
            self.text.truncate(from);
            self.text.push_str(&kept);
            seen = Properties::look(&self.text[from..]);
        }
        if self.text.len() > from && !self.text.ends_with(char::from(VALUE_END)) {
            self.text.push(char::from(VALUE_END));
        }
        accepted.unique_key = match seen.unique_key {
            Some(key) => key.start + from..key.end + from,
            None => self.push_unique_key(path),
        };
        self.text.push_str(&settings.added_properties);
        if may_prepare {
            self.make_half(accepted);
        }
        if let Some(wait) = accepted.wait {
            self.make_wait(accepted, wait);
        }
        accepted.properties = from..self.text.len();
        accepted.waits = seen.waits;
        Ok(())
    }

    /// Turn a message, whose properties are being written, into the first half of a transaction.
    fn make_half(&mut self, accepted: &mut Accepted<'a>) {
        let key = self.text[accepted.unique_key.clone()].to_owned();
        let topic = self.topics[accepted.topic].clone();
        let topic = str::from_utf8(&topic.name).unwrap_or_default(); // it was found by a name that is text
        self.push_property(property::TRANSACTION_ID, &key);
        self.push_property(property::REAL_TOPIC, topic);
        self.push_property(property::REAL_QID, itoa::Buffer::new().format(accepted.queue_id));
        accepted.sys_flag &= !sys_flag::TRANSACTION_MASK;
        accepted.is_half = true;
    }

    /// Give a message, whose properties are being written, what it needs to go on from where it waits.
    fn make_wait(&mut self, accepted: &Accepted<'a>, wait: Wait) {
        let topic = self.topics[accepted.topic].clone();
        let topic = str::from_utf8(&topic.name).unwrap_or_default(); // it was found by a name that is text
        if let Some(out_ms) = wait.out_ms {
            self.push_property(property::TIMER_OUT_MS, itoa::Buffer::new().format(out_ms));
        }
        self.push_property(property::REAL_TOPIC, topic);
        self.push_property(property::REAL_QID, itoa::Buffer::new().format(accepted.queue_id));
    }

    fn push_property(&mut self, name: &[u8], value: &str) {
        self.text.push_str(str::from_utf8(name).unwrap_or_default());
        self.text.push(char::from(NAME_END));
        self.text.push_str(value);
        self.text.push(char::from(VALUE_END));
    }

    fn push_unique_key(&mut self, path: &HotPath) -> Range<usize> {
        self.text.push_str(str::from_utf8(property::UNIQ_KEY).unwrap_or_default());
        self.text.push(char::from(NAME_END));
        let start = self.text.len();
        self.text.push_str(path.new_unique_key().as_str());
        let end = self.text.len();
        self.text.push(char::from(VALUE_END));
        start..end
    }

    /// Check the messages of a batch, whose own properties begin at `from` in the text.
    fn fit_batch(&mut self, path: &HotPath, accepted: &mut Accepted<'a>, from: usize) -> Result<(), Verdict> {
        let illegal = |remark: String| refuse(response::MESSAGE_ILLEGAL, remark);
        let topic = &self.topics[accepted.topic].name;
        if topic.len() > TOPIC_BYTES_MAX_V1 {
            return illegal(format!("message topic length too long {}", topic.len()));
        }
        let seen = Properties::look(&self.text[from..]);
        let is_transactional = seen.is_prepared || accepted.sys_flag & sys_flag::TRANSACTION_MASK != 0;
        if seen.asked.is_some() || is_transactional {
            return illegal("a batch can hold neither transactional nor delayed messages".into());
        }
        let (len, max) = (accepted.frame.body.len(), path.store.message_bytes_max());
        if len > max {
            let remark =
                format!("the batch has {len} bytes; maxMessageSize allows {max}: send smaller batches");
            return refuse(response::SYSTEM_ERROR, remark);
        }
        let first = self.entries.len();
        for entry in batch::entries(accepted.frame.body) {
            match entry {
                Ok(entry) => self.entries.push((entry, entry.closed_properties())),
                Err(bad) => {
                    let number = self.entries.len() - first;
                    self.entries.truncate(first);
                    return illegal(format!("message {number} of the batch cannot be read: {bad}"));
                }
            }
        }
        accepted.unique_key = seen.unique_key.map_or(from..from, |key| key.start + from..key.end + from);
        accepted.waits = seen.waits;
        accepted.batch = Some(first..self.entries.len());
        Ok(())
    }

    /// Store everything that was accepted, and answer.
    pub fn store(self, path: &HotPath, settings: &Settings, born_host: SocketAddr, out: &mut Outbox<'_>) {
        if self.frames.is_empty() {
            return;
        }
        let drafts = self.drafts(path.store.store_host(), born_host);
        let mut rest = drafts.as_slice();
        let units: Vec<&[Draft<'_>]> = self
            .frames
            .iter()
            .map(|accepted| rest.split_off(..accepted.messages()).unwrap_or_default())
            .collect();
        let results = path.store.put_many(&units);
        out.call_after();
        self.count(path, &results);
        self.answer(path, settings, &results, out);
    }

    fn drafts(&self, store_host: SocketAddr, born_host: SocketAddr) -> Vec<Draft<'_>> {
        let mut drafts = Vec::with_capacity(self.frames.iter().map(Accepted::messages).sum());
        for accepted in &self.frames {
            let (topic, queue_id): (&[u8], i32) = if accepted.is_half {
                (HALF_TOPIC, 0)
            } else if let Some(wait) = accepted.wait {
                (wait.topic, wait.queue_id)
            } else {
                (&self.topics[accepted.topic].name, accepted.queue_id)
            };
            let single = Draft {
                topic,
                queue_id,
                flag: accepted.flag,
                sys_flag: accepted.sys_flag,
                born_timestamp: accepted.born_timestamp,
                born_host,
                store_host,
                reconsume_times: accepted.reconsume_times,
                prepared_offset: 0,
                body: accepted.frame.body,
                properties: self.text[accepted.properties.clone()].as_bytes(),
            };
            let Some(batch) = accepted.batch.clone() else {
                drafts.push(single);
                continue;
            };
            drafts.extend(self.entries[batch].iter().map(|(entry, properties)| Draft {
                flag: entry.flag,
                body: entry.body,
                properties,
                ..single
            }));
        }
        drafts
    }

    fn count(&self, path: &HotPath, results: &[Result<Placed, Refusal>]) {
        let mut of_topic = vec![(0, 0); self.topics.len()];
        for (accepted, result) in self.frames.iter().zip(results) {
            if let Ok(placed) = result {
                if accepted.is_half {
                    path.counters.topic_puts(HALF_TOPIC).add(1, placed.size);
                    path.counters.half_puts(&self.topics[accepted.topic].name).add(1, placed.size);
                    path.counters.broker_puts.add(1, placed.size);
                    continue;
                }
                if let Some(wait) = accepted.wait {
                    path.counters.topic_puts(wait.topic).add(1, placed.size);
                    path.counters.broker_puts.add(1, placed.size);
                    continue;
                }
                let (messages, bytes) = &mut of_topic[accepted.topic];
                *messages += accepted.messages() as u64;
                *bytes += placed.size;
            }
        }
        for (topic, &(messages, bytes)) in self.topics.iter().zip(&of_topic) {
            topic.puts.add(messages, bytes);
            path.counters.broker_puts.add(messages, bytes);
        }
    }

    fn answer(
        &self,
        path: &HotPath,
        settings: &Settings,
        results: &[Result<Placed, Refusal>],
        out: &mut Outbox<'_>,
    ) {
        let timeout = path.store.sync_flush_timeout();
        let mut unflushed: Option<SentGroup> = None;
        for (accepted, result) in self.frames.iter().zip(results) {
            let frame = accepted.frame;
            match result {
                Ok(placed) => {
                    let unique_key = &self.text[accepted.unique_key.clone()];
                    let topic = &self.topics[accepted.topic].name;
                    let handle = accepted.wait.and_then(|wait| path.recall_handle(&wait, topic, unique_key));
                    let sent = Sent {
                        message_ids: path.message_ids(*placed, accepted.messages()),
                        queue_id: accepted.queue_id,
                        queue_offset: placed.queue_offset,
                        unique_key,
                        recall_handle: handle,
                    };
                    if timeout.is_some() && accepted.waits && !frame.is_oneway() {
                        let group = unflushed.get_or_insert_with(|| SentGroup::new(out.hold(frame)));
                        group.add(placed, sent, Asked::of(frame));
                    } else {
                        sent.reply(settings, response::SUCCESS, None, |reply| out.reply(frame, reply));
                    }
                }
                Err(refusal) => {
                    let code = put_code(refusal.status);
                    reply_refused(settings, code, &refusal.remark(), |reply| out.reply(frame, reply));
                }
            }
        }
        if let Some((group, timeout)) = unflushed.zip(timeout) {
            path.hold_sent(group, Instant::now() + timeout);
        }
    }
}

impl<'a> Accepted<'a> {
    fn of(
        frame: &'a Frame<'a>,
        fields: &SendFields<'a>,
        topic: usize,
        queue_id: i32,
    ) -> Result<Self, Verdict> {
        Ok(Self {
            frame,
            topic,
            queue_id,
            flag: number(fields.flag, "flag")?,
            sys_flag: number(fields.sys_flag, "sysFlag")?,
            born_timestamp: number(fields.born_timestamp, "bornTimestamp")?,
            reconsume_times: match fields.reconsume_times {
                Some(times) if !times.is_empty() => number(Some(times), "reconsumeTimes")?,
                _ => 0,
            },
            properties: 0..0,
            unique_key: 0..0,
            waits: true,
            batch: None,
            is_half: false,
            wait: None,
        })
    }

    fn messages(&self) -> usize {
        self.batch.as_ref().map_or(1, Range::len)
    }
}
