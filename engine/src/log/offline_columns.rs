//! The messages of a commit log as columns, read without a store.

use std::collections::HashSet;
use std::ops::Range;

use hashbrown::HashMap;

use super::offline::{OfflineLog, Step, WalkEnd, Walked, flaw};
use crate::arrow::{Chosen, Columns, Opening, Origin, Size};
use crate::client::received::Tags;
use crate::error::Result;
use crate::message::Record;

/// Which messages of a log are wanted, and how.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Those that begin here; the first must be the start of a record.
    pub range: Range<u64>,
    /// When they were stored, in milliseconds.
    pub stored: Range<i64>,
    pub topics: Topics,
    /// Also parts of transactions that no queue holds: prepared, or rolled back.
    pub halves: bool,
    pub origin: Origin,
    pub chosen: Chosen,
    /// Rows and bytes after which the batch is full, about.
    pub rows: usize,
    pub bytes: usize,
    /// What a compressed body may grow to.
    pub body_bytes_max: usize,
}

/// Names of topics, and how names begin or end.
#[derive(Clone, Debug, Default)]
pub struct Topics {
    /// None: all but those below.
    pub only: Option<HashSet<Box<[u8]>>>,
    pub without: HashSet<Box<[u8]>>,
    pub without_prefix: Vec<Box<[u8]>>,
    pub without_suffix: Vec<Box<[u8]>>,
}

impl Topics {
    fn contains(&self, topic: &[u8]) -> bool {
        let is_out = || {
            self.without.contains(topic)
                || self.without_prefix.iter().any(|prefix| topic.starts_with(prefix))
                || self.without_suffix.iter().any(|suffix| topic.ends_with(suffix))
        };
        self.only.as_ref().map_or_else(|| !is_out(), |only| only.contains(topic))
    }
}

impl OfflineLog {
    /// Reads on until a batch is full or the range ends. Damage stands at `next`; also that of the first record behind
    /// the range, which whoever looks for its start there would step over.
    pub fn columns(&self, wanted: &Wanted) -> Result<(Columns, WalkEnd)> {
        let mut collector = Collector {
            wanted,
            columns: Columns::new(
                wanted.origin.clone(),
                Size { rows: wanted.rows, bytes: wanted.bytes },
                wanted.chosen.clone(),
            ),
            judged: HashMap::new(),
            no_tags: Tags::default(),
        };
        let end = self.walk(wanted.range.start, |found| collector.visit(&found))?;
        Ok((collector.columns, end))
    }
}

struct Collector<'a> {
    wanted: &'a Wanted,
    columns: Columns,
    judged: HashMap<Box<[u8]>, bool>,
    no_tags: Tags,
}

impl Collector<'_> {
    fn visit(&mut self, found: &Walked<'_>) -> Step {
        let Wanted { range, stored, rows, bytes, halves, .. } = self.wanted;
        let record = &found.record;
        if found.physical_offset >= range.end {
            return flaw(record, found.physical_offset).map_or(Step::Stop, Step::Damaged);
        }
        if u64::try_from(record.physical_offset()) != Ok(found.physical_offset) {
            return Step::Damaged(format!("the record states offset {}", record.physical_offset()));
        }
        let is_told = *halves || record.transaction_type().is_consumable();
        if !is_told || !stored.contains(&record.store_timestamp()) || !self.is_wanted(record.topic()) {
            return Step::On;
        }
        if self.columns.len() >= *rows || self.columns.bytes() >= *bytes {
            return Step::Stop;
        }
        flaw(record, found.physical_offset).map_or_else(|| self.add(record), Step::Damaged)
    }

    /// Most records have the topic of one before.
    fn is_wanted(&mut self, topic: &[u8]) -> bool {
        if let Some(&judged) = self.judged.get(topic) {
            return judged;
        }
        let verdict = self.wanted.topics.contains(topic);
        self.judged.insert(topic.into(), verdict);
        verdict
    }

    fn add(&mut self, record: &Record<'_>) -> Step {
        let opening = Opening {
            // It is known to fit.
            check_crc: false,
            body_bytes_max: self.wanted.body_bytes_max,
            offset_delta: 0,
            wanted: i64::MIN..i64::MAX,
            tags: &self.no_tags,
        };
        match self.columns.add(record, &opening) {
            Ok(true) => Step::On,
            Ok(false) => Step::Stop,
            Err(damage) => Step::Damaged(format!("the message cannot be read: {damage}")),
        }
    }
}

#[cfg(test)]
mod tests;
