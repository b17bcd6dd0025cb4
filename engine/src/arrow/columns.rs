//! Rows, collected into columns.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, MapArray, StructArray, TimestampMicrosecondArray};

use super::schema::{UTC, entries, fields};
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

/// Rows that become an Arrow batch.
#[derive(Debug)]
pub struct Columns {
    origin: Origin,
    room: Size,
    topic: Runs,
    queue_id: Vec<i32>,
    queue_offset: Vec<i64>,
    message_id: Texts,
    offset_message_id: Texts,
    tags: Texts,
    keys: Texts,
    body: Texts,
    born_timestamp: Vec<i64>,
    store_timestamp: Vec<i64>,
    born_host: Runs,
    store_host: Runs,
    reconsume_times: Vec<i32>,
    sys_flag: Vec<i32>,
    flag: Vec<i32>,
    properties: Option<Maps>,
}

impl Columns {
    /// For about so many rows, but no more than about so many bytes.
    pub fn new(origin: Origin, Size { rows, bytes }: Size, with_properties: bool) -> Self {
        let ids = || Texts::new(rows, ids::ID_TEXT_V4);
        Self {
            origin,
            room: Size { rows, bytes },
            topic: Runs::new(rows),
            queue_id: Vec::with_capacity(rows),
            queue_offset: Vec::with_capacity(rows),
            message_id: ids(),
            offset_message_id: ids(),
            tags: Texts::new(rows, 8),
            keys: Texts::new(rows, 8),
            body: Texts::new(rows, 0),
            born_timestamp: Vec::with_capacity(rows),
            store_timestamp: Vec::with_capacity(rows),
            born_host: Runs::new(rows),
            store_host: Runs::new(rows),
            reconsume_times: Vec::with_capacity(rows),
            sys_flag: Vec::with_capacity(rows),
            flag: Vec::with_capacity(rows),
            properties: with_properties.then(|| Maps::new(rows)),
        }
    }

    pub fn len(&self) -> usize {
        self.queue_id.len()
    }

    /// The queue offset of the last row.
    pub fn last_offset(&self) -> Option<i64> {
        self.queue_offset.last().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.queue_id.is_empty()
    }

    /// Bytes of the values, about.
    pub fn bytes(&self) -> usize {
        let properties = self.properties.as_ref().map_or(0, Maps::bytes);
        self.body.bytes() + self.keys.bytes() + properties + self.len() * ROW_BYTES_GUESS
    }

    /// Whether rows with so many bytes in one column still fit.
    #[inline]
    fn has_room(&self, bytes: usize) -> bool {
        let properties = self.properties.as_ref().map_or(0, Maps::bytes);
        let longest = self.body.bytes().max(self.keys.bytes()).max(properties);
        longest + bytes.max(ROW_TEXT_MAX) <= COLUMN_BYTES_MAX
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
        let Row { record, body, .. } = row;
        if self.is_empty() {
            // Memory that stays unused would be other memory each time, never the same again.
            let Size { rows, bytes } = self.room;
            self.body.reserve((rows.saturating_mul(body.len())).min(bytes).min(BODY_ROOM_MAX));
        }
        let broker_id = record.message_id();
        let shown = DispatchProperties::for_dispatch(row.properties);
        let namespace = self.origin.namespace.as_deref();
        self.topic.push(record.topic(), |topic| shown_topic(topic, namespace));
        self.queue_id.push(record.queue_id());
        self.queue_offset.push(row.queue_offset);
        match shown.uniq_key {
            Some(id) => self.message_id.push_text(id),
            None => self.message_id.push_with(|out| out.extend_from_slice(broker_id.as_bytes())),
        }
        self.offset_message_id.push_with(|out| out.extend_from_slice(broker_id.as_bytes()));
        self.tags.push_optional(shown.tags);
        self.keys.push_optional(shown.keys);
        self.body.push_with(|out| out.extend_from_slice(body));
        self.born_timestamp.push(record.born_timestamp().saturating_mul(1000));
        self.store_timestamp.push(record.store_timestamp().saturating_mul(1000));
        self.born_host.push(record.born_host_field(), |field| host::shown(host::decode(field)));
        self.store_host.push(record.store_host_field(), |field| host::shown(host::decode(field)));
        self.reconsume_times.push(record.reconsume_times());
        self.sys_flag.push(record.sys_flag());
        self.flag.push(row.flag);
        if let Some(maps) = &mut self.properties {
            maps.push(row.properties);
        }
    }

    /// All rows, as the struct that a batch is.
    pub fn finish(self) -> StructArray {
        let rows = self.len();
        let with_properties = self.properties.is_some();
        let time = |values: Vec<i64>| {
            Arc::new(TimestampMicrosecondArray::from(values).with_timezone(UTC)) as ArrayRef
        };
        let int = |values: Vec<i32>| Arc::new(Int32Array::from(values)) as ArrayRef;
        let mut columns = vec![
            self.topic.into_texts(),
            constant(self.origin.broker.as_deref(), rows),
            int(self.queue_id),
            Arc::new(Int64Array::from(self.queue_offset)),
            self.message_id.into_texts(),
            self.offset_message_id.into_texts(),
            self.tags.into_texts(),
            self.keys.into_texts(),
            self.body.into_bytes(),
            time(self.born_timestamp),
            time(self.store_timestamp),
            self.born_host.into_texts(),
            self.store_host.into_texts(),
            int(self.reconsume_times),
            int(self.sys_flag),
            int(self.flag),
        ];
        columns.extend(self.properties.map(Maps::into_maps));
        StructArray::new(fields(with_properties).clone(), columns, None)
    }
}

/// The topic as its users know it.
fn shown_topic(stored: &[u8], namespace: Option<&str>) -> String {
    let topic = namespace.map_or(Cow::Borrowed(stored), |name| without_namespace(stored, name.as_bytes()));
    String::from_utf8_lossy(&topic).into_owned()
}

fn constant(text: Option<&str>, rows: usize) -> ArrayRef {
    let mut column = Texts::new(rows, text.map_or(0, str::len));
    for _ in 0..rows {
        column.push_optional(text.map(str::as_bytes));
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
