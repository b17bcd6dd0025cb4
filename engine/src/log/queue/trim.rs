//! Opening a queue, and cutting it: at the end by what the log lost, at the start by what expired.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::ext::is_ext_address;
use super::tape::Tape;
use super::{BLOCK_BYTES, BLOCK_UNITS, ConsumeQueue, FileCache, NO_UNIT, UNIT_BYTES, Unit};
use crate::error::{Error, Result};
use crate::log::notes::{Level, Notes};

impl ConsumeQueue {
    /// Opens the queue in `dir`; it ends after its last valid unit.
    pub fn open(
        dir: PathBuf,
        topic: Arc<str>,
        queue_id: i32,
        file_bytes: u64,
        files: Arc<FileCache>,
        notes: Arc<Notes>,
    ) -> Result<Self> {
        Self::check_file_bytes(file_bytes)?;
        let tape = Tape::open(dir, file_bytes, files, &notes)?;
        let mut queue = Self::with_tape(tape, topic, queue_id, notes);
        queue.find_end()?;
        let blanks_end = queue.skip_blanks(queue.first_stored())?;
        queue.min.store(blanks_end, Ordering::Release);
        if let Some(first) = queue.unit_at(blanks_end)?.filter(Unit::is_valid) {
            queue.name.opened_from = first.physical_offset;
        }
        Ok(queue)
    }

    /// Ends the queue after the last valid unit of the last file that has one.
    ///
    /// Not before the first bad unit: pages reach the disk in any order, so after a crash a hole may have
    /// good units behind it. Recovery mends those from the log.
    fn find_end(&self) -> Result<()> {
        let files = self.tape.files();
        let mut file_start = files.end;
        let mut end = files.start;
        let mut dirty_end = end;
        while file_start > files.start {
            file_start -= self.tape.file_bytes();
            dirty_end = self.tape.data_end(file_start)?;
            let first = offset_of(file_start);
            let last =
                self.pop_while(first, offset_of(dirty_end + UNIT_BYTES as u64 - 1), |u| !u.is_valid())?;
            end = last as u64 * UNIT_BYTES as u64;
            if end < dirty_end {
                let what = format!("{}: units from {last} on were not valid", self.tape.dir().display());
                self.notes.say(Level::Warning, what);
                self.lost_units.store(true, Ordering::Release);
            }
            if last > first {
                break;
            }
        }
        self.tape.settle(end, dirty_end)?;
        self.end_at(offset_of(end))
    }

    /// Takes the units before `max` as all there are.
    fn end_at(&self, max: i64) -> Result<()> {
        let first = self.first_stored();
        // Blanks may be last: the queue still goes on after the messages before them.
        let last = self.pop_while(first, max, Unit::is_blank)?;
        let last = if last > first { self.stored_unit(last - 1)? } else { None };
        let physical = last.map_or(NO_UNIT, |unit| unit.physical_end());
        self.max_physical.store(physical, Ordering::Release);
        self.max.store(max, Ordering::Release);
        self.min.fetch_min(max, Ordering::AcqRel);
        self.set_next(max);
        Ok(())
    }

    /// The offset of the first file's first unit.
    pub fn first_stored(&self) -> i64 {
        offset_of(self.tape.files().start)
    }

    /// The first unit from `from` on, in its file, that is not blank.
    fn skip_blanks(&self, from: i64) -> Result<i64> {
        let max = self.max_offset();
        match self.stored_unit(from)? {
            // One by one: blanks also stand between messages, where some were lost.
            Some(unit) if from < max && unit.is_blank() => {
                Ok(self.first_where(from, max, |unit| !unit.is_blank())?.unwrap_or(max))
            }
            _ => Ok(from),
        }
    }

    /// Goes back from `to` while units are to go, down to `from`, and returns the end of the others.
    pub(super) fn pop_while(&self, from: i64, to: i64, mut goes: impl FnMut(&Unit) -> bool) -> Result<i64> {
        let mut block = [0; BLOCK_BYTES];
        let mut end = to;
        while end > from {
            let start = from.max(end - BLOCK_UNITS as i64);
            let units = self.block(start, end, &mut block)?;
            if let Some(last) = units.iter().rposition(|bytes| !goes(&Unit::decode(bytes))) {
                return Ok(start + last as i64 + 1);
            }
            end = start;
        }
        Ok(from)
    }

    /// Drops the units of messages at or after `limit`, where the log ends. Nobody may append meanwhile.
    pub fn truncate_physical(&self, limit: i64) -> Result<()> {
        if self.max_physical_offset() <= limit {
            return Ok(());
        }
        // From the end on, not by bisection: a damaged unit before the end may point anywhere. It stays, to be
        // mended from the log; dropping all that follow it would lose them.
        let is_lost = |unit: &Unit| !unit.is_blank() && (!unit.is_valid() || unit.physical_offset >= limit);
        self.end_before(self.pop_while(self.first_stored(), self.max_offset(), is_lost)?)
    }

    /// Drops the units from `end` on. Nobody may append meanwhile.
    pub fn end_before(&self, end: i64) -> Result<()> {
        // First for the readers, so that none of them reads what is being dropped.
        self.end_at(end)?;
        self.tape.truncate(end as u64 * UNIT_BYTES as u64)?;
        self.cut_ext()
    }

    /// Drops what the extension has behind the last unit that leads there.
    fn cut_ext(&self) -> Result<()> {
        let Some(ext) = &self.ext else { return Ok(()) };
        let first = self.first_stored();
        let end = self.pop_while(first, self.max_offset(), |unit| !is_ext_address(unit.tags_code))?;
        match if end > first { self.stored_unit(end - 1)? } else { None } {
            Some(last) => ext.truncate_max(last.tags_code),
            None => ext.destroy(),
        }
    }

    /// The first offset of `[from, to)` whose unit is wanted, found by looking at all of them.
    fn first_where(&self, from: i64, to: i64, is_wanted: impl Fn(&Unit) -> bool) -> Result<Option<i64>> {
        let mut block = [0; BLOCK_BYTES];
        let mut at = from;
        while at < to {
            let units = self.block(at, to, &mut block)?;
            if let Some(index) = units.iter().position(|bytes| is_wanted(&Unit::decode(bytes))) {
                return Ok(Some(at + index as i64));
            }
            if units.is_empty() {
                break;
            }
            at += units.len() as i64;
        }
        Ok(None)
    }

    /// Moves the minimum to the first unit whose message is at or after `log_min`, where the log begins.
    pub fn correct_min(&self, log_min: i64) -> Result<()> {
        if self.max_physical_offset() == NO_UNIT {
            return Ok(());
        }
        let is_kept = |unit: &Unit| unit.is_valid() && !unit.is_blank() && unit.physical_offset >= log_min;
        let (min, max) = (self.min_offset(), self.max_offset());
        if log_min <= 0 || self.unit_at(min)?.is_some_and(|unit| is_kept(&unit)) {
            return Ok(());
        }
        let mut met_hole = false;
        let mut first = self.partition(min, max, |_, unit| {
            met_hole |= !unit.is_valid() || unit.is_blank();
            Ok(!is_kept(unit))
        })?;
        // The place of a hole in the order is unknown. Nor is the order good when the unit before the border
        // is expired and the one before that is not: a damaged unit led the search past good ones.
        let is_out_of_order =
            first - 2 >= min && self.stored_unit(first - 2)?.is_some_and(|unit| is_kept(&unit));
        if met_hole || is_out_of_order {
            first = self.first_where(min, max, is_kept)?.unwrap_or(max);
        }
        // A damaged unit may be that of a message which is still there: only expired ones are passed over.
        while first > min && self.stored_unit(first - 1)?.is_some_and(|unit| !unit.is_valid()) {
            first -= 1;
        }
        self.min.fetch_max(first, Ordering::AcqRel);
        Ok(())
    }

    /// Deletes the files of which all messages are before `log_min`, and returns how many. The last file
    /// stays. What they alone led to in the extension goes with them.
    pub fn delete_expired_files(&self, log_min: i64) -> Result<usize> {
        let deleted = self.delete_expired_unit_files(log_min)?;
        if let Some(ext) = &self.ext {
            let min = self.min_offset();
            // Two units, as below.
            if let (Some(first), Some(second)) = (self.unit_at(min)?, self.unit_at(min + 1)?)
                && is_ext_address(first.tags_code.max(second.tags_code))
            {
                ext.truncate_min(first.tags_code.min(second.tags_code))?;
            }
        }
        Ok(deleted)
    }

    fn delete_expired_unit_files(&self, log_min: i64) -> Result<usize> {
        let mut deleted = 0;
        loop {
            let files = self.tape.files();
            let first_end = files.start + self.tape.file_bytes();
            if first_end >= files.end {
                return Ok(deleted);
            }
            let next_first = offset_of(first_end);
            if !self.is_expired(offset_of(files.start), next_first, log_min)? {
                return Ok(deleted);
            }
            self.min.fetch_max(next_first, Ordering::AcqRel);
            self.tape.delete_first_file()?;
            deleted += 1;
        }
    }

    /// Whether the last messages of a file, which has the units of `[first, end)`, are before `log_min`. One of
    /// blanks only has none.
    fn is_expired(&self, first: i64, mut end: i64, log_min: i64) -> Result<bool> {
        // Two units, so that a single damaged one deletes nothing.
        for _ in 0..2 {
            end = self.pop_while(first, end, Unit::is_blank)?;
            if end == first {
                break;
            }
            end -= 1;
            match self.stored_unit(end)? {
                Some(unit) if unit.is_valid() && unit.physical_offset < log_min => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Deletes the queue's files and directory and leaves it empty. Nobody may append meanwhile.
    pub fn destroy(&self) -> Result<()> {
        for offset in [&self.max, &self.min, &self.writer.next] {
            offset.store(0, Ordering::Release);
        }
        self.max_physical.store(NO_UNIT, Ordering::Release);
        self.tape.destroy()?;
        self.ext.as_ref().map_or(Ok(()), |ext| ext.destroy())
    }

    /// Whether a file size can hold whole units.
    pub(super) fn check_file_bytes(file_bytes: u64) -> Result<()> {
        if file_bytes > 0 && file_bytes.is_multiple_of(UNIT_BYTES as u64) {
            return Ok(());
        }
        Err(Error::Config(format!("a queue file of {file_bytes} bytes does not hold whole units of 20")))
    }
}

fn offset_of(position: u64) -> i64 {
    (position / UNIT_BYTES as u64) as i64
}
