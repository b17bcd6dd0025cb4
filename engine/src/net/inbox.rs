//! What waits for Python: one queue for each kind of request, each with its own budget.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::Arc;

use bumpalo::Bump;
use parking_lot::Mutex;

use super::frame::{self, Frame};
use super::header::{Encoding, Language};
use super::hot::ReplyHandle;
use super::kind::{KINDS, Kind};
use super::peer::Peer;

/// A frame that outlives the read it came with.
#[derive(Debug)]
pub struct OwnedFrame {
    pub code: i32,
    pub opaque: i32,
    pub flag: i32,
    pub version: i32,
    pub language: Language,
    encoding: Encoding,
    raw: Box<[u8]>,
    body_at: usize,
}

impl OwnedFrame {
    pub fn new(frame: &Frame<'_>) -> Self {
        let header = &frame.header;
        Self {
            code: header.code,
            opaque: header.opaque,
            flag: header.flag,
            version: header.version,
            language: header.language,
            encoding: frame.encoding,
            raw: frame.raw.into(),
            body_at: frame.raw.len() - frame.body.len(),
        }
    }

    pub fn body(&self) -> &[u8] {
        &self.raw[self.body_at..]
    }

    /// Look at the text of the header once more; `None` is impossible, it was decoded before.
    pub fn with_frame<T>(&self, look: impl FnOnce(&Frame<'_>) -> T) -> Option<T> {
        let bump = Bump::new();
        frame::decode(self.encoding, self.body_at, &self.raw, &bump).ok().map(|frame| look(&frame))
    }
}

/// Something for Python.
#[derive(Debug)]
pub enum Item {
    Request(OwnedFrame, ReplyHandle),
    Opened(Arc<Peer>),
    Closed(Arc<Peer>),
    /// The response to a request of ours; without a frame when the connection closed first.
    Answered(Arc<Peer>, i32, Option<OwnedFrame>),
}

/// How much may wait before the sockets that sent it are no longer read.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub count: usize,
    pub bytes: usize,
}

#[derive(Debug)]
struct Lane {
    items: VecDeque<Item>,
    budget: Budget,
    requests: usize,
    bytes: usize,
    full: bool,
}

impl Lane {
    fn is_over(&self) -> bool {
        self.requests >= self.budget.count || self.bytes >= self.budget.bytes
    }

    /// Half of it: so that sockets are not stopped and started for every request.
    fn has_room(&self) -> bool {
        self.requests <= self.budget.count / 2 && self.bytes <= self.budget.bytes / 2
    }
}

#[derive(Debug)]
struct Lanes {
    lanes: [Lane; KINDS],
    len: usize,
    next: usize,
}

#[derive(Debug)]
pub struct Inbox {
    lanes: Mutex<Lanes>,
    /// An eventfd, readable while there is something to take.
    signal: File,
}

impl Inbox {
    pub fn new(budgets: [Budget; KINDS]) -> io::Result<Self> {
        // SAFETY: a plain system call; the descriptor is ours alone.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let lanes =
            budgets.map(|budget| Lane { items: VecDeque::new(), budget, requests: 0, bytes: 0, full: false });
        // SAFETY: as above.
        let signal = unsafe { File::from_raw_fd(fd) };
        Ok(Self { lanes: Mutex::new(Lanes { lanes, len: 0, next: 0 }), signal })
    }

    pub fn fd(&self) -> RawFd {
        self.signal.as_raw_fd()
    }

    /// Leave a request to Python; true when its kind is now over budget.
    pub fn put_request(&self, frame: OwnedFrame, handle: ReplyHandle) -> bool {
        let kind = Kind::of(frame.code);
        let mut lanes = self.lanes.lock();
        let lane = &mut lanes.lanes[kind as usize];
        lane.requests += 1;
        lane.bytes += frame.raw.len();
        lane.full |= lane.is_over();
        let full = lane.full;
        self.push(&mut lanes, kind, Item::Request(frame, handle));
        full
    }

    /// Tell Python what happened to a connection, in order with the requests of client management.
    pub fn put_event(&self, event: Item) {
        self.push(&mut self.lanes.lock(), Kind::Client, event);
    }

    fn push(&self, lanes: &mut Lanes, kind: Kind, item: Item) {
        lanes.lanes[kind as usize].items.push_back(item);
        lanes.len += 1;
        if lanes.len == 1 {
            // An eventfd refuses only when its counter is full: then it is readable anyway.
            let _ = (&self.signal).write(&1_u64.to_ne_bytes());
        }
    }

    /// Whether some kind is over budget.
    pub fn is_full(&self) -> bool {
        self.lanes.lock().lanes.iter().any(|lane| lane.full)
    }

    /// Take up to `limit` items: the oldest of each kind in turn. True when a full kind has room again.
    pub fn take(&self, limit: usize, items: &mut Vec<Item>) -> bool {
        let mut lanes = self.lanes.lock();
        let Lanes { lanes: each, len, next } = &mut *lanes;
        let count = limit.min(*len);
        while items.len() < count {
            *next = (*next + 1) % KINDS;
            let lane = &mut each[*next];
            let Some(item) = lane.items.pop_front() else { continue };
            if let Item::Request(frame, _) = &item {
                lane.requests -= 1;
                lane.bytes -= frame.raw.len();
            }
            items.push(item);
        }
        *len -= count;
        if *len == 0 {
            let _ = (&self.signal).read(&mut [0; 8]);
        }
        let mut relieved = false;
        for lane in each {
            if lane.full && lane.has_room() {
                lane.full = false;
                relieved = true;
            }
        }
        relieved
    }
}
