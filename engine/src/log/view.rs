//! Records of the log seen up to one offset. Made for one read, it keeps the file it last looked into.

use std::sync::Arc;

use super::commit_log::CommitLog;
use super::mapping::Mapping;
use super::queue::{ConsumeQueue, Unit};
use super::recover::find_intact;
use super::segment::Segment;
use crate::error::{Error, Result};
use crate::message::layout::{RECORD_BYTES_MIN, field};
use crate::message::{Expected, Found, Glanced, Record, look};

/// The bytes of one record, kept readable by holding the map.
#[derive(Clone, Debug)]
pub struct Slice {
    map: Arc<Mapping>,
    at: usize,
    len: usize,
}

impl Slice {
    pub(crate) fn new(map: Arc<Mapping>, at: usize, len: usize) -> Self {
        Self { map, at, len }
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: slices are made below the readable offset, where nothing is written again.
        unsafe { self.map.bytes(self.at..self.at + self.len) }
    }

    /// The record, which was checked when the slice was made; it can only be lost with its pages.
    pub fn record(&self) -> Result<Record<'_>> {
        self.map.check()?;
        Record::parse(self.bytes())
            .map_err(|bad| Error::Damaged { path: "message".into(), what: bad.to_string() })
    }
}

/// Of a longer record the processor finds the rest by itself.
const PREFETCH_BYTES_MAX: usize = 512;

/// What stands at an offset of a view.
pub enum Seen<'a> {
    Record(Record<'a>),
    /// The file is full; the log goes on at this offset.
    NextFile(u64),
    /// No record starts here.
    Nothing,
}

/// A message that is where its unit says.
pub struct InPlace<'a> {
    pub message: Glanced<'a>,
    pub map: &'a Arc<Mapping>,
    pub at: usize,
    pub size: usize,
}

pub struct View<'a> {
    log: &'a CommitLog,
    end: u64,
    segment: Option<Arc<Segment>>,
}

impl<'a> View<'a> {
    /// See the log up to `end`, which must be readable.
    pub fn new(log: &'a CommitLog, end: u64) -> Self {
        Self { log, end, segment: None }
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    /// What stands at `offset`; an error only if the file lost its pages.
    #[inline(always)]
    pub fn look(&mut self, offset: u64) -> Result<Seen<'_>> {
        if offset >= self.end {
            return Ok(Seen::Nothing);
        }
        let end = self.end;
        let Some(segment) = self.segment_of(offset) else { return Ok(Seen::Nothing) };
        let at = (offset - segment.start()) as usize;
        let limit = (end.min(segment.end()) - segment.start()) as usize;
        let found = look(segment.bytes(at..limit));
        segment.map().check()?;
        Ok(match found {
            Ok(Found::Record(record)) if record.physical_offset() == offset.cast_signed() => {
                Seen::Record(record)
            }
            Ok(Found::Blank { .. }) => Seen::NextFile(segment.end()),
            _ => Seen::Nothing,
        })
    }

    /// The message that a unit stands for, if it plainly is where it should be; `None` asks for a closer look.
    #[inline]
    pub fn glance(&mut self, unit: Unit, queue: &ConsumeQueue, queue_offset: i64) -> Option<InPlace<'_>> {
        let offset = u64::try_from(unit.physical_offset).ok()?;
        let size = usize::try_from(unit.size).ok()?;
        let end = self.end;
        let segment = self.segment_of(offset)?;
        if offset + size as u64 > end.min(segment.end()) {
            return None;
        }
        let at = (offset - segment.start()) as usize;
        let expected = Expected {
            topic: queue.topic().as_bytes(),
            queue_id: queue.queue_id(),
            queue_offset,
            physical_offset: unit.physical_offset,
        };
        let message = expected.glance(segment.bytes(at..at + size))?;
        (!segment.map().is_broken()).then(|| InPlace { message, map: segment.map(), at, size })
    }

    /// Ask for the memory of a record that is looked at soon. The records of one queue lie far apart in the log,
    /// and without this each of them costs several waits for memory.
    #[inline]
    pub fn prefetch(&mut self, unit: &Unit) {
        let offset = unit.physical_offset.max(0).cast_unsigned();
        if let Some(segment) = self.segment_of(offset) {
            let size = (unit.size.max(0) as usize).min(PREFETCH_BYTES_MAX);
            segment.map().prefetch((offset - segment.start()) as usize, size);
        }
    }

    /// The file that holds `offset`, which is mostly the one last asked for.
    #[inline]
    fn segment_of(&mut self, offset: u64) -> Option<&Segment> {
        if !self.segment.as_ref().is_some_and(|file| file.start() <= offset && offset < file.end()) {
            self.segment = self.log.segment_of(offset);
        }
        self.segment.as_deref()
    }

    /// The record that starts at `offset`, if one does.
    #[inline(always)]
    pub fn record(&mut self, offset: u64) -> Result<Option<Record<'_>>> {
        Ok(match self.look(offset)? {
            Seen::Record(record) => Some(record),
            _ => None,
        })
    }

    /// The size of the record that is known to stand at `offset`; `None` outside of the view.
    #[inline]
    pub fn stated_size(&mut self, offset: u64) -> Result<Option<u64>> {
        let end = self.end;
        let Some(segment) = self.segment_of(offset) else { return Ok(None) };
        let at = (offset - segment.start()) as usize;
        let limit = end.min(segment.end()).saturating_sub(segment.start()) as usize;
        if limit < at + RECORD_BYTES_MIN {
            return Ok(None);
        }
        let size = u32::from_be_bytes(field(segment.bytes(at..limit), 0));
        segment.map().check()?;
        Ok(Some(u64::from(size)))
    }

    /// Where the first intact record from `offset` on starts.
    pub fn next_intact(&self, mut offset: u64) -> Option<u64> {
        while offset < self.end {
            let segment = self.log.segment_of(offset)?;
            let (start, end) = (segment.start(), self.end.min(segment.end()));
            if let Some(position) = find_intact(&segment, offset - start, end - start) {
                return Some(start + position);
            }
            offset = end;
        }
        None
    }

    /// The map that holds what was last looked at, and where `offset` lies in it.
    pub fn place(&self, offset: u64) -> Option<(&Arc<Mapping>, usize)> {
        self.segment.as_ref().map(|segment| (segment.map(), (offset - segment.start()) as usize))
    }

    /// A record as bytes that outlive the view.
    pub fn slice(&mut self, offset: u64) -> Result<Option<Slice>> {
        let Some(size) = self.record(offset)?.map(|record| record.size()) else { return Ok(None) };
        Ok(self.place(offset).map(|(map, at)| Slice::new(map.clone(), at, size)))
    }
}
