//! How far the followers of the log, the dispatcher and the disk, are behind its writers.

use super::config::FlushMode;
use super::store::Store;

/// Half of what `put` allows before it lets a writer wait: time for the others to be told.
const DISPATCH_LAG: u64 = 32 << 20;
const FLUSH_LAG: u64 = 16 << 20;

impl Store {
    /// Whether writers had better pause. A store that takes no writes is no reason to: they are told so.
    pub fn is_pressed(&self) -> bool {
        if !self.flags.is_writable() || self.flusher.has_failed() || self.is_closed() {
            return false;
        }
        if self.dispatcher.behind() > DISPATCH_LAG {
            self.dispatcher.signal.raise();
            return true;
        }
        let unflushed = self.log.written().saturating_sub(self.log.flushed());
        let pressed = self.config.flush_mode == FlushMode::Sync && unflushed > FLUSH_LAG;
        if pressed {
            self.flusher.wake.raise();
        }
        pressed
    }

    /// How much was written so far.
    pub fn written(&self) -> u64 {
        self.log.written()
    }
}
