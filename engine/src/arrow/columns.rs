//! Rows, collected into columns.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, MapArray, StructArray, TimestampMicrosecondArray};

use super::schema::{Chosen, Column, UTC, entries};
use super::text::{Runs, Texts, offsets};
use crate::client::received::{Damage, Tags, is_wanted, without_namespace};
use crate::message::{BatchEntry, DispatchProperties, Record, batch, content, crc, host, ids, properties};

/// Offsets into a column have 31 bits.
const COLUMN_BYTES_MAX: usize = i32::MAX as usize;
/// Each malformed byte of a text is read as a replacement character of three bytes.
const LOSSY_GROWTH: usize = 3;
/// What one row may add to any column but the body's: properties have 15 bits.
const ROW_TEXT_MAX: usize = LOSSY_GROWTH << 15;
/// What a row is taken for before the first is seen.
const ROW_BYTES_GUESS: usize = 128;

/// No more room than this is made for bodies ahead of need, however large a batch may become.
const BODY_ROOM_MAX: usize = 64 << 20;

/// One message, as the columns take it.
#[derive(Debug)]
struct Row<'a> {
    record: Record<'a>,
    queue_offset: i64,
    flag: i32,
    /// As its sender gave it.
    body: &'a [u8],
    /// The text of the properties.
    properties: &'a [u8],
}

/// How records become rows, and which do.
#[derive(Debug)]
pub struct Opening<'a> {
    /// Whether a body must fit its checksum.
    pub check_crc: bool,
    /// What a compressed body may grow to.
    pub body_bytes_max: usize,
    /// Added to the offsets of a queue that moved here from another broker.
    pub offset_delta: i64,
    /// The queue offsets that are wanted.
    pub wanted: Range<i64>,
    pub tags: &'a Tags,
}

impl Opening<'_> {
    /// It wraps only when the server makes up offsets.
    pub fn offset_of(&self, record: &Record<'_>) -> i64 {
        record.queue_offset().wrapping_add(self.offset_delta)
    }
}

/// What is the same for all rows of a batch.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The broker's name, when it is known.
    pub broker: Option<Box<str>>,
    /// Taken off the topics.
    pub namespace: Option<Box<str>>,
}

/// What a batch may become, about.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub rows: usize,
    pub bytes: usize,
}

/// Rows that become an Arrow batch: those columns that are chosen.
#[derive(Debug)]
pub struct Columns {
    origin: Origin,
    room: Size,
    chosen: Chosen,
    topic: Option<Runs>,
    queue_id: Option<Vec<i32>>,
    /// Always known: it tells how far the rows go.
    queue_offset: Vec<i64>,
    message_id: Option<Texts>,
    offset_message_id: Option<Texts>,
    tags: Option<Texts>,
    keys: Option<Texts>,
    body: Option<Texts>,
    born_timestamp: Option<Vec<i64>>,
    store_timestamp: Option<Vec<i64>>,
    born_host: Option<Runs>,
    store_host: Option<Runs>,
    reconsume_times: Option<Vec<i32>>,
    sys_flag: Option<Vec<i32>>,
    flag: Option<Vec<i32>>,
    properties: Option<Maps>,
}

impl Columns {
    /// For about so many rows, but no more than about so many bytes.
    pub fn new(origin: Origin, Size { rows, bytes }: Size, chosen: Chosen) -> Self {
        let texts = |column, bytes| chosen.has(column).then(|| Texts::new(rows, bytes));
        let ints = |column| chosen.has(column).then(|| Vec::with_capacity(rows));
        let times = |column| chosen.has(column).then(|| Vec::with_capacity(rows));
        let runs = |column| chosen.has(column).then(Runs::default);
        Self {
            origin,
            room: Size { rows, bytes },
            topic: runs(Column::Topic),
            queue_id: ints(Column::QueueId),
            queue_offset: Vec::with_capacity(rows),
            message_id: texts(Column::MessageId, ids::ID_TEXT_V4),
            offset_message_id: texts(Column::OffsetMessageId, ids::ID_TEXT_V4),
            tags: texts(Column::Tags, 8),
            keys: texts(Column::Keys, 8),
            body: texts(Column::Body, 0),
            born_timestamp: times(Column::BornTimestamp),
            store_timestamp: times(Column::StoreTimestamp),
            born_host: runs(Column::BornHost),
            store_host: runs(Column::StoreHost),
            reconsume_times: ints(Column::ReconsumeTimes),
            sys_flag: ints(Column::SysFlag),
            flag: ints(Column::Flag),
            properties: chosen.has(Column::Properties).then(|| Maps::new(rows)),
            chosen,
        }
    }

    pub fn len(&self) -> usize {
        self.queue_offset.len()
    }

    /// The queue offset of the last row.
    pub fn last_offset(&self) -> Option<i64> {
        self.queue_offset.last().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.queue_offset.is_empty()
    }

    /// Bytes of the values, about.
    pub fn bytes(&self) -> usize {
        self.long_columns().iter().sum::<usize>() + self.len() * ROW_BYTES_GUESS
    }

    /// Bytes of the columns whose values may be long.
    #[inline]
    fn long_columns(&self) -> [usize; 3] {
        let texts = |column: &Option<Texts>| column.as_ref().map_or(0, Texts::bytes);
        [texts(&self.body), texts(&self.keys), self.properties.as_ref().map_or(0, Maps::bytes)]
    }

    /// Whether rows with so many bytes in one column still fit.
    #[inline]
    fn has_room(&self, bytes: usize) -> bool {
        let [body, keys, properties] = self.long_columns();
        body.max(keys).max(properties) + bytes.max(ROW_TEXT_MAX) <= COLUMN_BYTES_MAX
    }

    /// Adds the message of a record, or those of a batch that was stored as one, as far as they are wanted. False, and
    /// nothing is added, when there is no room.
    pub fn add(&mut self, record: &Record<'_>, opening: &Opening<'_>) -> Result<bool, Damage> {
        let offset = opening.offset_of(record);
        let is_batch = content::is_batch(record);
        let properties = crc::without_property_crc(record.properties());
        if !is_batch && (offset >= opening.wanted.end || !is_wanted(opening.tags, properties)) {
            return Ok(true);
        }
        let body = content::body_of(record, opening.check_crc, opening.body_bytes_max)?;
        if is_batch {
            // One that cannot be taken apart is a message.
            if let Ok(entries) = batch::entries(&body).collect::<Result<Vec<_>, _>>() {
                return Ok(self.add_batch(record, body.len(), offset, &entries, opening));
            }
        }
        if !self.has_room(body.len()) {
            return Ok(false);
        }
        self.push(&Row {
            record: *record,
            queue_offset: offset,
            flag: record.flag(),
            body: &body,
            properties,
        });
        Ok(true)
    }

    fn add_batch(
        &mut self,
        record: &Record<'_>,
        bytes: usize,
        first: i64,
        entries: &[BatchEntry<'_>],
        opening: &Opening<'_>,
    ) -> bool {
        // All of it may be properties.
        if !self.has_room(bytes * LOSSY_GROWTH) {
            return false;
        }
        for (index, &BatchEntry { flag, body, properties }) in entries.iter().enumerate() {
            let queue_offset = first.wrapping_add(index as i64);
            if opening.wanted.contains(&queue_offset) && is_wanted(opening.tags, properties) {
                self.push(&Row { record: *record, queue_offset, flag, body, properties });
            }
        }
        true
    }

    /// Adds a row, for which there must be room.
    #[inline]
    fn push(&mut self, row: &Row<'_>) {
        let record = &row.record;
        self.push_body(row.body);
        self.queue_offset.push(row.queue_offset);
        if let Some(topic) = &mut self.topic {
            let namespace = self.origin.namespace.as_deref();
            topic.push(record.topic(), |topic| shown_topic(topic, namespace));
        }
        self.push_ids(row);
        push(&mut self.queue_id, || record.queue_id());
        push(&mut self.born_timestamp, || record.born_timestamp().saturating_mul(1000));
        push(&mut self.store_timestamp, || record.store_timestamp().saturating_mul(1000));
        push(&mut self.reconsume_times, || record.reconsume_times());
        push(&mut self.sys_flag, || record.sys_flag());
        push(&mut self.flag, || row.flag);
        let shown_host = |field: &[u8]| host::shown(host::decode(field));
        if let Some(born) = &mut self.born_host {
            born.push(record.born_host_field(), shown_host);
        }
        if let Some(store) = &mut self.store_host {
            store.push(record.store_host_field(), shown_host);
        }
        if let Some(maps) = &mut self.properties {
            maps.push(row.properties);
        }
    }

    #[inline]
    fn push_body(&mut self, bytes: &[u8]) {
        let Some(body) = &mut self.body else { return };
        if self.queue_offset.is_empty() {
            // Memory that stays unused would be other memory each time, never the same again.
            let room = self.room.rows.saturating_mul(bytes.len());
            body.reserve(room.min(self.room.bytes).min(BODY_ROOM_MAX));
        }
        body.push_with(|out| out.extend_from_slice(bytes));
    }

    /// The columns by which a message is found.
    #[inline]
    fn push_ids(&mut self, row: &Row<'_>) {
        if let Some(ids) = &mut self.offset_message_id {
            ids.push_with(|out| out.extend_from_slice(row.record.message_id().as_bytes()));
        }
        if self.message_id.is_none() && self.tags.is_none() && self.keys.is_none() {
            return;
        }
        let shown = DispatchProperties::for_dispatch(row.properties);
        if let Some(ids) = &mut self.message_id {
            match shown.uniq_key {
                Some(id) => ids.push_text(id),
                None => ids.push_with(|out| out.extend_from_slice(row.record.message_id().as_bytes())),
            }
        }
        if let Some(tags) = &mut self.tags {
            tags.push_optional(shown.tags);
        }
        if let Some(keys) = &mut self.keys {
            keys.push_optional(shown.keys);
        }
    }

    /// All rows, as the struct that a batch is.
    pub fn finish(self) -> StructArray {
        let rows = self.len();
        let time = |values: Vec<i64>| {
            Arc::new(TimestampMicrosecondArray::from(values).with_timezone(UTC)) as ArrayRef
        };
        let int = |values: Vec<i32>| Arc::new(Int32Array::from(values)) as ArrayRef;
        let has = |column| self.chosen.has(column);
        let columns = [
            self.topic.map(Runs::into_texts),
            has(Column::BrokerName).then(|| constant(self.origin.broker.as_deref(), rows)),
            self.queue_id.map(int),
            has(Column::QueueOffset).then(|| Arc::new(Int64Array::from(self.queue_offset)) as ArrayRef),
            self.message_id.map(Texts::into_texts),
            self.offset_message_id.map(Texts::into_texts),
            self.tags.map(Texts::into_texts),
            self.keys.map(Texts::into_texts),
            self.body.map(Texts::into_bytes),
            self.born_timestamp.map(time),
            self.store_timestamp.map(time),
            self.born_host.map(Runs::into_texts),
            self.store_host.map(Runs::into_texts),
            self.reconsume_times.map(int),
            self.sys_flag.map(int),
            self.flag.map(int),
            self.properties.map(Maps::into_maps),
        ];
        StructArray::new(self.chosen.fields().clone(), columns.into_iter().flatten().collect(), None)
    }
}

#[inline]
fn push<T>(column: &mut Option<Vec<T>>, value: impl FnOnce() -> T) {
    if let Some(values) = column {
        values.push(value());
    }
}

/// The topic as its users know it.
fn shown_topic(stored: &[u8], namespace: Option<&str>) -> String {
    let topic = namespace.map_or(Cow::Borrowed(stored), |name| without_namespace(stored, name.as_bytes()));
    String::from_utf8_lossy(&topic).into_owned()
}

fn constant(text: Option<&str>, rows: usize) -> ArrayRef {
    let mut column = Texts::new(rows, text.map_or(0, str::len));
    match text {
        Some(text) => column.push_run(text, rows),
        None => column.push_nulls(rows),
    }
    column.into_texts()
}

/// A column of properties.
#[derive(Debug)]
struct Maps {
    ends: Vec<i32>,
    names: Texts,
    values: Texts,
}

impl Maps {
    fn new(rows: usize) -> Self {
        const PAIRS: usize = 5;
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        Self { ends, names: Texts::new(rows * PAIRS, 10), values: Texts::new(rows * PAIRS, 16) }
    }

    fn bytes(&self) -> usize {
        self.names.bytes() + self.values.bytes()
    }

    fn push(&mut self, text: &[u8]) {
        const FEW: usize = 24;
        let mut few = [(&b""[..], &b""[..]); FEW];
        let mut count = 0;
        for (slot, pair) in few.iter_mut().zip(properties::iter(text)) {
            *slot = pair;
            count += 1;
        }
        if count < FEW {
            self.push_pairs(&few[..count]);
        } else {
            self.push_pairs(&properties::iter(text).collect::<Vec<_>>());
        }
    }

    /// A map has each name once: of two values the later one counts.
    fn push_pairs(&mut self, pairs: &[(&[u8], &[u8])]) {
        for (index, &(name, value)) in pairs.iter().enumerate() {
            if pairs[index + 1..].iter().all(|later| later.0 != name) {
                self.names.push_text(name);
                self.values.push_text(value);
            }
        }
        self.ends.push(self.names.len() as i32);
    }

    fn into_maps(self) -> ArrayRef {
        let entry = entries();
        let arrow_schema::DataType::Struct(pair) = entry.data_type() else {
            unreachable!("entries are pairs")
        };
        let pairs =
            StructArray::new(pair.clone(), vec![self.names.into_texts(), self.values.into_texts()], None);
        Arc::new(MapArray::new(entry, offsets(self.ends), pairs, None, false))
    }
}

#[cfg(test)]
mod tests;
