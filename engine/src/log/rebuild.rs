//! Building queues again from the log, when they lack something that it has.

use hashbrown::HashMap;

use super::commit_log::CommitLog;
use super::derived::{Derived, Numbers, Place, Taken};
use super::notes::{Level, Notes};
use super::queue::{ConsumeQueue, RecentQueues};
use super::recover::find_intact;
use crate::error::Result;
use crate::message::{DispatchProperties, Found, Record, look};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueueKey {
    topic: Box<[u8]>,
    queue_id: i32,
}

impl QueueKey {
    pub fn new(topic: &[u8], queue_id: i32) -> Self {
        Self { topic: topic.into(), queue_id }
    }

    pub fn of(place: &Place<'_>) -> Self {
        Self::new(place.topic, place.queue_id)
    }
}

impl std::fmt::Display for QueueKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", String::from_utf8_lossy(&self.topic), self.queue_id)
    }
}

/// Queues that lack something, with the log offset from which they do.
#[derive(Debug, Default)]
pub struct Lacking(HashMap<QueueKey, u64>);

impl Lacking {
    pub fn note(&mut self, key: QueueKey, from: u64) {
        let known = self.0.entry(key).or_insert(from);
        *known = from.min(*known);
    }

    pub fn add(&mut self, others: Self) {
        for (key, from) in others.0 {
            self.note(key, from);
        }
    }

    /// The log offset from which on something lacks.
    pub fn first(&self) -> Option<u64> {
        self.0.values().min().copied()
    }

    pub fn has(&self, place: &Place<'_>) -> bool {
        !self.0.is_empty() && self.0.contains_key(&QueueKey::of(place))
    }

    /// Forget the queues that lack nothing before `offset`.
    pub fn only_before(&mut self, offset: u64) {
        self.0.retain(|_, from| *from < offset);
    }
}

/// A message that does not follow the last one of its queue. The next one tells which of them is wrong.
#[derive(Clone, Copy)]
struct Held {
    physical_offset: u64,
    queue_offset: i64,
}

pub struct Rebuild<'a> {
    pub log: &'a CommitLog,
    pub derived: &'a Derived,
    pub notes: &'a Notes,
    pub lacking: Lacking,
    held: HashMap<QueueKey, Held>,
    recent: RecentQueues,
}

impl<'a> Rebuild<'a> {
    pub fn new(log: &'a CommitLog, derived: &'a Derived, notes: &'a Notes, lacking: Lacking) -> Self {
        Self { log, derived, notes, lacking, held: HashMap::new(), recent: RecentQueues::default() }
    }

    /// Enter what the lacking queues lack, up to the log's end.
    pub fn run(mut self, end: u64) -> Result<()> {
        let Some(from) = self.lacking.first() else { return Ok(()) };
        for key in self.lacking.0.keys() {
            self.notes.say(
                Level::Warning,
                format!("queue {key} lacks messages that the log has; it is built again"),
            );
        }
        let mut at = self.log.segment_of(from).map_or(self.log.min_offset(), |segment| segment.start());
        while at < end
            && let Some(segment) = self.log.segment_of(at)
        {
            let position = at - segment.start();
            match look(segment.bytes(position as usize..segment.size() as usize)) {
                Ok(Found::Record(record)) if record.physical_offset() == at.cast_signed() => {
                    self.take(&record)?;
                    at += record.size() as u64;
                }
                Ok(Found::Blank { .. }) => at = segment.end(),
                // Damage before the checked part: go on at the next record that can be read.
                Ok(Found::Record(_) | Found::Nothing) | Err(_) => {
                    at = find_intact(&segment, position, segment.size())
                        .map_or(segment.end(), |position| segment.start() + position);
                }
            }
            segment.map().check()?;
        }
        for (key, held) in std::mem::take(&mut self.held) {
            self.place_held(&key, held, false)?;
        }
        Ok(())
    }

    fn take(&mut self, record: &Record<'_>) -> Result<()> {
        let properties = DispatchProperties::for_dispatch(record.properties());
        for place in self.derived.places(record, &properties) {
            if self.lacking.has(&place) {
                let placed = self.place(&place, record, &properties);
                self.derived.skip_unplaceable(placed, record)?;
            }
        }
        Ok(())
    }

    /// Put a message where its number says, if the messages around it agree.
    fn place(
        &mut self,
        place: &Place<'_>,
        record: &Record<'_>,
        properties: &DispatchProperties<'_>,
    ) -> Result<()> {
        let queue = self.derived.queues.get_or_create(place.topic, place.queue_id)?;
        let number = place.number;
        let ends_at = queue.max_physical_offset();
        if record.physical_offset() + record.size() as i64 <= ends_at {
            return Ok(()); // the queue has it
        }
        let expected = (ends_at >= 0).then(|| queue.max_offset());
        let key = QueueKey::of(place);
        if self
            .held
            .get(&key)
            .is_some_and(|held| held.physical_offset == record.physical_offset().cast_unsigned())
        {
            return Ok(()); // it names the queue twice
        }
        let held = self.held.remove(&key);
        match held {
            Some(held) if number == held.queue_offset + 1 => self.place_held(&key, held, true)?,
            Some(held) if expected == Some(number) => self.leave_out(&key, held),
            Some(held) if expected == Some(number - 1) => {
                self.leave_out(&key, held);
                queue.fill_blank(number)?;
            }
            None if expected == Some(number) => {}
            _ => {
                if let Some(held) = held {
                    self.leave_out(&key, held);
                }
                let physical_offset = record.physical_offset().cast_unsigned();
                self.held.insert(key, Held { physical_offset, queue_offset: number });
                return Ok(());
            }
        }
        if let Taken::Gap { expected } = self.derived.enter(&mut self.recent, place, record, properties)? {
            let unit = self.derived.unit_of(record);
            self.derived.close_gap(&queue, expected, number, unit, Numbers::Doubtful)?;
        }
        Ok(())
    }

    /// Enter a message whose number did not follow; with a witness the next one bears it out.
    fn place_held(&mut self, key: &QueueKey, held: Held, has_witness: bool) -> Result<()> {
        let Some(segment) = self.log.segment_of(held.physical_offset) else { return Ok(()) };
        let position = (held.physical_offset - segment.start()) as usize;
        let Ok(Found::Record(record)) = look(segment.bytes(position..segment.size() as usize)) else {
            return Ok(());
        };
        let properties = DispatchProperties::for_dispatch(record.properties());
        let Some(place) = self.derived.places(&record, &properties).find(|place| QueueKey::of(place) == *key)
        else {
            return Ok(());
        };
        let queue = self.derived.queues.get_or_create(place.topic, place.queue_id)?;
        let counts_again = queue.max_physical_offset() >= 0 && held.queue_offset < queue.max_offset();
        if counts_again && (has_witness || Self::may_begin_anew(&queue, held)) {
            self.notes.say(
                Level::Warning,
                format!(
                    "queue {key} counts from {} again at offset {}: the topic was deleted and made anew",
                    held.queue_offset, held.physical_offset
                ),
            );
            queue.destroy()?;
        }
        let taken = match self.derived.enter(&mut self.recent, &place, &record, &properties) {
            Ok(Taken::Gap { expected }) => {
                let unit = self.derived.unit_of(&record);
                let numbers = if has_witness { Numbers::Sure } else { Numbers::Doubtful };
                self.derived.close_gap(&queue, expected, held.queue_offset, unit, numbers)
            }
            Ok(Taken::Conflict) => {
                self.leave_out(key, held);
                Ok(())
            }
            other => other.map(|_| ()),
        };
        self.derived.skip_unplaceable(taken, &record)
    }

    /// Whether the last message of a queue, which is number 0, may be the only one since its topic was made anew.
    /// Deleting the topic took all units away that led further back, so one that is there shows damage.
    fn may_begin_anew(queue: &ConsumeQueue, held: Held) -> bool {
        held.queue_offset == 0 && !queue.was_there_before(held.physical_offset.cast_signed())
    }

    fn leave_out(&self, key: &QueueKey, held: Held) {
        self.notes.say(
            Level::Error,
            format!(
                "queue {key}: the message at offset {} says it is number {}, which does not fit those around it: \
                 it is damaged and left out",
                held.physical_offset, held.queue_offset
            ),
        );
    }
}
