//! Messages in the columns of a record batch.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int32Array, LargeBinaryArray, LargeStringArray, MapArray, RecordBatch,
    StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, TimeUnit};

use super::draft::{Draft, Unsendable};
use super::face::{Outbox, Posted};
use super::lanes::Wanted;
use super::tally::Tally;

/// Why the rows of a batch cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRow {
    #[error("there is no column \"body\"")]
    NoBodyColumn,
    #[error("column {0:?} cannot be of the type {1}")]
    Type(String, DataType),
    #[error("there is no column {0:?}")]
    Unknown(String),
    #[error("row {0} has no body: it is null")]
    NullBody(usize),
    #[error("row {0} names no topic: give the option `topic`, or fill the column")]
    NoTopic(usize),
    #[error("row {0} wants queue {2}, which topic {1:?} does not have")]
    NoQueue(usize, String, String),
    #[error("row {0}: {1}")]
    Unsendable(usize, Unsendable),
}

enum Text {
    Short(StringArray),
    Long(LargeStringArray),
}

impl Text {
    fn of(name: &str, array: &ArrayRef) -> Result<Self, BadRow> {
        match array.data_type() {
            DataType::Utf8 => Ok(Self::Short(array.as_string::<i32>().clone())),
            DataType::LargeUtf8 => Ok(Self::Long(array.as_string::<i64>().clone())),
            other => Err(BadRow::Type(name.to_owned(), other.clone())),
        }
    }

    #[inline]
    fn get(&self, row: usize) -> Option<&str> {
        match self {
            Self::Short(texts) => texts.is_valid(row).then(|| texts.value(row)),
            Self::Long(texts) => texts.is_valid(row).then(|| texts.value(row)),
        }
    }
}

enum Bodies {
    Text(Text),
    Short(BinaryArray),
    Long(LargeBinaryArray),
}

impl Bodies {
    fn of(name: &str, array: &ArrayRef) -> Result<Self, BadRow> {
        match array.data_type() {
            DataType::Binary => Ok(Self::Short(array.as_binary::<i32>().clone())),
            DataType::LargeBinary => Ok(Self::Long(array.as_binary::<i64>().clone())),
            _ => Text::of(name, array).map(Self::Text),
        }
    }

    #[inline]
    fn get(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Text(texts) => texts.get(row).map(str::as_bytes),
            Self::Short(bytes) => bytes.is_valid(row).then(|| bytes.value(row)),
            Self::Long(bytes) => bytes.is_valid(row).then(|| bytes.value(row)),
        }
    }
}

struct Properties {
    entries: MapArray,
    names: Text,
    values: Text,
}

impl Properties {
    fn of(name: &str, array: &ArrayRef) -> Result<Self, BadRow> {
        let bad = || BadRow::Type(name.to_owned(), array.data_type().clone());
        let entries = array.as_map_opt().ok_or_else(bad)?.clone();
        let names = Text::of(name, entries.keys()).map_err(|_| bad())?;
        let values = Text::of(name, entries.values()).map_err(|_| bad())?;
        Ok(Self { entries, names, values })
    }

    fn push(&self, row: usize, left_out: &HashSet<String>, draft: &mut Draft<'_>) -> Result<(), Unsendable> {
        if self.entries.is_null(row) {
            return Ok(());
        }
        let offsets = self.entries.value_offsets();
        for entry in offsets[row] as usize..offsets[row + 1] as usize {
            if let (Some(name), Some(value)) = (self.names.get(entry), self.values.get(entry))
                && !left_out.contains(name)
            {
                draft.push(name, value)?;
            }
        }
        Ok(())
    }
}

/// The columns of a batch, by what they mean.
pub struct Rows {
    count: usize,
    body: Bodies,
    topic: Option<Text>,
    tags: Option<Text>,
    keys: Option<Text>,
    sharding_key: Option<Text>,
    broker: Option<Text>,
    queue_id: Option<Int32Array>,
    delay_level: Option<Int32Array>,
    deliver_at: Option<TimestampMicrosecondArray>,
    properties: Option<Properties>,
}

impl Rows {
    /// Columns go by their names, in letters of either case.
    pub fn of(batch: &RecordBatch) -> Result<Self, BadRow> {
        let schema = batch.schema();
        let mut body = None;
        let (mut topic, mut tags, mut keys, mut sharding_key, mut broker) = (None, None, None, None, None);
        let (mut queue_id, mut delay_level, mut deliver_at, mut properties) = (None, None, None, None);
        for (field, array) in schema.fields().iter().zip(batch.columns()) {
            let name = field.name().as_str();
            match name.to_ascii_lowercase().as_str() {
                "body" => body = Some(Bodies::of(name, array)?),
                "topic" => topic = Some(Text::of(name, array)?),
                "tags" => tags = Some(Text::of(name, array)?),
                "keys" => keys = Some(Text::of(name, array)?),
                "shardingkey" => sharding_key = Some(Text::of(name, array)?),
                "brokername" => broker = Some(Text::of(name, array)?),
                "queueid" => queue_id = Some(numbers(name, array)?),
                "delaylevel" => delay_level = Some(numbers(name, array)?),
                "deliverat" => deliver_at = Some(moments(name, array)?),
                "properties" => properties = Some(Properties::of(name, array)?),
                _ => return Err(BadRow::Unknown(name.to_owned())),
            }
        }
        let body = body.ok_or(BadRow::NoBodyColumn)?;
        let count = batch.num_rows();
        Ok(Self {
            count,
            body,
            topic,
            tags,
            keys,
            sharding_key,
            broker,
            queue_id,
            delay_level,
            deliver_at,
            properties,
        })
    }

    fn wanted(&self, row: usize) -> Wanted<'_> {
        if let Some(queue_id) = number(self.queue_id.as_ref(), row) {
            return Wanted::Queue { broker: text(self.broker.as_ref(), row), queue_id };
        }
        text(self.sharding_key.as_ref(), row).map_or(Wanted::Any, Wanted::OfKey)
    }

    fn draft<'a>(
        &'a self,
        row: usize,
        course: &Course,
        scratch: &'a mut Vec<u8>,
    ) -> Result<Draft<'a>, BadRow> {
        let body = self.body.get(row).ok_or(BadRow::NullBody(row))?;
        let mut draft = Draft::new(body, 0, scratch);
        self.fill(row, course, &mut draft).map_err(|why| BadRow::Unsendable(row, why))?;
        Ok(draft)
    }

    fn fill(&self, row: usize, course: &Course, draft: &mut Draft<'_>) -> Result<(), Unsendable> {
        let named = [("TAGS", &self.tags), ("KEYS", &self.keys), ("__SHARDINGKEY", &self.sharding_key)];
        for (name, column) in named {
            if let Some(value) = text(column.as_ref(), row) {
                draft.push(name, value)?;
            }
        }
        if let Some(level) = number(self.delay_level.as_ref(), row) {
            draft.push("DELAY", itoa::Buffer::new().format(level))?;
        }
        if let Some(moments) = &self.deliver_at
            && moments.is_valid(row)
        {
            draft.push("TIMER_DELIVER_MS", itoa::Buffer::new().format(moments.value(row) / 1000))?;
        }
        if let Some(properties) = &self.properties {
            properties.push(row, &course.left_out, draft)?;
        }
        course.marks.iter().try_for_each(|(name, value)| draft.push(name, value))
    }
}

fn numbers(name: &str, array: &ArrayRef) -> Result<Int32Array, BadRow> {
    let bad = || BadRow::Type(name.to_owned(), array.data_type().clone());
    Ok(array.as_primitive_opt::<Int32Type>().ok_or_else(bad)?.clone())
}

fn moments(name: &str, array: &ArrayRef) -> Result<TimestampMicrosecondArray, BadRow> {
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Ok(array.as_primitive::<TimestampMicrosecondType>().clone())
        }
        other => Err(BadRow::Type(name.to_owned(), other.clone())),
    }
}

#[inline]
fn text(column: Option<&Text>, row: usize) -> Option<&str> {
    column.and_then(|texts| texts.get(row)).filter(|text| !text.is_empty())
}

#[inline]
fn number(column: Option<&Int32Array>, row: usize) -> Option<i32> {
    column.filter(|numbers| numbers.is_valid(row)).map(|numbers| numbers.value(row))
}

/// What all rows have in common.
pub struct Course {
    /// Of rows that name none.
    pub topic: Option<String>,
    /// Properties that every row gets.
    pub marks: Vec<(String, String)>,
    /// Names of the column `properties` that no row gets.
    pub left_out: HashSet<String>,
    /// How many may be under way; 0: as many as there is room for.
    pub window: usize,
}

/// How far a post of rows came.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// All are on their way, or one failed, and the rest stays here.
    Over,
    /// The topic of this row has no queues yet.
    NoRoute(usize, String),
    /// The time is over; go on with this row.
    NotYet(usize),
}

impl Outbox {
    /// Send rows from `start` on with others of their topics; wait for room, up to a time.
    pub fn post_rows(
        self: &Arc<Self>,
        rows: &Rows,
        start: usize,
        course: &Course,
        tally: &Arc<Tally>,
        until: Instant,
    ) -> Result<Progress, BadRow> {
        let mut scratch = Vec::new();
        let mut row = start;
        while row < rows.count {
            if course.window > 0 && tally.under_way() >= course.window {
                self.push_out();
                if !tally.wait(course.window / 2, until) {
                    return Ok(Progress::NotYet(row));
                }
                if tally.has_failed() {
                    return Ok(Progress::Over);
                }
            }
            let topic = text(rows.topic.as_ref(), row).or(course.topic.as_deref());
            let topic = topic.ok_or(BadRow::NoTopic(row))?;
            let draft = rows.draft(row, course, &mut scratch)?;
            let posted = self.post_to(topic, draft, rows.wanted(row), Some(tally));
            match posted.map_err(|why| BadRow::Unsendable(row, why))? {
                Posted::Accepted(_) => row += 1,
                Posted::NoRoute => return Ok(Progress::NoRoute(row, topic.to_owned())),
                Posted::NoQueue => return Err(rows.no_queue(row, topic)),
                Posted::NoRoom(bytes) => {
                    if Instant::now() >= until || tally.has_failed() {
                        let over = tally.has_failed();
                        return Ok(if over { Progress::Over } else { Progress::NotYet(row) });
                    }
                    self.wait_for_room(bytes, until);
                }
            }
        }
        Ok(Progress::Over)
    }
}

impl Rows {
    fn no_queue(&self, row: usize, topic: &str) -> BadRow {
        let queue = match self.wanted(row) {
            Wanted::Queue { broker: Some(broker), queue_id } => format!("{queue_id} of {broker}"),
            Wanted::Queue { broker: None, queue_id } => queue_id.to_string(),
            Wanted::OfKey(key) => format!("of key {key:?}"),
            Wanted::Any => "of any number".to_owned(),
        };
        BadRow::NoQueue(row, topic.to_owned(), queue)
    }
}
