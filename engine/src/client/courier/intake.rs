//! Bytes of one connection until they are whole frames.

use bumpalo::Bump;

use crate::net::frame::{Frame, Malformed, next_frame};

const READ_BYTES: usize = 64 << 10;
/// A buffer that grew beyond this for a long frame is given back after it. Answers to wide pulls have a few MiB: to
/// grow anew for each would cost more than to parse it.
const KEEP_BYTES: usize = 8 << 20;

#[derive(Default)]
pub struct Intake {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Intake {
    /// Where to read to. It grows with what came, not with what was promised.
    pub fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.buffer.len() > KEEP_BYTES {
                self.buffer = Vec::new();
            }
        }
        if self.buffer.len() - self.end < READ_BYTES / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            // What is moved more often than it grows is moved for nothing.
            if self.buffer.len() - self.end < READ_BYTES.max(self.buffer.len() / 2) {
                let len = (self.buffer.len() * 2).max(READ_BYTES * 2);
                self.buffer.resize(len, 0);
            }
        }
        &mut self.buffer[self.end..]
    }

    /// So many bytes were read.
    pub fn filled(&mut self, count: usize) {
        self.end += count;
    }

    /// Call `each` for every whole frame.
    pub fn frames(
        &mut self,
        bytes_max: usize,
        bump: &Bump,
        mut each: impl FnMut(&Frame<'_>),
    ) -> Result<(), Malformed> {
        let mut rest = &self.buffer[self.start..self.end];
        let read = loop {
            match next_frame(&mut rest, bytes_max, bump) {
                Ok(Some(frame)) => each(&frame),
                Ok(None) => break Ok(()),
                Err(malformed) => break Err(malformed),
            }
        };
        self.start = self.end - rest.len();
        read
    }
}
