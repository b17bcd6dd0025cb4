//! Bytes on their way to one socket: small ones together in memory, large ones straight from the mapped log.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;

use super::encode::{self, Head};
use crate::log::read::ReadResult;
use crate::log::view::Slice;

/// A shorter slice is copied: that costs less than one more entry of a vectored write.
const COPY_BYTES_MAX: usize = 1024;
/// What is sent is forgotten once it is this much, and half of its buffer.
const FORGET_BYTES: usize = 64 << 10;
/// Entries of one vectored write; the kernel takes up to 1024.
const VECTOR_MAX: usize = 64;

/// The body of a frame.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    Bytes(&'a [u8]),
    /// Records of the log, of which long ones go out of the map without a copy.
    Log(&'a ReadResult),
    /// Bytes that somebody else keeps too; long ones are not copied.
    Shared(&'a Arc<Vec<u8>>),
}

impl Body<'_> {
    pub const NONE: Self = Self::Bytes(&[]);

    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Log(read) => read.bytes,
            Self::Shared(bytes) => bytes.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[derive(Debug)]
enum Part {
    Bytes(Vec<u8>),
    Log(Slice),
    Shared(Arc<Vec<u8>>),
}

impl Part {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Log(slice) => slice.bytes(),
            Self::Shared(bytes) => bytes,
        }
    }
}

/// What a socket has yet to send, in order.
#[derive(Debug, Default)]
pub struct Outgoing {
    parts: VecDeque<Part>,
    /// Bytes of the first part that are sent.
    sent: usize,
    len: usize,
    frames: u64,
}

impl Outgoing {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Write a frame behind what is there.
    pub fn frame(&mut self, head: &Head<'_>, body: Body<'_>) {
        let body_len = body.len();
        self.fill(|tail| encode::head(tail, head, body_len));
        self.body(body);
    }

    /// Write a frame whose head is encoded already.
    pub fn encoded(&mut self, head: &[u8], body: Body<'_>) {
        self.fill(|tail| tail.extend_from_slice(head));
        self.body(body);
    }

    fn body(&mut self, body: Body<'_>) {
        self.frames += 1;
        match body {
            Body::Bytes(bytes) => self.fill(|tail| tail.extend_from_slice(bytes)),
            Body::Log(read) => self.records(read),
            Body::Shared(bytes) if bytes.len() <= COPY_BYTES_MAX => {
                self.fill(|tail| tail.extend_from_slice(bytes));
            }
            Body::Shared(bytes) => {
                self.len += bytes.len();
                self.parts.push_back(Part::Shared(bytes.clone()));
            }
        }
    }

    fn records(&mut self, read: &ReadResult) {
        for stretch in read.stretches() {
            let bytes = stretch.bytes();
            if bytes.len() <= COPY_BYTES_MAX {
                self.fill(|tail| tail.extend_from_slice(bytes));
            } else {
                self.len += bytes.len();
                self.parts.push_back(Part::Log(stretch.slice()));
            }
        }
    }

    /// Let `write` append to the buffer at the end.
    fn fill(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if !matches!(self.parts.back(), Some(Part::Bytes(_))) {
            self.parts.push_back(Part::Bytes(Vec::new()));
        }
        if let Some(Part::Bytes(tail)) = self.parts.back_mut() {
            let before = tail.len();
            write(tail);
            self.len += tail.len() - before;
        }
    }

    /// Put everything of `other` behind what is there.
    pub fn append(&mut self, other: Self) {
        self.frames += other.frames;
        for part in other.parts {
            match part {
                Part::Bytes(bytes) => self.fill(|tail| {
                    if tail.is_empty() {
                        *tail = bytes;
                    } else {
                        tail.extend_from_slice(&bytes);
                    }
                }),
                part => {
                    self.len += part.bytes().len();
                    self.parts.push_back(part);
                }
            }
        }
    }

    /// Frames written since this was last asked.
    pub fn take_frames(&mut self) -> u64 {
        std::mem::take(&mut self.frames)
    }

    /// Give an empty queue memory to write into, so that connections at rest hold none.
    pub fn lend(&mut self, spare: Vec<u8>) {
        if self.parts.is_empty() && spare.capacity() > 0 {
            self.parts.push_back(Part::Bytes(spare));
        }
    }

    /// Take the memory back once everything is sent.
    pub fn reclaim(&mut self) -> Vec<u8> {
        if !self.is_empty() {
            return Vec::new();
        }
        self.sent = 0;
        match self.parts.pop_back() {
            Some(Part::Bytes(mut bytes)) => {
                bytes.clear();
                bytes
            }
            _ => Vec::new(),
        }
    }

    /// Offer everything to `write`, call by call, until nothing is left or it takes no more.
    pub fn write_with(
        &mut self,
        mut write: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<()> {
        while !self.is_empty() {
            let written = if let [Part::Bytes(only)] = self.parts.make_contiguous() {
                write(&[IoSlice::new(&only[self.sent..])])?
            } else {
                let mut vector = [IoSlice::new(&[]); VECTOR_MAX];
                let used = self.vector(&mut vector);
                write(&vector[..used])?
            };
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.advance(written);
        }
        Ok(())
    }

    fn vector<'a>(&'a self, vector: &mut [IoSlice<'a>; VECTOR_MAX]) -> usize {
        let mut skip = self.sent;
        let mut used = 0;
        for (slot, part) in vector.iter_mut().zip(&self.parts) {
            *slot = IoSlice::new(&part.bytes()[skip..]);
            skip = 0;
            used += 1;
        }
        used
    }

    fn advance(&mut self, written: usize) {
        self.len -= written;
        self.sent += written;
        // The last buffer stays, empty, for the next frame.
        while self.parts.len() > 1
            && let Some(first) = self.parts.front()
            && self.sent >= first.bytes().len()
        {
            self.sent -= first.bytes().len();
            self.parts.pop_front();
        }
        if let Some(Part::Bytes(first)) = self.parts.front_mut()
            && self.sent >= FORGET_BYTES.max(first.len() / 2)
        {
            // Whoever reads slowly may never take all there is, and more is written behind it.
            first.drain(..self.sent);
            self.sent = 0;
        }
        if self.len == 0 {
            match self.parts.back_mut() {
                Some(Part::Bytes(bytes)) => bytes.clear(),
                _ => self.parts.clear(),
            }
            self.sent = 0;
        }
    }
}
