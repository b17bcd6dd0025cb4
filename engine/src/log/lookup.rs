//! Looking messages up: by key, by tags and by time.

use std::sync::atomic::Ordering;

use super::queue::{ConsumeQueue, Unit};
use super::store::Store;
use super::view::{Slice, View};
use crate::error::Result;
use crate::message::ids::TopicHash;
use crate::message::layout::property;
use crate::message::{Record, properties};

/// Index entries looked at for each result wanted: keys of one hash share a chain.
const QUERY_SPARE: usize = 4;

impl Store {
    /// Find messages by what the index has of them, newest first.
    pub fn query(
        &self,
        topic: &[u8],
        wanted: Indexed<'_>,
        begin: i64,
        end: i64,
        limit: usize,
    ) -> Result<Vec<Slice>> {
        self.stats.queries.fetch_add(1, Ordering::Relaxed);
        let Some(index) = &self.derived.index else { return Ok(Vec::new()) };
        let limit = limit.min(self.config.query_results_max);
        let mut view = View::new(&self.log, self.dispatcher.confirmed());
        let mut found = Vec::new();
        let mut seen = None;
        for offset in index.query(wanted.hash(topic), begin, end, limit.saturating_mul(QUERY_SPARE))? {
            // After a kill the last record may stand in the index twice.
            if found.len() == limit || seen.replace(offset) == Some(offset) {
                continue;
            }
            let offset = offset.max(0).cast_unsigned();
            let is_it = view.record(offset)?.is_some_and(|record| {
                let in_time = (begin..=end).contains(&record.store_timestamp());
                in_time && record.topic() == topic && wanted.is_in(&record) && record.body_is_intact()
            });
            if is_it {
                found.extend(view.slice(offset)?);
            }
        }
        Ok(found)
    }

    /// The queue offset for a time: the first message at or after it, or with `upper` the last at or before.
    pub fn offset_at_time(&self, queue: &ConsumeQueue, timestamp: i64, upper: bool) -> Result<i64> {
        let (min, max) = (queue.min_offset(), queue.max_offset());
        let mut view = View::new(&self.log, self.dispatcher.confirmed());
        let mut stored_at = |unit: &Unit| -> Result<Option<i64>> {
            let offset = unit.physical_offset.max(0).cast_unsigned();
            if let Some(record) = view.record(offset)? {
                return Ok(Some(record.store_timestamp()));
            }
            // What the log no longer has is older than anything asked for; of what is damaged nobody knows.
            Ok((offset < self.log.min_offset()).then_some(0))
        };
        if upper {
            let after = queue.search(min, max, |unit| Ok(stored_at(unit)?.map(|time| time <= timestamp)))?;
            return Ok((after - 1).clamp(min, max));
        }
        queue.search(min, max, |unit| Ok(stored_at(unit)?.map(|time| time < timestamp)))
    }
}

/// What a message can be looked up by.
#[derive(Clone, Copy, Debug)]
pub enum Indexed<'a> {
    /// One of its keys, or its unique key.
    Key(&'a [u8]),
    Tags(&'a [u8]),
}

impl Indexed<'_> {
    fn hash(self, topic: &[u8]) -> i32 {
        match self {
            Self::Key(key) => TopicHash::of(topic).with_key(key),
            Self::Tags(tags) => TopicHash::of(topic).with_tags(tags),
        }
    }

    fn is_in(self, record: &Record<'_>) -> bool {
        let of_record = |name| properties::find(record.properties(), name);
        match self {
            Self::Key(key) => {
                of_record(property::UNIQ_KEY) == Some(key)
                    || of_record(property::KEYS)
                        .is_some_and(|keys| keys.split(|&byte| byte == b' ').any(|word| word == key))
            }
            Self::Tags(tags) => of_record(property::TAGS) == Some(tags),
        }
    }
}
