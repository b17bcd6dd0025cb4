//! Delay levels. Within a level all wait equally long, so a queue is in the order of its times and only its head
//! has to be looked at.

use std::sync::Arc;

use parking_lot::Mutex;

use super::delivered::{Delivered, Kind};
use super::onward::{Counts, Onward};
use crate::error::{Error, Result};
use crate::log::notes::Level;
use crate::log::queue::{ConsumeQueue, Unit};
use crate::log::store::Store;
use crate::log::view::{Slice, View};

/// So many messages share one holding of the append lock: senders wait behind no more than these.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 1 << 20;

/// What is to be delivered.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    pub topic: &'a [u8],
    pub queue_id: i32,
    /// Where the queue's head is.
    pub offset: i64,
    pub now: i64,
    /// How long messages of the queue wait.
    pub delay_ms: i64,
    pub count_max: usize,
}

/// How far it went.
#[derive(Debug, Default)]
pub struct Progress {
    pub offset: i64,
    /// When the head is due; `None` when nothing waits.
    pub due: Option<i64>,
    pub counts: Counts,
    /// Why it went no further although more is due.
    pub refusal: Option<String>,
}

#[derive(Debug)]
pub struct Levels {
    store: Arc<Store>,
    delivered: Mutex<Delivered>,
}

/// The head of a queue.
#[derive(Default)]
struct Head {
    /// Due messages with the offset after each; `None` in the place of one that is gone.
    messages: Vec<(i64, Option<Slice>)>,
    /// When the first message that is not due will be.
    due: Option<i64>,
}

impl Levels {
    /// With the deliveries that stand in the log from an offset on: they are not made again.
    pub fn new(store: Arc<Store>, delivered_from: Option<u64>) -> Result<Self> {
        let delivered = match delivered_from {
            Some(from) => Delivered::since(&store, Kind::Levels, from)?,
            None => Delivered::default(),
        };
        Ok(Self { store, delivered: Mutex::new(delivered) })
    }

    /// How many deliveries are known that were made before a crash and not yet passed.
    pub fn delivered_before(&self) -> usize {
        self.delivered.lock().len()
    }

    /// All that was due at the start is dealt with.
    pub fn forget(&self) {
        self.delivered.lock().forget();
    }

    /// Let what is due go on.
    pub fn deliver(&self, order: &Order<'_>) -> Result<Progress> {
        let mut progress = Progress { offset: order.offset, ..Progress::default() };
        let Some(queue) = self.store.derived.queues.get(order.topic, order.queue_id) else {
            return Ok(progress);
        };
        progress.offset = order.offset.max(queue.min_offset());
        let mut delivered = self.delivered.lock();
        let end = progress.offset.saturating_add(i64::try_from(order.count_max).unwrap_or(i64::MAX));
        while progress.offset < end {
            if self.store.is_closed() {
                return Err(Error::Closed);
            }
            let count = BATCH.min((end - progress.offset) as usize);
            let head = self.head(&queue, order, progress.offset, count)?;
            progress.due = head.due;
            if head.messages.is_empty() {
                break;
            }
            // More may be due: whoever stops here is to look again at once.
            progress.due = Some(order.now);
            if let Some(refusal) = self.send(&head, &mut delivered, &mut progress)? {
                progress.refusal = Some(refusal);
                break;
            }
        }
        Ok(progress)
    }

    fn head(&self, queue: &ConsumeQueue, order: &Order<'_>, offset: i64, count: usize) -> Result<Head> {
        let mut units = Vec::with_capacity(count);
        queue.read(offset, count, &mut units)?;
        let mut view = View::new(&self.store.log, self.store.dispatcher.confirmed());
        let mut head = Head::default();
        let mut bytes = 0;
        for (unit, next) in units.into_iter().zip(offset + 1..) {
            let slice = self.message(&mut view, order, unit, next - 1)?;
            let due = due(queue, unit, slice.as_ref(), order)?;
            if order.now < due {
                head.due = Some(due);
                break;
            }
            bytes += unit.size.max(0) as usize;
            if bytes > BATCH_BYTES && !head.messages.is_empty() {
                head.due = Some(due);
                break;
            }
            head.messages.push((next, slice));
        }
        Ok(head)
    }

    /// The message that a unit leads to, if it is that of the unit's place.
    fn message(
        &self,
        view: &mut View<'_>,
        order: &Order<'_>,
        unit: Unit,
        offset: i64,
    ) -> Result<Option<Slice>> {
        let Some(slice) = view.slice(unit.physical_offset.max(0).cast_unsigned())? else { return Ok(None) };
        let record = slice.record()?;
        let is_it = record.topic() == order.topic
            && record.queue_id() == order.queue_id
            && record.queue_offset() == offset;
        if !is_it {
            let text =
                format!("delayed message {offset} of queue {} is not where its queue says", order.queue_id);
            self.store.notes.say(Level::Error, text);
        }
        Ok(is_it.then_some(slice))
    }

    fn send(
        &self,
        head: &Head,
        delivered: &mut Delivered,
        progress: &mut Progress,
    ) -> Result<Option<String>> {
        let mut onward = Vec::with_capacity(head.messages.len());
        let mut after = Vec::with_capacity(head.messages.len());
        for (next, slice) in &head.messages {
            let Some(slice) = slice else { continue };
            match Onward::unchanged(slice.record()?) {
                Some(message) => {
                    onward.push(message);
                    after.push(*next);
                }
                None => self.store.notes.say(
                    Level::Error,
                    format!("delayed message {} does not say where it belongs and is left out", next - 1),
                ),
            }
        }
        let gone = self.store.send_onward(&onward, delivered, &mut progress.counts);
        let last = head.messages.last().map_or(progress.offset, |(next, _)| *next);
        // The first that stays is the one whose turn comes again.
        progress.offset = after.get(gone.done).map_or(last, |next| next - 1);
        Ok(gone.refusal.map(|refusal| refusal.reason))
    }
}

/// When a message is due. A time further off than the level allows is a clock's mistake, not a reason to wait.
fn due(queue: &ConsumeQueue, unit: Unit, slice: Option<&Slice>, order: &Order<'_>) -> Result<i64> {
    let Some(slice) = slice else { return Ok(0) };
    let time = match queue.tags_code(unit)? {
        // Negative: an address in the extension that leads nowhere.
        time if time >= 0 => time,
        _ => slice.record()?.store_timestamp().saturating_add(order.delay_ms),
    };
    Ok(if time > order.now.saturating_add(order.delay_ms) { order.now } else { time })
}
