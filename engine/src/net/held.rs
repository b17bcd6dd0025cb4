//! The beginning of a frame that is not complete. It is counted, and all of them together have a limit.

use std::ops::Deref;
use std::sync::Arc;

use super::room::Room;

/// More is asked for in steps of at least this.
const STEP_BYTES: usize = 256 << 10;

pub struct Held {
    connection: u64,
    room: Arc<Room>,
    /// The first of them are filled; the others are there to be read into.
    bytes: Vec<u8>,
    filled: usize,
    counted: usize,
}

impl Held {
    pub fn new(connection: u64, room: Arc<Room>) -> Self {
        Self { connection, room, bytes: Vec::new(), filled: 0, counted: 0 }
    }

    /// Keep the beginning of a frame; a connection at rest keeps no memory.
    pub fn keep(&mut self, rest: &[u8]) {
        if rest.is_empty() {
            self.take();
        } else {
            self.bytes.clear();
            self.bytes.extend_from_slice(rest);
            self.filled = rest.len();
            self.count();
        }
    }

    /// Room for more of a frame of `want` bytes; `None` when others have to make some first. It grows with what
    /// came, not with what was promised.
    pub fn space(&mut self, want: usize) -> Option<&mut [u8]> {
        let have = self.filled;
        if self.bytes.len() < want.min(have + STEP_BYTES) {
            let len = want.min(have + have.max(STEP_BYTES));
            let more = len.saturating_sub(self.counted);
            if more > 0 && !self.room.take(self.connection, more) {
                return None;
            }
            self.counted += more;
            self.bytes.reserve_exact(len - self.bytes.len());
            self.bytes.resize(len, 0);
            self.count();
        }
        let end = want.min(self.bytes.len());
        Some(&mut self.bytes[have..end])
    }

    /// Say that some of the space was filled.
    pub fn fill(&mut self, count: usize) {
        self.filled += count;
    }

    /// Let go of the bytes: the frame is complete.
    pub fn take(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.truncate(std::mem::take(&mut self.filled));
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
        &self.bytes[..self.filled]
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_comes_byte_by_byte_is_not_moved_or_cleared_with_each() {
        const LEN: usize = 4 << 20;
        let mut held = Held::new(1, Arc::new(Room::new(64 << 20)));
        held.keep(&[0; 5]);
        let mut moves = 0;
        while held.len() < LEN {
            let before = held.as_ptr();
            let count = {
                let at = held.len();
                let space = held.space(LEN).unwrap();
                let count = space.len().min(1 + at % 5000);
                for (place, byte) in space[..count].iter_mut().zip(at..) {
                    *place = byte as u8;
                }
                count
            };
            held.fill(count);
            moves += usize::from(held.as_ptr() != before);
        }
        assert!(moves <= 8, "{moves} moves");
        let bytes = held.take();
        assert_eq!(bytes.len(), LEN);
        assert!(bytes.iter().zip(0_usize..).skip(5).all(|(&byte, at)| byte == at as u8));
        assert!(held.is_empty());
    }
}
