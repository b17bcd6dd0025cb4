//! A server that only answers: it decodes the frame, copies the body into a mapped file and says yes. Who pulls gets
//! the messages of the last batch, whatever he asks for.
//!
//! What a broker serves on a machine stands beside what this one serves there: nobody gets past it.

use std::fs::OpenOptions;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use memmap2::MmapMut;
use parking_lot::Mutex;

use super::connection::Connection;
use super::draft::{Encoded, Request};
use super::header::Frame;
use super::poll::Poll;
use super::shelf::Shelf;
use super::{LoadError, Result};

const LOG_BYTES: u64 = 1 << 30;
const ROUND_MAX: Duration = Duration::from_millis(100);
const ONEWAY: i32 = 2;
const GET_TOPIC_CONFIG: i32 = 351;
const SEND_BATCH: i32 = 320;
const SENDS: [i32; 3] = [10, 310, SEND_BATCH];
const PULL: i32 = 11;
/// It has every topic that anyone asks for.
const TOPIC_CONFIG: &[u8] =
    b"{\"order\":false,\"perm\":6,\"readQueueNums\":8,\"topicFilterType\":\"SINGLE_TAG\",\"topicName\":\"any\",\
      \"topicSysFlag\":0,\"writeQueueNums\":8}";

pub struct LimitServer {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl LimitServer {
    /// Serve from now on, on a thread of its own; the file in `directory` has no name and leaves nothing.
    pub fn start(address: SocketAddr, directory: &Path) -> Result<Self> {
        let failed = |action| move |source| LoadError::Io { action, source };
        let listener = TcpListener::bind(address).map_err(failed("listen"))?;
        listener.set_nonblocking(true).map_err(failed("listen"))?;
        let address = listener.local_addr().map_err(failed("listen"))?;
        let log = Log::new(directory).map_err(failed("make the mapped file"))?;
        let stopped = Arc::new(AtomicBool::new(false));
        let serving = Serving {
            listener,
            log,
            yes: Answers::new(),
            shelf: Shelf::default(),
            connections: Vec::new(),
            poll: Poll::default(),
        };
        let seen = Arc::clone(&stopped);
        let thread = thread::Builder::new()
            .name("limit".to_owned())
            .spawn(move || serving.run(&seen))
            .map_err(failed("start a thread"))?;
        Ok(Self { address, stopped, thread: Mutex::new(Some(thread)) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join(); // it ends by itself; how is of no interest any more
        }
    }
}

impl Drop for LimitServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Bodies one after another, from the beginning again at the end.
struct Log {
    map: MmapMut,
    at: usize,
}

impl Log {
    fn new(directory: &Path) -> io::Result<Self> {
        let path = directory.join(format!("limit-{}", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        // SAFETY: a call on a descriptor that is open. Space that is there cannot run out under the map.
        let refused = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, LOG_BYTES as libc::off_t) };
        if refused != 0 {
            return Err(io::Error::from_raw_os_error(refused));
        }
        // SAFETY: the file has no name, so that nobody else can change it.
        let map = unsafe { MmapMut::map_mut(&file)? };
        Ok(Self { map, at: 0 })
    }

    fn append(&mut self, body: &[u8]) {
        if self.at + body.len() > self.map.len() {
            self.at = 0;
        }
        self.map[self.at..self.at + body.len()].copy_from_slice(body);
        self.at += body.len();
    }
}

/// The answers, as long as a broker's, of which only the opaque changes.
struct Answers {
    json: Encoded,
    binary: Encoded,
}

const OPAQUE_DIGITS: usize = 10;

impl Answers {
    fn new() -> Self {
        let fields = [
            ("MSG_REGION", "DefaultRegion"),
            ("TRACE_ON", "true"),
            ("msgId", "7F00000100002A9F0000000000000000"),
            ("queueId", "0"),
            ("queueOffset", "0"),
            ("transactionId", "00000000000000000000000000000000"),
        ];
        let answer = Request { code: 0, opaque: 1_000_000_000, flag: 1, remark: "", fields: &fields };
        Self { json: answer.encode(false, b""), binary: answer.encode(true, b"") }
    }

    fn to(&self, frame: &Frame<'_>) -> &Encoded {
        if frame.binary { &self.binary } else { &self.json }
    }
}

fn write(out: &mut Vec<u8>, answer: &Encoded, frame: &Frame<'_>) {
    let at = out.len() + answer.opaque_at;
    out.extend_from_slice(&answer.frame);
    if frame.binary {
        out[at..at + 4].copy_from_slice(&frame.opaque.to_be_bytes());
        return;
    }
    // A shorter number leaves blanks, which JSON allows.
    let mut left = frame.opaque.unsigned_abs();
    for digit in out[at..at + OPAQUE_DIGITS].iter_mut().rev() {
        *digit = if left > 0 || frame.opaque == 0 { b'0' + (left % 10) as u8 } else { b' ' };
        left /= 10;
    }
}

struct Serving {
    listener: TcpListener,
    log: Log,
    yes: Answers,
    shelf: Shelf,
    connections: Vec<Connection>,
    poll: Poll,
}

impl Serving {
    fn run(mut self, stopped: &AtomicBool) {
        self.watch();
        while !stopped.load(Ordering::Relaxed) {
            if self.poll.wait(ROUND_MAX).is_err() {
                return;
            }
            let ended: Vec<bool> = (0..self.connections.len()).map(|index| !self.serve(index)).collect();
            let mut number = 0;
            self.connections.retain(|_| {
                number += 1;
                !ended[number - 1]
            });
            if ended.contains(&true) | self.accept() {
                self.watch();
            }
        }
    }

    fn watch(&mut self) {
        self.poll = Poll::default();
        self.poll.add(&self.listener);
        for connection in &self.connections {
            self.poll.add(connection);
        }
    }

    fn accept(&mut self) -> bool {
        let before = self.connections.len();
        while let Ok((stream, _)) = self.listener.accept() {
            self.connections.extend(Connection::of(stream));
        }
        self.connections.len() > before
    }

    /// Answer what a connection asks; false when it is gone.
    fn serve(&mut self, index: usize) -> bool {
        let connection = &mut self.connections[index];
        if self.poll.is_readable(index + 1) && !connection.fill().unwrap_or(false) {
            return false;
        }
        let mut out = std::mem::take(&mut connection.out);
        loop {
            match connection.next_frame() {
                Ok(Some(frame)) => answer(&frame, &mut self.log, &self.yes, &mut self.shelf, &mut out),
                Ok(None) => break,
                Err(_) => return false,
            }
        }
        connection.out = out;
        let written = connection.flush().is_ok();
        self.poll.want_output(index + 1, connection.has_output());
        written
    }
}

fn answer(frame: &Frame<'_>, log: &mut Log, yes: &Answers, shelf: &mut Shelf, out: &mut Vec<u8>) {
    if SENDS.contains(&frame.code) {
        log.append(frame.body);
    }
    if frame.code == SEND_BATCH {
        shelf.take(frame.body);
    }
    if frame.is_response() || frame.flag & ONEWAY != 0 {
        return;
    }
    if frame.code == GET_TOPIC_CONFIG {
        let answer = Request { code: 0, opaque: frame.opaque, flag: 1, remark: "", fields: &[] };
        out.extend_from_slice(&answer.encode(frame.binary, TOPIC_CONFIG).frame);
        return;
    }
    if frame.code == PULL {
        let count = frame.number("maxMsgNums").and_then(|count| usize::try_from(count).ok()).unwrap_or(1);
        write(out, shelf.answer(count, frame.binary), frame);
        return;
    }
    write(out, yes.to(frame), frame);
}
