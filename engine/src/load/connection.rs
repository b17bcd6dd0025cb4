//! One connection: requests collected and written together, answers cut out of what was read.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use super::header::Frame;
use super::{LoadError, Result};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const INPUT_BYTES: usize = 256 << 10;
const FRAME_BYTES_MAX: usize = 128 << 20;

pub struct Connection {
    stream: TcpStream,
    address: String,
    pub out: Vec<u8>,
    written: usize,
    input: Vec<u8>,
    start: usize,
    end: usize,
}

impl AsRawFd for Connection {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}

impl Connection {
    pub fn open(address: SocketAddr) -> Result<Self> {
        let refused = |source| LoadError::Connect { address: address.to_string(), source };
        let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).map_err(refused)?;
        Self::of(stream).map_err(refused)
    }

    pub fn of(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let address = stream.peer_addr()?.to_string();
        let input = vec![0; INPUT_BYTES];
        Ok(Self { stream, address, out: Vec::new(), written: 0, input, start: 0, end: 0 })
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn has_output(&self) -> bool {
        !self.out.is_empty()
    }

    /// Write what was collected, as far as the socket takes it.
    pub fn flush(&mut self) -> Result<()> {
        while self.written < self.out.len() {
            match self.stream.write(&self.out[self.written..]) {
                Ok(0) => return Err(self.lost(io::ErrorKind::WriteZero.into())),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.lost(error)),
            }
        }
        self.out.clear();
        self.written = 0;
        Ok(())
    }

    /// Read once what has arrived; false at the end of the stream.
    pub fn fill(&mut self) -> Result<bool> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.input.len() {
            self.make_room();
        }
        match self.stream.read(&mut self.input[self.end..]) {
            Ok(0) => Ok(false),
            Ok(count) => {
                self.end += count;
                Ok(true)
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(true)
            }
            Err(error) => Err(self.lost(error)),
        }
    }

    /// Move what is left to the front; when that gains little, the frame is larger than the buffer.
    fn make_room(&mut self) {
        let kept = self.end - self.start;
        self.input.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, kept);
        if kept > self.input.len() / 2 {
            self.input.resize(self.input.len() * 2, 0);
        }
    }

    /// The next complete frame among what was read.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>> {
        let waiting = &self.input[self.start..self.end];
        let Some(length) = waiting.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes) as usize) else {
            return Ok(None);
        };
        if length > FRAME_BYTES_MAX {
            return Err(self.not_rocketmq("a frame of more than 128 MiB"));
        }
        if waiting.len() < 4 + length {
            return Ok(None);
        }
        let start = self.start + 4;
        self.start = start + length;
        match Frame::parse(&self.input[start..start + length]) {
            Ok(frame) => Ok(Some(frame)),
            Err(what) => Err(LoadError::NotRocketMq { address: self.address.clone(), what }),
        }
    }

    fn not_rocketmq(&self, what: &'static str) -> LoadError {
        LoadError::NotRocketMq { address: self.address.clone(), what }
    }

    pub fn lost(&self, source: io::Error) -> LoadError {
        LoadError::Lost { address: self.address.clone(), source }
    }

    pub fn closed_by_peer(&self) -> LoadError {
        self.lost(io::Error::new(io::ErrorKind::ConnectionReset, "it closed the connection"))
    }
}
