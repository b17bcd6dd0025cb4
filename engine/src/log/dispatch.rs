//! The dispatcher: follows the log and makes what is confirmed consumable.

use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::arrivals::Arrivals;
use super::commit_log::CommitLog;
use super::config::FlushMode;
use super::derived::{self, Derived, Numbers, Place, Taken};
use super::flags::{Flag, Flags};
use super::index::IndexWriter;
use super::notes::Level;
use super::queue::{PREFETCHED_MAX, RecentQueues, User};
use super::segment::Segment;
use super::signal::Signal;
use super::watch::{Arrival, Watch, Watcher};
use crate::error::{Error, Result};
use crate::message::{DispatchProperties, Found, Record, look};

/// Readers are woken at the latest after this much of the log.
const STRETCH_BYTES: u64 = 256 * 1024;
/// To dispatch this much takes a writer less time than to wake the dispatch thread.
const AT_ONCE_BYTES: u64 = 4 * 1024;
/// The fixed fields of a record before its body, and most properties behind it, fit in this much.
const RECORD_ENDS_BYTES: usize = 128;
/// Dispatch is this far behind only when it cannot go on.
const CATCH_UP_MAX: Duration = Duration::from_secs(1);
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// What came of looking for work.
enum Advance {
    Moved,
    /// There is nothing whole to dispatch up to what is confirmed now.
    Stands {
        confirmed: u64,
    },
}

#[derive(Debug)]
pub struct Dispatcher {
    log: Arc<CommitLog>,
    derived: Arc<Derived>,
    flags: Arc<Flags>,
    pub(super) arrivals: Arrivals,
    watcher: Arc<Watcher>,
    /// Held by whoever dispatches: the dispatch thread, or a writer for the little it wrote.
    turn: Mutex<RecentQueues>,
    /// Raised when the log grew or more of it was confirmed.
    pub(super) signal: Arc<Signal>,
    /// Everything before it is in its queue and index.
    position: AtomicU64,
    /// Store timestamp of the last record before `position`; moves after it.
    timestamp: AtomicI64,
    /// From where on messages are not indexed, because that failed; `u64::MAX` while it works.
    index_stands_at: AtomicU64,
    /// Replication's word on how far readers may see; `u64::MAX` without one.
    confirm_limit: AtomicU64,
}

impl Dispatcher {
    pub fn new(
        log: Arc<CommitLog>,
        derived: Arc<Derived>,
        flags: Arc<Flags>,
        signal: Arc<Signal>,
        watcher: Arc<Watcher>,
    ) -> Self {
        Self {
            log,
            derived,
            flags,
            arrivals: Arrivals::default(),
            watcher,
            turn: Mutex::default(),
            signal,
            position: AtomicU64::new(0),
            timestamp: AtomicI64::new(0),
            index_stands_at: AtomicU64::new(u64::MAX),
            confirm_limit: AtomicU64::new(u64::MAX),
        }
    }

    pub fn start_at(&self, offset: u64, timestamp: i64) {
        self.position.store(offset, Ordering::Release);
        self.timestamp.store(timestamp, Ordering::Release);
    }

    pub fn position(&self) -> u64 {
        self.position.load(Ordering::Acquire)
    }

    pub fn timestamp(&self) -> i64 {
        self.timestamp.load(Ordering::Acquire)
    }

    pub fn set_confirm_limit(&self, limit: Option<u64>) {
        self.confirm_limit.store(limit.unwrap_or(u64::MAX), Ordering::Release);
        self.signal.raise();
    }

    /// How far readers may see: what is safe by the flush mode, and agreed by replication.
    pub fn confirmed(&self) -> u64 {
        let safe = match self.log.config.flush_mode {
            FlushMode::Sync => self.log.flushed(),
            FlushMode::Async => self.log.readable(),
        };
        safe.min(self.confirm_limit.load(Ordering::Acquire))
    }

    /// Wait until what is confirmed now is dispatched, so that a writer can read what it wrote.
    pub fn catch_up(&self) {
        let confirmed = self.confirmed();
        if self.position() < confirmed {
            self.signal.raise();
            let deadline = Instant::now() + CATCH_UP_MAX;
            self.arrivals.wait_until(Some(deadline), || self.position() >= confirmed);
        }
    }

    /// Bytes that are confirmed but not dispatched yet.
    pub fn behind(&self) -> u64 {
        self.confirmed().saturating_sub(self.position())
    }

    /// Where the record at an offset ends; 0 when there is none.
    pub fn end_of_record(&self, offset: u64) -> Result<i64> {
        let Some(segment) = self.log.segment_of(offset) else { return Ok(0) };
        let position = (offset - segment.start()) as usize;
        let end = match look(segment.bytes(position..segment.size() as usize)) {
            Ok(Found::Record(record)) => offset.cast_signed() + record.size() as i64,
            _ => 0,
        };
        segment.map().check()?;
        Ok(end)
    }

    /// Whether messages are left out of the index until it can be written again.
    pub fn index_stands(&self) -> bool {
        self.index_stands_at.load(Ordering::Acquire) != u64::MAX
    }

    /// The dispatch thread. On stop it first works off what is there.
    pub fn run(&self, stop: &AtomicBool) {
        let mut index_tried = Instant::now();
        loop {
            let mut recent = self.turn.lock();
            if self.index_stands() && index_tried.elapsed() >= RETRY_PAUSE {
                self.index_again();
                index_tried = Instant::now();
            }
            let advanced = self.advance(&mut recent);
            if stop.load(Ordering::Acquire) && !matches!(advanced, Ok(Advance::Moved)) {
                self.index_again();
                return;
            }
            drop(recent);
            match advanced {
                Ok(Advance::Moved) => {}
                Ok(Advance::Stands { confirmed }) => self.idle(confirmed, stop),
                Err(error) => {
                    if self.flags.raise(Flag::QueueError) {
                        self.log.notes().say(
                            Level::Error,
                            format!(
                                "dispatch stands at offset {}, writes are refused until it goes on: {error}",
                                self.position()
                            ),
                        );
                    }
                    self.signal.lower();
                    self.signal.wait(Some(RETRY_PAUSE));
                }
            }
        }
    }

    /// Have what was written dispatched: right here if it is little and nobody is at it, or else by the thread.
    pub fn dispatch_soon(&self) {
        if self.behind() > AT_ONCE_BYTES || !self.dispatch_at_once() {
            self.signal.raise();
        }
    }

    /// Dispatch on the caller's thread, unless another one does; says whether nothing is left.
    fn dispatch_at_once(&self) -> bool {
        let Some(mut recent) = self.turn.try_lock() else { return false };
        // The thread meets an error again, and tells it.
        self.advance(&mut recent).is_ok() && self.behind() == 0
    }

    /// Sleep until more is confirmed.
    fn idle(&self, confirmed: u64, stop: &AtomicBool) {
        self.signal.lower();
        if self.confirmed() == confirmed && !stop.load(Ordering::Acquire) {
            self.signal.wait(self.index_stands().then_some(RETRY_PAUSE));
        }
    }

    /// Dispatch the next stretch of the log.
    fn advance(&self, recent: &mut RecentQueues) -> Result<Advance> {
        let from = self.position();
        let confirmed = self.confirmed();
        if from >= confirmed {
            return Ok(Advance::Stands { confirmed });
        }
        let Some(segment) = self.log.segment_of(from) else {
            // Deleted under us: the disk was full. What is gone cannot be dispatched.
            let min = self.log.min_offset().max(from);
            self.log.notes().say(
                Level::Warning,
                format!("dispatch stood at offset {from}, below the log's start; it goes on at {min}"),
            );
            self.position.store(min, Ordering::Release);
            return Ok(Advance::Moved);
        };
        let end = confirmed.min(segment.end()).min(from + STRETCH_BYTES);
        let watch = self.watcher.get();
        let told = watch.as_deref().filter(|watch| watch.is_waiting());
        let mut index = if self.index_stands() { None } else { self.derived.index_writer() };
        let dispatched = self.dispatch_range(recent, &mut index, &segment, from..end, confirmed, told);
        if let Some(mut index) = index
            && let Err(error) = index.settle()
        {
            // What is dispatched waits in the index itself.
            let reached = dispatched.as_ref().map_or(from, |&(reached, _)| reached);
            self.let_index_stand(reached, &error);
        }
        if let Some(watch) = &watch {
            // Pairs with the fence of whoever begins to wait: it sees the queues as they are now, or we see it.
            fence(Ordering::SeqCst);
            watch.stretch_arrived(told.is_some());
        }
        let (reached, timestamp) = dispatched?;
        segment.map().check()?;
        if reached == from {
            return Ok(Advance::Stands { confirmed });
        }
        self.position.store(reached, Ordering::Release);
        if timestamp > 0 {
            self.timestamp.store(timestamp, Ordering::Release);
        }
        if self.flags.clear(Flag::QueueError) {
            self.log.notes().say(Level::Info, format!("dispatch goes on at offset {reached}"));
        }
        self.arrivals.announce();
        Ok(Advance::Moved)
    }

    /// Dispatch records that start in `range`; none may reach past `end`.
    fn dispatch_range(
        &self,
        recent: &mut RecentQueues,
        index: &mut Option<IndexWriter<'_>>,
        segment: &Segment,
        range: Range<u64>,
        end: u64,
        watch: Option<&dyn Watch>,
    ) -> Result<(u64, i64)> {
        let mut at = range.start;
        let mut timestamp = 0;
        // Replication may confirm half a record: look at whole ones, and stop before what is not confirmed.
        let limit = self.log.readable().min(segment.end()) - segment.start();
        let mut looked_to = if recent.has_many() { at } else { range.end };
        while at < range.end {
            if at >= looked_to {
                looked_to = Self::look_ahead(recent, segment, at..range.end.min(segment.start() + limit));
            }
            match look(segment.bytes((at - segment.start()) as usize..limit as usize)) {
                Ok(Found::Record(record)) if at + record.size() as u64 > end => break,
                Ok(Found::Record(record)) => {
                    self.dispatch(recent, index, &record, watch)?;
                    timestamp = record.store_timestamp();
                    let size = record.size();
                    at += size as u64;
                    if at + 2 * size as u64 <= range.end {
                        Self::prefetch_ends(segment, (at - segment.start()) as usize + size, size);
                    }
                }
                Ok(Found::Blank { .. }) => at = segment.end(),
                Ok(Found::Nothing) => {
                    return Err(Error::damaged(
                        segment.path(),
                        format!("nothing stands at offset {at}, below the confirmed offset {end}"),
                    ));
                }
                Err(bad) => {
                    return Err(Error::damaged(segment.path(), format!("at offset {at}: {bad}")));
                }
            }
        }
        Ok((at, timestamp))
    }

    /// Have the processor fetch what dispatch looks at of a record to come, its beginning and its end: the writer may
    /// have it in the cache of another core, from where it takes as long as from memory. That it is as long as the
    /// one before is a guess.
    fn prefetch_ends(segment: &Segment, at: usize, size: usize) {
        let len = size.min(RECORD_ENDS_BYTES);
        segment.map().prefetch(at, len);
        segment.map().prefetch(at + size - len, len);
    }

    /// Have the queues of the next records fetched into the processor's cache; returns up to where.
    fn look_ahead(recent: &RecentQueues, segment: &Segment, range: Range<u64>) -> u64 {
        let mut at = range.start;
        let next = iter::from_fn(|| {
            let bytes =
                segment.bytes((at - segment.start()) as usize..(range.end - segment.start()) as usize);
            match look(bytes) {
                Ok(Found::Record(record)) => {
                    at += record.size() as u64;
                    Some((record.topic(), record.queue_id()))
                }
                _ => None,
            }
        });
        recent.prefetch(User::Dispatcher, next.take(PREFETCHED_MAX));
        // What is no record is met again when it is its turn.
        if at > range.start { at } else { range.end }
    }

    fn dispatch(
        &self,
        recent: &mut RecentQueues,
        index: &mut Option<IndexWriter<'_>>,
        record: &Record<'_>,
        watch: Option<&dyn Watch>,
    ) -> Result<()> {
        let properties = DispatchProperties::for_dispatch(record.properties());
        for place in self.derived.places(record, &properties) {
            // Not all was looked at when it was put: what a batch names, or what another store wrote.
            let entered = self.enter(recent, &place, record, &properties);
            self.derived.skip_unplaceable(entered, record)?;
        }
        if let Some(watch) = watch {
            self.tell_arrival(watch, record, &properties);
        }
        if let Some(writer) = index
            && let Err(error) = derived::index(writer, record, &properties)
        {
            *index = None;
            self.let_index_stand(record.physical_offset().cast_unsigned(), &error);
        }
        Ok(())
    }

    fn enter(
        &self,
        recent: &mut RecentQueues,
        place: &Place<'_>,
        record: &Record<'_>,
        properties: &DispatchProperties<'_>,
    ) -> Result<()> {
        let queue = || self.derived.queues.get_or_create(place.topic, place.queue_id);
        let unit = || self.derived.unit_of(record);
        match self.derived.enter(recent, place, record, properties)? {
            Taken::Yes => {}
            Taken::Gap { expected } => {
                // The message was acknowledged under its number: it must not be lost with those before it.
                self.derived.close_gap(&*queue()?, expected, place.number, unit(), Numbers::Sure)?;
            }
            Taken::Conflict => self.derived.note_conflict(&*queue()?, place.number, unit()),
        }
        Ok(())
    }

    /// Leave messages from an offset on for later: the index only helps to find them, and must not keep them from
    /// their readers.
    fn let_index_stand(&self, offset: u64, error: &Error) {
        self.index_stands_at.store(offset, Ordering::Release);
        self.log.notes().say(
            Level::Error,
            format!("messages from offset {offset} on wait to be indexed until that works: {error}"),
        );
    }

    /// Tell who waits for a record, in its own queue or in one that it names.
    fn tell_arrival(&self, watch: &dyn Watch, record: &Record<'_>, properties: &DispatchProperties<'_>) {
        for place in self.derived.places(record, properties) {
            watch.arrived(&Arrival {
                topic: place.topic,
                queue_id: place.queue_id,
                queue_offset: place.number,
                tags: properties.tags,
                properties: record.properties(),
            });
        }
    }

    /// Index what had to wait. Only for the holder of the turn.
    fn index_again(&self) {
        if !self.index_stands() {
            return;
        }
        let Some(mut writer) = self.derived.index_writer() else { return };
        let (mut at, end) = (self.index_stands_at.load(Ordering::Acquire), self.position());
        while at < end {
            let Some(segment) = self.log.segment_of(at) else {
                at = self.log.min_offset().max(at + 1);
                continue;
            };
            let limit = end.min(segment.end()) - segment.start();
            match look(segment.bytes((at - segment.start()) as usize..limit as usize)) {
                Ok(Found::Record(record)) => {
                    let properties = DispatchProperties::for_dispatch(record.properties());
                    if derived::index(&mut writer, &record, &properties).is_err() {
                        self.index_stands_at.store(at, Ordering::Release);
                        return;
                    }
                    at += record.size() as u64;
                }
                _ => at = segment.end(),
            }
        }
        if writer.settle().is_ok() {
            self.index_stands_at.store(u64::MAX, Ordering::Release);
            self.log.notes().say(Level::Info, format!("all messages up to offset {end} are indexed again"));
        }
    }
}
