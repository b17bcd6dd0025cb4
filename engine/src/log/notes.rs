//! What the store has to tell its operator: repairs, oddities, refusals.

use std::collections::VecDeque;
use std::mem;

use parking_lot::Mutex;

/// A run of damaged files must not fill the memory with complaints about them.
const NOTES_MAX: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Info,
    Warning,
    Error,
}

/// A bounded list of remarks, filled by any thread and emptied by whoever writes the log file.
#[derive(Debug, Default)]
pub struct Notes(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<(Level, String)>,
    dropped: usize,
}

impl Notes {
    /// Adds a note; the oldest one makes room when the list is full.
    pub fn say(&self, level: Level, text: impl Into<String>) {
        let mut kept = self.0.lock();
        if kept.lines.len() == NOTES_MAX {
            kept.lines.pop_front();
            kept.dropped += 1;
        }
        kept.lines.push_back((level, text.into()));
    }

    /// Takes all notes, oldest first, led by a count of those that were dropped, if any.
    pub fn drain(&self) -> Vec<(Level, String)> {
        let kept = mem::take(&mut *self.0.lock());
        let dropped =
            (kept.dropped > 0).then(|| (Level::Warning, format!("{} earlier notes dropped", kept.dropped)));
        dropped.into_iter().chain(kept.lines).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_out_once_in_the_order_they_were_said() {
        let notes = Notes::default();
        notes.say(Level::Info, "one");
        notes.say(Level::Error, "two");
        assert_eq!(notes.drain(), [(Level::Info, "one".into()), (Level::Error, "two".into())]);
        assert!(notes.drain().is_empty());
    }

    #[test]
    fn a_full_list_drops_the_oldest_and_counts_them() {
        let notes = Notes::default();
        for n in 0..NOTES_MAX + 3 {
            notes.say(Level::Info, n.to_string());
        }
        let drained = notes.drain();
        assert_eq!(drained.len(), NOTES_MAX + 1);
        assert_eq!(drained[0], (Level::Warning, "3 earlier notes dropped".into()));
        assert_eq!(drained[1].1, "3");
    }
}
