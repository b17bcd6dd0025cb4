//! Values, collected into columns, from which rows can be taken back.

use std::sync::Arc;

use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64NanosecondType,
    TimestampMicrosecondType,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, ListArray, MapArray, PrimitiveArray, StructArray,
};
use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder};
use arrow_schema::{FieldRef, Fields};

use super::bad::Bad;
use super::decimal;
use super::reader::Reader;
use super::schema::{Kind, Node, Precision, Union, record_fields};
use crate::arrow::schema::{UTC, entry_of};
use crate::arrow::text::{Texts, offsets};

/// Offsets into a column have 31 bits.
const COLUMN_BYTES_MAX: usize = i32::MAX as usize;
/// What a null takes in one column, at most.
const NULL_BYTES: usize = 16;

const DAY_NANOS: i64 = 86_400_000_000_000;

/// The values of one kind.
#[derive(Debug)]
pub enum Column {
    Boolean(Bits),
    Int(Numbers<Int32Type>),
    Long(Numbers<Int64Type>),
    Float(Numbers<Float32Type>),
    Double(Numbers<Float64Type>),
    Bytes(Texts),
    Text(Texts),
    Enum { symbols: Arc<[String]>, texts: Texts },
    Fixed { size: usize, texts: Texts },
    Date(Numbers<Date32Type>),
    Time { precision: Precision, times: Numbers<Time64NanosecondType> },
    Timestamp { precision: Precision, local: bool, times: Numbers<TimestampMicrosecondType> },
    Decimal { size: Option<usize>, precision: u8, scale: i8, values: Numbers<Decimal128Type> },
    Array { element: FieldRef, items: Box<Slot>, spans: Spans },
    Map { entry: FieldRef, keys: Texts, values: Box<Slot>, spans: Spans },
    Record { fields: Fields, slots: Vec<Slot>, nulls: NullBufferBuilder },
}

/// A column with the union its values are in.
#[derive(Debug)]
pub struct Slot {
    union: Option<Union>,
    column: Column,
    null_bytes: usize,
}

impl Slot {
    fn new(node: &Node) -> Self {
        Self { union: node.union, column: Column::new(&node.kind), null_bytes: node.nodes * NULL_BYTES }
    }

    #[inline]
    fn push(&mut self, from: &mut Reader<'_>) -> Result<(), Bad> {
        if let Some(Union { branches, null }) = self.union
            && null == Some(from.index("branch", branches)?)
        {
            from.grow(self.null_bytes)?;
            self.column.push_null();
            return Ok(());
        }
        self.column.push(from)
    }
}

impl Column {
    pub fn new(kind: &Kind) -> Self {
        let texts = || Texts::new(0, 0);
        match kind {
            Kind::Boolean => Self::Boolean(Bits::new()),
            Kind::Int => Self::Int(Numbers::new()),
            Kind::Long => Self::Long(Numbers::new()),
            Kind::Float => Self::Float(Numbers::new()),
            Kind::Double => Self::Double(Numbers::new()),
            Kind::Bytes => Self::Bytes(texts()),
            Kind::Text => Self::Text(texts()),
            Kind::Enum(symbols) => Self::Enum { symbols: symbols.clone(), texts: texts() },
            &Kind::Fixed(size) => Self::Fixed { size, texts: texts() },
            Kind::Date => Self::Date(Numbers::new()),
            &Kind::Time(precision) => Self::Time { precision, times: Numbers::new() },
            &Kind::Timestamp { precision, local } => {
                Self::Timestamp { precision, local, times: Numbers::new() }
            }
            &Kind::Decimal { size, precision, scale } => {
                Self::Decimal { size, precision, scale, values: Numbers::new() }
            }
            Kind::Array(items) => Self::Array {
                element: items.field("element"),
                items: Box::new(Slot::new(items)),
                spans: Spans::new(),
            },
            Kind::Map(values) => Self::Map {
                entry: entry_of(values.kind.data_type()),
                keys: texts(),
                values: Box::new(Slot::new(values)),
                spans: Spans::new(),
            },
            Kind::Record(fields) => Self::Record {
                fields: record_fields(fields),
                slots: fields.iter().map(|(_, node)| Slot::new(node)).collect(),
                nulls: NullBufferBuilder::new(0),
            },
        }
    }

    /// Reads a value. After an error the columns below have different lengths, until they are truncated.
    pub fn push(&mut self, from: &mut Reader<'_>) -> Result<(), Bad> {
        match self {
            Self::Boolean(bits) => bits.push(from.boolean()?),
            Self::Int(values) => values.push(from.int()?),
            Self::Long(values) => values.push(from.long()?),
            Self::Float(values) => values.push(f32::from_le_bytes(from.array()?)),
            Self::Double(values) => values.push(f64::from_le_bytes(from.array()?)),
            Self::Bytes(texts) => push_bytes(texts, from.bytes()?),
            Self::Text(texts) => texts.push_str(from.text()?),
            Self::Enum { symbols, texts } => {
                let symbol = &symbols[from.index("symbol", symbols.len())?];
                from.grow(symbol.len())?;
                if texts.bytes() + symbol.len() > COLUMN_BYTES_MAX {
                    return Err(Bad::new("the symbols before it fill the column"));
                }
                texts.push_str(symbol);
            }
            Self::Fixed { size, texts } => push_bytes(texts, from.fixed(*size)?),
            Self::Date(values) => values.push(from.int()?),
            Self::Time { precision, times } => times.push(time(*precision, from)?),
            Self::Timestamp { precision, times, .. } => times.push(timestamp(*precision, from)?),
            Self::Decimal { size, precision, values, .. } => {
                let bytes = if let Some(size) = *size { from.fixed(size)? } else { from.bytes()? };
                values.push(decimal::unscaled(bytes, *precision)?);
            }
            Self::Array { items, spans, .. } => spans.push(push_items(items, from)?),
            Self::Map { keys, values, spans, .. } => spans.push(push_entries(keys, values, from)?),
            Self::Record { fields, slots, nulls } => {
                for (slot, field) in slots.iter_mut().zip(fields.iter()) {
                    slot.push(from).map_err(|bad| bad.within(field.name()))?;
                }
                nulls.append_non_null();
            }
        }
        Ok(())
    }

    pub fn push_null(&mut self) {
        match self {
            Self::Boolean(bits) => bits.push_null(),
            Self::Int(values) => values.push_null(),
            Self::Long(values) => values.push_null(),
            Self::Float(values) => values.push_null(),
            Self::Double(values) => values.push_null(),
            Self::Bytes(texts) | Self::Text(texts) | Self::Enum { texts, .. } | Self::Fixed { texts, .. } => {
                texts.push_optional(None);
            }
            Self::Date(values) => values.push_null(),
            Self::Time { times, .. } => times.push_null(),
            Self::Timestamp { times, .. } => times.push_null(),
            Self::Decimal { values, .. } => values.push_null(),
            Self::Array { spans, .. } | Self::Map { spans, .. } => spans.push_null(),
            Self::Record { slots, nulls, .. } => {
                for slot in slots {
                    slot.column.push_null();
                }
                nulls.append_null();
            }
        }
    }

    /// Takes back all values behind the first so many.
    pub fn truncate(&mut self, len: usize) {
        match self {
            Self::Boolean(bits) => bits.truncate(len),
            Self::Int(values) => values.truncate(len),
            Self::Long(values) => values.truncate(len),
            Self::Float(values) => values.truncate(len),
            Self::Double(values) => values.truncate(len),
            Self::Bytes(texts) | Self::Text(texts) | Self::Enum { texts, .. } | Self::Fixed { texts, .. } => {
                texts.truncate(len);
            }
            Self::Date(values) => values.truncate(len),
            Self::Time { times, .. } => times.truncate(len),
            Self::Timestamp { times, .. } => times.truncate(len),
            Self::Decimal { values, .. } => values.truncate(len),
            Self::Array { items, spans, .. } => items.column.truncate(spans.truncate(len)),
            Self::Map { keys, values, spans, .. } => {
                let entries = spans.truncate(len);
                keys.truncate(entries);
                values.column.truncate(entries);
            }
            Self::Record { slots, nulls, .. } => {
                for slot in slots {
                    slot.column.truncate(len);
                }
                nulls.truncate(len);
            }
        }
    }

    pub fn finish(self) -> ArrayRef {
        match self {
            Self::Boolean(bits) => Arc::new(bits.finish()),
            Self::Int(values) => Arc::new(values.finish()),
            Self::Long(values) => Arc::new(values.finish()),
            Self::Float(values) => Arc::new(values.finish()),
            Self::Double(values) => Arc::new(values.finish()),
            Self::Bytes(texts) | Self::Fixed { texts, .. } => texts.into_bytes(),
            Self::Text(texts) | Self::Enum { texts, .. } => texts.into_texts(),
            Self::Date(values) => Arc::new(values.finish()),
            Self::Time { times, .. } => Arc::new(times.finish()),
            Self::Timestamp { local, times, .. } => {
                Arc::new(times.finish().with_timezone_opt((!local).then_some(UTC)))
            }
            Self::Decimal { precision, scale, values, .. } => {
                Arc::new(values.finish().with_data_type(arrow_schema::DataType::Decimal128(precision, scale)))
            }
            Self::Array { element, items, mut spans } => Arc::new(ListArray::new(
                element,
                offsets(spans.ends),
                items.column.finish(),
                spans.nulls.finish(),
            )),
            Self::Map { entry, keys, values, mut spans } => {
                let arrow_schema::DataType::Struct(pair) = entry.data_type() else {
                    unreachable!("entries are pairs")
                };
                let columns = vec![keys.into_texts(), values.column.finish()];
                let pairs = StructArray::new(pair.clone(), columns, None);
                Arc::new(MapArray::new(entry, offsets(spans.ends), pairs, spans.nulls.finish(), false))
            }
            Self::Record { fields, slots, mut nulls } => {
                let columns = slots.into_iter().map(|slot| slot.column.finish()).collect();
                Arc::new(StructArray::new(fields, columns, nulls.finish()))
            }
        }
    }
}

fn push_bytes(texts: &mut Texts, bytes: &[u8]) {
    texts.push_with(|values| values.extend_from_slice(bytes));
}

fn time(precision: Precision, from: &mut Reader<'_>) -> Result<i64, Bad> {
    let value = from.long()?;
    let unit = match precision {
        Precision::Millis => 1_000_000,
        Precision::Micros => 1_000,
    };
    let nanos = value.checked_mul(unit).filter(|nanos| (0..DAY_NANOS).contains(nanos));
    nanos.ok_or_else(|| Bad::new(format!("{value} is no time of a day")))
}

fn timestamp(precision: Precision, from: &mut Reader<'_>) -> Result<i64, Bad> {
    let value = from.long()?;
    match precision {
        Precision::Micros => Ok(value),
        Precision::Millis => {
            value.checked_mul(1000).ok_or_else(|| Bad::new(format!("{value} ms are beyond all times")))
        }
    }
}

/// Reads an array's items; returns how many there are.
fn push_items(items: &mut Slot, from: &mut Reader<'_>) -> Result<usize, Bad> {
    let mut total = 0;
    loop {
        let count = from.block()?;
        if count == 0 {
            return Ok(total);
        }
        for _ in 0..count {
            items.push(from)?;
        }
        total += count;
    }
}

/// Reads a map's entries; returns how many there are.
fn push_entries(keys: &mut Texts, values: &mut Slot, from: &mut Reader<'_>) -> Result<usize, Bad> {
    let mut seen = Vec::new();
    loop {
        let count = from.block()?;
        if count == 0 {
            break;
        }
        for _ in 0..count {
            let key = from.text()?;
            seen.push(key);
            keys.push_str(key);
            values.push(from)?;
        }
    }
    seen.sort_unstable();
    if seen.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Bad::new("a map has a key twice"));
    }
    Ok(seen.len())
}

/// Values of one width.
#[derive(Debug)]
pub struct Numbers<P: ArrowPrimitiveType> {
    values: Vec<P::Native>,
    nulls: NullBufferBuilder,
}

impl<P: ArrowPrimitiveType> Numbers<P> {
    fn new() -> Self {
        Self { values: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }

    #[inline]
    fn push(&mut self, value: P::Native) {
        self.values.push(value);
        self.nulls.append_non_null();
    }

    fn push_null(&mut self) {
        self.values.push(P::Native::default());
        self.nulls.append_null();
    }

    fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.nulls.truncate(len);
    }

    fn finish(mut self) -> PrimitiveArray<P> {
        PrimitiveArray::new(self.values.into(), self.nulls.finish())
    }
}

#[derive(Debug)]
pub struct Bits {
    values: BooleanBufferBuilder,
    nulls: NullBufferBuilder,
}

impl Bits {
    fn new() -> Self {
        Self { values: BooleanBufferBuilder::new(0), nulls: NullBufferBuilder::new(0) }
    }

    fn push(&mut self, value: bool) {
        self.values.append(value);
        self.nulls.append_non_null();
    }

    fn push_null(&mut self) {
        self.values.append(false);
        self.nulls.append_null();
    }

    fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.nulls.truncate(len);
    }

    fn finish(mut self) -> BooleanArray {
        BooleanArray::new(self.values.finish(), self.nulls.finish())
    }
}

/// Where the items of each value end.
#[derive(Debug)]
pub struct Spans {
    ends: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl Spans {
    fn new() -> Self {
        Self { ends: vec![0], nulls: NullBufferBuilder::new(0) }
    }

    fn end(&self) -> i32 {
        self.ends[self.ends.len() - 1]
    }

    /// Items have a byte each at least, and bodies together no more bytes than 31 bits can count.
    fn push(&mut self, items: usize) {
        self.ends.push(self.end() + items as i32);
        self.nulls.append_non_null();
    }

    fn push_null(&mut self) {
        self.ends.push(self.end());
        self.nulls.append_null();
    }

    /// How many items are left.
    fn truncate(&mut self, len: usize) -> usize {
        self.ends.truncate(len + 1);
        self.nulls.truncate(len);
        self.end() as usize
    }
}
