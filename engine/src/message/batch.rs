//! The body of a client's batch request: entries one after another, with no padding.
//!
//! Topic, queue, system flag and born time of the entries stand in the request's header.

use std::borrow::Cow;

use super::layout::property::VALUE_END;
use super::layout::{PROPERTIES_BYTES_MAX, field};

const FLAG_AT: usize = 4 + 4 + 4; // after size, magic and body CRC; clients write 0 for the last two
const BODY_LEN_AT: usize = FLAG_AT + 4;
const BODY_AT: usize = BODY_LEN_AT + 4;
const ENTRY_BYTES_MIN: usize = BODY_AT + 2;

const _: () = assert!(ENTRY_BYTES_MIN == 22);

/// One message of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchEntry<'a> {
    pub flag: i32,
    pub body: &'a [u8],
    pub properties: &'a [u8],
}

impl<'a> BatchEntry<'a> {
    /// The properties with the separator at their end that a client may leave away. A record that ends otherwise
    /// looks to recovery as if its last pages had not reached the disk.
    pub fn closed_properties(&self) -> Cow<'a, [u8]> {
        match self.properties {
            [.., last] if *last != VALUE_END => [self.properties, &[VALUE_END]].concat().into(),
            closed => closed.into(),
        }
    }
}

/// A batch body that cannot be read to its end, or an entry that cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBatch {
    #[error("the batch ends inside an entry: {stated} bytes stated, {present} present")]
    Cut { stated: usize, present: usize },
    #[error("the stated entry size {0} is no possible size")]
    ImpossibleSize(i32),
    #[error("the lengths of body and properties do not add up to the stated entry size {0}")]
    LengthsDisagree(usize),
    #[error("the properties take {0} bytes; at most {PROPERTIES_BYTES_MAX} fit")]
    PropertiesTooLong(usize),
    #[error("the entry would have {0} bytes; its size must fit a 32-bit int")]
    EntryTooLong(usize),
}

/// The entries of `body`; the first error ends the iteration.
pub fn entries(body: &[u8]) -> Entries<'_> {
    Entries { rest: body }
}

/// Iterator of [`entries`].
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<BatchEntry<'a>, BadBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let rest = std::mem::take(&mut self.rest);
        Some(split_entry(rest).map(|(entry, rest)| {
            self.rest = rest;
            entry
        }))
    }
}

fn split_entry(bytes: &[u8]) -> Result<(BatchEntry<'_>, &[u8]), BadBatch> {
    if bytes.len() < ENTRY_BYTES_MIN {
        return Err(BadBatch::Cut { stated: ENTRY_BYTES_MIN, present: bytes.len() });
    }
    let stated = i32::from_be_bytes(field(bytes, 0));
    let size = match usize::try_from(stated) {
        Ok(size) if size >= ENTRY_BYTES_MIN => size,
        _ => return Err(BadBatch::ImpossibleSize(stated)),
    };
    let (entry, rest) =
        bytes.split_at_checked(size).ok_or(BadBatch::Cut { stated: size, present: bytes.len() })?;
    let entry = parse_entry(entry).ok_or(BadBatch::LengthsDisagree(size))?;
    Ok((entry, rest))
}

/// `None` unless body and properties fill `entry` exactly.
fn parse_entry(entry: &[u8]) -> Option<BatchEntry<'_>> {
    let flag = i32::from_be_bytes(field(entry, FLAG_AT));
    let body_len = usize::try_from(i32::from_be_bytes(field(entry, BODY_LEN_AT))).ok()?;
    let (body, rest) = entry[BODY_AT..].split_at_checked(body_len)?;
    let (properties_len, properties) = rest.split_first_chunk()?;
    let properties_len = usize::try_from(i16::from_be_bytes(*properties_len)).ok()?;
    (properties.len() == properties_len).then_some(BatchEntry { flag, body, properties })
}

/// Appends `entry` to a batch body; on an error nothing is written.
pub fn encode_entry(out: &mut Vec<u8>, entry: &BatchEntry<'_>) -> Result<(), BadBatch> {
    if entry.properties.len() > PROPERTIES_BYTES_MAX {
        return Err(BadBatch::PropertiesTooLong(entry.properties.len()));
    }
    let size = ENTRY_BYTES_MIN + entry.body.len() + entry.properties.len();
    let stated = i32::try_from(size).map_err(|_| BadBatch::EntryTooLong(size))?;
    out.reserve(size);
    out.extend_from_slice(&stated.to_be_bytes());
    out.extend_from_slice(&[0; FLAG_AT - 4]);
    out.extend_from_slice(&entry.flag.to_be_bytes());
    out.extend_from_slice(&(entry.body.len() as u32).to_be_bytes());
    out.extend_from_slice(entry.body);
    out.extend_from_slice(&(entry.properties.len() as u16).to_be_bytes());
    out.extend_from_slice(entry.properties);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const X: &[u8] = b"\0\0\0\x25\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01x\0\x0ek\x01v\x02WAIT\x01true\x02";

    fn x() -> BatchEntry<'static> {
        BatchEntry { flag: 0, body: b"x", properties: b"k\x01v\x02WAIT\x01true\x02" }
    }

    #[test]
    fn an_entry_has_the_published_bytes() {
        let mut body = Vec::new();
        encode_entry(&mut body, &x()).unwrap();
        assert_eq!(body, X);
    }

    #[test]
    fn entries_follow_each_other_without_padding() {
        let body = [X, X].concat();
        let read: Result<Vec<_>, _> = entries(&body).collect();
        assert_eq!(read, Ok(vec![x(), x()]));
    }

    #[test]
    fn an_empty_body_is_an_empty_batch() {
        assert_eq!(entries(b"").next(), None);
    }

    #[test]
    fn a_torn_batch_yields_its_whole_entries_then_one_error() {
        let body = [X, &X[..30]].concat();
        let mut read = entries(&body);
        assert_eq!(read.next(), Some(Ok(x())));
        assert_eq!(read.next(), Some(Err(BadBatch::Cut { stated: 37, present: 30 })));
        assert_eq!(read.next(), None);
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        let altered = |at: usize, value: u8| {
            let mut body = X.to_vec();
            body[at] = value;
            entries(&body).next().unwrap().map(|_| ())
        };
        assert_eq!(altered(0, 0x80), Err(BadBatch::ImpossibleSize(i32::MIN + 37)));
        assert_eq!(altered(3, 21), Err(BadBatch::ImpossibleSize(21)));
        assert_eq!(altered(3, 36), Err(BadBatch::LengthsDisagree(36)));
        assert_eq!(altered(16, 0xFF), Err(BadBatch::LengthsDisagree(37)));
        assert_eq!(altered(19, 2), Err(BadBatch::LengthsDisagree(37)));
        assert_eq!(altered(21, 0x80), Err(BadBatch::LengthsDisagree(37)));
    }

    #[test]
    fn properties_beyond_a_short_are_not_written() {
        let entry = BatchEntry { flag: 0, body: b"", properties: &vec![b'a'; PROPERTIES_BYTES_MAX + 1] };
        let mut out = Vec::new();
        assert_eq!(encode_entry(&mut out, &entry), Err(BadBatch::PropertiesTooLong(32_768)));
        assert!(out.is_empty());
    }

    type Owned = (i32, Vec<u8>, Vec<u8>);

    fn batch() -> impl Strategy<Value = Vec<Owned>> {
        prop::collection::vec(any::<Owned>(), 0..5)
    }

    fn encoded(batch: &[Owned]) -> Vec<u8> {
        let mut body = Vec::new();
        for (flag, entry, properties) in batch {
            encode_entry(&mut body, &BatchEntry { flag: *flag, body: entry, properties }).unwrap();
        }
        body
    }

    proptest! {
        #[test]
        fn every_batch_reads_back(batch in batch()) {
            let body = encoded(&batch);
            let read: Result<Vec<Owned>, _> = entries(&body)
                .map(|entry| entry.map(|e| (e.flag, e.body.to_vec(), e.properties.to_vec())))
                .collect();
            prop_assert_eq!(read, Ok(batch));
        }

        #[test]
        fn damaged_batches_never_panic(batch in batch(), at: prop::sample::Index, value: u8, cut: prop::sample::Index) {
            let mut body = encoded(&batch);
            prop_assume!(!body.is_empty());
            let at = at.index(body.len());
            body[at] = value;
            body.truncate(cut.index(body.len()));
            entries(&body).for_each(drop);
        }
    }

    #[test]
    fn properties_are_closed_and_otherwise_left_as_they_are() {
        let closed = |properties| BatchEntry { properties, ..x() }.closed_properties();
        assert_eq!(closed(b"k\x01v\x02"), &b"k\x01v\x02"[..]);
        assert_eq!(closed(b"k\x01v"), &b"k\x01v\x02"[..]);
        assert_eq!(closed(b"k\x01v\x02\0"), &b"k\x01v\x02\0\x02"[..]);
        assert_eq!(closed(b""), &b""[..]);
    }
}
