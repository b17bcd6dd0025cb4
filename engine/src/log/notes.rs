//! What the store has to tell its operator: repairs made, files set aside, limits met.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// How many notes are kept; past that the oldest go.
const NOTES_MAX: usize = 10_000;

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Info,
    Warning,
    Error,
}

/// A bounded list of notes, emptied by whoever writes the log.
#[derive(Debug, Default)]
pub struct Notes(Mutex<VecDeque<(Level, String)>>);

impl Notes {
    pub fn say(&self, level: Level, text: String) {
        let mut notes = self.0.lock();
        if notes.len() == NOTES_MAX {
            notes.pop_front();
        }
        notes.push_back((level, text));
    }

    /// Take all notes, oldest first.
    pub fn drain(&self) -> Vec<(Level, String)> {
        self.0.lock().drain(..).collect()
    }
}
