//! The end of the log, and what stood behind it.

use std::fs;
use std::path::PathBuf;

use super::Recovery;
use super::scan::Tail;
use super::signs::{find_intact, is_hidden};
use crate::error::{Error, Result};
use crate::log::notes::Level;
use crate::log::segment::file_name;

/// How far past the end to look for records that damage cut off.
const SEARCH_BYTES: u64 = 64 << 20;

impl Recovery<'_> {
    /// End the log where the scan ended, and say what that leaves out.
    pub(super) fn cut(&self, tail: &Tail) -> Result<()> {
        let aside = self.set_aside(tail.end)?;
        if let Some(damage) = &tail.damage {
            self.notes.say(
                Level::Warning,
                format!(
                    "the log ends at offset {}: {damage}; what was written after it is cut off",
                    tail.end
                ),
            );
        }
        if let Some(aside) = aside {
            self.notes.say(
                Level::Error,
                format!(
                    "intact messages stand after the damage at offset {}; their files were copied to {} before \
                     the log was cut",
                    tail.end,
                    aside.display()
                ),
            );
        }
        for queue in self.derived.queues.all() {
            if queue.max_physical_offset() > tail.end.cast_signed() {
                queue.truncate_physical(tail.end.cast_signed())?;
            }
        }
        if let Some(index) = &self.derived.index {
            index.truncate(tail.end.cast_signed())?;
        }
        self.log.resume(tail.end, tail.timestamp())
    }

    /// Copy files whose intact records are about to be cut off, so that nothing vanishes unseen.
    fn set_aside(&self, end: u64) -> Result<Option<PathBuf>> {
        if self.log.segment_of(end).is_some_and(|segment| is_hidden(&segment, end)) {
            return Ok(None); // a batch that was still being written: nobody was told of it
        }
        let cut: Vec<_> = self
            .log
            .segments()
            .into_iter()
            .filter(|segment| segment.end() > end)
            .filter(|segment| {
                let from = end.saturating_sub(segment.start());
                let to = segment.data_end().min(from + SEARCH_BYTES);
                from < to && find_intact(segment, from, to).is_some()
            })
            .collect();
        if cut.is_empty() {
            return Ok(None);
        }
        let parent = self.log.dir().parent().unwrap_or(self.log.dir());
        let aside = parent.join(format!("cut-at-{}", file_name(end)));
        fs::create_dir_all(&aside).map_err(|source| Error::io("create", &aside, source))?;
        for segment in cut {
            let to = aside.join(file_name(segment.start()));
            fs::copy(segment.path(), &to)
                .map_err(|source| Error::io("copy the damaged file to", &to, source))?;
        }
        Ok(Some(aside))
    }
}
