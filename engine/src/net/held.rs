//! The beginning of a frame that is not complete. It is counted, and all of them together have a limit.

use std::ops::Deref;
use std::sync::Arc;

use super::room::Room;

/// More is asked for in steps of at least this.
const STEP_BYTES: usize = 256 << 10;

pub struct Held {
    connection: u64,
    room: Arc<Room>,
    bytes: Vec<u8>,
    counted: usize,
}

impl Held {
    pub fn new(connection: u64, room: Arc<Room>) -> Self {
        Self { connection, room, bytes: Vec::new(), counted: 0 }
    }

    /// Keep the beginning of a frame; a connection at rest keeps no memory.
    pub fn keep(&mut self, rest: &[u8]) {
        if rest.is_empty() {
            self.take();
        } else {
            self.bytes.clear();
            self.bytes.extend_from_slice(rest);
            self.count();
        }
    }

    /// Room for more of a frame of `want` bytes; `None` when others have to make some first. It grows with what
    /// came, not with what was promised.
    pub fn space(&mut self, want: usize) -> Option<&mut [u8]> {
        let have = self.bytes.len();
        let len = want.min(have + have.max(STEP_BYTES));
        let more = len.saturating_sub(self.counted);
        if more > 0 && !self.room.take(self.connection, more) {
            return None;
        }
        self.counted += more;
        self.bytes.reserve_exact(len - have);
        self.bytes.resize(len, 0);
        self.count();
        Some(&mut self.bytes[have..])
    }

    /// Say how many bytes there are after some of the space was filled.
    pub fn cut(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// Let go of the bytes: the frame is complete.
    pub fn take(&mut self) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.bytes);
        self.count();
        self.room.come_back(self.connection);
        bytes
    }

    fn count(&mut self) {
        let now = self.bytes.capacity();
        self.room.adjust(self.counted, now);
        self.counted = now;
    }
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.take();
    }
}
